// Operators that move elements: reshape, transpose, slice, pad, concat, repeat. Their parameters are sizes, so most of the
// work is arithmetic on what is known of them.
#include "frontend/onnx/Node.h"

#include <numeric>

namespace graphc::onnx_import {

using namespace mlir;

namespace {

/// Row-major positions of the source element of each result element, for known contents.
std::vector<int64_t> positionsOf(ArrayRef<int64_t> resultShape, const std::function<int64_t(ArrayRef<int64_t>)> &source) {
  int64_t count = std::accumulate(resultShape.begin(), resultShape.end(), int64_t(1), std::multiplies<>());
  std::vector<int64_t> positions;
  llvm::SmallVector<int64_t> index(resultShape.size(), 0);
  for (int64_t p = 0; p < count; ++p) {
    positions.push_back(source(index));
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < resultShape[d])
        break;
      index[d] = 0;
    }
  }
  return positions;
}
std::vector<int64_t> constantDims(ArrayRef<AffineExpr> dims) {
  std::vector<int64_t> out;
  for (AffineExpr d : dims)
    out.push_back(graph::constantSize(graph::simplify(d)).value_or(-1));
  return out;
}
std::vector<int64_t> stridesOf(ArrayRef<int64_t> shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// A size the exporter has written into the shape as a constant, while --shape makes it a symbol: the entry that starts at
/// the same place in row-major order follows the symbol. `inferred` is the place of the -1, or -1.
void followReplacedSize(Node &n, const Dims &from, Dims &to, int inferred) {
  // The one dim with such a symbol, and how many elements lie before it.
  int place = -1;
  int64_t before = 1, was = 0;
  for (size_t d = 0; d < from.size(); ++d) {
    auto constant = graph::constantSize(from[d]);
    if (constant) {
      before = place < 0 ? before * *constant : before;
      continue;
    }
    auto original = graph::constantSize(n.facts.withReplacedConstants(from[d]));
    if (place >= 0 || !original)
      return;
    place = static_cast<int>(d);
    was = *original;
  }
  if (place < 0 || was < 1)
    return;
  if (inferred < 0) {
    auto total = graph::constantSize(n.facts.withReplacedConstants(graph::product(from, n.ctx()))), asked = graph::constantSize(graph::product(to, n.ctx()));
    if (!total || total != asked)
      return;
  }
  int64_t passed = 1;
  for (size_t d = 0; d < to.size() && static_cast<int>(d) != inferred; ++d) {
    auto size = graph::constantSize(to[d]);
    if (!size)
      return;
    if (passed == before && *size % was == 0 && (was > 1 || *size > 0)) {
      AffineExpr scaled = divideSizes({from[place], to[d]}, {n.size(was)}, n.ctx());
      n.remark(text("the shape holds the constant size ", *size, " on axis ", d, "; it now follows ", graph::toString(scaled)));
      to[d] = scaled;
      return;
    }
    passed *= *size;
  }
}

void importReshape(Node &n) {
  Dims from = n.dimsOf(0);
  std::vector<AffineExpr> target;
  if (n.opset < 5) {
    for (int64_t v : n.ints("shape"))
      target.push_back(n.size(v));
  } else if (auto k = n.known(1); k && !k->floating) {
    target = k->ints;
  } else if (auto declared = n.declaredDims(0)) {
    return n.outReshaped(0, *declared);
  } else {
    n.needsValue(1, "the shape");
  }
  bool allowZero = n.i("allowzero", 0) != 0;
  int inferred = -1;
  Dims to;
  for (auto [i, t] : llvm::enumerate(target)) {
    auto c = graph::constantSize(t);
    if (c && *c == 0 && !allowZero) {
      if (i >= from.size())
        fail(Code::ShapeMismatch, "shape entry ", i, " is 0 (copy the input's size), but the input has rank ", from.size());
      to.push_back(from[i]);
    } else if (c && *c == -1) {
      if (inferred >= 0)
        fail(Code::ShapeMismatch, "the shape has more than one -1");
      inferred = static_cast<int>(i);
      to.push_back(n.size(1));
    } else if (c && *c < 0) {
      fail(Code::ShapeMismatch, "shape entry ", i, " is ", *c);
    } else {
      to.push_back(t);
    }
  }
  followReplacedSize(n, from, to, inferred);
  if (inferred >= 0) {
    AffineExpr rest = divideSizes(from, to, n.ctx());
    if (!rest)
      fail(Code::ShapeMismatch, "cannot reshape ", graph::toString(from), " to ", graph::toString(ArrayRef<AffineExpr>(target)), ": the other sizes do not divide it");
    to[inferred] = rest;
  }
  // Same number of elements, or an assumption that the executor checks.
  AffineExpr left = graph::product(from, n.ctx()), right = graph::product(to, n.ctx());
  auto a = graph::constantSize(left), b = graph::constantSize(right);
  if (a && b && *a != *b)
    fail(Code::ShapeMismatch, "cannot reshape ", graph::toString(from), " (", *a, " elements) to ", graph::toString(to), " (", *b, ")");
  if (left != right && divideSizes(from, to, n.ctx()) != n.size(1))
    n.assumeEqual(left, right, "reshape keeps the number of elements");
  n.outReshaped(0, to);
}

void importFlatten(Node &n) {
  int64_t rank = n.rankOf(0), axis = n.i("axis", 1);
  if (axis < -rank || axis > rank)
    fail(Code::ShapeMismatch, "axis ", axis, " is out of range for rank ", rank);
  if (axis < 0)
    axis += rank;
  Dims d = n.dimsOf(0);
  n.outReshaped(0, {graph::product(refOf(d).take_front(axis), n.ctx()), graph::product(refOf(d).drop_front(axis), n.ctx())});
}

void importSqueeze(Node &n) {
  Dims d = n.dimsOf(0), result;
  bool given;
  auto axes = n.axes(1, n.rankOf(0), &given);
  for (auto [i, size] : llvm::enumerate(d)) {
    if (given && llvm::is_contained(axes, static_cast<int64_t>(i))) {
      n.requireSame(size, n.size(1), "squeezed axis " + std::to_string(i));
      continue;
    }
    if (!given && graph::isSize(size, 1))
      continue;
    result.push_back(size);
  }
  n.outReshaped(0, result);
}
void importUnsqueeze(Node &n) {
  std::vector<int64_t> list = n.hasAttr("axes") ? n.ints("axes") : n.ints(1, "axes");
  auto axes = n.axes(1, n.rankOf(0) + static_cast<int64_t>(list.size()));
  Dims d = n.dimsOf(0);
  for (int64_t a : axes) // ascending: each is inside by then
    d.insert(d.begin() + a, n.size(1));
  n.outReshaped(0, d);
}

void importTranspose(Node &n) {
  int64_t rank = n.rankOf(0);
  std::vector<int64_t> perm = n.ints("perm");
  if (!n.hasAttr("perm"))
    for (int64_t i = rank; i-- > 0;)
      perm.push_back(i);
  if (rank <= 1 && static_cast<int64_t>(perm.size()) == rank)
    return n.outSame(0, 0);
  for (int64_t &p : perm)
    p = Build::axis(p, rank);
  if (n.known(0) && static_cast<int64_t>(perm.size()) == rank) {
    auto from = constantDims(n.dimsOf(0)), strides = stridesOf(from);
    Dims dims;
    std::vector<int64_t> shape;
    for (int64_t p : perm) {
      dims.push_back(n.size(from[p]));
      shape.push_back(from[p]);
    }
    if (n.outPicked(0, dims, [&] {
          return positionsOf(shape, [&](ArrayRef<int64_t> index) {
            int64_t at = 0;
            for (size_t d = 0; d < perm.size(); ++d)
              at += index[d] * strides[perm[d]];
            return at;
          });
        }))
      return;
  }
  n.out(n.transpose(n.x(0), perm));
}

void importConcat(Node &n) {
  if (n.inputCount() == 0)
    fail(Code::ModelMalformed, "needs at least one input");
  int64_t rank = n.rankOf(0);
  if (n.opset >= 4 && !n.hasAttr("axis"))
    fail(Code::ModelMalformed, "attribute 'axis' is missing");
  int64_t axis = Build::axis(n.i("axis", 1), rank);
  // Vectors of known contents are what size chains concatenate.
  if (rank == 1) {
    Known all;
    bool known = true;
    for (size_t i = 0; known && i < n.inputCount(); ++i) {
      auto k = n.known(i);
      known = k && n.rankOf(i) == 1 && n.element(i) == n.element(0);
      if (!known)
        break;
      all.floating = k->floating;
      all.ints.insert(all.ints.end(), k->ints.begin(), k->ints.end());
      all.floats.insert(all.floats.end(), k->floats.begin(), k->floats.end());
    }
    if (known && all.size() <= static_cast<size_t>(kMaxKnown))
      return n.outKnown(0, RankedTensorType::get({static_cast<int64_t>(all.size())}, n.element(0)), all);
  }
  std::vector<Value> xs;
  for (size_t i = 0; i < n.inputCount(); ++i) {
    if (n.element(i) != n.element(0))
      fail(Code::TypeMismatch, "inputs have element types ", typeText(n.element(0)), " and ", typeText(n.element(i)));
    xs.push_back(n.x(i));
  }
  n.out(n.concat(xs, axis));
}

void importSplit(Node &n) {
  int64_t axis = Build::axis(n.i("axis", 0), n.rankOf(0));
  AffineExpr total = n.dimsOf(0)[axis];
  int64_t count = static_cast<int64_t>(n.outputCount());
  std::vector<AffineExpr> parts;
  if (n.has(1)) {
    parts = n.sizes(1, "split");
  } else if (n.hasAttr("split")) {
    for (int64_t s : n.ints("split"))
      parts.push_back(n.size(s));
  } else {
    if (n.hasAttr("num_outputs"))
      count = n.i("num_outputs", count);
    if (count <= 0 || count > 100000)
      fail(Code::ModelMalformed, "num_outputs is ", count);
    // Equal parts; the last is smaller when it does not divide.
    AffineExpr part = graph::simplify(total.ceilDiv(count));
    for (int64_t i = 0; i + 1 < count; ++i)
      parts.push_back(part);
    parts.push_back(graph::simplify(total - part * (count - 1)));
    if (auto last = graph::constantSize(parts.back()); last && *last < 0)
      fail(Code::ShapeMismatch, "cannot split size ", graph::toString(total), " into ", count, " parts");
  }
  AffineExpr at = n.size(0);
  if (parts.size() < n.outputCount())
    fail(Code::ShapeMismatch, "split names ", parts.size(), " parts for ", n.outputCount(), " outputs");
  AffineExpr sum = n.size(0);
  for (AffineExpr p : parts)
    sum = sum + p;
  n.requireSame(sum, total, "the parts of split add up to the size of axis " + std::to_string(axis));
  auto k = n.known(0);
  for (size_t i = 0; i < n.outputCount(); ++i) {
    auto begin = graph::constantSize(at), size = graph::constantSize(parts[i]);
    if (size && *size < 0)
      fail(Code::ShapeMismatch, "part ", i, " of split is ", *size);
    if (k && n.rankOf(0) == 1 && begin && size) {
      std::vector<int64_t> positions(*size);
      std::iota(positions.begin(), positions.end(), *begin);
      n.outKnown(i, RankedTensorType::get({*size}, n.element(0)), k->pick(positions));
    } else if (n.wants(i)) {
      n.out(i, n.slice(n.x(0), axis, at, parts[i]));
    }
    at = graph::simplify(at + parts[i]);
  }
}

/// One dim of a slice: from start and end as given to a first element and a count. Where sizes are symbolic the slice is
/// taken to lie inside, and the ranges of the symbols say so.
struct DimSlice {
  AffineExpr start, count;
};
DimSlice sliceDim(Node &n, AffineExpr dim, AffineExpr start, AffineExpr end, int64_t step, int64_t axis) {
  if (step == 0)
    fail(Code::ShapeMismatch, "step of axis ", axis, " is 0");
  auto c = graph::constantSize(dim), s = graph::constantSize(start), e = graph::constantSize(end);
  if (c && s && e) {
    int64_t size = *c, from = *s, to = *e;
    // Past either end means that end.
    if (from < 0) from = from < -size ? (step > 0 ? 0 : -1) : from + size;
    if (to < 0) to = to < -size ? (step > 0 ? 0 : -1) : to + size;
    if (step > 0) {
      from = std::min(from, size);
      to = std::min(to, size);
    } else {
      from = std::min(from, size - 1);
      to = std::min(to, size - 1);
    }
    int64_t span = step > 0 ? to - from : from - to, stride = step > 0 ? step : (step == INT64_MIN ? INT64_MAX : -step);
    int64_t count = span <= 0 ? 0 : (span - 1) / stride + 1;
    return {n.size(count ? from : 0), n.size(count)};
  }
  // Symbolic. A huge bound is "to the end": exporters write INT_MAX or a round number. The size is then below it.
  constexpr int64_t kHuge = int64_t(1) << 20;
  auto toTheEnd = [&](int64_t bound) { return bound >= kHuge && (bound >= INT64_MAX / 2 || n.facts.require(graph::simplify(bound - dim), 0)); };
  auto refuse = [&] {
    unsupported("slice of axis ", axis, " of size ", graph::toString(dim), " from ", graph::toString(start), " to ", graph::toString(end),
                ": whether it lies inside cannot be decided");
  };
  auto fromFront = [&](AffineExpr v, std::optional<int64_t> constant) {
    if (constant)
      return *constant < 0 ? graph::simplify(dim + *constant) : v;
    // A symbolic bound that may be negative counts from the end only if it is known to be.
    if (n.facts.bounds(v).hi < 0)
      return graph::simplify(dim + v);
    return v;
  };
  AffineExpr from, to;
  if (step > 0) {
    from = s && *s < 0 && toTheEnd(-(*s + 1)) ? n.size(0) : fromFront(start, s);
    to = e && toTheEnd(*e) ? dim : fromFront(end, e);
    // Clamp at the end where it is certain, else require it to lie inside.
    auto inside = [&](AffineExpr v) {
      if (v == dim || n.facts.provedAtLeast(graph::simplify(dim - v), 0))
        return v;
      if (n.facts.provedAtLeast(graph::simplify(v - dim), 0))
        return dim;
      if (!n.facts.require(graph::simplify(dim - v), 0))
        refuse();
      return v;
    };
    auto notBelow = [&](AffineExpr v) {
      if (n.facts.bounds(v).hi <= 0)
        return n.size(0);
      if (!n.facts.require(v, 0))
        refuse();
      return v;
    };
    from = notBelow(inside(from));
    to = notBelow(inside(to));
    AffineExpr span = graph::simplify(to - from);
    if (n.facts.bounds(span).hi <= 0)
      return {n.size(0), n.size(0)};
    if (!n.facts.require(span, 0))
      refuse();
    return {from, step == 1 ? span : graph::simplify(span.ceilDiv(step))};
  }
  // Backwards: only the whole axis reversed, or bounds that are certain.
  from = s && toTheEnd(*s) ? graph::simplify(dim - 1) : fromFront(start, s);
  to = e && *e < 0 && toTheEnd(-(*e + 1)) ? n.size(-1) : fromFront(end, e);
  if (!n.facts.provedAtLeast(graph::simplify(dim - 1 - from), 0) && !n.facts.require(graph::simplify(dim - 1 - from), 0))
    refuse();
  AffineExpr span = graph::simplify(from - to);
  if (!n.facts.require(span, 0) || !n.facts.require(to, -1))
    refuse();
  return {from, step == -1 ? span : graph::simplify(span.ceilDiv(-step))};
}

void importSlice(Node &n) {
  int64_t rank = n.rankOf(0);
  std::vector<AffineExpr> starts, ends;
  std::vector<int64_t> axes, steps;
  if (n.opset < 10) {
    for (int64_t v : n.ints("starts")) starts.push_back(n.size(v));
    for (int64_t v : n.ints("ends")) ends.push_back(n.size(v));
    axes = n.ints("axes");
  } else {
    starts = n.sizes(1, "starts");
    ends = n.sizes(2, "ends");
    if (n.has(3)) axes = n.ints(3, "axes");
    if (n.has(4)) steps = n.ints(4, "steps");
  }
  if (axes.empty() && !starts.empty())
    for (size_t i = 0; i < starts.size(); ++i)
      axes.push_back(static_cast<int64_t>(i));
  if (steps.empty())
    steps.assign(starts.size(), 1);
  if (starts.size() != ends.size() || starts.size() != axes.size() || starts.size() != steps.size())
    fail(Code::ShapeMismatch, "starts, ends, axes and steps have ", starts.size(), ", ", ends.size(), ", ", axes.size(), " and ", steps.size(), " entries");
  Dims from = n.dimsOf(0), first(rank, n.size(0)), counts = from;
  llvm::SmallVector<int64_t> stride(rank, 1);
  std::set<int64_t> seen;
  for (size_t i = 0; i < starts.size(); ++i) {
    int64_t axis = Build::axis(axes[i], rank);
    if (!seen.insert(axis).second)
      fail(Code::ShapeMismatch, "axes name axis ", axis, " twice");
    DimSlice d = sliceDim(n, from[axis], starts[i], ends[i], steps[i], axis);
    first[axis] = d.start;
    counts[axis] = d.count;
    stride[axis] = graph::isSize(d.count, 0) || graph::isSize(d.count, 1) ? 1 : steps[i];
  }
  if (n.known(0)) {
    auto source = constantDims(from), begin = constantDims(first), shape = constantDims(counts), strides = stridesOf(source);
    if (!llvm::is_contained(begin, -1) && n.outPicked(0, counts, [&] {
          return positionsOf(shape, [&](ArrayRef<int64_t> index) {
            int64_t at = 0;
            for (int64_t d = 0; d < rank; ++d)
              at += (begin[d] + index[d] * stride[d]) * strides[d];
            return at;
          });
        }))
      return;
  }
  n.out(n.slice(n.x(0), first, counts, stride));
}

void importPad(Node &n) {
  int64_t rank = n.rankOf(0);
  std::vector<int64_t> pads, low(rank, 0), high(rank, 0), axes;
  double value = 0;
  if (n.opset < 11) {
    pads = n.hasAttr("paddings") ? n.ints("paddings") : n.ints("pads");
    value = n.f("value", 0);
  } else {
    pads = n.ints(1, "pads");
  }
  if (n.has(3))
    axes = n.ints(3, "axes");
  else
    for (int64_t i = 0; i < rank; ++i)
      axes.push_back(i);
  if (pads.size() != 2 * axes.size())
    fail(Code::ShapeMismatch, "pads has ", pads.size(), " entries, expected ", 2 * axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t axis = Build::axis(axes[i], rank);
    low[axis] = pads[i];
    high[axis] = pads[axes.size() + i];
    if (std::abs(static_cast<double>(pads[i])) > 1e12 || std::abs(static_cast<double>(pads[axes.size() + i])) > 1e12)
      fail(Code::ShapeMismatch, "pads of axis ", axis, " are out of range");
  }
  std::string mode = n.s("mode", "constant");
  if (!llvm::is_contained({"constant", "edge", "reflect", "wrap"}, mode))
    fail(Code::ModelMalformed, "mode is '", mode, "'; constant, edge, reflect and wrap exist");
  if (mode != "constant" || n.opset < 11 || !n.has(2))
    return n.out(n.pad(n.x(0), low, high, mode, value));
  if (auto k = n.known(2); k && k->size() == 1 && (k->floating || k->constants())) {
    if (k->floating || std::abs(static_cast<double>(k->constants()->front())) < 9e15)
      return n.out(n.pad(n.x(0), low, high, mode, k->floating ? k->floats[0] : static_cast<double>(k->constants()->front())));
  }
  // A fill value that is only known at run time, or that a double cannot hold: fill where a padded mask is not set.
  Value x = n.x(0);
  Value mask = n.pad(n.broadcast(n.scalarInt(1, n.i1()), n.dimsOf(0)), low, high, mode, 0);
  n.out(n.select(mask, n.pad(x, low, high, mode, 0), n.reshape(n.x(2), {})));
}

void importExpand(Node &n) {
  auto k = n.known(1);
  Dims target;
  if (k && !k->floating)
    target.assign(k->ints.begin(), k->ints.end());
  else if (auto declared = n.declaredDims(0))
    target = *declared;
  else
    n.needsValue(1, "the shape");
  Dims from = n.dimsOf(0);
  for (AffineExpr t : target)
    if (auto c = graph::constantSize(t); c && *c < 0)
      fail(Code::ShapeMismatch, "the shape has the negative size ", *c);
  llvm::SmallVector<std::pair<AffineExpr, AffineExpr>> unproved;
  auto joined = graph::broadcastDims(from, target, &unproved);
  if (!joined)
    fail(Code::ShapeMismatch, "cannot expand ", graph::toString(from), " to ", graph::toString(target));
  for (auto [a, b] : unproved)
    n.assumeEqual(a, b, "expand");
  if (n.known(0)) {
    auto source = constantDims(from), shape = constantDims(*joined), strides = stridesOf(source);
    if (n.outPicked(0, *joined, [&] {
          return positionsOf(shape, [&](ArrayRef<int64_t> index) {
            int64_t at = 0;
            size_t shift = shape.size() - source.size();
            for (size_t d = 0; d < source.size(); ++d)
              at += source[d] == 1 ? 0 : index[d + shift] * strides[d];
            return at;
          });
        }))
      return;
  }
  n.out(n.broadcast(n.x(0), *joined));
}

/// x repeated along each axis: [a, b] -> [1, a, 1, b] -> [r, a, s, b] -> [r*a, s*b].
Value tile(Node &n, Value x, ArrayRef<AffineExpr> repeats) {
  Dims from = Build::dims(x), split, wide, result;
  for (size_t i = 0; i < from.size(); ++i) {
    if (!graph::isSize(repeats[i], 1)) {
      split.push_back(n.size(1));
      wide.push_back(repeats[i]);
    }
    split.push_back(from[i]);
    wide.push_back(from[i]);
    result.push_back(graph::simplify(from[i] * repeats[i]));
  }
  return n.reshape(n.broadcast(n.reshape(x, split), wide), result);
}
void importTile(Node &n) {
  int64_t rank = n.rankOf(0);
  Dims repeats(rank, n.size(1));
  if (n.opset < 6) {
    int64_t axis = n.intScalar(2, "axis");
    repeats[Build::axis(axis, rank)] = n.size(n.intScalar(1, "tiles"));
  } else {
    auto r = n.sizes(1, "repeats");
    if (static_cast<int64_t>(r.size()) != rank)
      fail(Code::ShapeMismatch, "repeats has ", r.size(), " entries for rank ", rank);
    repeats.assign(r.begin(), r.end());
  }
  for (AffineExpr r : repeats)
    if (auto c = graph::constantSize(r); c && *c < 0)
      fail(Code::ShapeMismatch, "repeats has the negative entry ", *c);
  if (n.known(0) && rank == 1) {
    Dims dims{graph::simplify(n.dimsOf(0)[0] * repeats[0])};
    auto shape = constantDims(dims), source = constantDims(n.dimsOf(0));
    if (n.outPicked(0, dims, [&] { return positionsOf(shape, [&](ArrayRef<int64_t> i) { return i[0] % std::max<int64_t>(source[0], 1); }); }))
      return;
  }
  n.out(tile(n, n.x(0), repeats));
}

// Blocks of `b` x `b` move between channels and space.
void importDepthToSpace(Node &n) {
  int64_t b = n.i("blocksize", 0);
  std::string mode = n.s("mode", "DCR");
  Dims d = n.dimsOf(0);
  if (d.size() != 4 || b < 1 || b > 1 << 20)
    fail(Code::ShapeMismatch, "needs rank 4 and a positive blocksize, got ", graph::toString(d), " and ", b);
  AffineExpr rest = divideSizes({d[1]}, {n.size(b * b)}, n.ctx());
  if (!rest)
    fail(Code::ShapeMismatch, "channels ", graph::toString(d[1]), " are no multiple of blocksize² ", b * b);
  AffineExpr block = n.size(b);
  Value x = mode == "CRD" ? n.transpose(n.reshape(n.x(0), {d[0], rest, block, block, d[2], d[3]}), {0, 1, 4, 2, 5, 3})
                          : n.transpose(n.reshape(n.x(0), {d[0], block, block, rest, d[2], d[3]}), {0, 3, 4, 1, 5, 2});
  n.out(n.reshape(x, {d[0], rest, graph::simplify(d[2] * b), graph::simplify(d[3] * b)}));
}
void importSpaceToDepth(Node &n) {
  int64_t b = n.i("blocksize", 0);
  Dims d = n.dimsOf(0);
  if (d.size() != 4 || b < 1 || b > 1 << 20)
    fail(Code::ShapeMismatch, "needs rank 4 and a positive blocksize, got ", graph::toString(d), " and ", b);
  AffineExpr block = n.size(b), h = divideSizes({d[2]}, {block}, n.ctx()), w = divideSizes({d[3]}, {block}, n.ctx());
  if (!h || !w)
    fail(Code::ShapeMismatch, "spatial sizes of ", graph::toString(d), " are no multiple of blocksize ", b);
  Value x = n.transpose(n.reshape(n.x(0), {d[0], d[1], h, block, w, block}), {0, 3, 5, 1, 2, 4});
  n.out(n.reshape(x, {d[0], graph::simplify(d[1] * (b * b)), h, w}));
}

void importCenterCropPad(Node &n) {
  int64_t rank = n.rankOf(0);
  auto target = n.ints(1, "shape");
  std::vector<int64_t> axes = n.ints("axes");
  if (!n.hasAttr("axes"))
    for (int64_t i = 0; i < rank; ++i)
      axes.push_back(i);
  if (axes.size() != target.size())
    fail(Code::ShapeMismatch, "shape has ", target.size(), " entries for ", axes.size(), " axes");
  Value x = n.x(0);
  llvm::SmallVector<int64_t> low(rank, 0), high(rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t axis = Build::axis(axes[i], rank), size = n.staticDim(x, axis, "a cropped axis");
    if (target[i] < size) {
      x = n.slice(x, axis, n.size((size - target[i]) / 2), n.size(target[i]));
    } else {
      low[axis] = (target[i] - size) / 2;
      high[axis] = target[i] - size - low[axis];
    }
  }
  n.out(n.pad(x, low, high));
}

// Segments of an axis reversed, each with its own length.
void importReverseSequence(Node &n) {
  int64_t rank = n.rankOf(0), batch = Build::axis(n.i("batch_axis", 1), rank), time = Build::axis(n.i("time_axis", 0), rank);
  Value x = n.x(0);
  Dims d = n.dimsOf(0);
  Value at = n.iota(d, time, n.i64()), length = n.alongAxis(n.cast(n.x(1), n.i64()), batch, rank);
  Value reversed = n.sub(n.sub(length, n.scalarInt(1, n.i64())), at);
  n.out(n.gatherElements(x, n.select(n.less(at, length), reversed, at), time));
}


const Handler table[] = {
    {"Reshape", 1, importReshape},
    {"Flatten", 1, importFlatten},
    {"Squeeze", 1, importSqueeze},
    {"Unsqueeze", 1, importUnsqueeze},
    {"Transpose", 1, importTranspose},
    {"Concat", 1, importConcat},
    {"Split", 1, importSplit},
    {"Slice", 1, importSlice},
    {"Pad", 1, importPad},
    {"Expand", 8, importExpand},
    {"Tile", 1, importTile},
    {"DepthToSpace", 1, importDepthToSpace},
    {"SpaceToDepth", 1, importSpaceToDepth},
    {"CenterCropPad", 18, importCenterCropPad},
    {"ReverseSequence", 10, importReverseSequence},
};

} // namespace

ArrayRef<Handler> movementOps() { return table; }

} // namespace graphc::onnx_import
