// Elementwise operators. Those that are one op of the dialect need no entry here: importNamed finds them through
// OnnxNamed. The table holds what differs: attributes in other places, variadic operators, old broadcasting rules.
#include "frontend/onnx/GraphImport.h"
#include "frontend/onnx/Node.h"
#include "frontend/onnx/GraphImport.h"

namespace graphc::onnx_import {

using namespace mlir;

bool evaluateKnown(Node &n, Type resultElement) {
  llvm::SmallVector<Known> args;
  llvm::SmallVector<Dims> shapes;
  Dims joined;
  for (size_t i = 0; i < n.inputCount(); ++i) {
    if (!n.has(i) || !n.type(i).hasStaticShape() || n.type(i).getNumElements() > kMaxKnown)
      return false;
    auto k = n.known(i);
    if (!k)
      return false;
    args.push_back(*k);
    shapes.push_back(n.dimsOf(i));
    auto next = graph::broadcastDims(joined, shapes.back());
    if (!next)
      return false;
    joined = *next;
  }
  // A model may feed any types to an operator; what is not one type is reported by the op that is built.
  for (size_t i = n.op() == "Where" ? 1 : 0; i + 1 < args.size(); ++i)
    if (n.element(i) != n.element(i + 1))
      return false;
  auto type = graph::tensorType(joined, resultElement);
  if (args.empty() || !type.hasStaticShape() || type.getNumElements() > kMaxKnown)
    return false;
  int64_t count = type.getNumElements();
  for (size_t a = 0; a < args.size(); ++a) {
    if (static_cast<int64_t>(args[a].size()) == count && shapes[a].size() == joined.size())
      continue;
    std::vector<int64_t> positions(count);
    for (int64_t p = 0; p < count; ++p) {
      int64_t rest = p, at = 0, stride = 1;
      for (size_t d = joined.size(); d-- > 0;) {
        int64_t size = type.getShape()[d], index = rest % size;
        rest /= size;
        size_t shift = joined.size() - shapes[a].size();
        if (d < shift)
          continue;
        int64_t own = *graph::constantSize(shapes[a][d - shift]);
        at += own == 1 ? 0 : index * stride;
        stride *= own;
      }
      positions[p] = at;
    }
    args[a] = args[a].pick(positions);
  }
  // Comparisons are decided in the operands' type.
  Type operandType = n.element(args.size() > 1 ? 1 : 0);
  bool compares = isa<IntegerType>(resultElement) && resultElement != operandType;
  auto result = evaluateElementwise(n.op(), args, compares ? operandType : resultElement, n.facts);
  if (!result || result->floating != isa<FloatType>(resultElement))
    return false;
  n.outKnown(0, type, std::move(*result));
  return true;
}

void importNamed(Node &n, RegisteredOperationName op) {
  llvm::SmallVector<Value> operands;
  size_t arity = op.hasTrait<OpTrait::OneOperand>() ? 1 : op.hasTrait<OpTrait::NOperands<2>::Impl>() ? 2 : 3;
  if (n.inputCount() != arity)
    fail(Code::ModelMalformed, "has ", n.inputCount(), " inputs, expected ", arity);
  // Known contents first: nothing is built for what only computes sizes.
  bool allKnown = n.inputCount() > 0;
  for (size_t i = 0; i < n.inputCount(); ++i)
    allKnown = allKnown && n.has(i) && n.type(i).hasStaticShape() && n.type(i).getNumElements() <= kMaxKnown && n.known(i);
  if (allKnown) {
    static constexpr StringRef comparisons[] = {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"};
    bool compares = llvm::is_contained(comparisons, n.op());
    if (evaluateKnown(n, compares ? n.i1() : n.element(0)))
      return;
  }
  for (size_t i = 0; i < n.inputCount(); ++i)
    operands.push_back(n.x(i));
  llvm::SmallVector<NamedAttribute> attrs;
  for (StringAttr name : op.getAttributeNames()) {
    // Selu calls `gamma` what the op calls beta.
    StringRef onnxName = name == "beta" && n.hasAttr("gamma") ? StringRef("gamma") : name.getValue();
    if (n.hasAttr(onnxName))
      attrs.push_back(n.attr(name, n.f(onnxName, 0)));
  }
  n.out(n.elementwise(op.getStringRef(), operands, attrs));
  if (auto a = allKnown && n.op() == "Equal" ? n.known(0) : std::nullopt; a && !a->floating && a->size() == 1 && n.known(1)->size() == 1)
    n.scope.find(n.proto.output(0))->equalSizes = std::pair(a->ints[0], n.known(1)->ints[0]);
}

namespace {

// Until opset 6 the second operand is broadcast only on request: `broadcast` with its dims aligned at `axis`.
Value legacySecond(Node &n) {
  Value y = n.x(1);
  int64_t rank = n.rankOf(0), own = n.rankOf(1);
  if (n.i("broadcast", 0) == 0) {
    if (own == rank)
      for (int64_t d = 0; d < rank; ++d)
        n.requireSame(n.dimsOf(0)[d], n.dimsOf(1)[d], "operands without broadcast=1: size of axis " + std::to_string(d));
    return y;
  }
  int64_t at = n.hasAttr("axis") ? Build::axis(n.i("axis", 0), rank) : rank - own;
  if (at < 0 || at + own > rank)
    fail(Code::ShapeMismatch, "second operand of rank ", own, " does not fit rank ", rank, " at axis ", at);
  Dims dims(rank, n.size(1));
  for (int64_t d = 0; d < own; ++d)
    dims[at + d] = n.dimsOf(1)[d];
  return n.reshape(y, dims);
}
template <typename Op>
void legacyBinary(Node &n) {
  n.out(n.apply<Op>({n.x(0), legacySecond(n)}));
}
void legacyPRelu(Node &n) {
  // A slope of one value per channel lies along axis 1.
  Value slope = n.x(1);
  int64_t rank = n.rankOf(0);
  if (n.rankOf(1) == 1 && rank > 1)
    slope = n.alongAxis(slope, 1, rank);
  n.out(n.apply<graph::PreluOp>({n.x(0), slope}));
}

template <typename Op>
void foldVariadic(Node &n) {
  if (n.inputCount() == 0)
    fail(Code::ModelMalformed, "needs at least one input");
  if (n.inputCount() == 2 && (n.op() == "Max" || n.op() == "Min") && evaluateKnown(n, n.element(0)))
    return;
  if (n.inputCount() == 1)
    return n.outSame(0, 0);
  Value result = n.x(0);
  for (size_t i = 1; i < n.inputCount(); ++i)
    result = n.apply<Op>({result, n.x(i)});
  n.out(result);
}
void importMean(Node &n) {
  Value sum = n.x(0);
  for (size_t i = 1; i < n.inputCount(); ++i)
    sum = n.add(sum, n.x(i));
  n.out(n.inputCount() == 1 ? sum : n.div(sum, n.like(sum, static_cast<double>(n.inputCount()))));
}

void castTo(Node &n, Type to) {
  if (n.element(0) == to)
    return n.outSame(0, 0);
  if (auto k = n.known(0); k && n.type(0).hasStaticShape())
    if (auto converted = evaluateCast(*k, n.element(0), to))
      return n.outKnown(0, graph::withElementType(n.type(0), to), std::move(*converted));
  n.out(n.cast(n.x(0), to));
}
void importCast(Node &n) {
  int64_t number = 0;
  auto *a = n.find("to");
  if (a && a->type() == ::onnx::AttributeProto::STRING) { // opset 1
    static constexpr StringRef names[] = {"", "FLOAT", "UINT8", "INT8", "UINT16", "INT16", "INT32", "INT64", "STRING", "BOOL", "FLOAT16", "DOUBLE", "UINT32", "UINT64"};
    number = llvm::find(names, StringRef(a->s())) - std::begin(names);
  } else {
    number = n.i("to", 0);
  }
  Type to = elementTypeOf(static_cast<int32_t>(number), n.ctx());
  if (!to)
    unsupported("cast to ", elementTypeName(static_cast<int32_t>(number)));
  castTo(n, to);
}
void importCastLike(Node &n) { castTo(n, n.element(1)); }

void importClip(Node &n) {
  Value x = n.x(0);
  Type type = n.element(0);
  std::optional<double> low, high;
  if (n.opset < 11) {
    if (n.hasAttr("min")) low = n.f("min", 0);
    if (n.hasAttr("max")) high = n.f("max", 0);
  } else {
    auto bound = [&](size_t i, std::optional<double> &value) {
      if (!n.has(i))
        return true;
      if (Build::isFloat(type))
        if (auto k = n.known(i); k && k->floating && k->size() == 1 && !std::isnan(k->floats[0])) {
          value = k->floats[0];
          return true;
        }
      return false;
    };
    if (!bound(1, low) || !bound(2, high)) {
      if (n.has(1)) x = n.max(x, n.x(1));
      if (n.has(2)) x = n.min(x, n.x(2));
      return n.out(x);
    }
  }
  if (!low && !high)
    return n.outSame(0, 0);
  llvm::SmallVector<NamedAttribute> attrs;
  if (low) attrs.push_back(n.attr("alpha", *low));
  if (high) attrs.push_back(n.attr("beta", *high));
  n.out(n.apply<graph::ClampOp>({x}, attrs));
}

void importIdentity(Node &n) {
  // Sequences have identities too: the value under another name.
  TensorPtr t = n.has(0) ? n.scope.find(n.proto.input(0)) : nullptr;
  if (t && t->isSequence && n.wants(0))
    n.scope.values[n.proto.output(0)] = t;
  else
    n.outSame(0, 0);
}

void importDropout(Node &n) {
  bool training = false;
  if (n.opset >= 12 && n.has(2)) {
    auto mode = n.known(2);
    if (!mode)
      n.needsValue(2, "training_mode");
    training = n.intScalar(2, "training_mode") != 0;
  } else if (n.opset < 7) {
    training = false; // is_test or not: compiled models infer
  }
  if (training) {
    double ratio = n.has(1) ? n.floatScalar(1, "ratio") : 0.5;
    if (ratio != 0)
      unsupported("dropout in training mode with ratio ", ratio, " is random");
  }
  n.outSame(0, 0);
  if (n.wants(1)) {
    Type mask = n.opset >= 10 ? n.i1() : n.element(0);
    n.out(1, n.broadcast(n.scalarInt(1, mask), n.dimsOf(0)));
  }
}

void importMod(Node &n) {
  if (n.inputCount() != 2)
    fail(Code::ModelMalformed, "has ", n.inputCount(), " inputs, expected 2");
  bool fmod = n.i("fmod", 0) != 0;
  if (!fmod && evaluateKnown(n, n.element(0)))
    return;
  n.out(fmod ? n.apply<graph::RemOp>({n.x(0), n.x(1)}) : n.apply<graph::ModOp>({n.x(0), n.x(1)}));
}
void importBitShift(Node &n) {
  std::string direction = n.s("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    fail(Code::ModelMalformed, "direction is '", direction, "', LEFT and RIGHT exist");
  n.out(direction == "LEFT" ? n.apply<graph::ShiftLeftOp>({n.x(0), n.x(1)}) : n.apply<graph::ShiftRightOp>({n.x(0), n.x(1)}));
}
void importIsInf(Node &n) {
  n.out(n.apply<graph::IsInfOp>({n.x(0)}, {n.flag("detect_negative", n.i("detect_negative", 1)), n.flag("detect_positive", n.i("detect_positive", 1))}));
}
void importShrink(Node &n) {
  Type type = n.element(0);
  Value x = Build::isFloat(type) ? n.x(0) : n.cast(n.x(0), n.f32());
  n.out(n.cast(n.apply<graph::ShrinkOp>({x}, {n.attr("alpha", n.f("bias", 0)), n.attr("beta", n.f("lambd", 0.5))}), type));
}
void importGelu(Node &n) {
  llvm::SmallVector<NamedAttribute> attrs;
  std::string approximate = n.s("approximate", "none");
  if (approximate == "tanh")
    attrs.push_back(n.unit("tanh"));
  else if (approximate != "none")
    fail(Code::ModelMalformed, "approximate is '", approximate, "', none and tanh exist");
  n.out(n.apply<graph::GeluOp>({n.x(0)}, attrs));
}
void importWhere(Node &n) {
  if (n.inputCount() != 3)
    fail(Code::ModelMalformed, "has ", n.inputCount(), " inputs, expected 3");
  if (evaluateKnown(n, n.element(1)))
    return;
  n.out(n.select(n.x(0), n.x(1), n.x(2)));
}
void importPow(Node &n) {
  if (n.opset < 7)
    return legacyBinary<graph::PowOp>(n);
  Value x = n.x(0), y = n.x(1);
  Type type = n.element(0), exponent = n.element(1);
  if (type == exponent)
    return n.out(n.apply<graph::PowOp>({x, y}));
  if (Build::isFloat(type))
    return n.out(n.apply<graph::PowOp>({x, n.cast(y, type)}));
  // An integer base with another exponent type: computed in floating point when the exponent is.
  Type work = Build::isFloat(exponent) ? (type.getIntOrFloatBitWidth() > 32 ? Type(n.b.getF64Type()) : exponent) : type;
  n.out(n.cast(n.apply<graph::PowOp>({n.cast(x, work), n.cast(y, work)}), type));
}
void importPRelu(Node &n) {
  // Unidirectional: a slope of one value per channel is seen in the wild for rank above 2.
  Value slope = n.x(1);
  int64_t rank = n.rankOf(0);
  if (n.rankOf(1) == 1 && rank > 2 && n.dimsOf(1)[0] == n.dimsOf(0)[1] && n.dimsOf(1)[0] != n.dimsOf(0)[rank - 1] && !graph::isSize(n.dimsOf(1)[0], 1))
    slope = n.alongAxis(slope, 1, rank);
  n.out(n.apply<graph::PreluOp>({n.x(0), slope}));
}
void importSwiGlu(Node &n) {
  n.out(n.mul(n.apply<graph::SwishOp>({n.x(0)}, {n.attr("alpha", n.f("alpha", 1))}), n.x(1)));
}

const Handler table[] = {
    {"Add", 1, legacyBinary<graph::AddOp>},
    {"Sub", 1, legacyBinary<graph::SubOp>},
    {"Mul", 1, legacyBinary<graph::MulOp>},
    {"Div", 1, legacyBinary<graph::DivOp>},
    {"And", 1, legacyBinary<graph::AndOp>},
    {"Or", 1, legacyBinary<graph::OrOp>},
    {"Xor", 1, legacyBinary<graph::XorOp>},
    {"Equal", 1, legacyBinary<graph::EqualOp>},
    {"Less", 1, legacyBinary<graph::LessOp>},
    {"Greater", 1, legacyBinary<graph::GreaterOp>},
    {"PRelu", 1, legacyPRelu},
    {"PRelu", 7, importPRelu},
    {"Pow", 1, importPow},
    {"Pow", 7, importPow},
    {"Max", 1, foldVariadic<graph::MaxOp>},
    {"Min", 1, foldVariadic<graph::MinOp>},
    {"Sum", 1, foldVariadic<graph::AddOp>},
    {"Mean", 1, importMean},
    {"Cast", 1, importCast},
    {"CastLike", 15, importCastLike},
    {"Clip", 1, importClip},
    {"Identity", 1, importIdentity},
    {"Dropout", 1, importDropout},
    {"Mod", 10, importMod},
    {"BitShift", 11, importBitShift},
    {"IsInf", 10, importIsInf},
    {"Shrink", 9, importShrink},
    {"Gelu", 20, importGelu},
    {"Where", 9, importWhere},
    {"SwiGLU", 28, importSwiGlu},
};

} // namespace

ArrayRef<Handler> elementwiseOps() { return table; }

} // namespace graphc::onnx_import
