// graphc-gradient-test FILE.mlir…: checks the gradients of every function in the files, in first and second order, against
// finite differences in double on the reference interpreter; then that every op of the dialect that has a gradient was
// among them, and that every other is declared to have none. The format of the files is in README.md.
// With --mutants as the first argument: gradients are made wrong on purpose (Mutants.cpp), and each way must be noticed.
#include "codegen/reference/Interpreter.h"
#include "ir/graph/TensorExpr.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/differentiate/Differentiate.h"
#include "passes/vjp/Vjp.h"
#include "test/gradients/Mutants.h"
#include "llvm/Support/raw_ostream.h"

#include <iostream>
#include <random>
#include <set>

using namespace graphc;

namespace {

constexpr double kStep = 1e-5, kTolerance = 2e-7;

bool isFloat(mlir::Type type) { return mlir::isa<mlir::FloatType>(mlir::cast<mlir::RankedTensorType>(type).getElementType()); }

/// Numbers like -1 … 1 with a seed of their own per use: the same on every run.
struct Numbers {
  std::mt19937_64 engine;
  double in(double low, double high) { return low + (high - low) * (double(engine() >> 11) * 0x1p-53); }
};

std::vector<int64_t> shapeOf(mlir::func::FuncOp func, unsigned argument) {
  if (auto given = func.getArgAttrOfType<mlir::DenseI64ArrayAttr>(argument, "test.shape"))
    return given.asArrayRef().vec();
  return mlir::cast<mlir::RankedTensorType>(func.getArgumentTypes()[argument]).getShape().vec();
}

HostTensor inputFor(mlir::func::FuncOp func, unsigned argument, Numbers &numbers) {
  auto type = mlir::cast<mlir::RankedTensorType>(func.getArgumentTypes()[argument]);
  auto tensor = HostTensor::allocate(reference::dtypeOfElement(type.getElementType()), Shape(shapeOf(func, argument)));
  if (auto value = func.getArgAttrOfType<mlir::DenseElementsAttr>(argument, "test.value")) {
    int64_t i = 0;
    if (isFloat(type))
      for (double v : value.getValues<double>())
        tensor->data<double>()[i++] = v;
    else if (type.getElementType().isInteger(1))
      for (bool v : value.getValues<bool>())
        tensor->data<bool>()[i++] = v;
    else
      for (int64_t v : value.getValues<int64_t>())
        tensor->data<int64_t>()[i++] = v;
    return *std::move(tensor);
  }
  double low = -1, high = 1;
  if (auto range = func.getArgAttrOfType<mlir::DenseF64ArrayAttr>(argument, "test.range"))
    low = range[0], high = range[1];
  for (int64_t i = 0; i < tensor->elements(); ++i)
    tensor->data<double>()[i] = numbers.in(low, high);
  return *std::move(tensor);
}

/// A copy of `func` that returns the sum of <result, new argument> over its floating-point results from `first` on, marked for
/// the gradient by the arguments of the original that vary.
mlir::func::FuncOp withLoss(mlir::func::FuncOp func, mlir::StringRef name, unsigned varying, unsigned first) {
  auto copy = func.clone();
  copy.setName(name);
  mlir::cast<mlir::ModuleOp>(func->getParentOp()).push_back(copy);
  mlir::Block &block = copy.getBody().front();
  mlir::Operation *end = block.getTerminator();
  mlir::OpBuilder b(end);
  std::optional<graph::TensorExpr> loss;
  for (mlir::Value result : llvm::to_vector(end->getOperands().drop_front(first))) {
    if (!isFloat(result.getType()))
      continue;
    (void)copy.insertArgument(copy.getNumArguments(), result.getType(), {}, result.getLoc());
    graph::TensorExpr r(b, result.getLoc(), result);
    graph::TensorExpr term = sum(r * r.with(block.getArguments().back()), graph::axesFrom(0, r.rank())).reshapedTo({});
    loss = loss ? *loss + term : term;
  }
  end->setOperands({loss->get()});
  copy.setType(b.getFunctionType(block.getArgumentTypes(), {loss->type()}));
  copy.removeResAttrsAttr();
  copy->setAttr(kGradientOf, b.getI64IntegerAttr(0));
  for (unsigned i = 0; i < varying; ++i)
    if (isFloat(copy.getArgumentTypes()[i]) && !copy.getArgAttr(i, "test.constant"))
      copy.setArgAttr(i, kDifferentiate, b.getUnitAttr());
  return copy;
}

class Check {
public:
  Check(mlir::ModuleOp module, mlir::func::FuncOp func) : module(module), func(func) {
    numbers.engine.seed(std::hash<std::string>()(func.getName().str()));
  }

  /// What is wrong; empty when nothing is.
  std::string run() {
    unsigned varying = func.getNumArguments();
    auto first = withLoss(func, (func.getName() + "_first").str(), varying, 0);
    if (!differentiate())
      return "has no gradient";
    std::string wrong = compare(first, varying);
    if (!wrong.empty() || func->hasAttr("test.first_order"))
      return wrong.empty() ? "" : "first order: " + wrong;
    auto second = withLoss(first, (func.getName() + "_second").str(), varying, 1);
    if (!differentiate())
      return "has no second gradient";
    wrong = compare(second, varying);
    return wrong.empty() ? "" : "second order: " + wrong;
  }

  /// Whether the mutant changes the gradient; `noticed` when the check then fails.
  bool runMutant(const test::Mutant &mutant, bool &noticed) {
    unsigned varying = func.getNumArguments();
    auto first = withLoss(func, (func.getName() + "_mutant").str(), varying, 0);
    bool changed = differentiate() && test::mutate(mutant, first, func);
    if (changed)
      noticed |= mlir::failed(mlir::verify(first)) || !compare(first, varying).empty();
    first.erase();
    return changed;
  }

private:
  bool differentiate() {
    mlir::PassManager pm(module.getContext());
    pm.addPass(createDifferentiatePass());
    return mlir::succeeded(pm.run(module));
  }

  /// The first result (a loss) against the others (its gradients by the varying arguments), along random directions.
  std::string compare(mlir::func::FuncOp with, unsigned varying) {
    std::vector<HostTensor> inputs;
    std::vector<unsigned> moved;
    for (unsigned i = 0; i < with.getNumArguments(); ++i) {
      bool original = i < varying;
      Numbers own = fixed(i);
      if (!original) // weights have the shape of the result they weigh
        inputs.push_back(weightFor(with, i));
      else
        inputs.push_back(inputFor(func, i, own));
      if (original && isFloat(with.getArgumentTypes()[i]) && !with.getArgAttr(i, "test.constant"))
        moved.push_back(i);
    }
    reference::Interpreter interpreter(module, [](graph::WeightOp) -> Result<HostTensor> { return error(Code::WeightFile, "no weights here"); });
    auto at = interpreter.run(with, inputs);
    if (!at.ok())
      return at.status().str();
    if (at->size() != moved.size() + 1)
      return text("has ", at->size() - 1, " gradients for ", moved.size(), " arguments");
    for (int trial = 0; trial < 3; ++trial) {
      double expected = 0;
      std::vector<HostTensor> ahead, behind;
      for (const HostTensor &input : inputs) {
        ahead.push_back(*input.clone());
        behind.push_back(*input.clone());
      }
      for (unsigned n = 0; n < moved.size(); ++n)
        for (int64_t i = 0; i < inputs[moved[n]].elements(); ++i) {
          double direction = numbers.in(-1, 1);
          ahead[moved[n]].data<double>()[i] += kStep * direction;
          behind[moved[n]].data<double>()[i] -= kStep * direction;
          expected += direction * (*at)[n + 1].data<double>()[i];
        }
      auto high = interpreter.run(with, ahead), low = interpreter.run(with, behind);
      if (!high.ok() || !low.ok())
        return "stepping aside: " + (high.ok() ? low : high).status().str();
      double h = (*high)[0].data<double>()[0], l = (*low)[0].data<double>()[0], measured = (h - l) / (2 * kStep);
      if (!(std::fabs(measured - expected) <= kTolerance * (1 + std::fabs(measured) + std::fabs(h))))
        return text("the gradient gives ", expected, " along a direction, the function changes by ", measured);
    }
    return "";
  }

  /// Each argument's numbers depend on its place alone.
  Numbers fixed(unsigned argument) {
    Numbers own;
    own.engine.seed(argument * 7919 + 17);
    return own;
  }
  HostTensor weightFor(mlir::func::FuncOp with, unsigned argument) {
    Numbers own = fixed(argument);
    auto type = mlir::cast<mlir::RankedTensorType>(with.getArgumentTypes()[argument]);
    // Sizes known only at run time are those of the arguments.
    std::vector<int64_t> shape;
    for (mlir::AffineExpr dim : graph::dimsOf(type))
      shape.push_back(*graph::evaluate(dim, [&](unsigned id) { return symbol(id); }));
    auto tensor = HostTensor::allocate(DType::F64, Shape(shape));
    for (int64_t i = 0; i < tensor->elements(); ++i)
      tensor->data<double>()[i] = own.in(-1, 1);
    return *std::move(tensor);
  }
  std::optional<int64_t> symbol(unsigned id) {
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      for (auto [dim, size] : llvm::zip_equal(graph::dimsOf(func.getArgumentTypes()[i]), shapeOf(func, i)))
        if (auto s = mlir::dyn_cast<mlir::AffineSymbolExpr>(dim); s && s.getPosition() == id)
          return size;
    if (auto sizes = func->getAttrOfType<mlir::DictionaryAttr>("test.symbols"))
      if (auto size = sizes.getAs<mlir::IntegerAttr>(module.getContext()->getOrLoadDialect<graph::GraphDialect>()->symbolName(id)))
        return size.getInt();
    return std::nullopt;
  }

  mlir::ModuleOp module;
  mlir::func::FuncOp func;
  Numbers numbers;
};

/// Every mutant must be noticed in some function.
int runMutants(llvm::ArrayRef<char *> files, mlir::MLIRContext &context) {
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  for (const char *file : files)
    if (!modules.emplace_back(mlir::parseSourceFile<mlir::ModuleOp>(file, &context)))
      return 2;
  int survived = 0;
  for (const test::Mutant &mutant : test::mutants()) {
    bool applies = false, noticed = false;
    for (auto &module : modules)
      for (auto func : llvm::to_vector(module->getOps<mlir::func::FuncOp>()))
        if (!noticed)
          applies |= Check(*module, func).runMutant(mutant, noticed);
    std::cout << (noticed ? "noticed: " : applies ? "SURVIVED: " : "DOES NOT APPLY: ") << mutant.name << "\n";
    survived += !noticed;
  }
  return survived ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<graph::GraphDialect, mlir::func::FuncDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  context.allowUnregisteredDialects();
  if (argc > 1 && std::string_view(argv[1]) == "--mutants")
    return runMutants(llvm::ArrayRef(argv + 2, argc - 2), context);
  std::set<std::string> checked;
  int failed = 0, passed = 0;
  for (int i = 1; i < argc; ++i) {
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceFile<mlir::ModuleOp>(argv[i], &context);
    if (!module)
      return 2;
    for (auto func : llvm::to_vector(module->getOps<mlir::func::FuncOp>())) {
      func.walk([&](mlir::Operation *op) { checked.insert(op->getName().getStringRef().str()); });
      std::string wrong = Check(*module, func).run();
      ++(wrong.empty() ? passed : failed);
      if (!wrong.empty())
        std::cout << argv[i] << ": @" << func.getName().str() << ": " << wrong << "\n";
    }
  }
  for (mlir::RegisteredOperationName op : context.getRegisteredOperationsByDialect("graph")) {
    std::string name = op.getStringRef().str();
    bool declared = op.hasTrait<graph::NotDifferentiable>();
    bool hasRule = op.hasInterface<graph::Differentiable>() || op.hasInterface<graph::Composite>();
    std::string wrong = declared && hasRule && op.hasInterface<graph::Differentiable>() ? "has a gradient rule and is declared to be not differentiable"
                        : !declared && !hasRule                    ? "has no gradient rule and is not declared to be not differentiable"
                        : !declared && !checked.contains(name)     ? "has a gradient that no function checks"
                                                                   : "";
    if (wrong.empty())
      continue;
    std::cout << name << " " << wrong << "\n";
    ++failed;
  }
  std::cout << passed << " functions passed, " << failed << " problems\n";
  return failed == 0 && passed > 0 ? 0 : 1;
}
