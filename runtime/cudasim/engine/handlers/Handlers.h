// How the decoder asks for handlers: one table of selectors per x86 level. A selector answers null when the form does
// not exist, and the decoder then refuses the function.
#pragma once

#include "runtime/cudasim/engine/Code.h"
#include "runtime/cudasim/engine/Ptx.h"

namespace graphc::cudasim {

enum class Op : uint8_t {
  Mov, Add, Sub, MulLo, MulHi, MulWide, MadLo, MadHi, MadWide, Div, Rem, Abs, Neg, Min, Max, And, Or, Xor, Not, CNot,
  Shl, Shr, ShfLWrap, ShfLClamp, ShfRWrap, ShfRClamp, Bfi, Bfe, Brev, Clz, Popc, Bfind, BfindShift, Sad, Prmt, Selp,
  Slct, Lop3, Dp4aSS, Dp4aSU, Dp4aUS, Dp4aUU, Dp2aLoSS, Dp2aLoUU, Dp2aHiSS, Dp2aHiUU, Mul24, Mad24, Szext, Bmsk, Fns,
  PrmtF4e, PrmtB4e, PrmtRc8, PrmtEcl, PrmtEcr, PrmtRc16,
  // floating point
  Mul, Fma, MinNan, MaxNan, MinXorSign, MaxXorSign, Copysign, Rcp, Sqrt, Rsqrt, Ex2, Lg2, Sin, Cos, Tanh,
  // conversions between register pairs
  Pack16, Pack32, UnpackLo16, UnpackHi16, UnpackLo32, UnpackHi32,
  // carry chains
  AddCC, AddC, AddCCC, SubCC, SubC, SubCCC, MadLoCC, MadLoC, MadLoCCC, MadHiCC, MadHiC, MadHiCCC,
};

enum class Cmp : uint8_t { Eq, Ne, Lt, Le, Gt, Ge, EqU, NeU, LtU, LeU, GtU, GeU, Num, Nan };
/// How setp combines with its predicate operand.
enum class BoolOp : uint8_t { None, And, Or, Xor };

enum class CvtRound : uint8_t { Default, Rn, Rz, Rm, Rp, Rni, Rzi, Rmi, Rpi, Rna };

/// Warp-wide operations (Kind::Collective except Activemask and the cp.async bookkeeping).
enum class WarpOp : uint8_t {
  ShflUp, ShflDown, ShflBfly, ShflIdx, VoteAll, VoteAny, VoteUni, VoteBallot, MatchAny32, MatchAny64, MatchAll32,
  MatchAll64, ReduxAddU, ReduxAddS, ReduxMinU, ReduxMinS, ReduxMaxU, ReduxMaxS, ReduxAnd, ReduxOr, ReduxXor, Elect,
  Activemask,
};

enum class PredOp : uint8_t { Mov, And, Or, Xor, Not, Set };

struct MmaShape {
  uint16_t m, n, k;
};

struct Handlers {
  const char *level;
  /// Integer and bit operations (Simd; carry chains Masked).
  Handler (*integer)(Op op, ptx::Type type);
  /// f32, f64, f32x2. `flags` are InstFlags; anything but nearest/FTZ is slower but exact.
  Handler (*real)(Op op, ptx::Type type, uint32_t flags);
  /// f16, f16x2, bf16, bf16x2.
  Handler (*half)(Op op, ptx::Type type, uint32_t flags);
  Handler (*convert)(ptx::Type to, ptx::Type from, CvtRound round, uint32_t flags);
  /// Two f32 into one packed f16x2/bf16x2 (a is the upper half).
  Handler (*convertPack)(ptx::Type to, CvtRound round, uint32_t flags);
  /// setp: d = predicate, list = {second predicate or 0, combined predicate or 0}, sub = BoolOp | negate << 4.
  Handler (*compare)(ptx::Type type, Cmp cmp, bool ftz);
  /// set: like compare; writes 0/−1 or 0/1.0 (Simd32). `toFloat` 0 integer, 1 f32, 2 half types.
  Handler (*compareSet)(ptx::Type type, Cmp cmp, bool ftz, ptx::Type result);
  Handler (*testp)(ptx::Type type, unsigned what);
  Handler (*load)(const MemOp &mem);
  Handler (*store)(const MemOp &mem);
  Handler (*warp)(WarpOp op);
  Handler (*predicate)(PredOp op);
  /// Operands in list: d…, a…, b…, c… (counts follow from the shape).
  Handler (*mma)(MmaShape shape, ptx::Type d, ptx::Type a, ptx::Type b, bool saturate);
};

const Handlers &baselineHandlers();
const Handlers &v3Handlers();
const Handlers &v4Handlers();
/// The set in use: the best this processor has, unless setHandlerLevel chose another.
const Handlers &handlers();

} // namespace graphc::cudasim
