#include "tools/graphc/KernelImages.h"

#include "runtime/base/Text.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace graphc::tool {
namespace {

Result<const plan::CudaImageT *> imageOf(const plan::PlanT &plan, const plan::KernelT &kernel, const char *prefix, const char *what) {
  std::vector<std::string> there;
  if (kernel.module_index >= 0 && static_cast<size_t>(kernel.module_index) < plan.modules.size())
    for (const auto &image : plan.modules[kernel.module_index]->images) {
      if (image->arch.starts_with(prefix))
        return image.get();
      there.push_back(image->arch);
    }
  return error(Code::InvalidOption, "kernel ", kernel.symbol, " has no ", what, " here, only ", there.empty() ? "code for a CPU" : joined(there),
               "; graphc compile MODEL --device cuda --targets ", prefix, "90 -o FILE.gcx makes some");
}
} // namespace

Result<std::string> ptxOf(const plan::PlanT &plan, const plan::KernelT &kernel) {
  GRAPHC_ASSIGN_OR_RETURN(const plan::CudaImageT *image, imageOf(plan, kernel, "compute_", "PTX"));
  std::string_view ptx(reinterpret_cast<const char *>(image->bytes.data()), image->bytes.size());
  size_t entry = ptx.find(".entry " + kernel.symbol + "(");
  if (entry == std::string_view::npos)
    return error(Code::Internal, "the PTX of its module has no entry ", kernel.symbol);
  size_t first = ptx.rfind('\n', entry) + 1, at = ptx.find('{', entry);
  int depth = 0;
  for (; at < ptx.size(); ++at) {
    depth += ptx[at] == '{' ? 1 : ptx[at] == '}' ? -1 : 0;
    if (depth == 0)
      break;
  }
  return std::string(ptx.substr(first, at + 1 - first)) + "\n";
}

Result<std::string> sassOf(const plan::PlanT &plan, const plan::KernelT &kernel) {
  GRAPHC_ASSIGN_OR_RETURN(const plan::CudaImageT *image, imageOf(plan, kernel, "sm_", "machine code"));
  std::string file = (std::filesystem::temp_directory_path() / text("graphc-kernel-", getpid(), ".cubin")).string();
  std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char *>(image->bytes.data()), static_cast<std::streamsize>(image->bytes.size()));
  std::string listing;
  if (FILE *pipe = popen(("nvdisasm -c '" + file + "' 2>/dev/null").c_str(), "r")) {
    char buffer[4096];
    while (size_t count = fread(buffer, 1, sizeof buffer, pipe))
      listing.append(buffer, count);
    pclose(pipe);
  }
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  if (listing.empty())
    return error(Code::DeviceUnavailable, "--sass needs nvdisasm of the CUDA Toolkit on PATH (PyPI's nvidia-cuda-nvdisasm and triton have it too)");
  // One section a kernel.
  std::string section = ".text." + kernel.symbol + ":";
  size_t first = listing.find("\n" + section);
  if (first == std::string::npos)
    return error(Code::Internal, "the machine code of its module has no kernel ", kernel.symbol);
  size_t end = listing.find("\n\t.section", first + 1);
  return listing.substr(first + 1, end == std::string::npos ? end : end - first);
}

} // namespace graphc::tool
