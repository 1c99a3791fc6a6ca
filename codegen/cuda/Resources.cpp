#include "codegen/cuda/Resources.h"

#include <regex>
#include <sstream>

using namespace graphc::codegen::cuda;

std::vector<KernelResources> graphc::codegen::cuda::parseResources(const std::string &log) {
  static const std::regex entry("Compiling entry function '([^']+)' for '([^']+)'"), stack("(\\d+) bytes stack frame"),
      stores("(\\d+) bytes spill stores"), loads("(\\d+) bytes spill loads"), registers("Used (\\d+) registers"), shared("(\\d+) bytes smem");
  std::vector<KernelResources> kernels;
  std::istringstream lines(log);
  std::smatch match;
  auto number = [&](const std::string &line, const std::regex &pattern, int &value) {
    if (std::regex_search(line, match, pattern))
      value = std::stoi(match[1]);
  };
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, match, entry)) {
      KernelResources next;
      next.kernel = match[1];
      next.architecture = match[2];
      kernels.push_back(next);
    }
    if (kernels.empty())
      continue;
    KernelResources &current = kernels.back();
    number(line, stack, current.stackBytes);
    number(line, stores, current.spillStoreBytes);
    number(line, loads, current.spillLoadBytes);
    number(line, registers, current.registers);
    number(line, shared, current.sharedBytes);
  }
  return kernels;
}
