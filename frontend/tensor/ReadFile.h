// A whole file as bytes.
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <string_view>

namespace graphc {

Result<std::string> readFile(const std::string &path);
/// Writes beside `path` and renames, so that a reader never sees half a file.
Status writeFileAtomically(const std::string &path, std::string_view bytes);

} // namespace graphc
