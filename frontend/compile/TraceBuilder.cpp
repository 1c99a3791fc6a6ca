#include "frontend/compile/TraceBuilder.h"

#include "frontend/compile/OpBuilding.h"
#include "frontend/onnx/Import.h"
#include "ir/graph/Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "passes/plan/PlaceBuffers.h"

#include <map>

using namespace mlir;
using namespace graphc;

namespace {

class TraceBuilder {
public:
  TraceBuilder(MLIRContext &context, const TraceGraph &graph) : context_(context), graph_(graph), b_(&context) {}

  OwningOpRef<ModuleOp> build() {
    Location loc = NameLoc::get(b_.getStringAttr(graph_.name));
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    b_.setInsertionPointToEnd(module->getBody());
    SmallVector<Type> arguments;
    SmallVector<int64_t> numbers; // of each entry of graph_.arguments among the function's; -1: a weight
    for (const TraceGraph::Argument &argument : graph_.arguments) {
      auto type = parseValueType(argument.type, &context_);
      if (!type.ok())
        return fail(type.status());
      bool isWeight = argument.weightOffset >= 0;
      numbers.push_back(isWeight ? -1 : static_cast<int64_t>(arguments.size()));
      if (isWeight)
        graph::WeightOp::create(b_, loc, weightName(numbers.size() - 1), *type, kSideFile, argument.weightOffset,
                                type->getNumElements() * llvm::divideCeil(type->getElementTypeBitWidth(), 8));
      else
        arguments.push_back(*type);
    }
    auto func = func::FuncOp::create(b_, loc, "main", b_.getFunctionType(arguments, {}));
    Block *block = func.addEntryBlock();
    b_.setInsertionPointToStart(block);
    for (auto [i, number] : llvm::enumerate(graph_.argumentValues)) {
      if (numbers[i] >= 0) {
        set(number, block->getArgument(numbers[i]));
        continue;
      }
      auto type = parseValueType(graph_.arguments[i].type, &context_);
      set(number, graph::GetWeightOp::create(b_, NameLoc::get(b_.getStringAttr(graph_.arguments[i].name)), *type, weightName(i)));
    }
    for (const TraceGraph::Step &step : graph_.steps)
      if (Status status = step.program < 0 ? emitOp(step) : emitProgram(step); !status.ok())
        return fail(status);
    SmallVector<Value> results;
    for (const TraceGraph::Result &result : graph_.results)
      results.push_back(values_[result.value]);
    func::ReturnOp::create(b_, loc, results);
    func.setFunctionType(b_.getFunctionType(arguments, TypeRange(ValueRange(results))));
    for (auto [i, argument] : llvm::enumerate(graph_.arguments))
      if (numbers[i] >= 0)
        func.setArgAttr(numbers[i], "graph.name", b_.getStringAttr(argument.name));
    for (auto [i, result] : llvm::enumerate(graph_.results)) {
      func.setResultAttr(i, "graph.name", b_.getStringAttr(result.name));
      if (result.updates >= 0)
        func.setResultAttr(i, kUpdates, b_.getI64IntegerAttr(numbers[result.updates]));
    }
    setSymbols(func);
    if (failed(verify(*module)))
      return nullptr;
    return module;
  }

private:
  static std::string weightName(size_t argument) { return "weight" + std::to_string(argument); }
  std::nullptr_t fail(const Status &status) {
    emitError(b_.getUnknownLoc()) << status.message();
    return nullptr;
  }
  void set(int number, Value value) {
    if (values_.size() <= static_cast<size_t>(number))
      values_.resize(static_cast<size_t>(number) + 1);
    values_[number] = value;
  }

  void setSymbols(func::FuncOp func) {
    NamedAttrList symbols;
    for (const TraceGraph::Symbol &symbol : graph_.symbols)
      symbols.append(symbol.name, b_.getDictionaryAttr({b_.getNamedAttr("hi", b_.getI64IntegerAttr(symbol.hi)),
                                                        b_.getNamedAttr("lo", b_.getI64IntegerAttr(symbol.lo))}));
    if (!symbols.empty())
      func->setAttr("symbols", symbols.getDictionary(&context_));
  }

  SmallVector<Value> operandsOf(const TraceGraph::Step &step) {
    SmallVector<Value> operands;
    for (int operand : step.op.operands)
      operands.push_back(values_[operand]);
    return operands;
  }

  Status emitOp(const TraceGraph::Step &step) {
    GRAPHC_ASSIGN_OR_RETURN(Operation *op, buildOp(b_, step.op, operandsOf(step), NameLoc::get(b_.getStringAttr(step.op.op))));
    for (auto [number, value] : llvm::zip(step.results, op->getResults()))
      set(number, value);
    return {};
  }

  Result<func::FuncOp> programOf(int number) {
    OwningOpRef<ModuleOp> &module = programs_[number];
    if (!module)
      module = parseSourceString<ModuleOp>(graph_.programs[number].text, ParserConfig(&context_));
    if (!module)
      return error(Code::Internal, "op program ", graph_.programNames[number], " does not parse");
    return module->lookupSymbol<func::FuncOp>("main");
  }

  Result<AffineExpr> sizeOf(const std::string &text) {
    auto [known, isNew] = sizes_.try_emplace(text, nullptr);
    if (isNew) {
      GRAPHC_ASSIGN_OR_RETURN(RankedTensorType type, parseValueType({graphc::DType::F32, {text}}, &context_));
      known->second = graph::dimsOf(type)[0];
    }
    return known->second;
  }

  /// The program's body, its symbols replaced by the sizes they have here.
  Status emitProgram(const TraceGraph::Step &step) {
    GRAPHC_ASSIGN_OR_RETURN(func::FuncOp program, programOf(step.program));
    DenseMap<AffineExpr, AffineExpr> sizes;
    for (auto [s, text] : llvm::enumerate(step.symbols)) {
      GRAPHC_ASSIGN_OR_RETURN(AffineExpr size, sizeOf(text));
      sizes[graph::symbolDim("s" + std::to_string(s), &context_)] = size;
    }
    auto replacedDims = [&](ArrayRef<AffineExpr> dims) {
      SmallVector<AffineExpr> replaced;
      for (AffineExpr dim : dims)
        replaced.push_back(graph::simplify(dim.replace(sizes)));
      return replaced;
    };
    auto replacedType = [&](Type type) -> Type {
      auto tensor = dyn_cast<RankedTensorType>(type);
      return tensor ? graph::tensorType(replacedDims(graph::dimsOf(tensor)), tensor.getElementType()) : type;
    };
    Block &body = program.getBody().front();
    IRMapping mapping;
    for (auto [argument, value] : llvm::zip(body.getArguments(), operandsOf(step))) {
      if (replacedType(argument.getType()) != value.getType())
        return error(Code::Internal, "op program ", graph_.programNames[step.program], " takes other types than it is given");
      mapping.map(argument, value);
    }
    Location loc = NameLoc::get(b_.getStringAttr(graph_.programNames[step.program]));
    for (Operation &op : body.without_terminator()) {
      Operation *copy = b_.clone(op, mapping);
      copy->walk([&](Operation *inner) {
        inner->setLoc(loc);
        for (Value result : inner->getResults())
          result.setType(replacedType(result.getType()));
        for (Region &region : inner->getRegions())
          for (Block &block : region)
            for (BlockArgument argument : block.getArguments())
              argument.setType(replacedType(argument.getType()));
        for (NamedAttribute attribute : llvm::to_vector(inner->getAttrs()))
          if (auto dims = dyn_cast<graph::DimsAttr>(attribute.getValue()))
            inner->setAttr(attribute.getName(), graph::DimsAttr::get(&context_, replacedDims(dims.getDims())));
      });
    }
    for (auto [number, value] : llvm::zip(step.results, body.getTerminator()->getOperands()))
      set(number, mapping.lookupOrDefault(value));
    return {};
  }

  MLIRContext &context_;
  const TraceGraph &graph_;
  OpBuilder b_;
  SmallVector<Value> values_;
  std::map<int, OwningOpRef<ModuleOp>> programs_;
  std::map<std::string, AffineExpr> sizes_;
};

} // namespace

OwningOpRef<ModuleOp> graphc::buildTrace(MLIRContext &context, const TraceGraph &graph) { return TraceBuilder(context, graph).build(); }
