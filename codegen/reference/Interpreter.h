// The meaning of graph programs: runs the functions of a module of graph ops on host tensors, floats in double and
// integers exactly. Slow on purpose where speed would cost independence; `graphc verify` and the op tests compare with it.
//
//     reference::Interpreter interpreter(module, loadWeight);
//     Result<std::vector<HostTensor>> outputs = interpreter.run(main, inputs);
//
// To look inside (verify): keepValues(true), run, then value(v) for any value of the function. To rerun one group on
// other inputs: begin(function, inputs), setValue(operand, tensor) for its operands, execute(op), value(result).
#pragma once
#include "codegen/reference/WideTensor.h"
#include "ir/graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include <span>

namespace graphc::reference {

/// Reads the bytes of a weight.
using WeightLoader = std::function<Result<HostTensor>(graph::WeightOp)>;
/// Called after each op of a running function, in order; an error stops the run.
using Observer = std::function<Status(mlir::Operation *)>;

class Interpreter {
public:
  Interpreter(mlir::ModuleOp module, WeightLoader loadWeight) : module(module), loadWeight(std::move(loadWeight)) {}

  /// Inputs in the order of the arguments; symbolic sizes are bound from them. Outputs have the dtypes of the results.
  Result<std::vector<HostTensor>> run(mlir::func::FuncOp function, std::span<const HostTensor> inputs,
                                      const Observer &observer = nullptr);

  /// Keep every value of a run, instead of dropping each after its last use.
  void keepValues(bool keep) { keepAll = keep; }
  /// Run matmul and conv by their element formulas too, a hundred times slower: what the loops of Contractions.cpp must
  /// agree with.
  void formulasOnly(bool only) { onlyFormulas = only; }

  /// Forgets values and symbols, then binds the arguments.
  Status begin(mlir::func::FuncOp function, std::span<const HostTensor> inputs);
  /// Runs one op (a group with its body) whose operands have values.
  Status execute(mlir::Operation *op);
  bool hasValue(mlir::Value v) const { return values.contains(v); }
  /// A value, rounded to its dtype.
  Result<HostTensor> value(mlir::Value v) const;
  Status setValue(mlir::Value v, const HostTensor &tensor);

  /// The size of a symbol of the running function, once known.
  std::optional<int64_t> symbol(unsigned id) const;
  void bindSymbol(unsigned id, int64_t size) { symbols[id] = size; }
  /// The sizes of a tensor type under the bound symbols; an error names the symbol that is not known.
  Result<std::vector<int64_t>> shapeOf(mlir::Type type) const;

private:
  Status executeBlock(mlir::Block &block, const Observer &observer);
  Status executeConstant(graph::ConstantOp op);
  Status executeWeight(graph::GetWeightOp op);
  Status executeComposite(graph::Composite op);
  Status executeRoutine(mlir::Operation *op);
  Status executeGroup(graph::GroupOp op);
  Status executeCall(mlir::func::CallOp op);
  Status executeElements(graph::ElementOp op);
  Status executeIf(graph::IfOp op);
  Status executeWhile(graph::WhileOp op);
  Status executeScan(graph::ScanOp op);
  /// Runs a body on these values; what it yields. Sizes that it decides are its own.
  Result<std::vector<WideTensor>> executeBody(mlir::Region &body, std::vector<WideTensor> arguments);
  Status checkAssumption(graph::AssumeEqualOp op);
  Status setWide(mlir::Value v, WideTensor tensor);
  Status bindSizes(mlir::Type type, const std::vector<int64_t> &shape, const std::string &what);
  std::optional<int64_t> sizeOf(mlir::AffineExpr dim) const;

  mlir::ModuleOp module;
  WeightLoader loadWeight;
  bool keepAll = false, onlyFormulas = false;
  llvm::DenseMap<mlir::Value, WideTensor> values;
  std::map<unsigned, int64_t> symbols;
};

/// How messages name an op: the name in its location (that of the model's node), else the op's own.
std::string nameOf(mlir::Operation *op);

} // namespace graphc::reference
