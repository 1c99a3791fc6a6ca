// A library group as one call: operands as strided views, the first channel-wise addition as bias, the rest as post-ops.
#include "passes/kernels/LibraryCalls.h"
#include "passes/fuse/Epilogue.h"
#include "passes/fuse/StridedView.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::graph;

static plan::StridedAttr stridedAttr(const StridedView &view) {
  auto *ctx = view.base.getContext();
  return plan::StridedAttr::get(ctx, DimsAttr::get(ctx, view.dims), DimsAttr::get(ctx, view.strides),
                                DimsAttr::get(ctx, view.offset));
}

/// A dense operand with leading sizes of 1 up to `rank`.
static StridedView paddedView(Value v, unsigned rank) {
  auto dims = dimsOf(v.getType());
  dims.insert(dims.begin(), rank - dims.size(), constantDim(1, v.getContext()));
  return {v, dims, denseStrides(dims, v.getContext()), constantDim(0, v.getContext())};
}

/// Into how many sums the batch is cut: a number that sizes alone decide, so that results do not depend on the threads.
static int64_t weightGradChunks(ConvWeightGradOp op) {
  constexpr int64_t kMost = 8, kMostBytes = 16 << 20;
  auto elements = constantSize(product(dimsOf(op.getType()), op.getContext()));
  int64_t batch = constantSize(dimsOf(op.getX().getType())[0]).value_or(kMost);
  int64_t chunks = std::min(kMost, std::max<int64_t>(batch, 1));
  return elements ? std::clamp<int64_t>(kMostBytes / std::max<int64_t>(4 * *elements, 1), 1, chunks) : chunks;
}

/// Its result has one more dim in front, whose sum is the gradient.
static plan::LibraryOp buildWeightGrad(ConvWeightGradOp op, GroupOp group, ValueRange inputs, ArrayRef<Attribute> views, OpBuilder &b) {
  auto dims = dimsOf(op.getType());
  double cost = 2 * (double)constantSize(op.depth()).value_or(1);
  for (AffineExpr d : dims)
    cost *= (double)constantSize(d).value_or(1);
  dims.insert(dims.begin(), constantDim(weightGradChunks(op), b.getContext()));
  return plan::LibraryOp::create(b, group.getLoc(), withDims(op.getType(), dims), b.getStringAttr("conv_weight_grad"), inputs,
                                 b.getArrayAttr(views), b.getArrayAttr({}), UnitAttr(), op.getStridesAttr(), op.getDilationsAttr(),
                                 op.getPadsLowAttr(), op.getPadsHighAttr(), op.getGroupsAttr(), op.getChannelsLastAttr(),
                                 b.getF64FloatAttr(cost), group->hasAttr("prepare") ? b.getUnitAttr() : UnitAttr(), b.getF64FloatAttr(1), UnitAttr(),
                                 DenseI64ArrayAttr());
}

/// Perhaps followed by a transpose of its result.
static plan::LibraryOp buildAttention(AttentionOp op, GroupOp group, OpBuilder &b) {
  Block &body = group.getBody().front();
  SmallVector<Value> inputs;
  SmallVector<Attribute> views;
  auto addInput = [&](const StridedView &view) {
    inputs.push_back(view.base);
    views.push_back(stridedAttr(view));
  };
  for (Value operand : {op.getQuery(), op.getKey(), op.getValue()})
    addInput(stridedViewOf(operand, [&](Operation *view) { return view->getBlock() == &body; }));
  if (op.getMask())
    addInput(paddedView(op.getMask(), dimsOf(op.getType()).size()));
  Value result = op.getResult();
  DenseI64ArrayAttr order;
  for (Operation *user : op->getUsers())
    if (auto transpose = dyn_cast<TransposeOp>(user); transpose && transpose->getBlock() == &body) {
      result = transpose.getResult();
      order = transpose.getPermAttr();
    }
  auto key = dimsOf(op.getKey().getType());
  double cost = 2;
  auto multiply = [&](AffineExpr d) { cost *= (double)constantSize(d).value_or(1); };
  llvm::for_each(dimsOf(op.getQuery().getType()), multiply);
  multiply(key[key.size() - 2]);
  double depth = (double)constantSize(key.back()).value_or(1), valueDepth = (double)constantSize(dimsOf(op.getType()).back()).value_or(1);
  return plan::LibraryOp::create(b, group.getLoc(), result.getType(), b.getStringAttr("attention"), inputs, b.getArrayAttr(views),
                                 b.getArrayAttr({}), UnitAttr(), DenseI64ArrayAttr(), DenseI64ArrayAttr(), DenseI64ArrayAttr(), DenseI64ArrayAttr(),
                                 b.getI64IntegerAttr(1), UnitAttr(), b.getF64FloatAttr(cost * (1 + valueDepth / depth)),
                                 group->hasAttr("prepare") ? b.getUnitAttr() : UnitAttr(), op.getScaleAttr(), op.getNanToZeroAttr(), order);
}

FailureOr<plan::LibraryOp> graphc::buildLibraryCall(GroupOp group, OpBuilder &b) {
  auto *ctx = b.getContext();
  Block &body = group.getBody().front();
  for (auto attention : body.getOps<AttentionOp>())
    return buildAttention(attention, group, b);
  Operation *contraction = nullptr;
  for (Operation &op : body)
    if (isa<Contraction>(op))
      contraction = &op;
  assert(contraction && "a library group is built around a contraction");
  unsigned rank = dimsOf(contraction->getResult(0).getType()).size();
  bool isMatmul = isa<MatmulOp>(contraction), channelsLast = contraction->hasAttr("channels_last");
  unsigned channel = isMatmul || channelsLast ? rank - 1 : 1;

  SmallVector<Value> inputs;
  SmallVector<Attribute> views, postOps;
  auto addInput = [&](const StridedView &view) {
    inputs.push_back(view.base);
    views.push_back(stridedAttr(view));
    return (int64_t)inputs.size() - 1;
  };
  for (unsigned i : {0u, 1u}) {
    StridedView view = stridedViewOf(contraction->getOperand(i), [&](Operation *op) { return op->getBlock() == &body; });
    if (auto matmul = dyn_cast<MatmulOp>(contraction))
      if (i == 0 ? matmul.getTransposeLhs() : matmul.getTransposeRhs()) {
        unsigned last = view.dims.size() - 1;
        std::swap(view.dims[last], view.dims[last - 1]);
        std::swap(view.strides[last], view.strides[last - 1]);
      }
    if (view.base.getDefiningOp() && view.base.getDefiningOp()->getBlock() == &body)
      return contraction->emitOpError() << "has an operand that no strided view expresses; `graphc-fuse` keeps those outside";
    addInput(view);
  }

  if (auto weightGrad = dyn_cast<ConvWeightGradOp>(contraction))
    return buildWeightGrad(weightGrad, group, inputs, views, b);

  Value result = contraction->getResult(0);
  bool bias = false;
  TransposeOp turned;
  while (true) {
    Operation *next = nullptr;
    for (Operation *user : result.getUsers())
      if (user->getBlock() == &body && !isa<graph::YieldOp>(user))
        next = user;
    if (!next)
      break;
    if ((turned = dyn_cast<TransposeOp>(next))) {
      result = turned.getResult();
      break;
    }
    std::string why;
    auto post = postOpOf(next, result, channel, why);
    if (!post)
      return next->emitOpError() << "is no post-op: " << why;
    if (post->operand) {
      auto dims = dimsOf(post->operand.getType());
      unsigned lead = rank - dims.size();
      bool perChannel = channel >= lead && !isSize(dims[channel - lead], 1);
      for (auto [d, size] : llvm::enumerate(dims))
        perChannel &= isSize(size, 1) || d + lead == channel;
      if (post->kind == "binary_add" && perChannel && postOps.empty() && !bias) {
        AffineExpr size = dims[channel - lead];
        bias = true;
        addInput({post->operand, {size}, {constantDim(1, ctx)}, constantDim(0, ctx)});
        result = next->getResult(0);
        continue;
      }
    }
    int64_t operand = post->operand ? addInput(paddedView(post->operand, rank)) : -1;
    postOps.push_back(plan::PostOpAttr::get(ctx, b.getStringAttr(post->kind), b.getF64FloatAttr(post->alpha),
                                              b.getF64FloatAttr(post->beta), operand));
    result = next->getResult(0);
  }

  double cost = 2;
  for (AffineExpr d : dimsOf(contraction->getResult(0).getType()))
    cost *= (double)constantSize(d).value_or(1);
  cost *= (double)constantSize(cast<Contraction>(contraction).depth()).value_or(1);

  StringRef kind = isMatmul ? "matmul" : isa<ConvOp>(contraction) ? "conv" : "deconv";
  auto array = [&](StringRef name) { return contraction->getAttrOfType<DenseI64ArrayAttr>(name); };
  int64_t groups = 1;
  if (auto attr = contraction->getAttrOfType<IntegerAttr>("groups"))
    groups = attr.getInt();
  auto call = plan::LibraryOp::create(b, group.getLoc(), result.getType(), b.getStringAttr(kind), inputs, b.getArrayAttr(views),
                                 b.getArrayAttr(postOps), bias ? b.getUnitAttr() : UnitAttr(), array("strides"),
                                 array("dilations"), array("pads_low"), array("pads_high"), b.getI64IntegerAttr(groups),
                                 channelsLast ? b.getUnitAttr() : UnitAttr(), b.getF64FloatAttr(cost),
                                 group->hasAttr("prepare") ? b.getUnitAttr() : UnitAttr(), b.getF64FloatAttr(1), UnitAttr(), DenseI64ArrayAttr());
  if (turned) {
    // The product's own order of dims, over what lies in memory as the transpose says.
    StridedView view{result, dimsOf(turned.getX().getType()), SmallVector<AffineExpr>(rank), constantDim(0, ctx)};
    auto strides = denseStrides(dimsOf(turned.getType()), ctx);
    for (auto [to, from] : llvm::enumerate(turned.getPerm()))
      view.strides[from] = strides[to];
    call->setAttr(kResultViewAttr, stridedAttr(view));
  }
  return call;
}
