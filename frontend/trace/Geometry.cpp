// Views over dense values: reading one by moves, and replacing the region that one shows.
#include "frontend/trace/Trace.h"

#include "frontend/eager/Dispatch.h"

#include <algorithm>
#include <numeric>

namespace graphc::trace {

using eager::failWith;

/// A view's dims in the order of their strides, each a slice of one axis of the value reshaped to `axes`. What is shown twice
/// (strides of 0) is not part of it.
struct Trace::Place {
  std::vector<int64_t> axes, starts, sizes, steps;
  std::vector<size_t> order;    // the view's dims by falling stride
  std::vector<size_t> repeated; // the view's dims of stride 0
  bool possible = true;

  Place(int64_t elements, int64_t offset, std::span<const int64_t> viewSizes, std::span<const int64_t> viewStrides) {
    for (size_t d = 0; d < viewSizes.size(); ++d) {
      if (viewSizes[d] == 1)
        continue;
      (viewStrides[d] == 0 ? repeated : order).push_back(d);
    }
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return std::pair(-viewStrides[a], a) < std::pair(-viewStrides[b], b); });
    // Blocks within blocks: an axis counts the blocks of one size inside the block of the size before.
    int64_t block = elements, rest = offset;
    for (size_t d : order) {
      int64_t inner = std::gcd(viewStrides[d], block);
      push(block / inner, rest / inner, viewSizes[d], viewStrides[d] / inner);
      rest %= inner;
      block = inner;
    }
    if (block > 1)
      push(block, rest, 1, 1);
  }
  void push(int64_t axis, int64_t start, int64_t size, int64_t step) {
    axes.push_back(axis);
    starts.push_back(start);
    sizes.push_back(size);
    steps.push_back(step);
    possible &= start + (size - 1) * step < axis;
  }
  bool slices() const { return sizes != axes; }
  bool steppedOver() const {
    return std::any_of(steps.begin(), steps.end(), [](int64_t step) { return step != 1; });
  }
};

static int64_t product(std::span<const int64_t> sizes) {
  int64_t n = 1;
  for (int64_t size : sizes)
    n *= size;
  return n;
}

int Trace::reshape(int value, std::vector<int64_t> dims) {
  if (values_[value].dims == dims)
    return value;
  bool zero = values_[value].zero;
  int made = emit("reshape", {value}, "", values_[value].dtype, std::move(dims));
  values_[made].zero = zero;
  return made;
}

int Trace::transpose(int value, const std::vector<int64_t> &perm) {
  if (std::is_sorted(perm.begin(), perm.end()))
    return value;
  std::vector<int64_t> dims;
  for (int64_t d : perm)
    dims.push_back(values_[value].dims[static_cast<size_t>(d)]);
  return emit("transpose", {value}, text("perm = array<i64: ", joined(perm), ">"), values_[value].dtype, dims);
}

int Trace::broadcast(int value, std::vector<int64_t> dims) {
  if (values_[value].dims == dims)
    return value;
  bool zero = values_[value].zero;
  int made = emit("broadcast", {value}, "", values_[value].dtype, std::move(dims));
  values_[made].zero = zero;
  return made;
}

int Trace::slice(int value, std::vector<int64_t> starts, std::vector<int64_t> sizes, std::vector<int64_t> steps) {
  if (sizes == values_[value].dims)
    return value;
  std::vector<std::string> from;
  for (int64_t start : starts)
    from.push_back(sizes_.text(start));
  return emit("slice", {value}, text("starts = #graph.dims<[", joined(from), "]>, steps = array<i64: ", joined(steps), ">"), values_[value].dtype,
              std::move(sizes));
}

int Trace::places(int64_t offset, std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  int sum = -1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1 || strides[d] == 0)
      continue;
    std::vector<int64_t> dims(sizes.size(), 1);
    dims[d] = sizes[d];
    int index = emit("iota", {}, text("axis = ", d, " : i64, start = 0.0 : f64, step = 1.0 : f64"), DType::I64, dims);
    std::vector<int64_t> both = dims;
    if (sum >= 0)
      for (size_t k = 0; k < both.size(); ++k)
        both[k] = std::max(both[k], values_[sum].dims[k]);
    index = emit("mul", {index, constant(DType::I64, strides[d])}, "", DType::I64, dims);
    sum = sum < 0 ? index : emit("add", {sum, index}, "", DType::I64, both);
  }
  std::vector<int64_t> all(sizes.begin(), sizes.end());
  int start = constant(DType::I64, offset);
  if (sum < 0)
    return broadcast(start, all);
  return broadcast(emit("add", {sum, start}, "", DType::I64, values_[sum].dims), all);
}

int Trace::derive(const TensorImpl &tensor, int64_t offset, std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  int base = held(tensor).value;
  std::vector<int64_t> wanted(sizes.begin(), sizes.end());
  int64_t elements = product(values_[base].dims), count = product(wanted);
  if (count == 0)
    return broadcast(constant(tensor.dtype, 0), wanted);
  if (values_[base].dtype != tensor.dtype)
    failWith(codes::InvalidArgument, "compile: ", eager::nameOf(tensor), " sees the memory of a tensor of another type, which compiled programs cannot do");
  if (offset == 0 && count == elements && detail::isDense(sizes, strides))
    return reshape(base, wanted);
  Place place(elements, offset, sizes, strides);
  if (!place.possible) {
    int flat = reshape(base, {elements});
    return emit("gather", {flat, places(offset, sizes, strides)}, "axis = 0 : i64", tensor.dtype, wanted);
  }
  int value = base;
  if (place.slices())
    value = slice(reshape(base, place.axes), place.starts, place.sizes, place.steps);
  // The dims that are shown, largest stride first, then in the view's own order.
  std::vector<int64_t> shown, perm(place.order.size());
  for (size_t d : place.order)
    shown.push_back(wanted[d]);
  value = reshape(value, shown);
  std::vector<size_t> inOrder = place.order;
  std::sort(inOrder.begin(), inOrder.end());
  for (size_t k = 0; k < inOrder.size(); ++k)
    perm[k] = std::find(place.order.begin(), place.order.end(), inOrder[k]) - place.order.begin();
  value = transpose(value, perm);
  std::vector<int64_t> once = wanted;
  for (size_t d : place.repeated)
    once[d] = 1;
  return broadcast(reshape(value, once), wanted);
}

/// `base` with the block at `starts`, of the sizes of `value`, replaced: the axes before `axis` are done.
int Trace::replacedRegion(int base, int value, std::span<const int64_t> starts, size_t axis) {
  const std::vector<int64_t> whole = values_[base].dims, part = values_[value].dims;
  while (axis < whole.size() && whole[axis] == part[axis])
    ++axis;
  if (axis == whole.size())
    return value;
  auto between = [&](int64_t from, int64_t to) {
    std::vector<int64_t> begin(whole.size(), 0), sizes = whole, steps(whole.size(), 1);
    begin[axis] = from;
    sizes[axis] = to - from;
    return slice(base, begin, sizes, steps);
  };
  int64_t start = starts[axis], end = start + part[axis];
  int middle = replacedRegion(between(start, end), value, starts, axis + 1);
  std::vector<int> pieces;
  if (start > 0)
    pieces.push_back(between(0, start));
  pieces.push_back(middle);
  if (end < whole[axis])
    pieces.push_back(between(end, whole[axis]));
  return pieces.size() == 1 ? middle : emit("concat", pieces, text("axis = ", axis, " : i64"), values_[base].dtype, whole);
}

/// The value of a whole storage after the view `to` of it became `value`.
int Trace::replaced(int base, const TensorImpl &to, int value) {
  const std::vector<int64_t> whole = values_[base].dims;
  int64_t elements = product(whole);
  if (to.elements == 0)
    return base;
  if (to.offset == 0 && to.dense && to.elements == elements)
    return reshape(value, whole);
  Place place(elements, to.offset, to.sizeSpan(), to.strideSpan());
  if (!place.repeated.empty())
    failWith(codes::InvalidArgument, "compile: ", eager::nameOf(to), " shows elements more than once and cannot be written in a compiled program; clone() it first");
  if (!place.possible || place.steppedOver()) {
    int flat = reshape(base, {elements});
    int where = reshape(places(to.offset, to.sizeSpan(), to.strideSpan()), {to.elements});
    int all = emit("scatter_elements", {flat, where, reshape(value, {to.elements})}, "axis = 0 : i64, reduction = \"none\"", to.dtype, {elements});
    return reshape(all, whole);
  }
  // The value's dims by falling stride, as the axes lie.
  std::vector<int64_t> shown, perm;
  for (int64_t size : to.sizeSpan())
    if (size != 1)
      shown.push_back(size);
  std::vector<size_t> inOrder = place.order;
  std::sort(inOrder.begin(), inOrder.end());
  for (size_t d : place.order)
    perm.push_back(std::find(inOrder.begin(), inOrder.end(), d) - inOrder.begin());
  int block = reshape(transpose(reshape(value, shown), perm), place.sizes);
  if (!place.slices())
    return reshape(block, whole);
  bool fixed = std::none_of(place.starts.begin(), place.starts.end(), [&](int64_t start) { return sizes_.isSymbolic(start); });
  if (values_[base].zero && fixed)
    return reshape(emit("pad", {block}, text("low = array<i64: ", joined(place.starts), ">"), to.dtype, place.axes), whole);
  return reshape(replacedRegion(reshape(base, place.axes), block, place.starts, 0), whole);
}

void Trace::accumulate(const TensorImpl &from, const TensorImpl &to) {
  Event event{.what = "accumulate"};
  noteTensor(event, from);
  noteTensor(event, to);
  note(std::move(event));
  int value = read(from), base = held(to).value;
  if (from.elements == 0)
    return;
  const std::vector<int64_t> whole = values_[base].dims;
  int64_t elements = product(whole);
  int where = reshape(places(to.offset, to.sizeSpan(), to.strideSpan()), {to.elements});
  int all = emit("scatter_elements", {reshape(base, {elements}), where, reshape(value, {to.elements})}, "axis = 0 : i64, reduction = \"add\"", to.dtype,
                 {elements});
  held(to).value = reshape(all, whole);
}

} // namespace graphc::trace
