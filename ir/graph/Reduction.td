// Reductions, scans and pooling.
#ifndef GRAPHC_IR_GRAPH_REDUCTION
#define GRAPHC_IR_GRAPH_REDUCTION
include "ir/graph/GraphBase.td"

class Graph_Reducing<string mnemonic, dag ins_> : Graph_Inferred<mnemonic, [
    DeclareOpInterfaceMethods<ElementInterface, ["reduces"]>]> {
  let arguments = ins_;
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = "bool $cppClass::reduces() { return true; }";
}
def ReduceOp : Graph_Inferred<"reduce", [DeclareOpInterfaceMethods<ElementInterface, ["reduces"]>,
    DeclareOpInterfaceMethods<AutocastInterface, ["autocastClass"]>]> {
  let summary = "kind sum | prod | max | min | any | all over `axes` (ascending); kept as size 1 with `keep`";
  let description = "max and min propagate NaN; the sum of f16/bf16 is accumulated in f32.";
  let arguments = (ins GraphTensor:$x, StrAttr:$kind, DenseI64ArrayAttr:$axes, UnitAttr:$keep);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$kind $x `axes` $axes (`keep` $keep^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  // A product of many factors leaves the range first; a sum is accumulated in f32 anyway.
  let extraClassDefinition = "bool $cppClass::reduces() { return true; }\n" #
    AutocastDefinition<"getKind() == \"prod\" ? Full : Natural">.definition;
}
def ArgReduceOp : Graph_Inferred<"arg_reduce", [DeclareOpInterfaceMethods<ElementInterface, ["reduces"]>]> {
  let summary = "i64 index of the maximum or minimum along `axis`; the first (or last) of equals; NaN counts as the extreme";
  let arguments = (ins GraphTensor:$x, StrAttr:$kind, I64Attr:$axis, UnitAttr:$keep, UnitAttr:$last);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$kind $x `axis` $axis (`keep` $keep^)? (`last` $last^)? attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = "bool $cppClass::reduces() { return true; }";
}

// Pooling over the spatial dims of [N, C, spatial...] (or [N, spatial..., C] with channels_last).
// The result type carries the sizes (they depend on ceil mode).
class Graph_Pool<string mnemonic, dag extra> : Graph_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<ElementInterface, ["reduces"]>,
    DeclareOpInterfaceMethods<AutocastInterface, ["autocastClass"]>]> {
  let arguments = !con((ins GraphTensor:$x, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
    DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high, UnitAttr:$channels_last), extra);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  // Volumes in f32, images as they come: what PyTorch's users expect.
  let extraClassDefinition = "bool $cppClass::reduces() { return true; }\n" #
    AutocastDefinition<"::mlir::cast<::mlir::RankedTensorType>(getX().getType()).getRank() == 5 ? Full : Natural">.definition;
}
def MaxPoolOp : Graph_Pool<"max_pool", (ins)>;
// i64 index, into the flattened [N, C, spatial...] operand, of the maximum of each window (column-major spatial on request).
def MaxPoolIndexOp : Graph_Pool<"max_pool_index", (ins UnitAttr:$column_major)>;
def AvgPoolOp : Graph_Pool<"avg_pool", (ins UnitAttr:$count_pad)>;
// (sum |x|^p)^(1/p)
def LpPoolOp : Graph_Pool<"lp_pool", (ins DefaultValuedAttr<I64Attr, "2">:$p)>;
#endif
