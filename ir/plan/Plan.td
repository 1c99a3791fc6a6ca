// The plan dialect: what the runtime does, still as values. `plan` adds where results live; the binary phase serialises it.
#ifndef GRAPHC_IR_PLAN
#define GRAPHC_IR_PLAN
include "ir/graph/GraphBase.td"

def PlanDialect : Dialect {
  let name = "plan";
  let cppNamespace = "::graphc::plan";
  let summary = "runtime commands over tensor values";
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::graphc::graph::GraphDialect"];
}

def StridedAttr : AttrDef<PlanDialect, "Strided"> {
  let summary = "how a library reads an operand: sizes, strides and offset in elements of its dense buffer";
  let mnemonic = "strided";
  let parameters = (ins "::graphc::graph::DimsAttr":$dims, "::graphc::graph::DimsAttr":$strides, "::graphc::graph::DimsAttr":$offset);
  let assemblyFormat = "`<` `dims` $dims `strides` $strides `offset` $offset `>`";
}
def PostOpAttr : AttrDef<PlanDialect, "PostOp"> {
  let summary = "one step of a library call's epilogue; operand: index into the call's operands, -1 for none";
  let mnemonic = "post";
  let parameters = (ins "::mlir::StringAttr":$kind, "::mlir::FloatAttr":$alpha, "::mlir::FloatAttr":$beta, "int64_t":$operand);
  let hasCustomAssemblyFormat = 1;
}

class Plan_Op<string mnemonic, list<Trait> traits = []> : Op<PlanDialect, mnemonic, traits>;

// `place`, on any of these once the plan phase ran: one entry per result, see passes/plan.
def DispatchOp : Plan_Op<"dispatch", [Pure]> {
  let summary = "runs a kernel over its outer range";
  let description = [{
    Buffers of the kernel are the operands, then the results. Its scalars are `scalars`. `inplace[i]` is the operand whose memory
    result i may take (every access of both is at the same element), or -1. `sites` names the ops whose indices are checked.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<GraphTensor>:$inputs, DimsAttr:$scalars,
                   OptionalAttr<DenseI64ArrayAttr>:$inplace, OptionalAttr<StrArrayAttr>:$sites,
                   DefaultValuedAttr<F64Attr, "0.0">:$cost, UnitAttr:$prepare);
  let results = (outs Variadic<GraphTensor>:$results);
  let assemblyFormat = "$kernel `(` $inputs `)` `scalars` $scalars attr-dict `:` functional-type($inputs, $results)";
}
def LibraryOp : Plan_Op<"library", [Pure]> {
  let summary = "a library call: kind matmul | conv | deconv | conv_weight_grad | attention";
  let description = [{
    Operands: source, weights, then bias (with `bias`) and the operands of the post-ops. `views` has one entry per operand.
    conv_weight_grad: operands source and gradient, result [chunks, O, I/groups, ...]. `groups`, `strides`, `dilations`, `pads_low`, `pads_high`, `channels_last` as on the graph op.
    attention: operands query, key, value and perhaps mask; `scale` and `nan_to_zero` as on the graph op. Its result may be
    stored transposed: the dims of the result type are the product's in the order `result_order`.
  }];
  let arguments = (ins StrAttr:$kind, Variadic<GraphTensor>:$inputs, ArrayAttr:$views, ArrayAttr:$post_ops, UnitAttr:$bias,
                   OptionalAttr<DenseI64ArrayAttr>:$strides, OptionalAttr<DenseI64ArrayAttr>:$dilations,
                   OptionalAttr<DenseI64ArrayAttr>:$pads_low, OptionalAttr<DenseI64ArrayAttr>:$pads_high,
                   DefaultValuedAttr<I64Attr, "1">:$groups, UnitAttr:$channels_last,
                   DefaultValuedAttr<F64Attr, "0.0">:$cost, UnitAttr:$prepare,
                   DefaultValuedAttr<F64Attr, "1.0">:$scale, UnitAttr:$nan_to_zero,
                   OptionalAttr<DenseI64ArrayAttr>:$result_order);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$kind `(` $inputs `)` `views` $views `post` $post_ops attr-dict `:` functional-type($inputs, $result)";
}
def RoutineCallOp : Plan_Op<"routine", [Pure]> {
  let summary = "a routine of the runtime; `symbols` are the sizes it decides, in the routine's order";
  let arguments = (ins StrAttr:$name, Variadic<GraphTensor>:$inputs, DictionaryAttr:$params, DimsAttr:$exprs,
                   StrArrayAttr:$symbols, UnitAttr:$prepare);
  let results = (outs Variadic<GraphTensor>:$results);
  let assemblyFormat = "$name `(` $inputs `)` $params `exprs` $exprs `symbols` $symbols attr-dict `:` functional-type($inputs, $results)";
}
def ViewOp : Plan_Op<"view", [Pure]> {
  let summary = "the same memory from element `offset` on under another shape";
  let arguments = (ins GraphTensor:$x, DimsAttr:$offset, UnitAttr:$prepare);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$x `at` $offset attr-dict `:` functional-type($x, $result)";
}
def ConcatOp : Plan_Op<"concat", [Pure]> {
  let summary = "copies its operands side by side";
  let arguments = (ins Variadic<GraphTensor>:$inputs, I64Attr:$axis, UnitAttr:$prepare);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$inputs `axis` $axis attr-dict `:` functional-type($inputs, $result)";
}
def CheckOp : Plan_Op<"check", []> {
  let summary = "ends the call unless both sizes agree";
  let arguments = (ins DimsAttr:$sizes, StrAttr:$message);
  let assemblyFormat = "$sizes $message attr-dict";
}
#endif
