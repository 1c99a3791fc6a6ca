// Loads, stores and indices: building, text form, verification, effects.
#include "ir/kernel/Kernel.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace graphc::kernel;

/// Symbols may be multiplied with one another and with anything: they must be the same for the whole kernel.
static LogicalResult verifySymbols(Operation *op, AffineMap map, OperandRange operands) {
  for (Value symbol : operands.drop_front(map.getNumDims())) {
    auto argument = dyn_cast<BlockArgument>(symbol);
    bool scalar = argument && isa<FuncOp>(argument.getOwner()->getParentOp());
    if (!scalar && !matchPattern(symbol, m_Constant()))
      return op->emitOpError("takes a value as a symbol that is neither a scalar of the kernel nor a constant");
  }
  return success();
}

static LogicalResult verifyAccess(AccessOp op) {
  auto type = cast<MemRefType>(op.getAccessBuffer().getType());
  auto argument = dyn_cast<BlockArgument>(op.getAccessBuffer());
  if (!argument || !isa<FuncOp>(argument.getOwner()->getParentOp()))
    return op.emitOpError("buffer must be an argument of the kernel");
  if (op.getIndexMap().getNumResults() != type.getRank())
    return op.emitOpError("has ") << op.getIndexMap().getNumResults() << " indices for a buffer of rank " << type.getRank();
  if (op.getIndexMap().getNumInputs() != op.getIndexOperands().size())
    return op.emitOpError("index map takes ") << op.getIndexMap().getNumInputs() << " operands but has " << op.getIndexOperands().size();
  return verifySymbols(op, op.getIndexMap(), op.getIndexOperands());
}

static Type elementOf(Value buffer) { return cast<MemRefType>(buffer.getType()).getElementType(); }

//===----------------------------------------------------------------------===//
// load
//===----------------------------------------------------------------------===//

void LoadOp::build(OpBuilder &b, OperationState &state, Value buffer, AffineMap map, ValueRange indices, Value fill) {
  state.addOperands(buffer);
  state.addOperands(indices);
  if (fill)
    state.addOperands(fill);
  state.addAttribute("map", AffineMapAttr::get(map));
  state.addAttribute("operandSegmentSizes", b.getDenseI32ArrayAttr({1, static_cast<int32_t>(indices.size()), fill ? 1 : 0}));
  state.addTypes(elementOf(buffer));
}

ParseResult LoadOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand buffer, fill;
  SmallVector<OpAsmParser::UnresolvedOperand> indices;
  Attribute map;
  NamedAttrList attrs;
  MemRefType type;
  if (parser.parseOperand(buffer) || parser.parseAffineMapOfSSAIds(indices, map, "map", attrs))
    return failure();
  bool guarded = succeeded(parser.parseOptionalKeyword("guard"));
  if (guarded && parser.parseOperand(fill))
    return failure();
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type) ||
      parser.resolveOperand(buffer, type, result.operands) ||
      parser.resolveOperands(indices, parser.getBuilder().getIndexType(), result.operands) ||
      (guarded && parser.resolveOperand(fill, type.getElementType(), result.operands)))
    return failure();
  result.addAttribute("map", map);
  result.addAttribute("operandSegmentSizes",
                      parser.getBuilder().getDenseI32ArrayAttr({1, static_cast<int32_t>(indices.size()), guarded ? 1 : 0}));
  result.addTypes(type.getElementType());
  return success();
}

void LoadOp::print(OpAsmPrinter &p) {
  p << " " << getBuffer() << "[";
  p.printAffineMapOfSSAIds(getMapAttr(), getIndices());
  p << "]";
  if (getFill())
    p << " guard " << getFill();
  p.printOptionalAttrDict((*this)->getAttrs(), {"map", "operandSegmentSizes"});
  p << " : " << getBuffer().getType();
}

LogicalResult LoadOp::verify() {
  if (failed(verifyAccess(cast<AccessOp>(getOperation()))))
    return failure();
  if (getType() != elementOf(getBuffer()))
    return emitOpError("reads ") << getType() << " from a buffer of " << elementOf(getBuffer());
  if (getFill() && getFill().getType() != getType())
    return emitOpError("fill value has type ") << getFill().getType() << ", expected " << getType();
  return success();
}

void LoadOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getBufferMutable(), SideEffects::DefaultResource::get());
}

//===----------------------------------------------------------------------===//
// store
//===----------------------------------------------------------------------===//

void StoreOp::build(OpBuilder &b, OperationState &state, Value value, Value buffer, AffineMap map, ValueRange indices, Value condition,
                    StoreMode mode, std::optional<arith::AtomicRMWKind> kind) {
  state.addOperands({value, buffer});
  state.addOperands(indices);
  if (condition)
    state.addOperands(condition);
  state.addAttribute("map", AffineMapAttr::get(map));
  state.addAttribute("mode", StoreModeAttr::get(b.getContext(), mode));
  if (kind)
    state.addAttribute("kind", arith::AtomicRMWKindAttr::get(b.getContext(), *kind));
  state.addAttribute("operandSegmentSizes", b.getDenseI32ArrayAttr({1, 1, static_cast<int32_t>(indices.size()), condition ? 1 : 0}));
}

ParseResult StoreOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand value, buffer, condition;
  SmallVector<OpAsmParser::UnresolvedOperand> indices;
  Attribute map;
  NamedAttrList attrs;
  MemRefType type;
  Builder &b = parser.getBuilder();
  if (parser.parseOperand(value) || parser.parseComma() || parser.parseOperand(buffer) ||
      parser.parseAffineMapOfSSAIds(indices, map, "map", attrs))
    return failure();
  bool conditional = succeeded(parser.parseOptionalKeyword("if"));
  if (conditional && parser.parseOperand(condition))
    return failure();
  StoreMode mode = StoreMode::unique;
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(&word, {"unique", "ordered", "atomic"}))) {
    mode = *symbolizeStoreMode(word);
    loc = parser.getCurrentLocation();
  }
  if (succeeded(parser.parseOptionalKeyword(&word))) {
    auto kind = arith::symbolizeAtomicRMWKind(word);
    if (!kind)
      return parser.emitError(loc, "'") << word << "' is no combining kind; arith's atomic kinds are addf, addi, assign, maximumf, …";
    result.addAttribute("kind", arith::AtomicRMWKindAttr::get(b.getContext(), *kind));
  }
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type) ||
      parser.resolveOperand(value, type.getElementType(), result.operands) || parser.resolveOperand(buffer, type, result.operands) ||
      parser.resolveOperands(indices, b.getIndexType(), result.operands) ||
      (conditional && parser.resolveOperand(condition, b.getI1Type(), result.operands)))
    return failure();
  result.addAttribute("map", map);
  result.addAttribute("mode", StoreModeAttr::get(b.getContext(), mode));
  result.addAttribute("operandSegmentSizes", b.getDenseI32ArrayAttr({1, 1, static_cast<int32_t>(indices.size()), conditional ? 1 : 0}));
  return success();
}

void StoreOp::print(OpAsmPrinter &p) {
  p << " " << getValue() << ", " << getBuffer() << "[";
  p.printAffineMapOfSSAIds(getMapAttr(), getIndices());
  p << "]";
  if (getCondition())
    p << " if " << getCondition();
  if (getMode() != StoreMode::unique || getKind())
    p << " " << stringifyStoreMode(getMode());
  if (getKind())
    p << " " << arith::stringifyAtomicRMWKind(*getKind());
  p.printOptionalAttrDict((*this)->getAttrs(), {"map", "mode", "kind", "operandSegmentSizes"});
  p << " : " << getBuffer().getType();
}

LogicalResult StoreOp::verify() {
  if (failed(verifyAccess(cast<AccessOp>(getOperation()))))
    return failure();
  if (getValue().getType() != elementOf(getBuffer()))
    return emitOpError("writes ") << getValue().getType() << " to a buffer of " << elementOf(getBuffer());
  auto kind = getKind();
  if (getMode() == StoreMode::atomic && (!kind || *kind == arith::AtomicRMWKind::assign))
    return emitOpError("atomic needs a combining kind, for example addi");
  if (getMode() == StoreMode::atomic && (*kind == arith::AtomicRMWKind::addf || *kind == arith::AtomicRMWKind::mulf))
    return emitOpError("atomic ") << arith::stringifyAtomicRMWKind(*kind) << " depends on the order; use ordered, or a sorted form";
  return success();
}

void StoreOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (getKind())
    effects.emplace_back(MemoryEffects::Read::get(), &getBufferMutable(), SideEffects::DefaultResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), &getBufferMutable(), SideEffects::DefaultResource::get());
}

//===----------------------------------------------------------------------===//
// index, check_index
//===----------------------------------------------------------------------===//

void IndexOp::build(OpBuilder &b, OperationState &state, AffineMap map, ValueRange indices) {
  state.addOperands(indices);
  state.addAttribute("map", AffineMapAttr::get(map));
  state.addTypes(b.getIndexType());
}

ParseResult IndexOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> indices;
  Attribute map;
  NamedAttrList attrs;
  Type index = parser.getBuilder().getIndexType();
  if (parser.parseAffineMapOfSSAIds(indices, map, "map", attrs, OpAsmParser::Delimiter::Paren) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.resolveOperands(indices, index, result.operands))
    return failure();
  result.addAttribute("map", map);
  result.addTypes(index);
  return success();
}

void IndexOp::print(OpAsmPrinter &p) {
  p << " (";
  p.printAffineMapOfSSAIds(getMapAttr(), getIndices());
  p << ")";
  p.printOptionalAttrDict((*this)->getAttrs(), {"map"});
}

LogicalResult IndexOp::verify() {
  if (getMap().getNumResults() != 1)
    return emitOpError("gives ") << getMap().getNumResults() << " values, expected one";
  if (getMap().getNumInputs() != getIndices().size())
    return emitOpError("map takes ") << getMap().getNumInputs() << " operands but has " << getIndices().size();
  return verifySymbols(*this, getMap(), getIndices());
}

void CheckIndexOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  // The error cell.
  effects.emplace_back(MemoryEffects::Write::get(), SideEffects::DefaultResource::get());
}
