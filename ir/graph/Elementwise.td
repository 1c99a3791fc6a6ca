// Elementwise ops. One line is the whole definition: ONNX name and opset, scalar rule (a C++ expression over Expr a, b,
// c and the op's attributes), cost, and an autocast class where it is not Natural. Operands broadcast as in numpy. Adding an op here needs a value test and nothing else.
#ifndef GRAPHC_IR_GRAPH_ELEMENTWISE
#define GRAPHC_IR_GRAPH_ELEMENTWISE
include "ir/graph/GraphBase.td"

// kind: what the result's element type is: "same" as the first operand's, or "bool".
class Graph_ElementwiseBase<string mnemonic, string onnx, int since, string rule, int cost, string kind, dag ins_>
    : Graph_Op<mnemonic, [Pure,
        DeclareOpInterfaceMethods<InferTypeOpInterface>,
        DeclareOpInterfaceMethods<ElementwiseInterface, ["scalarCost"]>,
        DeclareOpInterfaceMethods<ElementInterface>,
        DeclareOpInterfaceMethods<AutocastInterface, ["autocastClass"]>,
        DeclareOpInterfaceMethods<OnnxInterface>]> {
  let arguments = ins_;
  let results = (outs GraphTensor:$result);
  string autocast = "Natural";
  let extraClassDeclaration = [{
    static bool isCompatibleReturnTypes(::mlir::TypeRange l, ::mlir::TypeRange r) {
      return ::graphc::graph::typesAgree(l, r);
    }
  }];
  let extraClassDefinition = AutocastDefinition<autocast>.definition #
    "::llvm::StringRef $cppClass::onnxName() { return \"" # onnx # "\"; }\n" #
    "int $cppClass::onnxSince() { return " # since # "; }\n" #
    "int $cppClass::scalarCost() { return " # cost # "; }\n" #
    "::graphc::graph::Expr $cppClass::scalar(::llvm::ArrayRef<::graphc::graph::Expr> args) {\n" #
    "  ::graphc::graph::Expr a = args[0], b = args[args.size() > 1 ? 1 : 0], c = args.back();\n" #
    "  (void)b; (void)c;\n  return " # rule # ";\n}\n" #
    "::graphc::graph::Expr $cppClass::element(::graphc::graph::ElementBuilder &builder, unsigned,\n" #
    "    ::llvm::ArrayRef<::mlir::AffineExpr> index) {\n" #
    "  return ::graphc::graph::elementwiseElement(builder, *this, index);\n}\n" #
    "::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *ctx, std::optional<::mlir::Location> loc,\n" #
    "    ::mlir::ValueRange operands, ::mlir::DictionaryAttr attrs, ::mlir::OpaqueProperties, ::mlir::RegionRange,\n" #
    "    ::llvm::SmallVectorImpl<::mlir::Type> &types) {\n" #
    "  return ::graphc::graph::inferElementwise(ctx, loc, getOperationName(), operands, \"" # kind # "\", types);\n}\n";
}
class Graph_Unary<string mnemonic, string onnx, int since, string rule, int cost = 1, string kind = "same">
    : Graph_ElementwiseBase<mnemonic, onnx, since, rule, cost, kind, (ins GraphTensor:$x)> {
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}
class Graph_Binary<string mnemonic, string onnx, int since, string rule, int cost = 1, string kind = "same">
    : Graph_ElementwiseBase<mnemonic, onnx, since, rule, cost, kind, (ins GraphTensor:$lhs, GraphTensor:$rhs)> {
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

// Unary arithmetic.
def NegOp        : Graph_Unary<"neg", "Neg", 6, "-a">;
def AbsOp        : Graph_Unary<"abs", "Abs", 6, "abs(a)">;
def SignOp       : Graph_Unary<"sign", "Sign", 9, "sign(a)">;
def ExpOp        : Graph_Unary<"exp", "Exp", 6, "exp(a)", 12>;
def Expm1Op      : Graph_Unary<"expm1", "", 1, "expm1(a)", 16>;
def LogOp        : Graph_Unary<"log", "Log", 6, "log(a)", 14>;
def Log1pOp      : Graph_Unary<"log1p", "", 1, "log1p(a)", 18>;
def SqrtOp       : Graph_Unary<"sqrt", "Sqrt", 6, "sqrt(a)", 6>;
def RsqrtOp      : Graph_Unary<"rsqrt", "", 1, "a.like(1) / sqrt(a)", 12>;
def ReciprocalOp : Graph_Unary<"reciprocal", "Reciprocal", 6, "a.like(1) / a", 6>;
def SinOp        : Graph_Unary<"sin", "Sin", 7, "sin(a)", 16>;
def CosOp        : Graph_Unary<"cos", "Cos", 7, "cos(a)", 16>;
def TanOp        : Graph_Unary<"tan", "Tan", 7, "tan(a)", 32>;
def AsinOp       : Graph_Unary<"asin", "Asin", 7, "asin(a)", 32>;
def AcosOp       : Graph_Unary<"acos", "Acos", 7, "acos(a)", 32>;
def AtanOp       : Graph_Unary<"atan", "Atan", 7, "atan(a)", 32>;
def SinhOp       : Graph_Unary<"sinh", "Sinh", 9, "sinh(a)", 32>;
def CoshOp       : Graph_Unary<"cosh", "Cosh", 9, "cosh(a)", 32>;
def AsinhOp      : Graph_Unary<"asinh", "Asinh", 9, "asinh(a)", 32>;
def AcoshOp      : Graph_Unary<"acosh", "Acosh", 9, "acosh(a)", 32>;
def AtanhOp      : Graph_Unary<"atanh", "Atanh", 9, "atanh(a)", 32>;
def ErfOp        : Graph_Unary<"erf", "Erf", 9, "erf(a)", 16>;
def TanhOp       : Graph_Unary<"tanh", "Tanh", 6, "tanh(a)", 14>;
def CeilOp       : Graph_Unary<"ceil", "Ceil", 6, "ceil(a)">;
def FloorOp      : Graph_Unary<"floor", "Floor", 6, "floor(a)">;
def RoundOp      : Graph_Unary<"round", "Round", 11, "roundEven(a)">;
def NotOp        : Graph_Unary<"not", "Not", 1, "!a">;
def BitwiseNotOp : Graph_Unary<"bitwise_not", "BitwiseNot", 18, "bitNot(a)">;
def IsNaNOp      : Graph_Unary<"is_nan", "IsNaN", 9, "isNaN(a)", 1, "bool">;
def IsInfOp      : Graph_Unary<"is_inf", "", 10,
    "((getDetectNegative() ? (a == a.like(-INFINITY)) : a.boolean(false)) || (getDetectPositive() ? (a == a.like(INFINITY)) : a.boolean(false)))",
    2, "bool"> {
  let arguments = (ins GraphTensor:$x, DefaultValuedAttr<BoolAttr, "true">:$detect_negative,
                   DefaultValuedAttr<BoolAttr, "true">:$detect_positive);
}

// Activations. Formulas follow the ONNX specification, written in the form that is stable for large |x|.
def ReluOp       : Graph_Unary<"relu", "Relu", 6, "max(a, a.like(0))">;
def SigmoidOp    : Graph_Unary<"sigmoid", "Sigmoid", 6, "sigmoid(a)", 18>;
def SiluOp       : Graph_Unary<"silu", "", 1, "a * sigmoid(a)", 19>;
def SoftplusOp   : Graph_Unary<"softplus", "Softplus", 1, "max(a, a.like(0)) + log1p(exp(-abs(a)))", 30>;
def SoftsignOp   : Graph_Unary<"softsign", "Softsign", 1, "a / (a.like(1) + abs(a))", 7>;
def MishOp       : Graph_Unary<"mish", "Mish", 18, "a * tanh(max(a, a.like(0)) + log1p(exp(-abs(a))))", 44>;
def HardSwishOp  : Graph_Unary<"hard_swish", "HardSwish", 14,
    "a * max(a.like(0), min(a.like(1), a * a.like(1.0/6) + a.like(0.5)))", 4>;

class Graph_Alpha<string mnemonic, string onnx, int since, string rule, string alpha, int cost = 2>
    : Graph_Unary<mnemonic, onnx, since, rule, cost> {
  let arguments = (ins GraphTensor:$x, DefaultValuedAttr<F64Attr, alpha>:$alpha);
}
def LeakyReluOp : Graph_Alpha<"leaky_relu", "LeakyRelu", 6,
    "select(a < a.like(0), a * a.like(getAlpha().convertToDouble()), a)", "0.01">;
def EluOp : Graph_Alpha<"elu", "Elu", 6,
    "select(a < a.like(0), expm1(a) * a.like(getAlpha().convertToDouble()), a)", "1.0", 18>;
def CeluOp : Graph_Alpha<"celu", "Celu", 12,
    "max(a.like(0), a) + min(a.like(0), a.like(getAlpha().convertToDouble()) * expm1(a / a.like(getAlpha().convertToDouble())))", "1.0", 24>;
def ThresholdedReluOp : Graph_Alpha<"thresholded_relu", "ThresholdedRelu", 10,
    "select(a > a.like(getAlpha().convertToDouble()), a, a.like(0))", "1.0">;
def SwishOp : Graph_Alpha<"swish", "Swish", 24,
    "a * sigmoid(a * a.like(getAlpha().convertToDouble()))", "1.0", 20>;
class Graph_AlphaBeta<string mnemonic, string onnx, int since, string rule, string alpha, string beta, int cost = 3>
    : Graph_Unary<mnemonic, onnx, since, rule, cost> {
  let arguments = (ins GraphTensor:$x, DefaultValuedAttr<F64Attr, alpha>:$alpha, DefaultValuedAttr<F64Attr, beta>:$beta);
}
def SeluOp : Graph_AlphaBeta<"selu", "Selu", 6,
    "a.like(getBeta().convertToDouble()) * select(a > a.like(0), a, a.like(getAlpha().convertToDouble()) * expm1(a))",
    "1.67326319217681884765625", "1.05070102214813232421875", 18>;
def HardSigmoidOp : Graph_AlphaBeta<"hard_sigmoid", "HardSigmoid", 6,
    "max(a.like(0), min(a.like(1), a * a.like(getAlpha().convertToDouble()) + a.like(getBeta().convertToDouble())))", "0.2", "0.5">;
// bias = alpha, lambd = beta.
def ShrinkOp : Graph_AlphaBeta<"shrink", "", 9,
    "select(a < a.like(-getBeta().convertToDouble()), a + a.like(getAlpha().convertToDouble()), select(a > a.like(getBeta().convertToDouble()), a - a.like(getAlpha().convertToDouble()), a.like(0)))",
    "0.0", "0.5">;
// Clamps to [alpha, beta]; a NaN stays.
def ClampOp : Graph_AlphaBeta<"clamp", "", 6,
    "min(max(a, a.like(getAlpha().convertToDouble())), a.like(getBeta().convertToDouble()))", "-INFINITY", "INFINITY">;
def GeluOp : Graph_Unary<"gelu", "", 20,
    "getTanh() ? a.like(0.5) * a * (a.like(1) + tanh(a.like(0.7978845608028654) * (a + a.like(0.044715) * a * a * a))) : a.like(0.5) * a * (a.like(1) + erf(a * a.like(0.7071067811865476)))",
    20> {
  let arguments = (ins GraphTensor:$x, UnitAttr:$tanh);
}

// Binary arithmetic. Integer division truncates towards zero; `mod` has the sign of the divisor, `rem` of the dividend.
def AddOp : Graph_Binary<"add", "Add", 7, "a + b">;
def SubOp : Graph_Binary<"sub", "Sub", 7, "a - b">;
def MulOp : Graph_Binary<"mul", "Mul", 7, "a * b">;
def DivOp : Graph_Binary<"div", "Div", 7, "a / b", 4>;
def PowOp : Graph_Binary<"pow", "Pow", 7, "pow(a, b)", 40>;
def MaxOp : Graph_Binary<"max", "", 8, "max(a, b)">;
def MinOp : Graph_Binary<"min", "", 8, "min(a, b)">;
def ModOp : Graph_Binary<"mod", "", 10, "mod(a, b)", 8>;
def RemOp : Graph_Binary<"rem", "", 10, "rem(a, b)", 8>;
def PreluOp : Graph_Binary<"prelu", "PRelu", 7, "select(a < a.like(0), a * b, a)", 2> { let autocast = "Low"; }
def AndOp : Graph_Binary<"and", "And", 7, "a && b">;
def OrOp  : Graph_Binary<"or", "Or", 7, "a || b">;
def XorOp : Graph_Binary<"xor", "Xor", 7, "a != b">;
def EqualOp        : Graph_Binary<"equal", "Equal", 7, "a == b", 1, "bool">;
def NotEqualOp     : Graph_Binary<"not_equal", "", 7, "a != b", 1, "bool">;
def LessOp         : Graph_Binary<"less", "Less", 7, "a < b", 1, "bool">;
def LessEqualOp    : Graph_Binary<"less_equal", "LessOrEqual", 12, "a <= b", 1, "bool">;
def GreaterOp      : Graph_Binary<"greater", "Greater", 7, "a > b", 1, "bool">;
def GreaterEqualOp : Graph_Binary<"greater_equal", "GreaterOrEqual", 12, "a >= b", 1, "bool">;
def BitwiseAndOp : Graph_Binary<"bitwise_and", "BitwiseAnd", 18, "bitAnd(a, b)">;
def BitwiseOrOp  : Graph_Binary<"bitwise_or", "BitwiseOr", 18, "bitOr(a, b)">;
def BitwiseXorOp : Graph_Binary<"bitwise_xor", "BitwiseXor", 18, "bitXor(a, b)">;
def ShiftLeftOp  : Graph_Binary<"shift_left", "", 11, "shiftLeft(a, b)">;
def ShiftRightOp : Graph_Binary<"shift_right", "", 11, "shiftRight(a, b)">;

// condition ? a : b; the result has the type of the second operand.
def SelectOp : Graph_ElementwiseBase<"select", "", 9, "select(a, b, c)", 1, "second",
    (ins GraphTensor:$condition, GraphTensor:$lhs, GraphTensor:$rhs)> {
  let assemblyFormat = "$condition `,` $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

// Float to integer truncates towards zero and saturates; to bool is `!= 0`.
def CastOp : Graph_Op<"cast", [Pure,
    DeclareOpInterfaceMethods<ElementwiseInterface>, DeclareOpInterfaceMethods<ElementInterface>]> {
  let arguments = (ins GraphTensor:$x);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
#endif
