#include "codegen/reference/Interpreter.h"
#include "codegen/reference/Contractions.h"
#include "codegen/reference/Evaluate.h"
#include "codegen/reference/Routines.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace graphc::reference {

std::string nameOf(Operation *op) {
  std::string name;
  op->getLoc()->walk([&](Location loc) {
    if (auto named = dyn_cast<NameLoc>(loc); named && name.empty())
      name = named.getName().str();
    return name.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return name.empty() ? op->getName().getStringRef().str() : name;
}

// --- sizes

std::optional<int64_t> Interpreter::symbol(unsigned id) const {
  auto it = symbols.find(id);
  return it == symbols.end() ? std::nullopt : std::optional(it->second);
}

std::optional<int64_t> Interpreter::sizeOf(AffineExpr dim) const {
  return graph::evaluate(dim, [&](unsigned id) { return symbol(id); });
}

Result<std::vector<int64_t>> Interpreter::shapeOf(Type type) const {
  std::vector<int64_t> shape;
  for (AffineExpr dim : graph::dimsOf(type)) {
    std::optional<int64_t> size = sizeOf(dim);
    if (!size)
      return error(Code::ShapeMismatch, "size ", graph::toString(dim), " has no value yet: a symbol in it is bound by no input");
    shape.push_back(*size);
  }
  return shape;
}

/// The symbol of a size that is one symbol, or a linear expression of one unknown symbol, and the symbol's value.
static std::optional<std::pair<unsigned, int64_t>> solve(AffineExpr dim, int64_t size, const std::map<unsigned, int64_t> &known) {
  std::optional<unsigned> unknown;
  bool several = false;
  dim.walk([&](AffineExpr e) {
    if (auto s = dyn_cast<AffineSymbolExpr>(e); s && !known.contains(s.getPosition())) {
      several |= unknown && *unknown != s.getPosition();
      unknown = s.getPosition();
    }
  });
  if (!unknown || several)
    return std::nullopt;
  auto at = [&](int64_t value) {
    return graph::evaluate(dim, [&](unsigned id) -> std::optional<int64_t> {
      return id == *unknown ? value : known.at(id);
    });
  };
  if (isa<AffineSymbolExpr>(dim))
    return std::pair{*unknown, size};
  auto zero = at(0), one = at(1);
  if (!zero || !one || *one == *zero || (size - *zero) % (*one - *zero) != 0)
    return std::nullopt;
  int64_t value = (size - *zero) / (*one - *zero);
  return at(value) == size ? std::optional(std::pair{*unknown, value}) : std::nullopt;
}

Status Interpreter::bindSizes(Type type, const std::vector<int64_t> &shape, const std::string &what) {
  auto dims = graph::dimsOf(type);
  if (dims.size() != shape.size())
    return error(Code::InputRank, what, " has rank ", shape.size(), ", expected ", graph::toString(dims));
  for (auto [dim, size] : llvm::zip_equal(dims, shape))
    if (auto bound = solve(dim, size, symbols))
      symbols[bound->first] = bound->second;
  for (auto [dim, size] : llvm::zip_equal(dims, shape))
    if (auto expected = sizeOf(dim); expected && *expected != size)
      return error(Code::InputShape, what, " has shape ", Shape(shape).str(), ", but ", graph::toString(dim), " is ", *expected);
  return {};
}

Status Interpreter::checkAssumption(graph::AssumeEqualOp op) {
  std::optional<int64_t> first;
  for (AffineExpr dim : op.getSizes().getDims()) {
    std::optional<int64_t> size = sizeOf(dim);
    if (size && first && *size != *first)
      return error(Code::CheckFailed, op.getMessage().str(), ": ", *first, " and ", *size);
    first = size ? size : first;
  }
  return {};
}

// --- values

Status Interpreter::setWide(Value v, WideTensor tensor) {
  GRAPHC_RETURN_IF_ERROR(bindSizes(v.getType(), tensor.shape(), v.getDefiningOp() ? nameOf(v.getDefiningOp()) : "argument"));
  values[v] = std::move(tensor);
  return {};
}

Status Interpreter::setValue(Value v, const HostTensor &tensor) {
  Type element = cast<RankedTensorType>(v.getType()).getElementType();
  if (tensor.dtype() != dtypeOfElement(element))
    return error(Code::InputDType, "a value of type ", dtypeName(dtypeOfElement(element)), " was given as ", dtypeName(tensor.dtype()));
  return setWide(v, WideTensor::from(tensor, element));
}

Result<HostTensor> Interpreter::value(Value v) const {
  auto it = values.find(v);
  if (it == values.end())
    return error(Code::Internal, "the reference interpreter was asked for a value that it has not computed");
  return it->second.toHost();
}

// --- functions

Status Interpreter::begin(func::FuncOp function, std::span<const HostTensor> inputs) {
  values.clear();
  symbols.clear();
  if (inputs.size() != function.getNumArguments())
    return error(Code::InputCount, function.getName().str(), " takes ", function.getNumArguments(), " inputs, got ", inputs.size());
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    auto name = function.getArgAttrOfType<StringAttr>(i, "graph.name");
    if (Status status = setValue(argument, inputs[i]); !status.ok())
      return Status(status.code(), text("input '", name ? name.str() : std::to_string(i), "': ", status.message()));
  }
  return {};
}

Result<std::vector<HostTensor>> Interpreter::run(func::FuncOp function, std::span<const HostTensor> inputs, const Observer &observer) {
  GRAPHC_RETURN_IF_ERROR(begin(function, inputs));
  GRAPHC_RETURN_IF_ERROR(executeBlock(function.getBody().front(), observer));
  std::vector<HostTensor> outputs;
  for (Value v : function.getBody().front().getTerminator()->getOperands()) {
    GRAPHC_ASSIGN_OR_RETURN(HostTensor tensor, value(v));
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

/// The last op of `block` that uses each value, itself or from within its regions.
static llvm::DenseMap<Operation *, llvm::SmallVector<Value>> lastUses(Block &block) {
  llvm::DenseMap<Value, Operation *> last;
  for (Operation &op : block) {
    for (Value result : op.getResults())
      last[result] = &op;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        last[operand] = &op;
    });
  }
  llvm::DenseMap<Operation *, llvm::SmallVector<Value>> byOp;
  for (auto [v, op] : last)
    // Values of an enclosing block may be needed after this one.
    if (v.getParentBlock() == &block)
      byOp[op].push_back(v);
  return byOp;
}

Status Interpreter::executeBlock(Block &block, const Observer &observer) {
  auto dying = lastUses(block);
  for (Operation &op : block.without_terminator()) {
    GRAPHC_RETURN_IF_ERROR(execute(&op));
    if (observer)
      GRAPHC_RETURN_IF_ERROR(observer(&op));
    if (!keepAll)
      for (Value v : dying.lookup(&op))
        values.erase(v);
  }
  return {};
}

// --- ops

Status Interpreter::execute(Operation *op) {
  return llvm::TypeSwitch<Operation *, Status>(op)
      .Case([&](graph::ConstantOp o) { return executeConstant(o); })
      .Case([&](graph::GetWeightOp o) { return executeWeight(o); })
      .Case([&](graph::GroupOp o) { return executeGroup(o); })
      .Case([&](graph::AssumeEqualOp o) { return checkAssumption(o); })
      .Case([&](func::CallOp o) { return executeCall(o); })
      .Case([&](graph::Composite o) { return executeComposite(o); })
      .Case([&](graph::RoutineOp) { return executeRoutine(op); })
      .Case([&](graph::IfOp o) { return executeIf(o); })
      .Case([&](graph::WhileOp o) { return executeWhile(o); })
      .Case([&](graph::ScanOp o) { return executeScan(o); })
      .Case([&](graph::ElementOp o) { return executeElements(o); })
      .Default([&](Operation *o) {
        return error(Code::UnsupportedOp, nameOf(o), ": the reference interpreter does not know ", o->getName().getStringRef().str());
      });
}

Status Interpreter::executeConstant(graph::ConstantOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  auto literal = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!literal)
    return error(Code::UnsupportedOp, nameOf(op), ": only dense literals can be constants");
  WideTensor tensor(type.getElementType(), type.getShape().vec());
  int64_t i = 0;
  if (tensor.isFloat())
    for (llvm::APFloat value : literal.getValues<llvm::APFloat>()) {
      bool inexact;
      value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
      tensor.floats()[i++] = value.convertToDouble();
    }
  else
    for (const llvm::APInt &value : literal.getValues<llvm::APInt>())
      tensor.integers()[i++] = wrap(static_cast<int64_t>(value.getZExtValue()), tensor.scalarType());
  return setWide(op.getResult(), std::move(tensor));
}

Status Interpreter::executeWeight(graph::GetWeightOp op) {
  auto weight = module.lookupSymbol<graph::WeightOp>(op.getWeight());
  if (!weight)
    return error(Code::MissingInitializer, nameOf(op), ": there is no weight @", op.getWeight().str());
  GRAPHC_ASSIGN_OR_RETURN(HostTensor tensor, loadWeight(weight));
  return setValue(op.getResult(), tensor);
}

Status Interpreter::executeCall(func::CallOp op) {
  auto callee = module.lookupSymbol<func::FuncOp>(op.getCallee());
  if (!callee || callee.isExternal())
    return error(Code::UnsupportedOp, nameOf(op), ": there is no body for @", op.getCallee().str());
  for (auto [argument, operand] : llvm::zip_equal(callee.getArguments(), op.getOperands()))
    GRAPHC_RETURN_IF_ERROR(setWide(argument, values.lookup(operand)));
  GRAPHC_RETURN_IF_ERROR(executeBlock(callee.getBody().front(), nullptr));
  for (auto [result, returned] : llvm::zip_equal(op.getResults(), callee.getBody().front().getTerminator()->getOperands()))
    GRAPHC_RETURN_IF_ERROR(setWide(result, values.lookup(returned)));
  return {};
}

Status Interpreter::executeGroup(graph::GroupOp op) {
  Block &body = op.getBody().front();
  GRAPHC_RETURN_IF_ERROR(executeBlock(body, nullptr));
  for (auto [result, yielded] : llvm::zip_equal(op.getResults(), body.getTerminator()->getOperands()))
    GRAPHC_RETURN_IF_ERROR(setWide(result, values.lookup(yielded)));
  return {};
}

// The formula is built into a block of its own and run there; nothing of it stays in the program.
Status Interpreter::executeComposite(graph::Composite op) {
  Block scratch;
  llvm::scope_exit cleared([&] {
    for (Operation &inner : scratch)
      for (Value v : inner.getResults())
        values.erase(v);
    scratch.dropAllReferences();
    scratch.clear();
  });
  OpBuilder builder(op->getContext()); // not atBlockEnd: the block has no region to take the context from
  builder.setInsertionPointToEnd(&scratch);
  llvm::SmallVector<Value> replacements = op.decompose(builder);
  for (Operation &inner : scratch)
    GRAPHC_RETURN_IF_ERROR(execute(&inner));
  for (auto [result, replacement] : llvm::zip_equal(op->getResults(), replacements))
    GRAPHC_RETURN_IF_ERROR(setWide(result, values.lookup(replacement)));
  return {};
}

Status Interpreter::executeRoutine(Operation *op) {
  llvm::SmallVector<WideTensor> operands;
  for (Value operand : op->getOperands())
    operands.push_back(values.lookup(operand));
  auto sizes = [&](Value v) {
    std::vector<int64_t> shape;
    for (AffineExpr dim : graph::dimsOf(v.getType()))
      shape.push_back(sizeOf(dim).value_or(-1));
    return shape;
  };
  GRAPHC_ASSIGN_OR_RETURN(auto results, runRoutine(op, operands, sizes, nameOf(op)));
  for (auto [result, tensor] : llvm::zip_equal(op->getResults(), results))
    GRAPHC_RETURN_IF_ERROR(setWide(result, std::move(tensor)));
  return {};
}

Status Interpreter::executeElements(graph::ElementOp op) {
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    GRAPHC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, shapeOf(result.getType()));
    WideTensor tensor(cast<RankedTensorType>(result.getType()).getElementType(), shape);
    auto operand = [&](unsigned n) { return values.lookup(op->getOperand(n)); };
    // Three ops where running the formula would be all that a run does.
    if (auto reshape = dyn_cast<graph::ReshapeOp>(*op)) {
      if (operand(0).elements() != tensor.elements())
        return error(Code::ShapeMismatch, nameOf(op), ": cannot reshape ", Shape(operand(0).shape()).str(), " to ", Shape(shape).str());
      tensor = operand(0).reshaped(shape);
    } else if (auto matmul = dyn_cast<graph::MatmulOp>(*op); matmul && !onlyFormulas) {
      runMatmul(matmul, operand(0), operand(1), tensor);
    } else if (auto conv = dyn_cast<graph::ConvOp>(*op); conv && !onlyFormulas) {
      runConv(conv, operand(0), operand(1), tensor);
    } else {
      std::optional<AffineExpr> unknown;
      auto known = [&](AffineExpr size) {
        auto value = sizeOf(size);
        unknown = value ? unknown : size;
        return value.value_or(0);
      };
      FormulaRecorder recorder(op.getContext(), shape, [&](Value v) { return values.lookup(v); }, known);
      Formula formula = recorder.finish(op.element(recorder, i, recorder.resultIndex()));
      if (unknown)
        return error(Code::ShapeMismatch, nameOf(op), ": size ", graph::toString(*unknown), " has no value yet");
      GRAPHC_RETURN_IF_ERROR(evaluate(formula, tensor, nameOf(op)));
    }
    GRAPHC_RETURN_IF_ERROR(setWide(result, std::move(tensor)));
  }
  return {};
}

// --- control flow

Result<std::vector<WideTensor>> Interpreter::executeBody(Region &body, std::vector<WideTensor> arguments) {
  auto outside = symbols;
  for (auto [argument, tensor] : llvm::zip_equal(body.getArguments(), arguments))
    GRAPHC_RETURN_IF_ERROR(setWide(argument, std::move(tensor)));
  GRAPHC_RETURN_IF_ERROR(executeBlock(body.front(), nullptr));
  std::vector<WideTensor> yielded;
  for (Value v : body.front().getTerminator()->getOperands())
    yielded.push_back(values.lookup(v));
  symbols = std::move(outside);
  return yielded;
}

Status Interpreter::executeIf(graph::IfOp op) {
  bool condition = values.lookup(op.getCondition()).integers()[0] != 0;
  GRAPHC_ASSIGN_OR_RETURN(auto yielded, executeBody(condition ? op.getThenBody() : op.getElseBody(), {}));
  for (auto [result, tensor] : llvm::zip_equal(op.getResults(), yielded))
    GRAPHC_RETURN_IF_ERROR(setWide(result, std::move(tensor)));
  return {};
}

Status Interpreter::executeWhile(graph::WhileOp op) {
  std::vector<WideTensor> carried;
  for (Value init : op.getInits())
    carried.push_back(values.lookup(init));
  for (uint64_t trip = 0; carried[0].integers()[0] != 0 && (!op.getMaxTrips() || trip < *op.getMaxTrips()); ++trip) {
    GRAPHC_ASSIGN_OR_RETURN(carried, executeBody(op.getBody(), std::move(carried)));
  }
  for (auto [result, tensor] : llvm::zip_equal(op.getResults(), carried))
    GRAPHC_RETURN_IF_ERROR(setWide(result, std::move(tensor)));
  return {};
}

Status Interpreter::executeScan(graph::ScanOp op) {
  std::optional<int64_t> trips = sizeOf(op.getCount());
  if (!trips)
    return error(Code::ShapeMismatch, nameOf(op), ": the number of iterations, ", graph::toString(op.getCount()), ", has no value yet");
  std::vector<WideTensor> carried, stacks;
  for (Value init : op.getInits())
    carried.push_back(values.lookup(init));
  for (Value stacked : op.getStacked()) {
    GRAPHC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, shapeOf(stacked.getType()));
    stacks.emplace_back(cast<RankedTensorType>(stacked.getType()).getElementType(), std::move(shape));
  }
  for (int64_t trip = 0; trip < *trips; ++trip) {
    int64_t at = op.getReverse() ? *trips - 1 - trip : trip;
    std::vector<WideTensor> arguments = std::move(carried);
    for (Value scanned : op.getScanned())
      arguments.push_back(values.lookup(scanned).slice(at));
    GRAPHC_ASSIGN_OR_RETURN(auto yielded, executeBody(op.getBody(), std::move(arguments)));
    for (size_t i = 0; i < stacks.size(); ++i)
      stacks[i].setSlice(at, yielded[op.getNumCarried() + i]);
    yielded.resize(op.getNumCarried());
    carried = std::move(yielded);
  }
  for (auto &stack : stacks)
    carried.push_back(std::move(stack));
  for (auto [result, tensor] : llvm::zip_equal(op.getResults(), carried))
    GRAPHC_RETURN_IF_ERROR(setWide(result, std::move(tensor)));
  return {};
}

} // namespace graphc::reference
