// Kernel objects to one shared object, as a .gcx holds one per CPU level.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <string>
#include <vector>

namespace graphc {

/// Relocatable ELF objects in, the bytes of a shared object out. Runs the linker `ld.lld` (or `ld.lld-22`) once.
Result<std::vector<std::byte>> linkSharedObject(const std::vector<std::string> &objects);

} // namespace graphc
