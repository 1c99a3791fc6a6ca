#include "frontend/onnx/Sizes.h"
#include "ir/graph/Graph.h"

#include <algorithm>
#include <cmath>

namespace graphc::onnx_import {
namespace {

constexpr int64_t kUnbounded = INT64_MAX;

int64_t saturate(__int128 v) {
  if (v >= INT64_MAX)
    return INT64_MAX;
  if (v <= INT64_MIN)
    return INT64_MIN;
  return static_cast<int64_t>(v);
}
int64_t addSaturating(int64_t a, int64_t b) {
  if (a == INT64_MAX || b == INT64_MAX)
    return INT64_MAX;
  if (a == INT64_MIN || b == INT64_MIN)
    return INT64_MIN;
  return saturate(static_cast<__int128>(a) + b);
}
int64_t mulSaturating(int64_t a, int64_t b) {
  if (a == 0 || b == 0)
    return 0;
  return saturate(static_cast<__int128>(a) * b);
}

/// An integer as the element type stores it.
int64_t wrap(int64_t v, mlir::Type type) {
  auto t = mlir::cast<mlir::IntegerType>(type);
  unsigned width = t.getWidth();
  if (width == 1)
    return v != 0;
  if (width >= 64)
    return v;
  uint64_t mask = (uint64_t(1) << width) - 1;
  uint64_t bits = static_cast<uint64_t>(v) & mask;
  if (!t.isUnsigned() && bits >> (width - 1))
    bits |= ~mask;
  return static_cast<int64_t>(bits);
}

/// nullopt when `expr` has another symbol or is not linear: expr = a * symbol + b.
struct Linear {
  int64_t a, b;
  unsigned symbol;
};
std::optional<Linear> asLinear(AffineExpr expr) {
  if (auto s = mlir::dyn_cast<mlir::AffineSymbolExpr>(expr))
    return Linear{1, 0, s.getPosition()};
  auto binary = mlir::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  auto constant = mlir::dyn_cast<mlir::AffineConstantExpr>(binary.getRHS());
  auto inner = asLinear(binary.getLHS());
  if (expr.getKind() == mlir::AffineExprKind::Add && !constant && inner) {
    auto other = asLinear(binary.getRHS());
    if (!other || other->symbol != inner->symbol)
      return std::nullopt;
    return Linear{inner->a + other->a, inner->b + other->b, inner->symbol};
  }
  if (!constant || !inner)
    return std::nullopt;
  int64_t c = constant.getValue();
  if (expr.getKind() == mlir::AffineExprKind::Add)
    return Linear{inner->a, addSaturating(inner->b, c), inner->symbol};
  if (expr.getKind() == mlir::AffineExprKind::Mul)
    return Linear{mulSaturating(inner->a, c), mulSaturating(inner->b, c), inner->symbol};
  return std::nullopt;
}

int64_t floorDivide(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

} // namespace

AffineExpr SizeFacts::symbol(const std::string &name, int64_t lo, int64_t hi) {
  AffineExpr expr = graph::symbolDim(name, ctx);
  auto [it, inserted] = ranges.try_emplace(name, Range{lo, hi});
  if (!inserted) {
    it->second.lo = std::max(it->second.lo, lo);
    it->second.hi = std::min(it->second.hi, hi);
  }
  names[mlir::cast<mlir::AffineSymbolExpr>(expr).getPosition()] = name;
  return expr;
}

AffineExpr SizeFacts::fresh(const std::string &stem) {
  for (int i = 0;; ++i) {
    std::string name = stem + "_" + std::to_string(i);
    if (!ranges.count(name))
      return symbol(name);
  }
}

std::optional<std::string> SizeFacts::symbolName(AffineExpr expr) const {
  if (auto s = mlir::dyn_cast<mlir::AffineSymbolExpr>(expr))
    if (auto it = names.find(s.getPosition()); it != names.end())
      return it->second;
  return std::nullopt;
}

std::optional<int64_t> SizeFacts::replacedConstant(AffineExpr expr) const {
  if (auto name = symbolName(expr))
    if (auto it = replaced.find(*name); it != replaced.end())
      return it->second;
  return std::nullopt;
}

AffineExpr SizeFacts::withReplacedConstants(AffineExpr expr) const {
  llvm::DenseMap<AffineExpr, AffineExpr> map;
  for (auto &[name, value] : replaced)
    map[graph::symbolDim(name, ctx)] = mlir::getAffineConstantExpr(value, ctx);
  return graph::simplify(expr.replace(map));
}

SizeFacts::Range SizeFacts::bounds(AffineExpr expr) const {
  constexpr Range unknown{INT64_MIN, kUnbounded};
  if (auto c = mlir::dyn_cast<mlir::AffineConstantExpr>(expr))
    return {c.getValue(), c.getValue()};
  if (auto name = symbolName(expr))
    return ranges.at(*name);
  auto binary = mlir::dyn_cast<mlir::AffineBinaryOpExpr>(expr);
  if (!binary)
    return unknown;
  if (auto linear = asLinear(expr)) { // tighter than term by term: n - n/2 aside
    if (auto it = names.find(linear->symbol); it != names.end()) {
      Range r = ranges.at(it->second);
      if (linear->a < 0)
        std::swap(r.lo, r.hi);
      auto at = [&](int64_t v) {
        if (v == INT64_MAX)
          return linear->a >= 0 ? INT64_MAX : INT64_MIN;
        return addSaturating(mulSaturating(linear->a, v), linear->b);
      };
      return {at(r.lo), at(r.hi)};
    }
  }
  Range a = bounds(binary.getLHS()), b = bounds(binary.getRHS());
  switch (expr.getKind()) {
  case mlir::AffineExprKind::Add:
    if ((a.lo == INT64_MIN || b.lo == INT64_MIN) && (a.hi == kUnbounded || b.hi == kUnbounded))
      return unknown;
    return {a.lo == INT64_MIN || b.lo == INT64_MIN ? INT64_MIN : addSaturating(a.lo, b.lo),
            a.hi == kUnbounded || b.hi == kUnbounded ? kUnbounded : addSaturating(a.hi, b.hi)};
  case mlir::AffineExprKind::Mul: {
    int64_t corners[] = {mulSaturating(a.lo, b.lo), mulSaturating(a.lo, b.hi), mulSaturating(a.hi, b.lo), mulSaturating(a.hi, b.hi)};
    return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
  }
  case mlir::AffineExprKind::FloorDiv:
  case mlir::AffineExprKind::CeilDiv: {
    if (b.lo != b.hi || b.lo <= 0) {
      // A size divided by a size: not below zero.
      return {a.lo >= 0 && b.lo >= 0 ? 0 : INT64_MIN, a.lo >= 0 && b.lo >= 0 ? a.hi : kUnbounded};
    }
    auto divide = [&](int64_t v) {
      if (v == INT64_MIN || v == INT64_MAX)
        return v;
      return expr.getKind() == mlir::AffineExprKind::FloorDiv ? floorDivide(v, b.lo) : -floorDivide(-v, b.lo);
    };
    return {divide(a.lo), divide(a.hi)};
  }
  case mlir::AffineExprKind::Mod:
    return {0, b.hi == kUnbounded ? kUnbounded : b.hi - 1};
  default: return unknown;
  }
}

bool SizeFacts::require(AffineExpr expr, int64_t value) {
  expr = graph::simplify(expr);
  if (provedAtLeast(expr, value))
    return true;
  auto linear = asLinear(expr);
  if (!linear || linear->a == 0)
    return false;
  auto it = names.find(linear->symbol);
  if (it == names.end())
    return false;
  Range &range = ranges[it->second];
  // a * s + b >= value
  int64_t rest = addSaturating(value, -linear->b);
  if (linear->a > 0)
    range.lo = std::max(range.lo, -floorDivide(-rest, linear->a));
  else
    range.hi = std::min(range.hi, floorDivide(-rest, -linear->a));
  return range.lo <= range.hi;
}

std::optional<bool> SizeFacts::equal(AffineExpr a, AffineExpr b) const {
  auto ca = mlir::dyn_cast<mlir::AffineConstantExpr>(a), cb = mlir::dyn_cast<mlir::AffineConstantExpr>(b);
  if (ca && cb) // a difference may overflow
    return ca.getValue() == cb.getValue();
  AffineExpr difference = graph::simplify(a - b);
  Range r = bounds(difference);
  if (r.lo == 0 && r.hi == 0)
    return true;
  if (r.lo > 0 || r.hi < 0)
    return false;
  return std::nullopt;
}
std::optional<bool> SizeFacts::less(AffineExpr a, AffineExpr b) const {
  auto ca = mlir::dyn_cast<mlir::AffineConstantExpr>(a), cb = mlir::dyn_cast<mlir::AffineConstantExpr>(b);
  if (ca && cb)
    return ca.getValue() < cb.getValue();
  Range r = bounds(graph::simplify(a - b));
  if (r.hi < 0)
    return true;
  if (r.lo >= 0)
    return false;
  return std::nullopt;
}

mlir::DictionaryAttr SizeFacts::attribute() const {
  mlir::Builder b(ctx);
  llvm::SmallVector<mlir::NamedAttribute> entries;
  for (auto &[name, range] : ranges) {
    llvm::SmallVector<mlir::NamedAttribute> facts;
    facts.push_back(b.getNamedAttr("lo", b.getI64IntegerAttr(range.lo)));
    if (range.hi != kUnbounded)
      facts.push_back(b.getNamedAttr("hi", b.getI64IntegerAttr(range.hi)));
    entries.push_back(b.getNamedAttr(name, b.getDictionaryAttr(facts)));
  }
  return b.getDictionaryAttr(entries);
}

AffineExpr divideSizes(llvm::ArrayRef<AffineExpr> numerator, llvm::ArrayRef<AffineExpr> denominator, mlir::MLIRContext *ctx) {
  // Split into factors, so that (2 * n) / (n) cancels.
  auto factors = [](llvm::ArrayRef<AffineExpr> dims, int64_t &constant) {
    std::vector<AffineExpr> out, stack(dims.rbegin(), dims.rend());
    constant = 1;
    while (!stack.empty()) {
      AffineExpr e = graph::simplify(stack.back());
      stack.pop_back();
      if (auto c = mlir::dyn_cast<mlir::AffineConstantExpr>(e)) {
        constant = mulSaturating(constant, c.getValue());
      } else if (e.getKind() == mlir::AffineExprKind::Mul) {
        auto m = mlir::cast<mlir::AffineBinaryOpExpr>(e);
        stack.push_back(m.getRHS());
        stack.push_back(m.getLHS());
      } else {
        out.push_back(e);
      }
    }
    return out;
  };
  int64_t top, bottom;
  auto up = factors(numerator, top), down = factors(denominator, bottom);
  for (auto it = down.begin(); it != down.end();) {
    auto same = std::find(up.begin(), up.end(), *it);
    if (same == up.end()) {
      ++it;
      continue;
    }
    up.erase(same);
    it = down.erase(it);
  }
  if (bottom == 0)
    return mlir::getAffineConstantExpr(0, ctx);
  int64_t common = std::gcd(top, bottom);
  if (common > 1) {
    top /= common;
    bottom /= common;
  }
  if (up.empty() && down.empty() && bottom != 1)
    return {};
  AffineExpr result = mlir::getAffineConstantExpr(top, ctx);
  for (AffineExpr e : up)
    result = result * e;
  AffineExpr divisor = mlir::getAffineConstantExpr(bottom, ctx);
  for (AffineExpr e : down)
    divisor = divisor * e;
  if (down.empty() && bottom == 1)
    return graph::simplify(result);
  return graph::simplify(graph::simplify(result).floorDiv(graph::simplify(divisor)));
}

std::optional<std::vector<int64_t>> Known::constants() const {
  if (floating)
    return std::nullopt;
  std::vector<int64_t> out;
  for (AffineExpr e : ints) {
    auto c = mlir::dyn_cast<mlir::AffineConstantExpr>(e);
    if (!c)
      return std::nullopt;
    out.push_back(c.getValue());
  }
  return out;
}

Known Known::pick(const std::vector<int64_t> &positions) const {
  Known out;
  out.floating = floating;
  for (int64_t p : positions)
    if (floating)
      out.floats.push_back(floats[p]);
    else
      out.ints.push_back(ints[p]);
  return out;
}

std::optional<Known> evaluateCast(const Known &x, mlir::Type from, mlir::Type to) {
  Known out;
  bool toFloat = mlir::isa<mlir::FloatType>(to);
  if (toFloat && !to.isF32() && !to.isF64())
    return std::nullopt;
  out.floating = toFloat;
  mlir::MLIRContext *ctx = to.getContext();
  if (x.floating) {
    for (double v : x.floats) {
      if (toFloat) {
        out.floats.push_back(to.isF32() ? static_cast<float>(v) : v);
      } else if (to.isInteger(1)) {
        out.ints.push_back(mlir::getAffineConstantExpr(v != 0, ctx));
      } else {
        if (!(std::fabs(v) < 9.2e18))
          return std::nullopt;
        int64_t i = static_cast<int64_t>(v);
        if (wrap(i, to) != i)
          return std::nullopt; // out of range: as the device does it
        out.ints.push_back(mlir::getAffineConstantExpr(i, ctx));
      }
    }
    return out;
  }
  for (AffineExpr e : x.ints) {
    auto c = mlir::dyn_cast<mlir::AffineConstantExpr>(e);
    if (toFloat) {
      if (!c)
        return std::nullopt;
      bool unsigned64 = mlir::cast<mlir::IntegerType>(from).isUnsigned() && from.getIntOrFloatBitWidth() == 64;
      double v = unsigned64 ? static_cast<double>(static_cast<uint64_t>(c.getValue())) : static_cast<double>(c.getValue());
      out.floats.push_back(to.isF32() ? static_cast<float>(v) : v);
    } else if (c) {
      out.ints.push_back(mlir::getAffineConstantExpr(wrap(c.getValue(), to), ctx));
    } else if (to.isInteger(1)) {
      return std::nullopt;
    } else {
      out.ints.push_back(e); // sizes fit
    }
  }
  return out;
}

static std::optional<double> evaluateFloat(llvm::StringRef op, llvm::ArrayRef<double> v) {
  double a = v[0], b = v.size() > 1 ? v[1] : 0;
  if (op == "Add") return a + b;
  if (op == "Sub") return a - b;
  if (op == "Mul") return a * b;
  if (op == "Div") return a / b;
  if (op == "Neg") return -a;
  if (op == "Abs") return std::fabs(a);
  if (op == "Floor") return std::floor(a);
  if (op == "Ceil") return std::ceil(a);
  if (op == "Sqrt") return std::sqrt(a);
  if (op == "Round") return std::nearbyint(a);
  if (op == "Reciprocal") return 1 / a;
  if (op == "Identity") return a;
  if ((op == "Max" || op == "Min") && !std::isnan(a) && !std::isnan(b))
    return op == "Max" ? std::max(a, b) : std::min(a, b);
  return std::nullopt;
}

static AffineExpr evaluateInt(llvm::StringRef op, llvm::ArrayRef<AffineExpr> v, mlir::Type type, const SizeFacts &facts) {
  mlir::MLIRContext *ctx = facts.context();
  AffineExpr a = v[0], b = v.size() > 1 ? v[1] : v[0];
  auto constant = [&](int64_t x) { return mlir::getAffineConstantExpr(x, ctx); };
  auto ca = mlir::dyn_cast<mlir::AffineConstantExpr>(a), cb = mlir::dyn_cast<mlir::AffineConstantExpr>(b);
  auto integer = mlir::dyn_cast<mlir::IntegerType>(type);
  if (!integer)
    return {};
  bool unsigned64 = integer.isUnsigned() && integer.getWidth() == 64;
  auto decided = [&](std::optional<bool> r) { return r ? constant(*r) : AffineExpr(); };
  if (op == "Identity") return a;
  if (op == "Equal") return decided(facts.equal(a, b));
  if (op == "Where") {
    if (!ca) return {};
    return ca.getValue() ? v[1] : v[2];
  }
  if (unsigned64)
    return {};
  if (op == "Less") return decided(facts.less(a, b));
  if (op == "Greater") return decided(facts.less(b, a));
  if (op == "LessOrEqual") { auto r = facts.less(b, a); return decided(r ? std::optional<bool>(!*r) : r); }
  if (op == "GreaterOrEqual") { auto r = facts.less(a, b); return decided(r ? std::optional<bool>(!*r) : r); }
  if (op == "Max" || op == "Min") {
    auto r = facts.less(a, b);
    if (!r) return {};
    return *r == (op == "Max") ? b : a;
  }
  if (ca && cb) {
    int64_t x = ca.getValue(), y = cb.getValue();
    auto wrapped = [&](uint64_t bits) { return constant(wrap(static_cast<int64_t>(bits), type)); };
    if (op == "Add") return wrapped(uint64_t(x) + uint64_t(y));
    if (op == "Sub") return wrapped(uint64_t(x) - uint64_t(y));
    if (op == "Mul") return wrapped(uint64_t(x) * uint64_t(y));
    if (op == "Neg") return wrapped(uint64_t(0) - uint64_t(x));
    if (op == "Abs") return wrapped(x < 0 ? uint64_t(0) - uint64_t(x) : uint64_t(x));
    if (op == "Not") return constant(!x);
    if (op == "And") return constant(x && y);
    if (op == "Or") return constant(x || y);
    if (op == "Xor") return constant((x != 0) != (y != 0));
    if (op == "Sign") return constant((x > 0) - (x < 0));
    if (y == 0 || (x == INT64_MIN && y == -1))
      return {};
    if (op == "Div") return constant(x / y);
    if (op == "Mod") return constant(x - floorDivide(x, y) * y);
    return {};
  }
  if (op == "Add") return graph::simplify(a + b);
  if (op == "Sub") return graph::simplify(a - b);
  if (op == "Mul") return graph::simplify(a * b);
  if (op == "Neg") return graph::simplify(-a);
  // Truncation is flooring where neither side is negative.
  if ((op == "Div" || op == "Mod") && facts.provedAtLeast(a, 0) && facts.provedAtLeast(b, 1))
    return graph::simplify(op == "Div" ? a.floorDiv(b) : a % b);
  return {};
}

std::optional<Known> evaluateElementwise(llvm::StringRef op, llvm::ArrayRef<Known> args, mlir::Type type, const SizeFacts &facts) {
  Known out;
  size_t count = args.empty() ? 0 : args[0].size();
  bool floats = llvm::any_of(args, [](const Known &k) { return k.floating; });
  if (floats && op == "Where" && !args[0].floating) {
    out.floating = true;
    for (size_t i = 0; i < count; ++i) {
      auto c = mlir::dyn_cast<mlir::AffineConstantExpr>(args[0].ints[i]);
      if (!c)
        return std::nullopt;
      out.floats.push_back(args[c.getValue() ? 1 : 2].floats[i]);
    }
    return out;
  }
  for (size_t i = 0; i < count; ++i) {
    if (floats) {
      llvm::SmallVector<double> v;
      for (const Known &k : args) {
        if (!k.floating)
          return std::nullopt;
        v.push_back(k.floats[i]);
      }
      if (!type.isF32() && !type.isF64())
        return std::nullopt;
      auto r = evaluateFloat(op, v);
      if (!r)
        return std::nullopt;
      out.floating = true;
      out.floats.push_back(type.isF32() ? static_cast<float>(*r) : *r);
    } else {
      llvm::SmallVector<AffineExpr> v;
      for (const Known &k : args)
        v.push_back(k.ints[i]);
      AffineExpr r = evaluateInt(op, v, type, facts);
      if (!r)
        return std::nullopt;
      out.ints.push_back(r);
    }
  }
  return out;
}

} // namespace graphc::onnx_import
