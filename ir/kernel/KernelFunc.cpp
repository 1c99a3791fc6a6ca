// kernel.func: arguments, dims of the buffers, the outer range.
#include "ir/kernel/Segments.h"

#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace graphc::kernel;

std::optional<int64_t> graphc::kernel::segmentsOf(FuncOp func) {
  auto segments = func->getAttrOfType<IntegerAttr>(kSegmentsAttr);
  return segments ? std::optional(segments.getInt()) : std::nullopt;
}

void FuncOp::build(OpBuilder &b, OperationState &state, StringRef name, TypeRange bufferTypes, unsigned numScalars,
                   ArrayRef<AffineMap> argDims) {
  SmallVector<Type> inputs(bufferTypes);
  inputs.append(numScalars, b.getIndexType());
  state.addAttribute("sym_name", b.getStringAttr(name));
  state.addAttribute("function_type", TypeAttr::get(b.getFunctionType(inputs, {})));
  if (!argDims.empty())
    state.addAttribute("arg_dims", b.getAffineMapArrayAttr(argDims));
  Region *region = state.addRegion();
  Block *block = new Block;
  region->push_back(block);
  for (Type type : inputs)
    block->addArgument(type, state.location);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(block);
  YieldOp::create(b, state.location);
}

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &b, ArrayRef<Type> inputs, ArrayRef<Type> results, function_interface_impl::VariadicFlag,
                      std::string &) { return b.getFunctionType(inputs, results); };
  if (function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), buildType,
                                               getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name)))
    return failure();
  Region &body = *result.regions.front();
  if (body.empty())
    return parser.emitError(parser.getNameLoc(), "kernel.func needs a body");
  ensureTerminator(body, parser.getBuilder(), result.location);
  return success();
}

void FuncOp::print(OpAsmPrinter &p) {
  p << " ";
  p.printSymbolName(getSymName());
  p << "(";
  llvm::interleaveComma(getArguments(), p, [&](BlockArgument argument) { p.printRegionArgument(argument); });
  p << ")";
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"sym_name", "function_type", "arg_attrs", "res_attrs"});
  p << " ";
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
}

unsigned FuncOp::getNumBuffers() {
  return llvm::count_if(getArgumentTypes(), [](Type type) { return isa<MemRefType>(type); });
}

AffineMap FuncOp::getBufferDims(unsigned index) {
  if (auto dims = getArgDims())
    return cast<AffineMapAttr>((*dims)[index]).getValue();
  SmallVector<AffineExpr> sizes;
  for (int64_t size : cast<MemRefType>(getArgumentTypes()[index]).getShape())
    sizes.push_back(getAffineConstantExpr(size, getContext()));
  return AffineMap::get(0, getNumScalars(), sizes, getContext());
}

ParallelOp FuncOp::getParallel() {
  for (Operation &op : getBody().front())
    if (auto parallel = dyn_cast<ParallelOp>(op))
      return parallel;
  llvm_unreachable("a verified kernel.func has a kernel.parallel");
}

ScheduleAttr FuncOp::getScheduleOrDefault() {
  if (ScheduleAttr schedule = getScheduleAttr())
    return schedule;
  return ScheduleAttr::get(getContext(), Strategy::loop);
}

AffineMap FuncOp::getRangeMap() {
  ParallelOp parallel = getParallel();
  AffineMap sizes = parallel.getSizes();
  // Sizes are over the operands of the op; the answer is over the scalars of the function.
  SmallVector<AffineExpr> dims, symbols;
  for (auto [i, operand] : llvm::enumerate(parallel.getSizeOperands())) {
    unsigned scalar = cast<BlockArgument>(operand).getArgNumber() - getNumBuffers();
    (i < sizes.getNumDims() ? dims : symbols).push_back(getAffineSymbolExpr(scalar, getContext()));
  }
  SmallVector<AffineExpr> exprs;
  for (AffineExpr size : sizes.getResults())
    exprs.push_back(size.replaceDimsAndSymbols(dims, symbols));
  if (getScheduleOrDefault().getStrategy() == Strategy::transpose)
    // A unit is a tile: the last two dims are counted in tiles.
    for (unsigned i = exprs.size() - 2; i < exprs.size(); ++i)
      exprs[i] = exprs[i].ceilDiv(getScheduleOrDefault().getTile());
  if (DenseI64ArrayAttr block = getScheduleOrDefault().getBlock()) {
    // A unit is a tile of one product.
    unsigned first = exprs.size();
    for (unsigned i : {0u, 1u}) {
      AffineExpr joined = getAffineConstantExpr(1, getContext());
      unsigned count = block[i];
      for (unsigned d = first - count; d < first; ++d)
        joined = joined * exprs[d];
      exprs.erase(exprs.begin() + (first - count), exprs.begin() + first);
      first -= count;
      exprs.push_back(joined.ceilDiv(block[i == 0 ? 3 : 2]));
    }
  }
  if (getScheduleOrDefault().getStrategy() == Strategy::contract) {
    // A unit is a tile of points with all their lanes.
    exprs.pop_back();
    exprs.back() = exprs.back().ceilDiv(getScheduleOrDefault().getTile());
  }
  AffineExpr units = getAffineConstantExpr(1, getContext());
  for (AffineExpr expr : exprs)
    units = units * expr;
  if (segmentsOf(*this))
    units = units.ceilDiv(kSegmentGrain) * kSegmentGrain;
  return AffineMap::get(0, getNumScalars(), simplifyAffineExpr(units, 0, getNumScalars()));
}

static bool isElementType(Type type) {
  return type.isF64() || type.isF32() || type.isF16() || type.isBF16() || type.isSignlessInteger(64) || type.isSignlessInteger(32) ||
         type.isSignlessInteger(16) || type.isSignlessInteger(8) || type.isSignlessInteger(1);
}

LogicalResult FuncOp::verify() {
  if (getFunctionType().getNumResults())
    return emitOpError("returns nothing; results are buffers");
  bool sawScalar = false, dynamic = false;
  for (auto [i, type] : llvm::enumerate(getArgumentTypes())) {
    if (type.isIndex()) {
      sawScalar = true;
      continue;
    }
    auto buffer = dyn_cast<MemRefType>(type);
    if (!buffer)
      return emitOpError("argument ") << i << " is " << type << "; expected a memref or an index";
    if (sawScalar)
      return emitOpError("argument ") << i << " is a buffer after a scalar; buffers come first";
    if (!isElementType(buffer.getElementType()))
      return emitOpError("argument ") << i << " has element type " << buffer.getElementType()
                                      << "; expected f64 f32 f16 bf16 i64 i32 i16 i8 or i1";
    if (!buffer.getLayout().isIdentity())
      return emitOpError("argument ") << i << " is not dense row-major: " << type;
    dynamic |= !buffer.hasStaticShape();
  }
  auto dims = getArgDims();
  if (!dims)
    return dynamic ? emitOpError("has a buffer with dynamic dims and no arg_dims") : success();
  if (dims->size() != getNumBuffers())
    return emitOpError("arg_dims has ") << dims->size() << " maps for " << getNumBuffers() << " buffers";
  for (unsigned i = 0; i < getNumBuffers(); ++i) {
    AffineMap map = getBufferDims(i);
    auto shape = cast<MemRefType>(getArgumentTypes()[i]).getShape();
    if (map.getNumDims() != 0 || map.getNumSymbols() > getNumScalars())
      return emitOpError("arg_dims of buffer ") << i << " must be a map of the " << getNumScalars() << " scalars as symbols";
    if (map.getNumResults() != shape.size())
      return emitOpError("arg_dims of buffer ") << i << " has " << map.getNumResults() << " dims for rank " << shape.size();
    for (auto [d, size] : llvm::enumerate(shape))
      if (!ShapedType::isDynamic(size) && map.getResult(d) != getAffineConstantExpr(size, getContext()))
        return emitOpError("arg_dims of buffer ") << i << " disagrees with its type in dim " << d << ": " << AffineMapAttr::get(map.getSubMap({unsigned(d)})) << " and " << size;
  }
  return success();
}

LogicalResult FuncOp::verifyRegions() {
  if (!llvm::hasSingleElement(getBody()))
    return emitOpError("has more than one block");
  Block &body = getBody().front();
  unsigned loops = 0;
  for (Operation &op : body.without_terminator()) {
    if (isa<ParallelOp>(op)) {
      ++loops;
      continue;
    }
    if (!isMemoryEffectFree(&op))
      return op.emitOpError("has an effect outside the kernel.parallel");
  }
  if (loops != 1)
    return emitOpError("has ") << loops << " kernel.parallel; expected exactly one";
  ScheduleAttr schedule = getScheduleOrDefault();
  if ((*this)->hasAttr(kSegmentsAttr)) {
    if (segmentsOf(*this).value_or(0) < 1)
      return emitOpError() << kSegmentsAttr << " must be a positive integer";
    if (schedule.getStrategy() != Strategy::loop || getParallel().getSizes().getNumResults() != 1)
      return emitOpError("has segments: its domain must have one dim, and its strategy be a loop");
  }
  if (schedule.getStrategy() == Strategy::transpose) {
    if (getParallel().getSizes().getNumResults() < 2)
      return emitOpError("transposing needs two outer dims");
    if (schedule.getTile() < 1)
      return emitOpError("transposing needs a tile");
  }
  if (schedule.getStrategy() == Strategy::tiles) {
    DenseI64ArrayAttr block = schedule.getBlock();
    if (!block || block.size() != 7 || llvm::any_of(block.asArrayRef().drop_front(2), [](int64_t n) { return n < 1; }) ||
        block[0] < 1 || block[1] < 1 || block[0] + block[1] > static_cast<int64_t>(getParallel().getSizes().getNumResults()))
      return emitOpError("tiles need a block of 7 numbers: column dims, row dims, rows, columns, depth, rows and columns of a thread");
  } else if (schedule.getBlock()) {
    return emitOpError("has a block of tiles under another strategy");
  }
  return success();
}
