// Convolutions and their transposes, in any number of spatial dimensions, groups included.
//
// Source and destination keep the strides the plan gives (channels last throughout a network); weights are packed once.
// Where the library would fall back to its reference loops for these strides, the kernel reorders around it instead.
#include "runtime/devices/cpu/OneDnn.h"

#include <algorithm>
#include <optional>

namespace graphc::cpu::onednn {

View libraryWeights(View view, int64_t groups, bool transposed) {
  int64_t outer = view.dims[0], inner = view.dims[1], outerStride = view.strides[0], innerStride = view.strides[1];
  std::vector<int64_t> dims, strides;
  if (groups > 1) {
    dims.push_back(groups);
    strides.push_back(outer / groups * outerStride);
  }
  if (transposed) {
    dims.insert(dims.end(), {inner, outer / groups});
    strides.insert(strides.end(), {innerStride, outerStride});
  } else {
    dims.insert(dims.end(), {outer / groups, inner});
    strides.insert(strides.end(), {outerStride, innerStride});
  }
  dims.insert(dims.end(), view.dims.begin() + 2, view.dims.end());
  strides.insert(strides.end(), view.strides.begin() + 2, view.strides.end());
  view.dims = std::move(dims);
  view.strides = std::move(strides);
  return view;
}

bool isFallback(std::string_view name) {
  return name.find("ref") != std::string_view::npos || name.find("gemm") != std::string_view::npos;
}

namespace {

std::vector<int64_t> minusOne(std::vector<int64_t> values) {
  for (int64_t &value : values)
    --value;
  return values;
}

struct Window {
  std::vector<int64_t> padsBegin, padsEnd;
};

/// A convolution along the height of an image one pixel wide, turned on its side: the library's kernels keep several pixels of a
/// row in registers, and a row of one pixel leaves them idle. The memory is the same.
struct Turned {
  std::vector<View> views;
  View weights;
  Window window;
  std::vector<int64_t> strides, dilations;
};
std::optional<Turned> turnedOnItsSide(const Problem &problem, const std::vector<View> &views, const View &weights, const Window &window) {
  if (weights.rank() != 4 || views[0].dims[3] != 1 || views[3].dims[3] != 1 || weights.dims[3] != 1 || views[3].dims[2] == 1)
    return std::nullopt;
  Turned turned{views, weights, window, problem.strides, problem.dilations};
  auto swapView = [](View &view) {
    if (!view.present || view.rank() != 4)
      return;
    std::swap(view.dims[2], view.dims[3]);
    std::swap(view.strides[2], view.strides[3]);
    view.strides[2] = view.strides[3] * view.dims[3]; // of a size of 1: what a dense image would have
  };
  for (size_t i = 0; i < turned.views.size(); ++i)
    if (i != 1 && i != 2)
      swapView(turned.views[i]);
  swapView(turned.weights);
  for (auto *list : {&turned.window.padsBegin, &turned.window.padsEnd, &turned.strides, &turned.dilations})
    std::swap((*list)[0], (*list)[1]);
  return turned;
}

/// One slice: the primitive for `views` (already narrowed), with reorders around it where its favourite layouts pay.
template <typename Forward>
void addConvolution(Kernel &kernel, const Builder &builder, const Problem &given, const std::vector<View> &givenViews,
                    const View &givenWeights, const Window &givenWindow, dnnl::algorithm algorithm) {
  auto turned = turnedOnItsSide(given, givenViews, givenWeights, givenWindow);
  Problem problem = given;
  if (turned) {
    problem.strides = turned->strides;
    problem.dilations = turned->dilations;
  }
  const std::vector<View> &views = turned ? turned->views : givenViews;
  const View &weightsView = turned ? turned->weights : givenWeights;
  const Window &window = turned ? turned->window : givenWindow;
  kernel.addSlice();
  std::vector<Argument> arguments;
  dnnl::primitive_attr attr = attributes(problem, views, arguments);
  Desc source = describe(views[0]), destination = describe(views[3]), plainWeights = describe(weightsView);
  // As the library likes them best: constants are packed once, weights that change (in training) by each call. In their plain layout
  // the library would take its fallback, or blocked images with reorders around it.
  Desc weights(weightsView.dims, dataType(weightsView.dtype), dnnl::memory::format_tag::any);
  bool hasBias = views[2].present;
  Desc bias = hasBias ? describe(views[2]) : Desc();
  auto dilates = minusOne(problem.dilations);
  auto make = [&](const Desc &src, const Desc &wei, const Desc &dst) {
    typename Forward::desc desc =
        hasBias ? typename Forward::desc(dnnl::prop_kind::forward_inference, algorithm, src, wei, bias, dst, problem.strides, dilates,
                                         window.padsBegin, window.padsEnd)
                : typename Forward::desc(dnnl::prop_kind::forward_inference, algorithm, src, wei, dst, problem.strides, dilates,
                                         window.padsBegin, window.padsEnd);
    return typename Forward::primitive_desc(desc, attr, builder.engine);
  };

  typename Forward::primitive_desc desc = make(source, weights, destination);
  bool reordered = false;
  bool hasSum = std::any_of(problem.library->post_ops.begin(), problem.library->post_ops.end(),
                            [](const auto &op) { return op->kind == plan::PostOpKind::Sum; });
  if (isFallback(desc.impl_info_str()) && !hasSum) {
    auto any = [](const View &view) { return Desc(view.dims, dataType(view.dtype), dnnl::memory::format_tag::any); };
    try {
      auto free = make(any(views[0]), Desc(weightsView.dims, dataType(weightsView.dtype), dnnl::memory::format_tag::any), any(views[3]));
      if (!isFallback(free.impl_info_str())) {
        desc = free;
        reordered = true;
      }
    } catch (const dnnl::error &) {
      // The plain form exists, slow as it is.
    }
  }
  kernel.addImplementation(desc.impl_info_str());

  int64_t scratch = 0;
  auto reserve = [&](const Desc &layout) {
    int64_t at = scratch;
    scratch += (static_cast<int64_t>(layout.get_size()) + 63) / 64 * 64;
    return at;
  };
  auto inScratch = [](int tag, const Desc &layout, int64_t at) {
    Argument result;
    result.tag = tag;
    result.desc = layout;
    result.scratchOffset = at;
    return result;
  };
  auto addReorder = [&](Argument from, Argument to) {
    dnnl::primitive_attr reorderAttr;
    reorderAttr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::reorder::primitive_desc reorder(builder.engine, from.desc, builder.engine, to.desc, reorderAttr);
    from.tag = DNNL_ARG_FROM;
    to.tag = DNNL_ARG_TO;
    kernel.addImplementation("reorder");
    addPrimitive(kernel, reorder, dnnl::reorder(reorder), {from, to}, scratch);
  };

  Argument sourceArgument = argument(DNNL_ARG_SRC, source, views[0]);
  if (desc.src_desc() != source) {
    Argument blocked = inScratch(DNNL_ARG_SRC, desc.src_desc(), reserve(desc.src_desc()));
    addReorder(sourceArgument, blocked);
    sourceArgument = blocked;
  }
  Argument weightsArgument;
  if (!weightsView.constant && desc.weights_desc() != plainWeights) {
    weightsArgument = inScratch(DNNL_ARG_WEIGHTS, desc.weights_desc(), reserve(desc.weights_desc()));
    addReorder(argument(DNNL_ARG_WEIGHTS, plainWeights, weightsView), weightsArgument);
  } else {
    weightsArgument = packed(builder, DNNL_ARG_WEIGHTS, weightsView, plainWeights, desc.weights_desc());
  }
  Argument destinationArgument = argument(DNNL_ARG_DST, destination, views[3]);
  bool reorderBack = reordered && desc.dst_desc() != destination;
  if (reorderBack)
    destinationArgument = inScratch(DNNL_ARG_DST, desc.dst_desc(), reserve(desc.dst_desc()));
  arguments.push_back(sourceArgument);
  arguments.push_back(weightsArgument);
  if (hasBias)
    arguments.push_back(argument(DNNL_ARG_BIAS, bias, views[2]));
  arguments.push_back(destinationArgument);
  addPrimitive(kernel, desc, Forward(desc), std::move(arguments), scratch);
  if (reorderBack)
    addReorder(destinationArgument, argument(DNNL_ARG_DST, destination, views[3]));
}

void checkChannels(const Problem &problem, int64_t in, int64_t out) {
  auto text = [&] {
    return graphc::text("source ", Shape(problem.source().dims), ", weights ", Shape(problem.weights().dims), ", destination ",
                        Shape(problem.destination().dims), ", groups ", problem.groups);
  };
  if (problem.weights().rank() != problem.source().rank() || problem.source().dims[1] != in || problem.destination().dims[1] != out ||
      in % problem.groups != 0 || out % problem.groups != 0 || problem.source().dims[0] != problem.destination().dims[0])
    throw Failure{error(Code::ShapeMismatch, "convolution: the sizes do not fit together (", text(), ")")};
}

} // namespace

std::shared_ptr<Kernel> buildConvolution(const Builder &builder, const Problem &problem) {
  auto kernel = std::make_shared<Kernel>();
  checkChannels(problem, problem.weights().dims[1] * problem.groups, problem.weights().dims[0]);
  const View &source = problem.source(), &destination = problem.destination();
  if (destination.empty() || addAmxPointwise(*kernel, builder, problem))
    return kernel;
  View weights = libraryWeights(problem.weights(), problem.groups, false);

  int spatial = source.rank() - 2;
  double multiplyAdds = static_cast<double>(problem.weights().dims[1]);
  for (int64_t dim : destination.dims)
    multiplyAdds *= static_cast<double>(dim);
  for (int i = 0; i < spatial; ++i)
    multiplyAdds *= static_cast<double>(problem.weights().dims[2 + i]);
  for (int i = 0; i < spatial; ++i) {
    int64_t reach = (problem.weights().dims[2 + i] - 1) * problem.dilations[i] + 1;
    int64_t expected = (source.dims[2 + i] + problem.padsBegin[i] + problem.padsEnd[i] - reach) / problem.strides[i] + 1;
    if (expected != destination.dims[2 + i])
      throw Failure{error(Code::ShapeMismatch, "convolution: spatial dimension ", i, " gives ", expected, " outputs, but the destination has ",
                          destination.dims[2 + i])};
  }

  int slices = usefulSlices(multiplyAdds, problem.threads);
  int64_t batch = destination.dims[0], rows = destination.dims[2];
  auto whole = [&](Kernel &target, const std::vector<View> &views) {
    addConvolution<dnnl::convolution_forward>(target, builder, problem, views, weights, {problem.padsBegin, problem.padsEnd},
                                              dnnl::algorithm::convolution_direct);
  };
  if (builder.units && batch > 1) {
    appendImages(*kernel, builder, problem, slices, whole);
    return kernel;
  }
  bool byBatch = batch >= slices;
  if (!byBatch && (rows < 2 * slices || batch > 1))
    slices = 1;

  for (int slice = 0; slice < slices; ++slice) {
    std::vector<View> views = problem.operands;
    Window window{problem.padsBegin, problem.padsEnd};
    if (slices > 1 && byBatch) {
      int64_t begin = batch * slice / slices;
      views = imagesOf(views, begin, batch * (slice + 1) / slices - begin);
    } else if (slices > 1) {
      // Output rows [begin, end) read source rows [first, last), the rest of their window is padding.
      int64_t begin = rows * slice / slices, end = rows * (slice + 1) / slices;
      int64_t reach = (problem.weights().dims[2] - 1) * problem.dilations[0] + 1;
      int64_t first = begin * problem.strides[0] - problem.padsBegin[0];
      int64_t last = (end - 1) * problem.strides[0] - problem.padsBegin[0] + reach;
      window.padsBegin[0] = std::max<int64_t>(0, -first);
      window.padsEnd[0] = std::max<int64_t>(0, last - source.dims[2]);
      first = std::max<int64_t>(0, first);
      last = std::min(last, source.dims[2]);
      if (last <= first || source.dims[2] == 1) {
        // A slice of nothing but padding: not worth a special case.
        *kernel = Kernel();
        whole(*kernel, problem.operands);
        return kernel;
      }
      views[0] = views[0].narrowed(2, first, last - first);
      for (size_t i = 3; i < views.size(); ++i)
        views[i] = views[i].narrowed(2, begin, end - begin);
    }
    addConvolution<dnnl::convolution_forward>(*kernel, builder, problem, views, weights, window, dnnl::algorithm::convolution_direct);
  }
  return kernel;
}

std::shared_ptr<Kernel> buildDeconvolution(const Builder &builder, const Problem &problem) {
  auto kernel = std::make_shared<Kernel>();
  checkChannels(problem, problem.weights().dims[0], problem.weights().dims[1] * problem.groups);
  const View &source = problem.source(), &destination = problem.destination();
  if (destination.empty())
    return kernel;
  View weights = libraryWeights(problem.weights(), problem.groups, true);
  // The destination decides: paddings at the end absorb ONNX's output_padding.
  Window window{problem.padsBegin, problem.padsEnd};
  double multiplyAdds = static_cast<double>(problem.weights().dims[1]);
  for (int64_t dim : source.dims)
    multiplyAdds *= static_cast<double>(dim);
  for (int i = 0; i < source.rank() - 2; ++i) {
    int64_t reach = (problem.weights().dims[2 + i] - 1) * problem.dilations[i] + 1;
    window.padsEnd[i] = (source.dims[2 + i] - 1) * problem.strides[i] + reach - problem.padsBegin[i] - destination.dims[2 + i];
    multiplyAdds *= static_cast<double>(problem.weights().dims[2 + i]);
  }
  int64_t batch = destination.dims[0];
  int slices = batch >= problem.threads ? usefulSlices(multiplyAdds, problem.threads) : 1;
  auto whole = [&](Kernel &target, const std::vector<View> &views) {
    addConvolution<dnnl::deconvolution_forward>(target, builder, problem, views, weights, window, dnnl::algorithm::deconvolution_direct);
  };
  if (builder.units && batch > 1) {
    appendImages(*kernel, builder, problem, slices, whole);
    return kernel;
  }
  for (int slice = 0; slice < slices; ++slice) {
    int64_t begin = batch * slice / slices;
    whole(*kernel, imagesOf(problem.operands, begin, batch * (slice + 1) / slices - begin));
  }
  return kernel;
}

} // namespace graphc::cpu::onednn
