// NVRTC, the compiler of CUDA C++, opened at run time: from the CUDA Toolkit or from PyPI's nvidia-cuda-nvrtc.
//
//   GRAPHC_ASSIGN_OR_RETURN(auto nvrtc, Nvrtc::open(Nvrtc::candidates({})));
//   GRAPHC_ASSIGN_OR_RETURN(auto code, nvrtc->compile(source, "add.cu", {"--gpu-architecture=sm_90", "--fmad=false"}));
//
// Needs no header of the CUDA Toolkit. Used by codegen/cuda, `doctor` and tests.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace graphc::cuda {

class Nvrtc {
public:
  /// Versions whose options and output we know: 12.0 up to, excluding, 14.0.
  static constexpr int kMinimumMajor = 12, kMaximumMajor = 13;

  /// Names and paths to try, best first: libnvrtc of the loader's search path, of the given CUDA Toolkit folders
  /// (such as $CUDA_HOME; /usr/local/cuda is always tried), and of the given Python site-packages folders.
  static std::vector<std::string> candidates(std::span<const std::string> toolkitFolders,
                                             std::span<const std::string> sitePackages = {});
  /// The first of `libraries` that opens and has a known version; else an error with every reason and the remedy.
  static Result<std::shared_ptr<const Nvrtc>> open(std::span<const std::string> libraries);
  /// What to install.
  static std::string remedy();
  ~Nvrtc();
  Nvrtc(const Nvrtc &) = delete;
  Nvrtc &operator=(const Nvrtc &) = delete;

  const std::string &library() const { return library_; }
  int major() const { return major_; }
  int minor() const { return minor_; }
  std::string versionText() const;
  /// Compute capabilities it compiles for, times ten: 75, 80, …
  const std::vector<int> &architectures() const { return architectures_; }
  /// The folder with cuda_fp16.h and friends that belongs to this library, empty when there is none.
  const std::string &includeFolder() const { return includeFolder_; }

  struct Compiled {
    std::string ptx;              // a plan stores it with its closing zero byte
    std::vector<std::byte> cubin; // empty for virtual architectures (compute_XX)
    std::string log;              // warnings
  };
  /// Errors carry the compiler's log. Safe from several threads at once.
  Result<Compiled> compile(const std::string &source, const std::string &name, std::span<const std::string> options) const;

  struct Functions;

private:
  Nvrtc() = default;
  Status load(const std::string &library);

  std::string library_, includeFolder_;
  void *handle_ = nullptr;
  std::unique_ptr<Functions> functions_;
  int major_ = 0, minor_ = 0;
  std::vector<int> architectures_;
};

} // namespace graphc::cuda
