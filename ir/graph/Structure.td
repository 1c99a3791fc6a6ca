// Fusion groups and the entry checks of symbolic sizes.
#ifndef GRAPHC_IR_GRAPH_STRUCTURE
#define GRAPHC_IR_GRAPH_STRUCTURE
include "ir/graph/GraphBase.td"

// One kernel, library call, routine call or view: made by `fuse`, outlined by `kernels`.
def GroupOp : Graph_Op<"group", [NotDifferentiable, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "ops that run as one: kind loop | library | routine | view";
  let arguments = (ins StrAttr:$kind);
  let results = (outs Variadic<GraphTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$kind attr-dict-with-keyword $body `:` type($results)";
  let hasVerifier = 1;
}
// Sizes known only at run time that must agree: checked on entry, or where the size becomes known.
def AssumeEqualOp : Graph_Op<"assume_equal", [NotDifferentiable]> {
  let arguments = (ins DimsAttr:$sizes, StrAttr:$message);
  let assemblyFormat = "$sizes $message attr-dict";
}
#endif
