#include "runtime/cudasim/engine/Checkers.h"
namespace graphc::cudasim {
struct RaceChecker::State {};
RaceChecker::RaceChecker(LaunchState &, Block &) {}
RaceChecker::~RaceChecker() = default;
void RaceChecker::access(Warp &, const Inst &, uint32_t) {}
void RaceChecker::joinLanes(Warp &, uint32_t) {}
void RaceChecker::barrierArrive(Warp &, unsigned) {}
void RaceChecker::barrierLeave(Warp &, unsigned) {}
void RaceChecker::barrierReset(unsigned) {}
void RaceChecker::mbarrierArrive(Warp &, uint32_t) {}
void RaceChecker::mbarrierWait(Warp &, uint32_t) {}
}
