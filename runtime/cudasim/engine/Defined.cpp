#include "runtime/cudasim/engine/Checkers.h"
namespace graphc::cudasim {
struct DefinedChecker::State {};
DefinedChecker::DefinedChecker(LaunchState &) {}
DefinedChecker::~DefinedChecker() = default;
void DefinedChecker::instruction(Worker &, Block &, Warp &, const Inst &, uint32_t) {}
void DefinedChecker::blockStarts(Block &) {}
}
