// Elements of `random`: Philox 4x32-10 (Salmon et al., SC 2011) as a formula, so that the interpreter, every device and every
// fused kernel draw the same numbers. Words are kept in the low halves of ui64, where a product needs no high part.
#include "ir/graph/Graph.h"

using namespace mlir;
using namespace graphc::graph;

namespace {

struct Philox {
  ElementBuilder &b;
  Type word = IntegerType::get(b.context(), 64, IntegerType::Unsigned);

  Expr number(uint64_t v) const { return b.constantInt((int64_t)v, word); }
  Expr low(Expr x) const { return bitAnd(x, number(0xffffffff)); }
  Expr high(Expr x) const { return shiftRight(x, number(32)); }

  /// The four words of one block.
  std::array<Expr, 4> block(Expr key, Expr counter) const {
    // The counter's upper half is 0: a stream of 2^64 blocks a key.
    std::array<Expr, 4> c = {low(counter), high(counter), number(0), number(0)};
    Expr k0 = low(key), k1 = high(key);
    for (int round = 0; round < 10; ++round) {
      Expr p = c[0] * number(0xD2511F53), q = c[2] * number(0xCD9E8D57);
      c = {bitXor(bitXor(high(q), c[1]), k0), low(q), bitXor(bitXor(high(p), c[3]), k1), low(p)};
      k0 = low(k0 + number(0x9E3779B9));
      k1 = low(k1 + number(0xBB67AE85));
    }
    return c;
  }
};

/// One of several expressions, by an index known only at run time.
Expr pick(ElementBuilder &b, Expr which, ArrayRef<Expr> from) {
  Expr result = from[0];
  for (size_t i = 1; i < from.size(); ++i)
    result = select(which == b.constantInt(i, which.type), from[i], result);
  return result;
}

} // namespace

Expr RandomOp::element(ElementBuilder &b, unsigned, ArrayRef<AffineExpr> index) {
  Philox philox{b};
  Type element = cast<RankedTensorType>(getType()).getElementType(), type = computeType(element);
  AffineExpr flat = b.constantIndex(0);
  for (auto [i, size] : llvm::zip(index, dimsOf(getType())))
    flat = flat * size + i;
  bool wide = type.getIntOrFloatBitWidth() == 64;
  int64_t perBlock = wide ? 2 : 4;
  // The place is divided as a number: an affine remainder would have to be simplified with a product of all sizes in it.
  Expr place = b.indexValue(flat).castTo(philox.word);
  Expr counter = b.load(getOffset(), {}).castTo(philox.word) + place / philox.number(perBlock);
  Expr which = mod(place, philox.number(perBlock));
  auto words = philox.block(b.load(getKey(), {}).castTo(philox.word), counter);
  auto pair = [&](unsigned i) { return bitOr(words[i], shiftLeft(words[i + 1], philox.number(32))); };

  if (getKind() == "bits")
    return (wide ? pick(b, which, {pair(0), pair(2)}) : pick(b, which, words)).castTo(type);
  if (getKind() == "uniform") {
    // As many bits as the result type holds: rounding must not reach 1.
    int bits = cast<FloatType>(element).getFPMantissaWidth();
    Expr drawn = wide ? shiftRight(pick(b, which, {pair(0), pair(2)}), philox.number(64 - bits))
                      : shiftRight(pick(b, which, words), philox.number(32 - bits));
    return drawn.castTo(IntegerType::get(getContext(), 64)).castTo(type) * b.constant(std::ldexp(1.0, -bits), type);
  }
  // Box-Muller; the radius' number is in (0, 1], so its logarithm is finite.
  Expr first = wide ? pair(0) : select(which < philox.number(2), words[0], words[2]);
  Expr second = wide ? pair(2) : select(which < philox.number(2), words[1], words[3]);
  Type i64 = IntegerType::get(getContext(), 64);
  auto unit = [&](Expr bits, double above) {
    bits = shiftRight(bits, philox.number(wide ? 11 : 8));
    return (bits.castTo(i64).castTo(type) + b.constant(above, type)) * b.constant(wide ? 0x1p-53 : 0x1p-24, type);
  };
  Expr radius = sqrt(b.constant(-2, type) * log(unit(first, 1)));
  Expr angle = unit(second, 0) * b.constant(6.283185307179586, type);
  Expr odd = bitAnd(place, philox.number(1)) == philox.number(1);
  return radius * select(odd, sin(angle), cos(angle));
}
