// A decoded function and a loaded module, as the engine keeps them.
#pragma once

#include "runtime/cudasim/engine/Code.h"
#include "runtime/cudasim/engine/Engine.h"
#include "runtime/cudasim/engine/Ptx.h"

#include <deque>
#include <mutex>

namespace graphc::cudasim {

/// A kernel parameter (or part of one) that instructions read as a broadcast slot.
struct ParamSlot {
  uint32_t slot = 0, offset = 0;
  uint8_t bytes = 4, regBytes = 4;
  bool isSigned = false;
};
struct SpecialSlot {
  Special special;
  uint32_t slot; ///< byte offset in the register area
};
struct SharedSymbol {
  std::string name;
  uint32_t offset = 0, size = 0;
};
struct DebugSite {
  ptx::Location at;
  std::string_view text; ///< into the module's PTX
};

/// What one operand of an instruction is, for definedness and for the counters.
struct OperandUse {
  Ref ref;
  uint8_t bytes; ///< 0: a predicate
  bool isDef;
  bool isAddress;
};

/// A function that is not inlined because it may call itself. A frame holds, in the thread's local memory, its
/// parameters, its variables and what its own calls save.
struct Frame {
  std::string_view name;
  uint32_t localBytes = 0; ///< parameters and variables
  uint32_t bytes = 0;      ///< with saved registers
};
/// One call of such a function. The caller saves what is live across the call in its own frame, so the callee may use any
/// register.
struct CallSite {
  struct Copy {
    uint32_t from, to, bytes; ///< offsets in the two frames
  };
  struct Register {
    Ref ref = 0;
    uint32_t offset = 0;
    uint8_t bytes = 0; ///< 0: a predicate
  };
  uint32_t frame = 0; ///< of the callee
  int32_t caller = -1; ///< its frame; −1: the kernel
  std::vector<Copy> arguments, results;
  std::vector<Register> argumentRegisters, resultRegisters; ///< offsets in the callee's frame
  std::vector<Register> saved;                              ///< offsets in the caller's frame
};

struct FunctionCode {
  FunctionInfo info;
  std::vector<Inst> code;
  std::deque<MemOp> mems;
  std::deque<std::vector<Ref>> lists;
  std::vector<DebugSite> debug;
  std::vector<char> pool; ///< constants, broadcast
  std::vector<ParamSlot> params;
  uint32_t paramAreaBytes = 0;
  uint32_t registerAreaBytes = 0, predicates = 0;
  std::vector<SpecialSlot> specials;
  std::vector<SharedSymbol> shared;
  uint32_t sharedLayoutBytes = 0; ///< with red zones; dynamic memory starts at dynamicOffset
  uint32_t dynamicOffset = 0;
  bool usesDynamicShared = false;
  uint32_t localBytes = 0; ///< of the kernel and what it inlines; the stack lies behind
  bool usesStack = false;
  Ref frameBase = 0, stackTop = 0; ///< slots of the two special registers, of kernels that use a stack
  std::deque<CallSite> calls;
  std::vector<Frame> frames;
  uint32_t boundsCaches = 0;
  bool hasAsyncCopies = false;
  /// Shapes that workers of earlier launches learnt, for the next ones.
  struct ShapePool {
    std::mutex mutex;
    std::vector<std::unique_ptr<AccessShape[]>> kept;
  };
  mutable ShapePool shapes;
  /// uses[useBegin[i] .. useBegin[i + 1]) are the operands of instruction i.
  std::vector<OperandUse> uses;
  std::vector<uint32_t> useBegin;

  const char *poolData() const { // 64-byte aligned inside the vector
    auto at = reinterpret_cast<uintptr_t>(pool.data());
    return reinterpret_cast<const char *>((at + 63) & ~uintptr_t(63));
  }
};

struct ModuleCode {
  std::string text;
  ptx::Program program;
  std::vector<std::unique_ptr<FunctionCode>> functions;
  std::vector<GlobalInfo> globals;
  MemorySpace *memory = nullptr;
  ~ModuleCode();
};

/// What the address of the program's function of that index looks like. No memory lies there.
inline uint64_t functionAddress(size_t index) { return (uint64_t(0xD000) << 32) + 16 * (index + 1); }

/// Where module variables live: address by name.
using GlobalAddresses = std::unordered_map<std::string_view, uint64_t>;

/// Decodes one entry, calls inlined. Unsupported instructions leave `info.refused` non-empty.
std::unique_ptr<FunctionCode> decodeFunction(const ptx::Program &program, const ptx::Function &entry,
                                             const GlobalAddresses &globals, const DeviceModel &model);

// -- between lowering and register allocation ----------------------------------------------------------------------

enum class RegClass : uint8_t { Predicate, Word, Wide };

/// A place in an instruction that names a virtual register.
struct Fixup {
  Ref *where;
  int reg;
  bool isDef, isUse, isAddress;
};
struct Lowered {
  std::deque<Inst> code;
  std::vector<Fixup> fixups;
  std::vector<uint32_t> fixupBegin; ///< per instruction, plus the end
  std::vector<RegClass> registers;
};
/// Chooses slots by liveness, patches every reference, fills code, uses and the register area's size.
void allocateRegisters(Lowered &lowered, FunctionCode &function);

// -- runtime handlers that are not per level (Runtime.cpp, Barriers.cpp) -------------------------------------------
void runPrintf(Warp &, const Inst &, void *, uint32_t);
void runAssertFail(Warp &, const Inst &, void *, uint32_t);
void runTrap(Warp &, const Inst &, void *, uint32_t);
void runBadCall(Warp &, const Inst &, void *, uint32_t);
void runAfterCall(Warp &, const Inst &, void *, uint32_t);
void runAlloca(Warp &, const Inst &, void *, uint32_t);
void runStackRestore(Warp &, const Inst &, void *, uint32_t);
void runFence(Warp &, const Inst &, void *, uint32_t);
void runNanosleep(Warp &, const Inst &, void *, uint32_t);
void runClock(Warp &, const Inst &, void *d, uint32_t);
void runNothing(Warp &, const Inst &, void *, uint32_t);
void runIsSpace(Warp &, const Inst &, void *, uint32_t);
void runAsyncCommit(Warp &, const Inst &, void *, uint32_t);
void runAsyncWait(Warp &, const Inst &, void *, uint32_t);
void runMbarrier(Warp &, const Inst &, void *, uint32_t);
/// Inst::sub of runMbarrier.
enum class MbarrierOp : uint8_t { Init, Inval, Arrive, ArriveNoComplete, ArriveDrop, TestWait, TestWaitParity, PendingCount, AsyncArrive };

} // namespace graphc::cudasim
