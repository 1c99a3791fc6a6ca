// The command line of `graphc-cudasim run`.
#pragma once

#include "tools/graphc-cudasim/Npy.h"

#include <map>
#include <string>
#include <vector>

namespace graphc::cudasim::tool {

/// One kernel argument: a buffer with contents, a scalar's bytes, or a null pointer.
struct Argument {
  enum Kind : uint8_t { Buffer, Scalar, Null } kind = Null;
  Array array; ///< a scalar is an array of one element
  std::string text;
};

struct CommandLine {
  std::string file, kernel;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned sharedBytes = 0;
  bool cooperative = false;
  std::vector<Argument> arguments;
  std::map<size_t, std::string> save;
  std::vector<size_t> print;
  std::string options;       ///< for graphcCudasimConfigure
  std::string arch;          ///< "compute_80"; empty: the device's
  std::string nvrtcLibrary, simulatorLibrary;
  std::vector<std::string> compilerOptions;
  bool counters = true, quiet = false, ptxOnly = false;
};

/// Empty, or what is wrong with the command line.
std::string parseCommandLine(const std::vector<std::string> &words, CommandLine &line);
/// "1024x32xf32=random:7", "i32:5", "null".
std::string parseArgument(const std::string &text, Argument &argument);

extern const char *const helpText;

} // namespace graphc::cudasim::tool
