// Passes over a domain: building, text form, verification.
#include "ir/kernel/Kernel.h"

using namespace mlir;
using namespace graphc::kernel;

#define GET_OP_CLASSES
#include "ir/kernel/KernelOps.cpp.inc"

using BodyFn = function_ref<void(OpBuilder &, Location, ValueRange)>;

//===----------------------------------------------------------------------===//
// What the four loops share
//===----------------------------------------------------------------------===//

/// `(%i, %j) to (sizes)`: fills the arguments (typed index), the map and its operands.
static ParseResult parseDomain(OpAsmParser &parser, OperationState &result,
                               SmallVectorImpl<OpAsmParser::Argument> &ivs, unsigned &numSizeOperands) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  Type index = parser.getBuilder().getIndexType();
  AffineMapAttr map;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseArgumentList(ivs, OpAsmParser::Delimiter::Paren) || parser.parseKeyword("to"))
    return failure();
  for (OpAsmParser::Argument &iv : ivs)
    iv.type = index;
  Attribute attr;
  NamedAttrList attrs;
  if (parser.parseAffineMapOfSSAIds(operands, attr, "sizes", attrs, OpAsmParser::Delimiter::Paren) ||
      parser.resolveOperands(operands, index, result.operands))
    return failure();
  map = cast<AffineMapAttr>(attr);
  if (map.getValue().getNumResults() != ivs.size())
    return parser.emitError(loc, "domain names ") << ivs.size() << " dims but gives " << map.getValue().getNumResults() << " sizes";
  result.addAttribute("sizes", map);
  numSizeOperands = operands.size();
  return success();
}

static ParseResult parseLanes(OpAsmParser &parser, OperationState &result) {
  if (failed(parser.parseOptionalKeyword("lanes")))
    return success();
  int64_t lanes;
  if (parser.parseInteger(lanes))
    return failure();
  result.addAttribute("lanes", parser.getBuilder().getI64IntegerAttr(lanes));
  return success();
}

static void printDomain(OpAsmPrinter &p, AffineMapAttr sizes, OperandRange operands, ValueRange ivs) {
  p << " (";
  llvm::interleaveComma(ivs, p, [&](Value iv) { p.printOperand(iv); });
  p << ") to (";
  p.printAffineMapOfSSAIds(sizes, operands);
  p << ")";
}

static void printLanes(OpAsmPrinter &p, std::optional<int64_t> lanes) {
  if (lanes)
    p << " lanes " << *lanes;
}

/// `(%a, %b : f32, i64)` appended to the operands.
static ParseResult parseTypedValues(OpAsmParser &parser, OperationState &result, SmallVectorImpl<Type> &types) {
  SmallVector<OpAsmParser::UnresolvedOperand> values;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLParen() || parser.parseOperandList(values) || parser.parseColonTypeList(types) || parser.parseRParen())
    return failure();
  return parser.resolveOperands(values, types, loc, result.operands);
}

static LogicalResult verifyDomain(LoopOp op) {
  AffineMap sizes = op.getSizeMap();
  if (sizes.getNumInputs() != op.getSizeMapOperands().size())
    return op.emitOpError("size map takes ") << sizes.getNumInputs() << " operands but has " << op.getSizeMapOperands().size();
  for (auto [dim, size] : llvm::enumerate(sizes.getResults()))
    if (auto constant = dyn_cast<AffineConstantExpr>(size); constant && constant.getValue() < 0)
      return op.emitOpError("size of dim ") << dim << " is " << constant.getValue();
  Block *body = op.getLoopBody();
  if (body->getNumArguments() < sizes.getNumResults())
    return op.emitOpError("body takes ") << body->getNumArguments() << " arguments for " << sizes.getNumResults() << " dims";
  for (BlockArgument iv : op.getIvs())
    if (!iv.getType().isIndex())
      return op.emitOpError("induction variable has type ") << iv.getType() << ", expected index";
  int64_t lanes = op.getLaneCount();
  if (lanes) {
    if (lanes < 2 || !llvm::isPowerOf2_64(lanes))
      return op.emitOpError("lanes must be a power of two above 1, not ") << lanes;
    if (sizes.getNumResults() == 0)
      return op.emitOpError("lanes need a dim to run along");
    for (Operation *parent = op->getParentOp(); parent && !isa<FuncOp>(parent); parent = parent->getParentOp())
      if (auto loop = dyn_cast<LoopOp>(parent); loop && loop.getLaneCount())
        return op.emitOpError("has lanes inside a pass that has lanes");
  }
  return success();
}

/// One block with `ivs` index arguments and more of the given types.
static Block *addBody(OpBuilder &b, OperationState &state, unsigned ivs, TypeRange more, Location loc) {
  Region *region = state.addRegion();
  Block *block = new Block;
  region->push_back(block);
  for (unsigned i = 0; i < ivs; ++i)
    block->addArgument(b.getIndexType(), loc);
  for (Type type : more)
    block->addArgument(type, loc);
  return block;
}

static void buildPlainLoop(OpBuilder &b, OperationState &state, AffineMap sizes, ValueRange operands, BodyFn body) {
  state.addOperands(operands);
  state.addAttribute("sizes", AffineMapAttr::get(sizes));
  Block *block = addBody(b, state, sizes.getNumResults(), {}, state.location);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(block);
  if (body)
    body(b, state.location, block->getArguments());
  if (block->empty() || !block->back().hasTrait<OpTrait::IsTerminator>())
    YieldOp::create(b, state.location);
}

template <typename Op>
static ParseResult parsePlainLoop(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> ivs;
  unsigned numSizes;
  Region *body = result.addRegion();
  if (parseDomain(parser, result, ivs, numSizes) || parseLanes(parser, result) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseRegion(*body, ivs))
    return failure();
  Op::ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

template <typename Op>
static void printPlainLoop(OpAsmPrinter &p, Op op) {
  printDomain(p, op.getSizesAttr(), op.getSizeOperands(), ValueRange(op.getBody().front().getArguments()));
  printLanes(p, op.getLanes());
  p.printOptionalAttrDictWithKeyword(op->getAttrs(), {"sizes", "lanes"});
  p << " ";
  p.printRegion(op.getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
}

static void nameIvs(Region &region, unsigned numDims, OpAsmSetValueNameFn setName) {
  static constexpr StringRef names[] = {"i", "j", "k", "l", "m", "n"};
  unsigned depth = 0;
  for (Operation *op = region.getParentOp(); op && !isa<FuncOp>(op); op = op->getParentOp())
    if (op != region.getParentOp())
      if (auto loop = dyn_cast<LoopOp>(op))
        depth += loop.getSizeMap().getNumResults();
  if (region.empty())
    return;
  for (unsigned i = 0; i < numDims && i < region.front().getNumArguments(); ++i)
    setName(region.front().getArgument(i), names[(depth + i) % std::size(names)]);
}

//===----------------------------------------------------------------------===//
// parallel, map
//===----------------------------------------------------------------------===//

void ParallelOp::build(OpBuilder &b, OperationState &state, AffineMap sizes, ValueRange operands, BodyFn body) {
  buildPlainLoop(b, state, sizes, operands, body);
}
ParseResult ParallelOp::parse(OpAsmParser &parser, OperationState &result) { return parsePlainLoop<ParallelOp>(parser, result); }
void ParallelOp::print(OpAsmPrinter &p) { printPlainLoop(p, *this); }
LogicalResult ParallelOp::verify() {
  if (!isa<FuncOp>((*this)->getParentOp()))
    return emitOpError("must stand directly in a kernel.func");
  auto scalars = cast<FuncOp>((*this)->getParentOp()).getScalars();
  for (Value operand : getSizeOperands())
    if (!llvm::is_contained(scalars, operand))
      return emitOpError("sizes must be expressions of the kernel's scalars");
  return verifyDomain(cast<LoopOp>(getOperation()));
}
void ParallelOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameIvs(region, getSizes().getNumResults(), setName);
}

void MapOp::build(OpBuilder &b, OperationState &state, AffineMap sizes, ValueRange operands, BodyFn body) {
  buildPlainLoop(b, state, sizes, operands, body);
}
ParseResult MapOp::parse(OpAsmParser &parser, OperationState &result) { return parsePlainLoop<MapOp>(parser, result); }
void MapOp::print(OpAsmPrinter &p) { printPlainLoop(p, *this); }
LogicalResult MapOp::verify() { return verifyDomain(cast<LoopOp>(getOperation())); }
void MapOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameIvs(region, getSizes().getNumResults(), setName);
}

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

void ReduceOp::build(OpBuilder &b, OperationState &state, AffineMap sizes, ValueRange operands, ValueRange inits,
                     function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange)> body,
                     function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange, ValueRange)> combine) {
  state.addOperands(operands);
  state.addOperands(inits);
  state.addAttribute("sizes", AffineMapAttr::get(sizes));
  state.addAttribute("operandSegmentSizes",
                     b.getDenseI32ArrayAttr({static_cast<int32_t>(operands.size()), static_cast<int32_t>(inits.size())}));
  SmallVector<Type> types(inits.getTypes());
  state.addTypes(types);
  OpBuilder::InsertionGuard guard(b);
  Block *block = addBody(b, state, sizes.getNumResults(), {}, state.location);
  b.setInsertionPointToEnd(block);
  SmallVector<Value> values = body(b, state.location, block->getArguments());
  YieldOp::create(b, state.location, values);
  SmallVector<Type> twice(types);
  llvm::append_range(twice, types);
  Block *combiner = addBody(b, state, 0, twice, state.location);
  b.setInsertionPointToEnd(combiner);
  SmallVector<Value> joined = combine(b, state.location, combiner->getArguments().take_front(types.size()),
                                      combiner->getArguments().drop_front(types.size()));
  YieldOp::create(b, state.location, joined);
}

ParseResult ReduceOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> ivs, joined;
  SmallVector<Type> types;
  unsigned numSizes;
  if (parseDomain(parser, result, ivs, numSizes) || parser.parseKeyword("init") || parseTypedValues(parser, result, types) ||
      parseLanes(parser, result) || parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addAttribute("operandSegmentSizes",
                      parser.getBuilder().getDenseI32ArrayAttr({static_cast<int32_t>(numSizes), static_cast<int32_t>(types.size())}));
  result.addTypes(types);
  Region *body = result.addRegion(), *combiner = result.addRegion();
  if (parser.parseRegion(*body, ivs) || parser.parseKeyword("combine"))
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseArgumentList(joined, OpAsmParser::Delimiter::Paren))
    return failure();
  if (joined.size() != 2 * types.size())
    return parser.emitError(loc, "combiner takes ") << 2 * types.size() << " values, not " << joined.size();
  for (auto [i, argument] : llvm::enumerate(joined))
    argument.type = types[i % types.size()];
  return parser.parseRegion(*combiner, joined);
}

void ReduceOp::print(OpAsmPrinter &p) {
  printDomain(p, getSizesAttr(), getSizeOperands(), ValueRange(getBody().front().getArguments()));
  p << " init (" << getInits() << " : " << getInits().getTypes() << ")";
  printLanes(p, getLanes());
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"sizes", "lanes", "operandSegmentSizes"});
  p << " ";
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  p << " combine (";
  llvm::interleaveComma(getCombiner().front().getArguments(), p, [&](Value v) { p.printOperand(v); });
  p << ") ";
  p.printRegion(getCombiner(), /*printEntryBlockArgs=*/false);
}

/// The block ends in a yield of exactly `types`.
static LogicalResult verifyYield(Operation *op, Block &block, TypeRange types, StringRef what) {
  auto yield = block.mightHaveTerminator() ? dyn_cast<YieldOp>(block.getTerminator()) : YieldOp();
  if (!yield)
    return op->emitOpError(what) << " must end in kernel.yield";
  if (TypeRange(yield.getValues().getTypes()) != types)
    return op->emitOpError(what) << " yields (" << yield.getValues().getTypes() << "), expected (" << types << ")";
  return success();
}

LogicalResult ReduceOp::verify() {
  if (failed(verifyDomain(cast<LoopOp>(getOperation()))))
    return failure();
  if (getInits().empty())
    return emitOpError("reduces nothing: give at least one init");
  if (TypeRange(getInits().getTypes()) != TypeRange(getResultTypes()))
    return emitOpError("inits (") << getInits().getTypes() << ") and results (" << getResultTypes() << ") differ in type";
  if (getBody().front().getNumArguments() != getSizes().getNumResults())
    return emitOpError("body takes the induction variables only");
  SmallVector<Type> twice(getResultTypes());
  llvm::append_range(twice, getResultTypes());
  if (TypeRange(getCombinerBlock()->getArgumentTypes()) != TypeRange(twice))
    return emitOpError("combiner takes (") << getCombinerBlock()->getArgumentTypes() << "), expected two of each result type";
  for (Operation &op : *getCombinerBlock())
    if (!isMemoryEffectFree(&op))
      return op.emitOpError("has an effect inside a combiner");
  if (failed(verifyYield(*this, getBody().front(), getResultTypes(), "body")))
    return failure();
  return verifyYield(*this, *getCombinerBlock(), getResultTypes(), "combiner");
}
YieldOp ReduceOp::getBodyYield() { return cast<YieldOp>(getBody().front().getTerminator()); }
YieldOp ReduceOp::getCombinerYield() { return cast<YieldOp>(getCombiner().front().getTerminator()); }
void ReduceOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  if (&region == &getBody())
    nameIvs(region, getSizes().getNumResults(), setName);
}

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

void ScanOp::build(OpBuilder &b, OperationState &state, AffineMap sizes, ValueRange operands, ValueRange inits,
                   function_ref<SmallVector<Value>(OpBuilder &, Location, ValueRange, ValueRange)> body) {
  state.addOperands(operands);
  state.addOperands(inits);
  state.addAttribute("sizes", AffineMapAttr::get(sizes));
  state.addAttribute("operandSegmentSizes",
                     b.getDenseI32ArrayAttr({static_cast<int32_t>(operands.size()), static_cast<int32_t>(inits.size())}));
  SmallVector<Type> types(inits.getTypes());
  state.addTypes(types);
  OpBuilder::InsertionGuard guard(b);
  unsigned dims = sizes.getNumResults();
  Block *block = addBody(b, state, dims, types, state.location);
  b.setInsertionPointToEnd(block);
  SmallVector<Value> next = body(b, state.location, block->getArguments().take_front(dims), block->getArguments().drop_front(dims));
  YieldOp::create(b, state.location, next);
}

ParseResult ScanOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  unsigned numSizes;
  if (parseDomain(parser, result, arguments, numSizes))
    return failure();
  SmallVector<OpAsmParser::UnresolvedOperand> inits;
  SmallVector<OpAsmParser::Argument> carried;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("iter"))) {
    auto one = [&]() -> ParseResult {
      return failure(parser.parseArgument(carried.emplace_back()) || parser.parseEqual() || parser.parseOperand(inits.emplace_back()) ||
                     parser.parseColonType(types.emplace_back()));
    };
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, one) ||
        parser.resolveOperands(inits, types, loc, result.operands))
      return failure();
  }
  for (auto [argument, type] : llvm::zip_equal(carried, types)) {
    argument.type = type;
    arguments.push_back(argument);
  }
  result.addAttribute("operandSegmentSizes",
                      parser.getBuilder().getDenseI32ArrayAttr({static_cast<int32_t>(numSizes), static_cast<int32_t>(types.size())}));
  result.addTypes(types);
  Region *body = result.addRegion();
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes) || parser.parseRegion(*body, arguments))
    return failure();
  if (body->empty())
    return parser.emitError(parser.getNameLoc(), "kernel.scan needs a body");
  Block &block = body->front();
  if (types.empty() && (block.empty() || !block.back().hasTrait<OpTrait::IsTerminator>())) {
    OpBuilder b(parser.getContext());
    b.setInsertionPointToEnd(&block);
    YieldOp::create(b, result.location);
  }
  return success();
}

void ScanOp::print(OpAsmPrinter &p) {
  printDomain(p, getSizesAttr(), getSizeOperands(), ValueRange(cast<LoopOp>(getOperation()).getIvs()));
  if (!getInits().empty()) {
    p << " iter (";
    llvm::interleaveComma(llvm::zip(getCarried(), getInits()), p, [&](auto pair) {
      p << std::get<0>(pair) << " = " << std::get<1>(pair) << " : " << std::get<1>(pair).getType();
    });
    p << ")";
  }
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"sizes", "operandSegmentSizes"});
  p << " ";
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/!getInits().empty());
}

LogicalResult ScanOp::verify() {
  if (failed(verifyDomain(cast<LoopOp>(getOperation()))))
    return failure();
  if (TypeRange(getInits().getTypes()) != TypeRange(getResultTypes()))
    return emitOpError("inits (") << getInits().getTypes() << ") and results (" << getResultTypes() << ") differ in type";
  if (TypeRange(ValueRange(getCarried()).getTypes()) != TypeRange(getResultTypes()))
    return emitOpError("body carries (") << ValueRange(getCarried()).getTypes() << "), expected (" << getResultTypes() << ")";
  return verifyYield(*this, getBody().front(), getResultTypes(), "body");
}
YieldOp ScanOp::getBodyYield() { return cast<YieldOp>(getBody().front().getTerminator()); }
void ScanOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameIvs(region, getSizes().getNumResults(), setName);
}
