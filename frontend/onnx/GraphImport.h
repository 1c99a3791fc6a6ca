// Walks the nodes of a model and keeps what every value is. One instance imports one model.
#pragma once

#include "frontend/onnx/Import.h"
#include "frontend/onnx/Node.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

#include <onnx/onnx_pb.h>
#include <unordered_map>

namespace graphc::onnx_import {

/// Names visible in a graph; those of an enclosing graph through `parent`.
struct Scope {
  Scope *parent = nullptr;
  std::unordered_map<std::string, TensorPtr> values;
  std::map<std::string, int64_t> opsets;                          // domain -> version
  const std::map<std::string, ::onnx::AttributeProto> *attributes = nullptr; // of the enclosing function call
  std::string prefix;                                              // of node names, inside function bodies
  std::unordered_map<std::string, Dims> declared;                  // static types of value_info and outputs

  TensorPtr find(const std::string &name) const;
};

/// Every problem of a model, reported at the end: errors one by one, unsupported nodes by kind in one message.
class Report {
public:
  void error(Code code, std::string message) { errors.push_back({code, std::move(message)}); }
  void unsupported(const std::string &kind, const std::string &node, const std::string &reason);
  void remark(std::string message) { remarks.push_back(std::move(message)); }
  bool clean() const { return errors.empty() && kinds.empty(); }
  void send(const std::string &model, const DiagnosticSink &sink) const;

private:
  struct Kind {
    int count = 0;
    std::vector<std::string> nodes;
    std::set<std::string> reasons;
  };
  std::vector<ImportDiagnostic> errors;
  std::map<std::string, Kind> kinds;
  std::vector<std::string> remarks;
};

class GraphImporter {
public:
  GraphImporter(const ::onnx::ModelProto &model, std::vector<std::optional<RawRange>> raws, LiteralSource source,
                const ImportOptions &options, std::string modelName);

  /// Builds the module; an incomplete one is dropped by the caller when the report is not clean.
  ImportResult run(Report &report);

  // For Node.
  mlir::OpBuilder &opBuilder() { return builder; }
  Value materialize(Tensor &tensor, Build &at);
  std::optional<Known> knownOf(Tensor &tensor);
  const LiteralSource &literalSource() const { return source; }
  SizeFacts facts;
  /// Imports the body of an If branch or a loop into the current block, with these as its inputs; results in order.
  std::vector<TensorPtr> inlineGraph(const ::onnx::GraphProto &graph, Scope &scope, ArrayRef<TensorPtr> inputs = {});
  bool inlineFunction(const ::onnx::NodeProto &node, Scope &scope);
  Report *report = nullptr;
  std::set<std::string> valueInputs;

private:
  void addInputs();
  void addInitializers();
  void importNodes(const google::protobuf::RepeatedPtrField<::onnx::NodeProto> &nodes, Scope &scope, bool outer);
  void importNode(const ::onnx::NodeProto &node, Scope &scope, int index);
  void dispatch(Node &n, const std::string &domain);
  void finish();
  int opsetOf(const std::string &domain, const Scope &scope) const;
  mlir::Location locationOf(const ::onnx::NodeProto &node, const Scope &scope, int index) const;
  std::string nodeLabel(const ::onnx::NodeProto &node, const Scope &scope) const;
  std::string weightFor(Literal &literal, const std::string &name);
  void loadHandlers();
  void declareTypes(const ::onnx::GraphProto &graph, Scope &scope);

  const ::onnx::ModelProto &model;
  std::vector<std::optional<RawRange>> raws;
  LiteralSource source;
  const ImportOptions &options;
  std::string modelName;
  mlir::MLIRContext *ctx;
  mlir::OpBuilder builder;
  ImportResult result;
  mlir::func::FuncOp function;
  Scope top;
  std::map<std::pair<std::string, std::string>, llvm::SmallVector<Handler, 1>> handlers;
  llvm::StringMap<llvm::SmallVector<mlir::RegisteredOperationName, 1>> named; // OnnxNamed ops, by ONNX name
  std::set<std::string> weightNames;
  int callDepth = 0;
  int calls = 0;
};

} // namespace graphc::onnx_import
