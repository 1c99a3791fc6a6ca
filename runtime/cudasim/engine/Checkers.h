// The optional checks that look at every instruction: data races and uninitialised reads.
#pragma once

#include "runtime/cudasim/engine/Launch.h"

namespace graphc::cudasim {

/// Runs before an instruction when any instrumentation is on.
void instrument(Worker &worker, Block &block, Warp &warp, const Inst &inst, uint32_t mask);

/// Before the first block: what all blocks of the launch share. False when they must run on one host thread.
bool prepareRaceChecking(LaunchState &launch);

class RaceChecker {
public:
  RaceChecker(LaunchState &launch, Block &block);
  ~RaceChecker();
  /// The block's storage begins to serve another block.
  void blockStarts();
  void access(Warp &warp, const Inst &inst, uint32_t mask);
  /// bar.warp.sync: these lanes have seen each other.
  void joinLanes(Warp &warp, uint32_t lanes);
  /// A warp arrives (sync or arrive) at a block barrier; later it leaves it.
  void barrierArrive(Warp &warp, unsigned id);
  void barrierLeave(Warp &warp, unsigned id);
  void barrierReset(unsigned id);
  /// All threads of the warp have left: they count as arrived at every later barrier.
  void warpExited(Warp &warp);
  /// A lane's cp.async counts as done (its write visible, its read over) at its wait_group.
  void copyCompleted(Warp &warp, const AsyncEntry &entry);
  void mbarrierArrive(Warp &warp, uint32_t address);
  void mbarrierCompletes(uint32_t address);
  void mbarrierWait(Warp &warp, uint32_t address);

  struct State;

private:
  std::unique_ptr<State> state;
};

class DefinedChecker {
public:
  explicit DefinedChecker(LaunchState &launch);
  ~DefinedChecker();
  void instruction(Worker &worker, Block &block, Warp &warp, const Inst &inst, uint32_t mask);
  void blockStarts(Block &block);

  struct State;

private:
  std::unique_ptr<State> state;
};

} // namespace graphc::cudasim
