// Normalisation, attention, embedding, dropout.
#include "frontend/eager/State.h"
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graphc {

using namespace eager;

namespace {

void needFloat(const char *op, const Tensor &x) {
  if (!x.defined() || !isFloat(x.dtype()))
    failWith(Code::TypeMismatch, op, ": ", x.defined() ? nameOf(x) : "an undefined tensor", " is no float");
}

/// The axis from which the sizes of `normalized` begin.
int64_t normalizedAxis(const char *op, const Tensor &x, IntList shape, const Tensor &weight, const Tensor &bias) {
  int64_t axis = x.dim() - static_cast<int64_t>(shape.size());
  bool fits = axis >= 0 && !shape.empty();
  for (size_t d = 0; fits && d < shape.size(); ++d)
    fits = x.size(axis + static_cast<int64_t>(d)) == shape[d];
  if (!fits)
    failWith(Code::ShapeMismatch, op, ": the last sizes of ", nameOf(x), " are not [", joined(shape), "]");
  for (const Tensor *p : {&weight, &bias})
    if (p->defined() && !std::ranges::equal(p->sizes(), shape))
      failWith(Code::ShapeMismatch, op, ": the weight or bias ", nameOf(*p), " does not have sizes [", joined(shape), "]");
  return axis;
}
Tensor onesOf(const Tensor &like, IntList sizes) { return ones(sizes, {.dtype = like.dtype(), .device = like.device()}); }

void perChannel(const char *op, const Tensor &x, const Tensor &p, const char *what) {
  if (p.defined() && (p.dim() != 1 || p.size(0) != x.size(1)))
    failWith(Code::ShapeMismatch, op, ": the ", what, " ", nameOf(p), " does not have the ", x.size(1), " channels of ", nameOf(x));
}

} // namespace

Tensor layerNorm(const TensorArg &x, IntList shape, const Tensor &weight, const Tensor &bias, double epsilon) {
  OpScope scope("layerNorm");
  needFloat("layerNorm", x);
  int64_t axis = normalizedAxis("layerNorm", x, shape, weight, bias);
  Call call("layerNorm");
  call.attribute(axis).attribute(epsilon).input(x).input(weight.defined() ? weight : onesOf(x, shape), x.dtype());
  if (bias.defined())
    call.input(bias, x.dtype());
  return call.run([&](GraphBuilder &g) {
    std::vector<GraphBuilder::Value> operands = {g.input(0), g.input(1)};
    if (bias.defined())
      operands.push_back(g.input(2));
    g.result(g.op("layer_norm", operands, text("axis = ", axis, " : i64, epsilon = ", number(epsilon), " : f64")));
  });
}
Tensor rmsNorm(const TensorArg &x, IntList shape, const Tensor &weight, std::optional<double> epsilon) {
  OpScope scope("rmsNorm");
  needFloat("rmsNorm", x);
  int64_t axis = normalizedAxis("rmsNorm", x, shape, weight, {});
  // PyTorch's default is the dtype's own step at 1.
  double eps = epsilon.value_or(x.dtype() == DType::F64   ? std::numeric_limits<double>::epsilon()
                                : x.dtype() == DType::F32 ? std::numeric_limits<float>::epsilon()
                                : x.dtype() == DType::F16 ? 0.0009765625
                                                          : 0.0078125);
  Call call("rmsNorm");
  call.attribute(axis).attribute(eps).input(x).input(weight.defined() ? weight : onesOf(x, shape), x.dtype());
  return call.run([&](GraphBuilder &g) {
    g.result(g.op("rms_norm", {g.input(0), g.input(1)}, text("axis = ", axis, " : i64, epsilon = ", number(eps), " : f64")));
  });
}
Tensor groupNorm(const TensorArg &x, int64_t groups, const Tensor &weight, const Tensor &bias, double epsilon) {
  OpScope scope("groupNorm");
  needFloat("groupNorm", x);
  if (x.dim() < 2 || groups < 1 || x.size(1) % groups)
    failWith(Code::ShapeMismatch, "groupNorm: the channels of ", nameOf(x), " cannot be split into ", groups, " groups");
  perChannel("groupNorm", x, weight, "weight");
  perChannel("groupNorm", x, bias, "bias");
  Call call("groupNorm");
  call.attribute(groups).attribute(epsilon).input(x).fixed(1).input(weight.defined() ? weight : onesOf(x, {x.size(1)}), x.dtype()).fixed();
  call.input(bias.defined() ? bias : zeros({x.size(1)}, {.dtype = x.dtype(), .device = x.device()}), x.dtype()).fixed();
  return call.run([&](GraphBuilder &g) {
    g.result(g.op("group_norm", {g.input(0), g.input(1), g.input(2)}, text("groups = ", groups, " : i64, epsilon = ", number(epsilon), " : f64")));
  });
}
Tensor instanceNorm(const TensorArg &x, const Tensor &weight, const Tensor &bias, double epsilon) {
  OpScope scope("instanceNorm");
  needFloat("instanceNorm", x);
  if (x.dim() < 3)
    failWith(Code::ShapeMismatch, "instanceNorm: ", nameOf(x), " has no spatial dims");
  perChannel("instanceNorm", x, weight, "weight");
  perChannel("instanceNorm", x, bias, "bias");
  Call call("instanceNorm");
  call.attribute(epsilon).input(x).fixed(1).input(weight.defined() ? weight : onesOf(x, {x.size(1)}), x.dtype()).fixed();
  call.input(bias.defined() ? bias : zeros({x.size(1)}, {.dtype = x.dtype(), .device = x.device()}), x.dtype()).fixed();
  return call.run([&](GraphBuilder &g) {
    g.result(g.op("instance_norm", {g.input(0), g.input(1), g.input(2)}, text("epsilon = ", number(epsilon), " : f64")));
  });
}

Tensor batchNorm(const TensorArg &x, const Tensor &runningMean, const Tensor &runningVar, const Tensor &weight, const Tensor &bias, bool training,
                 double momentum, double epsilon) {
  OpScope scope("batchNorm");
  needFloat("batchNorm", x);
  if (x.dim() < 2)
    failWith(Code::ShapeMismatch, "batchNorm: ", nameOf(x), " has no channels in dim 1");
  perChannel("batchNorm", x, weight, "weight");
  perChannel("batchNorm", x, bias, "bias");
  perChannel("batchNorm", x, runningMean, "running mean");
  perChannel("batchNorm", x, runningVar, "running variance");
  int64_t channels = x.size(1);
  if (!training && (!runningMean.defined() || !runningVar.defined()))
    failWith(codes::InvalidArgument, "batchNorm: without training it needs running statistics");
  if (training && x.numel() == channels)
    failWith(Code::ShapeMismatch, "batchNorm: ", nameOf(x), " has one value per channel; training needs more");
  Tensor scale = weight.defined() ? weight : onesOf(x, {channels}), shift = bias.defined() ? bias : zeros({channels}, {.dtype = x.dtype(), .device = x.device()});
  std::string eps = text("epsilon = ", number(epsilon), " : f64");
  if (!training) {
    Call call("batchNorm");
    call.attribute(epsilon).input(x).fixed(1).input(scale).fixed().input(shift).fixed().input(runningMean).fixed().input(runningVar).fixed();
    return call.run([&](GraphBuilder &g) {
      g.result(g.op("batch_norm", {g.input(0), g.input(1), g.input(2), g.input(3), g.input(4)}, eps));
    });
  }
  bool tracks = runningMean.defined() && runningVar.defined();
  Tensor mean = tracks ? runningMean.detach() : zeros({channels}, {.dtype = x.dtype(), .device = x.device()}), variance = tracks ? runningVar.detach() : onesOf(x, {channels});
  Call call("batchNormTraining");
  call.attribute(epsilon).input(x).fixed(1).input(scale).fixed().input(shift).fixed().input(mean).fixed().input(variance).fixed();
  call.input(momentum, mean.dtype());
  auto results = call.runMany(5, [&](GraphBuilder &g) {
    for (auto value : g.opMany("batch_norm_training", {g.input(0), g.input(1), g.input(2), g.input(3), g.input(4), g.input(5)}, eps, 5))
      g.result(value);
  });
  if (tracks) {
    NoGrad guard;
    Tensor(runningMean).copy_(results[1].detach());
    Tensor(runningVar).copy_(results[2].detach());
  }
  return results[0];
}

Tensor normalize(const TensorArg &x, double p, int64_t dim, double epsilon) {
  OpScope scope("normalize");
  return x / clamp(norm(x, p, {wrapAxis("normalize", dim, x.dim())}, true), epsilon);
}

Tensor dropout(const TensorArg &x, double p, bool training) {
  OpScope scope("dropout");
  if (!(p >= 0 && p <= 1))
    failWith(codes::InvalidArgument, "dropout: the probability ", p, " is not in [0, 1]");
  needFloat("dropout", x);
  if (!training || p == 0)
    return x;
  if (p == 1)
    return x * 0.0;
  auto [key, offset] = drawBlocks(x.numel(), x.dtype() == DType::F64 ? 2 : 4);
  // The numbers depend on the flat place alone, so eager code serves every rank.
  bool flat = !recorder();
  Call call("dropout");
  call.attribute(p).input(flat ? x.reshape({-1}) : Tensor(x)).input(key).input(offset);
  return call.run([&](GraphBuilder &g) {
    g.result(g.op("dropout", {g.input(0), g.input(1), g.input(2)}, text("p = ", number(p), " : f64")));
  }).reshape(x.sizes());
}

Tensor scaledDotProductAttention(const TensorArg &query, const Tensor &key, const Tensor &value, const Tensor &mask, const AttentionOptions &options) {
  OpScope scope("scaledDotProductAttention");
  const char *op = "scaledDotProductAttention";
  checkDevices(op, {&query, &key, &value});
  needFloat(op, query);
  if (query.dtype() != key.dtype() || query.dtype() != value.dtype())
    failWith(Code::TypeMismatch, op, ": ", nameOf(query), ", ", nameOf(key), " and ", nameOf(value), " must have one dtype");
  if (query.dim() < 2 || key.dim() != query.dim() || value.dim() != query.dim() || query.size(-1) != key.size(-1) || key.size(-2) != value.size(-2))
    failWith(Code::ShapeMismatch, op, ": ", nameOf(query), ", ", nameOf(key), " and ", nameOf(value), " do not fit [.., S, D], [.., T, D], [.., T, E]");
  double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
  Tensor allowed = mask;
  if (options.causal) {
    if (mask.defined())
      failWith(codes::InvalidArgument, op, ": a mask and causal exclude each other");
    allowed = ones({query.size(-2), key.size(-2)}, {.dtype = DType::Bool, .device = query.device()}).tril();
  }
  if (options.dropout > 0) {
    Tensor scores = matmul(query * scale, key.transpose(-2, -1));
    if (allowed.defined())
      scores = allowed.dtype() == DType::Bool ? where(allowed, scores, -INFINITY) : scores + allowed;
    return matmul(dropout(softmax(scores, -1), options.dropout, true), value);
  }
  Call call(op);
  call.attribute(scale).input(query).input(key).input(value);
  if (allowed.defined())
    call.input(allowed, allowed.dtype() == DType::Bool ? DType::Bool : query.dtype());
  return call.run([&](GraphBuilder &g) {
    std::vector<GraphBuilder::Value> operands = {g.input(0), g.input(1), g.input(2)};
    if (allowed.defined())
      operands.push_back(g.input(3));
    g.result(g.op("attention", operands, text("scale = ", number(scale), " : f64")));
  });
}

Tensor embedding(const TensorArg &indices, const Tensor &weight, std::optional<int64_t> paddingIndex) {
  OpScope scope("embedding");
  checkDevices("embedding", {&indices, &weight});
  if (isFloat(indices.dtype()) || indices.dtype() == DType::Bool)
    failWith(Code::TypeMismatch, "embedding: the indices ", nameOf(indices), " are no integers");
  if (weight.dim() != 2)
    failWith(Code::ShapeMismatch, "embedding: the weight ", nameOf(weight), " is no matrix");
  int64_t padding = -1;
  if (paddingIndex) {
    padding = *paddingIndex < 0 ? *paddingIndex + weight.size(0) : *paddingIndex;
    if (padding < 0 || padding >= weight.size(0))
      failWith(codes::InvalidArgument, "embedding: the padding index ", *paddingIndex, " is no row of ", nameOf(weight));
  }
  Call call("embedding");
  call.attribute(padding).input(weight).input(indices, DType::I64);
  return call.run([&](GraphBuilder &g) { g.result(g.op("embedding", {g.input(0), g.input(1)}, text("padding = ", padding, " : i64"))); });
}

Tensor oneHot(const TensorArg &indices, int64_t classes) {
  OpScope scope("oneHot");
  if (isFloat(indices.dtype()) || indices.dtype() == DType::Bool)
    failWith(Code::TypeMismatch, "oneHot: the indices ", nameOf(indices), " are no integers");
  if (classes <= 0)
    failWith(codes::InvalidArgument, "oneHot: ", classes, " classes");
  NoGrad guard;
  if (!recorder() && indices.numel() && (indices.amin().item<int64_t>() < 0 || indices.amax().item<int64_t>() >= classes))
    failWith(Code::IndexOutOfRange, "oneHot: a class of ", nameOf(indices), " is out of range [0, ", classes - 1, "]");
  return eq(indices.unsqueeze(-1), arange(classes, {.dtype = indices.dtype(), .device = indices.device()})).to(DType::I64);
}

} // namespace graphc
