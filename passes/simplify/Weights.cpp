#include "passes/simplify/Weights.h"

using namespace mlir;

namespace graphc::graph {

bool dependsOnWeightsOnly(Value value) {
  // Weight expressions are a handful of ops; one that is larger is treated as unknown rather than walked again and again.
  constexpr unsigned limit = 200;
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> pending = {value};
  while (!pending.empty()) {
    Value v = pending.pop_back_val();
    Operation *op = v.getDefiningOp();
    if (!op || seen.size() > limit)
      return false;
    if (!seen.insert(op).second || isa<ConstantOp, GetWeightOp>(op))
      continue;
    // A size is known only per run.
    if (!isPure(op) || isa<SizeOp>(op) || op->getNumRegions() != 0)
      return false;
    auto type = dyn_cast<RankedTensorType>(v.getType());
    if (!type || !type.hasStaticShape())
      return false;
    llvm::append_range(pending, op->getOperands());
  }
  return true;
}

bool variesOnlyAlong(Value value, int64_t axis, int64_t rank) {
  auto dims = dimsOf(value.getType());
  if ((int64_t)dims.size() > rank)
    return false;
  int64_t shift = rank - dims.size();
  for (auto [i, dim] : llvm::enumerate(dims))
    if ((int64_t)i + shift != axis && !isSize(dim, 1))
      return false;
  return true;
}

static DenseElementsAttr literalOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
}

std::optional<double> splatNumber(Value value) {
  auto literal = literalOf(value);
  if (!literal || literal.empty())
    return std::nullopt;
  if (!literal.isSplat() && literal.getNumElements() != 1)
    return std::nullopt;
  Type type = literal.getElementType();
  if (isa<FloatType>(type)) {
    APFloat f = *literal.value_begin<APFloat>();
    bool loses;
    f.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    return f.convertToDouble();
  }
  APInt i = *literal.value_begin<APInt>();
  bool isSigned = !isUnsigned(type) && i.getBitWidth() > 1;
  // Beyond 2^53 a double no longer tells neighbours apart.
  if (isSigned ? i.getSignificantBits() > 53 : i.getActiveBits() > 53)
    return std::nullopt;
  return isSigned ? (double)i.getSExtValue() : (double)i.getZExtValue();
}

std::optional<SmallVector<int64_t>> integersOf(Value value) {
  auto literal = literalOf(value);
  if (!literal || !isa<IntegerType>(literal.getElementType()) || literal.getNumElements() > 65536)
    return std::nullopt;
  bool isSigned = !isUnsigned(literal.getElementType()) && literal.getElementType().getIntOrFloatBitWidth() > 1;
  SmallVector<int64_t> values;
  for (APInt i : literal.getValues<APInt>())
    values.push_back(isSigned ? i.getSExtValue() : (int64_t)i.getZExtValue());
  return values;
}

bool isFloat(Value value) { return isa<FloatType>(elementTypeOf(value)); }
Type elementTypeOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

} // namespace graphc::graph
