// Decides how a kernel runs: order of its dims, lanes, tails, tiles.
#pragma once
#include "ir/kernel/Kernel.h"

namespace graphc::codegen {

/// What a schedule needs to know of a CPU.
struct ScheduleTarget {
  int64_t vectorBytes = 32;
  /// Masked memory access of 8- and 16-bit elements.
  bool masksSmallElements = false;
};

/// Rewrites the domain and marks lanes; sets `#kernel.schedule`. Whoever asks for `getRangeMap` does so afterwards.
void scheduleKernel(kernel::FuncOp kernel, const ScheduleTarget &target);

/// The part every target wants first: invariant work out of inner passes, dims that every access walks as one joined.
void tidyLoops(kernel::FuncOp kernel);

/// Puts dim `from` of a loop last.
void moveDimLast(kernel::LoopOp loop, unsigned from);

/// Recognises a copy whose loads and stores are contiguous along different dims, puts those two last (the loads' before the
/// stores') and marks the strategy; a unit of the range is then a square tile.
bool scheduleTranspose(kernel::FuncOp kernel, const ScheduleTarget &target);

/// Points of the outer domain that one unit of the range covers (a tile's), as far as known.
int64_t pointsPerUnit(kernel::FuncOp kernel);

/// Vector operations that one step of `loop` with everything inside takes, math ops counted with their expansions.
int64_t expandedOps(kernel::LoopOp loop);

/// Ranges of a scheduled kernel are best cut at multiples of this many units.
int64_t rangeGrain(kernel::FuncOp kernel);

} // namespace graphc::codegen
