// Matrix products and convolutions: what a library may run whole.
#ifndef GRAPHC_IR_GRAPH_CONTRACTION
#define GRAPHC_IR_GRAPH_CONTRACTION
include "ir/graph/GraphBase.td"

def MatmulOp : Graph_Inferred<"matmul", [HasVjp,
    DeclareOpInterfaceMethods<ElementInterface, ["reduces"]>, DeclareOpInterfaceMethods<ContractionInterface>,
    DeclareOpInterfaceMethods<AutocastInterface, ["autocastClass"]>]> {
  let summary = "[batch..., M, K] x [batch..., K, N]; batch dims broadcast; integers accumulate in the result type";
  let arguments = (ins GraphTensor:$lhs, GraphTensor:$rhs, UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = "bool $cppClass::reduces() { return true; }\n" # AutocastDefinition<"Low">.definition;
}
class Graph_Conv<string mnemonic, dag extra> : Graph_Op<mnemonic, [Pure, HasVjp,
    DeclareOpInterfaceMethods<ElementInterface, ["reduces"]>, DeclareOpInterfaceMethods<ContractionInterface>,
    DeclareOpInterfaceMethods<AutocastInterface, ["autocastClass"]>]> {
  let arguments = !con((ins GraphTensor:$x, GraphTensor:$weight, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
    DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high, DefaultValuedAttr<I64Attr, "1">:$groups,
    UnitAttr:$channels_last), extra);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$x `,` $weight attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDefinition = "bool $cppClass::reduces() { return true; }\n" # AutocastDefinition<"Low">.definition;
}
// Weight [M, C/groups, window...] always; x and result are [N, C, spatial...], or [N, spatial..., C] with channels_last.
def ConvOp : Graph_Conv<"conv", (ins)>;
// Weight [C, M/groups, window...]; the result type carries the sizes (output padding included).
def ConvTransposeOp : Graph_Conv<"conv_transpose", (ins)>;

// The gradient of conv's weight: result[m, c, k] sums grad[n, m, o] * x[n, c, o * stride + k * dilation - pad] over n and o. `x`
// is the convolution's operand, `grad` has the sizes of its result; the result type carries those of the weight.
def ConvWeightGradOp : Graph_Op<"conv_weight_grad", [Pure, HasVjp,
    DeclareOpInterfaceMethods<ElementInterface, ["reduces"]>, DeclareOpInterfaceMethods<ContractionInterface>,
    DeclareOpInterfaceMethods<AutocastInterface, ["autocastClass"]>]> {
  let arguments = (ins GraphTensor:$x, GraphTensor:$grad, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
    DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high, DefaultValuedAttr<I64Attr, "1">:$groups,
    UnitAttr:$channels_last);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$x `,` $grad attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDefinition = "bool $cppClass::reduces() { return true; }\n" # AutocastDefinition<"Low">.definition;
}
#endif
