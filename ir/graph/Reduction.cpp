// Elements of reductions and pools: a formula over the window or the reduced dims.
#include "ir/graph/Pooling.h"

using namespace mlir;
using namespace graphc::graph;

static Type elementOf(Value v) { return cast<RankedTensorType>(v.getType()).getElementType(); }

/// The identity of max (or min) in a type: -inf, or the least value of an integer type.
static Expr extreme(ElementBuilder &b, Type type, bool lowest) {
  if (isa<FloatType>(type))
    return b.constant(lowest ? -INFINITY : INFINITY, type);
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 1)
    return b.constantInt(!lowest, type);
  if (isUnsigned(type))
    return b.constantInt(lowest ? 0 : (int64_t)(~uint64_t(0) >> (64 - width)), type);
  int64_t most = (int64_t)(~uint64_t(0) >> (65 - width));
  return b.constantInt(lowest ? -most - 1 : most, type);
}

static Expr reduceOne(ElementBuilder &b, ArrayRef<AffineExpr> sizes, Expr init, ScalarKind combine,
                      function_ref<Expr(ArrayRef<AffineExpr>)> body) {
  return b.reduce(
      sizes, {init}, [&](ArrayRef<AffineExpr> dims) { return SmallVector<Expr>{body(dims)}; },
      [&](ArrayRef<Expr> x, ArrayRef<Expr> y) { return SmallVector<Expr>{b.binary(combine, x[0], y[0])}; })[0];
}

/// Result index (with or without kept dims) plus reduction dims -> operand index.
static SmallVector<AffineExpr> operandIndex(ArrayRef<AffineExpr> index, ArrayRef<AffineExpr> reduced,
                                            ArrayRef<int64_t> axes, unsigned rank, bool keep) {
  SmallVector<AffineExpr> operand;
  unsigned next = 0, r = 0;
  for (unsigned i = 0; i < rank; ++i) {
    if (llvm::is_contained(axes, (int64_t)i)) {
      operand.push_back(reduced[r++]);
      next += keep;
    } else {
      operand.push_back(index[next++]);
    }
  }
  return operand;
}

Expr ReduceOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  auto dims = dimsOf(getX().getType());
  SmallVector<AffineExpr> sizes;
  for (int64_t axis : getAxes())
    sizes.push_back(dims[axis]);
  Type type = computeType(elementOf(getX()));
  StringRef kind = getKind();
  Expr init = kind == "sum" || kind == "any" ? b.constant(0, type)
              : kind == "prod" || kind == "all" ? b.constant(1, type)
                                                : extreme(b, type, kind == "max");
  ScalarKind combine = kind == "sum"    ? ScalarKind::Add
                       : kind == "prod" ? ScalarKind::Mul
                       : kind == "max"  ? ScalarKind::Max
                       : kind == "min"  ? ScalarKind::Min
                       : kind == "any"  ? ScalarKind::Or
                                        : ScalarKind::And;
  if (type.isInteger(1) && (combine == ScalarKind::Max || combine == ScalarKind::Min))
    combine = combine == ScalarKind::Max ? ScalarKind::Or : ScalarKind::And;
  return reduceOne(b, sizes, init, combine, [&](ArrayRef<AffineExpr> reduced) {
    return b.load(getX(), operandIndex(index, reduced, getAxes(), dims.size(), getKeep()));
  });
}

Expr ArgReduceOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  auto dims = dimsOf(getX().getType());
  int64_t axis = getAxis();
  bool maximum = getKind() == "max", last = getLast();
  Type type = computeType(elementOf(getX())), i64 = IntegerType::get(getContext(), 64);
  // The identity loses against everything: its index is negative.
  SmallVector<Expr> init = {extreme(b, type, maximum), b.constantInt(-1, i64)};
  auto combine = [&](ArrayRef<Expr> x, ArrayRef<Expr> y) {
    Expr none = b.constantInt(0, i64);
    Expr better = maximum ? y[0] > x[0] : y[0] < x[0];
    Expr equal = y[0] == x[0];
    if (isa<FloatType>(type)) {
      Expr xNaN = isNaN(x[0]), yNaN = isNaN(y[0]);
      better = (better && !xNaN) || (yNaN && !xNaN);
      equal = equal || (xNaN && yNaN);
    }
    Expr tie = equal && (last ? y[1] > x[1] : y[1] < x[1]);
    Expr take = (x[1] < none) || ((better || tie) && y[1] >= none);
    return SmallVector<Expr>{select(take, y[0], x[0]), select(take, y[1], x[1])};
  };
  return b.reduce(
      {dims[axis]}, init,
      [&](ArrayRef<AffineExpr> reduced) {
        return SmallVector<Expr>{b.load(getX(), operandIndex(index, reduced, {axis}, dims.size(), getKeep())),
                                 b.indexValue(reduced[0])};
      },
      combine)[1];
}

/// Operand index of a window position.
template <typename Op>
static SmallVector<AffineExpr> windowIndex(Op op, ArrayRef<AffineExpr> index, ArrayRef<AffineExpr> window) {
  SmallVector<AffineExpr> operand = llvm::to_vector(index);
  unsigned first = op.getChannelsLast() ? 1 : 2;
  for (unsigned s = 0; s < window.size(); ++s)
    operand[first + s] = index[first + s] * op.getStrides()[s] + window[s] * op.getDilations()[s] - op.getPadsLow()[s];
  return operand;
}
template <typename Op>
static SmallVector<AffineExpr> windowSizes(Op op) {
  return llvm::map_to_vector(op.getWindow(), [&](int64_t w) { return constantDim(w, op.getContext()); });
}
/// One where a window position lies inside the operand, zero in the padding.
template <typename Op>
static Expr inside(ElementBuilder &b, Op op, ArrayRef<AffineExpr> operand) {
  auto dims = dimsOf(op.getX().getType());
  unsigned first = op.getChannelsLast() ? 1 : 2;
  Expr all;
  for (unsigned s = 0; s < op.getWindow().size(); ++s) {
    Expr i = b.indexValue(operand[first + s]);
    Expr in = (i >= b.constantInt(0, i.type)) && (i < b.indexValue(dims[first + s]));
    all = all.builder ? all && in : in;
  }
  return all;
}

/// The number of a place in a window, row by row (or column by column).
static AffineExpr numberInWindow(ElementBuilder &b, ArrayRef<AffineExpr> place, ArrayRef<int64_t> window, bool columnMajor) {
  AffineExpr number = b.constantIndex(0);
  for (unsigned i = 0; i < place.size(); ++i) {
    unsigned s = columnMajor ? place.size() - 1 - i : i;
    number = number * window[s] + place[s];
  }
  return number;
}

bool graphc::graph::numbersInWindow(Value places) { return !elementOf(places).isInteger(64); }

SmallVector<Expr> graphc::graph::maximumAndPlace(MaxPoolIndexOp op, ElementBuilder &b, ArrayRef<AffineExpr> index) {
  bool inWindow = numbersInWindow(op);
  auto dims = dimsOf(op.getX().getType());
  // Numbers in a window are small: half as wide, they take as many lanes as the values beside them.
  Type type = computeType(elementOf(op.getX())), number = IntegerType::get(op.getContext(), inWindow ? 32 : 64);
  Expr lowest = extreme(b, type, true), none = b.constantInt(-1, number), zero = b.constantInt(0, number);
  auto body = [&](ArrayRef<AffineExpr> window) {
    auto operand = windowIndex(op, index, window);
    unsigned channel = op.getChannelsLast() ? dims.size() - 1 : 1, first = op.getChannelsLast() ? 1 : 2;
    AffineExpr at;
    if (inWindow) {
      at = numberInWindow(b, window, op.getWindow(), op.getColumnMajor());
    } else {
      SmallVector<unsigned> spatial;
      for (unsigned s = 0; s < op.getWindow().size(); ++s)
        spatial.push_back(first + s);
      if (op.getColumnMajor())
        std::reverse(spatial.begin(), spatial.end());
      at = operand[0] * dims[channel] + operand[channel];
      for (unsigned s : spatial)
        at = at * dims[s] + operand[s];
    }
    Expr valid = inside(b, op, operand);
    return SmallVector<Expr>{b.load(op.getX(), operand, lowest), select(valid, b.indexValue(at).castTo(number), none)};
  };
  auto combine = [&](ArrayRef<Expr> x, ArrayRef<Expr> y) {
    Expr better = y[0] > x[0];
    if (isa<FloatType>(type)) // as the maximum itself, which is NaN then
      better = better || (isNaN(y[0]) && !isNaN(x[0]));
    Expr take = (x[1] < zero) || ((better || (y[0] == x[0] && y[1] < x[1])) && y[1] >= zero);
    return SmallVector<Expr>{select(take, y[0], x[0]), select(take, y[1], x[1])};
  };
  auto both = b.reduce(windowSizes(op), {lowest, none}, body, combine);
  return {both[0], both[1].castTo(computeType(elementOf(op)))};
}

bool graphc::graph::numbersMaximaOf(MaxPoolIndexOp index, MaxPoolOp pool) {
  return pool.getX() == index.getX() && pool.getWindow() == index.getWindow() && pool.getStrides() == index.getStrides() &&
         pool.getDilations() == index.getDilations() && pool.getPadsLow() == index.getPadsLow() &&
         pool.getPadsHigh() == index.getPadsHigh() && pool.getChannelsLast() == index.getChannelsLast();
}

Expr MaxPoolOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  Type type = computeType(elementOf(getX()));
  Expr lowest = extreme(b, type, true);
  return reduceOne(b, windowSizes(*this), lowest, ScalarKind::Max, [&](ArrayRef<AffineExpr> window) {
    return b.load(getX(), windowIndex(*this, index, window), lowest);
  });
}

Expr MaxPoolIndexOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) { return maximumAndPlace(*this, b, index)[1]; }

/// What avg_pool divides window `index` by: the count of positions inside the operand of sizes `dims` (and, on request, its
/// padding).
template <typename Op>
static Expr averaged(ElementBuilder &b, Op op, ArrayRef<AffineExpr> index, ArrayRef<AffineExpr> dims) {
  Type i64 = IntegerType::get(op.getContext(), 64);
  Expr count;
  unsigned first = op.getChannelsLast() ? 1 : 2;
  for (unsigned s = 0; s < op.getWindow().size(); ++s) {
    int64_t d = op.getDilations()[s], w = op.getWindow()[s];
    AffineExpr start = index[first + s] * op.getStrides()[s] - op.getPadsLow()[s];
    AffineExpr end = dims[first + s];
    Expr low = b.constantInt(0, i64);
    Expr begin = b.indexValue(start), limit = b.indexValue(end);
    if (op.getCountPad()) {
      low = b.constantInt(-op.getPadsLow()[s], i64);
      limit = b.indexValue(end + op.getPadsHigh()[s]);
    }
    // First window step at or after `low`, and first at or after `limit`.
    auto steps = [&](Expr bound) {
      Expr gap = max(bound - begin, b.constantInt(0, i64));
      return min((gap + b.constantInt(d - 1, i64)) / b.constantInt(d, i64), b.constantInt(w, i64));
    };
    Expr n = steps(limit) - steps(low);
    count = count.builder ? count * n : n;
  }
  return max(count, b.constantInt(1, i64));
}

Expr AvgPoolOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  Type type = computeType(elementOf(getX()));
  Expr zero = b.constant(0, type);
  Expr sum = reduceOne(b, windowSizes(*this), zero, ScalarKind::Add, [&](ArrayRef<AffineExpr> window) {
    return b.load(getX(), windowIndex(*this, index, window), zero);
  });
  return getSum() ? sum : sum / averaged(b, *this, index, dimsOf(getX().getType())).castTo(type);
}

Expr LpPoolOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  Type type = computeType(elementOf(getX()));
  Expr zero = b.constant(0, type);
  int64_t p = getP();
  Expr sum = reduceOne(b, windowSizes(*this), zero, ScalarKind::Add, [&](ArrayRef<AffineExpr> window) {
    Expr x = abs(b.load(getX(), windowIndex(*this, index, window), zero));
    return p == 1 ? x : p == 2 ? x * x : pow(x, x.like(p));
  });
  return p == 1 ? sum : p == 2 ? sqrt(sum) : pow(sum, sum.like(1.0 / p));
}

/// Sums over the windows that cover a place: `body` gets the window's index and where in it the place is. With dilation 1 these are ceil(window / stride)
/// neighbours a dim; otherwise each tap is tried, and counts where its window starts at a whole stride.
template <typename Op>
static Expr sumOverWindows(ElementBuilder &b, Op op, ArrayRef<AffineExpr> place, Type type,
                           function_ref<Expr(ArrayRef<AffineExpr> window, ArrayRef<AffineExpr> number)> body) {
  unsigned first = op.getChannelsLast() ? 1 : 2, spatial = op.getWindow().size();
  Type i64 = IntegerType::get(op.getContext(), 64);
  bool dense = llvm::all_of(op.getDilations(), [](int64_t d) { return d == 1; });
  SmallVector<AffineExpr> sizes;
  bool single = true;
  for (unsigned s = 0; s < spatial; ++s) {
    int64_t w = op.getWindow()[s], stride = op.getStrides()[s];
    sizes.push_back(b.constantIndex(dense ? (w + stride - 1) / stride : w));
    single &= isSize(sizes.back(), 1);
  }
  auto term = [&](ArrayRef<AffineExpr> taps) {
    SmallVector<AffineExpr> window = llvm::to_vector(place), number;
    Expr covers;
    for (unsigned s = 0; s < spatial; ++s) {
      int64_t w = op.getWindow()[s], stride = op.getStrides()[s], d = op.getDilations()[s];
      AffineExpr position = place[first + s] + op.getPadsLow()[s];
      Expr here;
      if (dense) {
        window[first + s] = position.floorDiv(stride) - taps[s];
        number.push_back(position % stride + taps[s] * stride);
        if (w % stride)
          here = b.indexValue(number.back()) < b.constantInt(w, i64);
      } else {
        AffineExpr start = position - taps[s] * d;
        window[first + s] = start.floorDiv(stride);
        number.push_back(taps[s]);
        if (stride != 1)
          here = b.indexValue(start % stride) == b.constantInt(0, i64);
      }
      if (here.builder)
        covers = covers.builder ? covers && here : here;
    }
    Expr value = body(window, number);
    return covers.builder ? select(covers, value, b.constant(0, type)) : value;
  };
  if (single)
    return term(SmallVector<AffineExpr>(spatial, b.constantIndex(0)));
  return reduceOne(b, sizes, b.constant(0, type), ScalarKind::Add, term);
}

Expr AvgUnpoolOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  Type type = computeType(elementOf(getX()));
  return sumOverWindows(b, *this, index, type, [&](ArrayRef<AffineExpr> window, ArrayRef<AffineExpr>) {
    Expr value = b.load(getX(), window, b.constant(0, type));
    return getSum() ? value : value / averaged(b, *this, window, dimsOf(getType())).castTo(type);
  });
}

Expr MaxUnpoolOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  Type type = computeType(elementOf(getX())), indexType = elementOf(getIndices());
  auto dims = dimsOf(getType());
  unsigned channel = getChannelsLast() ? dims.size() - 1 : 1, first = getChannelsLast() ? 1 : 2;
  AffineExpr flat = index[0] * dims[channel] + index[channel];
  for (unsigned s = 0; s < getWindow().size(); ++s)
    flat = flat * dims[first + s] + index[first + s];
  return sumOverWindows(b, *this, index, type, [&](ArrayRef<AffineExpr> window, ArrayRef<AffineExpr> number) {
    AffineExpr at = numbersInWindow(getIndices()) ? numberInWindow(b, number, getWindow(), /*columnMajor=*/false) : flat;
    Expr chosen = b.load(getIndices(), window, b.constantInt(-1, indexType));
    return select(chosen == b.indexValue(at).castTo(indexType), b.load(getX(), window, b.constant(0, type)), b.constant(0, type));
  });
}
