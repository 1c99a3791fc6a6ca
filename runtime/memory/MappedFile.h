// A file's bytes, mapped read-only: weights are paged in when first read and cost no copy.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace graphc {

class MappedFile {
public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Lets go of the pages of these bytes: they come back from the file when read again, and until then are no memory of
  /// this process.
  void release(std::span<const std::byte> bytes) const;
  const std::string &path() const { return path_; }

private:
  MappedFile(std::string path, const std::byte *data, size_t size) : path_(std::move(path)), data_(data), size_(size) {}

  std::string path_;
  const std::byte *data_;
  size_t size_;
};

} // namespace graphc
