// Instructions too rare to be worth vectorising: one scalar loop each, compiled once (Rare.cpp), decoded in LowerRare.cpp.
#pragma once

#include "runtime/cudasim/engine/Code.h"

namespace graphc::cudasim {

/// Parameters of the handlers below, in Inst::imm.
struct RareForm {
  uint8_t op = 0;        ///< VideoOp; else meaning by handler
  bool isSigned = false; ///< the result
  bool signedA = false, signedB = false;
  bool saturate = false;
  uint8_t second = 0;    ///< video: 1 add, 2 min, 3 max with c; vmad: 1 shr7, 2 shr15, 4 plus one, 8 negates product, 16 negates c
  uint8_t mode = 0;      ///< shifts: wrap; comparisons: Cmp
  uint8_t lanes = 1;     ///< SIMD video: 2 or 4
};
static_assert(sizeof(RareForm) == 8);
RareForm rareForm(const Inst &inst);
/// Selectors of video instructions, in Inst::flags: eight bits for d (a mask; 255: all of it), twelve each for a and b
/// (three bits per lane for SIMD forms; else 8 + byte, 16 + half, or 0 for the word).
constexpr uint32_t selectors(uint32_t d, uint32_t a, uint32_t b) { return d | a << 8 | b << 20; }

enum class VideoOp : uint8_t { Add, Sub, AbsDiff, Min, Max, Shl, Shr, Mad, Set, Average };

void rareMadHiSat(Warp &, const Inst &, void *d, uint32_t);
void rareMul24Hi(Warp &, const Inst &, void *d, uint32_t);    ///< op 1: mad
void rareFns(Warp &, const Inst &, void *d, uint32_t);
void rareSzext(Warp &, const Inst &, void *d, uint32_t);      ///< mode 1: wrap
void rareBmsk(Warp &, const Inst &, void *d, uint32_t);
void rareDp2a(Warp &, const Inst &, void *d, uint32_t);       ///< op 1: the upper bytes
void rareSlct(Warp &, const Inst &, void *d, uint32_t);       ///< an f32 decides; Simd32 or Simd64
void rarePair16(Warp &, const Inst &, void *d, uint32_t);     ///< op 0 add, 1 min, 2 max; mode 1: relu
void rareRelu(Warp &, const Inst &, void *d, uint32_t);       ///< s32; op 1 min, 2 max
void rarePick(Warp &, const Inst &, void *d, uint32_t);       ///< NaN.xorsign.abs; op 1 min, 2 max; mode: 0 f32, 1 f16, 2 bf16; lanes
void rareCvtPack(Warp &, const Inst &, void *d, uint32_t);    ///< lanes: bits of a piece; op 1: c follows
void rareFromFp8(Warp &, const Inst &, void *d, uint32_t);    ///< to f16x2; mode 0 e4m3, 1 e5m2; op 1: relu
void rareToFp8(Warp &, const Inst &, void *d, uint32_t);      ///< op 0 from two f32, 1 from f16x2; second 1: relu
void rareZeroOob(Warp &, const Inst &, void *d, uint32_t);     ///< d = c, but 0 in the halves where a or b is the out-of-bounds NaN
void rareReduxF32(Warp &, const Inst &, void *, uint32_t m);  ///< op 1 min, 2 max; mode 1 NaN, 2 abs
void rareVideo(Warp &, const Inst &, void *d, uint32_t);
void rareVideoSimd(Warp &, const Inst &, void *d, uint32_t);  ///< second 1: adds up into c
void rareAtomic128(Warp &, const Inst &, void *, uint32_t m); ///< sub 1 exch, 2 cas; values: operands; list via mem
/// m16n8kK of 8-bit floats. Inst::list as in the other mma forms; sub: bit 0 a is e5m2, bit 1 b is, bit 2 f16 accumulators;
/// wide: k.
void rareMmaFp8(Warp &, const Inst &, void *, uint32_t);
/// m8n8k4 of f16: four products, one for each pair of quads (lanes 4q … 4q+3 and 16 more). sub: bit 0 a is column-major,
/// bit 1 b is row-major, bit 2 d is f16, bit 3 c is.
void rareMmaQuadPairs(Warp &, const Inst &, void *, uint32_t);

} // namespace graphc::cudasim
