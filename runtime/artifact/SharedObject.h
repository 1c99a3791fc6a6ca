// A shared object loaded from bytes in memory, never from a path.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace graphc {

class SharedObject {
public:
  /// `name` appears in debuggers and in /proc/self/maps.
  static Result<std::shared_ptr<const SharedObject>> load(std::span<const std::byte> bytes, const std::string &name);
  ~SharedObject();
  SharedObject(const SharedObject &) = delete;
  SharedObject &operator=(const SharedObject &) = delete;

  /// Null when there is no such symbol.
  void *symbol(const std::string &name) const;

private:
  SharedObject(int fd, void *handle) : fd_(fd), handle_(handle) {}
  int fd_;
  void *handle_;
};

} // namespace graphc
