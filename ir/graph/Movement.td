// Constants, weights and ops that move elements without computing.
#ifndef GRAPHC_IR_GRAPH_MOVEMENT
#define GRAPHC_IR_GRAPH_MOVEMENT
include "ir/graph/GraphBase.td"

class Graph_Move<string mnemonic, dag ins_, list<Trait> traits = []> : Graph_Inferred<mnemonic, !listconcat(traits, [HasVjp,
    DeclareOpInterfaceMethods<ElementInterface, ["movesData"]>])> {
  let arguments = ins_;
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = "bool $cppClass::movesData() { return true; }";
}

def ConstantOp : Graph_Op<"constant", [Pure, NotDifferentiable, ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a small literal; anything large is a weight";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "::mlir::DenseElementsAttr":$value)>];
}

def WeightOp : Graph_Op<"weight", [Symbol, NotDifferentiable]> {
  let summary = "a tensor that lives in a file: bytes [offset, offset + bytes) of `file`";
  let description = [{
    `file` is relative to the folder of the model. `hash` is xxh3 of the bytes. A weight whose bytes are not little-endian
    raw data in the model (varints, attributes) is in a side file written by the importer.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type, StrAttr:$file, I64Attr:$offset, I64Attr:$bytes,
                   DefaultValuedAttr<I64Attr, "0">:$hash);
  let assemblyFormat = "$sym_name `:` $type $file `at` $offset `bytes` $bytes attr-dict";
}
def GetWeightOp : Graph_Op<"get_weight", [Pure, NotDifferentiable]> {
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$weight attr-dict `:` type($result)";
}

def IotaOp : Graph_Op<"iota", [Pure, NotDifferentiable, DeclareOpInterfaceMethods<ElementInterface>]> {
  let summary = "start + step * (index along `axis`)";
  let arguments = (ins I64Attr:$axis, DefaultValuedAttr<F64Attr, "0.0">:$start, DefaultValuedAttr<F64Attr, "1.0">:$step);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}
def SizeOp : Graph_Op<"size", [Pure, NotDifferentiable, DeclareOpInterfaceMethods<ElementInterface>]> {
  let summary = "sizes as an i64 vector: `graph.size [n, 2*n]`";
  let arguments = (ins DimsAttr:$sizes);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$sizes attr-dict `:` type($result)";
  let hasFolder = 1;
}

def RandomOp : Graph_Op<"random", [Pure, NotDifferentiable, DeclareOpInterfaceMethods<ElementInterface>]> {
  let summary = "kind bits | uniform | normal, drawn by Philox 4x32-10 from an explicit key and offset (rank-0 i64)";
  let description = [{
    Element i (row-major) reads words of the block whose counter is offset + i / words per block, so one number depends on
    nothing but key, offset and place. bits (ui32, i64 …): word i mod 4, the integer's low bits, or two words of 64 bits.
    uniform: [0, 1), of 24 bits, or 53 in f64 (two words). normal: Box-Muller on two words of 32 bits, or four in f64,
    that two neighbours share (cosine, then sine). A caller advances its offset by ceil(elements / 4), or
    ceil(elements / 2) for 64-bit results.
  }];
  let arguments = (ins GraphTensor:$key, GraphTensor:$offset, StrAttr:$kind);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$kind $key `,` $offset attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

// The result type carries the new shape.
def ReshapeOp : Graph_Op<"reshape", [Pure, HasVjp, DeclareOpInterfaceMethods<ElementInterface, ["movesData"]>]> {
  let summary = "the same elements in row-major order under another shape";
  let arguments = (ins GraphTensor:$x);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
  let extraClassDefinition = "bool $cppClass::movesData() { return true; }";
}
// The result type carries the new shape; operand dims align at the right, a dim of 1 repeats.
def BroadcastOp : Graph_Op<"broadcast", [Pure, HasVjp, DeclareOpInterfaceMethods<ElementInterface, ["movesData"]>]> {
  let arguments = (ins GraphTensor:$x);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDefinition = "bool $cppClass::movesData() { return true; }";
}
def TransposeOp : Graph_Move<"transpose", (ins GraphTensor:$x, DenseI64ArrayAttr:$perm)> {
  let summary = "result dim i is operand dim perm[i]";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}
def SliceOp : Graph_Op<"slice", [Pure, HasVjp, DeclareOpInterfaceMethods<ElementInterface, ["movesData"]>]> {
  let summary = "result[i] = x[start + i * step] in each dim; the result type carries the sizes";
  let description = "`starts` are affine over the size symbols (a dims attribute), `steps` may be negative.";
  let arguments = (ins GraphTensor:$x, DimsAttr:$starts, DenseI64ArrayAttr:$steps);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$x `from` $starts `step` $steps attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDefinition = "bool $cppClass::movesData() { return true; }";
}
def PadOp : Graph_Op<"pad", [Pure, HasVjp, DeclareOpInterfaceMethods<ElementInterface, ["movesData"]>]> {
  let summary = "mode constant | edge | reflect | wrap; `low` may be negative (crop); the result type carries the sizes";
  let arguments = (ins GraphTensor:$x, DenseI64ArrayAttr:$low, DefaultValuedAttr<StrAttr, "\"constant\"">:$mode,
                   DefaultValuedAttr<F64Attr, "0.0">:$value);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$x `low` $low attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDefinition = "bool $cppClass::movesData() { return true; }";
}
def ConcatOp : Graph_Inferred<"concat", [HasVjp, DeclareOpInterfaceMethods<ElementInterface, ["movesData"]>]> {
  let arguments = (ins Variadic<GraphTensor>:$inputs, I64Attr:$axis);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$inputs `axis` $axis attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let extraClassDefinition = "bool $cppClass::movesData() { return true; }";
}

// Gathers. Indices may be negative (from the end); one outside [-n, n) is reported after being clamped. With `nonnegative`
// (labels, embeddings) a negative index is out of range.
class Graph_Gather<string mnemonic, dag ins_> : Graph_Inferred<mnemonic, [HasVjp,
    DeclareOpInterfaceMethods<ElementInterface, ["movesData"]>]> {
  let arguments = ins_;
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDefinition = "bool $cppClass::movesData() { return true; }";
}
def GatherOp : Graph_Gather<"gather", (ins GraphTensor:$x, GraphTensor:$indices, DefaultValuedAttr<I64Attr, "0">:$axis,
    UnitAttr:$nonnegative)> {
  let summary = "result[.., j.., ..] = x[.., indices[j..], ..]: indices' dims replace `axis`";
}
def GatherElementsOp : Graph_Gather<"gather_elements", (ins GraphTensor:$x, GraphTensor:$indices,
    DefaultValuedAttr<I64Attr, "0">:$axis, UnitAttr:$nonnegative)>;
def GatherNDOp : Graph_Gather<"gather_nd", (ins GraphTensor:$x, GraphTensor:$indices, DefaultValuedAttr<I64Attr, "0">:$batch_dims)>;

// Resampling of a resized tensor; scales[i] maps result dim i to operand dim i (ONNX Resize). The result type has the sizes.
def ResizeOp : Graph_Op<"resize", [Pure, HasVjp, DeclareOpInterfaceMethods<ElementInterface>]> {
  let arguments = (ins GraphTensor:$x, DenseF64ArrayAttr:$scales,
    DefaultValuedAttr<StrAttr, "\"nearest\"">:$mode,              // nearest | linear | cubic
    DefaultValuedAttr<StrAttr, "\"half_pixel\"">:$coordinates,    // half_pixel | half_pixel_symmetric | pytorch_half_pixel | align_corners | asymmetric
    DefaultValuedAttr<StrAttr, "\"round_prefer_floor\"">:$nearest, // round_prefer_floor | round_prefer_ceil | floor | ceil
    DefaultValuedAttr<F64Attr, "-0.75">:$cubic_a, UnitAttr:$exclude_outside);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$x `by` $scales attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}
#endif
