// See Rare.h.
#include "runtime/cudasim/engine/Rare.h"

#include "runtime/cudasim/engine/Launch.h"
#include "runtime/cudasim/engine/handlers/Handlers.h"

#include <algorithm>
#include <cmath>

namespace graphc::cudasim {

RareForm rareForm(const Inst &inst) {
  RareForm form;
  std::memcpy(&form, &inst.imm, sizeof form);
  return form;
}

namespace {

const uint32_t *words(Warp &w, Ref ref) { return reinterpret_cast<const uint32_t *>(w.at(ref)); }
template <class To, class From>
To as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}
int64_t clamp(int64_t v, int bits, bool isSigned) {
  int64_t high = isSigned ? (int64_t(1) << (bits - 1)) - 1 : (int64_t(1) << bits) - 1;
  return std::clamp(v, isSigned ? -high - 1 : 0, high);
}
/// The low bits of a word as a number.
int64_t extend(uint32_t word, int bits, bool isSigned) {
  uint32_t kept = bits == 32 ? word : word & ((1u << bits) - 1);
  return isSigned ? int64_t(int32_t(kept << (32 - bits))) >> (32 - bits) : int64_t(kept);
}

float halfValue(uint16_t h) {
  int exponent = h >> 10 & 31, fraction = h & 1023;
  float v = exponent == 31 ? (fraction ? NAN : INFINITY)
            : exponent     ? std::ldexp(1.0f + float(fraction) / 1024.0f, exponent - 15)
                           : std::ldexp(float(fraction), -24);
  return h & 0x8000 ? -v : v;
}
/// f16, bf16 and the 8-bit formats: the nearest value, ties to even.
struct Format {
  int mantissa, minExponent, maxExponent;
  double largest;
  uint32_t infinity, nan, sign;
};
constexpr Format f16{10, -14, 15, 65504, 0x7C00, 0x7FFF, 0x8000};
constexpr Format e4m3{3, -6, 8, 448, 0x7F, 0x7F, 0x80}, e5m2{2, -14, 15, 57344, 0x7C, 0x7F, 0x80};

uint32_t encode(double v, const Format &format, bool finite) {
  if (std::isnan(v))
    return format.nan;
  uint32_t sign = std::signbit(v) ? format.sign : 0;
  double m = std::fabs(v);
  if (m == 0)
    return sign;
  int exponent = std::isinf(m) ? 1000 : std::ilogb(m);
  int scale = std::max(std::min(exponent, 2000), format.minExponent) - format.mantissa;
  double rounded = std::isinf(m) ? m : std::ldexp(std::nearbyint(std::ldexp(m, -scale)), scale);
  if (rounded > format.largest) {
    if (!finite)
      return sign | format.infinity;
    rounded = format.largest;
  }
  if (rounded == 0)
    return sign;
  int e = std::ilogb(rounded);
  if (e < format.minExponent)
    return sign | uint32_t(std::ldexp(rounded, format.mantissa - format.minExponent));
  uint32_t fraction = uint32_t(std::ldexp(rounded, format.mantissa - e)) & ((1u << format.mantissa) - 1);
  return sign | uint32_t(e - format.minExponent + 1) << format.mantissa | fraction;
}
double decode8(uint32_t byte, bool isE5m2) {
  const Format &format = isE5m2 ? e5m2 : e4m3;
  uint32_t magnitude = byte & 0x7F, exponent = magnitude >> format.mantissa, fraction = magnitude & ((1u << format.mantissa) - 1);
  double v;
  if (isE5m2 ? exponent == 31 : magnitude == 0x7F)
    v = isE5m2 && !fraction ? INFINITY : NAN;
  else
    v = exponent ? std::ldexp(1.0 + std::ldexp(double(fraction), -format.mantissa), int(exponent) - 1 + format.minExponent)
                 : std::ldexp(double(fraction), format.minExponent - format.mantissa);
  return byte & 0x80 ? -v : v;
}

} // namespace

void rareMadHiSat(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *a = words(w, inst.a), *b = words(w, inst.b), *c = words(w, inst.c);
  for (int i = 0; i < 32; ++i)
    static_cast<uint32_t *>(d)[i] = uint32_t(clamp(((int64_t(int32_t(a[i])) * int32_t(b[i])) >> 32) + int32_t(c[i]), 32, true));
}

void rareMul24Hi(Warp &w, const Inst &inst, void *d, uint32_t) {
  RareForm form = rareForm(inst);
  auto *a = words(w, inst.a), *b = words(w, inst.b), *c = words(w, inst.c);
  for (int i = 0; i < 32; ++i) {
    int64_t v = (extend(a[i], 24, form.isSigned) * extend(b[i], 24, form.isSigned)) >> 16;
    v = form.isSigned ? int32_t(v) : int64_t(uint32_t(v));
    if (form.op)
      v += form.isSigned ? int64_t(int32_t(c[i])) : int64_t(c[i]);
    static_cast<uint32_t *>(d)[i] = uint32_t(form.saturate ? clamp(v, 32, true) : v);
  }
}

void rareFns(Warp &w, const Inst &inst, void *d, uint32_t) {
  auto *mask = words(w, inst.a), *base = words(w, inst.b), *offset = words(w, inst.c);
  for (int i = 0; i < 32; ++i) {
    int32_t n = int32_t(offset[i]), found = -1, step = n < 0 ? -1 : 1;
    int64_t left = n == 0 ? 0 : std::abs(int64_t(n)) - 1;
    for (int64_t at = base[i]; at >= 0 && at < 32; at += step) {
      if ((mask[i] >> at & 1) && left-- == 0) {
        found = int32_t(at);
        break;
      }
      if (n == 0)
        break;
    }
    static_cast<uint32_t *>(d)[i] = uint32_t(found);
  }
}

void rareSzext(Warp &w, const Inst &inst, void *d, uint32_t) {
  RareForm form = rareForm(inst);
  auto *a = words(w, inst.a), *b = words(w, inst.b);
  for (int i = 0; i < 32; ++i) {
    uint32_t bits = b[i] & 31;
    bool whole = b[i] >= 32 && !form.mode;
    static_cast<uint32_t *>(d)[i] = whole ? a[i] : bits ? uint32_t(extend(a[i], int(bits), form.isSigned)) : 0;
  }
}

void rareBmsk(Warp &w, const Inst &inst, void *d, uint32_t) {
  bool wrap = rareForm(inst).mode;
  auto *a = words(w, inst.a), *b = words(w, inst.b);
  for (int i = 0; i < 32; ++i) {
    uint32_t from = a[i] & 31, count = b[i] & 31, low = ~0u << from;
    bool toTheEnd = from + count >= 32;
    if (!wrap && a[i] >= 32)
      low = 0;
    toTheEnd |= !wrap && b[i] >= 32;
    static_cast<uint32_t *>(d)[i] = toTheEnd ? low : low & ~(~0u << (from + count));
  }
}

void rareDp2a(Warp &w, const Inst &inst, void *d, uint32_t) {
  RareForm form = rareForm(inst);
  auto *a = words(w, inst.a), *b = words(w, inst.b), *c = words(w, inst.c);
  for (int i = 0; i < 32; ++i) {
    uint32_t sum = c[i], bytes = form.op ? b[i] >> 16 : b[i];
    for (int k = 0; k < 2; ++k)
      sum += uint32_t(extend(a[i] >> (16 * k), 16, form.signedA) * extend(bytes >> (8 * k), 8, form.signedB));
    static_cast<uint32_t *>(d)[i] = sum;
  }
}

void rareSlct(Warp &w, const Inst &inst, void *d, uint32_t) {
  bool flush = rareForm(inst).mode;
  auto *c = words(w, inst.c);
  for (int i = 0; i < 32; ++i) {
    bool tiny = flush && (c[i] & 0x7F800000) == 0;
    bool first = tiny || as<float>(c[i]) >= 0.0f;
    if (inst.kind == Kind::Simd64)
      static_cast<uint64_t *>(d)[i] = reinterpret_cast<const uint64_t *>(w.at(first ? inst.a : inst.b))[i];
    else
      static_cast<uint32_t *>(d)[i] = words(w, first ? inst.a : inst.b)[i];
  }
}

void rarePair16(Warp &w, const Inst &inst, void *d, uint32_t) {
  RareForm form = rareForm(inst);
  auto *a = words(w, inst.a), *b = words(w, inst.b);
  for (int i = 0; i < 32; ++i) {
    uint32_t result = 0;
    for (int k = 0; k < 2; ++k) {
      int64_t x = extend(a[i] >> (16 * k), 16, form.isSigned), y = extend(b[i] >> (16 * k), 16, form.isSigned);
      int64_t v = form.op == 0 ? x + y : form.op == 1 ? std::min(x, y) : std::max(x, y);
      if (form.mode)
        v = std::max<int64_t>(v, 0);
      result |= (uint32_t(v) & 0xFFFF) << (16 * k);
    }
    static_cast<uint32_t *>(d)[i] = result;
  }
}

void rareRelu(Warp &w, const Inst &inst, void *d, uint32_t) {
  bool isMax = rareForm(inst).op == 2;
  auto *a = words(w, inst.a), *b = words(w, inst.b);
  for (int i = 0; i < 32; ++i) {
    int32_t x = int32_t(a[i]), y = int32_t(b[i]);
    static_cast<uint32_t *>(d)[i] = uint32_t(std::max(isMax ? std::max(x, y) : std::min(x, y), 0));
  }
}

void rarePick(Warp &w, const Inst &inst, void *d, uint32_t) {
  RareForm form = rareForm(inst);
  bool isMax = form.op == 2;
  auto *a = words(w, inst.a), *b = words(w, inst.b);
  int width = form.mode ? 16 : 32;
  uint32_t signBit = 1u << (width - 1), infinity = form.mode == 0 ? 0x7F800000 : form.mode == 1 ? 0x7C00 : 0x7F80;
  uint32_t nan = form.mode ? 0x7FFF : 0x7FFFFFFF;
  for (int i = 0; i < 32; ++i) {
    uint32_t result = 0;
    for (int k = 0; k < form.lanes; ++k) {
      uint32_t x = a[i] >> (width * k % 32), y = b[i] >> (width * k % 32);
      uint32_t mx = x & (signBit - 1), my = y & (signBit - 1); // magnitudes order like integers
      uint32_t v = mx > infinity || my > infinity ? nan : (isMax ? std::max(mx, my) : std::min(mx, my)) | ((x ^ y) & signBit);
      result |= v << (width * k % 32);
    }
    static_cast<uint32_t *>(d)[i] = result;
  }
}

void rareCvtPack(Warp &w, const Inst &inst, void *d, uint32_t) {
  RareForm form = rareForm(inst);
  auto *a = words(w, inst.a), *b = words(w, inst.b), *c = words(w, inst.c);
  int bits = form.lanes;
  uint32_t keep = (1u << bits) - 1;
  for (int i = 0; i < 32; ++i) {
    uint32_t high = uint32_t(clamp(int32_t(a[i]), bits, form.isSigned)) & keep, low = uint32_t(clamp(int32_t(b[i]), bits, form.isSigned)) & keep;
    static_cast<uint32_t *>(d)[i] = high << bits | low | (form.op ? uint32_t(uint64_t(c[i]) << (2 * bits)) : 0);
  }
}

void rareFromFp8(Warp &w, const Inst &inst, void *d, uint32_t) {
  RareForm form = rareForm(inst);
  auto *a = words(w, inst.a);
  for (int i = 0; i < 32; ++i) {
    uint32_t result = 0;
    for (int k = 0; k < 2; ++k) {
      double v = decode8(a[i] >> (8 * k) & 255, form.mode);
      uint32_t h = form.op && v <= 0 ? 0 : encode(v, f16, false);
      result |= h << (16 * k);
    }
    static_cast<uint32_t *>(d)[i] = result;
  }
}

void rareToFp8(Warp &w, const Inst &inst, void *d, uint32_t) {
  RareForm form = rareForm(inst);
  auto *a = words(w, inst.a), *b = words(w, inst.b);
  for (int i = 0; i < 32; ++i) {
    double high = form.op ? double(halfValue(uint16_t(a[i] >> 16))) : double(as<float>(a[i]));
    double low = form.op ? double(halfValue(uint16_t(a[i]))) : double(as<float>(b[i]));
    auto byte = [&](double v) { return form.second && v <= 0 ? 0u : encode(v, form.mode ? e5m2 : e4m3, true); };
    static_cast<uint32_t *>(d)[i] = byte(high) << 8 | byte(low);
  }
}

void rareZeroOob(Warp &w, const Inst &inst, void *d, uint32_t) {
  constexpr uint32_t outOfBounds = 0x7FF7; // what tensor copies fill in, for f16 and bf16 alike
  auto *a = words(w, inst.a), *b = words(w, inst.b), *c = words(w, inst.c);
  for (int i = 0; i < 32; ++i) {
    uint32_t v = c[i];
    for (int shift : {0, 16})
      if ((a[i] >> shift & 0xFFFF) == outOfBounds || (b[i] >> shift & 0xFFFF) == outOfBounds)
        v &= ~(0xFFFFu << shift);
    static_cast<uint32_t *>(d)[i] = v;
  }
}

void rareReduxF32(Warp &w, const Inst &inst, void *, uint32_t m) {
  RareForm form = rareForm(inst);
  uint32_t a[32];
  std::memcpy(a, w.at(inst.a), sizeof a);
  auto *members = words(w, inst.members);
  auto *d = reinterpret_cast<uint32_t *>(w.at(inst.d));
  for (uint32_t rest = m; rest;) {
    uint32_t group = members[__builtin_ctz(rest)] & m;
    group = group ? group : rest & (0u - rest);
    float best = NAN;
    bool any = false, nan = false;
    for (uint32_t g = group; g; g &= g - 1) {
      float v = as<float>(a[__builtin_ctz(g)]);
      if (form.mode & 2)
        v = std::fabs(v);
      nan |= std::isnan(v);
      if (std::isnan(v))
        continue;
      bool better = !any || (form.op == 2 ? v > best || (v == best && !std::signbit(v)) : v < best || (v == best && std::signbit(v)));
      best = better ? v : best;
      any = true;
    }
    uint32_t result = !any || ((form.mode & 1) && nan) ? 0x7FFFFFFF : as<uint32_t>(best);
    for (uint32_t g = group; g; g &= g - 1)
      d[__builtin_ctz(g)] = result;
    rest &= ~group;
  }
}

// -- video instructions --------------------------------------------------------------------------------------------

static bool compareAs(uint8_t cmp, int64_t a, int64_t b) {
  switch (Cmp(cmp)) {
  case Cmp::Eq: return a == b;
  case Cmp::Ne: return a != b;
  case Cmp::Lt: return a < b;
  case Cmp::Le: return a <= b;
  case Cmp::Gt: return a > b;
  default: return a >= b;
  }
}

static int64_t selected(uint32_t word, uint32_t selector, bool isSigned) {
  if (selector >= 16)
    return extend(word >> (16 * (selector & 1)), 16, isSigned);
  if (selector >= 8)
    return extend(word >> (8 * (selector & 3)), 8, isSigned);
  return extend(word, 32, isSigned);
}

void rareVideo(Warp &w, const Inst &inst, void *d, uint32_t) {
  RareForm form = rareForm(inst);
  auto *a = words(w, inst.a), *b = words(w, inst.b), *c = words(w, inst.c);
  uint32_t selectD = inst.flags & 255, selectA = inst.flags >> 8 & 0xFFF, selectB = inst.flags >> 20;
  int bits = selectD >= 16 ? 16 : selectD >= 8 ? 8 : 32;
  for (int i = 0; i < 32; ++i) {
    int64_t x = selected(a[i], selectA, form.signedA), y = selected(b[i], selectB, form.signedB), v = 0;
    switch (VideoOp(form.op)) {
    case VideoOp::Add: v = x + y; break;
    case VideoOp::Sub: v = x - y; break;
    case VideoOp::AbsDiff: v = std::abs(x - y); break;
    case VideoOp::Min: v = std::min(x, y); break;
    case VideoOp::Max: v = std::max(x, y); break;
    case VideoOp::Shl:
    case VideoOp::Shr: {
      uint32_t by = form.mode ? uint32_t(y) & 31 : std::min(uint32_t(y), 32u);
      v = VideoOp(form.op) == VideoOp::Shl ? int64_t(uint64_t(x) << by) : x >> by;
      break;
    }
    case VideoOp::Set: v = compareAs(form.mode, x, y); break;
    case VideoOp::Mad: {
      bool signedFinal = form.signedA || form.signedB || (form.second & 24);
      __int128 product = __int128(x) * y;
      uint32_t addend = c[i];
      int one = 0;
      if (form.second & 4)
        one = 1;
      else if (form.second & 8)
        product = ~product, one = 1;
      else if (form.second & 16)
        addend = ~addend, one = 1;
      product += (signedFinal ? __int128(int32_t(addend)) : __int128(addend)) + one;
      int64_t shifted = int64_t(product >> (form.second & 1 ? 7 : form.second & 2 ? 15 : 0));
      static_cast<uint32_t *>(d)[i] = uint32_t(form.saturate ? clamp(shifted, 32, signedFinal) : shifted);
      continue;
    }
    default: break;
    }
    if (form.saturate)
      v = clamp(v, bits, form.isSigned);
    uint32_t result = uint32_t(v);
    if (bits != 32) {
      int shift = bits * int(selectD & (bits == 16 ? 1 : 3));
      uint32_t keep = ((1u << bits) - 1) << shift;
      result = (result << shift & keep) | (c[i] & ~keep);
    } else if (form.second == 1) {
      result += c[i];
    } else if (form.second) {
      int64_t mine = form.isSigned ? int64_t(int32_t(result)) : int64_t(result), other = form.isSigned ? int64_t(int32_t(c[i])) : int64_t(c[i]);
      result = uint32_t(form.second == 2 ? std::min(mine, other) : std::max(mine, other));
    }
    static_cast<uint32_t *>(d)[i] = result;
  }
}

void rareVideoSimd(Warp &w, const Inst &inst, void *d, uint32_t) {
  RareForm form = rareForm(inst);
  auto *a = words(w, inst.a), *b = words(w, inst.b), *c = words(w, inst.c);
  uint32_t mask = inst.flags & 255, selectA = inst.flags >> 8 & 0xFFF, selectB = inst.flags >> 20;
  int lanes = form.lanes, bits = 32 / lanes;
  for (int i = 0; i < 32; ++i) {
    uint64_t both = uint64_t(b[i]) << 32 | a[i];
    uint32_t result = form.second ? c[i] : 0;
    for (int k = 0; k < lanes; ++k) {
      int64_t x = extend(uint32_t(both >> (bits * int(selectA >> (3 * k) & 7))), bits, form.signedA);
      int64_t y = extend(uint32_t(both >> (bits * int(selectB >> (3 * k) & 7))), bits, form.signedB), v = 0;
      switch (VideoOp(form.op)) {
      case VideoOp::Add: v = x + y; break;
      case VideoOp::Sub: v = x - y; break;
      case VideoOp::AbsDiff: v = std::abs(x - y); break;
      case VideoOp::Min: v = std::min(x, y); break;
      case VideoOp::Max: v = std::max(x, y); break;
      case VideoOp::Average: v = (x + y + (x + y >= 0)) >> 1; break;
      case VideoOp::Set: v = compareAs(form.mode, x, y); break;
      default: break;
      }
      if (form.saturate)
        v = clamp(v, bits, form.isSigned);
      uint32_t keep = (bits == 16 ? 0xFFFFu : 0xFFu) << (bits * k);
      bool isOn = mask >> k & 1;
      if (form.second)
        result += isOn ? uint32_t(v) : 0;
      else
        result |= isOn ? uint32_t(v) << (bits * k) & keep : c[i] & keep;
    }
    static_cast<uint32_t *>(d)[i] = result;
  }
}

// -- 128 bits, 8-bit floats ----------------------------------------------------------------------------------------

void rareAtomic128(Warp &w, const Inst &inst, void *, uint32_t m) {
  static std::mutex mutex; // hosts without a 16-byte compare-exchange exist; these are rare
  const MemOp &mem = *inst.mem;
  uint64_t addresses[32];
  char *pointers[32];
  m = laneAddresses(w, mem, m, addresses);
  m = resolveAccess(w, inst, mem, addresses, 16, true, m, pointers);
  if (!m)
    return;
  if (w.caches[mem.index].readBits)
    trackLanes(w, mem, addresses, 16, true, m);
  // values: operand (low, high), replacement (low, high), results (low, high)
  auto at = [&](int which, int lane) -> uint64_t & { return reinterpret_cast<uint64_t *>(w.at(mem.values[which]))[lane]; };
  std::lock_guard lock(mutex);
  for (uint32_t rest = m; rest; rest &= rest - 1) {
    int lane = __builtin_ctz(rest);
    uint64_t old[2], next[2] = {at(0, lane), at(1, lane)};
    std::memcpy(old, pointers[lane], 16);
    if (inst.sub == 2) {
      bool equal = old[0] == next[0] && old[1] == next[1];
      next[0] = equal ? at(2, lane) : old[0];
      next[1] = equal ? at(3, lane) : old[1];
    }
    std::memcpy(pointers[lane], next, 16);
    at(4, lane) = old[0];
    at(5, lane) = old[1];
    if (std::memcmp(old, next, 16) != 0)
      ++w.writes;
    else
      noteSpin(w);
  }
}

void rareMmaFp8(Warp &w, const Inst &inst, void *, uint32_t) {
  static const auto tables = [] {
    std::array<std::array<float, 256>, 2> values{};
    for (uint32_t byte = 0; byte < 256; ++byte)
      for (int format = 0; format < 2; ++format)
        values[format][byte] = float(decode8(byte, format));
    return values;
  }();
  const auto &ofA = tables[inst.sub & 1], &ofB = tables[inst.sub >> 1 & 1];
  bool half = inst.sub & 4;
  int k = inst.wide, chunks = k / 16, dRegs = half ? 2 : 4;
  const Ref *d = inst.list, *a = d + dRegs, *b = a + 2 * chunks, *c = b + chunks;
  float A[16][32], B[8][32], C[16][8];
  for (int chunk = 0; chunk < chunks; ++chunk)
    for (int g = 0; g < 8; ++g)
      for (int i = 0; i < 16; ++i) {
        for (int h = 0; h < 2; ++h)
          A[h * 8 + g][chunk * 16 + i] = ofA[reinterpret_cast<const uint8_t *>(w.at(a[chunk * 2 + h]))[g * 16 + i]];
        B[g][chunk * 16 + i] = ofB[reinterpret_cast<const uint8_t *>(w.at(b[chunk]))[g * 16 + i]];
      }
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      int lane = row % 8 * 4 + column / 2, h = row / 8;
      float sum = half ? halfValue(uint16_t(words(w, c[h])[lane] >> (16 * (column % 2))))
                       : as<float>(words(w, c[2 * h + column % 2])[lane]);
      for (int i = 0; i < k; ++i)
        sum += A[row][i] * B[column][i];
      C[row][column] = sum;
    }
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      int lane = row % 8 * 4 + column / 2, h = row / 8;
      if (half)
        reinterpret_cast<uint16_t *>(w.at(d[h]))[lane * 2 + column % 2] = uint16_t(encode(C[row][column], f16, false));
      else
        reinterpret_cast<float *>(w.at(d[2 * h + column % 2]))[lane] = C[row][column];
    }
}

void rareMmaQuadPairs(Warp &w, const Inst &inst, void *, uint32_t) {
  bool columnA = inst.sub & 1, rowB = inst.sub & 2, halfD = inst.sub & 4, halfC = inst.sub & 8;
  size_t dRegs = halfD ? 4 : 8;
  const Ref *d = inst.list, *a = d + dRegs, *b = a + 2, *c = b + 2;
  auto half = [&](const Ref *refs, int lane, int i) { return halfValue(uint16_t(words(w, refs[i / 2])[lane] >> (16 * (i % 2)))); };
  // Element i of an accumulator, of the lane with number k in its quad and in the upper half of the warp or not.
  auto row = [](bool isHalf, int k, bool upper, int i) { return (isHalf ? k : (k & 1) + (i & 2)) + (upper ? 4 : 0); };
  auto column = [](bool isHalf, int k, int i) { return isHalf ? i : (i & 4) + (k & 2) + (i & 1); };
  for (int quad = 0; quad < 4; ++quad) {
    float A[8][4], B[4][8], C[8][8];
    for (int l = 0; l < 8; ++l) {
      int k = l % 4, lane = quad * 4 + k + (l < 4 ? 0 : 16), high = l < 4 ? 0 : 4;
      for (int i = 0; i < 4; ++i) {
        (columnA ? A[i + high][k] : A[k + high][i]) = half(a, lane, i);
        (rowB ? B[k][i + high] : B[i][k + high]) = half(b, lane, i);
      }
      for (int i = 0; i < 8; ++i)
        C[row(halfC, k, high, i)][column(halfC, k, i)] = halfC ? half(c, lane, i) : as<float>(words(w, c[i])[lane]);
    }
    for (int m = 0; m < 8; ++m)
      for (int n = 0; n < 8; ++n)
        for (int k = 0; k < 4; ++k)
          C[m][n] += A[m][k] * B[k][n];
    for (int l = 0; l < 8; ++l) {
      int k = l % 4, lane = quad * 4 + k + (l < 4 ? 0 : 16), high = l < 4 ? 0 : 4;
      for (int i = 0; i < 8; ++i) {
        float v = C[row(halfD, k, high, i)][column(halfD, k, i)];
        auto *word = reinterpret_cast<uint32_t *>(w.at(d[halfD ? i / 2 : i])) + lane;
        *word = !halfD ? as<uint32_t>(v) : i % 2 ? (*word & 0xFFFF) | encode(v, f16, false) << 16 : (*word & 0xFFFF0000) | encode(v, f16, false);
      }
    }
  }
}

} // namespace graphc::cudasim
