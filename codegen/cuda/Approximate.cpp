// Where a GPU need not be exact (DESIGN 2): the exponentials of a softmax become one instruction, and its quotients one reciprocal a row.
// Exactness there costs a third of the bandwidth. Pointwise results stay those of a CPU, to the bit.
//
//     %m = reduce max …                               %m = reduce max …
//     %s = reduce sum { exp (%x - %m) }          →    %s = reduce sum { exp (%x - %m) fastmath<afn> }
//     map { %e / %s }                                 %r = 1 / %s    map { %e * %r }
#include "codegen/cuda/CudaCodegen.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cuda;

namespace {

/// The reduction that `value` is the only or `number`-th result of, whose combiner joins that result by `Join`.
template <typename Join>
kernel::ReduceOp reducedBy(Value value) {
  auto result = dyn_cast<OpResult>(value);
  auto reduce = result ? dyn_cast<kernel::ReduceOp>(result.getOwner()) : kernel::ReduceOp();
  if (!reduce)
    return {};
  Operation *join = reduce.getCombinerYield().getValues()[result.getResultNumber()].getDefiningOp();
  return isa_and_nonnull<Join>(join) && join->getBlock() == reduce.getCombinerBlock() ? reduce : kernel::ReduceOp();
}

/// e^(x - largest x): at most 1.
bool isSoftmaxWeight(math::ExpOp op) {
  auto distance = op.getOperand().getDefiningOp<arith::SubFOp>();
  return op.getType().isF32() && distance && reducedBy<arith::MaximumFOp>(distance.getRhs());
}

/// A sum of such weights.
bool isSoftmaxSum(Value value) {
  kernel::ReduceOp sum = reducedBy<arith::AddFOp>(value);
  if (!sum)
    return false;
  auto weight = sum.getBodyYield().getValues()[cast<OpResult>(value).getResultNumber()].getDefiningOp<math::ExpOp>();
  return weight && isSoftmaxWeight(weight);
}
} // namespace

void cuda::approximateSoftmax(kernel::FuncOp kernel) {
  SmallVector<math::ExpOp> weights;
  SmallVector<arith::DivFOp> quotients;
  kernel.walk([&](Operation *op) {
    if (auto exp = dyn_cast<math::ExpOp>(op); exp && isSoftmaxWeight(exp))
      weights.push_back(exp);
    if (auto quotient = dyn_cast<arith::DivFOp>(op); quotient && isSoftmaxSum(quotient.getRhs()))
      quotients.push_back(quotient);
  });
  llvm::DenseMap<Value, Value> reciprocals;
  for (arith::DivFOp quotient : quotients) {
    Value sum = quotient.getRhs();
    Value &reciprocal = reciprocals[sum];
    if (!reciprocal) {
      OpBuilder b(sum.getContext());
      b.setInsertionPointAfterValue(sum);
      Value one = arith::ConstantOp::create(b, quotient.getLoc(), b.getF32FloatAttr(1));
      reciprocal = arith::DivFOp::create(b, quotient.getLoc(), one, sum);
    }
    OpBuilder b(quotient);
    quotient.replaceAllUsesWith(arith::MulFOp::create(b, quotient.getLoc(), quotient.getLhs(), reciprocal).getResult());
    quotient.erase();
  }
  for (math::ExpOp weight : weights)
    weight.setFastmath(arith::FastMathFlags::afn);
}
