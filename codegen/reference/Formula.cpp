#include "codegen/reference/Formula.h"
#include <bit>
#include <limits>

using namespace mlir;
using namespace graphc::graph;

namespace graphc::reference {

static constexpr int64_t kFar = int64_t(1) << 40; // stands for "not known" in ranges; products of two stay below 2^63 by clamping

FormulaRecorder::FormulaRecorder(MLIRContext *ctx, llvm::ArrayRef<int64_t> shape, TensorOf tensorOf, SizeOf sizeOf)
    : ctx(ctx), tensorOf(std::move(tensorOf)), sizeOf(std::move(sizeOf)) {
  formula.loops.emplace_back();
  formula.loops[0].sizes.assign(shape.begin(), shape.end());
  for (int64_t size : shape) {
    AffineExpr dim;
    formula.loops[0].positions.push_back(addDim(0, size, dim));
    index.push_back(dim);
  }
}

Formula FormulaRecorder::finish(Expr result) {
  formula.result = nodeOf(result);
  return std::move(formula);
}

// --- nodes

int FormulaRecorder::addNode(FormulaNode node) {
  auto deeper = [&](int loop, int operand) {
    if (operand < 0)
      return loop;
    int other = formula.nodes[operand].loop;
    return formula.loops[other].depth > formula.loops[loop].depth ? other : loop;
  };
  bool placed = node.code == NodeCode::Position || node.code == NodeCode::Accumulator || node.code == NodeCode::RunLoop ||
                node.code == NodeCode::LoopResult;
  if (!placed) {
    node.loop = deeper(deeper(deeper(0, node.a), node.b), node.c);
    if (node.code == NodeCode::Load) {
      const FormulaLoad &load = formula.loads[node.payload];
      node.loop = deeper(deeper(node.loop, load.offset), load.fill);
      for (auto &[index, size] : load.checks)
        node.loop = deeper(node.loop, index);
    }
    uint64_t typeBits = uint64_t(node.type.cls) << 16 | uint64_t(node.type.width) << 8 | node.type.isUnsigned;
    if (node.code != NodeCode::Load) {
      auto [it, isNew] = known.try_emplace({int(node.code), int(node.kind), typeBits, node.a, node.b, node.c, node.payload},
                                           static_cast<int>(formula.nodes.size()));
      if (!isNew)
        return it->second;
    }
  }
  int id = static_cast<int>(formula.nodes.size());
  formula.nodes.push_back(node);
  ranges.push_back({-kFar, kFar});
  // Positions and accumulators are filled in by the loop itself.
  if (node.code != NodeCode::Position && node.code != NodeCode::Accumulator && node.code != NodeCode::LoopResult)
    formula.loops[node.loop].body.push_back(id);
  return id;
}

static const ScalarType kIndexType{ScalarType::Integer, 64, false};

int FormulaRecorder::addDim(int loop, int64_t size, AffineExpr &dim) {
  int node = addNode({.code = NodeCode::Position, .type = kIndexType, .loop = loop});
  ranges[node] = {0, std::max<int64_t>(size - 1, 0)};
  dim = getAffineDimExpr(dimNodes.size(), ctx);
  dimNodes.push_back(node);
  return node;
}

int FormulaRecorder::integerConstant(int64_t value) {
  int node = addNode({.code = NodeCode::Constant, .type = kIndexType, .payload = value});
  ranges[node] = {value, value};
  return node;
}

// --- indices

FormulaRecorder::Range FormulaRecorder::rangeOf(int node) const { return ranges[node]; }

int FormulaRecorder::indexBinary(NodeCode code, ScalarKind kind, int a, int b) {
  Range x = ranges[a], y = ranges[b];
  bool add = code == NodeCode::Binary && kind == ScalarKind::Add, mul = code == NodeCode::Binary && kind == ScalarKind::Mul;
  auto isConstant = [&](int node, int64_t value) {
    return formula.nodes[node].code == NodeCode::Constant && formula.nodes[node].payload == value;
  };
  if (add && isConstant(a, 0))
    return b;
  if ((add && isConstant(b, 0)) || (!add && isConstant(b, 1) && !(code == NodeCode::Binary && kind == ScalarKind::Mod)))
    return a;
  if (mul && isConstant(a, 1))
    return b;
  auto clamped = [](__int128 v) { return static_cast<int64_t>(std::clamp<__int128>(v, -kFar, kFar)); };
  Range range{-kFar, kFar};
  bool bounded = x.low > -kFar && x.high < kFar && y.low > -kFar && y.high < kFar;
  if (bounded && add)
    range = {clamped(__int128(x.low) + y.low), clamped(__int128(x.high) + y.high)};
  if (bounded && mul) {
    __int128 corners[] = {__int128(x.low) * y.low, __int128(x.low) * y.high, __int128(x.high) * y.low, __int128(x.high) * y.high};
    range = {clamped(*std::min_element(corners, corners + 4)), clamped(*std::max_element(corners, corners + 4))};
  }
  if (code == NodeCode::Binary && kind == ScalarKind::Mod && y.low == y.high && y.low > 0) {
    range = {0, y.low - 1};
    if (bounded && x.low >= 0 && x.high < y.low)
      return a;
  }
  if (code == NodeCode::FloorDiv && bounded && y.low == y.high && y.low > 0 && x.low >= 0)
    range = {x.low / y.low, x.high / y.low};
  if (range.low == range.high && range.low > -kFar && range.high < kFar)
    return integerConstant(range.low);
  int node = addNode({.code = code, .kind = kind, .type = kIndexType, .a = a, .b = b});
  ranges[node] = range;
  return node;
}

int FormulaRecorder::indexNode(AffineExpr index) {
  if (auto constant = dyn_cast<AffineConstantExpr>(index))
    return integerConstant(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(index))
    return dimNodes[dim.getPosition()];
  if (isa<AffineSymbolExpr>(index))
    return integerConstant(sizeOf(index));
  auto binary = cast<AffineBinaryOpExpr>(index);
  int a = indexNode(binary.getLHS());
  int b = indexNode(binary.getRHS());
  switch (binary.getKind()) {
  case AffineExprKind::Add: return indexBinary(NodeCode::Binary, ScalarKind::Add, a, b);
  case AffineExprKind::Mul: return indexBinary(NodeCode::Binary, ScalarKind::Mul, a, b);
  case AffineExprKind::Mod: return indexBinary(NodeCode::Binary, ScalarKind::Mod, a, b);
  case AffineExprKind::FloorDiv: return indexBinary(NodeCode::FloorDiv, ScalarKind::Div, a, b);
  case AffineExprKind::CeilDiv: return indexBinary(NodeCode::CeilDiv, ScalarKind::Div, a, b);
  default: llvm_unreachable("not a binary affine expression");
  }
}

Expr FormulaRecorder::indexValue(AffineExpr index) { return expr(indexNode(index), IntegerType::get(ctx, 64)); }

AffineExpr FormulaRecorder::computedIndex(Expr value, AffineExpr limit) {
  int node = nodeOf(value);
  if (limit) {
    int64_t size = sizeOf(limit);
    node = addNode({.code = NodeCode::BoundedIndex, .type = kIndexType, .a = node, .payload = size});
    ranges[node] = {0, std::max<int64_t>(size - 1, 0)};
  }
  AffineExpr dim = getAffineDimExpr(dimNodes.size(), ctx);
  dimNodes.push_back(node);
  return dim;
}

Expr FormulaRecorder::load(Value operand, llvm::ArrayRef<AffineExpr> index, std::optional<Expr> fill) {
  FormulaLoad load;
  load.tensor = tensorOf(operand);
  assert(index.size() == load.tensor.shape().size() && "one index per dimension of the operand");
  auto strides = load.tensor.strides();
  llvm::SmallVector<int> terms;
  for (auto [i, position] : llvm::enumerate(index)) {
    int node = indexNode(position);
    int64_t size = load.tensor.shape()[i];
    Range range = rangeOf(node);
    if (fill && !(range.low >= 0 && range.high < size && size > 0))
      load.checks.emplace_back(node, size);
    terms.push_back(indexBinary(NodeCode::Binary, ScalarKind::Mul, node, integerConstant(strides[i])));
  }
  // Outer loops' terms first, so that their sum is evaluated out there.
  auto depthOf = [&](int term) { return formula.loops[formula.nodes[term].loop].depth; };
  llvm::sort(terms, [&](int a, int b) { return std::pair(depthOf(a), a) < std::pair(depthOf(b), b); });
  load.offset = integerConstant(0);
  for (int term : terms)
    load.offset = indexBinary(NodeCode::Binary, ScalarKind::Add, load.offset, term);
  if (fill)
    load.fill = nodeOf(*fill);
  Type type = computeType(load.tensor.elementType());
  ScalarType scalar = load.tensor.scalarType();
  formula.loads.push_back(std::move(load));
  return expr(addNode({.code = NodeCode::Load, .type = scalar, .payload = int64_t(formula.loads.size() - 1)}), type);
}

// --- scalars

Expr FormulaRecorder::constant(double value, Type type) {
  ScalarType scalar = scalarTypeOf(type);
  int64_t bits = scalar.isFloat() ? std::bit_cast<int64_t>(value) : saturate(value, scalar);
  return expr(addNode({.code = NodeCode::Constant, .type = scalar, .payload = bits}), type);
}

Expr FormulaRecorder::constantInt(int64_t value, Type type) {
  ScalarType scalar = scalarTypeOf(type);
  int64_t bits = scalar.isFloat() ? std::bit_cast<int64_t>(static_cast<double>(value)) : wrap(value, scalar);
  int node = addNode({.code = NodeCode::Constant, .type = scalar, .payload = bits});
  if (!scalar.isFloat())
    ranges[node] = {bits, bits};
  return expr(node, type);
}

Expr FormulaRecorder::unary(ScalarKind kind, Expr a) {
  bool isPredicate = kind == ScalarKind::IsNaN;
  Type type = isPredicate ? IntegerType::get(ctx, 1) : a.type;
  return expr(addNode({.code = NodeCode::Unary, .kind = kind, .type = scalarTypeOf(type), .a = nodeOf(a)}), type);
}

Expr FormulaRecorder::binary(ScalarKind kind, Expr a, Expr b) {
  assert(scalarTypeOf(a.type) == scalarTypeOf(b.type) && "operands of one operation have one type");
  bool isPredicate = kind == ScalarKind::Equal || kind == ScalarKind::NotEqual || kind == ScalarKind::Less ||
                     kind == ScalarKind::LessEqual;
  Type type = isPredicate ? IntegerType::get(ctx, 1) : a.type;
  return expr(addNode({.code = NodeCode::Binary, .kind = kind, .type = scalarTypeOf(type), .a = nodeOf(a), .b = nodeOf(b)}), type);
}

Expr FormulaRecorder::select(Expr condition, Expr a, Expr b) {
  assert(scalarTypeOf(a.type) == scalarTypeOf(b.type) && "both arms of a select have one type");
  return expr(addNode({.code = NodeCode::Select, .type = scalarTypeOf(a.type), .a = nodeOf(a), .b = nodeOf(b), .c = nodeOf(condition)}),
              a.type);
}

/// Floats are doubles here, but a cast to a narrower float still rounds: that is its meaning.
static bool rounds(Type from, Type to) {
  auto source = dyn_cast<FloatType>(from), target = dyn_cast<FloatType>(to);
  return source && target && source != target &&
         !(target.getFPMantissaWidth() >= source.getFPMantissaWidth() && target.getWidth() > source.getWidth());
}

Expr FormulaRecorder::cast(Expr a, Type type) {
  ScalarType from = scalarTypeOf(a.type), to = scalarTypeOf(type);
  int64_t rounding = rounds(a.type, type) ? type.isF32() ? 1 : type.isF16() ? 2 : 3 : 0;
  if (from == to && !rounding)
    return expr(nodeOf(a), type);
  return expr(addNode({.code = NodeCode::Cast, .type = to, .a = nodeOf(a), .payload = rounding}), type);
}

// --- reductions

llvm::SmallVector<Expr>
FormulaRecorder::reduce(llvm::ArrayRef<AffineExpr> sizes, llvm::ArrayRef<Expr> init,
                        llvm::function_ref<llvm::SmallVector<Expr>(llvm::ArrayRef<AffineExpr>)> body,
                        llvm::function_ref<llvm::SmallVector<Expr>(llvm::ArrayRef<Expr>, llvm::ArrayRef<Expr>)> combine) {
  int outer = currentLoop, loop = static_cast<int>(formula.loops.size());
  formula.loops.emplace_back();
  formula.loops[loop].depth = formula.loops[outer].depth + 1;
  currentLoop = loop;
  llvm::SmallVector<AffineExpr> dims;
  for (AffineExpr size : sizes) {
    AffineExpr dim;
    int64_t extent = sizeOf(size);
    int node = addDim(loop, extent, dim);
    formula.loops[loop].sizes.push_back(extent);
    formula.loops[loop].positions.push_back(node);
    dims.push_back(dim);
  }
  llvm::SmallVector<Expr> accumulators;
  for (Expr e : init) {
    int node = addNode({.code = NodeCode::Accumulator, .type = scalarTypeOf(e.type), .loop = loop});
    formula.loops[loop].init.push_back(nodeOf(e));
    formula.loops[loop].accumulators.push_back(node);
    accumulators.push_back(expr(node, e.type));
  }
  llvm::SmallVector<Expr> values = body(dims);
  llvm::SmallVector<Expr> next = combine(accumulators, values);
  assert(next.size() == init.size() && "a reduction combines as many values as it has identities");
  for (Expr e : next)
    formula.loops[loop].next.push_back(nodeOf(e));
  currentLoop = outer;

  addNode({.code = NodeCode::RunLoop, .type = kIndexType, .payload = loop, .loop = outer});
  llvm::SmallVector<Expr> results;
  for (Expr e : init) {
    int node = addNode({.code = NodeCode::LoopResult, .type = scalarTypeOf(e.type), .loop = outer});
    formula.loops[loop].results.push_back(node);
    results.push_back(expr(node, e.type));
  }
  return results;
}

} // namespace graphc::reference
