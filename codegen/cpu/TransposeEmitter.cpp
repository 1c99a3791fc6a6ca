// The transposing strategy: a unit of the outer range is a square tile of the last two dims. Loads that run along the
// second last dim are read as vectors that way and turned in registers; everything else sees lanes along the last dim.
#include "codegen/cpu/VectorEmitter.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cpu;

/// rows[i][j] becomes result[j][i]: each stage exchanges halves of ever smaller blocks.
SmallVector<Value> VectorEmitter::transposeRegisters(ValueRange rows) {
  Values block(rows);
  int64_t width = block.size();
  for (int64_t step = width / 2; step >= 1; step /= 2)
    for (int64_t i = 0; i < width; ++i) {
      if (i & step)
        continue;
      SmallVector<int64_t> low(width), high(width);
      for (int64_t lane = 0; lane < width; ++lane) {
        low[lane] = lane & step ? width + lane - step : lane;
        high[lane] = lane & step ? width + lane : lane + step;
      }
      Value a = block[i], b = block[i + step];
      block[i] = vector::ShuffleOp::create(b_, loc_, a, b, low);
      block[i + step] = vector::ShuffleOp::create(b_, loc_, a, b, high);
    }
  return block;
}

void VectorEmitter::emitTransposed(kernel::ParallelOp op) {
  auto loop = cast<kernel::LoopOp>(op.getOperation());
  int64_t tile = kernel_.getScheduleOrDefault().getTile(), width = loop.getLaneCount();
  unsigned rank = loop.getIvs().size();
  Value ivA = loop.getIvs()[rank - 2], ivB = loop.getIvs()[rank - 1];
  SmallVector<Operation *> ops;
  SmallVector<kernel::LoadOp> turned;
  for (Operation &inner : loop.getLoopBody()->without_terminator()) {
    ops.push_back(&inner);
    if (auto load = dyn_cast<kernel::LoadOp>(inner)) {
      auto along = constantOf(linearise(cast<kernel::AccessOp>(inner)).coefficient(ivB));
      if (along != 0 && along != 1)
        turned.push_back(load);
    }
  }
  markVarying(loop, ivB);

  Value sizeA = sizeValue(loop, rank - 2), sizeB = sizeValue(loop, rank - 1);
  auto tiles = [&](Value size) { return binary<arith::DivUIOp>(binary<arith::AddIOp>(size, i64(tile - 1)), i64(tile)); };
  Value tilesA = binary<arith::MaxSIOp>(tiles(sizeA), i64(1)), tilesB = binary<arith::MaxSIOp>(tiles(sizeB), i64(1));

  auto scalars = [&](Value fromA, Value toA, Value fromB, Value toB) {
    emitFor(fromA, toA, 1, {}, [&](Value a, ValueRange) {
      values_[ivA] = a;
      emitFor(fromB, toB, 1, {}, [&](Value b, ValueRange) {
        values_[ivB] = b;
        emitOps(ops);
        return Values();
      });
      return Values();
    });
  };
  auto block = [&](Value a, Value b) {
    // Vectors along a, one per b; then lanes along b, one vector per a.
    SmallVector<Values> columns;
    for (kernel::LoadOp load : turned) {
      LinearAccess access = linearise(cast<kernel::AccessOp>(load.getOperation()));
      auto type = VectorType::get({width}, storageType(load.getType()));
      Values rows;
      for (int64_t i = 0; i < width; ++i) {
        values_[ivA] = a;
        values_[ivB] = binary<arith::AddIOp>(b, i64(i));
        Value at = address(load.getBuffer(), load.getType(), evaluateIn(access.space, access.offset, /*laneZero=*/true));
        rows.push_back(LLVM::LoadOp::create(b_, loc_, type, at, std::max(1u, load.getType().getIntOrFloatBitWidth() / 8)));
      }
      columns.push_back(transposeRegisters(rows));
    }
    for (int64_t j = 0; j < width; ++j) {
      values_[ivA] = binary<arith::AddIOp>(a, i64(j));
      lanes_ = {width, ivB, b, Value()};
      for (Operation *inner : ops) {
        auto it = llvm::find(turned, dyn_cast<kernel::LoadOp>(inner));
        if (isa<kernel::LoadOp>(inner) && it != turned.end())
          values_[inner->getResult(0)] = fromMemory(columns[it - turned.begin()][j], inner->getResult(0).getType());
        else
          emitOp(inner);
      }
      lanes_ = {};
    }
  };

  emitFor(begin_, end_, 1, {}, [&](Value unit, ValueRange) {
    Value rest = binary<arith::DivUIOp>(unit, tilesB);
    Value b0 = binary<arith::MulIOp>(binary<arith::RemUIOp>(unit, tilesB), i64(tile));
    Value a0 = binary<arith::MulIOp>(binary<arith::RemUIOp>(rest, tilesA), i64(tile));
    rest = binary<arith::DivUIOp>(rest, tilesA);
    for (int d = static_cast<int>(rank) - 3; d >= 0; --d) {
      Value size = binary<arith::MaxSIOp>(sizeValue(loop, d), i64(1));
      values_[loop.getIvs()[d]] = d ? binary<arith::RemUIOp>(rest, size) : rest;
      rest = binary<arith::DivUIOp>(rest, size);
    }
    Value aEnd = binary<arith::MinSIOp>(binary<arith::AddIOp>(a0, i64(tile)), sizeA);
    Value bEnd = binary<arith::MinSIOp>(binary<arith::AddIOp>(b0, i64(tile)), sizeB);
    auto whole = [&](Value from, Value to) {
      return binary<arith::AddIOp>(from, binary<arith::AndIOp>(binary<arith::SubIOp>(to, from), i64(-width)));
    };
    Value aMain = whole(a0, aEnd), bMain = whole(b0, bEnd);
    emitFor(a0, aMain, width, {}, [&](Value a, ValueRange) {
      emitFor(b0, bMain, width, {}, [&](Value b, ValueRange) {
        block(a, b);
        return Values();
      });
      return Values();
    });
    scalars(aMain, aEnd, b0, bEnd);
    scalars(a0, aMain, bMain, bEnd);
    return Values();
  });
}
