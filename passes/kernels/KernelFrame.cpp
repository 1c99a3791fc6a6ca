#include "passes/kernels/KernelFrame.h"
#include "passes/kernels/KernelBuilder.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::graph;

bool graphc::isInPlaceLiteral(Value v) {
  auto constant = v.getDefiningOp<graph::ConstantOp>();
  return constant && constant.getValue().isSplat();
}

namespace {
void collectSymbols(AffineExpr e, llvm::SetVector<unsigned> &symbols) {
  e.walk([&](AffineExpr x) {
    if (auto s = dyn_cast<AffineSymbolExpr>(x))
      symbols.insert(s.getPosition());
  });
}

/// Every size symbol that types and attributes of these ops mention.
llvm::SetVector<unsigned> symbolsOf(GroupOp group) {
  llvm::SetVector<unsigned> symbols;
  auto add = [&](Type type) {
    for (AffineExpr d : dimsOf(type))
      collectSymbols(d, symbols);
  };
  for (Operation &op : group.getBody().front()) {
    for (Type t : op.getOperandTypes())
      add(t);
    for (Type t : op.getResultTypes())
      add(t);
    for (NamedAttribute attr : op.getAttrs())
      if (auto dims = dyn_cast<DimsAttr>(attr.getValue()))
        for (AffineExpr d : dims.getDims())
          collectSymbols(d, symbols);
  }
  return symbols;
}

MemRefType bufferType(Type tensor) {
  auto t = cast<RankedTensorType>(tensor);
  return MemRefType::get(t.getShape(), kernelElementType(t.getElementType()));
}

/// Sizes over interned symbols as a map over the kernel's scalars.
AffineMap scalarMap(ArrayRef<AffineExpr> dims, const llvm::SetVector<unsigned> &symbols, MLIRContext *ctx) {
  llvm::DenseMap<AffineExpr, AffineExpr> replace;
  for (auto [local, position] : llvm::enumerate(symbols))
    replace[getAffineSymbolExpr(position, ctx)] = getAffineSymbolExpr(local, ctx);
  SmallVector<AffineExpr> results;
  for (AffineExpr d : dims)
    results.push_back(d.replace(replace));
  return AffineMap::get(0, symbols.size(), results, ctx);
}

/// "add /layer1/add": what an op is, and what the program calls it; empty when it has no name.
std::string sourceOf(Operation &op) {
  std::string source;
  if (auto named = dyn_cast<NameLoc>(op.getLoc()))
    source = named.getName().str();
  else if (auto fused = op.getLoc()->findInstanceOf<NameLoc>())
    source = fused.getName().str();
  return source.empty() ? source : op.getName().stripDialect().str() + " " + source;
}
} // namespace

KernelFrame::KernelFrame(GroupOp group, ValueRange outputs, ModuleOp module, StringRef name) {
  auto *ctx = group.getContext();
  Block &body = group.getBody().front();
  Builder b(ctx);
  SmallVector<Attribute> sources;
  for (Operation &op : body.without_terminator()) {
    for (Value operand : op.getOperands()) {
      Operation *def = operand.getDefiningOp();
      if ((!def || def->getBlock() != &body) && !isInPlaceLiteral(operand))
        inputs.insert(operand);
    }
    if (std::string source = sourceOf(op); !source.empty())
      sources.push_back(b.getStringAttr(source));
    auto elementwise = dyn_cast<Elementwise>(op);
    scalarOps += elementwise ? elementwise.scalarCost() : 1;
  }

  symbols = symbolsOf(group);
  SmallVector<Type> bufferTypes;
  SmallVector<AffineMap> argDims;
  auto addBuffer = [&](Value v) {
    bufferTypes.push_back(bufferType(v.getType()));
    argDims.push_back(scalarMap(dimsOf(v.getType()), symbols, ctx));
  };
  for (Value v : inputs)
    addBuffer(v);
  for (Value v : outputs)
    addBuffer(v);
  if (llvm::all_of(bufferTypes, [](Type t) { return cast<MemRefType>(t).hasStaticShape(); }))
    argDims.clear();

  OpBuilder moduleBuilder(ctx);
  moduleBuilder.setInsertionPointToEnd(module.getBody());
  func = kernel::FuncOp::create(moduleBuilder, group.getLoc(), name, bufferTypes, symbols.size(), argDims);
  if (!sources.empty())
    func.setSourcesAttr(b.getArrayAttr(sources));
  for (auto [v, arg] : llvm::zip(inputs, func.getBuffers()))
    buffers[v] = arg;
  for (auto [position, arg] : llvm::zip(symbols, func.getScalars()))
    scalars[position] = arg;
}

plan::DispatchOp KernelFrame::dispatch(GroupOp group, ArrayRef<Operation *> siteOps, ArrayRef<int64_t> inplace, double cost, OpBuilder &b) {
  auto *ctx = b.getContext();
  SmallVector<AffineExpr> scalarExprs;
  for (unsigned s : symbols)
    scalarExprs.push_back(getAffineSymbolExpr(s, ctx));
  SmallVector<Attribute> sites;
  for (Operation *op : siteOps) {
    auto named = op->getLoc()->findInstanceOf<NameLoc>();
    sites.push_back(b.getStringAttr(named ? named.getName().getValue() : op->getName().getStringRef()));
  }
  bool anyInplace = llvm::any_of(inplace, [](int64_t i) { return i >= 0; });
  return plan::DispatchOp::create(b, group.getLoc(), group.getResultTypes(), FlatSymbolRefAttr::get(ctx, func.getSymName()), inputs.getArrayRef(),
                                  DimsAttr::get(ctx, scalarExprs), anyInplace ? b.getDenseI64ArrayAttr(inplace) : DenseI64ArrayAttr(),
                                  sites.empty() ? ArrayAttr() : b.getArrayAttr(sites), b.getF64FloatAttr(cost),
                                  group->hasAttr("prepare") ? b.getUnitAttr() : UnitAttr());
}
