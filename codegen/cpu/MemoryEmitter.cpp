// Loads, stores and index checks: contiguous, reversed, strided, uniform and gathered, with guards and masks.
#include "codegen/cpu/VectorEmitter.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cpu;

static Type shapedLike(Type element, Type like) {
  if (auto vector = dyn_cast<VectorType>(like))
    return VectorType::get(vector.getShape(), element);
  return element;
}

/// What lies in memory: i1 is a byte; bf16 moves as 16 bits (it has no registers below AVX512_BF16).
static Type storageOf(Type element) {
  if (element.isInteger(1))
    return IntegerType::get(element.getContext(), 8);
  if (element.isBF16())
    return IntegerType::get(element.getContext(), 16);
  return element;
}

Type VectorEmitter::storageType(Type element) { return storageOf(element); }

static unsigned bytesOf(Type element) { return std::max(1u, element.getIntOrFloatBitWidth() / 8); }

Value VectorEmitter::fromMemory(Value stored, Type element) {
  if (element.isInteger(1))
    return compare(arith::CmpIPredicate::ne, stored, constant(b_.getI8IntegerAttr(0)));
  if (element.isBF16())
    return arith::BitcastOp::create(b_, loc_, shapedLike(element, stored.getType()), stored);
  return stored;
}

Value VectorEmitter::toMemory(Value value, Type element) {
  if (element.isInteger(1))
    return arith::ExtUIOp::create(b_, loc_, shapedLike(b_.getI8Type(), value.getType()), value);
  if (element.isBF16())
    return arith::BitcastOp::create(b_, loc_, shapedLike(b_.getI16Type(), value.getType()), value);
  return value;
}

Value VectorEmitter::address(Value buffer, Type element, Value offset) {
  Type pointer = LLVM::LLVMPointerType::get(b_.getContext());
  Value base = pointers_[cast<BlockArgument>(buffer).getArgNumber()];
  return LLVM::GEPOp::create(b_, loc_, shapedLike(pointer, offset.getType()), storageOf(element), base, ArrayRef<LLVM::GEPArg>{offset});
}

/// One element, or the lanes from `offset` on; masked when a mask is set.
Value VectorEmitter::loadAt(Value buffer, Type element, Value offset) {
  Value at = address(buffer, element, offset);
  return fromMemory(LLVM::LoadOp::create(b_, loc_, storageOf(element), at, bytesOf(element)), element);
}

static DenseElementsAttr splat(VectorType type, Attribute value) { return DenseElementsAttr::get(type, value); }

/// Lanes at `offsets`. Inactive lanes read the element of the first active one or, with a fill value, element 0 (a buffer
/// always has 8 readable bytes), so that no lane needs a branch.
Value VectorEmitter::gather(Value buffer, Type element, Value offsets, Value mask, Value fill) {
  int64_t count = lanes_.count;
  if (mask) {
    Value safe = fill ? i64(0) : Value(vector::ExtractOp::create(b_, loc_, offsets, ArrayRef<int64_t>{0}));
    offsets = select(mask, offsets, safe);
  }
  Type storage = storageOf(element);
  auto type = VectorType::get({count}, storage);
  auto maskType = VectorType::get({count}, b_.getI1Type());
  Value all = constant(cast<TypedAttr>(splat(maskType, b_.getBoolAttr(true))));
  Value pass = constant(cast<TypedAttr>(splat(type, b_.getZeroAttr(storage))));
  Value pointers = address(buffer, element, offsets);
  Value loaded = LLVM::masked_gather::create(b_, loc_, type, pointers, all, ValueRange{pass}, b_.getI32IntegerAttr(bytesOf(element)));
  Value value = fromMemory(loaded, element);
  return mask && fill ? select(mask, value, fill) : value;
}

/// Lanes `stride` (2…4) apart: one contiguous load per piece, anchored so that nothing past the last lane is read.
Value VectorEmitter::loadStrided(Value buffer, Type element, Value offset, int64_t stride) {
  int64_t count = lanes_.count;
  auto type = VectorType::get({count}, storageOf(element));
  int64_t span = (count - 1) * stride + 1;
  Value result;
  for (int64_t piece = 0; piece < stride; ++piece) {
    int64_t start = std::min(piece * count, span - count);
    Value at = address(buffer, element, binary<arith::AddIOp>(offset, i64(start)));
    Value part = LLVM::LoadOp::create(b_, loc_, type, at, bytesOf(element));
    // Lane i wants element i * stride; take it from this piece where the piece has it.
    SmallVector<int64_t> pick(count);
    for (int64_t i = 0; i < count; ++i) {
      int64_t wanted = i * stride;
      bool here = wanted >= start && wanted < start + count;
      pick[i] = here ? (result ? count : 0) + wanted - start : i;
    }
    result = result ? Value(vector::ShuffleOp::create(b_, loc_, result, part, pick))
                    : Value(vector::ShuffleOp::create(b_, loc_, part, part, pick));
  }
  return fromMemory(result, element);
}

/// Null when every index is proved inside; a scalar, or a vector where an index differs between lanes.
Value VectorEmitter::inBounds(const LinearAccess &access) {
  Value all;
  auto need = [&](Value condition) { all = andMask(all, condition); };
  for (auto [index, size] : llvm::zip_equal(access.indices, access.dims)) {
    if (auto at = constantOf(index), limit = constantOf(size); at && limit && *at >= 0 && *at < *limit)
      continue;
    // An induction variable alone never leaves a dim as long as its loop.
    bool fromZero = false, inside = false;
    if (auto dim = dyn_cast<AffineDimExpr>(index)) {
      Value iv = access.space.values[dim.getPosition()];
      if (auto argument = dyn_cast<BlockArgument>(iv))
        if (auto loop = dyn_cast<kernel::LoopOp>(argument.getOwner()->getParentOp()); loop && argument.getOwner() == loop.getLoopBody() &&
                                                                                      argument.getArgNumber() < loop.getIvs().size()) {
          fromZero = true;
          auto length = sizeOf(loop, argument.getArgNumber());
          inside = length && (provedEqual(*length, size) ||
                              (constantOf(*length) && constantOf(size) && *constantOf(*length) <= *constantOf(size)));
        }
    }
    if (inside)
      continue;
    Value at = evaluateIn(access.space, index, /*laneZero=*/false);
    Value limit = evaluateIn(access.space, size, /*laneZero=*/true);
    // One unsigned comparison covers both ends: a negative index is a huge one.
    need(compare(fromZero ? arith::CmpIPredicate::slt : arith::CmpIPredicate::ult, at, limit));
  }
  return all;
}

namespace {
/// How the lanes of an access lie in memory.
struct LaneShape {
  bool uniform = false;          // one element for all
  std::optional<int64_t> stride; // constant distance between neighbours
};
} // namespace

static LaneShape shapeOf(const LinearAccess &access, Value laneIv, llvm::function_ref<bool(Value)> varying) {
  LaneShape shape;
  bool other = false;
  for (Value value : access.space.values)
    other |= value != laneIv && varying(value);
  if (other)
    return shape;
  auto coefficient = access.coefficient(laneIv);
  shape.stride = constantOf(coefficient);
  shape.uniform = shape.stride == 0;
  return shape;
}

void VectorEmitter::emitLoad(kernel::LoadOp op) {
  LinearAccess access = linearise(cast<kernel::AccessOp>(op.getOperation()));
  Type element = op.getType();
  Value buffer = op.getBuffer();
  Value guard = op.getFill() ? inBounds(access) : Value();
  Value fill = guard ? valueOf(op.getFill()) : Value();
  Value &result = values_[op.getResult()];

  LaneShape shape;
  shape.uniform = true;
  if (lanes_.count)
    shape = shapeOf(access, lanes_.iv, [&](Value v) { return varying_.contains(v); });
  bool guardVaries = guard && isa<VectorType>(guard.getType());
  bool fillVaries = fill && isa<VectorType>(fill.getType());
  int64_t count = lanes_.count;

  auto read = [&]() -> Value {
    if (shape.uniform && !guardVaries)
      return loadAt(buffer, element, evaluateIn(access.space, access.offset, /*laneZero=*/true));
    Value mask = andMask(lanes_.mask, guardVaries ? guard : Value());
    if (shape.stride == 1) {
      Value at = address(buffer, element, evaluateIn(access.space, access.offset, /*laneZero=*/true));
      auto type = VectorType::get({count}, storageOf(element));
      if (!mask)
        return fromMemory(LLVM::LoadOp::create(b_, loc_, type, at, bytesOf(element)), element);
      // Inactive lanes read as zero.
      Value pass = constant(cast<TypedAttr>(splat(type, b_.getZeroAttr(storageOf(element)))));
      Value loaded = LLVM::MaskedLoadOp::create(b_, loc_, type, at, mask, pass, b_.getI32IntegerAttr(bytesOf(element)), UnitAttr());
      Value value = fromMemory(loaded, element);
      return guardVaries ? select(guard, value, fill) : value;
    }
    if (!mask && shape.stride == -1) {
      Value first = evaluateIn(access.space, access.offset, /*laneZero=*/true);
      Value at = address(buffer, element, binary<arith::SubIOp>(first, i64(count - 1)));
      auto type = VectorType::get({count}, storageOf(element));
      Value loaded = LLVM::LoadOp::create(b_, loc_, type, at, bytesOf(element));
      SmallVector<int64_t> reversed;
      for (int64_t i = count - 1; i >= 0; --i)
        reversed.push_back(i);
      return fromMemory(vector::ShuffleOp::create(b_, loc_, loaded, loaded, reversed), element);
    }
    if (!mask && shape.stride && *shape.stride >= 2 && *shape.stride <= 4)
      return loadStrided(buffer, element, evaluateIn(access.space, access.offset, /*laneZero=*/true), *shape.stride);
    Value offsets;
    if (shape.stride) {
      Value first = evaluateIn(access.space, access.offset, /*laneZero=*/true);
      offsets = binary<arith::AddIOp>(first, steps(b_.getI64Type(), count, *shape.stride));
    } else {
      offsets = evaluateIn(access.space, access.offset, /*laneZero=*/false);
    }
    offsets = vectorOf(offsets, count);
    Value value = gather(buffer, element, offsets, mask, guardVaries ? fill : Value());
    return value;
  };

  if (!guard || guardVaries) {
    // The mask of a tail must not turn its lanes into fills that a later reduction keeps: it drops them itself.
    result = read();
    return;
  }
  // A guard all lanes share is a branch.
  bool wide = !shape.uniform || fillVaries;
  Type type = wide ? Type(VectorType::get({count}, element)) : element;
  auto branch = scf::IfOp::create(b_, loc_, TypeRange{type}, guard, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard restore(b_);
  b_.setInsertionPointToEnd(branch.thenBlock());
  Value inside = read();
  scf::YieldOp::create(b_, loc_, wide ? vectorOf(inside, count) : inside);
  b_.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b_, loc_, wide ? vectorOf(fill, count) : fill);
  values_[op.getResult()] = branch.getResult(0);
}

Value VectorEmitter::combineKind(arith::AtomicRMWKind kind, Value a, Value b) {
  using K = arith::AtomicRMWKind;
  match(a, b);
  auto make = [&](StringRef name) {
    OperationState state(loc_, name, ValueRange{a, b}, a.getType());
    return b_.create(state)->getResult(0);
  };
  switch (kind) {
  case K::addf: return make("arith.addf");
  case K::addi: return make("arith.addi");
  case K::assign: return b;
  case K::maximumf: return make("arith.maximumf");
  case K::maxnumf: return make("arith.maxnumf");
  case K::minimumf: return make("arith.minimumf");
  case K::minnumf: return make("arith.minnumf");
  case K::maxs: return make("arith.maxsi");
  case K::maxu: return make("arith.maxui");
  case K::mins: return make("arith.minsi");
  case K::minu: return make("arith.minui");
  case K::mulf: return make("arith.mulf");
  case K::muli: return make("arith.muli");
  case K::ori: return make("arith.ori");
  case K::andi: return make("arith.andi");
  case K::xori: return make("arith.xori");
  }
  llvm_unreachable("unknown combining kind");
}

static std::optional<LLVM::AtomicBinOp> atomicOf(arith::AtomicRMWKind kind) {
  using K = arith::AtomicRMWKind;
  using A = LLVM::AtomicBinOp;
  switch (kind) {
  case K::addi: return A::add;
  case K::maxs: return A::max;
  case K::maxu: return A::umax;
  case K::mins: return A::min;
  case K::minu: return A::umin;
  case K::ori: return A::_or;
  case K::andi: return A::_and;
  case K::xori: return A::_xor;
  case K::maximumf: return A::fmaximum;
  case K::minimumf: return A::fminimum;
  case K::maxnumf: return A::fmax;
  case K::minnumf: return A::fmin;
  default: return std::nullopt;
  }
}

void VectorEmitter::emitStore(kernel::StoreOp op) {
  LinearAccess access = linearise(cast<kernel::AccessOp>(op.getOperation()));
  Type element = cast<MemRefType>(op.getBuffer().getType()).getElementType();
  Value buffer = op.getBuffer(), value = valueOf(op.getValue());
  Value condition = op.getCondition() ? valueOf(op.getCondition()) : Value();
  bool conditionVaries = condition && isa<VectorType>(condition.getType());
  LaneShape shape;
  shape.uniform = true;
  if (lanes_.count)
    shape = shapeOf(access, lanes_.iv, [&](Value v) { return varying_.contains(v); });
  auto kind = op.getKind();

  auto write = [&] {
    int64_t count = lanes_.count;
    if (shape.uniform) {
      assert(!isa<VectorType>(value.getType()) && "lanes must not store to one element");
      Value offset = evaluateIn(access.space, access.offset, /*laneZero=*/true);
      Value at = address(buffer, element, offset);
      auto atomic = kind && op.getMode() == kernel::StoreMode::atomic ? atomicOf(*kind) : std::nullopt;
      if (atomic && !element.isF16() && !element.isBF16() && !element.isInteger(1)) {
        LLVM::AtomicRMWOp::create(b_, loc_, *atomic, at, value, LLVM::AtomicOrdering::monotonic);
        return;
      }
      if (kind)
        value = combineKind(*kind, loadAt(buffer, element, offset), value);
      LLVM::StoreOp::create(b_, loc_, toMemory(value, element), at, bytesOf(element));
      return;
    }
    value = vectorOf(value, count);
    Value mask = andMask(lanes_.mask, conditionVaries ? condition : Value());
    Value first = shape.stride ? evaluateIn(access.space, access.offset, /*laneZero=*/true) : Value();
    if (shape.stride == 1) {
      Value at = address(buffer, element, first);
      auto type = VectorType::get({count}, storageOf(element));
      if (kind) {
        Value old;
        if (mask) {
          Value pass = constant(cast<TypedAttr>(splat(type, b_.getZeroAttr(storageOf(element)))));
          old = LLVM::MaskedLoadOp::create(b_, loc_, type, at, mask, pass, b_.getI32IntegerAttr(bytesOf(element)), UnitAttr());
        } else {
          old = LLVM::LoadOp::create(b_, loc_, type, at, bytesOf(element));
        }
        value = combineKind(*kind, fromMemory(old, element), value);
      }
      Value stored = toMemory(value, element);
      if (mask)
        LLVM::MaskedStoreOp::create(b_, loc_, stored, at, mask, bytesOf(element));
      else
        LLVM::StoreOp::create(b_, loc_, stored, at, bytesOf(element));
      return;
    }
    Value offsets = shape.stride ? binary<arith::AddIOp>(first, steps(b_.getI64Type(), count, *shape.stride))
                                 : evaluateIn(access.space, access.offset, /*laneZero=*/false);
    offsets = vectorOf(offsets, count);
    if (kind)
      value = combineKind(*kind, gather(buffer, element, offsets, mask, mask ? constant(b_.getZeroAttr(element)) : Value()), value);
    auto maskType = VectorType::get({count}, b_.getI1Type());
    if (!mask)
      mask = constant(cast<TypedAttr>(splat(maskType, b_.getBoolAttr(true))));
    LLVM::masked_scatter::create(b_, loc_, toMemory(value, element), address(buffer, element, offsets), mask,
                                 b_.getI32IntegerAttr(bytesOf(element)));
  };

  if (!condition || conditionVaries) {
    write();
    return;
  }
  auto branch = scf::IfOp::create(b_, loc_, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard restore(b_);
  b_.setInsertionPoint(branch.thenBlock()->getTerminator());
  write();
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// `graphc_report_index(context, site, value, lower, upper)`: the first report wins. Fields as in runtime/base/KernelContext.h.
LLVM::LLVMFuncOp VectorEmitter::reportFunction() {
  constexpr StringRef name = "graphc_report_index";
  auto module = kernel_->getParentOfType<ModuleOp>();
  if (auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
    return function;
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(module.getBody());
  Location loc = kernel_.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(b_.getContext()), i32 = b_.getI32Type(), i64 = b_.getI64Type();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b_.getContext()), {pointer, i32, i64, i64, i64});
  auto function = LLVM::LLVMFuncOp::create(b_, loc, name, type, LLVM::Linkage::Internal);
  function.setNoInline(true);
  Block *entry = function.addEntryBlock(b_);
  Block *write = new Block, *done = new Block;
  function.getBody().push_back(write);
  function.getBody().push_back(done);
  b_.setInsertionPointToEnd(entry);
  auto number = [&](Type type, int64_t v) -> Value { return LLVM::ConstantOp::create(b_, loc, type, b_.getIntegerAttr(type, v)); };
  auto field = [&](Value cell, int64_t byte) -> Value {
    return LLVM::GEPOp::create(b_, loc, pointer, b_.getI8Type(), cell, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(byte)});
  };
  Value cell = LLVM::LoadOp::create(b_, loc, pointer, entry->getArgument(0));
  // 2 claims the cell, 1 publishes it.
  Value exchange = LLVM::AtomicCmpXchgOp::create(b_, loc, cell, number(i32, 0), number(i32, 2), LLVM::AtomicOrdering::acq_rel,
                                                 LLVM::AtomicOrdering::monotonic);
  Value won = LLVM::ExtractValueOp::create(b_, loc, exchange, 1);
  LLVM::CondBrOp::create(b_, loc, won, write, done);
  b_.setInsertionPointToEnd(write);
  LLVM::StoreOp::create(b_, loc, entry->getArgument(1), field(cell, 4));
  for (unsigned i = 0; i < 3; ++i)
    LLVM::StoreOp::create(b_, loc, entry->getArgument(2 + i), field(cell, 8 + 8 * i));
  LLVM::AtomicRMWOp::create(b_, loc, LLVM::AtomicBinOp::xchg, cell, number(i32, 1), LLVM::AtomicOrdering::release);
  LLVM::BrOp::create(b_, loc, done);
  b_.setInsertionPointToEnd(done);
  LLVM::ReturnOp::create(b_, loc, ValueRange{});
  return function;
}

void VectorEmitter::emitCheck(kernel::CheckIndexOp op) {
  Value index = valueOf(op.getIndex()), size = valueOf(op.getSize());
  Value lower = op.getWrap() ? binary<arith::SubIOp>(i64(0), size) : i64(0);
  Value upper = binary<arith::SubIOp>(size, i64(1));
  Value position = op.getWrap() ? select(compare(arith::CmpIPredicate::slt, index, i64(0)), binary<arith::AddIOp>(index, size), index) : index;
  Value bad = compare(arith::CmpIPredicate::uge, position, size);
  Value site = constant(b_.getI32IntegerAttr(op.getSite()));
  LLVM::LLVMFuncOp report = reportFunction();

  auto call = [&](Value value, Value low, Value high) {
    LLVM::CallOp::create(b_, loc_, report, ValueRange{context_, site, value, low, high});
  };
  if (auto vector = dyn_cast<VectorType>(bad.getType())) {
    if (lanes_.mask)
      bad = binary<arith::AndIOp>(bad, lanes_.mask);
    int64_t count = vector.getNumElements();
    Value any = vector::ReductionOp::create(b_, loc_, vector::CombiningKind::OR, bad);
    auto branch = scf::IfOp::create(b_, loc_, any, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard restore(b_);
    b_.setInsertionPoint(branch.thenBlock()->getTerminator());
    // The first lane that is wrong.
    auto bits = b_.getIntegerType(count);
    Value word = vector::ExtractOp::create(
        b_, loc_, Value(vector::BitCastOp::create(b_, loc_, VectorType::get({1}, bits), bad)), ArrayRef<int64_t>{0});
    Value lane = math::CountTrailingZerosOp::create(b_, loc_, word);
    if (count < 64)
      lane = arith::ExtUIOp::create(b_, loc_, b_.getI64Type(), lane);
    else if (count > 64)
      lane = arith::TruncIOp::create(b_, loc_, b_.getI64Type(), lane);
    auto at = [&](Value v) -> Value {
      return isa<VectorType>(v.getType()) ? Value(LLVM::ExtractElementOp::create(b_, loc_, v, lane)) : v;
    };
    call(at(index), at(lower), at(upper));
  } else {
    auto branch = scf::IfOp::create(b_, loc_, bad, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard restore(b_);
    b_.setInsertionPoint(branch.thenBlock()->getTerminator());
    call(index, lower, upper);
  }
  Value clamped = binary<arith::MaxSIOp>(binary<arith::MinSIOp>(position, upper), i64(0));
  values_[op.getResult()] = clamped;
}
