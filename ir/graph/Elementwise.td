// Elementwise ops. One line is the whole definition: ONNX name and opset, scalar rule (a C++ expression over Expr a, b,
// c and the op's attributes), derivative, cost, and an autocast class where it is not Natural. Operands broadcast as in
// numpy. Adding an op here needs a value test and nothing else.
//
// A derivative is an expression over tensors (TensorExpr.h) that gives the operand's gradient before broadcast dims are
// summed: a, b, c are the operands, r the result, g its gradient, all in the computation type. Empty: not differentiable.
// Which values it reads is what autograd must keep, so the result is preferred where it serves. One side of an operator
// may create ops, not both (order is part of the output): `times({x, y})` and `plus({x, y})` evaluate from the left.
// Subgradients: 0 at kinks, halves at ties of max and min, as PyTorch has them.
#ifndef GRAPHC_IR_GRAPH_ELEMENTWISE
#define GRAPHC_IR_GRAPH_ELEMENTWISE
include "ir/graph/GraphBase.td"

// kind: what the result's element type is: "same" as the first operand's, or "bool".
class Graph_ElementwiseBase<string mnemonic, string onnx, int since, string rule, list<string> slopes, int cost, string kind, dag ins_>
    : Graph_Op<mnemonic, !listconcat([Pure,
        DeclareOpInterfaceMethods<InferTypeOpInterface>,
        DeclareOpInterfaceMethods<ElementwiseInterface, ["scalarCost"]>,
        DeclareOpInterfaceMethods<ElementInterface>,
        DeclareOpInterfaceMethods<AutocastInterface, ["autocastClass"]>,
        DeclareOpInterfaceMethods<OnnxInterface>]<Trait>,
        !if(!empty(!head(slopes)), [NotDifferentiable]<Trait>, [HasVjp]<Trait>))> {
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
    "  return ::graphc::graph::inferElementwise(ctx, loc, getOperationName(), operands, \"" # kind # "\", types);\n}\n" #
    !if(!empty(!head(slopes)), "",
    "::llvm::FailureOr<::llvm::SmallVector<::mlir::Value>> $cppClass::buildVjp(::mlir::OpBuilder &builder,\n" #
    "    ::llvm::ArrayRef<::mlir::Value> resultGrads, ::llvm::ArrayRef<bool> needs) {\n" #
    "  return ::graphc::graph::elementwiseVjp(builder, *this, resultGrads[0], needs,\n" #
    "      [&](unsigned operand, ::llvm::ArrayRef<::graphc::graph::TensorExpr> args, ::graphc::graph::TensorExpr r,\n" #
    "          ::graphc::graph::TensorExpr g) -> ::graphc::graph::TensorExpr {\n" #
    "    ::graphc::graph::TensorExpr a = args[0], b = args[args.size() > 1 ? 1 : 0], c = args.back();\n" #
    "    (void)a; (void)b; (void)c;\n" #
    "    switch (operand) {\n" #
    "    case 0: return " # !head(slopes) # ";\n" #
    !if(!gt(!size(slopes), 1), "    case 1: return " # slopes[!if(!gt(!size(slopes), 1), 1, 0)] # ";\n", "") #
    !if(!gt(!size(slopes), 2), "    case 2: return " # slopes[!if(!gt(!size(slopes), 2), 2, 0)] # ";\n", "") #
    "    }\n    llvm_unreachable(\"an operand without a derivative\");\n  });\n}\n");
}
class Graph_Unary<string mnemonic, string onnx, int since, string rule, string slope, int cost = 1, string kind = "same">
    : Graph_ElementwiseBase<mnemonic, onnx, since, rule, [slope], cost, kind, (ins GraphTensor:$x)> {
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
}
class Graph_Binary<string mnemonic, string onnx, int since, string rule, string slope, string slope2 = "", int cost = 1, string kind = "same">
    : Graph_ElementwiseBase<mnemonic, onnx, since, rule, [slope, slope2], cost, kind, (ins GraphTensor:$lhs, GraphTensor:$rhs)> {
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}
// Comparisons and logic.
class Graph_Predicate<string mnemonic, string onnx, int since, string rule, string kind = "bool">
    : Graph_Binary<mnemonic, onnx, since, rule, "", "", 1, kind>;

// Unary arithmetic.
def NegOp        : Graph_Unary<"neg", "Neg", 6, "-a", "-g">;
def AbsOp        : Graph_Unary<"abs", "Abs", 6, "abs(a)", "sign(a) * g">;
def SignOp       : Graph_Unary<"sign", "Sign", 9, "sign(a)", "zerosLike(g)">;
def ExpOp        : Graph_Unary<"exp", "Exp", 6, "exp(a)", "g * r", 12>;
def Expm1Op      : Graph_Unary<"expm1", "", 1, "expm1(a)", "(r + 1) * g", 16>;
def LogOp        : Graph_Unary<"log", "Log", 6, "log(a)", "g / a", 14>;
def Log1pOp      : Graph_Unary<"log1p", "", 1, "log1p(a)", "g / (a + 1)", 18>;
def SqrtOp       : Graph_Unary<"sqrt", "Sqrt", 6, "sqrt(a)", "g / (r * 2)", 6>;
def RsqrtOp      : Graph_Unary<"rsqrt", "", 1, "a.like(1) / sqrt(a)", "r * r * r * g * -0.5", 12>;
def ReciprocalOp : Graph_Unary<"reciprocal", "Reciprocal", 6, "a.like(1) / a", "-(r * r * g)", 6>;
def SinOp        : Graph_Unary<"sin", "Sin", 7, "sin(a)", "cos(a) * g", 16>;
def CosOp        : Graph_Unary<"cos", "Cos", 7, "cos(a)", "-(sin(a) * g)", 16>;
def TanOp        : Graph_Unary<"tan", "Tan", 7, "tan(a)", "(r * r + 1) * g", 32>;
def AsinOp       : Graph_Unary<"asin", "Asin", 7, "asin(a)", "rsqrt(1 - a * a) * g", 32>;
def AcosOp       : Graph_Unary<"acos", "Acos", 7, "acos(a)", "-(rsqrt(1 - a * a) * g)", 32>;
def AtanOp       : Graph_Unary<"atan", "Atan", 7, "atan(a)", "g / (a * a + 1)", 32>;
def SinhOp       : Graph_Unary<"sinh", "Sinh", 9, "sinh(a)", "cosh(a) * g", 32>;
def CoshOp       : Graph_Unary<"cosh", "Cosh", 9, "cosh(a)", "sinh(a) * g", 32>;
def AsinhOp      : Graph_Unary<"asinh", "Asinh", 9, "asinh(a)", "rsqrt(a * a + 1) * g", 32>;
def AcoshOp      : Graph_Unary<"acosh", "Acosh", 9, "acosh(a)", "rsqrt(a * a - 1) * g", 32>;
def AtanhOp      : Graph_Unary<"atanh", "Atanh", 9, "atanh(a)", "g / (1 - a * a)", 32>;
def ErfOp        : Graph_Unary<"erf", "Erf", 9, "erf(a)", "exp(-(a * a)) * g * 1.1283791670955126", 16>;
def TanhOp       : Graph_Unary<"tanh", "Tanh", 6, "tanh(a)", "(1 - r * r) * g", 14>;
def CeilOp       : Graph_Unary<"ceil", "Ceil", 6, "ceil(a)", "zerosLike(g)">;
def FloorOp      : Graph_Unary<"floor", "Floor", 6, "floor(a)", "zerosLike(g)">;
def RoundOp      : Graph_Unary<"round", "Round", 11, "roundEven(a)", "zerosLike(g)">;
def NotOp        : Graph_Unary<"not", "Not", 1, "!a", "">;
def BitwiseNotOp : Graph_Unary<"bitwise_not", "BitwiseNot", 18, "bitNot(a)", "">;
def IsNaNOp      : Graph_Unary<"is_nan", "IsNaN", 9, "isNaN(a)", "", 1, "bool">;
def IsInfOp      : Graph_Unary<"is_inf", "", 10,
    "((getDetectNegative() ? (a == a.like(-INFINITY)) : a.boolean(false)) || (getDetectPositive() ? (a == a.like(INFINITY)) : a.boolean(false)))",
    "", 2, "bool"> {
  let arguments = (ins GraphTensor:$x, DefaultValuedAttr<BoolAttr, "true">:$detect_negative,
                   DefaultValuedAttr<BoolAttr, "true">:$detect_positive);
}

// Activations. Formulas follow the ONNX specification, written in the form that is stable for large |x|.
def ReluOp       : Graph_Unary<"relu", "Relu", 6, "max(a, a.like(0))", "(r <= 0).select(0, g)">;
def SigmoidOp    : Graph_Unary<"sigmoid", "Sigmoid", 6, "sigmoid(a)", "(1 - r) * r * g", 18>;
def SiluOp       : Graph_Unary<"silu", "", 1, "a * sigmoid(a)", "times({sigmoid(a), (1 - sigmoid(a)) * a + 1, g})", 19>;
def SoftplusOp   : Graph_Unary<"softplus", "Softplus", 1,
    "max(a, a.like(0)) + log1p(exp(-abs(a)))",
    "sigmoid(a) * g", 30>;
def SoftsignOp   : Graph_Unary<"softsign", "Softsign", 1, "a / (a.like(1) + abs(a))", "g / square(abs(a) + 1)", 7>;
def MishOp       : Graph_Unary<"mish", "Mish", 18,
    "a * tanh(max(a, a.like(0)) + log1p(exp(-abs(a))))",
    "plus({tanh(softplus(a)), times({sigmoid(a), 1 - square(tanh(softplus(a))), a})}) * g", 44>;
def HardSwishOp  : Graph_Unary<"hard_swish", "HardSwish", 14,
    "a * max(a.like(0), min(a.like(1), a * a.like(1.0/6) + a.like(0.5)))",
    "(a > -3).select((a < 3).select(a / 3 + 0.5, 1), 0) * g", 4>;

class Graph_Alpha<string mnemonic, string onnx, int since, string rule, string slope, string alpha, int cost = 2>
    : Graph_Unary<mnemonic, onnx, since, rule, slope, cost> {
  let arguments = (ins GraphTensor:$x, DefaultValuedAttr<F64Attr, alpha>:$alpha);
}
def LeakyReluOp : Graph_Alpha<"leaky_relu", "LeakyRelu", 6,
    "select(a < a.like(0), a * a.like(getAlpha().convertToDouble()), a)",
    "(a > 0).select(g, g * getAlpha().convertToDouble())", "0.01">;
def EluOp : Graph_Alpha<"elu", "Elu", 6,
    "select(a < a.like(0), expm1(a) * a.like(getAlpha().convertToDouble()), a)",
    "(a > 0).select(1, exp(a) * getAlpha().convertToDouble()) * g", "1.0", 18>;
def CeluOp : Graph_Alpha<"celu", "Celu", 12,
    "max(a.like(0), a) + min(a.like(0), a.like(getAlpha().convertToDouble()) * expm1(a / a.like(getAlpha().convertToDouble())))",
    "(a > 0).select(1, exp(a / getAlpha().convertToDouble())) * g", "1.0", 24>;
def ThresholdedReluOp : Graph_Alpha<"thresholded_relu", "ThresholdedRelu", 10,
    "select(a > a.like(getAlpha().convertToDouble()), a, a.like(0))",
    "(a > getAlpha().convertToDouble()).select(g, 0)", "1.0">;
def SwishOp : Graph_Alpha<"swish", "Swish", 24,
    "a * sigmoid(a * a.like(getAlpha().convertToDouble()))",
    "times({sigmoid(a * getAlpha().convertToDouble()), (1 - sigmoid(a * getAlpha().convertToDouble())) * a * getAlpha().convertToDouble() + 1, g})", "1.0", 20>;
class Graph_AlphaBeta<string mnemonic, string onnx, int since, string rule, string slope, string alpha, string beta, int cost = 3>
    : Graph_Unary<mnemonic, onnx, since, rule, slope, cost> {
  let arguments = (ins GraphTensor:$x, DefaultValuedAttr<F64Attr, alpha>:$alpha, DefaultValuedAttr<F64Attr, beta>:$beta);
}
def SeluOp : Graph_AlphaBeta<"selu", "Selu", 6,
    "a.like(getBeta().convertToDouble()) * select(a > a.like(0), a, a.like(getAlpha().convertToDouble()) * expm1(a))",
    "(a > 0).select(1, exp(a) * getAlpha().convertToDouble()) * g * getBeta().convertToDouble()", "1.67326319217681884765625", "1.05070102214813232421875", 18>;
def HardSigmoidOp : Graph_AlphaBeta<"hard_sigmoid", "HardSigmoid", 6,
    "max(a.like(0), min(a.like(1), a * a.like(getAlpha().convertToDouble()) + a.like(getBeta().convertToDouble())))",
    "strictlyInside(r, 0, 1).select(g * getAlpha().convertToDouble(), 0)", "0.2", "0.5">;
// bias = alpha, lambd = beta.
def ShrinkOp : Graph_AlphaBeta<"shrink", "", 9,
    "select(a < a.like(-getBeta().convertToDouble()), a + a.like(getAlpha().convertToDouble()), select(a > a.like(getBeta().convertToDouble()), a - a.like(getAlpha().convertToDouble()), a.like(0)))",
    "(abs(a) > getBeta().convertToDouble()).select(g, 0)", "0.0", "0.5">;
// Clamps to [alpha, beta]; a NaN stays.
def ClampOp : Graph_AlphaBeta<"clamp", "", 6,
    "min(max(a, a.like(getAlpha().convertToDouble())), a.like(getBeta().convertToDouble()))",
    "strictlyInside(a, getAlpha().convertToDouble(), getBeta().convertToDouble()).select(g, 0)", "-INFINITY", "INFINITY">;
def GeluOp : Graph_Unary<"gelu", "", 20,
    "getTanh() ? a.like(0.5) * a * (a.like(1) + tanh(a.like(0.7978845608028654) * (a + a.like(0.044715) * a * a * a))) : a.like(0.5) * a * (a.like(1) + erf(a * a.like(0.7071067811865476)))",
    "(getTanh() ? plus({tanh((a * a * 0.044715 + 1) * a * 0.7978845608028654) * 0.5 + 0.5, times({1 - square(tanh((a * a * 0.044715 + 1) * a * 0.7978845608028654)), a * a * 0.134145 + 1, a}) * 0.3989422804014327}) : plus({erf(a * 0.7071067811865476) * 0.5 + 0.5, exp(a * a * -0.5) * a * 0.3989422804014327})) * g", 20> {
  let arguments = (ins GraphTensor:$x, UnitAttr:$tanh);
}

// Binary arithmetic. Integer division truncates towards zero; `mod` has the sign of the divisor, `rem` of the dividend.
def AddOp : Graph_Binary<"add", "Add", 7, "a + b", "g", "g">;
def SubOp : Graph_Binary<"sub", "Sub", 7, "a - b", "g", "-g">;
def MulOp : Graph_Binary<"mul", "Mul", 7, "a * b", "g * b", "g * a">;
def DivOp : Graph_Binary<"div", "Div", 7, "a / b", "g / b", "-(r * g / b)", 4>;
def PowOp : Graph_Binary<"pow", "Pow", 7,
    "pow(a, b)",
    "(b == 0).select(0, pow(a, b - 1) * b * g)", "both({a == 0, b >= 0}).select(0, log(a) * r * g)", 40>;
def MaxOp : Graph_Binary<"max", "", 8,
    "max(a, b)",
    "(a > b).select(g, (a == b).select(g * 0.5, 0))", "(a < b).select(g, (a == b).select(g * 0.5, 0))">;
def MinOp : Graph_Binary<"min", "", 8,
    "min(a, b)",
    "(a < b).select(g, (a == b).select(g * 0.5, 0))", "(a > b).select(g, (a == b).select(g * 0.5, 0))">;
def ModOp : Graph_Binary<"mod", "", 10, "mod(a, b)", "g", "-(floor(a / b) * g)", 8>;
def RemOp : Graph_Binary<"rem", "", 10, "rem(a, b)", "g", "-times({sign(a / b), floor(abs(a / b)), g})", 8>;
def PreluOp : Graph_Binary<"prelu", "PRelu", 7,
    "select(a < a.like(0), a * b, a)",
    "(a > 0).select(g, g * b)", "(a > 0).select(0, g * a)", 2> { let autocast = "Low"; }
def AndOp : Graph_Predicate<"and", "And", 7, "a && b", "same">;
def OrOp  : Graph_Predicate<"or", "Or", 7, "a || b", "same">;
def XorOp : Graph_Predicate<"xor", "Xor", 7, "a != b", "same">;
def EqualOp        : Graph_Predicate<"equal", "Equal", 7, "a == b">;
def NotEqualOp     : Graph_Predicate<"not_equal", "", 7, "a != b">;
def LessOp         : Graph_Predicate<"less", "Less", 7, "a < b">;
def LessEqualOp    : Graph_Predicate<"less_equal", "LessOrEqual", 12, "a <= b">;
def GreaterOp      : Graph_Predicate<"greater", "Greater", 7, "a > b">;
def GreaterEqualOp : Graph_Predicate<"greater_equal", "GreaterOrEqual", 12, "a >= b">;
def BitwiseAndOp : Graph_Predicate<"bitwise_and", "BitwiseAnd", 18, "bitAnd(a, b)", "same">;
def BitwiseOrOp  : Graph_Predicate<"bitwise_or", "BitwiseOr", 18, "bitOr(a, b)", "same">;
def BitwiseXorOp : Graph_Predicate<"bitwise_xor", "BitwiseXor", 18, "bitXor(a, b)", "same">;
def ShiftLeftOp  : Graph_Predicate<"shift_left", "", 11, "shiftLeft(a, b)", "same">;
def ShiftRightOp : Graph_Predicate<"shift_right", "", 11, "shiftRight(a, b)", "same">;

// The identity, through which no gradient passes; gone after `differentiate`.
def StopGradientOp : Graph_Unary<"stop_gradient", "", 1, "a", ""> { let hasCanonicalizer = 1; }

// condition ? a : b; the result has the type of the second operand.
def SelectOp : Graph_ElementwiseBase<"select", "", 9, "select(a, b, c)",
    ["g" /* never: the condition is bool */, "a.select(g, 0)", "a.select(0, g)"], 1, "second",
    (ins GraphTensor:$condition, GraphTensor:$lhs, GraphTensor:$rhs)> {
  let assemblyFormat = "$condition `,` $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
}

// Float to integer truncates towards zero and saturates; to bool is `!= 0`.
def CastOp : Graph_Op<"cast", [Pure, HasVjp,
    DeclareOpInterfaceMethods<ElementwiseInterface>, DeclareOpInterfaceMethods<ElementInterface>]> {
  let arguments = (ins GraphTensor:$x);
  let results = (outs GraphTensor:$result);
  let assemblyFormat = "$x attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}
#endif
