// The loops of a kernel: the outer range, maps, reductions and scans, with vectors along the lane dim.
#include "codegen/cpu/VectorEmitter.h"

#include "ir/kernel/Segments.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cpu;

VectorEmitter::VectorEmitter(kernel::FuncOp kernel, OpBuilder &builder) : kernel_(kernel), b_(builder), loc_(kernel.getLoc()) {}

func::FuncOp VectorEmitter::emit() {
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(kernel_);
  Type pointer = LLVM::LLVMPointerType::get(b_.getContext()), i64Type = b_.getI64Type();
  auto function = func::FuncOp::create(b_, loc_, kernel_.getSymName(),
                                       b_.getFunctionType({pointer, pointer, pointer, i64Type, i64Type}, {}));
  entry_ = function.addEntryBlock();
  b_.setInsertionPointToStart(entry_);
  context_ = entry_->getArgument(2);
  begin_ = entry_->getArgument(3);
  end_ = entry_->getArgument(4);
  auto stored = storedBuffers(kernel_);
  stored_.insert(stored.begin(), stored.end());
  scalarTail_ = kernel_.getScheduleOrDefault().getTail() == kernel::Tail::scalar;
  if (kernel::segmentsOf(kernel_)) {
    emitSegments();
  } else {
    loadArguments(entry_->getArgument(0), entry_->getArgument(1));
    emitBody();
  }
  func::ReturnOp::create(b_, loc_);
  return function;
}

void VectorEmitter::loadArguments(Value buffers, Value scalars) {
  Type pointer = LLVM::LLVMPointerType::get(b_.getContext()), i64Type = b_.getI64Type();
  for (auto [i, buffer] : llvm::enumerate(kernel_.getBuffers())) {
    Value slot = LLVM::GEPOp::create(b_, loc_, pointer, pointer, buffers, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    pointers_.push_back(LLVM::LoadOp::create(b_, loc_, pointer, slot));
    elements_.push_back(cast<MemRefType>(buffer.getType()).getElementType());
  }
  for (auto [i, scalar] : llvm::enumerate(kernel_.getScalars())) {
    Value slot = LLVM::GEPOp::create(b_, loc_, pointer, i64Type, scalars, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    scalars_.push_back(LLVM::LoadOp::create(b_, loc_, i64Type, slot));
    values_[scalar] = scalars_.back();
  }
}

void VectorEmitter::emitBody() {
  for (Operation &op : kernel_.getBody().front().without_terminator()) {
    if (auto parallel = dyn_cast<kernel::ParallelOp>(op)) {
      auto strategy = kernel_.getScheduleOrDefault().getStrategy();
      if (strategy == kernel::Strategy::transpose)
        emitTransposed(parallel);
      else if (strategy == kernel::Strategy::contract)
        emitContracted(parallel);
      else
        emitParallel(parallel);
    } else {
      emitOp(&op);
    }
  }
}

/// The body in a loop over the segments, on that part of the range that lies in each.
void VectorEmitter::emitSegments() {
  Type pointer = LLVM::LLVMPointerType::get(b_.getContext()), i64Type = b_.getI64Type();
  int64_t buffers = kernel_.getNumBuffers(), scalars = kernel_.getNumScalars();
  Value begin = begin_, end = end_;
  AffineMap range = kernel_.getRangeMap();
  auto loop = cast<kernel::LoopOp>(kernel_.getParallel().getOperation());
  emitFor(i64(0), i64(*kernel::segmentsOf(kernel_)), 1, {i64(0)}, [&](Value segment, ValueRange carried) -> Values {
    Value first = carried[0];
    auto behind = [&](unsigned argument, Type element, int64_t count) {
      Value index = binary<arith::MulIOp>(segment, i64(count));
      return LLVM::GEPOp::create(b_, loc_, pointer, element, entry_->getArgument(argument), ArrayRef<LLVM::GEPArg>{index});
    };
    loadArguments(behind(0, pointer, buffers), behind(1, i64Type, scalars));
    Value units = evaluate(range.getResult(0), [](unsigned) { return Value(); });
    begin_ = binary<arith::MaxSIOp>(binary<arith::SubIOp>(begin, first), i64(0));
    end_ = binary<arith::MinSIOp>(binary<arith::SubIOp>(end, first), sizeValue(loop, 0));
    emitBody();
    return {binary<arith::AddIOp>(first, units)};
  });
}

//===----------------------------------------------------------------------===//
// Loops in general
//===----------------------------------------------------------------------===//

VectorEmitter::Values VectorEmitter::emitFor(Value lower, Value upper, int64_t step, ValueRange carried, BodyFn body) {
  auto loop = scf::ForOp::create(b_, loc_, lower, upper, i64(step), carried);
  OpBuilder::InsertionGuard guard(b_);
  if (carried.empty())
    b_.setInsertionPoint(loop.getBody()->getTerminator());
  else
    b_.setInsertionPointToEnd(loop.getBody());
  Values next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(b_, loc_, next);
  return Values(loop.getResults());
}

/// Plain loops over the first `numDims` dims of `op`, outermost first.
VectorEmitter::Values VectorEmitter::emitNest(kernel::LoopOp op, unsigned numDims, ValueRange carried,
                                              function_ref<Values(ValueRange)> body) {
  std::function<Values(unsigned, ValueRange)> level = [&](unsigned dim, ValueRange values) -> Values {
    if (dim == numDims)
      return body(values);
    return emitFor(i64(0), sizeValue(op, dim), 1, values, [&](Value iv, ValueRange inner) {
      values_[op.getIvs()[dim]] = iv;
      return level(dim + 1, inner);
    });
  };
  return level(0, carried);
}

VectorEmitter::Values VectorEmitter::emitLaneLoop(Value iv, int64_t count, Value lower, Value upper, std::optional<int64_t> staticTrip,
                                                  ValueRange carried, function_ref<Values(ValueRange)> body, Value &tailStart) {
  tailStart = Value();
  Values state(carried);
  // One masked vector: inactive lanes compute garbage that nothing keeps.
  auto masked = [&](Value base, ValueRange old) {
    Value left = arith::TruncIOp::create(b_, loc_, b_.getI32Type(), binary<arith::MinSIOp>(binary<arith::SubIOp>(upper, base), i64(count)));
    Value mask = compare(arith::CmpIPredicate::slt, steps(b_.getI32Type(), count), left);
    lanes_ = {count, iv, base, mask};
    Values next = body(old);
    for (auto [value, before] : llvm::zip_equal(next, old))
      value = select(mask, value, before);
    lanes_ = {};
    return next;
  };
  // A big body is emitted once, masked on every step: its arithmetic dwarfs the masks, and code size is compile time.
  bool once = isBig(iv) && !scalarTail_ && !(staticTrip && *staticTrip % count == 0);
  if (once)
    return emitFor(lower, upper, count, state, [&](Value base, ValueRange values) { return masked(base, values); });
  Value mainEnd;
  if (staticTrip)
    mainEnd = binary<arith::AddIOp>(lower, i64(*staticTrip - *staticTrip % count));
  else
    mainEnd = binary<arith::AddIOp>(lower, binary<arith::AndIOp>(binary<arith::SubIOp>(upper, lower), i64(-count)));
  if (!staticTrip || *staticTrip >= count)
    state = emitFor(lower, mainEnd, count, state, [&](Value base, ValueRange values) {
      lanes_ = {count, iv, base, Value()};
      Values next = body(values);
      lanes_ = {};
      return next;
    });
  if (staticTrip && *staticTrip % count == 0)
    return state;
  if (scalarTail_) {
    tailStart = mainEnd;
    return state;
  }

  auto tail = [&] { return masked(mainEnd, state); };
  if (staticTrip)
    return tail();
  auto rest = scf::IfOp::create(b_, loc_, ValueRange(state).getTypes(), compare(arith::CmpIPredicate::slt, mainEnd, upper),
                                /*withElseRegion=*/!state.empty());
  OpBuilder::InsertionGuard guard(b_);
  if (state.empty()) {
    b_.setInsertionPoint(rest.thenBlock()->getTerminator());
    tail();
    return {};
  }
  b_.setInsertionPointToEnd(rest.thenBlock());
  scf::YieldOp::create(b_, loc_, tail());
  b_.setInsertionPointToEnd(rest.elseBlock());
  scf::YieldOp::create(b_, loc_, state);
  return Values(rest.getResults());
}

bool VectorEmitter::isBig(Value iv) {
  int64_t count = 0;
  cast<BlockArgument>(iv).getOwner()->walk([&](Operation *) { ++count; });
  return count > 150;
}

/// Finds what differs between lanes when `iv` runs along them: `varying_` for the ops inside `op`.
void VectorEmitter::markVarying(kernel::LoopOp op, Value iv) {
  varying_.clear();
  varying_.insert(iv);
  auto any = [&](ValueRange values) { return llvm::any_of(values, [&](Value v) { return varying_.contains(v); }); };
  std::function<void(Block &)> visit = [&](Block &block) {
    for (Operation &inner : block.without_terminator()) {
      if (auto reduce = dyn_cast<kernel::ReduceOp>(inner)) {
        visit(reduce.getBody().front());
        bool vary = any(reduce.getBodyYield().getValues()) || any(reduce.getInits());
        if (vary)
          varying_.insert(reduce.result_begin(), reduce.result_end());
      } else if (auto scan = dyn_cast<kernel::ScanOp>(inner)) {
        visit(scan.getBody().front());
        if (any(scan.getInits()) || any(scan.getBodyYield().getValues())) {
          // All carried values or none: then once more, now that the body sees them vary.
          varying_.insert(scan.getCarried().begin(), scan.getCarried().end());
          varying_.insert(scan.result_begin(), scan.result_end());
          visit(scan.getBody().front());
        }
      } else if (auto map = dyn_cast<kernel::MapOp>(inner)) {
        visit(map.getBody().front());
      } else if (any(inner.getOperands())) {
        varying_.insert(inner.result_begin(), inner.result_end());
      }
    }
  };
  visit(*op.getLoopBody());
}

static SmallVector<Operation *> bodyOps(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  return ops;
}

void VectorEmitter::emitOps(ArrayRef<Operation *> ops) {
  for (Operation *op : ops)
    emitOp(op);
}

void VectorEmitter::emitOp(Operation *op) {
  Location outer = loc_;
  loc_ = op->getLoc();
  llvm::TypeSwitch<Operation *>(op)
      .Case<kernel::MapOp>([&](auto map) { emitMap(map); })
      .Case<kernel::ReduceOp>([&](auto reduce) { emitReduce(reduce); })
      .Case<kernel::ScanOp>([&](auto scan) { emitScan(scan); })
      .Case<kernel::LoadOp>([&](auto load) { emitLoad(load); })
      .Case<kernel::StoreOp>([&](auto store) { emitStore(store); })
      .Case<kernel::CheckIndexOp>([&](auto check) { emitCheck(check); })
      .Case<kernel::IndexOp>([&](kernel::IndexOp index) {
        ValueSpace space;
        AffineExpr expr = space.rewrite(index.getMap(), index.getIndices())[0];
        values_[index.getResult()] = evaluateIn(space, expr, /*laneZero=*/false);
      })
      .Default([&](Operation *other) { emitElementwise(other); });
  loc_ = outer;
}

//===----------------------------------------------------------------------===//
// The outer range
//===----------------------------------------------------------------------===//

/// True when every use of the last induction variable's values leaves `op` alone: it can run once per row.
static bool isRowInvariant(Operation *op, const llvm::DenseSet<Value> &dependent, const llvm::DenseSet<Value> &stored) {
  if (op->getNumRegions() || llvm::any_of(op->getOperands(), [&](Value v) { return dependent.contains(v); }))
    return false;
  if (auto load = dyn_cast<kernel::LoadOp>(op))
    return !stored.contains(load.getBuffer());
  return isMemoryEffectFree(op);
}

void VectorEmitter::emitParallel(kernel::ParallelOp op) {
  unsigned rank = op.getSizes().getNumResults();
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  SmallVector<Operation *> ops = bodyOps(*loop.getLoopBody());
  if (rank == 0) {
    emitFor(begin_, end_, 1, {}, [&](Value, ValueRange) {
      emitOps(ops);
      return Values();
    });
    return;
  }

  // What does not depend on the last dim runs once per row.
  Value last = loop.getIvs().back();
  markVarying(loop, last);
  SmallVector<Operation *> once, each;
  llvm::DenseSet<Value> dependent = varying_;
  for (Operation *inner : ops) {
    if (isRowInvariant(inner, dependent, stored_)) {
      once.push_back(inner);
      continue;
    }
    each.push_back(inner);
    dependent.insert(inner->result_begin(), inner->result_end());
  }

  auto row = [&](Value from, Value to) {
    emitOps(once);
    int64_t lanes = loop.getLaneCount();
    Value tailStart = from;
    if (lanes) {
      markVarying(loop, last);
      emitLaneLoop(last, lanes, from, to, std::nullopt, {}, [&](ValueRange) {
        emitOps(each);
        return Values();
      }, tailStart);
    }
    if (!tailStart)
      return;
    emitFor(tailStart, to, 1, {}, [&](Value iv, ValueRange) {
      values_[last] = iv;
      emitOps(each);
      return Values();
    });
  };
  if (rank == 1) {
    // What runs once may read memory that an empty domain does not have.
    auto any = scf::IfOp::create(b_, loc_, compare(arith::CmpIPredicate::slt, begin_, end_), /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(any.thenBlock()->getTerminator());
    return row(begin_, end_);
  }

  // Rows that [begin, end) touches; the outer indices count up, only the first row divides.
  Value length = sizeValue(loop, rank - 1);
  Value divisor = binary<arith::MaxSIOp>(length, i64(1));
  Value firstRow = binary<arith::DivUIOp>(begin_, divisor);
  Value rows = binary<arith::DivUIOp>(binary<arith::AddIOp>(end_, binary<arith::SubIOp>(divisor, i64(1))), divisor);
  Values start(rank - 1), sizes(rank - 1);
  Value rest = firstRow;
  for (int d = rank - 2; d >= 0; --d) {
    sizes[d] = sizeValue(loop, d);
    if (d == 0) {
      start[d] = rest;
      break;
    }
    Value size = binary<arith::MaxSIOp>(sizes[d], i64(1));
    start[d] = binary<arith::RemUIOp>(rest, size);
    rest = binary<arith::DivUIOp>(rest, size);
  }
  emitFor(firstRow, rows, 1, start, [&](Value r, ValueRange at) {
    for (unsigned d = 0; d + 1 < rank; ++d)
      values_[loop.getIvs()[d]] = at[d];
    Value rowStart = binary<arith::MulIOp>(r, length);
    Value from = binary<arith::MaxSIOp>(binary<arith::SubIOp>(begin_, rowStart), i64(0));
    Value to = binary<arith::MinSIOp>(binary<arith::SubIOp>(end_, rowStart), length);
    row(from, to);
    // Next row: add one to the last outer index and carry.
    Values next(at);
    Value carry;
    for (int d = rank - 2; d >= 0; --d) {
      Value up = carry ? binary<arith::AddIOp>(at[d], Value(arith::ExtUIOp::create(b_, loc_, b_.getI64Type(), carry)))
                       : binary<arith::AddIOp>(at[d], i64(1));
      if (d == 0) {
        next[d] = up;
        break;
      }
      carry = compare(arith::CmpIPredicate::eq, up, sizes[d]);
      next[d] = select(carry, i64(0), up);
    }
    return next;
  });
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

void VectorEmitter::emitMap(kernel::MapOp op) {
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  SmallVector<Operation *> ops = bodyOps(op.getBody().front());
  unsigned rank = op.getSizes().getNumResults();
  int64_t lanes = loop.getLaneCount();
  if (!lanes) {
    emitNest(loop, rank, {}, [&](ValueRange) {
      emitOps(ops);
      return Values();
    });
    return;
  }
  Value last = loop.getIvs().back();
  markVarying(loop, last);
  std::optional<int64_t> trip = constantOf(sizeOf(loop, rank - 1));
  emitNest(loop, rank - 1, {}, [&](ValueRange) {
    Value tailStart, size = sizeValue(loop, rank - 1);
    emitLaneLoop(last, lanes, i64(0), size, trip, {}, [&](ValueRange) {
      emitOps(ops);
      return Values();
    }, tailStart);
    if (tailStart)
      emitFor(tailStart, size, 1, {}, [&](Value iv, ValueRange) {
        values_[last] = iv;
        emitOps(ops);
        return Values();
      });
    return Values();
  });
}

VectorEmitter::Values VectorEmitter::emitCombine(kernel::ReduceOp op, ValueRange a, ValueRange b) {
  Block *combiner = op.getCombinerBlock();
  unsigned count = a.size();
  for (unsigned i = 0; i < count; ++i) {
    values_[combiner->getArgument(i)] = a[i];
    values_[combiner->getArgument(count + i)] = b[i];
  }
  emitOps(bodyOps(*combiner));
  Values joined;
  for (auto [value, like] : llvm::zip_equal(op.getCombinerYield().getValues(), a)) {
    Value result = valueOf(value);
    // A combiner may return a constant.
    if (auto vector = dyn_cast<VectorType>(like.getType()))
      result = vectorOf(result, vector.getNumElements());
    joined.push_back(result);
  }
  return joined;
}

/// Halves until one lane is left.
VectorEmitter::Values VectorEmitter::combineAcrossLanes(kernel::ReduceOp op, ValueRange vectors) {
  Values state(vectors);
  int64_t width = cast<VectorType>(state[0].getType()).getNumElements();
  while (width > 1) {
    width /= 2;
    Values low, high;
    for (Value value : state) {
      SmallVector<int64_t> lowLanes(width), highLanes(width);
      for (int64_t i = 0; i < width; ++i) {
        lowLanes[i] = i;
        highLanes[i] = width + i;
      }
      low.push_back(vector::ShuffleOp::create(b_, loc_, value, value, lowLanes));
      high.push_back(vector::ShuffleOp::create(b_, loc_, value, value, highLanes));
    }
    state = emitCombine(op, low, high);
  }
  for (Value &value : state)
    value = vector::ExtractOp::create(b_, loc_, value, ArrayRef<int64_t>{0});
  return state;
}

void VectorEmitter::emitReduce(kernel::ReduceOp op) {
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  SmallVector<Operation *> ops = bodyOps(op.getBody().front());
  unsigned rank = op.getSizes().getNumResults();
  int64_t own = loop.getLaneCount();
  // Lanes of this pass, or of the one around it when its results differ between them.
  int64_t width = own ? own : isVarying(op.getResult(0)) ? lanes_.count : 0;
  // A sum of products adds them fused: its order is the target's to choose anyway.
  arith::MulFOp product = summedProduct(op);
  if (product)
    llvm::erase(ops, product.getOperation());
  auto accumulate = [&](ValueRange carried) -> Values {
    emitOps(ops);
    if (product) {
      Value a = valueOf(product.getLhs()), b = valueOf(product.getRhs());
      if (isa<VectorType>(carried[0].getType())) {
        a = vectorOf(a, width);
        b = vectorOf(b, width);
      }
      return {Value(math::FmaOp::create(b_, loc_, a, b, carried[0]))};
    }
    Values values;
    for (Value value : op.getBodyYield().getValues()) {
      Value v = valueOf(value);
      values.push_back(isa<VectorType>(carried[0].getType()) ? vectorOf(v, width) : v);
    }
    return emitCombine(op, carried, values);
  };
  Values inits, scalarInits;
  for (Value init : op.getInits()) {
    scalarInits.push_back(valueOf(init));
    inits.push_back(width ? vectorOf(scalarInits.back(), width) : scalarInits.back());
  }
  Values results;
  if (!own) {
    results = emitNest(loop, rank, inits, accumulate);
  } else {
    Value last = loop.getIvs().back();
    markVarying(loop, last);
    std::optional<int64_t> trip = constantOf(sizeOf(loop, rank - 1));
    Value tailStart;
    results = emitNest(loop, rank - 1, inits, [&](ValueRange carried) {
      return emitLaneLoop(last, own, i64(0), sizeValue(loop, rank - 1), trip, carried, accumulate, tailStart);
    });
    results = combineAcrossLanes(op, results);
    if (scalarTail_ && !(trip && *trip % own == 0)) {
      // The points no full vector covers, one by one.
      results = emitNest(loop, rank - 1, results, [&](ValueRange carried) {
        Value size = sizeValue(loop, rank - 1);
        Value from = binary<arith::AndIOp>(size, i64(-own));
        return emitFor(from, size, 1, carried, [&](Value iv, ValueRange inner) {
          values_[last] = iv;
          return accumulate(inner);
        });
      });
    }
  }
  for (auto [result, value] : llvm::zip_equal(op.getResults(), results))
    values_[result] = value;
}

void VectorEmitter::emitScan(kernel::ScanOp op) {
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  SmallVector<Operation *> ops = bodyOps(op.getBody().front());
  bool vary = op.getNumResults() && isVarying(op.getResult(0));
  auto shaped = [&](Value value) { return vary ? vectorOf(valueOf(value), lanes_.count) : valueOf(value); };
  Values inits;
  for (Value init : op.getInits())
    inits.push_back(shaped(init));
  Values results = emitNest(loop, op.getSizes().getNumResults(), inits, [&](ValueRange carried) {
    for (auto [argument, value] : llvm::zip_equal(op.getCarried(), carried))
      values_[argument] = value;
    emitOps(ops);
    Values next;
    for (Value value : op.getBodyYield().getValues())
      next.push_back(shaped(value));
    return next;
  });
  for (auto [result, value] : llvm::zip_equal(op.getResults(), results))
    values_[result] = value;
}
