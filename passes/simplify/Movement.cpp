// Compositions of ops that move data: each chain ends as one op, or as none where the consumer sees the data right anyway.
//
//     slice(slice(x)) → slice(x)             concat(slice(x, 0..2), slice(x, 2..4)) → slice(x, 0..4)
//     a + broadcast(b) → a + b               matmul(a, transpose(b)) → matmul(a, b) {transpose_rhs}
#include "passes/simplify/Patterns.h"
#include "passes/simplify/Weights.h"

using namespace mlir;
using namespace graphc::graph;

namespace graphc {
namespace {

int64_t rankOf(Value v) { return cast<RankedTensorType>(v.getType()).getRank(); }
bool isAllOnes(Value v) {
  return llvm::all_of(dimsOf(v.getType()), [](AffineExpr d) { return isSize(d, 1); });
}

//===-- what elementwise ops and matrix products broadcast themselves --------------------------------------------------===//

/// The broadcast shape of operands, with operand `changed` having the dims `by`.
std::optional<SmallVector<AffineExpr>> broadcastWith(ArrayRef<SmallVector<AffineExpr>> shapes) {
  SmallVector<AffineExpr> dims;
  for (const auto &shape : shapes) {
    auto joined = broadcastDims(dims, shape);
    if (!joined)
      return std::nullopt;
    dims = *joined;
  }
  return dims;
}

/// An elementwise operand that is a broadcast, or one number repeated: the op repeats it itself.
struct BroadcastIntoElementwise : OpInterfaceRewritePattern<Elementwise> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(Elementwise op, PatternRewriter &rewriter) const override {
    if (op->getNumOperands() < 2)
      return rewriter.notifyMatchFailure(op, "has one operand, whose shape is the result's");
    for (OpOperand &operand : op->getOpOperands()) {
      Value v = operand.get();
      auto broadcast = v.getDefiningOp<BroadcastOp>();
      auto constant = v.getDefiningOp<ConstantOp>();
      auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
      if (!broadcast && (!splat || rankOf(v) == 0))
        continue;
      SmallVector<SmallVector<AffineExpr>> shapes;
      for (OpOperand &other : op->getOpOperands())
        if (&other != &operand)
          shapes.push_back(dimsOf(other.get().getType()));
      shapes.push_back(broadcast ? dimsOf(broadcast.getX().getType()) : SmallVector<AffineExpr>());
      auto dims = broadcastWith(shapes);
      if (!dims || *dims != dimsOf(op->getResult(0).getType()))
        continue;
      Value smaller = broadcast ? broadcast.getX()
                                : ConstantOp::create(rewriter, v.getLoc(),
                                                     DenseElementsAttr::get(RankedTensorType::get({}, elementTypeOf(v)),
                                                                            splat.getSplatValue<Attribute>()));
      rewriter.modifyOpInPlace(op, [&] { operand.set(smaller); });
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no operand is repeated for nothing");
  }
};

/// Unary elementwise ops run before a broadcast, on fewer elements.
struct UnaryBeforeBroadcast : OpInterfaceRewritePattern<Elementwise> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(Elementwise op, PatternRewriter &rewriter) const override {
    auto broadcast = op->getNumOperands() == 1 ? op->getOperand(0).getDefiningOp<BroadcastOp>() : BroadcastOp();
    if (!broadcast || !broadcast->hasOneUse())
      return rewriter.notifyMatchFailure(op, "operand is no broadcast of its own");
    Operation *small = rewriter.clone(*op.getOperation());
    rewriter.modifyOpInPlace(small, [&] {
      small->setOperand(0, broadcast.getX());
      small->getResult(0).setType(withElementType(broadcast.getX().getType(), elementTypeOf(op->getResult(0))));
    });
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op->getResult(0).getType(), small->getResult(0));
    return success();
  }
};

/// A matmul operand whose batch dims are repeated, or whose last two dims are swapped.
struct MovedMatmulOperand : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MatmulOp op, PatternRewriter &rewriter) const override {
    for (unsigned i = 0; i < 2; ++i) {
      Value v = op->getOperand(i);
      if (auto transpose = v.getDefiningOp<TransposeOp>(); transpose && swapsLastTwo(transpose)) {
        rewriter.modifyOpInPlace(op, [&] {
          op->setOperand(i, transpose.getX());
          i == 0 ? op.setTransposeLhs(!op.getTransposeLhs()) : op.setTransposeRhs(!op.getTransposeRhs());
        });
        return success();
      }
      auto broadcast = v.getDefiningOp<BroadcastOp>();
      if (!broadcast || rankOf(broadcast.getX()) < 2)
        continue;
      auto small = dimsOf(broadcast.getX().getType()), large = dimsOf(v.getType());
      if (ArrayRef(small).take_back(2) != ArrayRef(large).take_back(2))
        continue;
      auto other = dimsOf(op->getOperand(1 - i).getType()), result = dimsOf(op.getType());
      SmallVector<SmallVector<AffineExpr>> shapes = {llvm::to_vector(ArrayRef(small).drop_back(2)),
                                                     llvm::to_vector(ArrayRef(other).drop_back(2))};
      auto batch = broadcastWith(shapes);
      if (!batch || ArrayRef(*batch) != ArrayRef(result).drop_back(2))
        continue;
      rewriter.modifyOpInPlace(op, [&] { op->setOperand(i, broadcast.getX()); });
      return success();
    }
    return rewriter.notifyMatchFailure(op, "operands are neither repeated nor swapped");
  }
  static bool swapsLastTwo(TransposeOp transpose) {
    auto perm = transpose.getPerm();
    int64_t rank = perm.size();
    for (int64_t i = 0; i + 2 < rank; ++i)
      if (perm[i] != i)
        return false;
    return rank >= 2 && perm[rank - 1] == rank - 2;
  }
};

//===-- chains -------------------------------------------------------------------------------------------------------===//

struct BroadcastOfBroadcast : OpRewritePattern<BroadcastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastOp op, PatternRewriter &rewriter) const override {
    if (auto inner = op.getX().getDefiningOp<BroadcastOp>()) {
      rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), inner.getX());
      return success();
    }
    // Dims of 1 in front mean nothing to a broadcast.
    auto reshape = op.getX().getDefiningOp<ReshapeOp>();
    if (!reshape || rankOf(reshape.getX()) > rankOf(op.getX()))
      return rewriter.notifyMatchFailure(op, "operand is no broadcast");
    auto from = dimsOf(reshape.getX().getType()), to = dimsOf(reshape.getType());
    unsigned added = to.size() - from.size();
    bool onlyLeadingOnes = ArrayRef(to).drop_front(added) == ArrayRef(from) &&
                           llvm::all_of(ArrayRef(to).take_front(added), [](AffineExpr d) { return isSize(d, 1); });
    if (!onlyLeadingOnes)
      return rewriter.notifyMatchFailure(op, "operand is a reshape of another kind");
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), reshape.getX());
    return success();
  }
};

/// Whatever moves the copies of one number gives copies of that number.
template <typename Op>
struct MovedScalar : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto broadcast = op.getX().template getDefiningOp<BroadcastOp>();
    if (!broadcast || !isAllOnes(broadcast.getX()))
      return rewriter.notifyMatchFailure(op, "operand is no repeated number");
    Value scalar = broadcast.getX();
    if (rankOf(scalar) != 0)
      scalar = ReshapeOp::create(rewriter, op.getLoc(), withDims(scalar.getType(), {}), scalar);
    rewriter.replaceOpWithNewOp<BroadcastOp>(op, op.getType(), scalar);
    return success();
  }
};

struct SliceOfSlice : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getX().getDefiningOp<SliceOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(op, "operand is not a slice");
    SmallVector<AffineExpr> starts;
    SmallVector<int64_t> steps;
    for (unsigned i = 0; i < op.getSteps().size(); ++i) {
      starts.push_back(simplify(inner.getStarts().getDims()[i] + op.getStarts().getDims()[i] * inner.getSteps()[i]));
      steps.push_back(inner.getSteps()[i] * op.getSteps()[i]);
    }
    rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), inner.getX(), DimsAttr::get(op.getContext(), starts), steps);
    return success();
  }
};

/// A slice that stays within one operand of a concat.
struct SliceOfConcat : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto concat = op.getX().getDefiningOp<ConcatOp>();
    if (!concat)
      return rewriter.notifyMatchFailure(op, "operand is not a concat");
    int64_t axis = concat.getAxis();
    auto start = constantSize(op.getStarts().getDims()[axis]), size = constantSize(dimsOf(op.getType())[axis]);
    if (!start || !size || *size == 0)
      return rewriter.notifyMatchFailure(op, "the slice is not known to be within one operand");
    int64_t last = *start + (*size - 1) * op.getSteps()[axis], offset = 0;
    for (Value input : concat.getInputs()) {
      auto length = constantSize(dimsOf(input.getType())[axis]);
      if (!length)
        break;
      if (std::min(*start, last) >= offset && std::max(*start, last) < offset + *length) {
        auto starts = llvm::to_vector(op.getStarts().getDims());
        starts[axis] = constantDim(*start - offset, op.getContext());
        rewriter.replaceOpWithNewOp<SliceOp>(op, op.getType(), input, DimsAttr::get(op.getContext(), starts), op.getSteps());
        return success();
      }
      offset += *length;
    }
    return rewriter.notifyMatchFailure(op, "the slice reads several operands");
  }
};

struct ConcatOfConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> inputs;
    bool changed = false;
    for (Value v : op.getInputs()) {
      auto inner = v.getDefiningOp<ConcatOp>();
      if (inner && inner.getAxis() == op.getAxis() && inner->hasOneUse()) {
        llvm::append_range(inputs, inner.getInputs());
        changed = true;
      } else if (isSize(dimsOf(v.getType())[op.getAxis()], 0) && op.getInputs().size() > 1) {
        changed = true;
      } else {
        inputs.push_back(v);
      }
    }
    if (!changed || inputs.empty())
      return rewriter.notifyMatchFailure(op, "operands are no concats along the same axis");
    if (inputs.size() == 1 && inputs[0].getType() == op.getType())
      rewriter.replaceOp(op, inputs[0]);
    else
      rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), inputs, op.getAxis());
    return success();
  }
};

/// Neighbouring slices of one value, put back together.
struct ConcatOfSlices : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op, PatternRewriter &rewriter) const override {
    unsigned axis = op.getAxis();
    SmallVector<Value> inputs;
    for (Value v : op.getInputs()) {
      Value joined = inputs.empty() ? Value() : joinedSlices(rewriter, inputs.back(), v, axis);
      if (joined)
        inputs.back() = joined;
      else
        inputs.push_back(v);
    }
    if (inputs.size() == op.getInputs().size())
      return rewriter.notifyMatchFailure(op, "no two operands are neighbouring slices");
    if (inputs.size() == 1 && inputs[0].getType() == op.getType())
      rewriter.replaceOp(op, inputs[0]);
    else
      rewriter.replaceOpWithNewOp<ConcatOp>(op, op.getType(), inputs, axis);
    return success();
  }
  static Value joinedSlices(PatternRewriter &rewriter, Value a, Value b, unsigned axis) {
    auto first = a.getDefiningOp<SliceOp>(), second = b.getDefiningOp<SliceOp>();
    if (!first || !second || first.getX() != second.getX() || first.getSteps() != second.getSteps())
      return {};
    auto starts = first.getStarts().getDims(), others = second.getStarts().getDims();
    auto sizes = dimsOf(a.getType()), otherSizes = dimsOf(b.getType());
    int64_t step = first.getSteps()[axis];
    for (unsigned i = 0; i < sizes.size(); ++i)
      if (i != axis && (starts[i] != others[i] || sizes[i] != otherSizes[i]))
        return {};
    if (simplify(starts[axis] + sizes[axis] * step) != simplify(others[axis]))
      return {};
    sizes[axis] = simplify(sizes[axis] + otherSizes[axis]);
    return SliceOp::create(rewriter, rewriter.getFusedLoc({a.getLoc(), b.getLoc()}), withDims(a.getType(), sizes),
                           first.getX(), first.getStarts(), first.getSteps());
  }
};

/// transpose(reshape(x)) where the reshape only adds or removes dims of 1: the transpose comes first, where it may meet
/// another one.
struct TransposeOfSqueeze : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto reshape = op.getX().getDefiningOp<ReshapeOp>();
    if (!reshape || !reshape->hasOneUse() || !reshape.getX().getDefiningOp<TransposeOp>())
      return rewriter.notifyMatchFailure(op, "no transpose behind a reshape");
    auto from = dimsOf(reshape.getX().getType()), to = dimsOf(reshape.getType());
    SmallVector<int64_t> fromDims, toDims;
    for (auto [i, d] : llvm::enumerate(from))
      if (!isSize(d, 1))
        fromDims.push_back(i);
    for (auto [i, d] : llvm::enumerate(to))
      if (!isSize(d, 1))
        toDims.push_back(i);
    if (fromDims.size() != toDims.size())
      return rewriter.notifyMatchFailure(op, "the reshape merges or splits dims");
    for (auto [a, b] : llvm::zip_equal(fromDims, toDims))
      if (from[a] != to[b])
        return rewriter.notifyMatchFailure(op, "the reshape merges or splits dims");
    // Order of x's dims: those of 1 first, then as the transpose puts them.
    SmallVector<int64_t> perm;
    for (auto [i, d] : llvm::enumerate(from))
      if (isSize(d, 1))
        perm.push_back(i);
    for (int64_t p : op.getPerm()) {
      auto it = llvm::find(toDims, p);
      if (it != toDims.end())
        perm.push_back(fromDims[it - toDims.begin()]);
    }
    Value moved = TransposeOp::create(rewriter, op.getLoc(), reshape.getX(), perm);
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), moved);
    return success();
  }
};

/// max, min and prod over dims of 1 (not sum: 0 + -0 is 0).
struct ReduceOfOnes : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op, PatternRewriter &rewriter) const override {
    auto dims = dimsOf(op.getX().getType());
    bool ones = llvm::all_of(op.getAxes(), [&](int64_t axis) { return isSize(dims[axis], 1); });
    if (!ones || (op.getKind() == "sum" && isFloat(op.getX())))
      return rewriter.notifyMatchFailure(op, "reduces more than one element, or a float sum");
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), op.getX());
    return success();
  }
};

/// A pad of nothing, a resize to the same size.
template <typename Op>
struct NoChange : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (op.getX().getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "changes the shape");
    bool nothing;
    if constexpr (std::is_same_v<Op, PadOp>)
      nothing = llvm::all_of(op.getLow(), [](int64_t low) { return low == 0; });
    else
      nothing = llvm::all_of(op.getScales(), [](double scale) { return scale == 1; });
    if (!nothing)
      return rewriter.notifyMatchFailure(op, "moves elements");
    rewriter.replaceOp(op, op.getX());
    return success();
  }
};

} // namespace

void populateMovementPatterns(RewritePatternSet &patterns) {
  patterns.add<BroadcastIntoElementwise, UnaryBeforeBroadcast, MovedMatmulOperand, BroadcastOfBroadcast,
               MovedScalar<ReshapeOp>, MovedScalar<TransposeOp>, MovedScalar<SliceOp>, SliceOfSlice, SliceOfConcat,
               ConcatOfConcat, ConcatOfSlices, TransposeOfSqueeze, ReduceOfOnes, NoChange<PadOp>, NoChange<ResizeOp>>(
      patterns.getContext());
}

} // namespace graphc
