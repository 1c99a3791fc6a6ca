// A file that appears whole or not at all: written under another name in the same folder, forced to the disk, then renamed.
// A crash, a full disk or a kill at any moment leaves what was there before.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <string>

namespace graphc {

class AtomicFile {
public:
  static Result<AtomicFile> create(const std::string &path);
  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&) = delete;
  /// Without commit() nothing remains.
  ~AtomicFile();

  Status write(const void *bytes, size_t count);
  /// The file is on the disk under its name when this returns Ok.
  Status commit();

private:
  AtomicFile(std::string path, std::string temporary, int file)
      : path_(std::move(path)), temporary_(std::move(temporary)), file_(file) {}
  Status failure(int reason) const;

  std::string path_, temporary_;
  int file_ = -1;
};

} // namespace graphc
