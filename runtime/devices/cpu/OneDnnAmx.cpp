// Kernels of ours in the library's place, on CPUs with AMX: products with constant weights, and attention (amx/).
#include "runtime/devices/cpu/OneDnn.h"
#include "runtime/devices/cpu/amx/Attention.h"
#include "runtime/devices/cpu/amx/MatMul.h"
#include "runtime/devices/cpu/amx/Pack.h"

#include <algorithm>
#include <optional>

namespace graphc::cpu::onednn {

namespace {

using plan::PostOpKind;

/// The library can be told to use less than the machine has; we follow it.
bool hasAmx() {
  static const bool has = amx::available() && dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core_amx;
  return has;
}

bool isHalfOrSingle(const View &view) { return view.dtype == DType::BF16 || view.dtype == DType::F32; }

/// Columns side by side, or a single one.
bool hasAdjacentColumns(const View &view) { return view.dims.back() == 1 || view.strides.back() == 1; }

std::optional<amx::StepKind> stepKind(PostOpKind kind) {
  switch (kind) {
  case PostOpKind::Relu: return amx::StepKind::Relu;
  case PostOpKind::Clip: return amx::StepKind::Clip;
  case PostOpKind::Linear: return amx::StepKind::Linear;
  case PostOpKind::GeluErf: return amx::StepKind::GeluErf;
  case PostOpKind::GeluTanh: return amx::StepKind::GeluTanh;
  case PostOpKind::Tanh: return amx::StepKind::Tanh;
  case PostOpKind::Logistic: return amx::StepKind::Logistic;
  case PostOpKind::Swish: return amx::StepKind::Swish;
  case PostOpKind::HardSwish: return amx::StepKind::HardSwish;
  case PostOpKind::HardSigmoid: return amx::StepKind::HardSigmoid;
  case PostOpKind::BinaryAdd: return amx::StepKind::Add;
  case PostOpKind::BinarySub: return amx::StepKind::Sub;
  case PostOpKind::BinaryMul: return amx::StepKind::Mul;
  case PostOpKind::BinaryDiv: return amx::StepKind::Div;
  default: return std::nullopt;
  }
}

class AmxMatMul final : public OwnKernel {
public:
  explicit AmxMatMul(amx::MatMulShape shape) : product_(std::move(shape)) {}
  int64_t scratchBytes() const { return product_.scratchBytes(); }
  /// Arguments: left, right, bias, result, scratch, then one per step.
  void run(void *const *addresses) const override {
    product_.run({addresses[0], addresses[1], addresses[2], addresses[3], addresses[4], addresses + 5});
  }

private:
  amx::MatMul product_;
};

class AmxAttention final : public OwnKernel {
public:
  AmxAttention(std::shared_ptr<const amx::Attention> attention, int64_t begin, int64_t end)
      : attention_(std::move(attention)), begin_(begin), end_(end) {}
  /// Arguments: query, key, value, result, mask, scratch.
  void run(void *const *addresses) const override {
    attention_->run({addresses[0], addresses[1], addresses[2], addresses[4], addresses[3], addresses[5]}, begin_, end_);
  }

private:
  std::shared_ptr<const amx::Attention> attention_;
  int64_t begin_, end_;
};

/// The shape of `views`, or nothing when an operand or a post-op is not for the kernel.
std::optional<amx::MatMulShape> matMulShape(const Problem &problem, const std::vector<View> &views) {
  const View &a = views[0], &b = views[1], &bias = views[2], &result = views[3];
  if (a.rank() != 2 || b.rank() != 2 || result.rank() != 2 || !b.constant || a.dtype != DType::BF16 || b.dtype != DType::BF16 ||
      !isHalfOrSingle(result) || !hasAdjacentColumns(result))
    return std::nullopt;
  amx::MatMulShape shape;
  shape.m = result.dims[0];
  shape.n = result.dims[1];
  shape.k = a.dims[1];
  shape.leftRowStride = a.strides[0];
  shape.leftColumnStride = a.strides[1];
  shape.result = result.dtype;
  shape.resultRowStride = result.strides[0];
  if (bias.present) {
    bool row = Shape(bias.dims).elements() == shape.n && bias.dims.back() == shape.n && hasAdjacentColumns(bias) && isHalfOrSingle(bias);
    if (!row)
      return std::nullopt;
    shape.hasBias = true;
    shape.bias = bias.dtype;
  }
  for (const auto &op : problem.library->post_ops) {
    auto kind = stepKind(op->kind);
    if (!kind)
      return std::nullopt;
    amx::Step step;
    step.kind = *kind;
    step.alpha = op->alpha;
    step.beta = op->beta;
    if (op->kind >= PostOpKind::BinaryAdd) {
      const View &other = views[op->operand];
      if (other.rank() != 2 || !isHalfOrSingle(other) || !hasAdjacentColumns(other))
        return std::nullopt;
      step.type = other.dtype;
      step.rowStride = other.dims[0] == 1 ? 0 : other.strides[0];
      step.columnStride = other.dims[1] == 1 ? 0 : 1;
    }
    shape.steps.push_back(step);
  }
  return shape;
}

} // namespace

bool addAmxMatMul(Kernel &kernel, const Builder &builder, const Problem &problem, const std::vector<View> &operands) {
  if (!hasAmx())
    return false;
  auto whole = matMulShape(problem, operands);
  if (!whole)
    return false;
  int64_t m = whole->m, n = whole->n, k = whole->k;
  const View &weights = operands[1];
  const char *source = static_cast<const char *>(weights.constant) + weights.byteOffset();
  auto packed = builder.packing->findOrPack(
      source, text(libraryVersion(), " amx bf16 ", k, "x", n, " strides ", weights.strides[0], " ", weights.strides[1]), amx::packedBytes(k, n),
      [&](void *to) -> Status {
        amx::packRight(to, source, k, n, weights.strides[0], weights.strides[1]);
        return {};
      });
  if (!packed.ok())
    throw Failure{packed.status()};

  // About 600 G multiply-adds a second and core, or 15 GB/s of weights: below ~10 µs a barrier costs more than the second core gives.
  double us = std::max(static_cast<double>(m) * n * k / 600e3, 2.0 * n * k / 15e3);
  int64_t slices = us < 10 ? 1 : problem.threads;
  // Rows are shared out when there are more of them than columns, so that each core reads the smaller part twice.
  int axis = m > n && m >= 64 * slices ? 0 : 1;
  constexpr int64_t unit = 32;
  int64_t units = ((axis == 0 ? m : n) + unit - 1) / unit;
  slices = std::clamp<int64_t>(units, 1, slices);
  for (int64_t slice = 0; slice < slices; ++slice) {
    int64_t begin = units * slice / slices * unit, end = std::min(axis == 0 ? m : n, units * (slice + 1) / slices * unit);
    std::vector<View> views = operands;
    for (size_t i = 0; i < views.size(); ++i)
      if (views[i].present && i != (axis == 0 ? 1u : 0u))
        views[i] = views[i].narrowed(views[i].rank() - 2 + axis < 0 ? 0 : views[i].rank() - 2 + axis, begin, end - begin);
    auto own = std::make_shared<AmxMatMul>(*matMulShape(problem, views));
    Argument right;
    right.fixed = static_cast<const char *>(packed->data) + (axis == 1 ? begin / unit * amx::panelBytes(k) : 0);
    std::vector<Argument> arguments = {argument(0, Desc(), views[0]), right, views[2].present ? argument(0, Desc(), views[2]) : Argument(),
                                       argument(0, Desc(), views[3]), scratch(0)};
    for (const auto &op : problem.library->post_ops)
      arguments.push_back(op->kind >= PostOpKind::BinaryAdd ? argument(0, Desc(), views[op->operand]) : Argument());
    kernel.addSlice();
    addOwn(kernel, own, std::move(arguments), own->scratchBytes());
  }
  kernel.addImplementation("amx:bf16");
  return true;
}

/// An image [N, C, spatial…] as rows of pixels [N * spatial, C], or nothing when no one stride leads from pixel to pixel. A size of 1
/// repeats: an operand of one pixel is one row.
static std::optional<View> asRows(const View &image) {
  View rows = image;
  int64_t count = 1, stride = 0;
  for (int d = image.rank() - 1; d >= 0; --d) {
    if (d == 1 || image.dims[d] == 1)
      continue;
    if (count == 1)
      stride = image.strides[d];
    else if (image.strides[d] != stride * count)
      return std::nullopt;
    count *= image.dims[d];
  }
  rows.dims = {count, image.dims[1]};
  rows.strides = {stride, image.strides[1]};
  return rows;
}

bool addAmxPointwise(Kernel &kernel, const Builder &builder, const Problem &problem) {
  const View &weights = problem.weights();
  auto all = [](const std::vector<int64_t> &values, int64_t value) {
    return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == value; });
  };
  if (!hasAmx() || problem.groups != 1 || !std::all_of(weights.dims.begin() + 2, weights.dims.end(), [](int64_t size) { return size == 1; }) ||
      !all(problem.strides, 1) || !all(problem.padsBegin, 0) || !all(problem.padsEnd, 0))
    return false;
  std::vector<View> matrices = problem.operands;
  int64_t pixels = 0;
  for (size_t i = 0; i < matrices.size(); ++i) {
    if (!matrices[i].present || i == 1 || i == 2)
      continue;
    auto rows = asRows(matrices[i]);
    if (!rows || (i == 3 && rows->dims[0] != pixels) || (i > 3 && rows->dims[0] != pixels && rows->dims[0] != 1))
      return false;
    if (i == 0)
      pixels = rows->dims[0];
    matrices[i] = *rows;
  }
  matrices[1].dims = {weights.dims[1], weights.dims[0]};
  matrices[1].strides = {weights.strides[1], weights.strides[0]};
  if (View &bias = matrices[2]; bias.present) {
    bias.dims = {1, bias.dims[0]};
    bias.strides = {0, bias.strides[0]};
  }
  return addAmxMatMul(kernel, builder, problem, matrices);
}

std::shared_ptr<Kernel> buildAttention(const Builder &, const Problem &problem) {
  if (!amx::available())
    throw Failure{error(Code::UnsupportedByLibrary, "attention on bf16 as one piece needs a CPU with AMX")};
  const View &query = problem.operands[0], &key = problem.operands[1], &value = problem.operands[2], &result = problem.operands[3];
  bool hasMask = problem.operands.size() > 4 && problem.operands[4].present;
  size_t rank = result.dims.size();
  auto fail = [&](const char *what) {
    throw Failure{error(Code::PlanInvalid, "attention: ", what, " (query ", Shape(query.dims), ", key ", Shape(key.dims), ", value ",
                        Shape(value.dims), ", result ", Shape(result.dims), ")")};
  };
  if (rank < 2)
    fail("needs at least two dimensions");
  for (size_t i = 0; i < (hasMask ? 5 : 4); ++i)
    if (problem.operands[i].dims.size() != rank || (i < 4 && problem.operands[i].dtype != DType::BF16))
      fail("operands need the same rank, and bf16");
  amx::AttentionShape shape;
  shape.batch.assign(result.dims.begin(), result.dims.end() - 2);
  shape.rows = query.dims[rank - 2];
  shape.keys = key.dims[rank - 2];
  shape.depth = query.dims[rank - 1];
  shape.valueDepth = value.dims[rank - 1];
  shape.scale = problem.library->scale;
  shape.nanToZero = problem.library->nan_to_zero;
  auto side = [&](const View &view, int64_t rows, int64_t columns) {
    amx::AttentionSide side;
    for (size_t d = 0; d + 2 < rank; ++d) {
      if (view.dims[d] != 1 && view.dims[d] != shape.batch[d])
        fail("batch dimensions differ");
      side.batchStrides.push_back(view.dims[d] == 1 ? 0 : view.strides[d]);
    }
    bool rowsFit = view.dims[rank - 2] == rows || (&view == &problem.operands.back() && hasMask && view.dims[rank - 2] == 1);
    bool columnsFit = view.dims[rank - 1] == columns || (&view == &problem.operands.back() && hasMask && view.dims[rank - 1] == 1);
    if (!rowsFit || !columnsFit)
      fail("rows and columns do not fit together");
    side.rowStride = view.dims[rank - 2] == 1 ? 0 : view.strides[rank - 2];
    side.columnStride = view.dims[rank - 1] == 1 ? 0 : view.strides[rank - 1];
    return side;
  };
  shape.query = side(query, shape.rows, shape.depth);
  shape.key = side(key, shape.keys, shape.depth);
  shape.value = side(value, shape.keys, shape.valueDepth);
  shape.result = side(result, shape.rows, shape.valueDepth);
  if (hasMask) {
    shape.hasMask = true;
    shape.maskType = problem.operands[4].dtype;
    shape.mask = side(problem.operands[4], shape.rows, shape.keys);
    if (shape.maskType != DType::Bool && !isHalfOrSingle(problem.operands[4]))
      fail("a mask is f32, bf16 or bool");
  }
  for (const amx::AttentionSide *adjacent : {&shape.value, &shape.result, &shape.mask})
    if (adjacent->columnStride > 1)
      fail("columns of value, result and mask must be adjacent");
  auto kernel = std::make_shared<Kernel>();
  if (result.empty())
    return kernel;
  auto attention = std::make_shared<amx::Attention>(shape);
  int64_t heads = attention->heads();
  double us = static_cast<double>(heads) * shape.rows * shape.keys * (shape.depth + shape.valueDepth) / 300e3;
  int64_t slices = us < 10 ? 1 : std::min<int64_t>(problem.threads, heads);
  for (int64_t slice = 0; slice < slices; ++slice) {
    kernel->addSlice();
    addOwn(*kernel, std::make_shared<AmxAttention>(attention, heads * slice / slices, heads * (slice + 1) / slices),
           {argument(0, Desc(), query), argument(0, Desc(), key), argument(0, Desc(), value), argument(0, Desc(), result),
            hasMask ? argument(0, Desc(), problem.operands[4]) : Argument(), scratch(0)},
           attention->scratchBytes());
  }
  kernel->addImplementation("amx:bf16");
  return kernel;
}

} // namespace graphc::cpu::onednn
