// Operations across the lanes of a warp: shfl, vote, match, redux, elect, activemask.
//
// The interpreter calls these only once every lane of the member mask has arrived; `m` are those lanes.
#include "runtime/cudasim/engine/handlers/Lanes.h"

LEVEL_BEGIN
namespace {

inline void assign(uint32_t &p, uint32_t value, uint32_t m) { p = (p & ~m) | (value & m); }

/// d = value, list[0] = predicate or 0; a = source, b = lane or delta, c = clamp and segment.
template <WarpOp Mode>
void shfl(Warp &w, const Inst &inst, void *, uint32_t m) {
  auto *a = in<uint32_t>(w, inst.a), *b = in<uint32_t>(w, inst.b), *c = in<uint32_t>(w, inst.c);
  alignas(64) uint32_t from[32], ok[32], r[32];
  LANES {
    int32_t lane = i, delta = int32_t(b[i] & 31), clamp = int32_t(c[i] & 31), segment = int32_t((c[i] >> 8) & 31);
    int32_t last = (lane & segment) | (clamp & ~segment), first = lane & segment, j, good;
    if (Mode == WarpOp::ShflUp) {
      j = lane - delta;
      good = j >= last;
    } else if (Mode == WarpOp::ShflDown) {
      j = lane + delta;
      good = j <= last;
    } else if (Mode == WarpOp::ShflBfly) {
      j = lane ^ delta;
      good = j <= last;
    } else {
      j = first | (delta & ~segment);
      good = j <= last;
    }
    from[i] = uint32_t(good ? j : lane) & 31;
    ok[i] = good ? 1u << i : 0;
  }
  for (int i = 0; i < 32; ++i)
    r[i] = a[from[i]];
  blend(reinterpret_cast<uint32_t *>(w.at(inst.d)), r, m == w.live ? ~0u : m);
  if (inst.list && inst.list[0]) {
    uint32_t p = 0;
    LANES p |= ok[i];
    assign(w.pred(inst.list[0]), p, m);
  }
}

/// a = predicate (flags bit 0 negates); result in d: predicate or register (ballot).
template <WarpOp Mode>
void vote(Warp &w, const Inst &inst, void *, uint32_t m) {
  uint32_t p = (w.pred(inst.a) ^ ((inst.flags & 1) ? ~0u : 0u));
  auto *members = in<uint32_t>(w, inst.b);
  // Lanes may belong to several disjoint groups.
  for (uint32_t rest = m; rest;) {
    uint32_t group = members[__builtin_ctz(rest)] & m;
    group = group ? group : rest & (0u - rest);
    uint32_t votes = p & group;
    if (Mode == WarpOp::VoteBallot) {
      auto *r = reinterpret_cast<uint32_t *>(w.at(inst.d));
      for (uint32_t g = group; g; g &= g - 1)
        r[__builtin_ctz(g)] = votes;
    } else {
      bool value = Mode == WarpOp::VoteAll ? votes == group : Mode == WarpOp::VoteAny ? votes != 0
                                                                                      : votes == group || votes == 0;
      assign(w.pred(inst.d), value ? ~0u : 0, group);
    }
    rest &= ~group;
  }
}

template <class T, bool All>
void match(Warp &w, const Inst &inst, void *, uint32_t m) { // a value, b members; list[0] predicate (all)
  alignas(64) typename Slot<T>::Word a[32];
  __builtin_memcpy(a, w.at(inst.a), sizeof(a));
  auto *members = in<uint32_t>(w, inst.b);
  auto *r = reinterpret_cast<uint32_t *>(w.at(inst.d));
  uint32_t result[32], pred = 0;
  for (uint32_t rest = m; rest; rest &= rest - 1) {
    int i = __builtin_ctz(rest);
    uint32_t group = members[i] & m, equal = 0;
    for (uint32_t g = group; g; g &= g - 1) {
      int j = __builtin_ctz(g);
      equal |= uint32_t(a[j] == a[i]) << j;
    }
    result[i] = All ? (equal == group ? group : 0) : equal;
    pred |= uint32_t(equal == group) << i;
  }
  for (uint32_t rest = m; rest; rest &= rest - 1) {
    int i = __builtin_ctz(rest);
    r[i] = result[i];
  }
  if (inst.list && inst.list[0])
    assign(w.pred(inst.list[0]), pred, m);
}

template <WarpOp Mode>
void redux(Warp &w, const Inst &inst, void *, uint32_t m) {
  alignas(64) uint32_t a[32];
  __builtin_memcpy(a, w.at(inst.a), sizeof(a));
  auto *members = in<uint32_t>(w, inst.b);
  auto *r = reinterpret_cast<uint32_t *>(w.at(inst.d));
  for (uint32_t rest = m; rest;) {
    uint32_t group = members[__builtin_ctz(rest)] & m;
    group = group ? group : rest & (0u - rest);
    uint32_t value = a[__builtin_ctz(group)];
    for (uint32_t g = group & (group - 1); g; g &= g - 1) {
      uint32_t v = a[__builtin_ctz(g)];
      switch (Mode) {
      case WarpOp::ReduxAddU: case WarpOp::ReduxAddS: value += v; break;
      case WarpOp::ReduxMinU: value = v < value ? v : value; break;
      case WarpOp::ReduxMaxU: value = v > value ? v : value; break;
      case WarpOp::ReduxMinS: value = int32_t(v) < int32_t(value) ? v : value; break;
      case WarpOp::ReduxMaxS: value = int32_t(v) > int32_t(value) ? v : value; break;
      case WarpOp::ReduxAnd: value &= v; break;
      case WarpOp::ReduxOr: value |= v; break;
      default: value ^= v; break;
      }
    }
    for (uint32_t g = group; g; g &= g - 1)
      r[__builtin_ctz(g)] = value;
    rest &= ~group;
  }
}

void elect(Warp &w, const Inst &inst, void *, uint32_t m) { // list[0]: predicate; d: lane, when wanted
  auto *members = in<uint32_t>(w, inst.b);
  for (uint32_t rest = m; rest;) {
    uint32_t group = members[__builtin_ctz(rest)] & m;
    group = group ? group : rest & (0u - rest);
    uint32_t leader = uint32_t(__builtin_ctz(group));
    if (inst.sub)
      for (uint32_t g = group; g; g &= g - 1)
        reinterpret_cast<uint32_t *>(w.at(inst.d))[__builtin_ctz(g)] = leader;
    if (inst.list && inst.list[0])
      assign(w.pred(inst.list[0]), 1u << leader, group);
    rest &= ~group;
  }
}

void activemask(Warp &w, const Inst &inst, void *, uint32_t m) {
  alignas(64) uint32_t r[32];
  LANES r[i] = m;
  blend(reinterpret_cast<uint32_t *>(w.at(inst.d)), r, m);
}

} // namespace

Handler selectWarp(WarpOp op) {
  switch (op) {
  case WarpOp::ShflUp: return shfl<WarpOp::ShflUp>;
  case WarpOp::ShflDown: return shfl<WarpOp::ShflDown>;
  case WarpOp::ShflBfly: return shfl<WarpOp::ShflBfly>;
  case WarpOp::ShflIdx: return shfl<WarpOp::ShflIdx>;
  case WarpOp::VoteAll: return vote<WarpOp::VoteAll>;
  case WarpOp::VoteAny: return vote<WarpOp::VoteAny>;
  case WarpOp::VoteUni: return vote<WarpOp::VoteUni>;
  case WarpOp::VoteBallot: return vote<WarpOp::VoteBallot>;
  case WarpOp::MatchAny32: return match<uint32_t, false>;
  case WarpOp::MatchAny64: return match<uint64_t, false>;
  case WarpOp::MatchAll32: return match<uint32_t, true>;
  case WarpOp::MatchAll64: return match<uint64_t, true>;
  case WarpOp::ReduxAddU: return redux<WarpOp::ReduxAddU>;
  case WarpOp::ReduxAddS: return redux<WarpOp::ReduxAddS>;
  case WarpOp::ReduxMinU: return redux<WarpOp::ReduxMinU>;
  case WarpOp::ReduxMinS: return redux<WarpOp::ReduxMinS>;
  case WarpOp::ReduxMaxU: return redux<WarpOp::ReduxMaxU>;
  case WarpOp::ReduxMaxS: return redux<WarpOp::ReduxMaxS>;
  case WarpOp::ReduxAnd: return redux<WarpOp::ReduxAnd>;
  case WarpOp::ReduxOr: return redux<WarpOp::ReduxOr>;
  case WarpOp::ReduxXor: return redux<WarpOp::ReduxXor>;
  case WarpOp::Elect: return elect;
  case WarpOp::Activemask: return activemask;
  }
  return nullptr;
}

LEVEL_END
