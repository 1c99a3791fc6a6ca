#include "frontend/eager/Views.h"
#include "frontend/eager/DeviceTensors.h"
#include "frontend/eager/Tracing.h"

#include "frontend/graphc/autograd.h"
#include "frontend/graphc/context.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/ops.h"
#include "runtime/autograd/Engine.h"

#include <algorithm>
#include <ranges>

namespace graphc {
namespace eager {

bool viewStrides(const TensorImpl &tensor, std::span<const int64_t> sizes, int64_t *strides) {
  if (tensor.dense || tensor.elements == 0) {
    detail::denseStrides(sizes, strides);
    return true;
  }
  // Runs of old dims that are contiguous among themselves are matched with runs of new dims, innermost first.
  int view = static_cast<int>(sizes.size()) - 1;
  int64_t base = 1, oldCount = 1, newCount = 1;
  bool first = true;
  for (int d = tensor.rank - 1; d >= 0; --d) {
    if (first)
      base = tensor.strides[tensor.rank - 1], first = false;
    oldCount *= tensor.sizes[d];
    bool runEnds = d == 0 || (tensor.sizes[d - 1] != 1 && tensor.strides[d - 1] != oldCount * base);
    if (!runEnds)
      continue;
    while (view >= 0 && (newCount < oldCount || sizes[view] == 1)) {
      strides[view] = newCount * base;
      newCount *= sizes[view--];
    }
    if (newCount != oldCount)
      return false;
    if (d > 0) {
      base = tensor.strides[d - 1];
      oldCount = newCount = 1;
    }
  }
  return view == -1;
}

std::vector<int64_t> inferSizes(const char *op, IntList sizes, int64_t elements, const TensorImpl &tensor) {
  std::vector<int64_t> result = sizes.vector();
  int64_t known = 1, unknown = -1;
  for (size_t d = 0; d < result.size(); ++d) {
    if (result[d] == -1) {
      if (unknown >= 0)
        failWith(Code::ShapeMismatch, op, ": sizes [", joined(sizes), "] leave two to be inferred; one may be -1");
      unknown = static_cast<int64_t>(d);
    } else if (result[d] < 0) {
      failWith(Code::ShapeMismatch, op, ": size ", result[d], " is negative");
    } else if (__builtin_mul_overflow(known, result[d], &known)) {
      failWith(Code::ShapeMismatch, op, ": sizes [", joined(sizes), "] do not fit the ", elements, " elements of ", nameOf(tensor));
    }
  }
  if (unknown >= 0 && known > 0 && elements % known == 0)
    result[static_cast<size_t>(unknown)] = elements / known, known = elements;
  else if (unknown >= 0)
    failWith(Code::ShapeMismatch, op, ": sizes [", joined(sizes), "] do not fit the ", elements, " elements of ", nameOf(tensor));
  if (known != elements)
    failWith(Code::ShapeMismatch, op, ": sizes [", joined(sizes), "] have ", known, " elements, ", nameOf(tensor), " has ", elements);
  if (result.size() > kMaxRank)
    failWith(Code::ShapeMismatch, op, ": rank ", result.size(), " is more than ", kMaxRank);
  return result;
}

//===-- geometry --------------------------------------------------------------------------------------------------===//
Tensor viewRaw(const Tensor &of, const ViewStep &step) {
  const TensorImpl &x = *of.impl();
  int64_t sizes[kMaxRank], strides[kMaxRank];
  int64_t offset = x.offset;
  size_t rank = static_cast<size_t>(x.rank);
  std::copy(x.sizes, x.sizes + rank, sizes);
  std::copy(x.strides, x.strides + rank, strides);
  switch (step.kind) {
  case ViewStep::Reshape: {
    rank = step.a.size();
    bool possible = viewStrides(x, step.a, strides);
    assert(possible && "the caller has seen that no copy is needed");
    (void)possible;
    std::ranges::copy(step.a, sizes);
    break;
  }
  case ViewStep::Permute:
    for (size_t d = 0; d < rank; ++d) {
      sizes[d] = x.sizes[step.a[d]];
      strides[d] = x.strides[step.a[d]];
    }
    break;
  case ViewStep::Slice: {
    size_t dim = static_cast<size_t>(step.a[0]);
    offset += step.a[1] * x.strides[dim];
    sizes[dim] = step.a[2];
    strides[dim] = x.strides[dim] * step.a[3];
    break;
  }
  case ViewStep::Expand: {
    rank = step.a.size();
    size_t added = rank - static_cast<size_t>(x.rank);
    for (size_t d = 0; d < rank; ++d) {
      sizes[d] = step.a[d];
      bool repeats = d < added || (x.sizes[d - added] == 1 && step.a[d] != 1);
      strides[d] = repeats ? 0 : x.strides[d - added];
    }
    break;
  }
  case ViewStep::Strided:
    rank = step.a.size();
    std::ranges::copy(step.a, sizes);
    std::ranges::copy(step.b, strides);
    offset += step.c[0];
    break;
  }
  return wrap(detail::newView(x.storage, x.dtype, {sizes, rank}, {strides, rank}, offset));
}

Tensor movedimRaw(const Tensor &of, int64_t from, int64_t to) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < of.dim(); ++d)
    if (d != from)
      dims.push_back(d);
  dims.insert(dims.begin() + to, from);
  return viewRaw(of, {ViewStep::Permute, "movedim", dims, {}, {}});
}

//===-- history ---------------------------------------------------------------------------------------------------===//
namespace {

/// The gradient of a view's operand from that of the view.
Tensor wayBack(const ViewStep &step, const Tensor &gradient, const std::vector<int64_t> &sizes, const std::vector<int64_t> &strides);

class ViewNode final : public Node {
public:
  ViewNode(ViewStep step, const TensorImpl &of)
      : Node(1), step_(std::move(step)), sizes_(of.sizes, of.sizes + of.rank), strides_(of.strides, of.strides + of.rank) {}
  std::string name() const override { return std::string(step_.name) + "Backward"; }
  void apply(std::vector<TensorRef> &in, std::vector<TensorRef> &out, const BackwardOptions &) override {
    if (in[0])
      out[0] = ref(wayBack(step_, wrap(in[0]), sizes_, strides_));
  }

private:
  ViewStep step_;
  std::vector<int64_t> sizes_, strides_; // of the operand
};

/// Zeros but for a slice: the way back of a slice; its own way back is the slice.
class SpreadNode final : public Node {
public:
  explicit SpreadNode(ViewStep step) : Node(1), step_(std::move(step)) {}
  std::string name() const override { return std::string(step_.name) + "BackwardBackward"; }
  void apply(std::vector<TensorRef> &in, std::vector<TensorRef> &out, const BackwardOptions &) override {
    if (in[0])
      out[0] = ref(viewRecorded(wrap(in[0]), step_));
  }

private:
  ViewStep step_;
};

class CopyNode final : public Node {
public:
  CopyNode() : Node(1) {}
  std::string name() const override { return "cloneBackward"; }
  void apply(std::vector<TensorRef> &in, std::vector<TensorRef> &out, const BackwardOptions &) override { out[0] = in[0]; }
};

class MoveNode final : public Node {
public:
  explicit MoveNode(Device home) : Node(1), home_(home) {}
  std::string name() const override { return "toBackward"; }
  void apply(std::vector<TensorRef> &in, std::vector<TensorRef> &out, const BackwardOptions &) override { out[0] = ref(wrap(in[0]).to(home_)); }

private:
  Device home_;
};

void setHistory(Tensor &result, NodeRef node, const Tensor &of) {
  node->edges.push_back(gradientEdge(*of.impl()));
  node->sequence = nextSequence();
  result.impl()->requiresGrad = true;
  AutogradMeta &meta = autogradMeta(*result.impl());
  meta.gradFn = std::move(node);
  meta.outputNumber = 0;
}

/// Adds `gradient` into zeros at the places a view showed; places shown more than once add up.
Tensor spread(const ViewStep &step, const Tensor &gradient, const std::vector<int64_t> &sizes, const std::vector<int64_t> &strides) {
  // Places shown more than once are added up on the host.
  if (step.kind == ViewStep::Strided && !gradient.device().isCpu())
    return spread(step, gradient.cpu(), sizes, strides).to(gradient.device());
  Tensor dense = gradient.contiguous();
  Tensor result;
  {
    NoGrad guard;
    if (step.kind == ViewStep::Strided) {
      int64_t span = 1;
      for (size_t d = 0; d < sizes.size(); ++d)
        span += (sizes[d] - 1) * strides[d];
      Tensor flat = zeros({sizes.empty() ? 1 : std::max<int64_t>(span, 0)}, {.dtype = dense.dtype()});
      result = viewRaw(flat, {ViewStep::Strided, "asStrided", sizes, strides, {0}});
      Tensor places = viewRaw(flat, {ViewStep::Strided, "asStrided", step.a, step.b, step.c});
      accumulateElements(dense, places);
    } else {
      result = zeros(sizes, {.dtype = dense.dtype(), .device = dense.device()});
      write(*dense.impl(), *viewRaw(result, step).impl());
    }
  }
  if (GradMode::isEnabled() && gradient.requiresGrad())
    setHistory(result, NodeRef::adopt(new SpreadNode(step)), gradient);
  return result;
}

Tensor wayBack(const ViewStep &step, const Tensor &gradient, const std::vector<int64_t> &sizes, const std::vector<int64_t> &strides) {
  switch (step.kind) {
  case ViewStep::Reshape:
    return gradient.reshape(sizes);
  case ViewStep::Permute: {
    std::vector<int64_t> inverse(step.a.size());
    for (size_t d = 0; d < inverse.size(); ++d)
      inverse[static_cast<size_t>(step.a[d])] = static_cast<int64_t>(d);
    return gradient.permute(inverse);
  }
  case ViewStep::Expand: {
    std::vector<int64_t> axes;
    size_t added = step.a.size() - sizes.size();
    for (size_t d = 0; d < step.a.size(); ++d)
      if (d < added || (sizes[d - added] == 1 && step.a[d] != 1))
        axes.push_back(static_cast<int64_t>(d));
    return axes.empty() ? gradient : gradient.sum(axes).reshape(sizes);
  }
  default:
    return spread(step, gradient, sizes, strides);
  }
}

} // namespace

void write(const TensorImpl &from, const TensorImpl &to) {
  if (Recorder *tracing = recorder())
    tracing->write(from, to);
  else
    copyBetween(from, to);
}

void accumulateElements(const Tensor &from, const Tensor &to) {
  const TensorImpl &x = *from.impl(), &y = *to.impl();
  if (Recorder *tracing = recorder())
    return tracing->accumulate(x, y);
  auto add = [&]<typename T>(T) {
    std::function<void(int, const T *, T *)> level = [&](int d, const T *in, T *out) {
      if (d == x.rank) {
        *out += *in;
        return;
      }
      for (int64_t i = 0; i < x.sizes[d]; ++i)
        level(d + 1, in + i * x.strides[d], out + i * y.strides[d]);
    };
    level(0, reinterpret_cast<const T *>(x.data()), reinterpret_cast<T *>(y.data()));
  };
  if (x.elements == 0)
    return;
  if (x.dtype == DType::F32)
    add(float());
  else if (x.dtype == DType::F64)
    add(double());
  else
    failWith(Code::TypeMismatch, "asStrided: gradients of ", x.dtype, " views are not supported; convert to f32 first");
}

Tensor viewRecorded(const Tensor &of, ViewStep step, ViewOrigin origin) {
  if (!of.defined())
    failWith(codes::InvalidArgument, step.name, ": an undefined tensor was used; give it a value first");
  TensorImpl &x = *of.impl();
  bool needs = requiresGradNow(x);
  Tensor view = viewRaw(of, step);
  bool gradMode = ThreadContext::current().gradEnabled;
  if (ThreadContext::current().inferenceMode)
    return view;
  // A view remembers its base even when nothing needs a gradient yet: an in-place op may bring one.
  TensorImpl &v = *view.impl();
  if (isFloat(x.dtype)) {
    AutogradMeta &meta = autogradMeta(v);
    meta.base = x.autograd && x.autograd->base ? x.autograd->base : ref(of);
    meta.baseVersion = x.storage->version.load(std::memory_order_relaxed);
    meta.origin = !gradMode ? ViewOrigin::NoGrad : origin;
    if (origin == ViewOrigin::Normal && x.autograd && x.autograd->base && x.autograd->origin != ViewOrigin::Normal)
      meta.origin = x.autograd->origin;
  }
  if (gradMode && needs)
    setHistory(view, NodeRef::adopt(new ViewNode(std::move(step), x)), of);
  return view;
}

Tensor moveNode(const Tensor &of, Device device) {
  TensorImpl &x = *of.impl();
  if (recorder())
    failWith(Code::DeviceUnavailable, "to: a program that is compiled stays on its device; move ", nameOf(x), " before the call");
  needElements(x, "to");
  Tensor result = wrap(transfer(x, deviceIdOf(device)));
  if (ThreadContext::current().gradEnabled && requiresGradNow(x))
    setHistory(result, NodeRef::adopt(new MoveNode(of.device())), of);
  return result;
}

Tensor copyNode(const Tensor &of) {
  TensorImpl &x = *of.impl();
  Recorder *tracing = recorder();
  if (!tracing)
    needElements(x, "clone");
  TensorRef dense = tracing ? tracing->copy(x) : newTensorOn(x.storage->device, x.dtype, x.sizeSpan());
  if (!dense)
    failWith(Code::OutOfMemory, "clone: no memory for ", nameOf(x));
  if (!tracing)
    copyBetween(x, *dense);
  Tensor result = wrap(std::move(dense));
  if (ThreadContext::current().gradEnabled && requiresGradNow(x))
    setHistory(result, NodeRef::adopt(new CopyNode), of);
  return result;
}

} // namespace eager

using namespace eager;

//===-- the methods -----------------------------------------------------------------------------------------------===//
Tensor Tensor::view(IntList sizes) const {
  OpScope scope("view");
  auto inferred = inferSizes("view", sizes, numel(), *impl_);
  int64_t strides[kMaxRank];
  if (!viewStrides(*impl_, inferred, strides))
    failWith(Code::ShapeMismatch, "view: strides [", joined(impl_->strideSpan()), "] of ", nameOf(*impl_), " do not allow sizes [",
             joined(inferred), "] without a copy; use reshape()");
  return viewRecorded(*this, {ViewStep::Reshape, "view", std::move(inferred), {}, {}});
}
Tensor Tensor::reshape(IntList sizes) const {
  OpScope scope("reshape");
  auto inferred = inferSizes("reshape", sizes, numel(), *impl_);
  int64_t strides[kMaxRank];
  if (viewStrides(*impl_, inferred, strides))
    return viewRecorded(*this, {ViewStep::Reshape, "reshape", std::move(inferred), {}, {}});
  return viewRecorded(copyNode(*this), {ViewStep::Reshape, "reshape", std::move(inferred), {}, {}});
}
Tensor Tensor::transpose(int64_t dim0, int64_t dim1) const {
  OpScope scope("transpose");
  int64_t a = wrapAxis("transpose", dim0, dim()), b = wrapAxis("transpose", dim1, dim());
  std::vector<int64_t> dims(static_cast<size_t>(dim()));
  for (size_t d = 0; d < dims.size(); ++d)
    dims[d] = static_cast<int64_t>(d);
  if (!dims.empty())
    std::swap(dims[static_cast<size_t>(a)], dims[static_cast<size_t>(b)]);
  return viewRecorded(*this, {ViewStep::Permute, "transpose", std::move(dims), {}, {}});
}
Tensor Tensor::t() const {
  OpScope scope("t");
  if (dim() > 2)
    failWith(Code::ShapeMismatch, "t: ", nameOf(*impl_), " is no matrix; use transpose(dim0, dim1)");
  return dim() < 2 ? *this : transpose(0, 1);
}
Tensor Tensor::permute(IntList dims) const {
  OpScope scope("permute");
  std::vector<int64_t> wrapped;
  std::vector<bool> seen(static_cast<size_t>(dim()));
  for (int64_t d : dims) {
    wrapped.push_back(wrapAxis("permute", d, dim()));
    if (seen[static_cast<size_t>(wrapped.back())])
      failWith(codes::InvalidArgument, "permute: axis ", d, " is given twice");
    seen[static_cast<size_t>(wrapped.back())] = true;
  }
  if (static_cast<int64_t>(wrapped.size()) != dim())
    failWith(codes::InvalidArgument, "permute: [", joined(dims), "] does not name each of the ", dim(), " axes of ", nameOf(*impl_), " once");
  return viewRecorded(*this, {ViewStep::Permute, "permute", std::move(wrapped), {}, {}});
}
Tensor Tensor::movedim(int64_t source, int64_t destination) const {
  OpScope scope("movedim");
  int64_t from = wrapAxis("movedim", source, dim()), to = wrapAxis("movedim", destination, dim());
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < dim(); ++d)
    if (d != from)
      dims.push_back(d);
  dims.insert(dims.begin() + to, from);
  return viewRecorded(*this, {ViewStep::Permute, "movedim", std::move(dims), {}, {}});
}
Tensor Tensor::slice(int64_t axis, std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step) const {
  OpScope scope("slice");
  if (step <= 0)
    failWith(codes::InvalidArgument, "slice: step ", step, " is not positive; flip() reverses");
  if (dim() == 0)
    failWith(codes::InvalidArgument, "slice: a tensor of rank 0 has no axis");
  int64_t d = wrapAxis("slice", axis, dim()), n = size(d);
  auto bound = [&](std::optional<int64_t> v, int64_t otherwise) {
    int64_t at = v.value_or(otherwise);
    return std::clamp<int64_t>(at < 0 ? at + n : at, 0, n);
  };
  int64_t from = bound(start, 0), to = std::max(from, bound(stop, n));
  return viewRecorded(*this, {ViewStep::Slice, "slice", {d, from, to == from ? 0 : (to - from - 1) / step + 1, step}, {}, {}});
}
Tensor Tensor::narrow(int64_t axis, int64_t start, int64_t length) const {
  OpScope scope("narrow");
  int64_t d = wrapAxis("narrow", axis, dim()), n = size(d);
  int64_t from = start < 0 ? start + n : start;
  if (from < 0 || length < 0 || length > n - from)
    failWith(codes::InvalidArgument, "narrow: start ", start, " and length ", length, " leave [0, ", n, "] of axis ", d);
  return viewRecorded(*this, {ViewStep::Slice, "narrow", {d, from, length, 1}, {}, {}});
}
Tensor Tensor::select(int64_t axis, int64_t index) const {
  OpScope scope("select");
  if (dim() == 0)
    failWith(codes::InvalidArgument, "select: a tensor of rank 0 cannot be indexed");
  int64_t d = wrapAxis("select", axis, dim()), n = size(d);
  if (index < -n || index >= n)
    failWith(Code::IndexOutOfRange, "select: index ", index, " is out of range [", -n, ", ", n, ") of axis ", d, " of ", nameOf(*impl_));
  // One step, so that it is one node: the axis of one element goes away.
  std::vector<int64_t> sizes, strides;
  for (int64_t k = 0; k < dim(); ++k)
    if (k != d) {
      sizes.push_back(size(k));
      strides.push_back(stride(k));
    }
  Tensor one = viewRecorded(*this, {ViewStep::Slice, "select", {d, index < 0 ? index + n : index, 1, 1}, {}, {}});
  return viewRecorded(one, {ViewStep::Reshape, "select", std::move(sizes), {}, {}});
}
Tensor Tensor::expand(IntList sizes) const {
  OpScope scope("expand");
  std::vector<int64_t> target = sizes.vector();
  if (static_cast<int64_t>(target.size()) < dim())
    failWith(Code::ShapeMismatch, "expand: [", joined(sizes), "] has fewer dims than ", nameOf(*impl_));
  if (target.size() > kMaxRank)
    failWith(Code::ShapeMismatch, "expand: rank ", target.size(), " is more than ", kMaxRank);
  size_t added = target.size() - static_cast<size_t>(dim());
  for (size_t d = 0; d < target.size(); ++d) {
    if (d < added) {
      if (target[d] < 0)
        failWith(Code::ShapeMismatch, "expand: size ", target[d], " of the new dim ", d, " must be given");
      continue;
    }
    int64_t own = impl_->sizes[d - added];
    if (target[d] == -1)
      target[d] = own;
    if (target[d] < 0)
      failWith(Code::ShapeMismatch, "expand: size ", target[d], " of dim ", d, " is negative; -1 keeps a size");
    if (own != target[d] && own != 1)
      failWith(Code::ShapeMismatch, "expand: dim ", d, " of ", nameOf(*impl_), " has size ", own, " and cannot become ", target[d],
               "; only sizes of 1 repeat");
  }
  return viewRecorded(*this, {ViewStep::Expand, "expand", std::move(target), {}, {}});
}
Tensor Tensor::squeeze() const {
  OpScope scope("squeeze");
  std::vector<int64_t> kept;
  for (int64_t s : sizes())
    if (s != 1)
      kept.push_back(s);
  return viewRecorded(*this, {ViewStep::Reshape, "squeeze", std::move(kept), {}, {}});
}
Tensor Tensor::squeeze(int64_t axis) const {
  OpScope scope("squeeze");
  int64_t d = wrapAxis("squeeze", axis, dim());
  std::vector<int64_t> kept(sizes().begin(), sizes().end());
  if (!kept.empty() && kept[static_cast<size_t>(d)] == 1)
    kept.erase(kept.begin() + d);
  return viewRecorded(*this, {ViewStep::Reshape, "squeeze", std::move(kept), {}, {}});
}
Tensor Tensor::unsqueeze(int64_t axis) const {
  OpScope scope("unsqueeze");
  int64_t d = wrapAxis("unsqueeze", axis, dim() + 1);
  if (dim() + 1 > kMaxRank)
    failWith(Code::ShapeMismatch, "unsqueeze: rank ", dim() + 1, " is more than ", kMaxRank);
  std::vector<int64_t> sizes(this->sizes().begin(), this->sizes().end());
  sizes.insert(sizes.begin() + d, 1);
  return viewRecorded(*this, {ViewStep::Reshape, "unsqueeze", std::move(sizes), {}, {}});
}
Tensor Tensor::flatten(int64_t start, int64_t end) const {
  OpScope scope("flatten");
  if (dim() == 0)
    return reshape({1});
  int64_t a = wrapAxis("flatten", start, dim()), b = wrapAxis("flatten", end, dim());
  if (a > b)
    failWith(codes::InvalidArgument, "flatten: the start ", start, " lies behind the end ", end);
  std::vector<int64_t> sizes;
  int64_t flat = 1;
  for (int64_t d = 0; d < dim(); ++d) {
    if (d < a || d > b)
      sizes.push_back(size(d));
    else if ((flat *= size(d), d == b))
      sizes.push_back(flat);
  }
  return a == b ? *this : reshape(sizes);
}
Tensor Tensor::unflatten(int64_t axis, IntList sizes) const {
  OpScope scope("unflatten");
  int64_t d = wrapAxis("unflatten", axis, dim());
  auto part = inferSizes("unflatten", sizes, size(d), *impl_);
  std::vector<int64_t> all(this->sizes().begin(), this->sizes().begin() + d);
  all.insert(all.end(), part.begin(), part.end());
  all.insert(all.end(), this->sizes().begin() + d + 1, this->sizes().end());
  return reshape(all);
}
Tensor Tensor::asStrided(IntList sizes, IntList strides, std::optional<int64_t> offset) const {
  OpScope scope("asStrided");
  if (sizes.size() != strides.size() || sizes.size() > kMaxRank)
    failWith(Code::ShapeMismatch, "asStrided: ", sizes.size(), " sizes and ", strides.size(), " strides");
  int64_t start = offset.value_or(storageOffset()), last = start;
  bool empty = false, overflows = false;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] < 0 || strides[d] < 0)
      failWith(Code::ShapeMismatch, "asStrided: sizes [", joined(sizes), "] and strides [", joined(strides), "] must not be negative");
    empty |= sizes[d] == 0;
    int64_t reach = 0;
    overflows |= __builtin_mul_overflow(sizes[d] - 1, strides[d], &reach) || __builtin_add_overflow(last, reach, &last);
  }
  if (start < 0 || (!empty && (overflows || last >= impl_->storage->bytes / itemSize())))
    failWith(Code::ShapeMismatch, "asStrided: sizes [", joined(sizes), "], strides [", joined(strides), "] and offset ", start, " leave the ",
             impl_->storage->bytes / itemSize(), " elements of the storage");
  return viewRecorded(*this, {ViewStep::Strided, "asStrided", sizes.vector(), strides.vector(), {start - storageOffset()}});
}
Tensor Tensor::diagonal(int64_t offset, int64_t dim0, int64_t dim1) const {
  OpScope scope("diagonal");
  int64_t a = wrapAxis("diagonal", dim0, dim()), b = wrapAxis("diagonal", dim1, dim());
  if (a == b || dim() < 2)
    failWith(codes::InvalidArgument, "diagonal: needs two different axes, got ", dim0, " and ", dim1, " of ", nameOf(*impl_));
  int64_t n = std::max<int64_t>(0, offset >= 0 ? std::min(size(a), size(b) - offset) : std::min(size(a) + offset, size(b)));
  std::vector<int64_t> newSizes, newStrides;
  for (int64_t d = 0; d < dim(); ++d)
    if (d != a && d != b) {
      newSizes.push_back(size(d));
      newStrides.push_back(stride(d));
    }
  newSizes.push_back(n);
  newStrides.push_back(stride(a) + stride(b));
  int64_t start = n == 0 ? 0 : offset >= 0 ? offset * stride(b) : -offset * stride(a);
  return viewRecorded(*this, {ViewStep::Strided, "diagonal", std::move(newSizes), std::move(newStrides), {start}});
}
Tensor Tensor::unfold(int64_t axis, int64_t length, int64_t step) const {
  OpScope scope("unfold");
  int64_t d = wrapAxis("unfold", axis, dim());
  if (length < 0 || length > size(d) || step <= 0)
    failWith(codes::InvalidArgument, "unfold: windows of ", length, " every ", step, " do not fit size ", size(d));
  std::vector<int64_t> newSizes(sizes().begin(), sizes().end()), newStrides(strides().begin(), strides().end());
  newSizes[static_cast<size_t>(d)] = (size(d) - length) / step + 1;
  step = std::min(step, size(d) + 1); // a longer one reaches no second window either
  newStrides[static_cast<size_t>(d)] *= step;
  newSizes.push_back(length);
  newStrides.push_back(stride(d));
  return viewRecorded(*this, {ViewStep::Strided, "unfold", std::move(newSizes), std::move(newStrides), {0}});
}
std::vector<Tensor> Tensor::split(const std::vector<int64_t> &parts, int64_t axis) const {
  OpScope scope("split");
  int64_t d = wrapAxis("split", axis, dim()), start = 0;
  std::vector<Tensor> result;
  for (int64_t part : parts) {
    if (part < 0 || part > size(d) - start)
      break;
    result.push_back(viewRecorded(*this, {ViewStep::Slice, "split", {d, start, part, 1}, {}, {}}, ViewOrigin::MultiOutput));
    start += part;
  }
  if (start != size(d) || result.size() != parts.size())
    failWith(codes::InvalidArgument, "split: parts [", joined(parts), "] do not add up to size ", size(d));
  return result;
}
std::vector<Tensor> Tensor::split(int64_t part, int64_t axis) const {
  OpScope scope("split");
  int64_t d = wrapAxis("split", axis, dim());
  if (part <= 0)
    failWith(codes::InvalidArgument, "split: size ", part, " is not positive");
  std::vector<int64_t> parts;
  for (int64_t start = 0; start < size(d); start += part)
    parts.push_back(std::min(part, size(d) - start));
  return split(parts, axis);
}
std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t axis) const {
  OpScope scope("chunk");
  if (chunks <= 0)
    failWith(codes::InvalidArgument, "chunk: ", chunks, " chunks");
  int64_t n = size(axis);
  return split(std::max<int64_t>(1, n / chunks + (n % chunks != 0)), axis);
}
std::vector<Tensor> Tensor::unbind(int64_t axis) const {
  OpScope scope("unbind");
  int64_t d = wrapAxis("unbind", axis, dim());
  std::vector<int64_t> rest;
  for (int64_t k = 0; k < dim(); ++k)
    if (k != d)
      rest.push_back(size(k));
  std::vector<Tensor> result;
  for (int64_t i = 0; i < size(d); ++i) {
    Tensor one = viewRecorded(*this, {ViewStep::Slice, "unbind", {d, i, 1, 1}, {}, {}}, ViewOrigin::MultiOutput);
    result.push_back(viewRecorded(one, {ViewStep::Reshape, "unbind", rest, {}, {}}, ViewOrigin::MultiOutput));
  }
  return result;
}

} // namespace graphc
