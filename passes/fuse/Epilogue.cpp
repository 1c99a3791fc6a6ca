#include "passes/fuse/Epilogue.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::graph;

static double number(const APFloat &value) { return value.convertToDouble(); }

static std::optional<PostOp> unaryPostOp(Operation *op) {
  return TypeSwitch<Operation *, std::optional<PostOp>>(op)
      .Case([](ReluOp) { return PostOp{"relu", 0}; })
      .Case([](LeakyReluOp op) { return PostOp{"relu", number(op.getAlpha())}; })
      .Case([](ClampOp op) { return PostOp{"clip", number(op.getAlpha()), number(op.getBeta())}; })
      .Case([](GeluOp op) { return PostOp{op.getTanh() ? "gelu_tanh" : "gelu_erf"}; })
      .Case([](TanhOp) { return PostOp{"tanh"}; })
      .Case([](SigmoidOp) { return PostOp{"logistic"}; })
      .Case([](SiluOp) { return PostOp{"swish", 1}; })
      .Case([](SwishOp op) { return PostOp{"swish", number(op.getAlpha())}; })
      .Case([](HardSwishOp) { return PostOp{"hard_swish"}; })
      .Case([](HardSigmoidOp op) { return PostOp{"hard_sigmoid", number(op.getAlpha()), number(op.getBeta())}; })
      .Case([](EluOp op) { return PostOp{"elu", number(op.getAlpha())}; })
      .Case([](AbsOp) { return PostOp{"abs"}; })
      .Case([](SqrtOp) { return PostOp{"sqrt"}; })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<PostOp> graphc::postOpOf(Operation *op, Value result, unsigned channelDim, std::string &why) {
  auto type = cast<RankedTensorType>(result.getType());
  if (op->getNumResults() != 1 || op->getResult(0).getType() != type) {
    why = "it changes the shape or the type";
    return std::nullopt;
  }
  if (auto unary = unaryPostOp(op)) {
    // A clip to infinity on one side is outside what the library's clip promises for NaN; relu(x) = max(x, 0) is fine.
    return unary;
  }
  StringRef kind = TypeSwitch<Operation *, StringRef>(op)
                       .Case([](AddOp) { return "binary_add"; })
                       .Case([](SubOp) { return "binary_sub"; })
                       .Case([](MulOp) { return "binary_mul"; })
                       .Case([](DivOp) { return "binary_div"; })
                       .Default([](Operation *) { return ""; });
  if (kind.empty()) {
    why = "the library has no such post-op";
    return std::nullopt;
  }
  bool left = op->getOperand(0) == result;
  Value other = op->getOperand(left ? 1 : 0);
  if (other == result) {
    why = "both operands are the result";
    return std::nullopt;
  }
  if (!left && (kind == "binary_sub" || kind == "binary_div")) {
    why = "the result is the right operand";
    return std::nullopt;
  }
  auto dims = dimsOf(type), otherDims = dimsOf(other.getType());
  bool full = dims == otherDims, scalar = llvm::all_of(otherDims, [](AffineExpr d) { return isSize(d, 1); });
  bool channel = true;
  unsigned shift = dims.size() - otherDims.size();
  for (unsigned i = 0; i < otherDims.size(); ++i)
    channel &= isSize(otherDims[i], 1) || (i + shift == channelDim && otherDims[i] == dims[channelDim]);
  if (!full && !scalar && !channel) {
    why = "its other operand broadcasts along other dims than the channels";
    return std::nullopt;
  }
  return PostOp{kind, 0, 0, other};
}
