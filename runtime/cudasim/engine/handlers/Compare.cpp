// setp, set, testp and predicate logic. Predicates are one bit per lane; comparisons fold into that mask in registers.
#include "runtime/cudasim/engine/handlers/Lanes.h"

LEVEL_BEGIN
namespace {

using ptx::Type;

template <Cmp C, class T>
inline bool holds(T a, T b) {
  switch (C) {
  case Cmp::Eq: return a == b;
  case Cmp::Ne: return a != b && a == a && b == b;
  case Cmp::Lt: return a < b;
  case Cmp::Le: return a <= b;
  case Cmp::Gt: return a > b;
  case Cmp::Ge: return a >= b;
  case Cmp::EqU: return !(a < b || a > b);
  case Cmp::NeU: return a != b;
  case Cmp::LtU: return !(a >= b);
  case Cmp::LeU: return !(a > b);
  case Cmp::GtU: return !(a <= b);
  case Cmp::GeU: return !(a < b);
  case Cmp::Num: return a == a && b == b;
  case Cmp::Nan: return a != a || b != b;
  }
}

// Half types compare as floats; T is only a tag here.
struct HalfTag { static float get(uint32_t w) { return floatFromHalf(uint16_t(w)); } };
struct BHalfTag { static float get(uint32_t w) { return floatFromBf16(uint16_t(w)); } };
struct FtzTag { static float get(uint32_t w) { return flush(bits<float>(w)); } };
template <class T>
struct Fetch {
  using Word = typename Slot<T>::Word;
  static T get(Word w) { return Slot<T>::get(w); }
};
template <> struct Fetch<HalfTag> { using Word = uint32_t; static float get(Word w) { return HalfTag::get(w); } };
template <> struct Fetch<BHalfTag> { using Word = uint32_t; static float get(Word w) { return BHalfTag::get(w); } };
template <> struct Fetch<FtzTag> { using Word = uint32_t; static float get(Word w) { return FtzTag::get(w); } };

template <class T, Cmp C>
inline uint32_t compareLanes(Warp &w, const Inst &inst) {
  using Word = typename Fetch<T>::Word;
  auto *a = reinterpret_cast<const Word *>(w.at(inst.a));
  auto *b = reinterpret_cast<const Word *>(w.at(inst.b));
  uint32_t mask = 0;
#if defined(__clang__)
#pragma clang loop vectorize(enable)
#endif
  for (int i = 0; i < 32; ++i)
    mask |= holds<C>(Fetch<T>::get(a[i]), Fetch<T>::get(b[i])) ? 1u << i : 0u;
  return mask;
}

inline void assign(uint32_t &p, uint32_t value, uint32_t m) { p = (p & ~m) | (value & m); }

inline uint32_t combine(uint32_t value, uint32_t other, unsigned how) {
  switch (BoolOp(how)) {
  case BoolOp::And: return value & other;
  case BoolOp::Or: return value | other;
  case BoolOp::Xor: return value ^ other;
  default: return value;
  }
}

template <class T, Cmp C>
void setp(Warp &w, const Inst &inst, void *, uint32_t m) {
  uint32_t value = compareLanes<T, C>(w, inst);
  if (inst.list == nullptr) {
    assign(w.pred(inst.d), value, m);
    return;
  }
  // list: the second result (or 0), the predicate to combine with (or 0)
  unsigned how = inst.sub & 15;
  uint32_t other = how ? w.pred(inst.list[1]) ^ ((inst.sub & 16) ? ~0u : 0u) : 0;
  if (inst.d)
    assign(w.pred(inst.d), combine(value, other, how), m);
  if (inst.list[0])
    assign(w.pred(inst.list[0]), combine(~value, other, how), m);
}

template <class T, Cmp C>
void set(Warp &w, const Inst &inst, void *d, uint32_t) {
  uint32_t value = compareLanes<T, C>(w, inst);
  if (inst.list)
    value = combine(value, w.pred(inst.list[1]) ^ ((inst.sub & 16) ? ~0u : 0u), inst.sub & 15);
  uint32_t truth = inst.flags; // 0xFFFFFFFF, 1.0f, 0x3C00 …
  auto *r = static_cast<uint32_t *>(d);
  LANES r[i] = (value >> i) & 1 ? truth : 0;
}

/// Packed halves: two results. d is the low half's predicate, list[0] the high half's.
template <bool IsBf16>
void setpPacked(Warp &w, const Inst &inst, void *, uint32_t m) {
  auto *a = in<uint32_t>(w, inst.a), *b = in<uint32_t>(w, inst.b);
  Cmp cmp = Cmp(inst.wide);
  uint32_t masks[2] = {0, 0};
  for (int i = 0; i < 32; ++i)
    for (int h = 0; h < 2; ++h) {
      uint16_t x = uint16_t(a[i] >> (16 * h)), y = uint16_t(b[i] >> (16 * h));
      float p = IsBf16 ? floatFromBf16(x) : floatFromHalf(x), q = IsBf16 ? floatFromBf16(y) : floatFromHalf(y);
      bool r = false;
      switch (cmp) {
      case Cmp::Eq: r = holds<Cmp::Eq>(p, q); break;
      case Cmp::Ne: r = holds<Cmp::Ne>(p, q); break;
      case Cmp::Lt: r = holds<Cmp::Lt>(p, q); break;
      case Cmp::Le: r = holds<Cmp::Le>(p, q); break;
      case Cmp::Gt: r = holds<Cmp::Gt>(p, q); break;
      case Cmp::Ge: r = holds<Cmp::Ge>(p, q); break;
      case Cmp::EqU: r = holds<Cmp::EqU>(p, q); break;
      case Cmp::NeU: r = holds<Cmp::NeU>(p, q); break;
      case Cmp::LtU: r = holds<Cmp::LtU>(p, q); break;
      case Cmp::LeU: r = holds<Cmp::LeU>(p, q); break;
      case Cmp::GtU: r = holds<Cmp::GtU>(p, q); break;
      case Cmp::GeU: r = holds<Cmp::GeU>(p, q); break;
      case Cmp::Num: r = holds<Cmp::Num>(p, q); break;
      case Cmp::Nan: r = holds<Cmp::Nan>(p, q); break;
      }
      masks[h] |= uint32_t(r) << i;
    }
  unsigned how = inst.sub & 15;
  uint32_t other = how && inst.list ? w.pred(inst.list[1]) ^ ((inst.sub & 16) ? ~0u : 0u) : 0;
  if (inst.d)
    assign(w.pred(inst.d), combine(masks[0], other, how), m);
  if (inst.list && inst.list[0])
    assign(w.pred(inst.list[0]), combine(masks[1], other, how), m);
}
/// set on packed halves: flags is what "true" looks like in each half.
template <bool IsBf16>
void setPacked(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = in<uint32_t>(w, inst.a), *b = in<uint32_t>(w, inst.b);
  auto *r = static_cast<uint32_t *>(d);
  Cmp cmp = Cmp(inst.wide);
  for (int i = 0; i < 32; ++i) {
    uint32_t value = 0;
    for (int h = 0; h < 2; ++h) {
      uint16_t x = uint16_t(a[i] >> (16 * h)), y = uint16_t(b[i] >> (16 * h));
      float p = IsBf16 ? floatFromBf16(x) : floatFromHalf(x), q = IsBf16 ? floatFromBf16(y) : floatFromHalf(y);
      bool unordered = isNan(p) || isNan(q), r1 = false;
      switch (cmp) {
      case Cmp::Eq: r1 = p == q; break;
      case Cmp::Ne: r1 = p != q && !unordered; break;
      case Cmp::Lt: r1 = p < q; break;
      case Cmp::Le: r1 = p <= q; break;
      case Cmp::Gt: r1 = p > q; break;
      case Cmp::Ge: r1 = p >= q; break;
      case Cmp::EqU: r1 = p == q || unordered; break;
      case Cmp::NeU: r1 = p != q; break;
      case Cmp::LtU: r1 = p < q || unordered; break;
      case Cmp::LeU: r1 = p <= q || unordered; break;
      case Cmp::GtU: r1 = p > q || unordered; break;
      case Cmp::GeU: r1 = p >= q || unordered; break;
      case Cmp::Num: r1 = !unordered; break;
      case Cmp::Nan: r1 = unordered; break;
      }
      value |= (r1 ? inst.flags & 0xFFFF : 0) << (16 * h);
    }
    r[i] = value;
  }
}

template <class T, template <class, Cmp> class Form>
Handler byCmp(Cmp cmp, bool isFloat) {
  switch (cmp) {
  case Cmp::Eq: return Form<T, Cmp::Eq>::fn;
  case Cmp::Ne: return isFloat ? Form<T, Cmp::Ne>::fn : Form<T, Cmp::NeU>::fn;
  case Cmp::Lt: return Form<T, Cmp::Lt>::fn;
  case Cmp::Le: return Form<T, Cmp::Le>::fn;
  case Cmp::Gt: return Form<T, Cmp::Gt>::fn;
  case Cmp::Ge: return Form<T, Cmp::Ge>::fn;
  default: break;
  }
  if (!isFloat)
    return nullptr;
  if constexpr (!std::is_integral_v<T>) {
    switch (cmp) {
    case Cmp::EqU: return Form<T, Cmp::EqU>::fn;
    case Cmp::NeU: return Form<T, Cmp::NeU>::fn;
    case Cmp::LtU: return Form<T, Cmp::LtU>::fn;
    case Cmp::LeU: return Form<T, Cmp::LeU>::fn;
    case Cmp::GtU: return Form<T, Cmp::GtU>::fn;
    case Cmp::GeU: return Form<T, Cmp::GeU>::fn;
    case Cmp::Num: return Form<T, Cmp::Num>::fn;
    case Cmp::Nan: return Form<T, Cmp::Nan>::fn;
    default: break;
    }
  }
  return nullptr;
}
template <class T, Cmp C>
struct SetpForm { static constexpr Handler fn = setp<T, C>; };
template <class T, Cmp C>
struct SetForm { static constexpr Handler fn = set<T, C>; };

template <template <class, Cmp> class Form>
Handler byType(Type type, Cmp cmp, bool ftz) {
  switch (type) {
  case Type::U16: case Type::B16: return byCmp<uint16_t, Form>(cmp, false);
  case Type::S16: return byCmp<int16_t, Form>(cmp, false);
  case Type::U32: case Type::B32: return byCmp<uint32_t, Form>(cmp, false);
  case Type::S32: return byCmp<int32_t, Form>(cmp, false);
  case Type::U64: case Type::B64: return byCmp<uint64_t, Form>(cmp, false);
  case Type::S64: return byCmp<int64_t, Form>(cmp, false);
  case Type::F16: return byCmp<HalfTag, Form>(cmp, true);
  case Type::BF16: return byCmp<BHalfTag, Form>(cmp, true);
  case Type::F32: return ftz ? byCmp<FtzTag, Form>(cmp, true) : byCmp<float, Form>(cmp, true);
  case Type::F64: return byCmp<double, Form>(cmp, true);
  default: return nullptr;
  }
}

// testp: finite infinite number notanumber normal subnormal
template <class T>
void testp(Warp &w, const Inst &inst, void *, uint32_t m) {
  using Word = typename Slot<T>::Word;
  auto *a = in<T>(w, inst.a);
  constexpr Word exponent = sizeof(T) == 8 ? Word(0x7FF) << (sizeof(T) == 8 ? 52 : 0) : Word(0x7F800000);
  constexpr Word all = ~Word(0) >> 1;
  uint32_t value = 0;
  for (int i = 0; i < 32; ++i) {
    Word u = a[i] & all;
    bool r = false;
    switch (inst.sub) {
    case 0: r = (u & exponent) != exponent; break;
    case 1: r = u == exponent; break;
    case 2: r = u <= exponent; break;
    case 3: r = u > exponent; break;
    case 4: r = (u & exponent) != exponent && (u & exponent) != 0; break;
    case 5: r = (u & exponent) == 0 && u != 0; break;
    }
    value |= uint32_t(r) << i;
  }
  assign(w.pred(inst.d), value, m);
}

template <PredOp P>
void predicate(Warp &w, const Inst &inst, void *, uint32_t m) { // flags: bit 0 negates a, bit 1 negates b
  uint32_t a = w.pred(inst.a) ^ ((inst.flags & 1) ? ~0u : 0u), b = w.pred(inst.b) ^ ((inst.flags & 2) ? ~0u : 0u);
  uint32_t value = 0;
  switch (P) {
  case PredOp::Mov: value = a; break;
  case PredOp::And: value = a & b; break;
  case PredOp::Or: value = a | b; break;
  case PredOp::Xor: value = a ^ b; break;
  case PredOp::Not: value = ~a; break;
  case PredOp::Set: value = inst.flags ? ~0u : 0; break;
  }
  assign(w.pred(inst.d), value, m);
}

} // namespace

Handler selectCompare(Type type, Cmp cmp, bool ftz) {
  if (type == Type::F16x2)
    return setpPacked<false>;
  if (type == Type::BF16x2)
    return setpPacked<true>;
  return byType<SetpForm>(type, cmp, ftz);
}
Handler selectCompareSet(Type type, Cmp cmp, bool ftz, Type) {
  if (type == Type::F16x2)
    return setPacked<false>;
  if (type == Type::BF16x2)
    return setPacked<true>;
  return byType<SetForm>(type, cmp, ftz);
}
Handler selectTestp(Type type, unsigned) {
  return type == Type::F32 ? testp<float> : type == Type::F64 ? testp<double> : nullptr;
}
Handler selectPredicate(PredOp op) {
  switch (op) {
  case PredOp::Mov: return predicate<PredOp::Mov>;
  case PredOp::And: return predicate<PredOp::And>;
  case PredOp::Or: return predicate<PredOp::Or>;
  case PredOp::Xor: return predicate<PredOp::Xor>;
  case PredOp::Not: return predicate<PredOp::Not>;
  case PredOp::Set: return predicate<PredOp::Set>;
  }
  return nullptr;
}

LEVEL_END
