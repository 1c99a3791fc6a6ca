#include "frontend/tensor/AtomicFile.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace graphc {

Result<AtomicFile> AtomicFile::create(const std::string &path) {
  // Two threads that write the same file must not share the temporary one.
  static std::atomic<unsigned> counter{0};
  std::string temporary = text(path, ".tmp", ::getpid(), ".", counter.fetch_add(1));
  int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0)
    return error(Code::FileSystem, "cannot write '", path, "': ", std::strerror(errno));
  return AtomicFile(path, std::move(temporary), file);
}

AtomicFile::AtomicFile(AtomicFile &&other) noexcept
    : path_(std::move(other.path_)), temporary_(std::move(other.temporary_)), file_(std::exchange(other.file_, -1)) {}

AtomicFile::~AtomicFile() {
  if (file_ < 0)
    return;
  ::close(file_);
  ::unlink(temporary_.c_str());
}

Status AtomicFile::failure(int reason) const {
  return error(Code::FileSystem, "cannot write '", path_, "': ", std::strerror(reason));
}

Status AtomicFile::write(const void *bytes, size_t count) {
  const char *from = static_cast<const char *>(bytes);
  while (count > 0) {
    ssize_t put = ::write(file_, from, count);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return failure(errno);
    from += put;
    count -= static_cast<size_t>(put);
  }
  return {};
}

Status AtomicFile::commit() {
  if (::fsync(file_) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0)
    return failure(errno);
  ::close(std::exchange(file_, -1));
  // The new name itself is on the disk only when its folder is.
  std::string folder = std::filesystem::path(path_).parent_path().string();
  int handle = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (handle >= 0) {
    ::fsync(handle);
    ::close(handle);
  }
  return {};
}

} // namespace graphc
