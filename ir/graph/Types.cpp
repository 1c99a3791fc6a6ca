// Result types: how shapes and element types follow from operands. Errors name the op, the operands' sizes and the rule.
#include "ir/graph/Graph.h"

using namespace mlir;
using namespace graphc::graph;

static RankedTensorType ranked(Value v) { return cast<RankedTensorType>(v.getType()); }
static int64_t rankOf(Value v) { return ranked(v).getRank(); }

static std::string shapeText(Value v) { return toString(dimsOf(v.getType())); }

static FailureOr<int64_t> normalizedAxis(std::optional<Location> loc, StringRef op, int64_t axis, int64_t rank) {
  if (axis < 0 || axis >= rank)
    return emitOptionalError(loc, op, ": axis ", axis, " is out of range for rank ", rank), failure();
  return axis;
}

namespace graphc::graph {
LogicalResult inferElementwise(MLIRContext *ctx, std::optional<Location> loc, StringRef op, ValueRange operands,
                               StringRef kind, SmallVectorImpl<Type> &types) {
  SmallVector<AffineExpr> dims;
  unsigned first = kind == "second" ? 1 : 0;
  if (kind == "second" && !ranked(operands[0]).getElementType().isInteger(1))
    return emitOptionalError(loc, op, ": the condition must be bool, got ", ranked(operands[0]).getElementType());
  Type element = ranked(operands[first]).getElementType();
  for (auto [i, operand] : llvm::enumerate(operands)) {
    if (i >= first && ranked(operand).getElementType() != element)
      return emitOptionalError(loc, op, ": operands have element types ", element, " and ",
                               ranked(operand).getElementType());
    auto joined = broadcastDims(dims, dimsOf(operand.getType()));
    if (!joined)
      return emitOptionalError(loc, op, ": shapes ", toString(dims), " and ", shapeText(operand), " do not broadcast");
    dims = *joined;
  }
  types.push_back(tensorType(dims, kind == "bool" ? IntegerType::get(ctx, 1) : element));
  return success();
}
} // namespace graphc::graph

#define GRAPHC_INFER(Op)                                                                                              \
  LogicalResult Op::inferReturnTypes(MLIRContext *ctx, std::optional<Location> loc, ValueRange operands,              \
                                     DictionaryAttr attrs, OpaqueProperties properties, RegionRange regions,          \
                                     SmallVectorImpl<Type> &types)

GRAPHC_INFER(TransposeOp) {
  Adaptor op(operands, attrs, properties, regions);
  auto dims = dimsOf(op.getX().getType());
  SmallVector<bool> seen(dims.size());
  if (op.getPerm().size() != dims.size())
    return emitOptionalError(loc, "transpose: perm has ", op.getPerm().size(), " entries for rank ", dims.size());
  SmallVector<AffineExpr> result;
  for (int64_t p : op.getPerm()) {
    if (p < 0 || p >= (int64_t)dims.size() || seen[p])
      return emitOptionalError(loc, "transpose: perm is not a permutation of 0..", (int64_t)dims.size() - 1);
    seen[p] = true;
    result.push_back(dims[p]);
  }
  types.push_back(withDims(op.getX().getType(), result));
  return success();
}

GRAPHC_INFER(ConcatOp) {
  Adaptor op(operands, attrs, properties, regions);
  if (op.getInputs().empty())
    return emitOptionalError(loc, "concat: needs at least one operand");
  auto dims = dimsOf(op.getInputs()[0].getType());
  auto axis = normalizedAxis(loc, "concat", op.getAxis(), dims.size());
  if (failed(axis))
    return failure();
  AffineExpr total = constantDim(0, ctx);
  for (Value v : op.getInputs()) {
    auto other = dimsOf(v.getType());
    if (other.size() != dims.size() || ranked(v).getElementType() != ranked(op.getInputs()[0]).getElementType())
      return emitOptionalError(loc, "concat: operands ", op.getInputs()[0].getType(), " and ", v.getType(),
                               " differ in rank or element type");
    for (auto [i, d] : llvm::enumerate(other)) {
      if ((int64_t)i == *axis)
        continue;
      auto a = constantSize(dims[i]), b = constantSize(d);
      if (a && b && a != b)
        return emitOptionalError(loc, "concat: shapes ", toString(dims), " and ", toString(other),
                                 " differ outside axis ", *axis);
      if (b)
        dims[i] = d;
    }
    total = total + other[*axis];
  }
  dims[*axis] = total;
  types.push_back(withDims(op.getInputs()[0].getType(), dims));
  return success();
}

GRAPHC_INFER(GatherOp) {
  Adaptor op(operands, attrs, properties, regions);
  auto dims = dimsOf(op.getX().getType()), indices = dimsOf(op.getIndices().getType());
  auto axis = normalizedAxis(loc, "gather", op.getAxis(), dims.size());
  if (failed(axis))
    return failure();
  SmallVector<AffineExpr> result(dims.begin(), dims.begin() + *axis);
  llvm::append_range(result, indices);
  result.append(dims.begin() + *axis + 1, dims.end());
  types.push_back(withDims(op.getX().getType(), result));
  return success();
}
GRAPHC_INFER(GatherElementsOp) {
  Adaptor op(operands, attrs, properties, regions);
  if (rankOf(op.getX()) != rankOf(op.getIndices()))
    return emitOptionalError(loc, "gather_elements: data has rank ", rankOf(op.getX()), ", indices ",
                             rankOf(op.getIndices()));
  if (failed(normalizedAxis(loc, "gather_elements", op.getAxis(), rankOf(op.getX()))))
    return failure();
  types.push_back(withElementType(op.getIndices().getType(), ranked(op.getX()).getElementType()));
  return success();
}
GRAPHC_INFER(GatherNDOp) {
  Adaptor op(operands, attrs, properties, regions);
  auto dims = dimsOf(op.getX().getType()), indices = dimsOf(op.getIndices().getType());
  int64_t batch = op.getBatchDims();
  auto depth = indices.empty() ? std::nullopt : constantSize(indices.back());
  if (!depth || batch < 0 || batch >= (int64_t)indices.size() || batch + *depth > (int64_t)dims.size())
    return emitOptionalError(loc, "gather_nd: indices ", toString(indices), " do not fit data ", toString(dims),
                             " with ", batch, " batch dims");
  SmallVector<AffineExpr> result(indices.begin(), indices.end() - 1);
  result.append(dims.begin() + batch + *depth, dims.end());
  types.push_back(withDims(op.getX().getType(), result));
  return success();
}

static SmallVector<AffineExpr> reducedDims(ArrayRef<AffineExpr> dims, ArrayRef<int64_t> axes, bool keep) {
  SmallVector<AffineExpr> result;
  for (auto [i, d] : llvm::enumerate(dims)) {
    if (!llvm::is_contained(axes, (int64_t)i))
      result.push_back(d);
    else if (keep)
      result.push_back(getAffineConstantExpr(1, d.getContext()));
  }
  return result;
}
GRAPHC_INFER(ReduceOp) {
  Adaptor op(operands, attrs, properties, regions);
  auto dims = dimsOf(op.getX().getType());
  int64_t previous = -1;
  for (int64_t axis : op.getAxes()) {
    if (failed(normalizedAxis(loc, "reduce", axis, dims.size())))
      return failure();
    if (axis <= previous)
      return emitOptionalError(loc, "reduce: axes must ascend without repeats");
    previous = axis;
  }
  types.push_back(withDims(op.getX().getType(), reducedDims(dims, op.getAxes(), op.getKeep())));
  return success();
}
GRAPHC_INFER(ArgReduceOp) {
  Adaptor op(operands, attrs, properties, regions);
  auto dims = dimsOf(op.getX().getType());
  if (failed(normalizedAxis(loc, "arg_reduce", op.getAxis(), dims.size())))
    return failure();
  types.push_back(tensorType(reducedDims(dims, {(int64_t)op.getAxis()}, op.getKeep()), IntegerType::get(ctx, 64)));
  return success();
}

GRAPHC_INFER(MatmulOp) {
  Adaptor op(operands, attrs, properties, regions);
  auto a = dimsOf(op.getLhs().getType()), b = dimsOf(op.getRhs().getType());
  if (a.size() < 2 || b.size() < 2)
    return emitOptionalError(loc, "matmul: operands need rank 2 or more, got ", toString(a), " and ", toString(b));
  if (ranked(op.getLhs()).getElementType() != ranked(op.getRhs()).getElementType())
    return emitOptionalError(loc, "matmul: element types ", ranked(op.getLhs()).getElementType(), " and ",
                             ranked(op.getRhs()).getElementType(), " differ");
  AffineExpr m = a[a.size() - 2], k = a.back(), k2 = b[b.size() - 2], n = b.back();
  if (op.getTransposeLhs())
    std::swap(m, k);
  if (op.getTransposeRhs())
    std::swap(k2, n);
  if (constantSize(k) && constantSize(k2) && k != k2)
    return emitOptionalError(loc, "matmul: shapes ", toString(a), " and ", toString(b), " contract ", toString(k),
                             " with ", toString(k2));
  auto batch = broadcastDims(ArrayRef(a).drop_back(2), ArrayRef(b).drop_back(2));
  if (!batch)
    return emitOptionalError(loc, "matmul: batch dims of ", toString(a), " and ", toString(b), " do not broadcast");
  batch->push_back(m);
  batch->push_back(n);
  types.push_back(withDims(op.getLhs().getType(), *batch));
  return success();
}
AffineExpr MatmulOp::depth() {
  auto dims = dimsOf(getLhs().getType());
  return dims[dims.size() - (getTransposeLhs() ? 2 : 1)];
}

GRAPHC_INFER(AttentionOp) {
  Adaptor op(operands, attrs, properties, regions);
  auto dims = dimsOf(op.getQuery().getType());
  if (dims.size() < 2 || rankOf(op.getValue()) != (int64_t)dims.size())
    return emitOptionalError(loc, "attention: query and value need the same rank of 2 or more");
  dims.back() = dimsOf(op.getValue().getType()).back();
  types.push_back(withDims(op.getQuery().getType(), dims));
  return success();
}

GRAPHC_INFER(BatchNormTrainingOp) {
  Adaptor op(operands, attrs, properties, regions);
  if (rankOf(op.getX()) < 2)
    return emitOptionalError(loc, "batch_norm_training: x needs a batch and a channel dim, got ", shapeText(op.getX()));
  types.push_back(op.getX().getType());
  types.push_back(op.getRunningMean().getType());
  types.push_back(op.getRunningVariance().getType());
  auto statistics = withElementType(op.getRunningMean().getType(), computeType(ranked(op.getX()).getElementType()));
  types.append(2, statistics);
  return success();
}

/// logsumexp, norm and std: the type of a reduction.
template <typename Adaptor>
static LogicalResult inferReduction(std::optional<Location> loc, StringRef name, Adaptor op, SmallVectorImpl<Type> &types) {
  auto dims = dimsOf(op.getX().getType());
  if (!isa<FloatType>(ranked(op.getX()).getElementType()))
    return emitOptionalError(loc, name, ": needs floating-point elements, got ", ranked(op.getX()).getElementType());
  int64_t previous = -1;
  for (int64_t axis : op.getAxes()) {
    if (failed(normalizedAxis(loc, name, axis, dims.size())))
      return failure();
    if (axis <= previous)
      return emitOptionalError(loc, name, ": axes must ascend without repeats");
    previous = axis;
  }
  types.push_back(withDims(op.getX().getType(), reducedDims(dims, op.getAxes(), op.getKeep())));
  return success();
}
GRAPHC_INFER(LogSumExpOp) { return inferReduction(loc, "logsumexp", Adaptor(operands, attrs, properties, regions), types); }
GRAPHC_INFER(NormOp) { return inferReduction(loc, "norm", Adaptor(operands, attrs, properties, regions), types); }
GRAPHC_INFER(StdOp) { return inferReduction(loc, "std", Adaptor(operands, attrs, properties, regions), types); }

/// Losses over classes: one value, or with reduction none one for each label.
static LogicalResult inferLoss(std::optional<Location> loc, StringRef name, Value scores, Value labels, Value weight,
                               StringRef reduction, SmallVectorImpl<Type> &types) {
  auto dims = dimsOf(scores.getType()), places = dimsOf(labels.getType());
  Type element = ranked(scores).getElementType();
  if (!isa<FloatType>(element) || !ranked(labels).getElementType().isSignlessInteger() ||
      ranked(labels).getElementType().isInteger(1))
    return emitOptionalError(loc, name, ": needs floating-point scores and integer labels, got ", element, " and ",
                             ranked(labels).getElementType());
  bool fits = dims.size() >= 2 && places.size() == dims.size() - 1;
  for (size_t d = 0; fits && d < places.size(); ++d) {
    auto a = constantSize(dims[d ? d + 1 : 0]), b = constantSize(places[d]);
    fits &= !a || !b || a == b;
  }
  if (!fits)
    return emitOptionalError(loc, name, ": scores ", toString(dims), " need labels of the same sizes without dim 1, got ",
                             toString(places));
  if (weight) {
    auto classes = constantSize(dims[1]), given = constantSize(dimsOf(weight.getType())[0]);
    if (rankOf(weight) != 1 || (classes && given && classes != given))
      return emitOptionalError(loc, name, ": weight has shape ", shapeText(weight), ", but there are ", toString(dims[1]),
                               " classes");
  }
  types.push_back(reduction == "none" ? withElementType(labels.getType(), element) : RankedTensorType::get({}, element));
  return success();
}
GRAPHC_INFER(CrossEntropyOp) {
  Adaptor op(operands, attrs, properties, regions);
  return inferLoss(loc, "cross_entropy", op.getLogits(), op.getLabels(), op.getWeight(), op.getReduction(), types);
}
GRAPHC_INFER(NllLossOp) {
  Adaptor op(operands, attrs, properties, regions);
  return inferLoss(loc, "nll_loss", op.getLogProbabilities(), op.getLabels(), op.getWeight(), op.getReduction(), types);
}

GRAPHC_INFER(EmbeddingOp) {
  Adaptor op(operands, attrs, properties, regions);
  if (rankOf(op.getWeight()) != 2)
    return emitOptionalError(loc, "embedding: weight must be [rows, columns], got ", shapeText(op.getWeight()));
  auto dims = dimsOf(op.getIndices().getType());
  dims.push_back(dimsOf(op.getWeight().getType())[1]);
  types.push_back(withDims(op.getWeight().getType(), dims));
  return success();
}

//===-- verifiers of ops whose result type carries the sizes --------------------------------------------------------===//
LogicalResult CastOp::verify() {
  if (dimsOf(getX().getType()) != dimsOf(getType()))
    return emitOpError() << "changes the shape from " << shapeText(getX()) << " to " << shapeText(getResult());
  return success();
}
LogicalResult ReshapeOp::verify() {
  auto *ctx = getContext();
  auto from = constantSize(product(dimsOf(getX().getType()), ctx)), to = constantSize(product(dimsOf(getType()), ctx));
  if (from && to && from != to)
    return emitOpError() << "turns " << shapeText(getX()) << " (" << *from << " elements) into " << shapeText(getResult())
                         << " (" << *to << ")";
  return success();
}
LogicalResult BroadcastOp::verify() {
  auto from = dimsOf(getX().getType()), to = dimsOf(getType());
  if (from.size() > to.size())
    return emitOpError() << "cannot drop dims: " << toString(from) << " to " << toString(to);
  for (auto [i, d] : llvm::enumerate(from)) {
    AffineExpr target = to[to.size() - from.size() + i];
    if (!isSize(d, 1) && constantSize(d) && constantSize(target) && d != target)
      return emitOpError() << "cannot repeat size " << toString(d) << " to " << toString(target);
  }
  return success();
}
LogicalResult SliceOp::verify() {
  auto from = dimsOf(getX().getType()), to = dimsOf(getType());
  if (getStarts().getDims().size() != from.size() || getSteps().size() != from.size() || to.size() != from.size())
    return emitOpError() << "needs one start, step and size for each of " << from.size() << " dims";
  for (unsigned i = 0; i < from.size(); ++i) {
    auto start = constantSize(getStarts().getDims()[i]), size = constantSize(to[i]), limit = constantSize(from[i]);
    if (getSteps()[i] == 0)
      return emitOpError() << "step of dim " << i << " is 0";
    if (!start || !size || !limit || *size == 0)
      continue;
    int64_t last = *start + (*size - 1) * getSteps()[i];
    if (*start < 0 || *start >= *limit || last < 0 || last >= *limit)
      return emitOpError() << "reads elements " << *start << ".." << last << " of dim " << i << " of size " << *limit;
  }
  return success();
}
LogicalResult PadOp::verify() {
  if (getLow().size() != dimsOf(getX().getType()).size() || dimsOf(getType()).size() != getLow().size())
    return emitOpError() << "needs one low padding for each dim of " << shapeText(getX());
  if (!llvm::is_contained({"constant", "edge", "reflect", "wrap"}, getMode()))
    return emitOpError() << "mode is \"" << getMode() << "\"; constant, edge, reflect and wrap exist";
  return success();
}
LogicalResult ReduceOp::verify() {
  if (!llvm::is_contained({"sum", "prod", "max", "min", "any", "all"}, getKind()))
    return emitOpError() << "kind is \"" << getKind() << "\"; sum, prod, max, min, any and all exist";
  return success();
}
LogicalResult ResizeOp::verify() {
  if (getScales().size() != dimsOf(getX().getType()).size())
    return emitOpError() << "needs one scale for each dim of " << shapeText(getX());
  if (!llvm::is_contained({"nearest", "linear", "cubic"}, getMode()))
    return emitOpError() << "mode is \"" << getMode() << "\"; nearest, linear and cubic exist";
  return success();
}

template <typename Op>
static LogicalResult verifyConv(Op op, unsigned weightChannelDim) {
  auto x = dimsOf(op.getX().getType()), w = dimsOf(op.getWeight().getType()), r = dimsOf(op.getType());
  size_t spatial = x.size() - 2;
  if (x.size() < 3 || w.size() != x.size() || r.size() != x.size() || op.getStrides().size() != spatial ||
      op.getDilations().size() != spatial || op.getPadsLow().size() != spatial || op.getPadsHigh().size() != spatial)
    return op.emitOpError() << "ranks do not fit: input " << toString(x) << ", weight " << toString(w) << ", "
                            << op.getStrides().size() << " strides";
  AffineExpr channels = op.getChannelsLast() ? x.back() : x[1];
  auto c = constantSize(channels), wc = constantSize(w[weightChannelDim]);
  int64_t groups = op.getGroups();
  if (groups < 1 || (c && wc && *c != (weightChannelDim == 1 ? *wc * groups : *wc)))
    return op.emitOpError() << "input " << toString(x) << " has " << toString(channels) << " channels, weight "
                            << toString(w) << " with " << groups << " groups expects another number";
  return success();
}
LogicalResult ConvOp::verify() { return verifyConv(*this, 1); }
LogicalResult ConvTransposeOp::verify() { return verifyConv(*this, 0); }
AffineExpr ConvOp::depth() { return product(ArrayRef(dimsOf(getWeight().getType())).drop_front(), getContext()); }
AffineExpr ConvTransposeOp::depth() {
  auto w = dimsOf(getWeight().getType());
  w[1] = w[0].floorDiv(getGroups());
  return product(ArrayRef(w).drop_front(), getContext());
}

LogicalResult ConvWeightGradOp::verify() {
  auto x = dimsOf(getX().getType()), g = dimsOf(getGrad().getType()), r = dimsOf(getType());
  size_t spatial = x.size() - 2;
  if (x.size() < 3 || g.size() != x.size() || r.size() != x.size() || getStrides().size() != spatial ||
      getDilations().size() != spatial || getPadsLow().size() != spatial || getPadsHigh().size() != spatial)
    return emitOpError() << "ranks do not fit: input " << toString(x) << ", gradient " << toString(g) << ", weight "
                         << toString(r) << ", " << getStrides().size() << " strides";
  auto channels = [&](ArrayRef<AffineExpr> dims) { return constantSize(getChannelsLast() ? dims.back() : dims[1]); };
  auto in = channels(x), out = channels(g), rows = constantSize(r[0]), columns = constantSize(r[1]);
  int64_t groups = getGroups();
  if (groups < 1 || (in && columns && *in != *columns * groups) || (out && rows && *out != *rows))
    return emitOpError() << "input " << toString(x) << " and gradient " << toString(g) << " with " << groups
                         << " groups do not give a weight " << toString(r);
  return success();
}
AffineExpr ConvWeightGradOp::depth() {
  auto dims = dimsOf(getGrad().getType());
  dims.erase(dims.begin() + (getChannelsLast() ? dims.size() - 1 : 1));
  return product(dims, getContext());
}

LogicalResult RandomOp::verify() {
  Type element = getResult().getType().getElementType();
  if (!llvm::is_contained({"bits", "uniform", "normal"}, getKind()))
    return emitOpError() << "kind is \"" << getKind() << "\"; bits, uniform and normal exist";
  if (isa<FloatType>(element) == (getKind() == "bits"))
    return emitOpError() << "of kind " << getKind() << " cannot give " << element;
  for (Value v : getOperands())
    if (rankOf(v) != 0 || !ranked(v).getElementType().isInteger(64))
      return emitOpError() << "needs a key and an offset of type tensor<i64>, got " << v.getType();
  return success();
}

static LogicalResult verifyLoss(Operation *op, StringRef reduction) {
  if (!llvm::is_contained({"none", "sum", "mean"}, reduction))
    return op->emitOpError() << "reduction is \"" << reduction << "\"; none, sum and mean exist";
  return success();
}
LogicalResult CrossEntropyOp::verify() { return verifyLoss(*this, getReduction()); }
LogicalResult NllLossOp::verify() { return verifyLoss(*this, getReduction()); }

LogicalResult GroupOp::verify() {
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield || yield.getValues().getTypes() != getResultTypes())
    return emitOpError() << "must end in a yield of its result types";
  return success();
}
