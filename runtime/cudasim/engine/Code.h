// Decoded functions and the state of running warps: what the decoder produces and the interpreter and handlers share.
//
// Values live as 32-lane structures of arrays ("slots"): 128 bytes for registers of up to 32 bits (narrower values are
// zero-extended), 256 bytes for 64-bit ones. Predicates are 32-bit lane masks. An operand is a `Ref`: a multiple of
// four bytes plus, in its low two bits, which area it is relative to.
#pragma once

#include <cstdint>
#include <cstring>

namespace graphc::cudasim {

struct Warp;
struct Block;
struct Worker;
struct Inst;
struct CallSite;

/// `d` is where a Simd handler writes (the register, or scratch that is blended in afterwards); null for others.
using Handler = void (*)(Warp &warp, const Inst &inst, void *d, uint32_t mask);

using Ref = uint32_t;
enum RefBase : uint32_t { RegisterBase = 0, PoolBase = 1, ParamBase = 2 };

enum class Kind : uint8_t {
  Simd32, ///< pure; writes 32 × u32 through d
  Simd64, ///< pure; writes 32 × u64 through d
  Masked, ///< does its own masking; may raise an event
  Branch,
  Exit,
  Barrier,
  Collective, ///< waits for its member mask, then runs like Masked
  WarpSync,   ///< bar.warp.sync
  Call,       ///< of a function that is not inlined: pushes a frame and jumps
  Return,     ///< pops it; every lane goes back where it came from
};

/// Instruction classes of the counters.
enum class Class : uint8_t {
  Integer, Fp32, Fp64, Fp16, Conversion, Special, Move, Control, Load, Store, Atomic, WarpCollective, Barrier, Mma,
  AsyncCopy, Count,
};

enum class MemSpace : uint8_t { Generic, Global, Shared, Local, Param };
enum class AtomOp : uint8_t { None, Add, Sub, Min, Max, And, Or, Xor, Exch, Cas, Inc, Dec };
enum class NumKind : uint8_t { Bits, Unsigned, Signed, Float, Half, Half2, BHalf, BHalf2 };
enum class AccessKind : uint8_t { Load, Store, Atomic, AsyncCopy, LdMatrix, StMatrix, MmaTile };

struct MemOp {
  AccessKind access = AccessKind::Load;
  MemSpace space = MemSpace::Global;
  uint8_t elementBytes = 4, vector = 1, regBytes = 4;
  bool isSigned = false;
  bool wideAddress = true; ///< the address register is 64-bit
  bool noAddress = false;  ///< absolute: only the offset
  bool strong = false;     ///< volatile, relaxed, acquire, release: may not race with its like
  bool acquire = false, release = false;
  uint8_t scope = 2;       ///< 0 cta, 1 cluster, 2 gpu, 3 sys
  bool constant = false;   ///< ld.const
  AtomOp op = AtomOp::None;
  NumKind num = NumKind::Bits;
  uint32_t index = 0;      ///< of the per-worker bounds cache
  Ref address = 0;
  int64_t offset = 0;
  Ref values[8] = {};      ///< registers loaded or stored; atomics: operand, second operand
  const Ref *tile = nullptr; ///< registers of a wmma fragment
  uint32_t usedBytes = ~0u; ///< of one lane's bytes (Triton's used_bytes_mask)
  // cp.async: the source address and its size
  Ref source = 0;
  int64_t sourceOffset = 0;
  bool hasSourceSize = false;
  Ref sourceSize = 0;
};

enum Special : uint8_t {
  TidX, TidY, TidZ, LaneId, WarpId, LaneMaskEq, LaneMaskLt, LaneMaskLe, LaneMaskGt, LaneMaskGe,
  NTidX, NTidY, NTidZ, CtaIdX, CtaIdY, CtaIdZ, NCtaIdX, NCtaIdY, NCtaIdZ, SmId, NSmId, NWarpId, GridId,
  EnvReg1, EnvReg2, DynamicSmemSize, TotalSmemSize, ZeroSpecial, OneSpecial,
  FrameBase, StackTop, ///< offsets in the thread's local memory
  SpecialCount
};

/// Rounding and modifiers of float and conversion handlers that are not template parameters.
enum InstFlags : uint32_t {
  RoundNearest = 0, RoundZero = 1, RoundDown = 2, RoundUp = 3, RoundMask = 3,
  FlushZero = 4, Saturate = 8, Relu = 16,
};

enum class BarrierOp : uint8_t { Sync, Arrive, RedAnd, RedOr, RedPopc };

struct alignas(64) Inst {
  Handler fn = nullptr;
  Ref d = 0, a = 0, b = 0, c = 0;
  Ref guard = 0;           ///< a predicate; the first is always true
  uint32_t guardFlip = 0;  ///< all ones for @!p
  Kind kind = Kind::Masked;
  Class cls = Class::Move;
  uint8_t sub = 0;         ///< meaning by handler
  uint8_t wide = 0;
  uint32_t flags = 0;
  union {
    const MemOp *mem = nullptr;
    const Ref *list;       ///< further operands
    const CallSite *call;
    int64_t imm;
  };
  uint32_t target = 0;     ///< of a branch or call
  uint32_t debug = 0;      ///< index into the function's debug table
  Ref members = 0;         ///< of a collective: the lanes that take part
  bool isConstantMove = false; ///< d = a fixed operand; for folding
  uint8_t run = 0;         ///< so many from here on are unguarded and need nothing but their handler
};
static_assert(sizeof(Inst) == 64);

struct Fragment {
  uint32_t pc = 0, mask = 0;
  enum State : uint8_t { Ready, AtBarrier, AtCollective, AtWarpSync, Sleeping } state = Ready;
  uint8_t barrier = 0;
  uint32_t need = 0; ///< AtWarpSync, AtCollective: lanes waited for
  uint64_t stamp = 0; ///< when it last ran
};

enum class Event : uint8_t { None, Fault, Yield, Trap };

constexpr uint64_t sharedWindow = uint64_t(0xA000) << 32;
constexpr uint64_t localWindow = uint64_t(0xB000) << 32;
constexpr uint64_t paramWindow = uint64_t(0xC000) << 32;
constexpr uint64_t windowSize = uint64_t(1) << 32;

/// The bounds that one memory instruction last saw, per worker.
struct BoundsCache {
  uint64_t lo = 1, hi = 0;
  uint64_t *readBits = nullptr, *writeBits = nullptr; ///< access tracking, one bit per byte from `bitsBase`; null = off
  uint8_t *pageTouched = nullptr;
  uint64_t bitsBase = 0;
};

/// How the lanes of one memory instruction lay last time, per worker. Most instructions always see the same picture at
/// another place, so comparing with it replaces every other question about 32 addresses.
struct alignas(64) AccessShape {
  uint64_t pattern[32] = {};  ///< each lane's address less that of lane 0
  uint32_t offsets[32] = {};  ///< the same less the lowest, when narrow
  uint32_t runBegin[32] = {}, runEnd[32] = {}; ///< the touched bytes as ranges of such offsets
  uint8_t runs = 0;
  int64_t low = 0, high = 0;  ///< of the pattern
  uint64_t alignBits = 0;
  uint8_t sameGroups = 15;    ///< bit g: the eight lanes from 8g on have one address
  uint8_t likeFirst = 15;     ///< bit g: they have the addresses of the first eight
  bool contiguous = false, uniform = true, narrow = true;
  int8_t patience = 8;        ///< used up by instructions whose addresses depend on data; then the shape is not asked any more
};

/// Bytes of shared memory that a cp.async is still writing: one bit per four bytes. What it still reads lies in the
/// span of the sources.
struct PendingCopies {
  uint32_t granules = 0; ///< bits set
  uint64_t *bits = nullptr;
  uint64_t sourceLo = ~uint64_t(0), sourceHi = 0;
  void forgetSources() {
    sourceLo = ~uint64_t(0);
    sourceHi = 0;
  }
};

struct alignas(64) Warp {
  char *bases[4] = {};      ///< by RefBase
  BoundsCache *caches = nullptr;
  AccessShape *shapes = nullptr; ///< with the index of the caches
  char *shared = nullptr;
  PendingCopies *pending = nullptr;
  uint32_t live = 0;        ///< lanes that exist and have not exited
  uint32_t index = 0;       ///< in the block
  Block *block = nullptr;
  Worker *worker = nullptr;
  Event event = Event::None;
  uint8_t fragmentCount = 0;
  bool spinning = false;
  uint32_t initial = 0;     ///< lanes that existed at the start
  uint32_t pc = 0;          ///< of the instruction being executed
  uint32_t active = 0;      ///< lanes of the running fragment, guard apart (instrumented runs only)
  uint32_t spins = 0;
  uint64_t writes = 0, lastSpinWrites = 0;
  Fragment fragments[33];
  alignas(64) unsigned char scratch[256];

  char *at(Ref ref) const { return bases[ref & 3] + (ref & ~3u); }
  uint32_t &pred(Ref ref) const { return *reinterpret_cast<uint32_t *>(bases[0] + ref); }
};

// Register area layout: predicates first. Two are fixed.
constexpr Ref predTrue = 0, predCarry = 4;

// -- services the handlers call; implemented once, outside the per-level files --------------------------------------

/// Checks every lane in `mask` (alignment, bounds, liveness), reports, fills `pointers` and updates the cache. Called
/// when the cached bounds do not cover the access, or the space is generic and not plainly global.
uint32_t resolveAccess(Warp &warp, const Inst &inst, const MemOp &mem, const uint64_t (&addresses)[32], uint32_t bytes,
                       bool write, uint32_t mask, char *(&pointers)[32]);
/// Access tracking for lanes that are not one contiguous range.
void trackLanes(Warp &warp, const MemOp &mem, const uint64_t (&addresses)[32], uint32_t bytes, bool write,
                uint32_t mask);
/// Spin detection: a strong load or an atomic that changed nothing.
inline void noteSpin(Warp &warp) {
  if (warp.writes == warp.lastSpinWrites) {
    if (++warp.spins >= 24) {
      warp.spins = 0;
      warp.spinning = true;
      warp.event = warp.event == Event::None ? Event::Yield : warp.event;
    }
  } else {
    warp.spins = 0;
    warp.lastSpinWrites = warp.writes;
  }
}
/// Called while copies are pending, for every shared or generic access and for global writes: reports, and answers the
/// lanes that may proceed.
uint32_t checkPending(Warp &warp, const Inst &inst, MemSpace space, const uint64_t (&addresses)[32], uint32_t bytes,
                      bool write, uint32_t mask);
/// Registers the copies of one cp.async as pending in the issuing lanes' open group; `sizes` are the bytes read.
void noteAsyncCopy(Warp &warp, const uint64_t (&destinations)[32], uint32_t bytes, const uint64_t (&sources)[32],
                   const uint32_t (&sizes)[32], uint32_t mask);
uint64_t deviceClock(Warp &warp, bool nanoseconds);

} // namespace graphc::cudasim
