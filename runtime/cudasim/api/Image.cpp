// Fatbinaries: a header, then entries of PTX or machine code, each with its own header. The layout is not documented by
// NVIDIA; it was read off what the toolkit's `fatbinary` writes. PTX may be compressed, as an LZ4 block or a zstd frame
// (the default since CUDA 12.8). LZ4 is decoded here; for zstd the system's libzstd.so.1 is opened when one comes along.
#include "runtime/cudasim/api/Image.h"

#include <cstdint>
#include <cstring>
#include <string_view>

#include <dlfcn.h>

namespace graphc::cudasim {

namespace {

constexpr uint32_t elfMagic = 0x464c457f, fatbinMagic = 0xba55ed50, wrapperMagic = 0x466243b1;
constexpr uint64_t lz4Flag = 0x2000, zstdFlag = 0x8000;
constexpr uint16_t ptxKind = 1;

template <class T>
T fieldAt(const unsigned char *p, size_t offset) {
  T value;
  std::memcpy(&value, p + offset, sizeof value);
  return value;
}

/// An LZ4 block: literals and copies of what is already there.
bool decodeLz4(const unsigned char *in, size_t size, std::string &out, size_t wanted) {
  const unsigned char *end = in + size;
  auto length = [&](size_t nibble) {
    size_t total = nibble;
    if (nibble == 15)
      for (unsigned char more = 255; more == 255 && in < end;)
        total += more = *in++;
    return total;
  };
  while (in < end) {
    unsigned char token = *in++;
    size_t literals = length(token >> 4);
    if (size_t(end - in) < literals || out.size() + literals > wanted)
      return false;
    out.append(reinterpret_cast<const char *>(in), literals);
    in += literals;
    if (in == end)
      break; // the last sequence has no copy
    if (end - in < 2)
      return false;
    size_t back = size_t(in[0]) | size_t(in[1]) << 8;
    in += 2;
    size_t count = length(token & 15) + 4;
    if (back == 0 || back > out.size() || out.size() + count > wanted)
      return false;
    for (size_t from = out.size() - back; count; --count)
      out.push_back(out[from++]);
  }
  return out.size() == wanted;
}

bool decodeZstd(const unsigned char *in, size_t size, std::string &out, size_t wanted, std::string &why) {
  using Decompress = size_t (*)(void *, size_t, const void *, size_t);
  void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
  auto decompress = library ? reinterpret_cast<Decompress>(dlsym(library, "ZSTD_decompress")) : nullptr;
  if (!decompress) {
    why = "the fatbinary's PTX is compressed with zstd and libzstd.so.1 was not found; install it, or compile with "
          "-Xfatbin -compress-mode=speed";
    return false;
  }
  out.resize(wanted);
  return decompress(out.data(), wanted, in, size) == wanted;
}

} // namespace

bool ptxOfImage(const void *image, int capability, std::string &ptx, std::string &why) {
  auto *bytes = static_cast<const unsigned char *>(image);
  uint32_t magic = fieldAt<uint32_t>(bytes, 0);
  if (magic == wrapperMagic) {
    bytes = fieldAt<const unsigned char *>(bytes, 8);
    magic = fieldAt<uint32_t>(bytes, 0);
  }
  if (magic == elfMagic) {
    why = "the image is a cubin (ELF machine code); the simulator runs PTX only: compile with -ptx, or keep PTX in the "
          "fatbinary (-gencode arch=compute_XX,code=compute_XX)";
    return false;
  }
  if (magic != fatbinMagic) {
    ptx = static_cast<const char *>(image);
    return true;
  }
  const unsigned char *at = bytes + fieldAt<uint16_t>(bytes, 6), *end = at + fieldAt<uint64_t>(bytes, 8), *best = nullptr;
  uint32_t bestTarget = 0;
  std::string seen;
  while (end - at >= 64) {
    uint32_t headerSize = fieldAt<uint32_t>(at, 4), target = fieldAt<uint32_t>(at, 28);
    uint64_t size = fieldAt<uint64_t>(at, 8);
    if (headerSize < 64 || headerSize > uint64_t(end - at) || size > uint64_t(end - at) - headerSize)
      break;
    bool isPtx = fieldAt<uint16_t>(at, 0) == ptxKind;
    seen += (seen.empty() ? "" : ", ") + std::string(isPtx ? "PTX for sm_" : "machine code for sm_") + std::to_string(target);
    if (isPtx && int(target) <= capability && target >= bestTarget) {
      best = at;
      bestTarget = target;
    }
    at += headerSize + size;
  }
  if (!best) {
    why = "the fatbinary holds no PTX for a device of compute capability " + std::to_string(capability / 10) + "." +
          std::to_string(capability % 10) + " (it holds " + (seen.empty() ? "nothing" : seen) +
          "); the simulator runs PTX only: add -gencode arch=compute_80,code=compute_80";
    return false;
  }
  const unsigned char *data = best + fieldAt<uint32_t>(best, 4);
  uint64_t flags = fieldAt<uint64_t>(best, 40), size = fieldAt<uint64_t>(best, 8);
  size_t packed = fieldAt<uint32_t>(best, 16), wanted = fieldAt<uint64_t>(best, 56);
  if (!(flags & (lz4Flag | zstdFlag))) {
    ptx.assign(reinterpret_cast<const char *>(data), strnlen(reinterpret_cast<const char *>(data), size));
    return true;
  }
  ptx.clear();
  why = "the fatbinary's compressed PTX is damaged";
  if (packed > size || wanted > (uint64_t(1) << 30))
    return false;
  if (flags & zstdFlag ? !decodeZstd(data, packed, ptx, wanted, why) : !decodeLz4(data, packed, ptx, wanted))
    return false;
  ptx.resize(strnlen(ptx.data(), ptx.size()));
  return true;
}

} // namespace graphc::cudasim
