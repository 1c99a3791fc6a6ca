// What one operator's import sees: its inputs, attributes and opset, and the words of Build to answer with.
#pragma once

#include "frontend/onnx/Build.h"
#include "frontend/onnx/Tensors.h"

namespace onnx {
class NodeProto;
class AttributeProto;
class GraphProto;
} // namespace onnx

namespace graphc::onnx_import {

class GraphImporter;
struct Scope;

class Node : public Build {
public:
  Node(GraphImporter &importer, const ::onnx::NodeProto &proto, Scope &scope, int opset, mlir::Location loc);

  GraphImporter &importer;
  const ::onnx::NodeProto &proto;
  Scope &scope;
  const int opset;

  StringRef op() const;

  // Inputs. An empty name is an input left out.
  size_t inputCount() const;
  bool has(size_t i) const;
  Tensor &in(size_t i);
  /// The value; builds its op when so far only its contents are known.
  Value x(size_t i);
  mlir::RankedTensorType type(size_t i) { return in(i).type; }
  mlir::Type element(size_t i) { return in(i).type.getElementType(); }
  Dims dimsOf(size_t i) { return graph::dimsOf(in(i).type); }
  int64_t rankOf(size_t i) { return in(i).type.getRank(); }
  /// Contents when they are known without running anything.
  std::optional<Known> known(size_t i);
  // Contents that must be known; `what` names the parameter in the report.
  std::vector<AffineExpr> sizes(size_t i, StringRef what);
  std::vector<int64_t> ints(size_t i, StringRef what);
  int64_t intScalar(size_t i, StringRef what);
  double floatScalar(size_t i, StringRef what);
  std::vector<double> floatVector(size_t i, StringRef what);
  [[noreturn]] void needsValue(size_t i, StringRef what);

  // Attributes.
  const ::onnx::AttributeProto *find(StringRef name) const;
  bool hasAttr(StringRef name) const { return find(name) != nullptr; }
  int64_t i(StringRef name, int64_t otherwise) const;
  double f(StringRef name, double otherwise) const;
  std::string s(StringRef name, StringRef otherwise) const;
  std::vector<int64_t> ints(StringRef name) const;
  std::vector<double> floats(StringRef name) const;
  std::vector<std::string> strings(StringRef name) const;
  std::shared_ptr<Literal> tensor(StringRef name) const;
  const ::onnx::GraphProto *graphAttr(StringRef name) const;

  // Results.
  size_t outputCount() const;
  bool wants(size_t i) const;
  void out(size_t i, Value v);
  void out(Value v) { out(0, v); }
  void outKnown(size_t i, mlir::RankedTensorType type, Known known);
  void outLiteral(size_t i, std::shared_ptr<Literal> literal);
  /// The result is another name of input `input`, reshaped to `dims` if given.
  void outSame(size_t i, size_t input);
  void outReshaped(size_t input, ArrayRef<AffineExpr> dims);
  /// Elements of input `input` at these row-major positions (for known contents); false when they are not known.
  bool outPicked(size_t input, ArrayRef<AffineExpr> dims, const std::function<std::vector<int64_t>()> &positions);
  /// Sizes of the result as the model declares them, when all are constant.
  std::optional<Dims> declaredDims(size_t i) const;
  void remark(const std::string &message);

  // Shared by several operators.
  /// Axes given as attribute (`axes`) or as input `input`; counted from the front of `rank`, sorted.
  std::vector<int64_t> axes(size_t input, int64_t rank, bool *given = nullptr);
};

/// One operator. The entry with the highest `since` not above the model's opset is used.
struct Handler {
  const char *op;
  int since;
  void (*run)(Node &);
  const char *domain = "";
};

// One table per family; the operators that are one elementwise op of the dialect are found through OnnxNamed.
ArrayRef<Handler> elementwiseOps();
ArrayRef<Handler> movementOps();
ArrayRef<Handler> indexOps();
ArrayRef<Handler> generateOps();
ArrayRef<Handler> reduceOps();
ArrayRef<Handler> contractionOps();
ArrayRef<Handler> convolutionOps();
ArrayRef<Handler> poolOps();
ArrayRef<Handler> normOps();
ArrayRef<Handler> quantizeOps();
ArrayRef<Handler> resizeOps();
ArrayRef<Handler> lossOps();
ArrayRef<Handler> attentionOps();
ArrayRef<Handler> routineOps();
ArrayRef<Handler> sequenceOps();
ArrayRef<Handler> controlOps();
ArrayRef<Handler> recurrentOps();
ArrayRef<Handler> signalOps();

/// Why an operator that exists in ONNX is not imported; empty when nothing is known of it.
StringRef unsupportedReason(StringRef domain, StringRef op);

/// The import of an operator that is one op of the dialect (OnnxNamed): attributes are copied by name.
void importNamed(Node &n, mlir::RegisteredOperationName op);
/// Elementwise operator on known contents (broadcasting); true when the result was decided.
bool evaluateKnown(Node &n, mlir::Type resultElement);

} // namespace graphc::onnx_import
