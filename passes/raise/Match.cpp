#include "passes/raise/Match.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace graphc::graph;

namespace graphc::raise {

std::optional<double> uniformValue(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    if (!isa<CastOp, ReshapeOp, BroadcastOp>(op))
      break;
    v = op->getOperand(0);
  }
  auto constant = v.getDefiningOp<ConstantOp>();
  auto literal = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  if (!literal || !literal.isSplat())
    return std::nullopt;
  if (isa<FloatType>(literal.getElementType())) {
    llvm::APFloat value = literal.getSplatValue<llvm::APFloat>();
    bool inexact;
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
    return value.convertToDouble();
  }
  llvm::APInt value = literal.getSplatValue<llvm::APInt>();
  return literal.getElementType().isUnsignedInteger() || value.getBitWidth() == 1 ? double(value.getZExtValue())
                                                                                  : double(value.getSExtValue());
}

bool isClose(double a, double b) { return std::fabs(a - b) <= 1e-3 * std::fabs(b); }

static llvm::SmallVector<AffineExpr> withoutOnes(Type type) {
  auto dims = dimsOf(type);
  llvm::erase_if(dims, [](AffineExpr d) { return isSize(d, 1); });
  return dims;
}

Value peeled(Value v) {
  while (true) {
    if (auto broadcast = v.getDefiningOp<BroadcastOp>())
      v = broadcast.getX();
    else if (auto reshape = v.getDefiningOp<ReshapeOp>();
             reshape && withoutOnes(reshape.getX().getType()) == withoutOnes(reshape.getType()))
      v = reshape.getX();
    else
      return v;
  }
}

std::optional<Statistic> reductionOf(Value v, llvm::StringRef kind) {
  auto reduce = peeled(v).getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getKind() != kind)
    return std::nullopt;
  return Statistic{reduce.getX(), llvm::to_vector(reduce.getAxes())};
}

/// Whether `v` is the number of elements that a reduction combines (or its inverse).
static bool isCount(Value v, const Statistic &statistic, bool inverse) {
  llvm::SmallVector<AffineExpr> dims = dimsOf(statistic.x.getType()), reduced;
  for (int64_t axis : statistic.axes)
    reduced.push_back(dims[axis]);
  AffineExpr count = product(reduced, v.getContext());
  if (auto n = constantSize(count)) {
    auto value = uniformValue(v);
    if (!value)
      return false;
    // Tighter than the difference between n and n - 1: an unbiased variance is another thing.
    double ratio = inverse ? *value * *n : *value / *n;
    return std::fabs(ratio - 1) < std::min(1e-3, 0.1 / *n);
  }
  while (Operation *op = v.getDefiningOp()) {
    if (!isa<CastOp, ReshapeOp, BroadcastOp>(op))
      break;
    v = op->getOperand(0);
  }
  auto size = v.getDefiningOp<SizeOp>();
  return !inverse && size && size.getSizes().getDims().size() == 1 && size.getSizes().getDims()[0] == count;
}

std::optional<Statistic> meanOf(Value v) {
  v = peeled(v);
  std::optional<Statistic> found;
  auto scaledSum = [&](Value sum, Value scale, bool inverse) {
    auto statistic = reductionOf(sum, "sum");
    if (!statistic || !isCount(scale, *statistic, inverse))
      return false;
    found = statistic;
    return true;
  };
  if (auto div = v.getDefiningOp<DivOp>())
    scaledSum(div.getLhs(), div.getRhs(), /*inverse=*/false);
  else
    inEitherOrder<MulOp>(v, [&](Value a, Value b) { return scaledSum(a, b, /*inverse=*/true); });
  return found;
}

bool alignsWith(Value v, Value x, llvm::ArrayRef<int64_t> axes) {
  while (auto broadcast = v.getDefiningOp<BroadcastOp>())
    v = broadcast.getX();
  auto expected = dimsOf(x.getType()), given = dimsOf(v.getType());
  for (int64_t axis : axes)
    expected[axis] = constantDim(1, x.getContext());
  if (given.size() > expected.size())
    return false;
  // Leading dims that are missing are dims of size 1.
  size_t missing = expected.size() - given.size();
  return llvm::all_of(llvm::ArrayRef(expected).take_front(missing), [](AffineExpr d) { return isSize(d, 1); }) &&
         llvm::ArrayRef(expected).drop_front(missing) == llvm::ArrayRef(given);
}

Value squareRoot(Value v) {
  v = peeled(v);
  if (auto mul = v.getDefiningOp<MulOp>(); mul && mul.getLhs() == mul.getRhs())
    return mul.getLhs();
  if (auto pow = v.getDefiningOp<PowOp>(); pow && isUniform(pow.getRhs(), 2))
    return pow.getLhs();
  return nullptr;
}

std::optional<std::pair<Value, double>> plusConstant(Value v) {
  std::optional<std::pair<Value, double>> found;
  inEitherOrder<AddOp>(v, [&](Value a, Value b) {
    auto constant = uniformValue(b);
    if (constant)
      found = {a, *constant};
    return constant.has_value();
  });
  return found;
}

static bool multiplyInto(Value v, llvm::ArrayRef<Value> leaves, Product &product) {
  for (auto [i, leaf] : llvm::enumerate(leaves))
    if (v == leaf) {
      ++product.powers[i];
      return true;
    }
  if (auto constant = uniformValue(v)) {
    product.coefficient *= *constant;
    return true;
  }
  if (auto mul = v.getDefiningOp<MulOp>())
    return multiplyInto(mul.getLhs(), leaves, product) && multiplyInto(mul.getRhs(), leaves, product);
  if (auto neg = v.getDefiningOp<NegOp>()) {
    product.coefficient = -product.coefficient;
    return multiplyInto(neg.getX(), leaves, product);
  }
  if (auto div = v.getDefiningOp<DivOp>())
    if (auto divisor = uniformValue(div.getRhs())) {
      product.coefficient /= *divisor;
      return multiplyInto(div.getLhs(), leaves, product);
    }
  if (auto pow = v.getDefiningOp<PowOp>()) {
    auto exponent = uniformValue(pow.getRhs());
    auto *leaf = llvm::find(leaves, pow.getLhs());
    if (exponent && *exponent == std::floor(*exponent) && *exponent > 0 && *exponent < 8 && leaf != leaves.end()) {
      product.powers[leaf - leaves.begin()] += static_cast<int>(*exponent);
      return true;
    }
  }
  return false;
}

std::optional<Product> productOver(Value v, llvm::ArrayRef<Value> leaves) {
  Product product;
  product.powers.assign(leaves.size(), 0);
  return multiplyInto(v, leaves, product) ? std::optional(product) : std::nullopt;
}

static void collectNodes(Value v, int depth, llvm::SmallVector<Value> &nodes) {
  if (llvm::is_contained(nodes, v) || uniformValue(v))
    return;
  nodes.push_back(v);
  if (depth > 0 && v.getDefiningOp() && isa<MulOp, DivOp, PowOp, NegOp>(v.getDefiningOp()))
    for (Value operand : v.getDefiningOp()->getOperands())
      collectNodes(operand, depth - 1, nodes);
}

llvm::SmallVector<Value> productNodes(Value v) {
  llvm::SmallVector<Value> nodes;
  collectNodes(v, 4, nodes);
  return nodes;
}

Value withoutScale(Value v, double &factor) {
  while (true) {
    Value inner;
    if (auto div = v.getDefiningOp<DivOp>()) {
      if (auto divisor = uniformValue(div.getRhs()); divisor && div.getLhs().getType() == v.getType()) {
        factor /= *divisor;
        inner = div.getLhs();
      }
    } else {
      inEitherOrder<MulOp>(v, [&](Value a, Value b) {
        auto constant = uniformValue(b);
        if (!constant || a.getType() != v.getType())
          return false;
        factor *= *constant;
        inner = a;
        return true;
      });
    }
    if (!inner)
      return v;
    v = inner;
  }
}

} // namespace graphc::raise
