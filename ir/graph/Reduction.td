// Reductions, scans and pooling.
#ifndef GRAPHC_IR_GRAPH_REDUCTION
#define GRAPHC_IR_GRAPH_REDUCTION
include "ir/graph/GraphBase.td"

def ReduceOp : Graph_Inferred<"reduce", [HasVjp, DeclareOpInterfaceMethods<ElementInterface, ["reduces"]>,
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
def ArgReduceOp : Graph_Inferred<"arg_reduce", [NotDifferentiable, DeclareOpInterfaceMethods<ElementInterface, ["reduces"]>]> {
  let summary = "i64 index of the maximum or minimum along `axis`; the first (or last) of equals; NaN counts as the extreme";
  let arguments = (ins GraphTensor:$x, StrAttr:$kind, I64Attr:$axis, UnitAttr:$keep, UnitAttr:$last);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$kind $x `axis` $axis (`keep` $keep^)? (`last` $last^)? attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = "bool $cppClass::reduces() { return true; }";
}

// Pooling over the spatial dims of [N, C, spatial...] (or [N, spatial..., C] with channels_last).
// The result type carries the sizes (they depend on ceil mode).
class Graph_Pool<string mnemonic, Trait vjp, dag extra, dag ins_ = (ins GraphTensor:$x)>
    : Graph_Op<mnemonic, [Pure, vjp, DeclareOpInterfaceMethods<ElementInterface, ["reduces"]>,
    DeclareOpInterfaceMethods<AutocastInterface, ["autocastClass"]>]> {
  let arguments = !con(ins_, (ins DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
    DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high, UnitAttr:$channels_last), extra);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  // Volumes in f32, images as they come: what PyTorch's users expect.
  let extraClassDefinition = "bool $cppClass::reduces() { return true; }\n" #
    AutocastDefinition<"::mlir::cast<::mlir::RankedTensorType>(getX().getType()).getRank() == 5 ? Full : Natural">.definition;
}
def MaxPoolOp : Graph_Pool<"max_pool", HasVjp, (ins)>;
// i64 index, into the flattened [N, C, spatial...] operand, of the maximum of each window (column-major spatial on request).
def MaxPoolIndexOp : Graph_Pool<"max_pool_index", NotDifferentiable, (ins UnitAttr:$column_major)>;
// With `sum` the values are added up, not averaged.
def AvgPoolOp : Graph_Pool<"avg_pool", HasVjp, (ins UnitAttr:$count_pad, UnitAttr:$sum)>;
// (sum |x|^p)^(1/p)
def LpPoolOp : Graph_Pool<"lp_pool", HasVjp, (ins DefaultValuedAttr<I64Attr, "2">:$p)>;

// The transposes of the pools: windows put back where they came from, overlaps added up. `x` has the sizes of the pool's
// result, the result those of its operand.
// Each value spread over its window, divided by what avg_pool divides by.
def AvgUnpoolOp : Graph_Pool<"avg_unpool", HasVjp, (ins UnitAttr:$count_pad, UnitAttr:$sum)>;
// Each value put where max_pool_index says.
def MaxUnpoolOp : Graph_Pool<"max_unpool", HasVjp, (ins), (ins GraphTensor:$x, GraphTensor:$indices)>;
#endif
