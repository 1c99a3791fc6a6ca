// Which build a piece of code comes from. No MLIR in this header.
#pragma once

#include <string>

namespace graphc {

/// The file that holds the code at `address`: the program or a shared library.
std::string fileOfCode(const void *address);

/// The build id of an ELF file, or its size and date when it has none.
std::string elfIdentity(const std::string &path);

} // namespace graphc
