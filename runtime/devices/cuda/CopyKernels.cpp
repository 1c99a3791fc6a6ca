#include "runtime/devices/cuda/CopyKernels.h"

#include <cassert>

namespace graphc::cuda {

namespace {

// One thread per element, striding over the grid. Each index is taken apart from the innermost dimension outwards.
//   $N bytes of an element, $R its register type, $L its load and store type, $O "copy" or "fill"
constexpr const char *kEntry = R"(
.visible .entry graphc_$O_$N(.param .align 8 .b8 p[416])
{
  .reg .pred %p<4>;
  .reg .b32 %r<6>;
  .reg .b64 %i, %n, %step, %rest, %d, %size, %quotient, %index, %stride, %to, %from, %dst, %src, %rank, %base, %at;
  .reg .$R %v;
  ld.param.u64 %dst, [p];
  ld.param.u64 %src, [p+8];
  ld.param.u64 %n, [p+16];
  ld.param.u64 %rank, [p+24];
  cvta.to.global.u64 %dst, %dst;
  $A
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  mul.wide.u32 %i, %r1, %r2;
  cvt.u64.u32 %step, %r3;
  add.u64 %i, %i, %step;
  mul.wide.u32 %step, %r4, %r2;
  mov.b64 %base, p;
next:
  setp.ge.s64 %p1, %i, %n;
  @%p1 bra done;
  mov.u64 %rest, %i;
  mov.u64 %to, %dst;
  mov.u64 %from, %src;
  mov.u64 %d, %rank;
dim:
  setp.le.s64 %p2, %d, 0;
  @%p2 bra move;
  sub.s64 %d, %d, 1;
  shl.b64 %at, %d, 3;
  add.u64 %at, %at, %base;
  ld.param.u64 %size, [%at+32];
  div.u64 %quotient, %rest, %size;
  mul.lo.u64 %index, %quotient, %size;
  sub.u64 %index, %rest, %index;
  mov.u64 %rest, %quotient;
  ld.param.u64 %stride, [%at+160];
  mad.lo.s64 %to, %index, %stride, %to;
  ld.param.u64 %stride, [%at+288];
  mad.lo.s64 %from, %index, %stride, %from;
  bra dim;
move:
  $V
  st.global.$L [%to], %v;
  add.u64 %i, %i, %step;
  bra next;
done:
  ret;
}
)";

void replaceAll(std::string &text, const std::string &what, const std::string &with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
}

/// Sizes of 1 dropped, and neighbours merged that lie behind each other on both sides.
PlainCopy merged(int elementBytes, std::span<const int64_t> dims, std::span<const int64_t> dstStrides, std::span<const int64_t> srcStrides) {
  assert(dims.size() <= kCopyMaxRank && "a copy has at most 16 dimensions");
  PlainCopy plain;
  plain.elementBytes = elementBytes;
  CopyParameters &p = plain.parameters;
  p.elements = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    assert(dims[d] > 0 && "empty copies are left out by the caller");
    p.elements *= dims[d];
    if (dims[d] == 1)
      continue;
    if (p.rank > 0 && p.dstStrides[p.rank - 1] == dims[d] * dstStrides[d] && p.srcStrides[p.rank - 1] == dims[d] * srcStrides[d]) {
      p.dims[p.rank - 1] *= dims[d];
      p.dstStrides[p.rank - 1] = dstStrides[d];
      p.srcStrides[p.rank - 1] = srcStrides[d];
      continue;
    }
    p.dims[p.rank] = dims[d];
    p.dstStrides[p.rank] = dstStrides[d];
    p.srcStrides[p.rank] = srcStrides[d];
    ++p.rank;
  }
  plain.dense = p.rank == 0 || (p.rank == 1 && p.dstStrides[0] == 1 && p.srcStrides[0] == 1);
  for (int64_t d = 0; d < p.rank; ++d) {
    p.dstStrides[d] *= elementBytes;
    p.srcStrides[d] *= elementBytes;
  }
  return plain;
}

} // namespace

std::string copyKernelsPtx() {
  static_assert(sizeof(CopyParameters) == 416);
  std::string result = ".version 7.0\n.target sm_80\n.address_size 64\n";
  struct Element {
    const char *bytes, *reg, *load;
  };
  for (Element e : {Element{"1", "b16", "u8"}, {"2", "b16", "u16"}, {"4", "b32", "u32"}, {"8", "b64", "u64"}})
    for (bool copy : {true, false}) {
      std::string entry = kEntry;
      replaceAll(entry, "$O", copy ? "copy" : "fill");
      replaceAll(entry, "$A", copy ? "cvta.to.global.u64 %src, %src;" : "");
      // A fill takes its bits where a copy has its source; the source's strides are 0.
      std::string bits = e.load == std::string("u64") ? "mov.b64 %v, %from;" : std::string("cvt.u") + (e.reg + 1) + ".u64 %v, %from;";
      replaceAll(entry, "$V", copy ? "ld.global.$L %v, [%from];" : bits);
      replaceAll(entry, "$N", e.bytes);
      replaceAll(entry, "$R", e.reg);
      replaceAll(entry, "$L", e.load);
      result += entry;
    }
  return result;
}

PlainCopy plainCopy(const CopyWork &work) {
  PlainCopy plain = merged(work.elementBytes, work.dims, work.dstStrides, work.srcStrides);
  plain.parameters.dst = work.dst;
  plain.parameters.src = work.src;
  return plain;
}

PlainCopy plainFill(const FillWork &work) {
  // For a fill only the destination decides what may be merged: a source of stride 0 agrees with anything.
  PlainCopy plain = merged(work.elementBytes, work.dims, work.strides, work.strides);
  for (int64_t &stride : plain.parameters.srcStrides)
    stride = 0;
  plain.parameters.dst = work.dst;
  plain.parameters.src = work.bits;
  return plain;
}

} // namespace graphc::cuda
