#include "ir/plan/Plan.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace graphc::plan;

#include "ir/plan/PlanDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/plan/PlanAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "ir/plan/PlanOps.cpp.inc"

void PlanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ir/plan/PlanOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/plan/PlanAttrs.cpp.inc"
      >();
}

// #plan.post<"clip", 0.0, 6.0> or #plan.post<"binary_add", operand 3>
Attribute PostOpAttr::parse(AsmParser &p, Type) {
  std::string kind;
  double alpha = 0, beta = 0;
  int64_t operand = -1;
  if (p.parseLess() || p.parseString(&kind))
    return {};
  while (succeeded(p.parseOptionalComma())) {
    if (succeeded(p.parseOptionalKeyword("operand"))) {
      if (p.parseInteger(operand))
        return {};
    } else if (p.parseFloat(alpha) || p.parseComma() || p.parseFloat(beta)) {
      return {};
    }
  }
  if (p.parseGreater())
    return {};
  auto *ctx = p.getContext();
  Builder b(ctx);
  return PostOpAttr::get(ctx, b.getStringAttr(kind), b.getF64FloatAttr(alpha), b.getF64FloatAttr(beta), operand);
}
void PostOpAttr::print(AsmPrinter &p) const {
  p << "<" << getKind() << ", ";
  p.printFloat(getAlpha().getValue());
  p << ", ";
  p.printFloat(getBeta().getValue());
  if (getOperand() >= 0)
    p << ", operand " << getOperand();
  p << ">";
}
