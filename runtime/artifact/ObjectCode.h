// A relocatable x86-64 ELF object made runnable in this process, without a linker: what kernels kept on disk need to run in a
// fraction of a millisecond.
//
// Objects of the kernel compiler refer to nothing but themselves and a few functions of the C library. Anything else (another
// relocation, an unknown symbol) is an error, and the caller links the object in the ordinary way.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

namespace graphc {

class ObjectCode {
public:
  /// `object` is copied. Damaged bytes give an error, never undefined behaviour while loading.
  static Result<std::shared_ptr<const ObjectCode>> load(std::span<const std::byte> object);
  ~ObjectCode();
  ObjectCode(const ObjectCode &) = delete;
  ObjectCode &operator=(const ObjectCode &) = delete;

  /// A function the object defines; null when it does not.
  void *symbol(const std::string &name) const;

private:
  ObjectCode() = default;
  void *memory_ = nullptr;
  size_t bytes_ = 0;
  std::unordered_map<std::string, void *> symbols_;
};

} // namespace graphc
