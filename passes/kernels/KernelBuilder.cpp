#include "passes/kernels/KernelBuilder.h"
#include "ir/graph/Pooling.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::graph;

Type graphc::kernelElementType(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return IntegerType::get(type.getContext(), integer.getWidth());
  return type;
}

KernelBuilder::KernelBuilder(OpBuilder &b, Location loc, llvm::DenseMap<Value, Value> buffers,
                             llvm::DenseMap<unsigned, Value> symbols)
    : b(b), loc(loc), buffers(std::move(buffers)), symbols(std::move(symbols)) {
  scopes.push_back({b.getInsertionBlock(), nextScope++});
}

Expr KernelBuilder::remember(Value value, Type type, unsigned depth) {
  known.push_back({value, depth, scopes[depth].id});
  return Expr(this, (void *)(uintptr_t)(known.size() - 1), type);
}

AffineExpr KernelBuilder::newDim(Value value, unsigned depth, AffineExpr size) {
  dims.push_back({value, depth, size});
  return getAffineDimExpr(dims.size() - 1, context());
}

unsigned KernelBuilder::depthOf(ArrayRef<AffineExpr> index) {
  unsigned depth = 0;
  for (AffineExpr e : index)
    e.walk([&](AffineExpr x) {
      if (auto d = dyn_cast<AffineDimExpr>(x))
        depth = std::max(depth, dims[d.getPosition()].depth);
    });
  return depth;
}

AffineMap KernelBuilder::localMap(ArrayRef<AffineExpr> exprs, SmallVectorImpl<Value> &operands) {
  llvm::MapVector<unsigned, unsigned> usedDims, usedSymbols;
  for (AffineExpr e : exprs)
    e.walk([&](AffineExpr x) {
      if (auto d = dyn_cast<AffineDimExpr>(x))
        usedDims.insert({d.getPosition(), usedDims.size()});
      else if (auto s = dyn_cast<AffineSymbolExpr>(x))
        usedSymbols.insert({s.getPosition(), usedSymbols.size()});
    });
  llvm::DenseMap<AffineExpr, AffineExpr> replace;
  for (auto [position, local] : usedDims) {
    operands.push_back(dims[position].value);
    replace[getAffineDimExpr(position, context())] = getAffineDimExpr(local, context());
  }
  for (auto [position, local] : usedSymbols) {
    assert(symbols.count(position) && "a size symbol that is no scalar of the kernel");
    operands.push_back(symbols.lookup(position));
    replace[getAffineSymbolExpr(position, context())] = getAffineSymbolExpr(local, context());
  }
  SmallVector<AffineExpr> results;
  for (AffineExpr e : exprs)
    results.push_back(simplifyAffineExpr(e.replace(replace), usedDims.size(), usedSymbols.size()));
  return AffineMap::get(usedDims.size(), usedSymbols.size(), results, context());
}

void KernelBuilder::enter(unsigned depth) {
  Block *block = scopes[depth].block;
  if (!block->empty() && block->back().hasTrait<OpTrait::IsTerminator>())
    b.setInsertionPoint(&block->back());
  else
    b.setInsertionPointToEnd(block);
}

//===-- loops ---------------------------------------------------------------------------------------------------===//
SmallVector<AffineExpr> KernelBuilder::openDims(ValueRange ivs, ArrayRef<AffineExpr> sizes) {
  SmallVector<AffineExpr> exprs;
  for (auto [iv, size] : llvm::zip(ivs, sizes))
    exprs.push_back(newDim(iv, scopes.size() - 1, size));
  return exprs;
}

template <typename Loop>
void KernelBuilder::loop(ArrayRef<AffineExpr> sizes, function_ref<void(ArrayRef<AffineExpr>)> body) {
  OpBuilder::InsertionGuard guard(b);
  enter(scopes.size() - 1);
  SmallVector<Value> operands;
  AffineMap map = localMap(sizes, operands);
  Loop::create(b, loc, map, operands, [&](OpBuilder &nested, Location, ValueRange ivs) {
    OpBuilder::InsertionGuard inner(b);
    scopes.push_back({nested.getInsertionBlock(), nextScope++});
    b.setInsertionPointToEnd(scopes.back().block);
    body(openDims(ivs, sizes));
    scopes.pop_back();
  });
}
void KernelBuilder::parallel(ArrayRef<AffineExpr> sizes, function_ref<void(ArrayRef<AffineExpr>)> body) {
  loop<kernel::ParallelOp>(sizes, body);
}
void KernelBuilder::map(ArrayRef<AffineExpr> sizes, function_ref<void(ArrayRef<AffineExpr>)> body) {
  loop<kernel::MapOp>(sizes, body);
}

SmallVector<Expr> KernelBuilder::reduce(
    ArrayRef<AffineExpr> sizes, ArrayRef<Expr> init, function_ref<SmallVector<Expr>(ArrayRef<AffineExpr>)> body,
    function_ref<SmallVector<Expr>(ArrayRef<Expr>, ArrayRef<Expr>)> combine) {
  OpBuilder::InsertionGuard guard(b);
  unsigned depth = scopes.size() - 1;
  enter(depth);
  SmallVector<Value> operands, inits;
  AffineMap map = localMap(sizes, operands);
  SmallVector<Type> types;
  for (Expr e : init) {
    inits.push_back(valueOf(e));
    types.push_back(e.type);
  }
  auto inScope = [&](OpBuilder &nested, auto fn) {
    OpBuilder::InsertionGuard inner(b);
    scopes.push_back({nested.getInsertionBlock(), nextScope++});
    b.setInsertionPointToEnd(scopes.back().block);
    SmallVector<Value> values;
    for (Expr e : fn())
      values.push_back(valueOf(e));
    // The caller goes on building (the yield) in the block we filled.
    nested.setInsertionPointToEnd(scopes.back().block);
    scopes.pop_back();
    return values;
  };
  auto op = kernel::ReduceOp::create(
      b, loc, map, operands, inits,
      [&](OpBuilder &nested, Location, ValueRange ivs) {
        return inScope(nested, [&] { return body(openDims(ivs, sizes)); });
      },
      [&](OpBuilder &nested, Location, ValueRange x, ValueRange y) {
        return inScope(nested, [&] {
          SmallVector<Expr> left, right;
          for (auto [value, type] : llvm::zip(x, types))
            left.push_back(remember(value, type, scopes.size() - 1));
          for (auto [value, type] : llvm::zip(y, types))
            right.push_back(remember(value, type, scopes.size() - 1));
          return combine(left, right);
        });
      });
  SmallVector<Expr> results;
  for (auto [value, type] : llvm::zip(op.getResults(), types))
    results.push_back(remember(value, type, depth));
  return results;
}

void KernelBuilder::scan(ArrayRef<AffineExpr> sizes, ArrayRef<Expr> init,
                         function_ref<SmallVector<Expr>(ArrayRef<AffineExpr>, ArrayRef<Expr>)> body) {
  OpBuilder::InsertionGuard guard(b);
  enter(scopes.size() - 1);
  SmallVector<Value> operands, inits;
  AffineMap map = localMap(sizes, operands);
  for (Expr e : init)
    inits.push_back(valueOf(e));
  kernel::ScanOp::create(b, loc, map, operands, inits, [&](OpBuilder &nested, Location, ValueRange ivs, ValueRange values) {
    OpBuilder::InsertionGuard inner(b);
    scopes.push_back({nested.getInsertionBlock(), nextScope++});
    b.setInsertionPointToEnd(scopes.back().block);
    SmallVector<Expr> carried;
    for (auto [value, before] : llvm::zip(values, init))
      carried.push_back(remember(value, before.type, scopes.size() - 1));
    SmallVector<Value> next;
    for (Expr e : body(openDims(ivs, sizes), carried))
      next.push_back(valueOf(e));
    nested.setInsertionPointToEnd(scopes.back().block);
    scopes.pop_back();
    return next;
  });
}

//===-- memory --------------------------------------------------------------------------------------------------===//
std::optional<std::pair<int64_t, int64_t>> KernelBuilder::extremesOf(AffineExpr index) {
  if (auto c = constantSize(index))
    return std::make_pair(*c, *c);
  if (auto d = dyn_cast<AffineDimExpr>(index)) {
    AffineExpr size = dims[d.getPosition()].size;
    auto n = size ? constantSize(size) : std::nullopt;
    if (!n || *n <= 0)
      return std::nullopt;
    return std::make_pair(int64_t(0), *n - 1);
  }
  auto node = dyn_cast<AffineBinaryOpExpr>(index);
  if (!node)
    return std::nullopt;
  auto left = extremesOf(node.getLHS()), right = extremesOf(node.getRHS());
  if (!left || !right)
    return std::nullopt;
  switch (index.getKind()) {
  case AffineExprKind::Add:
    return std::make_pair(left->first + right->first, left->second + right->second);
  case AffineExprKind::Mul: {
    if (right->first != right->second)
      return std::nullopt;
    int64_t a = left->first * right->first, z = left->second * right->first;
    return std::make_pair(std::min(a, z), std::max(a, z));
  }
  case AffineExprKind::FloorDiv:
    if (right->first != right->second || right->first <= 0 || left->first < 0)
      return std::nullopt;
    return std::make_pair(left->first / right->first, left->second / right->first);
  case AffineExprKind::Mod:
    if (right->first != right->second || right->first <= 0)
      return std::nullopt;
    return std::make_pair(int64_t(0), right->first - 1);
  default:
    return std::nullopt;
  }
}

bool KernelBuilder::provedInside(AffineExpr index, AffineExpr size) {
  // A loop's own dim over the same size is inside by construction.
  if (auto d = dyn_cast<AffineDimExpr>(index); d && dims[d.getPosition()].size == size)
    return true;
  auto limit = constantSize(size);
  auto extremes = limit ? extremesOf(index) : std::nullopt;
  return extremes && extremes->first >= 0 && extremes->second < *limit;
}

Expr KernelBuilder::insideRange(ArrayRef<AffineExpr> index, ArrayRef<AffineExpr> sizes) {
  Expr all;
  for (auto [i, size] : llvm::zip(index, sizes)) {
    if (provedInside(i, size))
      continue;
    Expr value = indexValue(i);
    Expr in = (value >= constantInt(0, value.type)) && (value < indexValue(size));
    all = all.builder ? all && in : in;
  }
  return all;
}

Expr KernelBuilder::load(Value operand, ArrayRef<AffineExpr> index, std::optional<Expr> fill) {
  auto type = ::cast<RankedTensorType>(operand.getType());
  SmallVector<AffineExpr> simplified = llvm::map_to_vector(index, [](AffineExpr e) { return simplify(e); });
  bool inside = llvm::all_of(llvm::zip_equal(simplified, dimsOf(type)), [&](auto at) { return provedInside(std::get<0>(at), std::get<1>(at)); });
  if (fill && !inside) {
    if (buffers.count(operand)) {
      unsigned depth = std::max(depthOf(simplified), depthOf(*fill));
      Type element = kernelElementType(type.getElementType());
      Expr raw = emitAt(depth, type.getElementType(), [&] {
        SmallVector<Value> operands;
        AffineMap map = localMap(simplified, operands);
        Value padding = valueOf(*fill);
        if (padding.getType() != element)
          padding = arith::TruncFOp::create(b, loc, element, padding);
        return kernel::LoadOp::create(b, loc, buffers.lookup(operand), map, operands, padding).getResult();
      });
      return raw.castTo(computeType(type.getElementType()));
    }
    Expr within = insideRange(simplified, dimsOf(type));
    if (within.builder) {
      ++guardedDepth;
      Expr value = elementOf(operand, simplified);
      --guardedDepth;
      return select(within, value, *fill);
    }
  }
  return elementOf(operand, simplified);
}

KernelBuilder::Place KernelBuilder::placeOf(Value value, ArrayRef<AffineExpr> index) {
  std::vector<const void *> key;
  for (auto [e, size] : llvm::zip(index, dimsOf(value.getType())))
    // Along a size of 1 there is one index: spelled alike, so that the same element is recognised.
    key.push_back((!guardedDepth && isSize(size, 1) ? constantIndex(0) : e).getAsOpaquePointer());
  key.push_back((void *)(uintptr_t)guardedDepth);
  return {value.getAsOpaquePointer(), key};
}

std::optional<Expr> KernelBuilder::maximumOrPlace(Operation *op, ArrayRef<AffineExpr> index) {
  auto pool = dyn_cast<MaxPoolOp>(op);
  auto places = dyn_cast<MaxPoolIndexOp>(op);
  if (!pool && !places)
    return std::nullopt;
  for (Operation *user : op->getOperand(0).getUsers()) {
    if (user->getBlock() != op->getBlock())
      continue;
    auto maxima = pool ? pool : dyn_cast<MaxPoolOp>(user);
    auto where = places ? places : dyn_cast<MaxPoolIndexOp>(user);
    if (!maxima || !where || !numbersMaximaOf(where, maxima))
      continue;
    auto both = maximumAndPlace(where, *this, index);
    elements[placeOf(maxima, index)] = both[0];
    elements[placeOf(where, index)] = both[1];
    return both[pool ? 0 : 1];
  }
  return std::nullopt;
}

Expr KernelBuilder::elementOf(Value value, ArrayRef<AffineExpr> givenIndex) {
  auto type = ::cast<RankedTensorType>(value.getType());
  SmallVector<AffineExpr> index = llvm::to_vector(givenIndex);
  if (!guardedDepth)
    for (auto [i, size] : llvm::zip(index, dimsOf(type)))
      if (isSize(size, 1))
        i = constantIndex(0);
  Place slot = placeOf(value, index);
  if (auto it = elements.find(slot); it != elements.end()) {
    const Known &k = known[(uintptr_t)it->second.handle];
    if (k.depth < scopes.size() && scopes[k.depth].id == k.scopeId)
      return it->second;
  }

  // Emit in the outermost scope that knows all indices: what does not depend on an inner loop is computed once outside it.
  unsigned depth = std::max(1u, depthOf(index));
  depth = std::min<unsigned>(depth, scopes.size() - 1);
  SmallVector<Scope> inner(scopes.begin() + depth + 1, scopes.end());
  scopes.truncate(depth + 1);
  OpBuilder::InsertionGuard guard(b);
  enter(depth);

  Expr result;
  if (Value buffer = buffers.lookup(value)) {
    SmallVector<Value> operands;
    AffineMap map = localMap(index, operands);
    Value padding;
    bool inside = llvm::all_of(llvm::zip_equal(index, dimsOf(type)), [&](auto at) { return provedInside(std::get<0>(at), std::get<1>(at)); });
    if (guardedDepth && !inside)
      padding = arith::ConstantOp::create(b, loc, b.getZeroAttr(kernelElementType(type.getElementType())));
    Value loaded = kernel::LoadOp::create(b, loc, buffer, map, operands, padding);
    result = remember(loaded, type.getElementType(), depth).castTo(computeType(type.getElementType()));
  } else if (auto constantOp = value.getDefiningOp<ConstantOp>()) {
    auto elements = ::cast<DenseElementsAttr>(constantOp.getValue());
    assert(elements.isSplat() && "only splat literals are emitted in place");
    Type compute = computeType(type.getElementType());
    if (isa<FloatType>(compute)) {
      result = constant(elements.getSplatValue<APFloat>().convertToDouble(), compute);
      if (compute.isF64())
        result = constant(elements.getSplatValue<double>(), compute);
    } else {
      auto v = elements.getSplatValue<APInt>();
      result = constantInt(isUnsigned(compute) || compute.isInteger(1) ? (int64_t)v.getZExtValue() : v.getSExtValue(), compute);
    }
  } else {
    auto op = ::cast<ElementOp>(value.getDefiningOp());
    Operation *outer = std::exchange(current, op);
    if (auto one = maximumOrPlace(op, index))
      result = *one;
    else
      result = op.element(*this, ::cast<OpResult>(value).getResultNumber(), index);
    current = outer;
    assert(result.type == computeType(type.getElementType()) && "an element formula gives its result's computation type");
    if (Value buffer = spills.lookup(value); buffer && depth == scopes.size() - 1 && !inner.size()) {
      SmallVector<Value> operands;
      AffineMap map = localMap(index, operands);
      enter(depth);
      kernel::StoreOp::create(b, loc, valueOf(result), buffer, map, operands);
    }
  }
  scopes.append(inner);
  elements[slot] = result;
  return result;
}

void KernelBuilder::store(Value value, Value buffer, ArrayRef<AffineExpr> index) {
  Type element = ::cast<RankedTensorType>(value.getType()).getElementType();
  Expr e = elementOf(value, index).castTo(element);
  OpBuilder::InsertionGuard guard(b);
  enter(scopes.size() - 1);
  SmallVector<Value> operands;
  AffineMap map = localMap(index, operands);
  kernel::StoreOp::create(b, loc, valueOf(e), buffer, map, operands);
}

Expr KernelBuilder::loadFrom(Value buffer, Type element, ArrayRef<AffineExpr> index) {
  return emitIn(scopes.size() - 1, element, [&]() -> Value {
    SmallVector<Value> operands;
    AffineMap map = localMap(index, operands);
    return kernel::LoadOp::create(b, loc, buffer, map, operands);
  });
}

void KernelBuilder::storeTo(Expr value, Value buffer, ArrayRef<AffineExpr> index, std::optional<Expr> condition) {
  OpBuilder::InsertionGuard guard(b);
  enter(scopes.size() - 1);
  SmallVector<Value> operands;
  AffineMap map = localMap(index, operands);
  kernel::StoreOp::create(b, loc, valueOf(value), buffer, map, operands, condition ? valueOf(*condition) : Value());
}

Expr KernelBuilder::indexValue(AffineExpr index) {
  Type i64 = IntegerType::get(context(), 64);
  return emitAt(depthOf(index), i64, [&]() -> Value {
    SmallVector<Value> operands;
    AffineMap map = localMap({index}, operands);
    Value value = kernel::IndexOp::create(b, loc, map, operands);
    return arith::IndexCastOp::create(b, loc, i64, value);
  });
}

AffineExpr KernelBuilder::computedIndex(Expr value, AffineExpr limit) {
  // A check reports, so it belongs inside the outer domain even when the index is a literal.
  unsigned depth = std::max(limit ? 1u : 0u, depthOf(value));
  OpBuilder::InsertionGuard guard(b);
  enter(depth);
  Value index = arith::IndexCastOp::create(b, loc, b.getIndexType(), valueOf(value));
  if (limit) {
    SmallVector<Value> operands;
    AffineMap map = localMap({limit}, operands);
    Value size = kernel::IndexOp::create(b, loc, map, operands);
    unsigned site = llvm::find(siteOps, current) - siteOps.begin();
    if (site == siteOps.size())
      siteOps.push_back(current);
    index = kernel::CheckIndexOp::create(b, loc, index, size, site, /*wrap=*/false);
  }
  return newDim(index, depth, nullptr);
}
