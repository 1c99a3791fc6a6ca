#include "frontend/tensor/ReadFile.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace graphc {

Result<std::string> readFile(const std::string &path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return error(Code::ModelUnreadable, "cannot open '", path, "': ", std::strerror(errno));
  struct stat info {};
  if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(file);
    return error(Code::ModelUnreadable, "cannot read '", path, "': it is not a regular file");
  }
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t got = ::read(file, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      break;
    done += static_cast<size_t>(got);
  }
  ::close(file);
  if (done != bytes.size())
    return error(Code::ModelUnreadable, "cannot read '", path, "': it ended after ", done, " of ", bytes.size(), " bytes");
  return bytes;
}

Status writeFileAtomically(const std::string &path, std::string_view bytes) {
  std::string temporary = text(path, ".tmp", ::getpid());
  int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0)
    return error(Code::FileSystem, "cannot write '", path, "': ", std::strerror(errno));
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t put = ::write(file, bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      break;
    done += static_cast<size_t>(put);
  }
  int reason = errno;
  bool closed = ::close(file) == 0;
  if (done != bytes.size() || !closed) {
    ::unlink(temporary.c_str());
    return error(Code::FileSystem, "cannot write '", path, "': ", std::strerror(reason));
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    reason = errno;
    ::unlink(temporary.c_str());
    return error(Code::FileSystem, "cannot write '", path, "': ", std::strerror(reason));
  }
  return {};
}

} // namespace graphc
