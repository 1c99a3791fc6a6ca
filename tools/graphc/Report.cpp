#include "tools/graphc/Report.h"

#include <iostream>

namespace graphc::tool {

ExitCode exitCodeOf(Code code) {
  if (code == Code::InvalidOption)
    return kExitCommandLine;
  switch (static_cast<int>(code) / 1000) {
  case 0: return kExitOk;
  case 1:          // the model
  case 2:          // its inputs
  case 3:          // an artifact or a weight file
    return kExitModel;
  case 4: return kExitDevice;
  default: return kExitInternal;
  }
}

int report(const Status &status) {
  std::cout.flush();
  std::cerr << "graphc: error " << codeName(status.code()) << ": " << status.message() << "\n";
  return exitCodeOf(status.code());
}

int reportMismatch(std::string_view message) {
  std::cout.flush();
  std::cerr << "graphc: error " << kMismatchCode << ": " << message << "\n";
  return kExitMismatch;
}

} // namespace graphc::tool
