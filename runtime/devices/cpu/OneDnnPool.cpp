// Max and average pooling.
#include "runtime/devices/cpu/OneDnn.h"

#include <algorithm>

namespace graphc::cpu::onednn {

std::shared_ptr<Kernel> buildPooling(const Builder &builder, const Problem &problem) {
  auto kernel = std::make_shared<Kernel>();
  const View &source = problem.source(), &destination = problem.destination();
  if (destination.empty())
    return kernel;
  int spatial = source.rank() - 2;
  if (static_cast<int>(problem.kernelShape.size()) != spatial)
    throw Failure{error(Code::PlanInvalid, "pooling: the window needs ", spatial, " sizes, got ", problem.kernelShape.size())};
  auto algorithm = problem.library->kind == plan::LibraryKind::MaxPool ? dnnl::algorithm::pooling_max
                   : problem.library->include_padding                  ? dnnl::algorithm::pooling_avg_include_padding
                                                                       : dnnl::algorithm::pooling_avg_exclude_padding;
  std::vector<int64_t> dilates = problem.dilations;
  for (int64_t &dilate : dilates)
    --dilate;
  double work = 1;
  for (int64_t dim : destination.dims)
    work *= static_cast<double>(dim);
  for (int64_t size : problem.kernelShape)
    work *= static_cast<double>(size);

  int64_t batch = destination.dims[0];
  int slices = batch >= problem.threads ? usefulSlices(work * 4, problem.threads) : 1;
  auto whole = [&](Kernel &target, const std::vector<View> &views) {
    target.addSlice();
    std::vector<Argument> arguments;
    dnnl::primitive_attr attr = attributes(problem, views, arguments);
    Desc src = describe(views[0]), dst = describe(views[3]);
    // Ceil mode: the last window may begin inside and end outside of the padded source.
    std::vector<int64_t> padsEnd = problem.padsEnd;
    for (int i = 0; i < spatial; ++i) {
      int64_t reach = (problem.kernelShape[i] - 1) * problem.dilations[i] + 1;
      padsEnd[i] = std::max(padsEnd[i], (destination.dims[2 + i] - 1) * problem.strides[i] + reach - problem.padsBegin[i] - source.dims[2 + i]);
    }
    dnnl::pooling_v2_forward::desc desc(dnnl::prop_kind::forward_inference, algorithm, src, dst, problem.strides, problem.kernelShape,
                                        dilates, problem.padsBegin, padsEnd);
    dnnl::pooling_v2_forward::primitive_desc primitive(desc, attr, builder.engine);
    target.addImplementation(primitive.impl_info_str());
    arguments.push_back(argument(DNNL_ARG_SRC, src, views[0]));
    arguments.push_back(argument(DNNL_ARG_DST, dst, views[3]));
    addPrimitive(target, primitive, dnnl::pooling_v2_forward(primitive), std::move(arguments));
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
