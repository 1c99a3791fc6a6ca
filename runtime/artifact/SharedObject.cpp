#include "runtime/artifact/SharedObject.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace graphc {

Result<std::shared_ptr<const SharedObject>> SharedObject::load(std::span<const std::byte> bytes, const std::string &name) {
  int fd = ::memfd_create(name.c_str(), MFD_CLOEXEC);
  if (fd < 0)
    return error(Code::DeviceUnavailable, "no memory file for the kernels '", name, "': ", std::strerror(errno));
  const std::byte *at = bytes.data();
  for (size_t left = bytes.size(); left;) {
    ssize_t done = ::write(fd, at, left);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0) {
      int reason = errno;
      ::close(fd);
      return error(Code::OutOfMemory, "the kernels '", name, "' (", bytes.size(), " bytes) cannot be copied: ", std::strerror(reason));
    }
    at += done;
    left -= static_cast<size_t>(done);
  }
  // The descriptor stays open as long as the library: dlopen recognises libraries by name, and a reused number would give an
  // earlier artifact's code.
  void *handle = ::dlopen(text("/proc/self/fd/", fd).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    std::string reason = ::dlerror();
    ::close(fd);
    return error(Code::ArtifactCorrupt, "the kernels '", name, "' cannot be loaded: ", reason);
  }
  return std::shared_ptr<const SharedObject>(new SharedObject(fd, handle));
}

SharedObject::~SharedObject() {
  ::dlclose(handle_);
  ::close(fd_);
}

void *SharedObject::symbol(const std::string &name) const { return ::dlsym(handle_, name.c_str()); }

} // namespace graphc
