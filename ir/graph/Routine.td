// Ops that a routine of the runtime executes: their result order or size depends on data.
#ifndef GRAPHC_IR_GRAPH_ROUTINE
#define GRAPHC_IR_GRAPH_ROUTINE
include "ir/graph/GraphBase.td"

class Graph_Routine<string mnemonic, string routine, Trait vjp, dag ins_, dag outs_ = (outs GraphTensor:$result)>
    : Graph_Op<mnemonic, [Pure, vjp, DeclareOpInterfaceMethods<RoutineInterface>,
        DeclareOpInterfaceMethods<AutocastInterface, ["autocastClass"]>]> {
  let arguments = ins_;
  let results = outs_;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  // Order and comparison of scores in full precision: two of them that a rounding made equal would change places.
  let extraClassDefinition = "::llvm::StringRef $cppClass::routineName() { return \"" # routine # "\"; }\n" #
    AutocastDefinition<"Full">.definition;
}
// Result types carry the sizes; a data-dependent size is a fresh symbol named in the result type.
def TopKOp : Graph_Routine<"topk", "topk", HasVjp, (ins GraphTensor:$x, I64Attr:$axis, BoolAttr:$largest, BoolAttr:$sorted),
    (outs GraphTensor:$values, GraphTensor:$indices)>;
def NonZeroOp : Graph_Routine<"nonzero", "nonzero", NotDifferentiable, (ins GraphTensor:$x)>;
def UniqueOp : Graph_Routine<"unique", "unique", NotDifferentiable, (ins GraphTensor:$x, OptionalAttr<I64Attr>:$axis, BoolAttr:$sorted),
    (outs GraphTensor:$values, GraphTensor:$indices, GraphTensor:$inverse, GraphTensor:$counts)>;
def CompressOp : Graph_Routine<"compress", "compress", HasVjp, (ins GraphTensor:$x, GraphTensor:$condition, OptionalAttr<I64Attr>:$axis)>;
// reduction: none | add | mul | max | min. Updates apply in order of their index.
def ScatterElementsOp : Graph_Routine<"scatter_elements", "scatter_elements", HasVjp,
    (ins GraphTensor:$x, GraphTensor:$indices, GraphTensor:$updates, I64Attr:$axis, StrAttr:$reduction)>;
def ScatterNDOp : Graph_Routine<"scatter_nd", "scatter_nd", HasVjp,
    (ins GraphTensor:$x, GraphTensor:$indices, GraphTensor:$updates, StrAttr:$reduction)>;
// kind: sum | prod
def CumulativeOp : Graph_Routine<"cumulative", "cumulative", HasVjp,
    (ins GraphTensor:$x, StrAttr:$kind, I64Attr:$axis, UnitAttr:$exclusive, UnitAttr:$reverse)>;
def NonMaxSuppressionOp : Graph_Routine<"nms", "nms", NotDifferentiable, (ins GraphTensor:$boxes, GraphTensor:$scores,
    DefaultValuedAttr<I64Attr, "0">:$max_per_class, DefaultValuedAttr<F64Attr, "0.0">:$iou_threshold,
    DefaultValuedAttr<F64Attr, "-INFINITY">:$score_threshold, UnitAttr:$center_boxes)>;
#endif
