// Gradients of convolution weights. The sum over the batch is cut into the plan's chunks, each run by one thread into a result of
// its own: the same bits for any number of threads, which the library's own splitting would not give.
#include "runtime/devices/cpu/OneDnn.h"

namespace graphc::cpu::onednn {

namespace {

using Backward = dnnl::convolution_backward_weights;
using Forward = dnnl::convolution_forward;

std::vector<int64_t> minusOne(std::vector<int64_t> values) {
  for (int64_t &value : values)
    --value;
  return values;
}

/// The primitive for one chunk, in the layouts the views have or, where only a fallback takes those, in the library's own.
Backward::primitive_desc choose(const Builder &builder, const Problem &problem, const View &source, const View &weights,
                                const View &gradient) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  auto dilates = minusOne(problem.dilations);
  auto make = [&](const Desc &src, const Desc &wei, const Desc &dst) {
    auto algorithm = dnnl::algorithm::convolution_direct;
    Forward::desc forward(dnnl::prop_kind::forward_training, algorithm, src, wei, dst, problem.strides, dilates,
                          problem.padsBegin, problem.padsEnd);
    Backward::desc backward(algorithm, src, wei, dst, problem.strides, dilates, problem.padsBegin, problem.padsEnd);
    return Backward::primitive_desc(backward, attr, builder.engine, Forward::primitive_desc(forward, attr, builder.engine));
  };
  auto any = [](const View &view) { return Desc(view.dims, dataType(view.dtype), dnnl::memory::format_tag::any); };
  auto desc = make(describe(source), any(weights), describe(gradient));
  if (!isFallback(desc.impl_info_str()))
    return desc;
  try {
    auto free = make(any(source), any(weights), any(gradient));
    if (!isFallback(free.impl_info_str()))
      return free;
  } catch (const dnnl::error &) {
    // The plain form exists, slow as it is.
  }
  return desc;
}

void addChunk(Kernel &kernel, const Builder &builder, const Problem &problem, const View &source, const View &weights,
              const View &gradient) {
  kernel.addSlice();
  auto desc = choose(builder, problem, source, weights, gradient);
  kernel.addImplementation(desc.impl_info_str());
  int64_t scratch = 0;
  // An operand as the primitive wants it: where it is, or in scratch memory with a reorder between.
  struct Placed {
    Argument plain, used;
  };
  auto place = [&](int tag, const View &view, const Desc &wanted) {
    Placed placed{argument(tag, view), argument(tag, view)};
    if (wanted != placed.plain.desc) {
      placed.used = {};
      placed.used.tag = tag;
      placed.used.desc = wanted;
      placed.used.scratchOffset = scratch;
      scratch += (static_cast<int64_t>(wanted.get_size()) + 63) / 64 * 64;
    }
    return placed;
  };
  auto reorder = [&](Argument from, Argument to) {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::reorder::primitive_desc between(builder.engine, from.desc, builder.engine, to.desc, attr);
    from.tag = DNNL_ARG_FROM;
    to.tag = DNNL_ARG_TO;
    kernel.addImplementation("reorder");
    addPrimitive(kernel, between, dnnl::reorder(between), {from, to}, scratch);
  };
  Placed src = place(DNNL_ARG_SRC, source, desc.src_desc());
  Placed dst = place(DNNL_ARG_DIFF_DST, gradient, desc.diff_dst_desc());
  Placed wei = place(DNNL_ARG_DIFF_WEIGHTS, weights, desc.diff_weights_desc());
  for (const Placed *read : {&src, &dst})
    if (read->used.scratchOffset >= 0)
      reorder(read->plain, read->used);
  addPrimitive(kernel, desc, Backward(desc), {src.used, dst.used, wei.used}, scratch);
  if (wei.used.scratchOffset >= 0)
    reorder(wei.used, wei.plain);
}

} // namespace

std::shared_ptr<Kernel> buildWeightGradient(const Builder &builder, const Problem &given) {
  auto kernel = std::make_shared<Kernel>();
  const View &source = given.source(), &gradient = given.destination(), &chunks = given.weights();
  if (chunks.empty())
    return kernel;
  int spatial = source.rank() - 2;
  View whole = chunks;
  whole.dims.erase(whole.dims.begin());
  whole.strides.erase(whole.strides.begin());
  if (whole.rank() != source.rank() || source.dims[0] != gradient.dims[0] || source.dims[1] != whole.dims[1] * given.groups ||
      gradient.dims[1] != whole.dims[0])
    throw Failure{error(Code::ShapeMismatch, "weight gradient: the sizes do not fit together (source ", Shape(source.dims),
                        ", gradient ", Shape(gradient.dims), ", result ", Shape(chunks.dims), ", groups ", given.groups, ")")};
  // The gradient's sizes decide; rows that no window reached are cut off by a negative padding.
  Problem problem = given;
  for (int i = 0; i < spatial; ++i) {
    int64_t reach = (whole.dims[2 + i] - 1) * problem.dilations[i] + 1;
    problem.padsEnd[i] = (gradient.dims[2 + i] - 1) * problem.strides[i] + reach - source.dims[2 + i] - problem.padsBegin[i];
  }
  int64_t batch = source.dims[0], bytes = static_cast<int64_t>(sizeOf(whole.dtype));
  for (int64_t dim : whole.dims)
    bytes *= dim;
  for (int64_t chunk = 0; chunk < chunks.dims[0]; ++chunk) {
    View part = whole;
    part.offset += chunk * chunks.strides[0];
    int64_t begin = batch * chunk / chunks.dims[0], count = batch * (chunk + 1) / chunks.dims[0] - begin;
    if (count == 0 || source.empty() || gradient.empty()) {
      kernel->addSlice();
      kernel->addOperation({dnnl::primitive(), {argument(DNNL_ARG_DST, part)}, bytes}, 0);
      continue;
    }
    addChunk(*kernel, builder, problem, source.narrowed(0, begin, count), libraryWeights(part, problem.groups, false),
             gradient.narrowed(0, begin, count));
  }
  return kernel;
}

} // namespace graphc::cpu::onednn
