#include "ir/graph/Graph.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace graphc::graph {

AffineExpr constantDim(int64_t size, MLIRContext *ctx) { return getAffineConstantExpr(size, ctx); }

AffineExpr symbolDim(StringRef name, MLIRContext *ctx) {
  auto *dialect = ctx->getOrLoadDialect<GraphDialect>();
  return getAffineSymbolExpr(dialect->symbolId(name), ctx);
}

std::optional<int64_t> constantSize(AffineExpr dim) {
  if (auto c = dyn_cast<AffineConstantExpr>(dim))
    return c.getValue();
  return std::nullopt;
}

SmallVector<AffineExpr> dimsOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  if (auto dims = dyn_cast_or_null<DimsAttr>(tensor.getEncoding()))
    return llvm::to_vector(dims.getDims());
  SmallVector<AffineExpr> dims;
  for (int64_t size : tensor.getShape()) {
    assert(!ShapedType::isDynamic(size) && "a dynamic size needs a #graph.dims encoding");
    dims.push_back(constantDim(size, type.getContext()));
  }
  return dims;
}

RankedTensorType tensorType(ArrayRef<AffineExpr> dims, Type elementType) {
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> simplified;
  bool dynamic = false;
  for (AffineExpr d : dims) {
    simplified.push_back(simplify(d));
    auto size = constantSize(simplified.back());
    dynamic |= !size;
    shape.push_back(size ? *size : ShapedType::kDynamic);
  }
  Attribute encoding = dynamic ? DimsAttr::get(elementType.getContext(), simplified) : Attribute();
  return RankedTensorType::get(shape, elementType, encoding);
}

RankedTensorType withElementType(Type tensor, Type elementType) {
  auto t = cast<RankedTensorType>(tensor);
  return RankedTensorType::get(t.getShape(), elementType, t.getEncoding());
}
RankedTensorType withDims(Type tensor, ArrayRef<AffineExpr> dims) {
  return tensorType(dims, cast<RankedTensorType>(tensor).getElementType());
}

static unsigned symbolCount(AffineExpr e) {
  unsigned n = 0;
  e.walk([&](AffineExpr x) {
    if (auto s = dyn_cast<AffineSymbolExpr>(x))
      n = std::max(n, s.getPosition() + 1);
  });
  return n;
}

AffineExpr simplify(AffineExpr dim) {
  if (isa<AffineConstantExpr, AffineSymbolExpr, AffineDimExpr>(dim))
    return dim;
  unsigned dims = 0;
  dim.walk([&](AffineExpr x) {
    if (auto d = dyn_cast<AffineDimExpr>(x))
      dims = std::max(dims, d.getPosition() + 1);
  });
  return simplifyAffineExpr(dim, dims, symbolCount(dim));
}

AffineExpr product(ArrayRef<AffineExpr> dims, MLIRContext *ctx) {
  AffineExpr p = constantDim(1, ctx);
  for (AffineExpr d : dims)
    p = p * d;
  return simplify(p);
}

static bool isIdentifier(StringRef s) {
  if (s.empty() || (!isalpha((unsigned char)s[0]) && s[0] != '_') || s == "floordiv" || s == "ceildiv" || s == "mod")
    return false;
  return llvm::all_of(s, [](unsigned char c) { return isalnum(c) || c == '_' || c == '$' || c == '.'; });
}

static void print(AffineExpr e, llvm::raw_ostream &os, int level) {
  // Levels: 0 sum, 1 product, 2 factor. Anything looser than what is allowed here goes into parentheses.
  switch (e.getKind()) {
  case AffineExprKind::Constant:
    os << cast<AffineConstantExpr>(e).getValue();
    return;
  case AffineExprKind::SymbolId: {
    auto *dialect = e.getContext()->getOrLoadDialect<GraphDialect>();
    std::string name = dialect->symbolName(cast<AffineSymbolExpr>(e).getPosition());
    if (isIdentifier(name)) {
      os << name;
    } else {
      os << '"';
      llvm::printEscapedString(name, os);
      os << '"';
    }
    return;
  }
  case AffineExprKind::DimId:
    os << "d" << cast<AffineDimExpr>(e).getPosition();
    return;
  default:
    break;
  }
  auto binary = cast<AffineBinaryOpExpr>(e);
  bool sum = e.getKind() == AffineExprKind::Add;
  bool parens = level > (sum ? 0 : 1);
  if (parens)
    os << "(";
  if (sum) {
    print(binary.getLHS(), os, 0);
    AffineExpr rhs = binary.getRHS();
    if (auto c = constantSize(rhs); c && *c < 0) {
      os << " - " << -*c;
    } else if (auto mul = dyn_cast<AffineBinaryOpExpr>(rhs);
               mul && mul.getKind() == AffineExprKind::Mul && constantSize(mul.getRHS()) == -1) {
      os << " - ";
      print(mul.getLHS(), os, 2);
    } else {
      os << " + ";
      print(rhs, os, 1);
    }
  } else {
    const char *spelling = e.getKind() == AffineExprKind::Mul        ? "*"
                           : e.getKind() == AffineExprKind::FloorDiv ? " floordiv "
                           : e.getKind() == AffineExprKind::CeilDiv  ? " ceildiv "
                                                                     : " mod ";
    print(binary.getLHS(), os, 1);
    os << spelling;
    print(binary.getRHS(), os, 2);
  }
  if (parens)
    os << ")";
}

std::string toString(AffineExpr dim) {
  std::string s;
  llvm::raw_string_ostream os(s);
  print(dim, os, 0);
  return s;
}
std::string toString(ArrayRef<AffineExpr> dims) {
  return "[" + llvm::join(llvm::map_range(dims, [](AffineExpr d) { return toString(d); }), ", ") + "]";
}

std::optional<int64_t> evaluate(AffineExpr e, function_ref<std::optional<int64_t>(unsigned)> value) {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return c.getValue();
  if (auto s = dyn_cast<AffineSymbolExpr>(e))
    return value(s.getPosition());
  auto binary = dyn_cast<AffineBinaryOpExpr>(e);
  if (!binary)
    return std::nullopt;
  auto a = evaluate(binary.getLHS(), value), b = evaluate(binary.getRHS(), value);
  if (!a || !b)
    return std::nullopt;
  switch (e.getKind()) {
  case AffineExprKind::Add:
    return *a + *b;
  case AffineExprKind::Mul:
    return *a * *b;
  default:
    break;
  }
  if (*b == 0)
    return std::nullopt;
  int64_t q = *a / *b, r = *a % *b;
  int64_t floor = r != 0 && ((r < 0) != (*b < 0)) ? q - 1 : q;
  switch (e.getKind()) {
  case AffineExprKind::FloorDiv:
    return floor;
  case AffineExprKind::CeilDiv:
    return r == 0 ? q : floor + 1;
  case AffineExprKind::Mod:
    return *a - floor * *b;
  default:
    return std::nullopt;
  }
}

std::optional<SmallVector<AffineExpr>>
broadcastDims(ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b,
              SmallVectorImpl<std::pair<AffineExpr, AffineExpr>> *unproved) {
  if (a.size() < b.size())
    std::swap(a, b);
  SmallVector<AffineExpr> dims = llvm::to_vector(a);
  unsigned shift = a.size() - b.size();
  for (auto [i, other] : llvm::enumerate(b)) {
    AffineExpr &dim = dims[shift + i];
    if (dim == other || isSize(other, 1))
      continue;
    auto x = constantSize(dim), y = constantSize(other);
    if (x == 1) {
      dim = other;
    } else if (x && y) {
      return std::nullopt;
    } else {
      if (unproved)
        unproved->push_back({dim, other});
      // A constant is what the symbol must be (a symbolic 1 would be repeated; the entry check refuses it).
      if (y)
        dim = other;
    }
  }
  return dims;
}

bool typesAgree(TypeRange inferred, TypeRange given) {
  if (inferred.size() != given.size())
    return false;
  for (auto [l, r] : llvm::zip(inferred, given)) {
    auto a = dyn_cast<RankedTensorType>(l), b = dyn_cast<RankedTensorType>(r);
    if (!a || !b || a.getElementType() != b.getElementType() || failed(verifyCompatibleShape(a.getShape(), b.getShape())))
      return false;
  }
  return true;
}

bool isUnsigned(Type type) { return type.isUnsignedInteger(); }

} // namespace graphc::graph
