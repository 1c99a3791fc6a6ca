// Registration, interned size symbols, and the textual form of #graph.dims.
#include "ir/graph/Graph.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <mutex>

using namespace mlir;
using namespace graphc::graph;

namespace graphc::graph {
struct SizeSymbols {
  std::mutex mutex; // passes on different functions may intern at once
  std::vector<std::string> names;
  llvm::StringMap<unsigned> ids;
};
} // namespace graphc::graph

#include "ir/graph/GraphDialect.cpp.inc"
#include "ir/graph/GraphInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/graph/GraphAttrs.cpp.inc"

void GraphDialect::initialize() {
  symbols = std::make_shared<SizeSymbols>();
  addElementwise();
  addMovement();
  addReduction();
  addContraction();
  addRoutine();
  addComposite();
  addStructure();
  addControl();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/graph/GraphAttrs.cpp.inc"
      >();
}

unsigned GraphDialect::symbolId(StringRef name) {
  std::lock_guard lock(symbols->mutex);
  auto [it, inserted] = symbols->ids.try_emplace(name, symbols->names.size());
  if (inserted)
    symbols->names.push_back(name.str());
  return it->second;
}

std::string GraphDialect::symbolName(unsigned id) {
  std::lock_guard lock(symbols->mutex);
  assert(id < symbols->names.size() && "a size symbol that nobody interned");
  return symbols->names[id];
}

Operation *GraphDialect::materializeConstant(OpBuilder &b, Attribute value, Type type, Location loc) {
  if (auto elements = dyn_cast<DenseElementsAttr>(value); elements && elements.getType() == type)
    return ConstantOp::create(b, loc, type, elements);
  return nullptr;
}

//===-- #graph.dims ---------------------------------------------------------------------------------------------===//
namespace {
/// sum := product (('+'|'-') product)*; product := factor (('*'|floordiv|ceildiv|mod) factor)*.
struct DimParser {
  AsmParser &p;

  FailureOr<AffineExpr> factor() {
    if (succeeded(p.parseOptionalMinus())) {
      auto e = factor();
      return failed(e) ? e : FailureOr<AffineExpr>(-*e);
    }
    if (succeeded(p.parseOptionalLParen())) {
      auto e = sum();
      if (failed(e) || p.parseRParen())
        return failure();
      return e;
    }
    int64_t value;
    auto number = p.parseOptionalInteger(value);
    if (number.has_value()) {
      if (failed(*number))
        return failure();
      return getAffineConstantExpr(value, p.getContext());
    }
    std::string name;
    if (p.parseKeywordOrString(&name))
      return failure();
    return symbolDim(name, p.getContext());
  }
  FailureOr<AffineExpr> product() {
    auto e = factor();
    while (succeeded(e)) {
      AffineExprKind kind;
      if (succeeded(p.parseOptionalStar()))
        kind = AffineExprKind::Mul;
      else if (succeeded(p.parseOptionalKeyword("floordiv")))
        kind = AffineExprKind::FloorDiv;
      else if (succeeded(p.parseOptionalKeyword("ceildiv")))
        kind = AffineExprKind::CeilDiv;
      else if (succeeded(p.parseOptionalKeyword("mod")))
        kind = AffineExprKind::Mod;
      else
        return e;
      auto f = factor();
      if (failed(f))
        return failure();
      e = getAffineBinaryOpExpr(kind, *e, *f);
    }
    return e;
  }
  FailureOr<AffineExpr> sum() {
    auto e = product();
    while (succeeded(e)) {
      bool plus = succeeded(p.parseOptionalPlus());
      if (!plus && failed(p.parseOptionalMinus()))
        return e;
      auto f = product();
      if (failed(f))
        return failure();
      e = plus ? *e + *f : *e - *f;
    }
    return e;
  }
};
} // namespace

Attribute DimsAttr::parse(AsmParser &p, Type) {
  SmallVector<AffineExpr> dims;
  DimParser parser{p};
  auto element = [&]() -> ParseResult {
    auto d = parser.sum();
    if (failed(d))
      return failure();
    dims.push_back(simplify(*d));
    return success();
  };
  if (p.parseLess() || p.parseCommaSeparatedList(AsmParser::Delimiter::Square, element) || p.parseGreater())
    return {};
  return DimsAttr::get(p.getContext(), dims);
}

void DimsAttr::print(AsmPrinter &p) const { p << "<" << toString(getDims()) << ">"; }

LogicalResult DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                       function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getDims().size())
    return emitError() << "dims: " << getDims().size() << " expressions for rank " << shape.size();
  for (auto [i, size, dim] : llvm::enumerate(shape, getDims())) {
    auto known = constantSize(dim);
    if (ShapedType::isDynamic(size) ? known.has_value() : known != size)
      return emitError() << "dims: dimension " << i << " is " << (ShapedType::isDynamic(size) ? "?" : std::to_string(size))
                         << " but its expression is " << toString(dim);
  }
  return success();
}
