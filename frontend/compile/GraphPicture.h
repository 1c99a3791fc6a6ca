// A picture of a phase: Graphviz text, and through the `dot` program SVG or a page one can pan and zoom.
#pragma once

#include "runtime/base/Status.h"

#include <string>

namespace graphc {

/// Graphviz text of the functions of a module of graph ops (any phase up to `fuse`; groups become boxes around their members).
Result<std::string> graphDot(const std::string &moduleText, const std::string &title);

/// Writes the picture; the file's name decides: `.dot`, `.svg` or `.html` (the latter two need Graphviz' `dot` on PATH).
Status writeGraphPicture(const std::string &moduleText, const std::string &title, const std::string &path);

} // namespace graphc
