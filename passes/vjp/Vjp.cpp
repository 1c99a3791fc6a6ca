// Reverse accumulation over straight-line graph code. What an op contributes is its rule's business; here are the order, the
// sums, and what has no rule of its own.
#include "passes/vjp/Vjp.h"
#include "ir/graph/Control.h"
#include "ir/graph/TensorExpr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace graphc {

using Gradients = FailureOr<SmallVector<Value>>;

static bool isFloat(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type && isa<FloatType>(type.getElementType());
}

bool isDifferentiable(Operation *op) {
  if (op->hasTrait<graph::NotDifferentiable>())
    return false;
  return isa<graph::Differentiable, graph::Composite>(op);
}

Gradients buildGradients(OpBuilder &b, ArrayRef<Operation *> ops, ArrayRef<Seed> seeds, ArrayRef<Value> inputs) {
  // Values that an input reaches through differentiable ops.
  llvm::DenseSet<Value> active(inputs.begin(), inputs.end());
  for (Operation *op : ops)
    if (!op->hasTrait<graph::NotDifferentiable>() && llvm::any_of(graph::inputsOf(op), [&](Value v) { return active.contains(v); }))
      for (Value result : op->getResults())
        if (isFloat(result))
          active.insert(result);

  llvm::DenseMap<Value, Value> gradients;
  auto add = [&](Value v, Value gradient, Location loc) {
    Value &sum = gradients[v];
    sum = sum ? graph::AddOp::create(b, loc, sum, gradient).getResult() : gradient;
  };
  for (const Seed &seed : seeds)
    if (active.contains(seed.value))
      add(seed.value, seed.gradient, seed.value.getLoc());

  for (Operation *op : llvm::reverse(ops)) {
    SmallVector<Value> resultGrads = llvm::map_to_vector(op->getResults(), [&](Value v) { return gradients.lookup(v); });
    if (llvm::none_of(resultGrads, [](Value v) { return bool(v); }))
      continue;
    // An op with bodies is replaced by one that also gives what its gradient reads.
    SmallVector<Value> read = graph::inputsOf(op);
    Location loc = op->getLoc();
    auto needs = llvm::map_to_vector(read, [&](Value v) { return active.contains(v) && isFloat(v); });
    Gradients readGrads = buildVjp(op, b, resultGrads, needs);
    if (failed(readGrads))
      return failure();
    for (auto [v, gradient] : llvm::zip_equal(read, *readGrads))
      if (gradient)
        add(v, gradient, loc);
  }
  return llvm::map_to_vector(inputs, [&](Value v) { return gradients.lookup(v); });
}

namespace {
/// The ops that a formula creates, in order.
struct Recorder : OpBuilder::Listener {
  SmallVector<Operation *> ops;
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override { ops.push_back(op); }
};
} // namespace

/// A composite without a rule: its formula is built again here, and differentiated.
static Gradients buildFormulaVjp(graph::Composite op, OpBuilder &b, ArrayRef<Value> resultGrads, ArrayRef<bool> needs) {
  Recorder recorder;
  OpBuilder inner(b.getContext(), &recorder);
  inner.setInsertionPoint(b.getInsertionBlock(), b.getInsertionPoint());
  SmallVector<Value> results = op.decompose(inner);
  SmallVector<Seed> seeds;
  for (auto [result, gradient] : llvm::zip_equal(results, resultGrads))
    if (gradient)
      seeds.push_back({result, gradient});
  SmallVector<Value> inputs;
  for (auto [operand, needed] : llvm::zip_equal(op->getOperands(), needs))
    if (needed && !llvm::is_contained(inputs, operand))
      inputs.push_back(operand);
  Gradients found = buildGradients(b, recorder.ops, seeds, inputs);
  if (failed(found))
    return failure();
  // Twice the same operand: its whole gradient at the first place, nothing at the second.
  SmallVector<Value> gradients(op->getNumOperands());
  for (auto [input, gradient] : llvm::zip_equal(inputs, *found))
    for (unsigned i = 0; i < gradients.size(); ++i)
      if (needs[i] && op->getOperand(i) == input) {
        gradients[i] = gradient;
        break;
      }
  return gradients;
}

Gradients buildVjp(Operation *op, OpBuilder &b, ArrayRef<Value> resultGrads, ArrayRef<bool> needs) {
  SmallVector<Value> read = graph::inputsOf(op);
  assert(resultGrads.size() == op->getNumResults() && needs.size() == read.size() && "one for each");
  if (op->hasTrait<graph::NotDifferentiable>() || llvm::none_of(needs, [](bool n) { return n; }))
    return SmallVector<Value>(read.size());
  if (auto rule = dyn_cast<graph::Differentiable>(op)) {
    Gradients gradients = rule.buildVjp(b, resultGrads, needs);
    if (failed(gradients))
      return failure();
    for (unsigned i = 0; i < read.size(); ++i) {
      if (!needs[i])
        (*gradients)[i] = {};
      assert((!(*gradients)[i] || (*gradients)[i].getType() == read[i].getType()) && "a gradient has the type of its operand");
    }
    return gradients;
  }
  if (auto composite = dyn_cast<graph::Composite>(op))
    return buildFormulaVjp(composite, b, resultGrads, needs);
  return op->emitError() << "'" << op->getName() << "' has no gradient rule and is not declared to be not differentiable", failure();
}

void eraseUnusedOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

FailureOr<VjpProgram> buildVjpProgram(Operation *op, ArrayRef<bool> hasGrad, ArrayRef<bool> needs) {
  VjpProgram program;
  OpBuilder b(op->getContext());
  program.module = ModuleOp::create(op->getLoc());
  b.setInsertionPointToEnd(program.module->getBody());
  auto func = func::FuncOp::create(b, op->getLoc(), "vjp", b.getFunctionType({}, {}));
  Block *body = func.addEntryBlock();
  auto argument = [&](VjpProgram::Input kind, unsigned number, Type type) {
    program.inputs.push_back({kind, number});
    return body->addArgument(type, op->getLoc());
  };
  // The op itself stands in until its results have become arguments.
  IRMapping map;
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    if (Value known = map.lookupOrNull(operand); !known) // twice the same operand is saved once
      map.map(operand, argument(VjpProgram::Input::Operand, i, operand.getType()));
  SmallVector<Value> results, gradients;
  for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
    results.push_back(argument(VjpProgram::Input::Result, i, type));
  for (auto [i, type] : llvm::enumerate(op->getResultTypes()))
    gradients.push_back(hasGrad[i] ? argument(VjpProgram::Input::Gradient, i, type) : Value());
  b.setInsertionPointToEnd(body);
  Operation *copy = b.clone(*op, map);
  Gradients built = buildVjp(copy, b, gradients, needs);
  if (failed(built))
    return failure();

  SmallVector<Value> returned;
  for (auto [i, gradient] : llvm::enumerate(*built))
    if (gradient) {
      program.operands.push_back(i);
      returned.push_back(gradient);
    }
  func::ReturnOp::create(b, op->getLoc(), returned);
  for (auto [from, to] : llvm::zip_equal(copy->getResults(), results))
    from.replaceAllUsesWith(to);
  eraseUnusedOps(*body);
  for (unsigned i = body->getNumArguments(); i-- > 0;)
    if (body->getArgument(i).use_empty()) {
      body->eraseArgument(i);
      program.inputs.erase(program.inputs.begin() + i);
    }
  func.setType(b.getFunctionType(body->getArgumentTypes(), TypeRange(ValueRange(returned))));
  return program;
}

} // namespace graphc
