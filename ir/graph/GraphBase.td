// The graph dialect: what to compute. Attributes, traits and op base classes shared by the families.
#ifndef GRAPHC_IR_GRAPH_BASE
#define GRAPHC_IR_GRAPH_BASE

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def GraphDialect : Dialect {
  let name = "graph";
  let cppNamespace = "::graphc::graph";
  let summary = "tensor programs: what to compute, without layout, device or memory";
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    /// Names of symbolic sizes are interned per context, so that one name is one AffineSymbolExpr everywhere.
    unsigned symbolId(::llvm::StringRef name);
    std::string symbolName(unsigned id);
  private:
    std::shared_ptr<struct SizeSymbols> symbols;
    void addElementwise();
    void addMovement();
    void addReduction();
    void addContraction();
    void addRoutine();
    void addComposite();
    void addStructure();
    void addControl();
  public:
  }];
}

def DimsAttr : AttrDef<GraphDialect, "Dims", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "one affine expression per dimension, over named size symbols";
  let description = [{
    `#graph.dims<[n, 3, 2*n+1]>` says what each size of a tensor is. Present only when a size is dynamic. Symbols are
    interned in the dialect (GraphDialect::symbolId). Names that are not identifiers print quoted.
  }];
  let mnemonic = "dims";
  let parameters = (ins ArrayRefParameter<"::mlir::AffineExpr">:$dims);
  let hasCustomAssemblyFormat = 1;
}

// Result `result` of the op at an index, written once with Expr: the reference interpreter evaluates it, the kernels
// phase turns it into loops, fusion composes it.
def ElementInterface : OpInterface<"ElementOp"> {
  let cppNamespace = "::graphc::graph";
  let description = "An op whose result elements are given by a formula over operand elements.";
  let methods = [
    InterfaceMethod<"the element of result number `result` at `index` (one affine expression per result dimension)",
      "::graphc::graph::Expr", "element",
      (ins "::graphc::graph::ElementBuilder &":$b, "unsigned":$result, "::llvm::ArrayRef<::mlir::AffineExpr>":$index)>,
    InterfaceMethod<"whether `element` reduces over further dimensions (reduce, matmul, conv, pool)",
      "bool", "reduces", (ins), "", "return false;">,
    InterfaceMethod<"whether each result element is one operand element moved or repeated (transpose, slice, pad, ...)",
      "bool", "movesData", (ins), "", "return false;">
  ];
}

// An elementwise op: numpy broadcasting of its operands and a scalar rule.
def ElementwiseInterface : OpInterface<"Elementwise"> {
  let cppNamespace = "::graphc::graph";
  let methods = [
    InterfaceMethod<"the scalar rule: one value per operand, in the computation type",
      "::graphc::graph::Expr", "scalar", (ins "::llvm::ArrayRef<::graphc::graph::Expr>":$args)>,
    InterfaceMethod<"rough cost of one evaluation in multiply-adds",
      "int", "scalarCost", (ins), "", "return 1;">
  ];
}

// A contraction that a library may run whole.
def ContractionInterface : OpInterface<"Contraction"> {
  let cppNamespace = "::graphc::graph";
  let methods = [
    InterfaceMethod<"multiply-adds per result element, as an expression over the sizes",
      "::mlir::AffineExpr", "depth", (ins)>
  ];
}

// Run by a routine of the runtime, not by a generated kernel (sort, top-k, non-zero, scatter ...).
def RoutineInterface : OpInterface<"RoutineOp"> {
  let cppNamespace = "::graphc::graph";
  let methods = [
    InterfaceMethod<"name of the routine in runtime/devices/cpu/routines",
      "::llvm::StringRef", "routineName", (ins)>
  ];
}

// What mixed precision makes of an op in an autocast region (passes/autocast). Ops without this interface are Natural.
def AutocastInterface : OpInterface<"AutocastOp"> {
  let cppNamespace = "::graphc::graph";
  let methods = [
    InterfaceMethod<"Low: in the low precision (products); Full: in f32 (norms, softmax); Natural: in what its operands have",
      "::graphc::graph::AutocastClass", "autocastClass", (ins), "", "return ::graphc::graph::AutocastClass::Natural;">,
    InterfaceMethod<"whether an operand stays as it is, whatever the class: a mask of huge negative numbers would become infinite",
      "bool", "keepsOperand", (ins "unsigned":$operand), "", "return false;">
  ];
}
// The class of an op as a C++ definition; `rule` is Natural, Low, Full or an expression that gives one.
class AutocastDefinition<string rule> {
  string definition = "::graphc::graph::AutocastClass $cppClass::autocastClass() {\n" #
    "  using enum ::graphc::graph::AutocastClass;\n  return " # rule # ";\n}\n";
}

// A composite has a formula in passes/decompose over other ops.
def CompositeInterface : OpInterface<"Composite"> {
  let cppNamespace = "::graphc::graph";
  let methods = [
    InterfaceMethod<"build the formula; returns the replacement of each result",
      "::llvm::SmallVector<::mlir::Value>", "decompose", (ins "::mlir::OpBuilder &":$b)>
  ];
}

// The gradient of an op, as graph ops: they are differentiable in turn, so higher orders need nothing further. Rules of
// elementwise ops are one string in Elementwise.td, all others live in passes/vjp. Callers use passes/vjp/Vjp.h, which also
// knows composites without a rule of their own (their formula is differentiated).
def DifferentiableInterface : OpInterface<"Differentiable"> {
  let cppNamespace = "::graphc::graph";
  let methods = [
    InterfaceMethod<[{
      The gradient of each operand that `needs` asks for, given those of the results; null where none reaches an operand,
      or where nobody asked. A null result gradient stands for zero; at least one is given. Failure: no rule for these
      attributes, and an error says so.
    }], "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>>", "buildVjp",
      (ins "::mlir::OpBuilder &":$b, "::llvm::ArrayRef<::mlir::Value>":$resultGrads, "::llvm::ArrayRef<bool>":$needs)>
  ];
}
// The declaration that no gradient passes through an op: integer and boolean results, sources, stop_gradient.
def NotDifferentiable : NativeOpTrait<"NotDifferentiable"> { let cppNamespace = "::graphc::graph"; }
defvar HasVjp = DeclareOpInterfaceMethods<DifferentiableInterface>;

// Which ONNX operator an op is, and since which opset its meaning is this one. Read by the importer.
def OnnxInterface : OpInterface<"OnnxNamed"> {
  let cppNamespace = "::graphc::graph";
  let methods = [
    StaticInterfaceMethod<"ONNX operator name, empty when there is none", "::llvm::StringRef", "onnxName", (ins)>,
    StaticInterfaceMethod<"first opset whose definition is this one", "int", "onnxSince", (ins)>
  ];
}

def GraphTensor : TensorOf<[F64, F32, F16, BF16, I64, I32, I16, I8, UI64, UI32, UI16, UI8, I1]>;
def GraphFloatTensor : TensorOf<[F64, F32, F16, BF16]>;

class Graph_Op<string mnemonic, list<Trait> traits = []> : Op<GraphDialect, mnemonic, traits>;

// Types are inferred (InferTypeOpInterface) with symbolic sizes; `$result` prints after the operands.
class Graph_Inferred<string mnemonic, list<Trait> traits = []>
    : Graph_Op<mnemonic, !listconcat([Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>], traits)> {
  // Defines, in C++, how the result type follows from operands and attributes; errors go through emitOptionalError.
  let extraClassDeclaration = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange l, ::mlir::TypeRange r) {
      return ::graphc::graph::typesAgree(l, r);
    }
  }];
}
#endif
