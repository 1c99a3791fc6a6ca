#include "frontend/compile/OpBuilding.h"

#include "ir/graph/Graph.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "runtime/base/TensorCodes.h"

using namespace mlir;

namespace graphc {

/// "tensor<?x4xf32, #graph.dims<[s0, 4]>>"
static std::string typeText(const OpValueType &type) {
  auto number = [](const std::string &dim) { return !dim.empty() && llvm::all_of(dim, llvm::isDigit); };
  std::string shape, dims;
  bool dynamic = false;
  for (const std::string &dim : type.dims) {
    shape += (number(dim) ? dim : "?") + "x";
    dims += (dims.empty() ? "" : ", ") + dim;
    dynamic |= !number(dim);
  }
  static constexpr const char *names[kNumDTypes] = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "ui64", "ui32", "ui16", "ui8", "i1"};
  std::string text = "tensor<" + shape + names[static_cast<int>(type.dtype)];
  return text + (dynamic ? ", #graph.dims<[" + dims + "]>>" : ">");
}

Result<RankedTensorType> parseValueType(const OpValueType &type, MLIRContext *context) {
  auto parsed = dyn_cast_or_null<RankedTensorType>(parseType(typeText(type), context));
  if (!parsed)
    return error(Code::Internal, "the type ", typeText(type), " does not parse");
  return parsed;
}

/// The result types an op infers from operands and attributes, whatever the op.
static FailureOr<SmallVector<Type>> inferTypes(OperationName name, ValueRange operands, DictionaryAttr attributes, Location loc) {
  auto *infer = name.getInterface<InferTypeOpInterface>();
  if (!infer)
    return emitError(loc) << "graph op " << name << " needs its result types", failure();
  std::vector<char> memory(name.getOpPropertyByteSize() + alignof(std::max_align_t));
  OpaqueProperties properties(nullptr);
  if (name.getOpPropertyByteSize()) {
    auto address = reinterpret_cast<uintptr_t>(memory.data());
    address = (address + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);
    properties = OpaqueProperties(reinterpret_cast<void *>(address));
    name.initOpProperties(properties, OpaqueProperties(nullptr));
    if (failed(name.setOpPropertiesFromAttribute(name, properties, attributes, [&] { return emitError(loc); })))
      return failure();
  }
  SmallVector<Type> types;
  LogicalResult inferred = infer->inferReturnTypes(name.getContext(), loc, operands, attributes, properties, {}, types);
  if (properties)
    name.destroyOpProperties(properties);
  if (failed(inferred))
    return failure();
  return types;
}

Result<Operation *> buildOp(OpBuilder &b, const OpNode &node, ValueRange operands, Location loc) {
  auto attributes = dyn_cast_or_null<DictionaryAttr>(parseAttribute("{" + node.attributes + "}", b.getContext()));
  if (!attributes)
    return error(codes::InvalidArgument, "the attributes {", node.attributes, "} of graph op \"", node.op, "\" do not parse");
  OperationState state(loc, "graph." + node.op);
  if (!state.name.isRegistered())
    return error(codes::InvalidArgument, "there is no graph op \"", node.op, "\"");
  state.addOperands(operands);
  state.addAttributes(attributes.getValue());
  for (const OpValueType &type : node.results) {
    GRAPHC_ASSIGN_OR_RETURN(RankedTensorType parsed, parseValueType(type, b.getContext()));
    state.addTypes(parsed);
  }
  if (node.results.empty()) {
    auto types = inferTypes(state.name, state.operands, attributes, loc);
    if (failed(types))
      return error(Code::ShapeMismatch, "op ", node.op, " does not take these operands");
    state.addTypes(*types);
  }
  Operation *op = b.create(state);
  if (failed(mlir::verify(op)))
    return error(Code::ShapeMismatch, "op ", node.op, " is not valid");
  return op;
}

} // namespace graphc
