// Descriptions, post-ops and packing, shared by the builders.
#include "runtime/devices/cpu/OneDnn.h"

#include <algorithm>
#include <bit>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace graphc::cpu::onednn {

using dnnl::algorithm;
using plan::PostOpKind;

bool View::empty() const {
  return std::find(dims.begin(), dims.end(), 0) != dims.end();
}

View View::narrowed(int axis, int64_t begin, int64_t count) const {
  View part = *this;
  if (!present || dims[axis] == 1)
    return part;
  part.dims[axis] = count;
  part.offset += begin * strides[axis];
  return part;
}

bool Kernel::readsConstant(int operand) const {
  for (const Slice &slice : slices_)
    for (const Placed &placed : slice)
      for (const Argument &argument : placed.operation->arguments)
        if (argument.operand == operand)
          return true;
  return false;
}

void Kernel::addOperation(Operation operation, int64_t scratchBytes) {
  slices_.back().push_back({std::make_shared<const Operation>(std::move(operation)), {}});
  scratchBytes_ = std::max(scratchBytes_, scratchBytes);
}

void Kernel::addImplementation(const std::string &name) {
  if (("+" + implementation_ + "+").find("+" + name + "+") == std::string::npos)
    implementation_ += (implementation_.empty() ? "" : "+") + name;
  // Where the library has batch-reduce kernels (AVX-512), its gemm path is a fallback; below, it is the normal path.
  bool wide = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core;
  slow_ = slow_ || name.find("ref") != std::string::npos || (wide && name.find("gemm") != std::string::npos);
}

void Kernel::append(const Unit &unit, const std::vector<View> &views, int axis, int64_t begin) {
  for (const Placed &placed : unit.operations) {
    const auto &arguments = placed.operation->arguments;
    std::vector<int64_t> moved(arguments.size());
    for (size_t i = 0; i < arguments.size(); ++i)
      if (int operand = arguments[i].operand; operand >= 0 && operand != 1 && operand != 2) // weights and bias stay where they are
        if (const View &view = views[operand]; axis < view.rank() && view.dims[axis] != 1)
          moved[i] = begin * view.strides[axis] * static_cast<int64_t>(sizeOf(view.dtype));
    slices_.back().push_back({placed.operation, std::move(moved)});
  }
  scratchBytes_ = std::max(scratchBytes_, unit.scratchBytes);
  if (implementation_ != unit.implementation)
    addImplementation(unit.implementation);
}

std::shared_ptr<const Unit> Kernel::asUnit() && {
  auto unit = std::make_shared<Unit>();
  unit->operations = std::move(slices_.back());
  unit->scratchBytes = scratchBytes_;
  unit->implementation = implementation_;
  return unit;
}

std::vector<int64_t> unitKey(const std::vector<View> &views, int axis, std::initializer_list<int64_t> extra) {
  std::vector<int64_t> key(extra);
  for (const View &view : views) {
    key.push_back(view.present ? view.rank() : -1);
    for (int d = 0; d < view.rank(); ++d) {
      key.push_back(d == axis ? view.dims[d] == 1 : view.dims[d]);
      key.push_back(view.strides[d]);
    }
    key.push_back(view.offset);
  }
  return key;
}

dnnl::memory::data_type dataType(DType type) {
  using T = dnnl::memory::data_type;
  switch (type) {
  case DType::F32:
    return T::f32;
  case DType::BF16:
    return T::bf16;
  case DType::F16:
    return T::f16;
  case DType::I32:
    return T::s32;
  case DType::I8:
    return T::s8;
  case DType::U8:
    return T::u8;
  default:
    throw Failure{error(Code::UnsupportedByLibrary, "oneDNN has no element type ", dtypeName(type),
                        "; it takes f32, bf16, f16, i32, i8 and u8")};
  }
}

Desc describe(const View &view) {
  if (view.dims.empty())
    return Desc({1}, dataType(view.dtype), {1});
  // Strides of 0 stand in front of dimensions made up to pad the rank; the library compares them all the same. The batch of a
  // slice of rows keeps the whole image's stride, which means nothing at size 1 but leads the library to its reference loops.
  std::vector<int64_t> strides = view.strides;
  int64_t dense = 1;
  for (size_t i = 0; i < strides.size(); ++i)
    if (view.dims[i] == 1 && (strides[i] == 0 || i == 0)) {
      dense = 1;
      for (size_t j = i + 1; j < view.dims.size(); ++j)
        if (view.dims[j] != 1)
          dense = std::max(dense, view.strides[j] * view.dims[j]);
      strides[i] = dense;
    }
  return Desc(view.dims, dataType(view.dtype), strides);
}

Argument argument(int tag, const Desc &desc, const View &view) {
  Argument result;
  result.tag = tag;
  result.desc = desc;
  result.operand = view.operand;
  result.byteOffset = view.byteOffset();
  return result;
}

Argument argument(int tag, const View &view) { return argument(tag, describe(view), view); }

dnnl::primitive_attr attributes(const Problem &problem, const std::vector<View> &views, std::vector<Argument> &arguments) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (problem.library->compute == plan::DType::BF16)
    attr.set_fpmath_mode(dnnl::fpmath_mode::bf16);
  dnnl::post_ops ops;
  auto eltwise = [&](algorithm kind, float alpha, float beta) { ops.append_eltwise(1.0f, kind, alpha, beta); };
  auto binary = [&](algorithm kind, const plan::PostOpT &op) {
    const View &view = views[op.operand];
    Desc desc = describe(view);
    arguments.push_back(argument(DNNL_ARG_ATTR_MULTIPLE_POST_OP(ops.len()) | DNNL_ARG_SRC_1, desc, view));
    ops.append_binary(kind, desc);
  };
  for (const auto &op : problem.library->post_ops) {
    switch (op->kind) {
    case PostOpKind::Relu:
      eltwise(algorithm::eltwise_relu, op->alpha, 0);
      break;
    case PostOpKind::Clip:
      eltwise(algorithm::eltwise_clip, op->alpha, op->beta);
      break;
    case PostOpKind::Linear:
      eltwise(algorithm::eltwise_linear, op->alpha, op->beta);
      break;
    case PostOpKind::GeluErf:
      eltwise(algorithm::eltwise_gelu_erf, 0, 0);
      break;
    case PostOpKind::GeluTanh:
      eltwise(algorithm::eltwise_gelu_tanh, 0, 0);
      break;
    case PostOpKind::Tanh:
      eltwise(algorithm::eltwise_tanh, 0, 0);
      break;
    case PostOpKind::Logistic:
      eltwise(algorithm::eltwise_logistic, 0, 0);
      break;
    case PostOpKind::Swish:
      eltwise(algorithm::eltwise_swish, op->alpha, 0);
      break;
    case PostOpKind::HardSwish:
      eltwise(algorithm::eltwise_hardswish, 0, 0);
      break;
    case PostOpKind::HardSigmoid: // this version has none of its own
      eltwise(algorithm::eltwise_linear, op->alpha, op->beta);
      eltwise(algorithm::eltwise_clip, 0, 1);
      break;
    case PostOpKind::Elu:
      eltwise(algorithm::eltwise_elu, op->alpha, 0);
      break;
    case PostOpKind::Abs:
      eltwise(algorithm::eltwise_abs, 0, 0);
      break;
    case PostOpKind::Sqrt:
      eltwise(algorithm::eltwise_sqrt, 0, 0);
      break;
    case PostOpKind::Square:
      eltwise(algorithm::eltwise_square, 0, 0);
      break;
    case PostOpKind::Exp:
      eltwise(algorithm::eltwise_exp, 0, 0);
      break;
    case PostOpKind::Log:
      eltwise(algorithm::eltwise_log, 0, 0);
      break;
    case PostOpKind::SoftRelu:
      eltwise(algorithm::eltwise_soft_relu, 0, 0);
      break;
    case PostOpKind::Pow:
      eltwise(algorithm::eltwise_pow, op->alpha, op->beta);
      break;
    case PostOpKind::BinaryAdd:
      binary(algorithm::binary_add, *op);
      break;
    case PostOpKind::BinaryMul:
      binary(algorithm::binary_mul, *op);
      break;
    case PostOpKind::BinarySub:
      binary(algorithm::binary_sub, *op);
      break;
    case PostOpKind::BinaryDiv:
      binary(algorithm::binary_div, *op);
      break;
    case PostOpKind::BinaryMax:
      binary(algorithm::binary_max, *op);
      break;
    case PostOpKind::BinaryMin:
      binary(algorithm::binary_min, *op);
      break;
    case PostOpKind::Sum:
      ops.append_sum(op->alpha);
      break;
    }
  }
  if (ops.len() > 0)
    attr.set_post_ops(ops);
  return attr;
}

static std::string packingFormat(const Desc &plain, const Desc &wanted) {
  // The library's descriptor says everything about the layout; its bytes are stable within one version.
  auto print = [](const Desc &desc) {
    return text(static_cast<int>(desc.data.data_type), ":", XXH3_64bits(&desc.data, sizeof desc.data));
  };
  return text(libraryVersion(), " ", Shape(plain.dims()), " ", print(plain), " -> ", print(wanted));
}

Argument packed(const Builder &builder, int tag, const View &view, const Desc &plain, const Desc &wanted) {
  if (plain == wanted || !view.constant)
    return argument(tag, wanted, view);
  const char *source = static_cast<const char *>(view.constant) + view.byteOffset();
  auto result = builder.packing->findOrPack(
      source, packingFormat(plain, wanted), static_cast<int64_t>(wanted.get_size()), [&](void *destination) -> Status {
        // Padding of blocked layouts must be zero, and the reorder does not touch all of it.
        std::memset(destination, 0, wanted.get_size());
        dnnl::memory from(plain, builder.engine, const_cast<char *>(source));
        dnnl::memory to(wanted, builder.engine, destination);
        dnnl::stream stream(builder.engine);
        dnnl::reorder(from, to).execute(stream, from, to);
        stream.wait();
        return {};
      });
  if (!result.ok())
    throw Failure{result.status()};
  Argument fixed;
  fixed.tag = tag;
  fixed.desc = wanted;
  fixed.fixed = result->data;
  return fixed;
}

Argument scratch(int64_t offset) {
  Argument result;
  result.scratchOffset = offset;
  return result;
}

void addOwn(Kernel &kernel, std::shared_ptr<const OwnKernel> own, std::vector<Argument> arguments, int64_t scratchBytes) {
  Operation operation;
  operation.arguments = std::move(arguments);
  operation.own = std::move(own);
  kernel.addOperation(std::move(operation), scratchBytes);
}

std::vector<View> imagesOf(std::vector<View> views, int64_t begin, int64_t count) {
  for (size_t i = 0; i < views.size(); ++i)
    if (i != 1 && i != 2)
      views[i] = views[i].narrowed(0, begin, count);
  return views;
}

void appendImages(Kernel &kernel, const Builder &builder, const Problem &problem, int slices,
                  const std::function<void(Kernel &, const std::vector<View> &)> &addSlice) {
  constexpr int64_t kMostImages = 64;
  const std::vector<View> &views = problem.operands;
  int64_t batch = views[3].dims[0];
  slices = static_cast<int>(std::min<int64_t>(slices, batch));
  // An image may be computed twice where its result depends on nothing that the first time has changed.
  const auto &ops = problem.library->post_ops;
  bool mayOverlap = std::none_of(ops.begin(), ops.end(), [](const auto &op) { return op->kind == PostOpKind::Sum; });
  for (size_t i = 4; i < views.size(); ++i)
    mayOverlap = mayOverlap && (!views[i].present || views[i].dims[0] != batch);
  std::vector<int64_t> key = unitKey(views, 0, {0});
  for (int slice = 0; slice < slices; ++slice) {
    kernel.addSlice();
    int64_t begin = batch * slice / slices, end = batch * (slice + 1) / slices;
    for (int64_t image = begin; image < end;) {
      int64_t rest = end - image, images = std::bit_floor(static_cast<uint64_t>(std::min(rest, kMostImages)));
      // The next larger block, a few images back, instead of several smaller ones.
      int64_t next = 2 * images, waste = next - rest;
      if (mayOverlap && images < rest && next <= std::min(kMostImages, end - begin) && waste <= std::max<int64_t>(1, rest / 4)) {
        images = next;
        image = end - next;
      }
      key[0] = images;
      auto unit = builder.units->find(key, [&] {
        Kernel block;
        addSlice(block, imagesOf(views, 0, images));
        return std::move(block).asUnit();
      });
      kernel.append(*unit, views, 0, image);
      image += images;
    }
  }
}

int usefulSlices(double multiplyAdds, int threads) {
  // About 25 G multiply-adds a second and core; below ~10 µs a barrier costs more than the second core gives.
  double us = multiplyAdds / 25e3;
  return us < 10 ? 1 : threads;
}

} // namespace graphc::cpu::onednn
