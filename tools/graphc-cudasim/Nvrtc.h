// CUDA C++ to PTX through NVRTC, opened by name at run time: the tool builds and runs without a toolkit.
#pragma once

#include <string>
#include <vector>

namespace graphc::cudasim::tool {

struct CompiledSource {
  std::string ptx, kernel; ///< `kernel` is the lowered name of the one asked for
  std::string log;         ///< warnings, or the errors of a failed compilation
};

enum class CompileStatus { Ok, SourceError, NoCompiler };

/// `library` may be empty: the usual names are tried. `problem` explains a failure.
CompileStatus compileCuda(const std::string &library, const std::string &path, const std::string &source,
                          const std::string &kernel, const std::string &arch, const std::vector<std::string> &options,
                          CompiledSource &result, std::string &problem);

} // namespace graphc::cudasim::tool
