// Tensors from nothing, from numbers and from other programs' memory.
#pragma once

#include "frontend/graphc/tensor.h"

namespace graphc {

Tensor empty(IntList sizes, const TensorOptions &options = {});
Tensor emptyStrided(IntList sizes, IntList strides, const TensorOptions &options = {});
Tensor zeros(IntList sizes, const TensorOptions &options = {});
Tensor ones(IntList sizes, const TensorOptions &options = {});
Tensor full(IntList sizes, Scalar value, const TensorOptions &options = {});
Tensor emptyLike(const Tensor &like, const TensorOptions &options = {});
Tensor zerosLike(const Tensor &like, const TensorOptions &options = {});
Tensor onesLike(const Tensor &like, const TensorOptions &options = {});
Tensor fullLike(const Tensor &like, Scalar value, const TensorOptions &options = {});
/// [start, end) in steps; integers give i64, floats the default float.
Tensor arange(Scalar end, const TensorOptions &options = {});
Tensor arange(Scalar start, Scalar end, Scalar step = 1, const TensorOptions &options = {});
Tensor linspace(double start, double end, int64_t steps, const TensorOptions &options = {});
Tensor eye(int64_t rows, std::optional<int64_t> columns = {}, const TensorOptions &options = {});
Tensor scalarTensor(Scalar value, const TensorOptions &options = {});

/// `tensor({1.f, 2.f})`, `tensor({{1, 2}, {3, 4}})`, `tensor(2.5)`: integers give i64, floats the default float, bools bool.
template <typename T>
  requires(std::integral<T> || std::floating_point<T>)
Tensor tensor(std::initializer_list<T> values, const TensorOptions &options = {});
template <typename T>
  requires(std::integral<T> || std::floating_point<T>)
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows, const TensorOptions &options = {});
inline Tensor tensor(Scalar value, const TensorOptions &options = {}) { return scalarTensor(value, options); }
/// A copy of `values` under these sizes, with exactly their element type unless the options say otherwise.
template <typename T>
Tensor fromVector(std::span<const T> values, IntList sizes, const TensorOptions &options = {});
template <typename T>
Tensor fromVector(const std::vector<T> &values, IntList sizes, const TensorOptions &options = {}) {
  return fromVector(std::span<const T>(values), sizes, options);
}

/// The caller's memory, not copied. `release` runs when nothing refers to it any more.
Tensor fromBlob(void *data, IntList sizes, DType dtype, std::function<void()> release = {});
Tensor fromBlob(void *data, IntList sizes, IntList strides, DType dtype, std::function<void()> release = {});

// ---- random: the generator of this thread's context ----
Tensor rand(IntList sizes, const TensorOptions &options = {});
Tensor randn(IntList sizes, const TensorOptions &options = {});
Tensor randint(int64_t low, int64_t high, IntList sizes, const TensorOptions &options = {}); // i64 unless said otherwise
Tensor randperm(int64_t n, const TensorOptions &options = {});
Tensor randLike(const Tensor &like);
Tensor randnLike(const Tensor &like);
Tensor bernoulli(const TensorArg &probabilities);
/// Indices drawn with these weights from each row.
Tensor multinomial(const TensorArg &weights, int64_t samples, bool replacement = false);

// ---- implementation of the templates ----
namespace detail {
Tensor fromElements(const void *values, DType dtype, IntList sizes, const TensorOptions &options);
/// Literals: integers give i64, floats the default float.
Tensor fromLiterals(const void *values, DType dtype, IntList sizes, const TensorOptions &options);
template <typename T>
struct Literal {
  using type = std::conditional_t<std::same_as<T, bool>, bool, std::conditional_t<std::integral<T>, int64_t, double>>;
};
} // namespace detail

template <typename T>
  requires(std::integral<T> || std::floating_point<T>)
Tensor tensor(std::initializer_list<T> values, const TensorOptions &options) {
  using Stored = typename detail::Literal<T>::type;
  auto stored = std::make_unique<Stored[]>(values.size());
  std::copy(values.begin(), values.end(), stored.get());
  return detail::fromLiterals(stored.get(), dtypeOf<Stored>(), {static_cast<int64_t>(values.size())}, options);
}
template <typename T>
  requires(std::integral<T> || std::floating_point<T>)
Tensor tensor(std::initializer_list<std::initializer_list<T>> rows, const TensorOptions &options) {
  using Stored = typename detail::Literal<T>::type;
  size_t columns = rows.size() ? rows.begin()->size() : 0;
  auto stored = std::make_unique<Stored[]>(rows.size() * columns);
  Stored *out = stored.get();
  for (const auto &row : rows) {
    if (row.size() != columns)
      throw Error(error(Code::ShapeMismatch, "tensor: rows have ", columns, " and ", row.size(), " elements; all need the same number"));
    out = std::copy(row.begin(), row.end(), out);
  }
  return detail::fromLiterals(stored.get(), dtypeOf<Stored>(), {static_cast<int64_t>(rows.size()), static_cast<int64_t>(columns)},
                              options);
}
template <typename T>
Tensor fromVector(std::span<const T> values, IntList sizes, const TensorOptions &options) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  if (count != static_cast<int64_t>(values.size()))
    throw Error(error(Code::ShapeMismatch, "fromVector: ", values.size(), " values do not fill ", count, " elements"));
  return detail::fromElements(values.data(), dtypeOf<T>(), sizes, options);
}

} // namespace graphc
