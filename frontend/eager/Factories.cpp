#include "frontend/graphc/factories.h"

#include "frontend/eager/DeviceTensors.h"
#include "frontend/eager/State.h"
#include "frontend/eager/Range.h"
#include "frontend/eager/Views.h"
#include "frontend/graphc/ops.h"
#include "runtime/devices/cpu/StridedCopy.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace graphc {

using namespace eager;

namespace {

DType dtypeOr(const TensorOptions &options, DType otherwise) { return options.dtype.value_or(otherwise); }

Device deviceOf(const TensorOptions &options) { return options.device.value_or(ThreadContext::current().defaultDevice); }

/// What was made on the host, where the options want it.
Tensor withOptions(Tensor tensor, const TensorOptions &options) {
  tensor = tensor.to(deviceOf(options));
  if (ThreadContext::current().inferenceMode)
    tensor.impl()->storage->inference = true;
  if (options.requiresGrad)
    tensor.requiresGrad_();
  return tensor;
}

void checkPlace(const char *op, IntList sizes, const TensorOptions &options) {
  openOrFail(op, deviceOf(options));
  if (sizes.size() > kMaxRank)
    failWith(Code::ShapeMismatch, op, ": rank ", sizes.size(), " is more than ", kMaxRank);
  for (int64_t size : sizes)
    if (size < 0)
      failWith(Code::ShapeMismatch, op, ": size ", size, " is negative");
}

/// Memory for the caller to fill; what is filled while a program is traced is a constant of it.
Tensor make(const char *op, IntList sizes, DType dtype, const TensorOptions &options) {
  checkPlace(op, sizes, options);
  TensorRef tensor = detail::newTensor(dtype, sizes.span());
  if (!tensor)
    failWith(Code::OutOfMemory, op, ": no memory for ", dtype, "[", joined(sizes), "]; ", memory::stats().allocated, " bytes are in use by tensors");
  if (Recorder *tracing = recorder())
    tracing->made(*tensor);
  return wrap(std::move(tensor));
}

void fillDense(const Tensor &tensor, Scalar value) {
  uint64_t bits = 0;
  writeScalar(value, tensor.dtype(), &bits);
  int64_t count = tensor.numel(), one = 1;
  if (bits == 0)
    std::memset(tensor.impl()->data(), 0, static_cast<size_t>(tensor.impl()->denseBytes()));
  else if (count)
    cpu::stridedFill(tensor.impl()->data(), {&one, 1}, {&count, 1}, static_cast<int>(tensor.itemSize()), bits);
}

} // namespace

Tensor empty(IntList sizes, const TensorOptions &options) {
  OpScope scope("empty");
  if (recorder())
    return zeros(sizes, options);
  return withOptions(make("empty", sizes, dtypeOr(options, defaultDtype()), options), options);
}
Tensor emptyStrided(IntList sizes, IntList strides, const TensorOptions &options) {
  OpScope scope("emptyStrided");
  if (sizes.size() != strides.size())
    failWith(Code::ShapeMismatch, "emptyStrided: ", sizes.size(), " sizes and ", strides.size(), " strides");
  int64_t span = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0)
      span = 0;
    if (sizes[d] < 0 || strides[d] < 0)
      failWith(Code::ShapeMismatch, "emptyStrided: sizes and strides must not be negative");
    span += span ? (sizes[d] - 1) * strides[d] : 0;
  }
  Tensor memory = empty({span}, {dtypeOr(options, defaultDtype()), options.device, false});
  return withOptions(viewRaw(memory, {ViewStep::Strided, "emptyStrided", sizes.vector(), strides.vector(), {0}}), options);
}
Tensor zeros(IntList sizes, const TensorOptions &options) {
  OpScope scope("zeros");
  return full(sizes, 0, {dtypeOr(options, defaultDtype()), options.device, options.requiresGrad});
}
Tensor ones(IntList sizes, const TensorOptions &options) {
  OpScope scope("ones");
  return full(sizes, 1, {dtypeOr(options, defaultDtype()), options.device, options.requiresGrad});
}
Tensor full(IntList sizes, Scalar value, const TensorOptions &options) {
  OpScope scope("full");
  DType natural = value.isFloat() ? defaultDtype() : value.kind() == Scalar::Kind::Bool ? DType::Bool : DType::I64;
  DType dtype = dtypeOr(options, natural);
  if (Recorder *tracing = recorder()) {
    checkPlace("full", sizes, options);
    return withOptions(wrap(tracing->full(dtype, sizes.span(), value)), options);
  }
  Tensor tensor = make("full", sizes, dtype, options);
  fillDense(tensor, value);
  return withOptions(std::move(tensor), options);
}
static TensorOptions like(const Tensor &tensor, const TensorOptions &options) {
  return {dtypeOr(options, tensor.dtype()), options.device.value_or(tensor.device()), options.requiresGrad};
}
Tensor emptyLike(const Tensor &t, const TensorOptions &options) {
  OpScope scope("emptyLike");
  return empty(t.sizes(), like(t, options));
}
Tensor zerosLike(const Tensor &t, const TensorOptions &options) {
  OpScope scope("zerosLike");
  return zeros(t.sizes(), like(t, options));
}
Tensor onesLike(const Tensor &t, const TensorOptions &options) {
  OpScope scope("onesLike");
  return ones(t.sizes(), like(t, options));
}
Tensor fullLike(const Tensor &t, Scalar value, const TensorOptions &options) {
  OpScope scope("fullLike");
  return full(t.sizes(), value, like(t, options));
}

namespace {
/// element i = first + i * step, each computed in f64 (integers exactly).
Tensor sequence(const char *op, int64_t count, Scalar first, Scalar step, DType dtype, const TensorOptions &options) {
  Recorder *tracing = recorder();
  if (tracing && !isFloat(dtype) && !first.isFloat() && !step.isFloat()) {
    checkPlace(op, {count}, options);
    return withOptions(wrap(tracing->sequence(dtype, count, first.toInt(), step.toInt())), options);
  }
  Tensor tensor = make(op, {count}, dtype, options);
  auto *at = static_cast<std::byte *>(tensor.impl()->data());
  for (int64_t i = 0; i < count; ++i, at += sizeOf(dtype)) {
    if (isFloat(dtype) || first.isFloat() || step.isFloat())
      writeScalar(first.toDouble() + static_cast<double>(i) * step.toDouble(), dtype, at);
    else
      writeScalar(first.toInt() + i * step.toInt(), dtype, at);
  }
  return withOptions(std::move(tensor), options);
}
} // namespace

Tensor arange(Scalar end, const TensorOptions &options) { return arange(0, end, 1, options); }
Tensor arange(Scalar start, Scalar end, Scalar step, const TensorOptions &options) {
  OpScope scope("arange");
  bool floats = start.isFloat() || end.isFloat() || step.isFloat();
  if (step.toDouble() == 0)
    failWith(codes::InvalidArgument, "arange: the step is 0");
  double count = floats ? std::ceil((end.toDouble() - start.toDouble()) / step.toDouble())
                        : std::ceil(static_cast<double>(end.toInt() - start.toInt()) / static_cast<double>(step.toInt()));
  if (!(count >= 0))
    failWith(codes::InvalidArgument, "arange: the step ", step.toDouble(), " leads away from the end ", end.toDouble());
  return sequence("arange", static_cast<int64_t>(count), start, step, dtypeOr(options, floats ? defaultDtype() : DType::I64), options);
}
Tensor linspace(double start, double end, int64_t steps, const TensorOptions &options) {
  OpScope scope("linspace");
  if (steps < 0)
    failWith(codes::InvalidArgument, "linspace: ", steps, " steps");
  DType dtype = dtypeOr(options, defaultDtype());
  double step = steps > 1 ? (end - start) / static_cast<double>(steps - 1) : 0;
  // From both ends, so that both are exact.
  Tensor tensor = make("linspace", {steps}, dtype, options);
  auto *data = static_cast<std::byte *>(tensor.impl()->data());
  for (int64_t i = 0; i < steps; ++i)
    writeScalar(i < steps / 2 || steps == 1 ? start + static_cast<double>(i) * step : end - static_cast<double>(steps - 1 - i) * step, dtype,
                data + static_cast<size_t>(i) * sizeOf(dtype));
  return withOptions(std::move(tensor), options);
}
Tensor eye(int64_t rows, std::optional<int64_t> columns, const TensorOptions &options) {
  OpScope scope("eye");
  int64_t n = columns.value_or(rows);
  Tensor tensor = make("eye", {rows, n}, dtypeOr(options, defaultDtype()), options);
  fillDense(tensor, 0);
  if (int64_t diagonal = std::min(rows, n); diagonal > 0) {
    uint64_t bits = 0;
    writeScalar(1, tensor.dtype(), &bits);
    int64_t stride = n + 1;
    cpu::stridedFill(tensor.impl()->data(), {&stride, 1}, {&diagonal, 1}, static_cast<int>(tensor.itemSize()), bits);
  }
  return withOptions(std::move(tensor), options);
}
Tensor scalarTensor(Scalar value, const TensorOptions &options) { return full({}, value, options); }

Tensor detail::fromElements(const void *values, DType dtype, IntList sizes, const TensorOptions &options) {
  Tensor tensor = make("fromVector", sizes, dtype, options);
  std::memcpy(tensor.impl()->data(), values, static_cast<size_t>(tensor.impl()->denseBytes()));
  if (options.dtype && *options.dtype != dtype)
    tensor = tensor.to(*options.dtype);
  return withOptions(std::move(tensor), options);
}
Tensor detail::fromLiterals(const void *values, DType dtype, IntList sizes, const TensorOptions &options) {
  TensorOptions typed = options;
  if (!typed.dtype)
    typed.dtype = isFloat(dtype) ? defaultDtype() : dtype;
  return fromElements(values, dtype, sizes, typed);
}

Tensor fromBlob(void *data, IntList sizes, DType dtype, std::function<void()> release) {
  OpScope scope("fromBlob");
  std::vector<int64_t> strides(sizes.size());
  detail::denseStrides(sizes.span(), strides.data());
  return fromBlob(data, sizes, strides, dtype, std::move(release));
}
Tensor fromBlob(void *data, IntList sizes, IntList strides, DType dtype, std::function<void()> release) {
  OpScope scope("fromBlob");
  if (sizes.size() != strides.size() || sizes.size() > kMaxRank)
    failWith(Code::ShapeMismatch, "fromBlob: ", sizes.size(), " sizes and ", strides.size(), " strides");
  int64_t span = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 0 || strides[d] < 0)
      failWith(Code::ShapeMismatch, "fromBlob: sizes and strides must not be negative");
    span = sizes[d] == 0 ? 0 : span;
    span += span ? (sizes[d] - 1) * strides[d] : 0;
  }
  if (!data && span)
    failWith(codes::InvalidArgument, "fromBlob: the memory is null");
  static int64_t nothing[8];
  auto storage = detail::borrowStorage(data ? data : nothing, span * static_cast<int64_t>(sizeOf(dtype)), std::move(release));
  if (!storage)
    failWith(Code::OutOfMemory, "fromBlob: no memory");
  TensorRef tensor = detail::newView(std::move(storage), dtype, sizes.span(), strides.span(), 0);
  if (Recorder *tracing = recorder())
    tracing->made(*tensor);
  return wrap(std::move(tensor));
}

//===-- random ----------------------------------------------------------------------------------------------------===//
std::pair<Tensor, Tensor> eager::drawBlocks(int64_t count, int64_t perBlock) {
  if (Recorder *tracing = recorder()) {
    auto [key, offset] = tracing->random(count, perBlock);
    return {wrap(std::move(key)), wrap(std::move(offset))};
  }
  Generator &generator = graphc::generator();
  Tensor key = scalarTensor(static_cast<int64_t>(generator.seed()));
  return {key, scalarTensor(static_cast<int64_t>(generator.advance(static_cast<uint64_t>((count + perBlock - 1) / perBlock))))};
}

namespace {
Tensor draw(const char *kind, IntList sizes, DType dtype, const TensorOptions &options) {
  if (sizes.size() > kMaxRank)
    failWith(Code::ShapeMismatch, kind, ": rank ", sizes.size(), " is more than ", kMaxRank);
  int64_t count = 1;
  for (int64_t size : sizes) {
    if (size < 0)
      failWith(Code::ShapeMismatch, kind, ": size ", size, " is negative");
    count *= size;
  }
  int64_t perBlock = sizeOf(dtype) == 8 ? 2 : 4;
  auto [key, offset] = drawBlocks(count, perBlock);
  Call call(kind);
  call.attribute(static_cast<int>(dtype)).attribute(sizes.size()).input(key).input(offset);
  // The numbers depend on the flat place alone.
  call.symbol(count);
  Tensor flat = call.noGradient().run([&](GraphBuilder &g) {
    g.result(g.op("random", {g.input(0), g.input(1)}, text("kind = \"", kind, "\""), OpValueType{dtype, {g.symbol(0)}}));
  });
  reshapeFresh(*flat.impl(), sizes.span());
  return withOptions(std::move(flat), options);
}
DType floatOr(const char *op, const TensorOptions &options) {
  DType dtype = dtypeOr(options, defaultDtype());
  if (!isFloat(dtype))
    failWith(Code::TypeMismatch, op, ": ", dtype, " is no float");
  return dtype;
}
} // namespace

Tensor rand(IntList sizes, const TensorOptions &options) {
  OpScope scope("rand");
  return draw("uniform", sizes, floatOr("rand", options), options);
}
Tensor randn(IntList sizes, const TensorOptions &options) {
  OpScope scope("randn");
  return draw("normal", sizes, floatOr("randn", options), options);
}
Tensor randint(int64_t low, int64_t high, IntList sizes, const TensorOptions &options) {
  OpScope scope("randint");
  if (high <= low)
    failWith(codes::InvalidArgument, "randint: [", low, ", ", high, ") is empty");
  Tensor uniform = draw("uniform", sizes, DType::F64, {});
  return withOptions((floor(uniform * static_cast<double>(high - low)).to(DType::I64) + low).to(dtypeOr(options, DType::I64)), options);
}
Tensor randperm(int64_t n, const TensorOptions &options) {
  OpScope scope("randperm");
  if (n < 0)
    failWith(codes::InvalidArgument, "randperm: ", n, " is negative");
  // Sorting by random keys; a tie of two 53-bit keys keeps their order.
  std::vector<double> keys = draw("uniform", {n}, DType::F64, {}).toVector<double>();
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)]; });
  return fromVector(order, {n}, {dtypeOr(options, DType::I64), options.device, options.requiresGrad});
}
Tensor randLike(const Tensor &like) {
  OpScope scope("randLike");
  return rand(like.sizes(), {.dtype = like.dtype(), .device = like.device()});
}
Tensor randnLike(const Tensor &like) {
  OpScope scope("randnLike");
  return randn(like.sizes(), {.dtype = like.dtype(), .device = like.device()});
}
Tensor bernoulli(const TensorArg &probabilities) {
  OpScope scope("bernoulli");
  if (!isFloat(probabilities.dtype()))
    failWith(Code::TypeMismatch, "bernoulli: ", nameOf(probabilities), " is no float");
  checkUnit("bernoulli", "probabilities", probabilities, "");
  return lt(rand(probabilities.sizes(), {.dtype = probabilities.dtype(), .device = probabilities.device()}), probabilities.detach()).to(probabilities.dtype());
}
Tensor multinomial(const TensorArg &weights, int64_t samples, bool replacement) {
  OpScope scope("multinomial");
  if (!isFloat(weights.dtype()) || weights.dim() < 1 || weights.dim() > 2)
    failWith(Code::TypeMismatch, "multinomial: the weights ", nameOf(weights), " are no float vector or matrix");
  int64_t classes = weights.size(-1), rows = weights.dim() == 2 ? weights.size(0) : 1;
  if (samples <= 0 || (!replacement && samples > classes))
    failWith(codes::InvalidArgument, "multinomial: ", samples, " samples of ", classes, " classes without replacement");
  std::vector<double> w = weights.detach().toVector<double>(), u = draw("uniform", {rows * samples}, DType::F64, {}).toVector<double>();
  std::vector<int64_t> drawn;
  for (int64_t r = 0; r < rows; ++r) {
    double *row = w.data() + r * classes;
    for (int64_t s = 0; s < samples; ++s) {
      double total = 0;
      for (int64_t c = 0; c < classes; ++c) {
        if (!(row[c] >= 0) || std::isinf(row[c]))
          failWith(codes::InvalidArgument, "multinomial: weight ", row[c], " of class ", c, " is negative, infinite or NaN");
        total += row[c];
      }
      if (!(total > 0))
        failWith(codes::InvalidArgument, "multinomial: row ", r, " has no weight left");
      double at = u[static_cast<size_t>(r * samples + s)] * total;
      int64_t chosen = -1;
      for (int64_t c = 0; c < classes; ++c) {
        if (row[c] > 0)
          chosen = c;
        if ((at -= row[c]) < 0)
          break;
      }
      drawn.push_back(chosen);
      if (!replacement)
        row[chosen] = 0;
    }
  }
  return weights.dim() == 2 ? fromVector(drawn, {rows, samples}) : fromVector(drawn, {samples});
}

} // namespace graphc
