// A zip that stores its entries uncompressed and 64-byte aligned, so that they can be used where they are mapped.
// `unzip -l` lists it, `unzip -t` finds its checksums right. Libraries can neither align nor tell offsets.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace graphc {

class ZipWriter {
public:
  /// Writes to a file beside `path` until finish() moves it into place.
  static Result<ZipWriter> create(const std::string &path);
  ZipWriter(ZipWriter &&);
  ZipWriter &operator=(ZipWriter &&) = delete;
  ~ZipWriter();

  /// One entry, its bytes given in pieces (each piece begins 64-byte aligned too when `alignPieces`).
  Status add(const std::string &name, std::span<const std::span<const std::byte>> pieces, bool alignPieces = false);
  Status add(const std::string &name, std::span<const std::byte> bytes) { return add(name, std::span(&bytes, 1)); }
  Status finish();

private:
  struct Entry {
    std::string name;
    uint32_t crc;
    uint64_t bytes, headerOffset;
  };
  ZipWriter(std::string path, std::string temporary, int fd) : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}
  Status write(const void *data, size_t bytes);

  std::string path_, temporary_;
  int fd_ = -1;
  uint64_t at_ = 0;
  std::vector<Entry> entries_;
};

struct ZipEntry {
  std::string name;
  uint64_t offset, bytes;
  uint32_t crc;
};

/// The entries of a zip in memory. Every offset is checked; entries must be stored, not compressed.
Result<std::vector<ZipEntry>> readZip(std::span<const std::byte> file);

uint32_t crc32(std::span<const std::byte> bytes, uint32_t crc = 0);

} // namespace graphc
