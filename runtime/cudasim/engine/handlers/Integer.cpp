// Integer, bit and move operations.
#include "runtime/cudasim/engine/handlers/Lanes.h"

LEVEL_BEGIN
namespace {

template <class T>
using U = std::make_unsigned_t<T>;
template <class T>
using S = std::make_signed_t<T>;
template <class T>
constexpr unsigned width = sizeof(T) * 8;
// Products of 16-bit values would promote to int; 32 bits unsigned hold every case that matters.
template <class T>
using Wrap = std::conditional_t<(sizeof(T) < 4), uint32_t, U<T>>;

struct Mov { template <class T> static T run(T a) { return a; } };
struct Add { template <class T> static T run(T a, T b) { return T(Wrap<T>(a) + Wrap<T>(b)); } };
struct Sub { template <class T> static T run(T a, T b) { return T(Wrap<T>(a) - Wrap<T>(b)); } };
struct MulLo { template <class T> static T run(T a, T b) { return T(Wrap<T>(a) * Wrap<T>(b)); } };
struct MulHi {
  template <class T> static T run(T a, T b) {
    if constexpr (sizeof(T) == 8) {
      using W = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
      return T((W(a) * W(b)) >> 64);
    } else {
      using W = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
      return T((W(a) * W(b)) >> width<T>);
    }
  }
};
struct MadLo { template <class T> static T run(T a, T b, T c) { return Add::run<T>(MulLo::run<T>(a, b), c); } };
struct MadHi { template <class T> static T run(T a, T b, T c) { return Add::run<T>(MulHi::run<T>(a, b), c); } };
// Inactive lanes hold anything: no division may trap. PTX leaves x/0 unspecified; hardware gives all ones.
struct Div {
  template <class T> static T run(T a, T b) {
    if (b == 0)
      return T(~T(0));
    if constexpr (std::is_signed_v<T>)
      if (b == T(-1))
        return T(0 - U<T>(a));
    return T(a / b);
  }
};
struct Rem {
  template <class T> static T run(T a, T b) {
    if (b == 0)
      return a;
    if constexpr (std::is_signed_v<T>)
      if (b == T(-1))
        return 0;
    return T(a % b);
  }
};
struct Abs { template <class T> static T run(T a) { return T(a < 0 ? 0 - U<T>(a) : U<T>(a)); } };
struct Neg { template <class T> static T run(T a) { return T(0 - U<T>(a)); } };
struct Min { template <class T> static T run(T a, T b) { return b < a ? b : a; } };
struct Max { template <class T> static T run(T a, T b) { return a < b ? b : a; } };
struct And { template <class T> static T run(T a, T b) { return T(a & b); } };
struct Or { template <class T> static T run(T a, T b) { return T(a | b); } };
struct Xor { template <class T> static T run(T a, T b) { return T(a ^ b); } };
struct Not { template <class T> static T run(T a) { return T(~a); } };
struct CNot { template <class T> static T run(T a) { return T(a == 0); } };
struct Sad {
  template <class T> static T run(T a, T b, T c) {
    U<T> diff = U<T>(a < b ? Wrap<T>(b) - Wrap<T>(a) : Wrap<T>(a) - Wrap<T>(b));
    return T(Wrap<T>(c) + diff);
  }
};
struct Brev {
  template <class T> static T run(T a) {
    if constexpr (sizeof(T) == 8)
      return T(__builtin_bitreverse64(uint64_t(a)));
    else
      return T(__builtin_bitreverse32(uint32_t(a)));
  }
};
struct Mul24 {
  template <class T> static T run(T a, T b) {
    if constexpr (std::is_signed_v<T>)
      return T(uint32_t(int32_t(uint32_t(a) << 8) >> 8) * uint32_t(int32_t(uint32_t(b) << 8) >> 8));
    else
      return T((uint32_t(a) & 0xFFFFFF) * (uint32_t(b) & 0xFFFFFF));
  }
};
struct Mad24 { template <class T> static T run(T a, T b, T c) { return T(uint32_t(Mul24::run<T>(a, b)) + uint32_t(c)); } };

// Counting results are 32-bit whatever the operand.
template <class T, class F>
void count(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<T>(w, inst.a);
  auto *r = static_cast<uint32_t *>(d);
  LANES r[i] = F::run(T(a[i]));
}
struct Clz {
  template <class T> static uint32_t run(T a) {
    if constexpr (sizeof(T) == 8)
      return a ? uint32_t(__builtin_clzll(uint64_t(a))) : 64;
    else
      return a ? uint32_t(__builtin_clz(uint32_t(a))) : 32;
  }
};
struct Popc {
  template <class T> static uint32_t run(T a) {
    if constexpr (sizeof(T) == 8)
      return uint32_t(__builtin_popcountll(uint64_t(a)));
    else
      return uint32_t(__builtin_popcount(uint32_t(a)));
  }
};
struct Bfind {
  template <class T> static uint32_t run(T a) {
    U<T> u = U<T>(a);
    if constexpr (std::is_signed_v<T>)
      if (a < 0)
        u = U<T>(~u);
    return u == 0 ? 0xFFFFFFFFu : width<T> - 1 - Clz::run(u);
  }
};
struct BfindShift {
  template <class T> static uint32_t run(T a) {
    uint32_t position = Bfind::run(a);
    return position == 0xFFFFFFFFu ? position : width<T> - 1 - position;
  }
};

// Shifts take a 32-bit amount and clamp it.
template <class T>
void shl(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<T>(w, inst.a);
  auto *b = in<uint32_t>(w, inst.b);
  auto *r = out<T>(d);
  using Word = typename Slot<T>::Word;
  LANES r[i] = b[i] >= width<T> ? 0 : Word(U<T>(Word(a[i]) << (b[i] & (sizeof(Word) * 8 - 1))));
}
template <class T>
void shr(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<T>(w, inst.a);
  auto *b = in<uint32_t>(w, inst.b);
  auto *r = out<T>(d);
  using Word = typename Slot<T>::Word;
  if constexpr (std::is_signed_v<T>) {
    using W = S<Word>;
    LANES {
      uint32_t amount = b[i] >= width<T> ? width<T> - 1 : b[i];
      r[i] = Word(U<T>(W(T(a[i])) >> amount));
    }
  } else {
    LANES r[i] = b[i] >= width<T> ? 0 : Word(U<T>(a[i])) >> (b[i] & (sizeof(Word) * 8 - 1));
  }
}
template <bool Left, bool Clamp>
void funnel(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint32_t>(w, inst.a), *b = in<uint32_t>(w, inst.b), *c = in<uint32_t>(w, inst.c);
  auto *r = static_cast<uint32_t *>(d);
  LANES {
    uint32_t amount = Clamp ? (c[i] > 32 ? 32 : c[i]) : (c[i] & 31);
    uint64_t both = uint64_t(b[i]) << 32 | a[i];
    r[i] = Left ? uint32_t((both << amount) >> 32) : uint32_t(both >> amount);
  }
}

template <class T> // u32→u64, s16→s32 …
struct Twice;
template <> struct Twice<uint32_t> { using type = uint64_t; };
template <> struct Twice<int32_t> { using type = int64_t; };
template <> struct Twice<uint16_t> { using type = uint32_t; };
template <> struct Twice<int16_t> { using type = int32_t; };

template <class T>
void mulWide(Warp &w, const Inst &inst, void *d, uint32_t) {
  using W = typename Twice<T>::type;
  auto *a = in<T>(w, inst.a), *b = in<T>(w, inst.b);
  auto *r = out<W>(d);
  LANES r[i] = Slot<W>::put(W(T(a[i])) * W(T(b[i])));
}
template <class T>
void madWide(Warp &w, const Inst &inst, void *d, uint32_t) {
  using W = typename Twice<T>::type;
  auto *a = in<T>(w, inst.a), *b = in<T>(w, inst.b);
  auto *c = in<W>(w, inst.c);
  auto *r = out<W>(d);
  LANES r[i] = U<W>(W(T(a[i])) * W(T(b[i]))) + c[i];
}

template <class T>
void bfi(Warp &w, const Inst &inst, void *d, uint32_t) { // a into b at c, length list[0]
  using Word = typename Slot<T>::Word;
  auto *a = in<T>(w, inst.a), *b = in<T>(w, inst.b);
  auto *c = in<uint32_t>(w, inst.c), *n = in<uint32_t>(w, inst.list[0]);
  auto *r = out<T>(d);
  LANES {
    uint32_t position = c[i] & 255, length = n[i] & 255;
    Word field = length >= width<T> ? ~Word(0) : (Word(1) << length) - 1;
    Word shifted = position >= width<T> ? 0 : field << (position & (width<T> - 1));
    Word value = position >= width<T> ? 0 : a[i] << (position & (width<T> - 1));
    r[i] = (b[i] & ~shifted) | (value & shifted);
  }
}
template <class T>
void bfe(Warp &w, const Inst &inst, void *d, uint32_t) {
  using Word = typename Slot<T>::Word;
  auto *a = in<T>(w, inst.a);
  auto *b = in<uint32_t>(w, inst.b), *c = in<uint32_t>(w, inst.c);
  auto *r = out<T>(d);
  LANES {
    uint32_t position = b[i] & 255, length = c[i] & 255;
    Word field = length >= width<T> ? ~Word(0) : (Word(1) << length) - 1;
    Word value = (position >= width<T> ? 0 : a[i] >> (position & (width<T> - 1))) & field;
    if constexpr (std::is_signed_v<T>) {
      uint32_t last = position + length - 1 < width<T> - 1 ? position + length - 1 : width<T> - 1;
      bool sign = length != 0 && ((a[i] >> (last & (width<T> - 1))) & 1);
      // Bits from the last extracted one upwards repeat the sign.
      uint32_t available = position >= width<T> ? 0 : width<T> - position;
      uint32_t taken = length < available ? length : available;
      Word upper = taken >= width<T> ? 0 : ~Word(0) << (taken & (width<T> - 1));
      value = sign ? value | upper : value;
    }
    r[i] = value;
  }
}

template <int Mode> // 0 plain, else f4e…
void prmt(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint32_t>(w, inst.a), *b = in<uint32_t>(w, inst.b), *c = in<uint32_t>(w, inst.c);
  auto *r = static_cast<uint32_t *>(d);
  LANES {
    uint64_t both = uint64_t(b[i]) << 32 | a[i];
    uint32_t selector = c[i], result = 0;
    uint32_t s = selector & 3;
    if (Mode == 1) selector = (s | (s + 1) << 4 | (s + 2) << 8 | (s + 3) << 12);
    else if (Mode == 2) selector = (s | ((s - 1) & 7) << 4 | ((s - 2) & 7) << 8 | ((s - 3) & 7) << 12);
    else if (Mode == 3) selector = s * 0x1111;
    else if (Mode == 4) selector = (s > 0 ? s : 0) | (s > 1 ? s : 1) << 4 | (s > 2 ? s : 2) << 8 | 3u << 12;
    else if (Mode == 5) selector = 0u | (s < 1 ? s : 1) << 4 | (s < 2 ? s : 2) << 8 | s << 12;
    else if (Mode == 6) selector = (s & 1) ? 0x3232 : 0x1010;
    for (int k = 0; k < 4; ++k) {
      uint32_t nibble = (selector >> (4 * k)) & 15;
      uint32_t byte = uint32_t(both >> (8 * (nibble & 7))) & 255;
      if (Mode == 0 && (nibble & 8))
        byte = (byte & 128) ? 255 : 0;
      result |= byte << (8 * k);
    }
    r[i] = result;
  }
}
void lop3(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint32_t>(w, inst.a), *b = in<uint32_t>(w, inst.b), *c = in<uint32_t>(w, inst.c);
  auto *r = static_cast<uint32_t *>(d);
  uint32_t table = uint32_t(inst.imm), keep[8];
  for (int k = 0; k < 8; ++k)
    keep[k] = (table >> k) & 1 ? 0xFFFFFFFFu : 0;
  LANES {
    uint32_t x = a[i], y = b[i], z = c[i];
    r[i] = (keep[0] & ~x & ~y & ~z) | (keep[1] & ~x & ~y & z) | (keep[2] & ~x & y & ~z) | (keep[3] & ~x & y & z) |
           (keep[4] & x & ~y & ~z) | (keep[5] & x & ~y & z) | (keep[6] & x & y & ~z) | (keep[7] & x & y & z);
  }
}
template <bool SignedA, bool SignedB>
void dp4a(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint32_t>(w, inst.a), *b = in<uint32_t>(w, inst.b), *c = in<uint32_t>(w, inst.c);
  auto *r = static_cast<uint32_t *>(d);
  LANES {
    uint32_t sum = c[i];
    for (int k = 0; k < 4; ++k) {
      int32_t x = SignedA ? int32_t(int8_t(a[i] >> (8 * k))) : int32_t(uint8_t(a[i] >> (8 * k)));
      int32_t y = SignedB ? int32_t(int8_t(b[i] >> (8 * k))) : int32_t(uint8_t(b[i] >> (8 * k)));
      sum += uint32_t(x * y);
    }
    r[i] = sum;
  }
}
template <bool High, bool Signed>
void dp2a(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint32_t>(w, inst.a), *b = in<uint32_t>(w, inst.b), *c = in<uint32_t>(w, inst.c);
  auto *r = static_cast<uint32_t *>(d);
  LANES {
    uint32_t sum = c[i], bytes = High ? b[i] >> 16 : b[i];
    for (int k = 0; k < 2; ++k) {
      int32_t x = Signed ? int32_t(int16_t(a[i] >> (16 * k))) : int32_t(uint16_t(a[i] >> (16 * k)));
      int32_t y = Signed ? int32_t(int8_t(bytes >> (8 * k))) : int32_t(uint8_t(bytes >> (8 * k)));
      sum += uint32_t(x) * uint32_t(y);
    }
    r[i] = sum;
  }
}

template <class T>
void selp(Warp &w, const Inst &inst, void *d, uint32_t) { // c is a predicate, flags the negation
  using Word = typename Slot<T>::Word;
  auto *a = in<T>(w, inst.a), *b = in<T>(w, inst.b);
  auto *r = out<T>(d);
  uint32_t p = w.pred(inst.c) ^ inst.flags;
  LANES {
    Word keep = Word(0) - Word((p >> i) & 1);
    r[i] = (a[i] & keep) | (b[i] & ~keep);
  }
}
template <class T, bool FloatTest>
void slct(Warp &w, const Inst &inst, void *d, uint32_t) { // c >= 0 ? a : b
  auto *a = in<T>(w, inst.a), *b = in<T>(w, inst.b);
  auto *c = in<uint32_t>(w, inst.c);
  auto *r = out<T>(d);
  LANES {
    bool first = FloatTest ? bits<float>(c[i]) >= 0.0f : int32_t(c[i]) >= 0;
    r[i] = first ? a[i] : b[i];
  }
}

void pack16(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint32_t>(w, inst.a), *b = in<uint32_t>(w, inst.b);
  auto *r = static_cast<uint32_t *>(d);
  LANES r[i] = (a[i] & 0xFFFF) | b[i] << 16;
}
void pack32(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint32_t>(w, inst.a), *b = in<uint32_t>(w, inst.b);
  auto *r = static_cast<uint64_t *>(d);
  LANES r[i] = uint64_t(a[i]) | uint64_t(b[i]) << 32;
}
template <int Shift, uint32_t Mask>
void unpack32(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint32_t>(w, inst.a);
  auto *r = static_cast<uint32_t *>(d);
  LANES r[i] = (a[i] >> Shift) & Mask;
}
// From 64 bits: flags is the shift, imm the mask of the piece.
void unpack64(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint64_t>(w, inst.a);
  auto *r = static_cast<uint32_t *>(d);
  uint32_t shift = inst.flags, keep = uint32_t(inst.imm);
  LANES r[i] = uint32_t(a[i] >> shift) & keep;
}

// Carry chains: the carry is a predicate of the warp.
template <class T, Op Which>
void carry(Warp &w, const Inst &inst, void *, uint32_t m) {
  constexpr bool isSub = Which == Op::SubCC || Which == Op::SubC || Which == Op::SubCCC;
  constexpr bool isMadLo = Which == Op::MadLoCC || Which == Op::MadLoC || Which == Op::MadLoCCC;
  constexpr bool isMadHi = Which == Op::MadHiCC || Which == Op::MadHiC || Which == Op::MadHiCCC;
  constexpr bool reads = Which == Op::AddC || Which == Op::AddCCC || Which == Op::SubC || Which == Op::SubCCC ||
                         Which == Op::MadLoC || Which == Op::MadLoCCC || Which == Op::MadHiC || Which == Op::MadHiCCC;
  constexpr bool writes = Which != Op::AddC && Which != Op::SubC && Which != Op::MadLoC && Which != Op::MadHiC;
  using Word = typename Slot<T>::Word;
  auto *a = in<T>(w, inst.a), *b = in<T>(w, inst.b), *c = in<T>(w, inst.c);
  uint32_t before = w.pred(predCarry), after = 0;
  alignas(64) Word r[32];
  for (int i = 0; i < 32; ++i) {
    Word x = a[i], y = b[i];
    if constexpr (isMadLo || isMadHi) {
      Word product = isMadLo ? Word(x * y) : Word(MulHi::run<T>(T(x), T(y)));
      x = product;
      y = c[i];
    }
    Word in = reads ? (before >> i) & 1 : 0;
    unsigned __int128 wide;
    if constexpr (isSub)
      wide = (unsigned __int128)(x) - y - in;
    else
      wide = (unsigned __int128)(x) + y + in;
    r[i] = Word(wide);
    after |= uint32_t((wide >> width<Word>) & 1) << i;
  }
  blend(reinterpret_cast<Word *>(w.at(inst.d)), r, m);
  if (writes)
    w.pred(predCarry) = (before & ~m) | (after & m);
}

template <class T>
Handler byType(Op op) {
  constexpr bool wide = sizeof(T) >= 4;
  switch (op) {
  case Op::Mov: return unary<T, Mov>;
  case Op::Add: return binary<T, Add>;
  case Op::Sub: return binary<T, Sub>;
  case Op::MulLo: return binary<T, MulLo>;
  case Op::MulHi: return binary<T, MulHi>;
  case Op::MadLo: return ternary<T, MadLo>;
  case Op::MadHi: return ternary<T, MadHi>;
  case Op::Div: return binary<T, Div>;
  case Op::Rem: return binary<T, Rem>;
  case Op::Abs: return unary<T, Abs>;
  case Op::Neg: return unary<T, Neg>;
  case Op::Min: return binary<T, Min>;
  case Op::Max: return binary<T, Max>;
  case Op::And: return binary<T, And>;
  case Op::Or: return binary<T, Or>;
  case Op::Xor: return binary<T, Xor>;
  case Op::Not: return unary<T, Not>;
  case Op::CNot: return unary<T, CNot>;
  case Op::Sad: return ternary<T, Sad>;
  case Op::Shl: return shl<T>;
  case Op::Shr: return shr<T>;
  case Op::Selp: return selp<T>;
  default: break;
  }
  if constexpr (sizeof(T) < 8) {
    if (op == Op::MulWide)
      return mulWide<T>;
    if (op == Op::MadWide)
      return madWide<T>;
  }
  if constexpr (wide) {
    switch (op) {
    case Op::Brev: return unary<U<T>, Brev>;
    case Op::Clz: return count<U<T>, Clz>;
    case Op::Popc: return count<U<T>, Popc>;
    case Op::Bfind: return count<T, Bfind>;
    case Op::BfindShift: return count<T, BfindShift>;
    case Op::Bfi: return bfi<U<T>>;
    case Op::Bfe: return bfe<T>;
    case Op::AddCC: return carry<T, Op::AddCC>;
    case Op::AddC: return carry<T, Op::AddC>;
    case Op::AddCCC: return carry<T, Op::AddCCC>;
    case Op::SubCC: return carry<T, Op::SubCC>;
    case Op::SubC: return carry<T, Op::SubC>;
    case Op::SubCCC: return carry<T, Op::SubCCC>;
    case Op::MadLoCC: return carry<T, Op::MadLoCC>;
    case Op::MadLoC: return carry<T, Op::MadLoC>;
    case Op::MadLoCCC: return carry<T, Op::MadLoCCC>;
    case Op::MadHiCC: return carry<T, Op::MadHiCC>;
    case Op::MadHiC: return carry<T, Op::MadHiC>;
    case Op::MadHiCCC: return carry<T, Op::MadHiCCC>;
    default: break;
    }
  }
  return nullptr;
}

} // namespace

Handler selectInteger(Op op, ptx::Type type) {
  switch (op) {
  case Op::ShfLWrap: return funnel<true, false>;
  case Op::ShfLClamp: return funnel<true, true>;
  case Op::ShfRWrap: return funnel<false, false>;
  case Op::ShfRClamp: return funnel<false, true>;
  case Op::Prmt: return prmt<0>;
  case Op::PrmtF4e: return prmt<1>;
  case Op::PrmtB4e: return prmt<2>;
  case Op::PrmtRc8: return prmt<3>;
  case Op::PrmtEcl: return prmt<4>;
  case Op::PrmtEcr: return prmt<5>;
  case Op::PrmtRc16: return prmt<6>;
  case Op::Lop3: return lop3;
  case Op::Dp4aSS: return dp4a<true, true>;
  case Op::Dp4aSU: return dp4a<true, false>;
  case Op::Dp4aUS: return dp4a<false, true>;
  case Op::Dp4aUU: return dp4a<false, false>;
  case Op::Dp2aLoSS: return dp2a<false, true>;
  case Op::Dp2aLoUU: return dp2a<false, false>;
  case Op::Dp2aHiSS: return dp2a<true, true>;
  case Op::Dp2aHiUU: return dp2a<true, false>;
  case Op::Pack16: return pack16;
  case Op::Pack32: return pack32;
  case Op::UnpackLo16: return unpack32<0, 0xFFFF>;
  case Op::UnpackHi16: return unpack32<16, 0xFFFF>;
  case Op::UnpackLo32: return unpack64;
  case Op::UnpackHi32: return unpack64;
  case Op::Mul24: return type == ptx::Type::S32 ? binary<int32_t, Mul24> : binary<uint32_t, Mul24>;
  case Op::Mad24: return type == ptx::Type::S32 ? ternary<int32_t, Mad24> : ternary<uint32_t, Mad24>;
  case Op::Slct:
    return ptx::sizeOf(type) == 8 ? slct<uint64_t, false> : slct<uint32_t, false>;
  default: break;
  }
  switch (type) {
  case ptx::Type::U16: case ptx::Type::B16: case ptx::Type::F16: case ptx::Type::BF16: return byType<uint16_t>(op);
  case ptx::Type::S16: return byType<int16_t>(op);
  case ptx::Type::U32: case ptx::Type::B32: case ptx::Type::F32: case ptx::Type::F16x2: case ptx::Type::BF16x2:
    return byType<uint32_t>(op);
  case ptx::Type::S32: return byType<int32_t>(op);
  case ptx::Type::U64: case ptx::Type::B64: case ptx::Type::F64: case ptx::Type::F32x2: return byType<uint64_t>(op);
  case ptx::Type::S64: return byType<int64_t>(op);
  default: return nullptr;
  }
}

LEVEL_END
