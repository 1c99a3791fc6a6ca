// Joining, indexing, gathering, sorting.
#include "frontend/eager/State.h"
#include "frontend/eager/Views.h"
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace graphc {

using namespace eager;
using Value = GraphBuilder::Value;

//===-- joining ---------------------------------------------------------------------------------------------------===//
Tensor cat(const std::vector<Tensor> &tensors, int64_t dim) {
  OpScope scope("cat");
  if (tensors.empty())
    failWith(codes::InvalidArgument, "cat: no tensors are given");
  DType dtype = tensors[0].dtype();
  int64_t rank = tensors[0].dim(), d = wrapAxis("cat", dim, rank);
  if (rank == 0)
    failWith(Code::ShapeMismatch, "cat: tensors of rank 0 cannot be joined; stack() makes a vector of them");
  for (size_t i = 0; i < tensors.size(); ++i) {
    checkDevices("cat", {&tensors[0], &tensors[i]});
    dtype = promoteTypes(dtype, tensors[i].dtype());
    bool fits = tensors[i].dim() == rank;
    for (int64_t k = 0; fits && k < rank; ++k)
      fits = k == d || tensors[i].size(k) == tensors[0].size(k);
    if (!fits)
      failWith(Code::ShapeMismatch, "cat: ", nameOf(tensors[0]), " and ", nameOf(tensors[i]), " (tensor ", i, ") differ in more than dim ", d);
  }
  if (tensors.size() == 1)
    return tensors[0].clone();
  constexpr size_t kAtOnce = 12;
  if (tensors.size() > kAtOnce) {
    std::vector<Tensor> parts;
    for (size_t i = 0; i < tensors.size(); i += kAtOnce)
      parts.push_back(cat({tensors.begin() + static_cast<std::ptrdiff_t>(i), tensors.begin() + static_cast<std::ptrdiff_t>(std::min(tensors.size(), i + kAtOnce))}, d));
    return cat(parts, d);
  }
  Call call("cat");
  call.attribute(d);
  for (const Tensor &tensor : tensors)
    call.input(tensor, dtype);
  return call.run([&](GraphBuilder &g) {
    std::vector<Value> inputs;
    for (int i = 0; i < g.inputs(); ++i)
      inputs.push_back(g.input(i));
    g.result(g.op("concat", inputs, text("axis = ", d, " : i64")));
  });
}
Tensor stack(const std::vector<Tensor> &tensors, int64_t dim) {
  OpScope scope("stack");
  if (tensors.empty())
    failWith(codes::InvalidArgument, "stack: no tensors are given");
  int64_t d = wrapAxis("stack", dim, tensors[0].dim() + 1);
  std::vector<Tensor> wider;
  for (const Tensor &tensor : tensors) {
    if (!std::ranges::equal(tensor.sizes(), tensors[0].sizes()))
      failWith(Code::ShapeMismatch, "stack: ", nameOf(tensors[0]), " and ", nameOf(tensor), " have different sizes");
    wider.push_back(tensor.unsqueeze(d));
  }
  return cat(wider, d);
}

//===-- gathering -------------------------------------------------------------------------------------------------===//
namespace {

void needIndex(const char *op, const Tensor &a, const Tensor &index) {
  checkDevices(op, {&a, &index});
  if (isFloat(index.dtype()) || index.dtype() == DType::Bool)
    failWith(Code::TypeMismatch, op, ": the index ", nameOf(index), " is no integer");
}

/// gather and scatter: the index may be smaller than the tensor in the other dims.
Tensor narrowed(const char *op, const Tensor &a, int64_t dim, const Tensor &index, const char *what) {
  if (a.dim() != index.dim())
    failWith(Code::ShapeMismatch, op, ": ", what, " ", nameOf(a), " and the index ", nameOf(index), " have different ranks");
  Tensor result = a;
  for (int64_t d = 0; d < a.dim(); ++d) {
    if (d == dim || a.size(d) == index.size(d))
      continue;
    if (index.size(d) > a.size(d))
      failWith(Code::ShapeMismatch, op, ": the index ", nameOf(index), " is larger than ", what, " ", nameOf(a), " in dim ", d);
    result = result.narrow(d, 0, index.size(d));
  }
  return result;
}

Tensor scatterAs(const char *op, const char *reduction, const Tensor &a, int64_t dim, const Tensor &index, const Tensor &source) {
  OpScope scope(op);
  needIndex(op, a, index);
  if (source.dtype() != a.dtype())
    failWith(Code::TypeMismatch, op, ": the source ", nameOf(source), " does not have the dtype of ", nameOf(a));
  if (a.dim() == 0)
    return scatterAs(op, reduction, a.reshape({1}), 0, index.reshape({1}), source.reshape({1})).reshape({});
  int64_t d = wrapAxis(op, dim, a.dim());
  Tensor updates = narrowed(op, source, -1, index, "the source");
  if (index.dim() != a.dim())
    failWith(Code::ShapeMismatch, op, ": ", nameOf(a), " and the index ", nameOf(index), " have different ranks");
  for (int64_t k = 0; k < a.dim(); ++k)
    if (k != d && index.size(k) > a.size(k))
      failWith(Code::ShapeMismatch, op, ": the index ", nameOf(index), " is larger than ", nameOf(a), " in dim ", k);
  Call call(op);
  call.attribute(d).input(a).input(index, DType::I64).input(updates);
  return call.run([&](GraphBuilder &g) {
    g.result(g.op("scatter_elements", {g.input(0), g.input(1), g.input(2)}, text("axis = ", d, " : i64, reduction = \"", reduction, "\""),
                  OpValueType{g.dtype(0), g.dims(0)}));
  });
}

} // namespace

Tensor gather(const TensorArg &a, int64_t dim, const Tensor &index) {
  OpScope scope("gather");
  needIndex("gather", a, index);
  if (a.dim() == 0)
    return gather(a.reshape({1}), 0, index.reshape({-1})).reshape(index.sizes());
  int64_t d = wrapAxis("gather", dim, a.dim());
  Tensor x = narrowed("gather", a, d, index, "the input");
  Call call("gather");
  call.attribute(d).input(x).input(index, DType::I64);
  return call.run([&](GraphBuilder &g) {
    g.result(g.op("gather_elements", {g.input(0), g.input(1)}, text("axis = ", d, " : i64, nonnegative")));
  });
}
Tensor scatter(const TensorArg &a, int64_t dim, const Tensor &index, const Tensor &source) { return scatterAs("scatter", "none", a, dim, index, source); }
Tensor scatterAdd(const TensorArg &a, int64_t dim, const Tensor &index, const Tensor &source) {
  OpScope scope("scatterAdd");
  return scatterAs("scatterAdd", "add", a, dim, index, source);
}
static Tensor gatherRows(const char *op, const Tensor &a, int64_t d, const Tensor &index, bool nonnegative) {
  Call call(op);
  call.attribute(d).attribute(nonnegative).input(a).input(index, DType::I64);
  return call.run([&](GraphBuilder &g) {
    g.result(g.op("gather", {g.input(0), g.input(1)}, text("axis = ", d, " : i64", nonnegative ? ", nonnegative" : "")));
  });
}
Tensor indexSelect(const TensorArg &a, int64_t dim, const Tensor &index) {
  OpScope scope("indexSelect");
  needIndex("indexSelect", a, index);
  if (index.dim() > 1)
    failWith(Code::ShapeMismatch, "indexSelect: the index ", nameOf(index), " is no vector");
  if (a.dim() == 0)
    return indexSelect(a.reshape({1}), 0, index).reshape({});
  return gatherRows("indexSelect", a, wrapAxis("indexSelect", dim, a.dim()), index.reshape({-1}), true);
}
Tensor indexAdd(const TensorArg &a, int64_t dim, const Tensor &index, const Tensor &source) {
  OpScope scope("indexAdd");
  needIndex("indexAdd", a, index);
  int64_t d = wrapAxis("indexAdd", dim, a.dim());
  if (index.dim() != 1 || source.dim() != a.dim() || source.size(d) != index.size(0))
    failWith(Code::ShapeMismatch, "indexAdd: the index ", nameOf(index), " and the source ", nameOf(source), " do not fit dim ", d, " of ", nameOf(a));
  std::vector<int64_t> shape(static_cast<size_t>(a.dim()), 1);
  shape[static_cast<size_t>(d)] = index.size(0);
  return scatterAdd(a, d, index.reshape(shape).expand(source.sizes()).contiguous(), source);
}
Tensor take(const TensorArg &a, const Tensor &index) {
  OpScope scope("take");
  needIndex("take", a, index);
  return gatherRows("take", a.reshape({-1}), 0, index, false);
}
Tensor nonzero(const TensorArg &a) {
  OpScope scope("nonzero");
  NoGrad guard;
  std::vector<uint8_t> flags = (a.dtype() == DType::Bool ? a.detach() : ne(a.detach(), 0)).to(DType::U8).toVector<uint8_t>();
  std::vector<int64_t> places;
  int64_t found = 0;
  for (size_t i = 0; i < flags.size(); ++i) {
    if (!flags[i])
      continue;
    ++found;
    int64_t rest = static_cast<int64_t>(i);
    size_t begin = places.size();
    places.resize(begin + static_cast<size_t>(a.dim()));
    for (int64_t d = a.dim(); d-- > 0; rest /= a.size(d))
      places[begin + static_cast<size_t>(d)] = rest % a.size(d);
  }
  return fromVector(places, {found, a.dim()}, {.device = a.device()});
}
Tensor maskedSelect(const TensorArg &a, const Tensor &mask) {
  OpScope scope("maskedSelect");
  if (mask.dtype() != DType::Bool)
    failWith(Code::TypeMismatch, "maskedSelect: the mask ", nameOf(mask), " is not bool");
  Tensor both = logicalOr(zeros(a.sizes(), {.dtype = DType::Bool, .device = mask.device()}), mask);
  std::vector<int64_t> sizes(both.sizes().begin(), both.sizes().end());
  return indexSelect(broadcastTo(a, sizes).reshape({-1}), 0, nonzero(broadcastTo(mask, sizes).reshape({-1})).reshape({-1}));
}

//===-- x[…] ------------------------------------------------------------------------------------------------------===//
namespace {

/// Basic indexing done, and what tensors index the dims of that view (undefined: none).
struct Indexed {
  Tensor view;
  std::vector<Tensor> tensors;
};

Indexed basicIndex(const Tensor &x, std::span<const Index> indices) {
  int64_t used = 0;
  for (const Index &index : indices)
    used += index.kind == Index::Kind::Integer || index.kind == Index::Kind::Slice ? 1
            : index.kind == Index::Kind::Tensor ? (index.tensor->dtype() == DType::Bool ? index.tensor->dim() : 1)
                                                : 0;
  if (used > x.dim())
    failWith(Code::IndexOutOfRange, "index: ", used, " indices for ", nameOf(x));
  Indexed result{x, {}};
  int64_t d = 0;
  bool dots = false;
  for (const Index &index : indices) {
    switch (index.kind) {
    case Index::Kind::Integer:
      result.view = result.view.select(d, index.integer);
      break;
    case Index::Kind::Slice:
      result.view = result.view.slice(d++, index.slice.start, index.slice.stop, index.slice.step);
      result.tensors.emplace_back();
      break;
    case Index::Kind::NewAxis:
      result.view = result.view.unsqueeze(d++);
      result.tensors.emplace_back();
      break;
    case Index::Kind::Ellipsis:
      if (dots)
        failWith(codes::InvalidArgument, "index: two ellipses");
      dots = true;
      for (int64_t k = x.dim() - used; k > 0; --k, ++d)
        result.tensors.emplace_back();
      break;
    case Index::Kind::Tensor:
      if (index.tensor->dtype() == DType::Bool) {
        Tensor places = nonzero(*index.tensor);
        for (int64_t k = 0; k < index.tensor->dim(); ++k, ++d) {
          if (index.tensor->size(k) != result.view.size(d))
            failWith(Code::ShapeMismatch, "index: the mask ", nameOf(*index.tensor), " does not fit dim ", d, " of ", nameOf(result.view));
          result.tensors.push_back(places.select(1, k));
        }
      } else {
        needIndex("index", x, *index.tensor);
        ++d;
        result.tensors.push_back(index.tensor->to(DType::I64));
      }
      break;
    }
  }
  result.tensors.resize(static_cast<size_t>(result.view.dim()));
  return result;
}

/// The dims that tensors index, moved to the front and made one; their place in it; and what the result looks like.
struct Flattened {
  Tensor rows;                     // [product of the indexed sizes, rest…]
  Tensor places;                   // linear index into it, of the indices' broadcast shape
  std::vector<int64_t> order;      // of the view's dims: indexed ones first
  std::vector<int64_t> movedSizes; // of the view under that order
  int64_t insertAt;                // where the indices' dims go in the result
};

Flattened flattenIndexed(const Indexed &indexed) {
  Flattened flat;
  std::vector<int64_t> which, rest;
  for (int64_t d = 0; d < indexed.view.dim(); ++d)
    (indexed.tensors[static_cast<size_t>(d)].defined() ? which : rest).push_back(d);
  bool adjacent = which.back() - which.front() + 1 == static_cast<int64_t>(which.size());
  flat.insertAt = adjacent ? which.front() : 0;
  flat.order = which;
  flat.order.insert(flat.order.end(), rest.begin(), rest.end());
  bool record = GradMode::isEnabled();
  NoGrad guard;
  int64_t product = 1;
  for (int64_t d : which) {
    int64_t n = indexed.view.size(d);
    Tensor index = indexed.tensors[static_cast<size_t>(d)];
    if (index.numel() && !recorder()) {
      int64_t low = index.amin().item<int64_t>(), high = index.amax().item<int64_t>();
      if (low < -n || high >= n)
        failWith(Code::IndexOutOfRange, "index: index ", low < -n ? low : high, " is out of range [", -n, ", ", n, ") of dim ", d, " of ", nameOf(indexed.view));
    }
    Tensor wrapped = where(lt(index, 0), index + n, index);
    flat.places = flat.places.defined() ? flat.places * n + wrapped : wrapped;
    product *= n;
  }
  flat.movedSizes = {};
  for (int64_t d : flat.order)
    flat.movedSizes.push_back(indexed.view.size(d));
  GradMode mode(record);
  std::vector<int64_t> sizes = {product};
  for (int64_t d : rest)
    sizes.push_back(indexed.view.size(d));
  flat.rows = indexed.view.permute(flat.order).reshape(sizes);
  return flat;
}

bool anyTensor(const Indexed &indexed) {
  return std::any_of(indexed.tensors.begin(), indexed.tensors.end(), [](const Tensor &t) { return t.defined(); });
}

} // namespace

Tensor Tensor::index(std::initializer_list<Index> indices) const { return index(std::span(indices.begin(), indices.size())); }
Tensor Tensor::index(std::span<const Index> indices) const {
  OpScope scope("index");
  Indexed indexed = basicIndex(*this, indices);
  if (!anyTensor(indexed))
    return indexed.view;
  Flattened flat = flattenIndexed(indexed);
  Tensor gathered = gatherRows("index", flat.rows, 0, flat.places, true);
  // The indices' dims come first; where they belong may be further behind.
  int64_t own = flat.places.dim();
  if (flat.insertAt == 0)
    return gathered;
  std::vector<int64_t> order;
  for (int64_t d = 0; d < flat.insertAt; ++d)
    order.push_back(own + d);
  for (int64_t d = 0; d < own; ++d)
    order.push_back(d);
  for (int64_t d = own + flat.insertAt; d < gathered.dim(); ++d)
    order.push_back(d);
  return gathered.permute(order);
}
Tensor &Tensor::indexPut_(std::initializer_list<Index> indices, const Tensor &value) {
  OpScope scope("indexPut_");
  Indexed indexed = basicIndex(*this, std::span(indices.begin(), indices.size()));
  if (!anyTensor(indexed)) {
    indexed.view.copy_(value);
    return *this;
  }
  Flattened flat = flattenIndexed(indexed);
  // The shape a read would have, then the indexed dims in front.
  std::vector<int64_t> places(flat.places.sizes().begin(), flat.places.sizes().end()), rest(flat.rows.sizes().begin() + 1, flat.rows.sizes().end());
  std::vector<int64_t> shape(rest.begin(), rest.begin() + flat.insertAt);
  shape.insert(shape.end(), places.begin(), places.end());
  shape.insert(shape.end(), rest.begin() + flat.insertAt, rest.end());
  Tensor values = broadcastTo(value.to(dtype()), shape);
  std::vector<int64_t> order;
  int64_t own = flat.places.dim();
  for (int64_t d = 0; d < own; ++d)
    order.push_back(flat.insertAt + d);
  for (int64_t d = 0; d < flat.insertAt; ++d)
    order.push_back(d);
  for (int64_t d = flat.insertAt + own; d < values.dim(); ++d)
    order.push_back(d);
  std::vector<int64_t> rows = {flat.places.numel()};
  rows.insert(rows.end(), rest.begin(), rest.end());
  values = values.permute(order).reshape(rows);
  std::vector<int64_t> column(rows.size(), 1);
  column[0] = rows[0];
  Tensor changed = graphc::scatter(flat.rows, 0, flat.places.reshape(column).expand(rows).contiguous(), values);
  std::vector<int64_t> inverse(flat.order.size());
  for (size_t d = 0; d < inverse.size(); ++d)
    inverse[static_cast<size_t>(flat.order[d])] = static_cast<int64_t>(d);
  indexed.view.copy_(changed.reshape(flat.movedSizes).permute(inverse));
  return *this;
}
Tensor &Tensor::indexPut_(std::initializer_list<Index> indices, Scalar value) {
  OpScope scope("indexPut_");
  return indexPut_(indices, scalarTensor(value, {.dtype = dtype()}));
}

//===-- sorting ---------------------------------------------------------------------------------------------------===//
static std::pair<Tensor, Tensor> selectTop(const char *op, const Tensor &a, int64_t k, int64_t dim, bool largest, bool sorted) {
  OpScope scope(op);
  if (a.dim() == 0)
    return {a.clone(), zeros({}, {.dtype = DType::I64, .device = a.device()})};
  int64_t d = wrapAxis(op, dim, a.dim());
  if (k < 0 || k > a.size(d))
    failWith(codes::InvalidArgument, op, ": k ", k, " is out of range [0, ", a.size(d), "] of dim ", d, " of ", nameOf(a));
  bool asInt = a.dtype() == DType::Bool;
  Call call(op);
  call.attribute(d).attribute(largest).attribute(sorted).input(a, asInt ? DType::U8 : a.dtype()).symbol(k);
  auto results = call.runMany(2, [&](GraphBuilder &g) {
    std::vector<std::string> dims = g.dims(0);
    dims[static_cast<size_t>(d)] = g.symbol(0);
    auto both = g.ops("topk", {g.input(0)}, text("axis = ", d, " : i64, largest = ", largest ? "true" : "false", ", sorted = ", sorted ? "true" : "false"),
                      {OpValueType{g.dtype(0), dims}, OpValueType{DType::I64, dims}});
    g.result(both[0]);
    g.result(both[1]);
  });
  return {asInt ? results[0].to(DType::Bool) : results[0], results[1]};
}
std::pair<Tensor, Tensor> topk(const TensorArg &a, int64_t k, int64_t dim, bool largest, bool sorted) { return selectTop("topk", a, k, dim, largest, sorted); }
std::pair<Tensor, Tensor> sort(const TensorArg &a, int64_t dim, bool descending) {
  OpScope scope("sort");
  return selectTop("sort", a, a.dim() ? a.size(dim) : 1, dim, descending, true);
}
Tensor argsort(const TensorArg &a, int64_t dim, bool descending) {
  OpScope scope("argsort");
  return sort(a, dim, descending).second;
}

//===-- moving ----------------------------------------------------------------------------------------------------===//
namespace {
Tensor triangle(const char *op, const Tensor &a, int64_t diagonal, bool lower) {
  OpScope scope(op);
  if (a.dim() < 2)
    failWith(Code::ShapeMismatch, op, ": ", nameOf(a), " is no matrix");
  diagonal = std::clamp(diagonal, -(int64_t{1} << 62), int64_t{1} << 62); // beyond any matrix, and a row can be added to it
  Call call(op);
  call.attribute(diagonal).input(a);
  return call.run([&](GraphBuilder &g) {
    int rank = g.rank(0);
    Value row = g.op("iota", {}, "axis = 0 : i64", OpValueType{DType::I64, {g.dim(0, rank - 2), "1"}});
    Value column = g.op("iota", {}, "axis = 1 : i64", OpValueType{DType::I64, {"1", g.dim(0, rank - 1)}});
    Value limit = g.add(row, g.constant(static_cast<double>(diagonal), DType::I64));
    Value keep = g.op(lower ? "less_equal" : "greater_equal", {column, limit});
    g.result(g.op("select", {keep, g.input(0), g.constant(0, g.dtype(0))}));
  });
}
} // namespace
Tensor tril(const TensorArg &a, int64_t diagonal) { return triangle("tril", a, diagonal, true); }
Tensor triu(const TensorArg &a, int64_t diagonal) { return triangle("triu", a, diagonal, false); }
Tensor flip(const TensorArg &a, IntList dims) {
  OpScope scope("flip");
  std::vector<int64_t> axes = wrapAxes("flip", dims, a.dim());
  if (dims.empty())
    return a.clone();
  Call call("flip");
  call.attributes(axes).input(a);
  return call.run([&](GraphBuilder &g) {
    std::string starts, steps;
    for (int d = 0; d < g.rank(0); ++d) {
      bool turns = std::ranges::count(axes, d) && g.dim(0, d) != "1";
      starts += (d ? ", " : "") + (turns ? g.dim(0, d) + " - 1" : std::string("0"));
      steps += (d ? ", " : "") + std::string(turns ? "-1" : "1");
    }
    g.result(g.op("slice", {g.input(0)}, text("starts = #graph.dims<[", starts, "]>, steps = array<i64", steps.empty() ? "" : ": ", steps, ">"),
                  OpValueType{g.dtype(0), g.dims(0)}));
  });
}
Tensor roll(const TensorArg &a, int64_t shift, int64_t dim) {
  OpScope scope("roll");
  int64_t d = wrapAxis("roll", dim, a.dim()), n = a.dim() ? a.size(d) : 0;
  if (n == 0)
    return a.clone();
  int64_t by = ((shift % n) + n) % n;
  return by == 0 ? a.clone() : cat({a.narrow(d, n - by, by), a.narrow(d, 0, n - by)}, d);
}
Tensor repeat(const TensorArg &a, IntList repeats) {
  OpScope scope("repeat");
  if (static_cast<int64_t>(repeats.size()) < a.dim())
    failWith(codes::InvalidArgument, "repeat: ", repeats.size(), " repeats for ", nameOf(a));
  size_t added = repeats.size() - static_cast<size_t>(a.dim());
  std::vector<int64_t> split, wide, final;
  for (size_t d = 0; d < repeats.size(); ++d) {
    int64_t n = d < added ? 1 : a.size(static_cast<int64_t>(d - added));
    if (repeats[d] < 0)
      failWith(codes::InvalidArgument, "repeat: ", repeats[d], " is negative");
    split.insert(split.end(), {1, n});
    wide.insert(wide.end(), {repeats[d], n});
    if (__builtin_mul_overflow(repeats[d], n, &final.emplace_back()))
      failWith(Code::ShapeMismatch, "repeat: ", repeats[d], " times ", n, " elements are too many");
  }
  return a.reshape(split).expand(wide).reshape(final);
}
Tensor repeatInterleave(const TensorArg &a, int64_t repeats, int64_t dim) {
  OpScope scope("repeatInterleave");
  int64_t d = wrapAxis("repeatInterleave", dim, a.dim());
  if (a.dim() == 0)
    return repeatInterleave(a.reshape({1}), repeats, 0);
  std::vector<int64_t> wide(a.sizes().begin(), a.sizes().end()), final = wide;
  wide.insert(wide.begin() + d + 1, repeats);
  if (repeats < 0 || __builtin_mul_overflow(final[static_cast<size_t>(d)], repeats, &final[static_cast<size_t>(d)]))
    failWith(codes::InvalidArgument, "repeatInterleave: ", repeats, " repeats of ", nameOf(a));
  return a.unsqueeze(d + 1).expand(wide).reshape(final);
}
std::vector<Tensor> meshgrid(const std::vector<Tensor> &axes) {
  OpScope scope("meshgrid");
  std::vector<int64_t> sizes;
  for (const Tensor &axis : axes)
    sizes.push_back(axis.numel());
  std::vector<Tensor> grids;
  for (size_t i = 0; i < axes.size(); ++i) {
    std::vector<int64_t> shape(axes.size(), 1);
    shape[i] = sizes[i];
    grids.push_back(axes[i].reshape(shape).expand(sizes));
  }
  return grids;
}
Tensor broadcastTo(const TensorArg &a, IntList sizes) {
  OpScope scope("broadcastTo");
  return std::ranges::equal(a.sizes(), sizes) ? Tensor(a) : a.expand(sizes);
}

//===-- whole tensors ---------------------------------------------------------------------------------------------===//
bool equal(const TensorArg &a, const Tensor &b) {
  OpScope scope("equal");
  if (a.dtype() != b.dtype() || !std::ranges::equal(a.sizes(), b.sizes()))
    return false;
  NoGrad guard;
  return eq(a, b).all().item<bool>();
}
bool allclose(const TensorArg &a, const Tensor &b, double rtol, double atol, bool equalNan) {
  OpScope scope("allclose");
  NoGrad guard;
  std::vector<double> x = a.toVector<double>(), y = broadcastTo(b.detach(), a.sizes()).toVector<double>();
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (equalNan && std::isnan(x[i]) && std::isnan(y[i])))
      continue;
    if (!(std::abs(x[i] - y[i]) <= atol + rtol * std::abs(y[i])) || std::isinf(x[i]) || std::isinf(y[i]))
      return false;
  }
  return true;
}

//===-- methods ---------------------------------------------------------------------------------------------------===//
Tensor Tensor::gather(int64_t dim, const TensorArg &index) const { return graphc::gather(*this, dim, index); }
Tensor Tensor::scatter(int64_t dim, const TensorArg &index, const Tensor &source) const { return graphc::scatter(*this, dim, index, source); }
Tensor Tensor::scatterAdd(int64_t dim, const TensorArg &index, const Tensor &source) const { return graphc::scatterAdd(*this, dim, index, source); }
Tensor Tensor::indexSelect(int64_t dim, const TensorArg &index) const { return graphc::indexSelect(*this, dim, index); }
Tensor Tensor::maskedSelect(const TensorArg &mask) const { return graphc::maskedSelect(*this, mask); }
Tensor Tensor::nonzero() const { return graphc::nonzero(*this); }
std::pair<Tensor, Tensor> Tensor::sort(int64_t dim, bool descending) const { return graphc::sort(*this, dim, descending); }
std::pair<Tensor, Tensor> Tensor::topk(int64_t k, int64_t dim, bool largest, bool sorted) const { return graphc::topk(*this, k, dim, largest, sorted); }
Tensor Tensor::argsort(int64_t dim, bool descending) const { return graphc::argsort(*this, dim, descending); }
Tensor Tensor::tril(int64_t diagonal) const { return graphc::tril(*this, diagonal); }
Tensor Tensor::triu(int64_t diagonal) const { return graphc::triu(*this, diagonal); }
Tensor Tensor::repeat(IntList repeats) const { return graphc::repeat(*this, repeats); }
Tensor Tensor::flip(IntList dims) const { return graphc::flip(*this, dims); }

} // namespace graphc
