// Reductions and scans.
#include "frontend/eager/Range.h"
#include "frontend/eager/State.h"
#include "frontend/eager/Views.h"
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/ops.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graphc {

using namespace eager;
using Value = GraphBuilder::Value;

namespace {

/// What a reduction does: over which axes of which tensor. Reducing all of a dense tensor is one axis, whatever its rank.
struct Axes {
  Axes(const char *op, const Tensor &x, IntList dims, bool keep) : keep(keep) {
    if (!x.defined())
      failWith(codes::InvalidArgument, op, ": an undefined tensor was used; give it a value first");
    axes = wrapAxes(op, dims, x.dim());
    tensor = x;
    all = static_cast<int64_t>(axes.size()) == x.dim();
    if (all && x.dim() > 1 && x.impl()->dense && !recorder()) {
      flat = true;
      keptSizes.assign(static_cast<size_t>(x.dim()), 1);
      tensor = x.view({-1});
      axes = {0};
      this->keep = false;
    }
    count = 1;
    for (int64_t axis : axes)
      count *= tensor.size(axis);
    for (int64_t axis : axes)
      empty |= tensor.size(axis) == 0;
  }
  Tensor shaped(Tensor result, bool wantsKeep) const { return flat && wantsKeep ? result.reshape(keptSizes) : result; }
  std::string list() const { return text("array<i64", axes.empty() ? "" : ": ", joined(axes), ">"); }
  Value reduce(GraphBuilder &g, Value x, const char *kind, bool keepDims) const {
    if (axes.empty())
      return x;
    return g.op("reduce", {x}, text("kind = \"", kind, "\", axes = ", list(), keepDims ? ", keep" : ""));
  }

  Tensor tensor;
  std::vector<int64_t> axes, keptSizes;
  bool keep, all = false, flat = false, empty = false;
  int64_t count;
};

Tensor reduce(const char *name, const char *kind, const Tensor &a, IntList dims, bool keepdim, DType dtype) {
  OpScope scope(name);
  Axes axes(name, a, dims, keepdim);
  Call call(name);
  call.attributes(axes.axes).attribute(axes.keep).input(axes.tensor, dtype);
  return axes.shaped(call.run([&](GraphBuilder &g) { g.result(axes.reduce(g, g.input(0), kind, axes.keep)); }), keepdim);
}

DType sumType(DType dtype) { return isFloat(dtype) ? dtype : DType::I64; }
void needFloat(const char *op, const Tensor &a) {
  if (!isFloat(a.dtype()))
    failWith(Code::TypeMismatch, op, ": ", nameOf(a), " is no float; convert it with to() first");
}
void needElements(const char *op, const Axes &axes, const Tensor &a) {
  if (axes.empty)
    failWith(codes::InvalidArgument, op, ": an axis of ", nameOf(a), " has no elements, and ", op, " of nothing is not defined");
}

std::pair<Tensor, Tensor> extreme(const char *name, const char *kind, const Tensor &a, int64_t dim, bool keepdim) {
  OpScope scope(name);
  int64_t d = wrapAxis(name, dim, a.dim());
  if (a.dim() == 0)
    return {a.clone(), zeros({}, {.dtype = DType::I64, .device = a.device()})};
  if (a.size(d) == 0)
    failWith(codes::InvalidArgument, name, ": axis ", d, " of ", nameOf(a), " has no elements, and ", name, " of nothing is not defined");
  Call call(name);
  call.attribute(d).attribute(keepdim).input(a);
  auto results = call.runMany(2, [&](GraphBuilder &g) {
    std::string attributes = text("kind = \"", kind, "\", axis = ", d, " : i64");
    Value index = g.op("arg_reduce", {g.input(0)}, attributes + ", keep");
    Value value = g.op("gather_elements", {g.input(0), index}, text("axis = ", d, " : i64"));
    if (!keepdim) {
      std::vector<std::string> dims = g.dims(0);
      dims.erase(dims.begin() + d);
      value = g.op("reshape", {value}, "", OpValueType{g.dtype(0), dims});
      index = g.op("reshape", {index}, "", OpValueType{DType::I64, dims});
    }
    g.result(value);
    g.result(index);
  });
  return {results[0], results[1]};
}

Tensor argExtreme(const char *name, const char *kind, const Tensor &a, std::optional<int64_t> dim, bool keepdim) {
  OpScope scope(name);
  if (!dim) {
    Tensor flat = a.reshape({-1});
    Tensor index = argExtreme(name, kind, flat, 0, false);
    return keepdim ? index.reshape(std::vector<int64_t>(static_cast<size_t>(a.dim()), 1)) : index;
  }
  int64_t d = wrapAxis(name, *dim, a.dim());
  if (a.dim() == 0)
    return zeros({}, {.dtype = DType::I64, .device = a.device()});
  if (a.size(d) == 0)
    failWith(codes::InvalidArgument, name, ": axis ", d, " of ", nameOf(a), " has no elements, and ", name, " of nothing is not defined");
  Call call(name);
  call.attribute(d).attribute(keepdim).input(a);
  return call.run([&](GraphBuilder &g) {
    g.result(g.op("arg_reduce", {g.input(0)}, text("kind = \"", kind, "\", axis = ", d, " : i64", keepdim ? ", keep" : "")));
  });
}

} // namespace

Tensor sum(const TensorArg &a, IntList dims, bool keepdim) {
  OpScope scope("sum");
  if (!a.defined())
    failWith(codes::InvalidArgument, "sum: an undefined tensor was used; give it a value first");
  return reduce("sum", "sum", a, dims, keepdim, sumType(a.dtype()));
}
Tensor mean(const TensorArg &a, IntList dims, bool keepdim) {
  OpScope scope("mean");
  needFloat("mean", a);
  Axes axes("mean", a, dims, keepdim);
  Call call("mean");
  call.attributes(axes.axes).attribute(axes.keep).input(axes.tensor).input(static_cast<double>(axes.count), a.dtype());
  return axes.shaped(call.run([&](GraphBuilder &g) { g.result(g.div(axes.reduce(g, g.input(0), "sum", axes.keep), g.input(1))); }), keepdim);
}
Tensor prod(const TensorArg &a) {
  OpScope scope("prod");
  return reduce("prod", "prod", a, {}, false, sumType(a.dtype()));
}
Tensor prod(const TensorArg &a, int64_t dim, bool keepdim) {
  OpScope scope("prod");
  return reduce("prod", "prod", a, {dim}, keepdim, sumType(a.dtype()));
}
Tensor amax(const TensorArg &a, IntList dims, bool keepdim) {
  OpScope scope("amax");
  needElements("amax", Axes("amax", a, dims, keepdim), a);
  return reduce("amax", "max", a, dims, keepdim, a.dtype());
}
Tensor amin(const TensorArg &a, IntList dims, bool keepdim) {
  OpScope scope("amin");
  needElements("amin", Axes("amin", a, dims, keepdim), a);
  return reduce("amin", "min", a, dims, keepdim, a.dtype());
}
std::pair<Tensor, Tensor> max(const TensorArg &a, int64_t dim, bool keepdim) { return extreme("max", "max", a, dim, keepdim); }
std::pair<Tensor, Tensor> min(const TensorArg &a, int64_t dim, bool keepdim) { return extreme("min", "min", a, dim, keepdim); }
Tensor argmax(const TensorArg &a, std::optional<int64_t> dim, bool keepdim) { return argExtreme("argmax", "max", a, dim, keepdim); }
Tensor argmin(const TensorArg &a, std::optional<int64_t> dim, bool keepdim) { return argExtreme("argmin", "min", a, dim, keepdim); }

Tensor var(const TensorArg &a, IntList dims, int64_t correction, bool keepdim) {
  OpScope scope("var");
  needFloat("var", a);
  Axes axes("var", a, dims, keepdim);
  Call call("var");
  call.attributes(axes.axes).attribute(axes.keep).input(axes.tensor).input(static_cast<double>(axes.count), a.dtype());
  call.input(static_cast<double>(std::max<int64_t>(0, axes.count - correction)), a.dtype());
  return axes.shaped(call.run([&](GraphBuilder &g) {
    Value off = g.sub(g.input(0), g.div(axes.reduce(g, g.input(0), "sum", true), g.input(1)));
    g.result(g.div(axes.reduce(g, g.mul(off, off), "sum", axes.keep), g.input(2)));
  }), keepdim);
}

namespace {
/// A composite over axes, with its own gradient where the formula's is not finite.
Tensor overAxes(const char *publicName, const char *op, const Tensor &a, IntList dims, bool keepdim, const std::string &attributes) {
  OpScope scope(publicName);
  needFloat(op, a);
  Axes axes(op, a, dims, keepdim);
  if (a.dim() == 0)
    return overAxes(publicName, op, a.reshape({1}), {0}, false, attributes);
  Call call(op);
  call.attributes(axes.axes).attribute(axes.keep).attribute(attributes).input(axes.tensor);
  return axes.shaped(call.run([&](GraphBuilder &g) {
    g.result(g.op(op, {g.input(0)}, attributes + (attributes.empty() ? "" : ", ") + "axes = " + axes.list() + (axes.keep ? ", keep" : "")));
  }), keepdim);
}
} // namespace
Tensor stdDev(const TensorArg &a, IntList dims, int64_t correction, bool keepdim) {
  OpScope scope("stdDev");
  return overAxes("stdDev", "std", a, dims, keepdim, text("correction = ", number(static_cast<double>(correction)), " : f64"));
}
Tensor norm(const TensorArg &a, double p, IntList dims, bool keepdim) { return overAxes("norm", "norm", a, dims, keepdim, text("p = ", number(p), " : f64")); }
Tensor logsumexp(const TensorArg &a, IntList dims, bool keepdim) { return overAxes("logsumexp", "logsumexp", a, dims, keepdim, ""); }
Tensor all(const TensorArg &a, IntList dims, bool keepdim) { return reduce("all", "all", a, dims, keepdim, DType::Bool); }
Tensor any(const TensorArg &a, IntList dims, bool keepdim) { return reduce("any", "any", a, dims, keepdim, DType::Bool); }
Tensor median(const TensorArg &a) {
  OpScope scope("median");
  if (a.numel() == 0)
    failWith(codes::InvalidArgument, "median: ", nameOf(a), " has no elements, and the median of nothing is not defined");
  Tensor middle;
  {
    NoGrad guard;
    middle = sort(a.detach().reshape({-1})).first.select(0, (a.numel() - 1) / 2);
    // A NaN anywhere is the median, wherever sorting puts it.
    if (isFloat(a.dtype()))
      middle = where(any(isnan(a.detach())), std::numeric_limits<double>::quiet_NaN(), middle);
  }
  if (!isFloat(a.dtype()))
    return middle;
  // Every element that is the median shares the gradient.
  Tensor equal = eq(a.detach(), middle);
  return sum(where(equal, a, 0.0)) / sum(equal).to(a.dtype());
}

void eager::checkUnit(const char *op, const char *what, const Tensor &tensor, const char *advice) {
  if (tensor.numel() == 0 || recorder())
    return;
  NoGrad guard;
  Tensor values = tensor.detach();
  if (!all(logicalAnd(ge(values, 0), le(values, 1))).item<bool>())
    failWith(codes::InvalidArgument, op, ": the ", what, " ", nameOf(tensor), " must lie in [0, 1]; its elements reach from ", amin(values).item<double>(), " to ",
             amax(values).item<double>(), advice);
}

namespace {
Tensor cumulative(const char *name, const char *kind, const Tensor &a, int64_t dim) {
  OpScope scope(name);
  int64_t d = wrapAxis(name, dim, a.dim());
  if (a.dim() == 0)
    return a.to(sumType(a.dtype())).clone();
  Call call(name);
  call.attribute(d).input(a, sumType(a.dtype()));
  return call.run([&](GraphBuilder &g) {
    g.result(g.op("cumulative", {g.input(0)}, text("kind = \"", kind, "\", axis = ", d, " : i64"), OpValueType{g.dtype(0), g.dims(0)}));
  });
}
} // namespace
Tensor cumsum(const TensorArg &a, int64_t dim) { return cumulative("cumsum", "sum", a, dim); }
Tensor cumprod(const TensorArg &a, int64_t dim) { return cumulative("cumprod", "prod", a, dim); }

namespace {
Tensor softmaxLike(const char *name, const char *op, const Tensor &a, int64_t dim, std::optional<DType> dtype) {
  OpScope scope(name);
  int64_t d = wrapAxis(op, dim, a.dim());
  DType as = dtype.value_or(a.dtype());
  if (!isFloat(as))
    failWith(Code::TypeMismatch, op, ": ", nameOf(a), " is no float; pass a dtype");
  if (a.dim() == 0)
    return softmaxLike(name, op, a.reshape({1}), 0, dtype).reshape({});
  Call call(name);
  call.attribute(d).input(a, as);
  return call.run([&](GraphBuilder &g) { g.result(g.op(op, {g.input(0)}, text("axis = ", d, " : i64"))); });
}
} // namespace
Tensor softmax(const TensorArg &a, int64_t dim, std::optional<DType> dtype) { return softmaxLike("softmax", "softmax", a, dim, dtype); }
Tensor logSoftmax(const TensorArg &a, int64_t dim, std::optional<DType> dtype) { return softmaxLike("logSoftmax", "log_softmax", a, dim, dtype); }

//===-- methods ---------------------------------------------------------------------------------------------------===//
Tensor Tensor::sum() const { return graphc::sum(*this); }
Tensor Tensor::sum(IntList dims, bool keepdim) const { return graphc::sum(*this, dims, keepdim); }
Tensor Tensor::mean() const { return graphc::mean(*this); }
Tensor Tensor::mean(IntList dims, bool keepdim) const { return graphc::mean(*this, dims, keepdim); }
Tensor Tensor::prod() const { return graphc::prod(*this); }
Tensor Tensor::prod(int64_t dim, bool keepdim) const { return graphc::prod(*this, dim, keepdim); }
Tensor Tensor::amax(IntList dims, bool keepdim) const { return graphc::amax(*this, dims, keepdim); }
Tensor Tensor::amin(IntList dims, bool keepdim) const { return graphc::amin(*this, dims, keepdim); }
Tensor Tensor::max() const {
  OpScope scope("max");
  return graphc::amax(*this);
}
Tensor Tensor::min() const {
  OpScope scope("min");
  return graphc::amin(*this);
}
std::pair<Tensor, Tensor> Tensor::max(int64_t dim, bool keepdim) const { return graphc::max(*this, dim, keepdim); }
std::pair<Tensor, Tensor> Tensor::min(int64_t dim, bool keepdim) const { return graphc::min(*this, dim, keepdim); }
Tensor Tensor::argmax(std::optional<int64_t> dim, bool keepdim) const { return graphc::argmax(*this, dim, keepdim); }
Tensor Tensor::argmin(std::optional<int64_t> dim, bool keepdim) const { return graphc::argmin(*this, dim, keepdim); }
Tensor Tensor::var(IntList dims, int64_t correction, bool keepdim) const { return graphc::var(*this, dims, correction, keepdim); }
Tensor Tensor::std(IntList dims, int64_t correction, bool keepdim) const {
  OpScope scope("std");
  return graphc::stdDev(*this, dims, correction, keepdim);
}
Tensor Tensor::norm(double p) const { return graphc::norm(*this, p); }
Tensor Tensor::norm(double p, IntList dims, bool keepdim) const { return graphc::norm(*this, p, dims, keepdim); }
Tensor Tensor::all() const { return graphc::all(*this); }
Tensor Tensor::any() const { return graphc::any(*this); }
Tensor Tensor::logsumexp(IntList dims, bool keepdim) const { return graphc::logsumexp(*this, dims, keepdim); }
Tensor Tensor::softmax(int64_t dim) const { return graphc::softmax(*this, dim); }
Tensor Tensor::logSoftmax(int64_t dim) const { return graphc::logSoftmax(*this, dim); }
Tensor Tensor::cumsum(int64_t dim) const { return graphc::cumsum(*this, dim); }
Tensor Tensor::cumprod(int64_t dim) const { return graphc::cumprod(*this, dim); }

} // namespace graphc
