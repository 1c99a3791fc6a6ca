#include "runtime/memory/MappedFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace graphc {

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string &path) {
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return error(Code::FileSystem, "'", path, "' cannot be opened: ", std::strerror(errno));
  struct stat info;
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return error(Code::FileSystem, "'", path, "' is not a regular file");
  }
  size_t size = static_cast<size_t>(info.st_size);
  void *data = nullptr;
  if (size) {
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      int reason = errno;
      ::close(fd);
      return error(Code::FileSystem, "'", path, "' (", size, " bytes) cannot be mapped: ", std::strerror(reason));
    }
  }
  ::close(fd);
  return std::shared_ptr<const MappedFile>(new MappedFile(path, static_cast<const std::byte *>(data), size));
}

MappedFile::~MappedFile() {
  if (data_)
    ::munmap(const_cast<std::byte *>(data_), size_);
}

void MappedFile::release(std::span<const std::byte> bytes) const {
  auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto begin = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
  auto end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (begin < end)
    ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED); // the mapping is read-only: nothing is lost
}

} // namespace graphc
