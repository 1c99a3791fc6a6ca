// Resampling, as ONNX Resize defines it: a result index maps to a coordinate of the operand, and the neighbours of that
// coordinate are weighted (nearest: one; linear: two; cubic: four per dim).
#include "ir/graph/Graph.h"

using namespace mlir;
using namespace graphc::graph;

namespace {
struct Tap {
  Expr position; // i64, clamped
  Expr weight;   // in the computation type; none when it is 1
};
} // namespace

static SmallVector<Tap> tapsOf(ElementBuilder &b, ResizeOp op, unsigned dim, AffineExpr index, Type type) {
  auto *ctx = op.getContext();
  Type f32 = Float32Type::get(ctx), i64 = IntegerType::get(ctx, 64);
  AffineExpr inSize = dimsOf(op.getX().getType())[dim], outSize = dimsOf(op.getType())[dim];
  auto constant = [&](double v) { return b.constant(v, f32); };
  Expr i = b.indexValue(index).castTo(f32), n = b.indexValue(inSize).castTo(f32), m = b.indexValue(outSize).castTo(f32);
  double scale = op.getScales()[dim];
  StringRef mode = op.getCoordinates();
  Expr x;
  if (mode == "asymmetric") {
    x = i / constant(scale);
  } else if (mode == "align_corners") {
    // The resized extent is scale * n, whole or not.
    Expr one = constant(1), extent = constant(scale) * n;
    x = select(m == one, constant(0), i * (n - one) / (extent - one));
  } else if (mode == "half_pixel_symmetric") {
    // The resized extent may not be a whole number: centre the difference.
    Expr adjustment = m / (constant(scale) * n);
    x = n / constant(2) * (constant(1) - adjustment) + (i + constant(0.5)) / constant(scale) - constant(0.5);
  } else {
    x = (i + constant(0.5)) / constant(scale) - constant(0.5);
    if (mode == "pytorch_half_pixel")
      x = select(m > constant(1), x, constant(0));
  }
  Expr zero = b.constantInt(0, i64), last = b.indexValue(inSize) - b.constantInt(1, i64);
  auto clamped = [&](Expr p) { return min(max(p, zero), last); };
  if (op.getMode() == "nearest") {
    StringRef rounding = op.getNearest();
    Expr p = rounding == "floor"               ? floor(x)
             : rounding == "ceil"              ? ceil(x)
             : rounding == "round_prefer_ceil" ? floor(x + constant(0.5))
                                               : ceil(x - constant(0.5));
    return {{clamped(p.castTo(i64)), Expr()}};
  }
  Expr base = floor(x), fraction = x - base, p = base.castTo(i64);
  SmallVector<Tap> taps;
  if (op.getMode() == "linear") {
    taps.push_back({p, constant(1) - fraction});
    taps.push_back({p + b.constantInt(1, i64), fraction});
  } else {
    // Keys' cubic convolution kernel with parameter a, at distances 1+t, t, 1-t, 2-t.
    double a = op.getCubicA().convertToDouble();
    auto near = [&](Expr d) { return ((constant(a + 2) * d - constant(a + 3)) * d) * d + constant(1); };
    auto far = [&](Expr d) {
      return ((constant(a) * d - constant(5 * a)) * d + constant(8 * a)) * d - constant(4 * a);
    };
    Expr one = constant(1), two = constant(2);
    taps.push_back({p - b.constantInt(1, i64), far(one + fraction)});
    taps.push_back({p, near(fraction)});
    taps.push_back({p + b.constantInt(1, i64), near(one - fraction)});
    taps.push_back({p + b.constantInt(2, i64), far(two - fraction)});
  }
  if (op.getExcludeOutside()) {
    Expr total;
    for (Tap &tap : taps) {
      tap.weight = select((tap.position >= zero) && (tap.position <= last), tap.weight, constant(0));
      total = total.builder ? total + tap.weight : tap.weight;
    }
    for (Tap &tap : taps)
      tap.weight = tap.weight / total;
  }
  for (Tap &tap : taps) {
    tap.position = clamped(tap.position);
    tap.weight = tap.weight.castTo(type);
  }
  return taps;
}

Expr ResizeOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  Type element = cast<RankedTensorType>(getType()).getElementType(), type = computeType(element);
  Type weightType = isa<FloatType>(type) ? type : Type(Float32Type::get(getContext()));
  auto in = dimsOf(getX().getType()), out = dimsOf(getType());
  SmallVector<SmallVector<Tap>> taps(in.size());
  for (unsigned d = 0; d < in.size(); ++d)
    if (in[d] != out[d] || getScales()[d] != 1)
      taps[d] = tapsOf(b, *this, d, index[d], weightType);

  SmallVector<AffineExpr> at = llvm::to_vector(index);
  std::function<Expr(unsigned)> sample = [&](unsigned d) -> Expr {
    if (d == in.size())
      return b.load(getX(), at).castTo(getMode() == "nearest" ? type : weightType);
    if (taps[d].empty())
      return sample(d + 1);
    Expr sum;
    for (Tap &tap : taps[d]) {
      at[d] = b.computedIndex(tap.position, nullptr);
      Expr term = sample(d + 1);
      if (tap.weight.builder)
        term = term * tap.weight;
      sum = sum.builder ? sum + term : term;
    }
    return sum;
  };
  return sample(0).castTo(type);
}
