// Tensor: a handle on (storage, offset, sizes, strides, dtype, device) with an optional place in an autograd graph.
//
//   Tensor w = randn({256, 784}, {.requiresGrad = true});
//   Tensor loss = crossEntropy(matmul(x, w.t()), y);
//   loss.backward();                       // w.grad() holds the gradient
//
// Copies of a Tensor are the same tensor. Functions of ops are in ops.h, factories in factories.h; most are methods as well.
// Everything throws graphc::Error.
#pragma once

#include "frontend/graphc/call_site.h"
#include "frontend/graphc/device.h"
#include "frontend/graphc/error.h"
#include "frontend/graphc/scalar.h"
#include "runtime/base/DType.h"
#include "runtime/base/Float16.h"

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace graphc {

namespace detail {
struct TensorImpl; // runtime/tensor
} // namespace detail

class Node; // runtime/autograd
class Tensor;
class TensorArg;

/// Sizes or axes given in braces: `x.reshape({2, -1})`.
class IntList {
public:
  IntList() = default;
  IntList(std::initializer_list<int64_t> values, std::source_location where = GRAPHC_HERE)
      : values_(values.begin(), values.size()), site_(where) {}
  IntList(const std::vector<int64_t> &values, std::source_location where = GRAPHC_HERE) : values_(values), site_(where) {}
  IntList(std::span<const int64_t> values, std::source_location where = GRAPHC_HERE) : values_(values), site_(where) {}
  int64_t operator[](size_t i) const { return values_[i]; }
  size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  std::span<const int64_t> span() const { return values_; }
  std::vector<int64_t> vector() const { return {values_.begin(), values_.end()}; }

private:
  std::span<const int64_t> values_;
  CallSite site_;
};

/// One number for all spatial dims, or one per dim: `.stride = 2`, `.stride = {2, 1}`.
class Extents {
public:
  template <std::integral T>
  Extents(T value) : values_{static_cast<int64_t>(value)} {}
  Extents(std::initializer_list<int64_t> values) : values_(values) {}
  Extents(std::vector<int64_t> values) : values_(std::move(values)) {}
  size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  /// Entry `i` of `count`: a single number stands for all.
  int64_t at(size_t i) const { return values_.size() == 1 ? values_[0] : values_[i]; }
  const std::vector<int64_t> &values() const { return values_; }

private:
  std::vector<int64_t> values_;
};

struct TensorOptions {
  std::optional<DType> dtype;   // default: the context's
  std::optional<Device> device; // default: the context's
  bool requiresGrad = false;
};

/// How a dense tensor's elements lie.
enum class MemoryFormat : uint8_t { Contiguous, ChannelsLast };

/// Python's start:stop:step; leave out what is not needed: Slice(), Slice(2), Slice(1, -1), Slice({}, 5).
struct Slice {
  std::optional<int64_t> start, stop;
  int64_t step = 1;
  Slice(std::optional<int64_t> start = {}, std::optional<int64_t> stop = {}, int64_t step = 1)
      : start(start), stop(stop), step(step) {}
};
struct Ellipsis {};
struct NewAxis {};
inline constexpr Ellipsis ellipsis;
inline constexpr NewAxis newAxis;

/// One entry of `x.index({1, Slice(0, 3), ellipsis, newAxis, mask})`.
class Index {
public:
  enum class Kind : uint8_t { Integer, Slice, Ellipsis, NewAxis, Tensor };
  template <std::integral T>
  Index(T value) : kind(Kind::Integer), integer(static_cast<int64_t>(value)) {}
  Index(graphc::Slice slice) : kind(Kind::Slice), slice(slice) {}
  Index(graphc::Ellipsis) : kind(Kind::Ellipsis) {}
  Index(graphc::NewAxis) : kind(Kind::NewAxis) {}
  Index(const graphc::Tensor &tensor);
  Kind kind;
  int64_t integer = 0;
  graphc::Slice slice;
  std::shared_ptr<const graphc::Tensor> tensor;
};

/// A registered hook; remove() takes it away again.
class HookHandle {
public:
  HookHandle() = default;
  explicit HookHandle(std::function<void()> remove) : remove_(std::move(remove)) {}
  void remove() {
    if (remove_)
      std::exchange(remove_, nullptr)();
  }

private:
  std::function<void()> remove_;
};

struct BackwardFlags {
  bool retainGraph = false; // keep what was saved, for another backward through the same graph
  bool createGraph = false; // record the gradients' own history; implies retainGraph
};

class Tensor {
public:
  Tensor() = default;
  Tensor(const Tensor &other);
  Tensor(Tensor &&other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
  Tensor &operator=(const Tensor &other);
  Tensor &operator=(Tensor &&other) noexcept {
    std::swap(impl_, other.impl_);
    return *this;
  }
  ~Tensor();

  // ---- what it is ----
  bool defined() const { return impl_ != nullptr; }
  int64_t dim() const;
  int64_t size(int64_t dim) const; // negative: from the end
  std::span<const int64_t> sizes() const;
  int64_t stride(int64_t dim) const; // in elements
  std::span<const int64_t> strides() const;
  int64_t storageOffset() const;
  int64_t numel() const;
  DType dtype() const;
  int64_t itemSize() const { return static_cast<int64_t>(sizeOf(dtype())); }
  Device device() const;
  bool isCuda() const { return device().isCuda(); }
  bool isFloatingPoint() const { return isFloat(dtype()); }
  bool isContiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  bool isView() const;
  /// The same object, not equal elements.
  bool is(const Tensor &other) const { return impl_ == other.impl_; }
  /// Whether both look at the same storage.
  bool sharesStorage(const Tensor &other) const;
  /// How often the storage was changed in place.
  uint32_t version() const;
  /// "f32[2, 3]"
  std::string describe() const;

  // ---- reading elements ----
  /// The elements of a dense CPU tensor that needs no gradient, in row-major order.
  template <typename T>
  std::span<T> span() const {
    return {static_cast<T *>(hostData(dtypeOf<T>(), sizeof(T))), static_cast<size_t>(numel())};
  }
  /// The one element, converted.
  template <typename T>
  T item() const {
    Scalar value = itemScalar();
    return value.isFloat() ? static_cast<T>(value.toDouble()) : static_cast<T>(value.toInt());
  }
  Scalar itemScalar() const;
  /// All elements in row-major order, converted; copies.
  template <typename T>
  std::vector<T> toVector() const {
    std::vector<T> values(static_cast<size_t>(numel()));
    copyElements(dtypeOf<T>(), values.data());
    return values;
  }
  /// Address of the first element.
  void *dataPtr() const;

  // ---- copies and conversions ----
  Tensor to(DType dtype) const;
  Tensor to(Device device, bool nonBlocking = false) const;
  Tensor to(DType dtype, MemoryFormat format) const;
  Tensor cpu() const { return to(Device::cpu()); }
  Tensor cuda(int index = 0) const { return to(Device(DeviceKind::Cuda, index)); }
  /// The dtype of another tensor.
  Tensor typeAs(const Tensor &other) const { return to(other.dtype()); }
  Tensor clone() const;
  Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  Tensor detach() const;
  Tensor &detach_();

  // ---- views: the same storage ----
  Tensor view(IntList sizes) const;    // an error when the strides do not allow it
  Tensor reshape(IntList sizes) const; // a view where possible, a copy otherwise
  Tensor viewAs(const Tensor &other) const { return view(other.sizes()); }
  Tensor transpose(int64_t dim0, int64_t dim1) const;
  Tensor t() const; // of a matrix
  Tensor permute(IntList dims) const;
  Tensor movedim(int64_t source, int64_t destination) const;
  Tensor slice(int64_t dim, std::optional<int64_t> start = {}, std::optional<int64_t> stop = {}, int64_t step = 1) const;
  Tensor narrow(int64_t dim, int64_t start, int64_t length) const;
  Tensor select(int64_t dim, int64_t index) const;
  Tensor expand(IntList sizes) const; // -1 keeps a size
  Tensor expandAs(const Tensor &other) const { return expand(other.sizes()); }
  Tensor squeeze() const;
  Tensor squeeze(int64_t dim) const;
  Tensor unsqueeze(int64_t dim) const;
  Tensor flatten(int64_t start = 0, int64_t end = -1) const;
  Tensor unflatten(int64_t dim, IntList sizes) const;
  Tensor asStrided(IntList sizes, IntList strides, std::optional<int64_t> offset = {}) const;
  Tensor diagonal(int64_t offset = 0, int64_t dim0 = 0, int64_t dim1 = 1) const;
  Tensor unfold(int64_t dim, int64_t size, int64_t step) const;
  std::vector<Tensor> split(int64_t size, int64_t dim = 0) const;
  std::vector<Tensor> split(const std::vector<int64_t> &sizes, int64_t dim = 0) const;
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const;
  std::vector<Tensor> unbind(int64_t dim = 0) const;
  template <std::integral T>
  Tensor operator[](T index) const {
    return select(0, static_cast<int64_t>(index));
  }
  /// Python's x[…]: a view for integers and slices, a copy as soon as a tensor indexes.
  Tensor index(std::initializer_list<Index> indices) const;
  Tensor index(std::span<const Index> indices) const;
  /// Python's x[…] = value.
  Tensor &indexPut_(std::initializer_list<Index> indices, const Tensor &value);
  Tensor &indexPut_(std::initializer_list<Index> indices, Scalar value);

  // ---- in place: the dtype stays, the version rises ----
  Tensor &add_(const TensorArg &other, Scalar alpha = 1);
  Tensor &add_(Scalar other);
  Tensor &sub_(const TensorArg &other, Scalar alpha = 1);
  Tensor &sub_(Scalar other);
  Tensor &mul_(const TensorArg &other);
  Tensor &mul_(Scalar other);
  Tensor &div_(const TensorArg &other);
  Tensor &div_(Scalar other);
  Tensor &pow_(Scalar exponent);
  Tensor &neg_();
  Tensor &exp_();
  Tensor &sqrt_();
  Tensor &relu_();
  Tensor &sigmoid_();
  Tensor &tanh_();
  Tensor &clamp_(std::optional<Scalar> low, std::optional<Scalar> high);
  Tensor &addcmul_(const TensorArg &a, const Tensor &b, Scalar value = 1);
  Tensor &addcdiv_(const TensorArg &a, const Tensor &b, Scalar value = 1);
  Tensor &lerp_(const TensorArg &end, Scalar weight);
  Tensor &maskedFill_(const TensorArg &mask, Scalar value);
  Tensor &copy_(const TensorArg &source);
  Tensor &fill_(Scalar value);
  Tensor &zero_() { return fill_(0); }
  Tensor &uniform_(double low = 0, double high = 1);
  Tensor &normal_(double mean = 0, double std = 1);
  Tensor &bernoulli_(double probability);
  Tensor &operator+=(const TensorArg &other);
  Tensor &operator-=(const TensorArg &other);
  Tensor &operator*=(const TensorArg &other);
  Tensor &operator/=(const TensorArg &other);
  Tensor &operator+=(Scalar other) { return add_(other); }
  Tensor &operator-=(Scalar other) { return sub_(other); }
  Tensor &operator*=(Scalar other) { return mul_(other); }
  Tensor &operator/=(Scalar other) { return div_(other); }

  // ---- autograd ----
  bool requiresGrad() const;
  Tensor &requiresGrad_(bool value = true); // only on leaves
  bool isLeaf() const;
  /// Undefined until a backward() has reached this leaf.
  Tensor grad() const;
  /// An undefined tensor takes the gradient away.
  void setGrad(const Tensor &grad);
  /// Gradients of the leaves, added to what they have. `gradient` may be left out on a tensor of one element.
  void backward(const Tensor &gradient, BackwardFlags flags = {}) const;
  void backward(BackwardFlags flags) const;
  void backward() const;
  Tensor &retainGrad(); // keep the gradient of a tensor that is no leaf
  bool retainsGrad() const;
  /// Runs when the gradient of this tensor is known, in order of registration, each seeing what the one before made of it; a
  /// defined result replaces the gradient.
  HookHandle registerHook(std::function<Tensor(const Tensor &grad)> hook);
  /// On a leaf: runs after its .grad was updated.
  HookHandle registerPostAccumulateGradHook(std::function<void(Tensor leaf)> hook);
  /// The node that made this tensor; null on leaves.
  std::shared_ptr<Node> gradFn() const;
  std::string gradFnName() const;
  bool isInference() const;
  /// What errors call it.
  void setName(std::string name);
  std::string name() const;

  // ---- ops as methods (ops.h has all of them) ----
  Tensor add(const TensorArg &other, Scalar alpha = 1) const;
  Tensor sub(const TensorArg &other, Scalar alpha = 1) const;
  Tensor mul(const TensorArg &other) const;
  Tensor div(const TensorArg &other) const;
  Tensor add(Scalar other) const;
  Tensor sub(Scalar other) const;
  Tensor mul(Scalar other) const;
  Tensor div(Scalar other) const;
  Tensor pow(Scalar exponent) const;
  Tensor pow(const TensorArg &exponent) const;
  Tensor neg() const;
  Tensor abs() const;
  Tensor sign() const;
  Tensor exp() const;
  Tensor log() const;
  Tensor sqrt() const;
  Tensor rsqrt() const;
  Tensor square() const;
  Tensor sin() const;
  Tensor cos() const;
  Tensor tanh() const;
  Tensor sigmoid() const;
  Tensor relu() const;
  Tensor erf() const;
  Tensor floor() const;
  Tensor ceil() const;
  Tensor round() const;
  Tensor reciprocal() const;
  Tensor clamp(std::optional<Scalar> low, std::optional<Scalar> high = {}) const;
  Tensor maximum(const TensorArg &other) const;
  Tensor minimum(const TensorArg &other) const;
  Tensor matmul(const TensorArg &other) const;
  Tensor mm(const TensorArg &other) const;
  Tensor bmm(const TensorArg &other) const;
  Tensor sum() const;
  Tensor sum(IntList dims, bool keepdim = false) const;
  Tensor mean() const;
  Tensor mean(IntList dims, bool keepdim = false) const;
  Tensor prod() const;
  Tensor prod(int64_t dim, bool keepdim = false) const;
  Tensor amax(IntList dims = {}, bool keepdim = false) const;
  Tensor amin(IntList dims = {}, bool keepdim = false) const;
  Tensor max() const;
  Tensor min() const;
  std::pair<Tensor, Tensor> max(int64_t dim, bool keepdim = false) const; // values, indices
  std::pair<Tensor, Tensor> min(int64_t dim, bool keepdim = false) const;
  Tensor argmax(std::optional<int64_t> dim = {}, bool keepdim = false) const;
  Tensor argmin(std::optional<int64_t> dim = {}, bool keepdim = false) const;
  Tensor var(IntList dims = {}, int64_t correction = 1, bool keepdim = false) const;
  Tensor std(IntList dims = {}, int64_t correction = 1, bool keepdim = false) const;
  Tensor norm(double p = 2) const;
  Tensor norm(double p, IntList dims, bool keepdim = false) const;
  Tensor all() const;
  Tensor any() const;
  Tensor logsumexp(IntList dims, bool keepdim = false) const;
  Tensor softmax(int64_t dim) const;
  Tensor logSoftmax(int64_t dim) const;
  Tensor cumsum(int64_t dim) const;
  Tensor cumprod(int64_t dim) const;
  Tensor gather(int64_t dim, const TensorArg &index) const;
  Tensor scatter(int64_t dim, const TensorArg &index, const Tensor &source) const;
  Tensor scatterAdd(int64_t dim, const TensorArg &index, const Tensor &source) const;
  Tensor indexSelect(int64_t dim, const TensorArg &index) const;
  Tensor maskedFill(const TensorArg &mask, Scalar value) const;
  Tensor maskedSelect(const TensorArg &mask) const;
  Tensor nonzero() const;
  std::pair<Tensor, Tensor> sort(int64_t dim = -1, bool descending = false) const;
  std::pair<Tensor, Tensor> topk(int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true) const;
  Tensor argsort(int64_t dim = -1, bool descending = false) const;
  Tensor tril(int64_t diagonal = 0) const;
  Tensor triu(int64_t diagonal = 0) const;
  Tensor eq(const TensorArg &other) const;
  Tensor eq(Scalar other) const;
  Tensor repeat(IntList repeats) const;
  Tensor flip(IntList dims) const;

  // ---- for the other parts of graphc ----
  detail::TensorImpl *impl() const { return impl_; }
  /// Takes over one reference.
  static Tensor adopt(detail::TensorImpl *impl) {
    Tensor tensor;
    tensor.impl_ = impl;
    return tensor;
  }

protected:
  /// Another's tensor without a reference of its own, as long as that one lives.
  void borrow(const Tensor &other) { impl_ = other.impl_; }
  void giveBack() { impl_ = nullptr; }

private:
  void *hostData(DType dtype, size_t elementBytes) const;
  void copyElements(DType dtype, void *out) const;
  detail::TensorImpl *impl_ = nullptr;
};

/// A tensor handed to an op, made by conversion only: it remembers where that was, so that errors can say.
class TensorArg final : public Tensor {
public:
  TensorArg(const Tensor &tensor, std::source_location where = GRAPHC_HERE) : site_(where) { borrow(tensor); }
  TensorArg(const TensorArg &) = delete;
  TensorArg &operator=(const TensorArg &) = delete;
  ~TensorArg() { giveBack(); }

private:
  CallSite site_;
};
inline Tensor &Tensor::operator+=(const TensorArg &other) { return add_(other); }
inline Tensor &Tensor::operator-=(const TensorArg &other) { return sub_(other); }
inline Tensor &Tensor::operator*=(const TensorArg &other) { return mul_(other); }
inline Tensor &Tensor::operator/=(const TensorArg &other) { return div_(other); }

/// As PyTorch prints tensors.
std::ostream &operator<<(std::ostream &stream, const Tensor &tensor);
struct PrintOptions {
  int precision = 4;
  int64_t threshold = 1000; // more elements are summarised
  int64_t edgeItems = 3;
  int lineWidth = 80;
};
std::string toString(const Tensor &tensor, const PrintOptions &options = {});

} // namespace graphc
