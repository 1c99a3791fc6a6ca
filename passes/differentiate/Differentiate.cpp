// graphc-differentiate. Before: a function marked with the number of the result to differentiate, and with the arguments to
// differentiate by. After: the function also returns those gradients, in order of the arguments, and no mark is left.
// Before `decompose`, since the gradient of a composite is better than that of its formula.
//
//     func.func @main(%x {graph.differentiate}) -> tensor<f32>                   func.func @main(%x) -> (tensor<f32>, tensor<4xf32>)
//         attributes {graph.gradient_of = 0}                            →          %y = graph.reduce sum (graph.mul %x, %x)
//       %y = graph.reduce sum (graph.mul %x, %x)                                   %g = graph.add (graph.mul %x, 1), …
//       return %y                                                                 return %y, %g
//
// The result must be one floating-point number; its own gradient is 1. An argument that the result does not depend on gets
// zeros. Marked functions are straight-line graph code.
#include "passes/differentiate/Differentiate.h"
#include "ir/graph/TensorExpr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/vjp/Vjp.h"

using namespace mlir;

namespace graphc {
namespace {

struct Differentiate : PassWrapper<Differentiate, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Differentiate)
  StringRef getArgument() const final { return "graphc-differentiate"; }
  StringRef getDescription() const final { return "return the gradients that a function's markers ask for"; }
  void runOnOperation() final {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (func->hasAttr(kGradientOf) && failed(differentiate(func)))
        return signalPassFailure();
  }

  static LogicalResult differentiate(func::FuncOp func) {
    auto number = func->getAttrOfType<IntegerAttr>(kGradientOf);
    if (!number || func.isExternal() || number.getInt() < 0 || number.getInt() >= func.getNumResults())
      return func.emitError() << kGradientOf << " must be the number of one of the function's " << func.getNumResults() << " results";
    Block &block = func.getBody().front();
    Operation *terminator = block.getTerminator();
    Value result = terminator->getOperand(number.getInt());
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type || type.getRank() != 0 || !isa<FloatType>(type.getElementType()))
      return func.emitError() << "the result to differentiate must be one floating-point number (a tensor of rank 0), got "
                              << result.getType() << "; reduce it with a sum or a mean";

    SmallVector<Value> inputs;
    for (BlockArgument argument : block.getArguments())
      if (func.getArgAttr(argument.getArgNumber(), kDifferentiate)) {
        if (!isa<FloatType>(cast<RankedTensorType>(argument.getType()).getElementType()))
          return func.emitError() << "argument " << argument.getArgNumber() << " of type " << argument.getType()
                                  << " has no gradient: only floating-point tensors do";
        inputs.push_back(argument);
      }
    if (inputs.empty())
      return func.emitError() << "no argument is marked " << kDifferentiate << ": nothing to differentiate by";

    SmallVector<Operation *> ops;
    for (Operation &op : block.without_terminator())
      ops.push_back(&op);
    OpBuilder b(terminator);
    graph::TensorExpr loss(b, result.getLoc(), result);
    auto gradients = buildGradients(b, ops, {Seed{result, loss.constant(1).get()}}, inputs);
    if (failed(gradients))
      return failure();
    for (auto [input, gradient] : llvm::zip_equal(inputs, *gradients))
      appendResult(func, cast<BlockArgument>(input), gradient ? gradient : zerosLike(loss.with(input)).get());
    func->removeAttr(kGradientOf);
    for (Value input : inputs)
      func.removeArgAttr(cast<BlockArgument>(input).getArgNumber(), StringAttr::get(func.getContext(), kDifferentiate));
    eraseUnusedOps(block);
    return success();
  }

  static void appendResult(func::FuncOp func, BlockArgument of, Value gradient) {
    Operation *terminator = func.getBody().front().getTerminator();
    terminator->insertOperands(terminator->getNumOperands(), gradient);
    Builder b(func.getContext());
    DictionaryAttr attributes;
    if (auto name = func.getArgAttrOfType<StringAttr>(of.getArgNumber(), "graph.name"))
      attributes = b.getDictionaryAttr({b.getNamedAttr("graph.name", b.getStringAttr(name.getValue() + ".grad"))});
    (void)func.insertResult(func.getNumResults(), gradient.getType(), attributes);
  }
};
} // namespace

std::unique_ptr<Pass> createDifferentiatePass() { return std::make_unique<Differentiate>(); }
void registerDifferentiatePass() { registerPass(createDifferentiatePass); }

} // namespace graphc
