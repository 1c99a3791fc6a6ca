// Matrix products. Batches over one weight matrix become one tall matrix; large products are cut into slices.
#include "runtime/devices/cpu/OneDnn.h"

#include <algorithm>
#include <optional>

namespace graphc::cpu::onednn {

namespace {

/// Ones in front until the view has `rank` dimensions.
void padRank(View &view, int rank) {
  if (!view.present)
    return;
  while (view.rank() < rank) {
    view.dims.insert(view.dims.begin(), 1);
    view.strides.insert(view.strides.begin(), 0);
  }
}

/// Whether dimensions 0 … rank-2 step through memory as one of size `rows` (or are all broadcast), and that dimension's
/// stride.
bool rowsMerge(const View &view, int64_t rows, int64_t &size, int64_t &stride) {
  size = 1;
  stride = 0;
  for (int i = view.rank() - 2; i >= 0; --i) {
    if (view.dims[i] == 1)
      continue;
    if (size == 1)
      stride = view.strides[i];
    else if (view.strides[i] != stride * size)
      return false;
    size *= view.dims[i];
  }
  return size == rows || size == 1;
}

/// Makes [batch…, M, K] x [K, N] the product of two matrices; false when strides or post-ops forbid it.
bool collapse(std::vector<View> &operands) {
  const View &weights = operands[1];
  for (int i = 0; i + 2 < weights.rank(); ++i)
    if (weights.dims[i] != 1)
      return false;
  int rank = operands[3].rank();
  int64_t rows = 1;
  for (int i = 0; i + 1 < rank; ++i)
    rows *= operands[3].dims[i];
  std::vector<View> merged = operands;
  for (size_t i = 0; i < operands.size(); ++i) {
    View &view = merged[i];
    if (!view.present || view.rank() == 2)
      continue;
    int64_t size, stride;
    if (i == 1) {
      view.dims.erase(view.dims.begin(), view.dims.end() - 2);
      view.strides.erase(view.strides.begin(), view.strides.end() - 2);
      continue;
    }
    if (!rowsMerge(view, rows, size, stride) || ((i == 0 || i == 3) && size != rows))
      return false;
    view.dims = {size, view.dims.back()};
    view.strides = {stride, view.strides.back()};
  }
  operands = std::move(merged);
  return true;
}

void checkSizes(const std::vector<View> &operands) {
  const View &a = operands[0], &b = operands[1], &dst = operands[3];
  int rank = dst.rank();
  bool agree = a.dims[rank - 1] == b.dims[rank - 2] && a.dims[rank - 2] == dst.dims[rank - 2] && b.dims[rank - 1] == dst.dims[rank - 1];
  for (int i = 0; i + 2 < rank; ++i)
    agree = agree && (a.dims[i] == dst.dims[i] || a.dims[i] == 1) && (b.dims[i] == dst.dims[i] || b.dims[i] == 1);
  for (size_t i = 2; i < operands.size(); ++i)
    for (int d = 0; d < rank && operands[i].present; ++d)
      agree = agree && (operands[i].dims[d] == dst.dims[d] || operands[i].dims[d] == 1);
  if (!agree) {
    std::vector<std::string> shapes;
    for (const View &view : operands)
      shapes.push_back(view.present ? Shape(view.dims).str() : "-");
    throw Failure{error(Code::ShapeMismatch, "matmul: the sizes ", joined(shapes), " (A, B, bias, destination, …) do not fit together")};
  }
}

/// [M, K] x constant [K, N] as a pointwise convolution over M pixels. Below AVX-512 the library's matmul is its gemm, which
/// packs the weights anew on every call; the convolution takes them packed: 1.0–2.5 times as fast for M of 8 … 256.
bool addPointwise(Kernel &kernel, const Builder &builder, const Problem &problem, const std::vector<View> &views) {
  const View &a = views[0], &b = views[1], &bias = views[2], &dst = views[3];
  if (dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core || a.rank() != 2 || !b.constant || a.dtype != DType::F32 ||
      b.dtype != DType::F32 || dst.dtype != DType::F32)
    return false;
  int64_t m = a.dims[0], k = a.dims[1], n = dst.dims[1];
  auto dense = [](const View &view) {
    return (view.dims[1] == 1 || view.strides[1] == 1) && (view.dims[0] == 1 || view.strides[0] == view.dims[1]);
  };
  if (!dense(a) || !dense(dst) || (bias.present && (bias.dims != std::vector<int64_t>{1, n} || bias.strides[1] != 1)))
    return false;
  // [rows, columns] as an image of one row: batch, channels, height, width.
  auto image = [](const View &view) {
    View result = view;
    int64_t size = view.dims[0] * view.dims[1];
    result.dims = {1, view.dims[1], 1, view.dims[0]};
    result.strides = {size, 1, size, view.dims[1]};
    return result;
  };
  std::vector<View> images = views;
  for (size_t i = 0; i < views.size(); ++i) {
    if (!views[i].present || i == 1 || i == 2)
      continue;
    bool whole = views[i].dims[0] == m && views[i].dims[1] == n, row = views[i].dims[0] == 1 && views[i].dims[1] == n,
         scalar = views[i].dims[0] == 1 && views[i].dims[1] == 1;
    if (i > 3 && (!dense(views[i]) || !(whole || row || scalar)))
      return false;
    images[i] = image(views[i]);
  }
  images[1].dims = {n, k, 1, 1};
  images[1].strides = {b.strides[1], b.strides[0], 1, 1};
  std::vector<Argument> arguments;
  dnnl::primitive_attr attr = attributes(problem, images, arguments);
  Desc source = describe(images[0]), destination = describe(images[3]);
  Desc plainWeights(images[1].dims, dataType(b.dtype), images[1].strides);
  Desc weights(images[1].dims, dataType(b.dtype), dnnl::memory::format_tag::any);
  Desc biasDesc = bias.present ? Desc({n}, dataType(bias.dtype), {1}) : Desc();
  dnnl::memory::dims ones = {1, 1}, zeros = {0, 0};
  std::optional<dnnl::convolution_forward::primitive_desc> desc;
  try {
    auto kind = dnnl::prop_kind::forward_inference;
    auto direct = dnnl::algorithm::convolution_direct;
    desc = bias.present ? dnnl::convolution_forward::primitive_desc(
                              {kind, direct, source, weights, biasDesc, destination, ones, zeros, zeros}, attr, builder.engine)
                        : dnnl::convolution_forward::primitive_desc({kind, direct, source, weights, destination, ones, zeros, zeros}, attr,
                                                                    builder.engine);
  } catch (const dnnl::error &) {
    return false;
  }
  if (std::string_view(desc->impl_info_str()).substr(0, 7) != "jit_1x1")
    return false;
  kernel.addSlice();
  kernel.addImplementation(desc->impl_info_str());
  arguments.push_back(argument(DNNL_ARG_SRC, source, images[0]));
  arguments.push_back(packed(builder, DNNL_ARG_WEIGHTS, images[1], plainWeights, desc->weights_desc()));
  if (bias.present)
    arguments.push_back(argument(DNNL_ARG_BIAS, biasDesc, bias));
  arguments.push_back(argument(DNNL_ARG_DST, destination, images[3]));
  addPrimitive(kernel, *desc, dnnl::convolution_forward(*desc), std::move(arguments));
  return true;
}

/// The product with weights packed as it likes. With AVX-512 the library pads N to 64 whatever it is, and 16 or 32 columns then read up to
/// four times the bytes: those get blocks of their own width where it takes them.
template <typename Make>
dnnl::matmul::primitive_desc makePacked(const View &weights, Make make) {
  auto packedAs = [&](dnnl::memory::format_tag tag) { return make(Desc(weights.dims, dataType(weights.dtype), tag)); };
  int64_t columns = weights.dims.back();
  if (weights.rank() == 2 && weights.dtype == DType::F32 && columns <= 48 && dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core)
    try {
      using enum dnnl::memory::format_tag;
      auto narrow = packedAs(columns <= 16 ? BA16a16b : columns <= 32 ? BA16a32b : BA16a48b);
      if (!isFallback(narrow.impl_info_str()))
        return narrow;
    } catch (const dnnl::error &) {
      // Not this layout: the library's own.
    }
  return packedAs(dnnl::memory::format_tag::any);
}

/// The source as it is, or copied into scratch (which then begins `scratch` bytes later) where neither rows nor columns have their elements
/// side by side: such a layout leads the library to its reference loops, a hundred times slower.
Argument withAdjacentElements(Kernel &kernel, const Builder &builder, const View &view, int64_t &scratch) {
  Argument source = argument(DNNL_ARG_SRC, view);
  int rank = view.rank();
  bool byRows = view.dims[rank - 1] == 1 || view.strides[rank - 1] == 1, byColumns = view.dims[rank - 2] > 1 && view.strides[rank - 2] == 1;
  if (byRows || byColumns)
    return source;
  Argument copy;
  copy.tag = DNNL_ARG_TO;
  copy.desc = Desc(view.dims, dataType(view.dtype), Shape(view.dims).denseStrides());
  copy.scratchOffset = 0;
  scratch = (static_cast<int64_t>(copy.desc.get_size()) + 63) / 64 * 64;
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::reorder::primitive_desc reorder(builder.engine, source.desc, builder.engine, copy.desc, attr);
  source.tag = DNNL_ARG_FROM;
  kernel.addImplementation("reorder");
  addPrimitive(kernel, reorder, dnnl::reorder(reorder), {source, copy}, scratch);
  copy.tag = DNNL_ARG_SRC;
  return copy;
}

void addSlice(Kernel &kernel, const Builder &builder, const Problem &problem, const std::vector<View> &views) {
  if (addPointwise(kernel, builder, problem, views))
    return;
  kernel.addSlice();
  std::vector<Argument> arguments;
  dnnl::primitive_attr attr = attributes(problem, views, arguments);
  int64_t scratch = 0;
  Argument sourceArgument = withAdjacentElements(kernel, builder, views[0], scratch);
  Desc source = sourceArgument.desc, plainWeights = describe(views[1]), destination = describe(views[3]);
  auto make = [&](const Desc &weightsDesc) {
    dnnl::matmul::desc desc = views[2].present ? dnnl::matmul::desc(source, weightsDesc, describe(views[2]), destination)
                                               : dnnl::matmul::desc(source, weightsDesc, destination);
    return dnnl::matmul::primitive_desc(desc, attr, builder.engine);
  };
  dnnl::matmul::primitive_desc desc = views[1].constant ? makePacked(views[1], make) : make(plainWeights);
  kernel.addImplementation(desc.impl_info_str());
  arguments.push_back(sourceArgument);
  arguments.push_back(packed(builder, DNNL_ARG_WEIGHTS, views[1], plainWeights, desc.weights_desc()));
  if (views[2].present)
    arguments.push_back(argument(DNNL_ARG_BIAS, views[2]));
  arguments.push_back(argument(DNNL_ARG_DST, destination, views[3]));
  addPrimitive(kernel, desc, dnnl::matmul(desc), std::move(arguments), scratch);
}

} // namespace

std::shared_ptr<Kernel> buildMatMul(const Builder &builder, const Problem &problem) {
  auto kernel = std::make_shared<Kernel>();
  std::vector<View> operands = problem.operands;
  int rank = 2;
  for (const View &view : operands)
    rank = std::max(rank, view.rank());
  if (operands[0].rank() < 2 || operands[1].rank() < 2 || operands[3].rank() < 2)
    throw Failure{error(Code::ShapeMismatch, "matmul: operands need at least two dimensions, got ", Shape(operands[0].dims), ", ",
                        Shape(operands[1].dims), " and ", Shape(operands[3].dims))};
  for (View &view : operands)
    padRank(view, rank);
  checkSizes(operands);
  if (operands[3].empty())
    return kernel;
  if (operands[0].empty()) { // K = 0: a sum of nothing
    if (operands[2].present || !problem.library->post_ops.empty())
      throw Failure{error(Code::UnsupportedByLibrary, "matmul: K = 0 with a bias or post-ops")};
    kernel->addSlice();
    Operation zeros;
    zeros.arguments.push_back(argument(DNNL_ARG_DST, operands[3]));
    zeros.zeroBytes = Shape(operands[3].dims).elements() * static_cast<int64_t>(sizeOf(operands[3].dtype));
    kernel->addOperation(std::move(zeros), 0);
    return kernel;
  }
  collapse(operands);
  if (addAmxMatMul(*kernel, builder, problem, operands))
    return kernel;
  const View &destination = operands[3];
  rank = destination.rank();
  int64_t m = destination.dims[rank - 2], n = destination.dims[rank - 1];
  double multiplyAdds = static_cast<double>(operands[0].dims[rank - 1]);
  for (int64_t dim : destination.dims)
    multiplyAdds *= static_cast<double>(dim);

  // Slices along the first batch dimension that has enough entries, else rows, else (a few rows only) columns.
  int slices = usefulSlices(multiplyAdds, problem.threads);
  // A transposed left side (a weight's gradient) runs in other code of the library when it is cut than when it is whole, and that code
  // adds up in another order: cut for one thread as well, so that the number of threads changes no bits. Into how many parts does
  // not matter.
  bool turned = rank == 2 && operands[0].strides[1] != 1 && operands[0].strides[0] == 1 && operands[0].dims[1] > 1;
  if (turned)
    slices = std::max(slices, usefulSlices(multiplyAdds, 2));
  while (turned && slices > 2 && m < 8 * slices && n < 64 * slices)
    --slices;
  int axis = -1;
  for (int i = 0; i + 2 < rank && axis < 0; ++i)
    if (destination.dims[i] >= slices)
      axis = i;
  if (axis < 0 && m >= 8 * slices)
    axis = rank - 2;
  if (axis < 0 && n >= 64 * slices && (m == 1 || rank == 2))
    axis = rank - 1;
  if (axis < 0)
    slices = 1;

  if (builder.units && rank == 2 && operands[1].constant && (axis == 0 || slices == 1)) {
    constexpr int64_t kLargestBlock = 256;
    for (int slice = 0; slice < slices; ++slice) {
      kernel->addSlice();
      for (int64_t row = m * slice / slices, end = m * (slice + 1) / slices; row < end;) {
        int64_t rows = kLargestBlock;
        while (rows > end - row)
          rows /= 2;
        auto unit = builder.units->find(unitKey(operands, 0, {rows}), [&] {
          std::vector<View> views = operands;
          for (size_t i = 0; i < views.size(); ++i)
            if (i != 1)
              views[i] = views[i].narrowed(0, 0, rows);
          Kernel block;
          addSlice(block, builder, problem, views);
          return std::move(block).asUnit();
        });
        kernel->append(*unit, operands, 0, row);
        row += rows;
      }
    }
    return kernel;
  }

  for (int slice = 0; slice < slices; ++slice) {
    std::vector<View> views = operands;
    if (slices > 1) {
      // Rows and columns in multiples of 16, so that every slice but the last fills the library's registers.
      int64_t size = destination.dims[axis], unit = axis == rank - 1 ? 16 : axis == rank - 2 && size >= 64 ? 8 : 1;
      int64_t units = (size + unit - 1) / unit;
      int64_t begin = units * slice / slices * unit, end = std::min(size, units * (slice + 1) / slices * unit);
      for (size_t i = 0; i < views.size(); ++i) {
        bool concerned = (i != 0 || axis != rank - 1) && (i != 1 || axis != rank - 2);
        if (views[i].present && concerned)
          views[i] = views[i].narrowed(axis, begin, end - begin);
      }
    }
    addSlice(*kernel, builder, problem, views);
  }
  return kernel;
}

} // namespace graphc::cpu::onednn
