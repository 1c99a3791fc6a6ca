#include "runtime/artifact/ZipFile.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#if defined(__x86_64__)
#include <emmintrin.h>
#include <wmmintrin.h>
#endif

namespace graphc {

namespace {

constexpr uint64_t kAlign = 64;
constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint16_t kZip64Field = 0x0001, kPaddingField = 0xd935; // the padding id Android's zipalign uses

/// Little-endian records, as the format wants them.
struct Bytes {
  std::vector<uint8_t> data;
  void put(uint64_t value, int count) {
    for (int i = 0; i < count; ++i)
      data.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
  void put(const std::string &text) { data.insert(data.end(), text.begin(), text.end()); }
};

uint64_t get(std::span<const std::byte> file, uint64_t at, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; ++i)
    value |= static_cast<uint64_t>(file[at + i]) << (8 * i);
  return value;
}

std::array<std::array<uint32_t, 256>, 8> makeTables() {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0u);
    tables[0][i] = crc;
  }
  for (uint32_t i = 0; i < 256; ++i)
    for (int t = 1; t < 8; ++t)
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
  return tables;
}

uint32_t crcByTables(const uint8_t *p, size_t n, uint32_t crc) {
  static const auto tables = makeTables();
  for (; n >= 8; n -= 8, p += 8) {
    uint32_t low, high;
    std::memcpy(&low, p, 4);
    std::memcpy(&high, p + 4, 4);
    low ^= crc;
    crc = tables[7][low & 0xff] ^ tables[6][(low >> 8) & 0xff] ^ tables[5][(low >> 16) & 0xff] ^ tables[4][low >> 24] ^
          tables[3][high & 0xff] ^ tables[2][(high >> 8) & 0xff] ^ tables[1][(high >> 16) & 0xff] ^ tables[0][high >> 24];
  }
  for (; n; --n, ++p)
    crc = (crc >> 8) ^ tables[0][(crc ^ *p) & 0xff];
  return crc;
}

#if defined(__x86_64__)
/// x^n mod P for the bit-reflected polynomial, as folding by a carry-less product needs it.
uint64_t powerOfX(int n) {
  uint32_t value = 0x80000000; // x^0
  for (int i = 0; i < n; ++i)
    value = (value >> 1) ^ (value & 1 ? 0xedb88320u : 0u);
  return static_cast<uint64_t>(value) << 1;
}

/// 64 bytes at a time: four 128-bit remainders are moved forward by carry-less products, then joined; the last 16 bytes
/// and the tail go through the tables. Ten times the tables' speed, which hundreds of megabytes of weights notice.
__attribute__((target("pclmul,sse2"))) uint32_t crcByFolding(const uint8_t *p, size_t n, uint32_t crc) {
  if (n < 128)
    return crcByTables(p, n, crc);
  // A 128-bit block moved over d bits: its low half (the earlier bits) times x^(d+64), its high half times x^d; one less
  // for the bit by which a reflected product lies too low, and 32 for the width of the remainder.
  auto pair = [](int bits) { return std::pair(powerOfX(bits + 64 - 32), powerOfX(bits - 32)); };
  static const auto far = pair(512), near = pair(128);
  auto load = [](const uint8_t *from) { return _mm_loadu_si128(reinterpret_cast<const __m128i *>(from)); };
  __m128i a = _mm_xor_si128(load(p), _mm_cvtsi32_si128(static_cast<int>(crc)));
  __m128i b = load(p + 16), c = load(p + 32), d = load(p + 48);
  p += 64;
  n -= 64;
  __m128i k = _mm_set_epi64x(static_cast<int64_t>(far.second), static_cast<int64_t>(far.first));
#define GRAPHC_FOLD(x, next) \
  _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(x, k, 0x00), _mm_clmulepi64_si128(x, k, 0x11)), next)
  for (; n >= 64; n -= 64, p += 64) {
    a = GRAPHC_FOLD(a, load(p));
    b = GRAPHC_FOLD(b, load(p + 16));
    c = GRAPHC_FOLD(c, load(p + 32));
    d = GRAPHC_FOLD(d, load(p + 48));
  }
  k = _mm_set_epi64x(static_cast<int64_t>(near.second), static_cast<int64_t>(near.first));
  b = GRAPHC_FOLD(a, b);
  c = GRAPHC_FOLD(b, c);
  d = GRAPHC_FOLD(c, d);
  for (; n >= 16; n -= 16, p += 16)
    d = GRAPHC_FOLD(d, load(p));
#undef GRAPHC_FOLD
  uint8_t rest[16];
  _mm_storeu_si128(reinterpret_cast<__m128i *>(rest), d);
  return crcByTables(p, n, crcByTables(rest, sizeof rest, 0));
}
#endif

} // namespace

uint32_t crc32(std::span<const std::byte> bytes, uint32_t crc) {
  const auto *p = reinterpret_cast<const uint8_t *>(bytes.data());
#if defined(__x86_64__)
  if (__builtin_cpu_supports("pclmul"))
    return ~crcByFolding(p, bytes.size(), ~crc);
#endif
  return ~crcByTables(p, bytes.size(), ~crc);
}

Result<ZipWriter> ZipWriter::create(const std::string &path) {
  // Of this process alone: two that write the same artifact must not write into each other's.
  static std::atomic<uint64_t> counter{0};
  std::string temporary = text(path, ".", ::getpid(), ".", counter.fetch_add(1), ".tmp");
  int fd = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0)
    return error(Code::FileSystem, "'", path, "' cannot be written: ", std::strerror(errno));
  return ZipWriter(path, std::move(temporary), fd);
}

ZipWriter::ZipWriter(ZipWriter &&other)
    : path_(std::move(other.path_)), temporary_(std::move(other.temporary_)), fd_(other.fd_), at_(other.at_), entries_(std::move(other.entries_)) {
  other.fd_ = -1;
}

ZipWriter::~ZipWriter() {
  if (fd_ >= 0) { // not finished
    ::close(fd_);
    ::unlink(temporary_.c_str());
  }
}

Status ZipWriter::write(const void *data, size_t bytes) {
  const auto *p = static_cast<const char *>(data);
  at_ += bytes;
  while (bytes) {
    ssize_t done = ::write(fd_, p, bytes);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return error(Code::FileSystem, "writing '", path_, "' failed: ", std::strerror(errno));
    p += done;
    bytes -= static_cast<size_t>(done);
  }
  return {};
}

Status ZipWriter::add(const std::string &name, std::span<const std::span<const std::byte>> pieces, bool alignPieces) {
  static const std::byte zeros[kAlign] = {};
  Entry entry{name, 0, 0, at_};
  for (const auto &piece : pieces) {
    uint64_t gap = alignPieces ? (kAlign - entry.bytes % kAlign) % kAlign : 0;
    entry.crc = crc32({zeros, gap}, entry.crc);
    entry.crc = crc32(piece, entry.crc);
    entry.bytes += gap + piece.size();
  }
  // Local header: 30 bytes, name, an extra field of sizes (zip64) and one that pads the data to 64 bytes.
  bool large = entry.bytes >= UINT32_MAX;
  uint64_t before = at_ + 30 + name.size() + (large ? 20 : 0) + 4;
  uint64_t padding = (kAlign - before % kAlign) % kAlign;
  Bytes header;
  header.put(kLocal, 4);
  header.put(large ? 45 : 10, 2); // version needed
  header.put(0, 2);               // flags
  header.put(0, 2);               // stored
  header.put(0, 2);               // time
  header.put(0x21, 2);            // 1980-01-01: the same input gives the same bytes
  header.put(entry.crc, 4);
  header.put(large ? UINT32_MAX : entry.bytes, 4);
  header.put(large ? UINT32_MAX : entry.bytes, 4);
  header.put(name.size(), 2);
  header.put((large ? 20 : 0) + 4 + padding, 2);
  header.put(name);
  if (large) {
    header.put(kZip64Field, 2);
    header.put(16, 2);
    header.put(entry.bytes, 8);
    header.put(entry.bytes, 8);
  }
  header.put(kPaddingField, 2);
  header.put(padding, 2);
  header.data.resize(header.data.size() + padding);
  GRAPHC_RETURN_IF_ERROR(write(header.data.data(), header.data.size()));
  uint64_t written = 0;
  for (const auto &piece : pieces) {
    uint64_t gap = alignPieces ? (kAlign - written % kAlign) % kAlign : 0;
    GRAPHC_RETURN_IF_ERROR(write(zeros, gap));
    GRAPHC_RETURN_IF_ERROR(write(piece.data(), piece.size()));
    written += gap + piece.size();
  }
  entries_.push_back(std::move(entry));
  return {};
}

Status ZipWriter::finish() {
  uint64_t start = at_;
  Bytes central;
  for (const Entry &entry : entries_) {
    bool large = entry.bytes >= UINT32_MAX || entry.headerOffset >= UINT32_MAX;
    central.put(kCentral, 4);
    central.put(large ? 45 : 10, 2);
    central.put(large ? 45 : 10, 2);
    central.put(0, 2);
    central.put(0, 2);
    central.put(0, 2);
    central.put(0x21, 2);
    central.put(entry.crc, 4);
    central.put(large ? UINT32_MAX : entry.bytes, 4);
    central.put(large ? UINT32_MAX : entry.bytes, 4);
    central.put(entry.name.size(), 2);
    central.put(large ? 28 : 0, 2);
    central.put(0, 2); // comment
    central.put(0, 2); // disk
    central.put(0, 2); // internal attributes
    central.put(0, 4); // external attributes
    central.put(large ? UINT32_MAX : entry.headerOffset, 4);
    central.put(entry.name);
    if (large) {
      central.put(kZip64Field, 2);
      central.put(24, 2);
      central.put(entry.bytes, 8);
      central.put(entry.bytes, 8);
      central.put(entry.headerOffset, 8);
    }
  }
  GRAPHC_RETURN_IF_ERROR(write(central.data.data(), central.data.size()));
  uint64_t size = central.data.size();
  bool large = start >= UINT32_MAX || entries_.size() >= UINT16_MAX;
  Bytes end;
  if (large) {
    end.put(kEnd64, 4);
    end.put(44, 8);
    end.put(45, 2);
    end.put(45, 2);
    end.put(0, 4);
    end.put(0, 4);
    end.put(entries_.size(), 8);
    end.put(entries_.size(), 8);
    end.put(size, 8);
    end.put(start, 8);
    end.put(kLocator64, 4);
    end.put(0, 4);
    end.put(start + size, 8);
    end.put(1, 4);
  }
  end.put(kEnd, 4);
  end.put(0, 4);
  end.put(large ? UINT16_MAX : entries_.size(), 2);
  end.put(large ? UINT16_MAX : entries_.size(), 2);
  end.put(size, 4);
  end.put(large ? UINT32_MAX : start, 4);
  end.put(0, 2);
  GRAPHC_RETURN_IF_ERROR(write(end.data.data(), end.data.size()));
  int failed = ::close(fd_);
  fd_ = -1;
  if (failed || std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    int reason = errno;
    ::unlink(temporary_.c_str());
    return error(Code::FileSystem, "'", path_, "' cannot be completed: ", std::strerror(reason));
  }
  return {};
}

Result<std::vector<ZipEntry>> readZip(std::span<const std::byte> file) {
  auto truncated = [&](const char *what) {
    return error(Code::ArtifactTruncated, "the file of ", file.size(), " bytes has ", what, "; it is truncated or no .gcx");
  };
  auto corrupt = [](auto... parts) { return error(Code::ArtifactCorrupt, parts...); };
  // No archive comment is ever written, so the end record is the last thing in the file.
  constexpr uint64_t kEndBytes = 22;
  if (file.size() < kEndBytes || get(file, file.size() - kEndBytes, 4) != kEnd)
    return truncated("no end record");
  uint64_t end = file.size() - kEndBytes;
  uint64_t count = get(file, end + 10, 2), size = get(file, end + 12, 4), start = get(file, end + 16, 4);
  if (start == UINT32_MAX || count == UINT16_MAX) {
    if (end < 20 + 56 || get(file, end - 20, 4) != kLocator64 || get(file, end - 76, 4) != kEnd64)
      return truncated("no zip64 end record");
    count = get(file, end - 76 + 32, 8);
    size = get(file, end - 76 + 40, 8);
    start = get(file, end - 76 + 48, 8);
    end -= 76;
  }
  if (start > end || size != end - start)
    return corrupt("the directory of the artifact is damaged: it claims bytes [", start, ", +", size, ") of ", file.size());
  std::vector<ZipEntry> entries;
  uint64_t at = start;
  for (uint64_t i = 0; i < count; ++i) {
    if (end - at < 46 || get(file, at, 4) != kCentral)
      return corrupt("the directory of the artifact is damaged at entry ", i, " of ", count);
    uint64_t nameBytes = get(file, at + 28, 2), extraBytes = get(file, at + 30, 2), commentBytes = get(file, at + 32, 2);
    if (end - at < 46 + nameBytes + extraBytes + commentBytes)
      return corrupt("the directory of the artifact is damaged at entry ", i, " of ", count);
    ZipEntry entry;
    entry.name.assign(reinterpret_cast<const char *>(file.data() + at + 46), nameBytes);
    entry.crc = static_cast<uint32_t>(get(file, at + 16, 4));
    entry.bytes = get(file, at + 24, 4);
    uint64_t stored = get(file, at + 20, 4), header = get(file, at + 42, 4);
    if (get(file, at + 10, 2) != 0 || stored != entry.bytes)
      return corrupt("entry '", entry.name, "' is compressed; a .gcx stores its entries");
    if (entry.bytes == UINT32_MAX || header == UINT32_MAX) {
      uint64_t extra = at + 46 + nameBytes;
      if (extraBytes < 28 || get(file, extra, 2) != kZip64Field)
        return corrupt("entry '", entry.name, "' lacks its 64-bit sizes");
      entry.bytes = get(file, extra + 4, 8);
      header = get(file, extra + 20, 8);
    }
    if (header > start || start - header < 30 || get(file, header, 4) != kLocal)
      return corrupt("entry '", entry.name, "' has no header at ", header);
    entry.offset = header + 30 + get(file, header + 26, 2) + get(file, header + 28, 2);
    if (entry.offset > start || entry.bytes > start - entry.offset)
      return corrupt("entry '", entry.name, "' leaves the file: bytes [", entry.offset, ", +", entry.bytes, ") of ", start);
    entries.push_back(std::move(entry));
    at += 46 + nameBytes + extraBytes + commentBytes;
  }
  return entries;
}

} // namespace graphc
