// Composites: a formula over other ops in passes/decompose, unless a target keeps them whole.
#ifndef GRAPHC_IR_GRAPH_COMPOSITE
#define GRAPHC_IR_GRAPH_COMPOSITE
include "ir/graph/GraphBase.td"

// Norms and softmax, all of them: sums of many terms, which a low precision would ruin.
class Graph_Composite<string mnemonic, dag ins_> : Graph_Op<mnemonic, [Pure,
    DeclareOpInterfaceMethods<InferTypeOpInterface>, DeclareOpInterfaceMethods<CompositeInterface>,
    DeclareOpInterfaceMethods<AutocastInterface, ["autocastClass"]>]> {
  let arguments = ins_;
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  // Every composite has the type of its first operand.
  let extraClassDeclaration = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange l, ::mlir::TypeRange r) {
      return ::graphc::graph::typesAgree(l, r);
    }
  }];
  let extraClassDefinition = AutocastDefinition<"Full">.definition # [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *, std::optional<::mlir::Location>,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr, ::mlir::OpaqueProperties, ::mlir::RegionRange,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      types.push_back(operands[0].getType());
      return ::llvm::success();
    }
  }];
}
def SoftmaxOp    : Graph_Composite<"softmax", (ins GraphTensor:$x, I64Attr:$axis)>;
def LogSoftmaxOp : Graph_Composite<"log_softmax", (ins GraphTensor:$x, I64Attr:$axis)>;
// Normalises over the dims from `axis` on; scale and bias broadcast to them.
def LayerNormOp : Graph_Composite<"layer_norm", (ins GraphTensor:$x, GraphTensor:$scale, Optional<GraphTensor>:$bias, I64Attr:$axis, F64Attr:$epsilon)>;
def RMSNormOp   : Graph_Composite<"rms_norm", (ins GraphTensor:$x, GraphTensor:$scale, I64Attr:$axis, F64Attr:$epsilon)>;
// Channels are dim 1, or the last with channels_last.
def BatchNormOp : Graph_Composite<"batch_norm", (ins GraphTensor:$x, GraphTensor:$scale, GraphTensor:$bias,
    GraphTensor:$mean, GraphTensor:$variance, F64Attr:$epsilon, UnitAttr:$channels_last)>;
def InstanceNormOp : Graph_Composite<"instance_norm", (ins GraphTensor:$x, GraphTensor:$scale, GraphTensor:$bias, F64Attr:$epsilon)>;
// scale and bias are per channel.
def GroupNormOp : Graph_Composite<"group_norm", (ins GraphTensor:$x, GraphTensor:$scale, GraphTensor:$bias, I64Attr:$groups, F64Attr:$epsilon)>;
def LrnOp : Graph_Composite<"lrn", (ins GraphTensor:$x, I64Attr:$size, F64Attr:$alpha, F64Attr:$beta, F64Attr:$bias)>;
// softmax(query key^T * scale + mask) value on [.., S, D], [.., T, D], [.., T, E], mask broadcasting to [.., S, T]; a
// boolean mask keeps what is true. With nan_to_zero a NaN probability counts as 0: a row that keeps nothing gives 0.
def AttentionOp : Graph_Op<"attention", [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>, DeclareOpInterfaceMethods<CompositeInterface>,
    DeclareOpInterfaceMethods<AutocastInterface, ["autocastClass", "keepsOperand"]>]> {
  let extraClassDefinition = AutocastDefinition<"Low">.definition #
    "bool $cppClass::keepsOperand(unsigned operand) { return operand == 3; }"; // the mask
  let arguments = (ins GraphTensor:$query, GraphTensor:$key, GraphTensor:$value, Optional<GraphTensor>:$mask, F64Attr:$scale,
    UnitAttr:$nan_to_zero);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange l, ::mlir::TypeRange r) {
      return ::graphc::graph::typesAgree(l, r);
    }
  }];
}
#endif
