#include "runtime/devices/cuda/Nvrtc.h"

#include <dlfcn.h>
#include <filesystem>
#include <link.h>

namespace graphc::cuda {

namespace fs = std::filesystem;
using Program = void *;

struct Nvrtc::Functions {
  int (*version)(int *, int *);
  const char *(*errorString)(int);
  int (*numSupportedArchs)(int *);
  int (*supportedArchs)(int *);
  int (*createProgram)(Program *, const char *, const char *, int, const char *const *, const char *const *);
  int (*destroyProgram)(Program *);
  int (*compileProgram)(Program, int, const char *const *);
  int (*ptxSize)(Program, size_t *);
  int (*ptx)(Program, char *);
  int (*cubinSize)(Program, size_t *);
  int (*cubin)(Program, char *);
  int (*logSize)(Program, size_t *);
  int (*log)(Program, char *);
};

Nvrtc::~Nvrtc() {
  functions_.reset();
  if (handle_)
    dlclose(handle_);
}

std::string Nvrtc::versionText() const { return text(major_, ".", minor_); }

std::vector<std::string> Nvrtc::candidates(std::span<const std::string> toolkitFolders, std::span<const std::string> sitePackages) {
  const char *names[] = {"libnvrtc.so.13", "libnvrtc.so.12"};
  std::vector<std::string> result(std::begin(names), std::end(names));
  auto add = [&](const fs::path &folder) {
    for (const char *name : names) {
      std::error_code ignored;
      if (fs::exists(folder / name, ignored))
        result.push_back((folder / name).string());
    }
  };
  for (const std::string &folder : toolkitFolders)
    for (const char *lib : {"lib64", "lib", "targets/x86_64-linux/lib"})
      add(fs::path(folder) / lib);
  for (const char *lib : {"lib64", "lib"})
    add(fs::path("/usr/local/cuda") / lib);
  // The wheels: nvidia/cu13/lib since 13.0, nvidia/cuda_nvrtc/lib before.
  for (const std::string &folder : sitePackages)
    for (const char *lib : {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"})
      add(fs::path(folder) / lib);
  return result;
}

std::string Nvrtc::remedy() {
  return "install the CUDA Toolkit's NVRTC, or from PyPI nvidia-cuda-nvrtc, nvidia-cuda-cccl and nvidia-cuda-crt";
}

Status Nvrtc::load(const std::string &library) {
  handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_)
    return error(Code::DeviceUnavailable, dlerror());
  functions_ = std::make_unique<Functions>();
  std::string missing;
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle_, name));
    if (!function && missing.empty())
      missing = name;
  };
  find(functions_->version, "nvrtcVersion");
  find(functions_->errorString, "nvrtcGetErrorString");
  find(functions_->numSupportedArchs, "nvrtcGetNumSupportedArchs");
  find(functions_->supportedArchs, "nvrtcGetSupportedArchs");
  find(functions_->createProgram, "nvrtcCreateProgram");
  find(functions_->destroyProgram, "nvrtcDestroyProgram");
  find(functions_->compileProgram, "nvrtcCompileProgram");
  find(functions_->ptxSize, "nvrtcGetPTXSize");
  find(functions_->ptx, "nvrtcGetPTX");
  find(functions_->cubinSize, "nvrtcGetCUBINSize");
  find(functions_->cubin, "nvrtcGetCUBIN");
  find(functions_->logSize, "nvrtcGetProgramLogSize");
  find(functions_->log, "nvrtcGetProgramLog");
  if (!missing.empty())
    return error(Code::DeviceUnavailable, library, " lacks ", missing);
  if (int code = functions_->version(&major_, &minor_))
    return error(Code::DeviceUnavailable, "nvrtcVersion failed: ", functions_->errorString(code), " (", code, ")");
  if (major_ < kMinimumMajor || major_ > kMaximumMajor)
    return error(Code::DeviceUnavailable, library, " is NVRTC ", versionText(), "; graphc knows ", kMinimumMajor, " and ",
                 kMaximumMajor);
  int count = 0;
  if (functions_->numSupportedArchs(&count) == 0 && count > 0) {
    architectures_.resize(static_cast<size_t>(count));
    if (functions_->supportedArchs(architectures_.data()))
      architectures_.clear();
  }
  library_ = library;
  // The loader knows where a library given by name was found.
  struct link_map *map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name)
    library_ = map->l_name;
  std::error_code ignored;
  fs::path folder = fs::canonical(library_, ignored).parent_path();
  for (const fs::path &include : {folder.parent_path() / "include", folder.parent_path().parent_path().parent_path() / "include",
                                  fs::path("/usr/local/cuda/include")})
    if (includeFolder_.empty() && fs::exists(include / "cuda_fp16.h", ignored))
      includeFolder_ = include.string();
  return {};
}

Result<std::shared_ptr<const Nvrtc>> Nvrtc::open(std::span<const std::string> libraries) {
  std::vector<std::string> reasons;
  for (const std::string &library : libraries) {
    std::shared_ptr<Nvrtc> nvrtc(new Nvrtc);
    Status status = nvrtc->load(library);
    if (status.ok())
      return std::shared_ptr<const Nvrtc>(std::move(nvrtc));
    reasons.push_back(status.message());
  }
  return error(Code::DeviceUnavailable, "NVRTC, the compiler of CUDA kernels, cannot be opened (", joined(reasons, "; "),
               "); ", remedy());
}

Result<Nvrtc::Compiled> Nvrtc::compile(const std::string &source, const std::string &name, std::span<const std::string> options) const {
  const Functions &f = *functions_;
  auto failed = [&](const char *call, int code, const std::string &log = {}) {
    return error(Code::CompileFailed, name, ": ", call, " failed: ", f.errorString(code), " (", code, ")", log.empty() ? "" : "\n", log);
  };
  struct Owned {
    const Functions &f;
    Program program = nullptr;
    ~Owned() {
      if (program)
        f.destroyProgram(&program);
    }
  } owned{f};
  if (int code = f.createProgram(&owned.program, source.c_str(), name.c_str(), 0, nullptr, nullptr))
    return failed("nvrtcCreateProgram", code);
  std::vector<const char *> flags;
  for (const std::string &option : options)
    flags.push_back(option.c_str());
  int compiled = f.compileProgram(owned.program, static_cast<int>(flags.size()), flags.data());
  Compiled result;
  size_t size = 0;
  if (f.logSize(owned.program, &size) == 0 && size > 1) {
    result.log.resize(size);
    f.log(owned.program, result.log.data());
    result.log.resize(size - 1);
  }
  if (compiled)
    return failed("nvrtcCompileProgram", compiled, result.log);
  if (int code = f.ptxSize(owned.program, &size))
    return failed("nvrtcGetPTXSize", code);
  result.ptx.resize(size);
  if (int code = f.ptx(owned.program, result.ptx.data()))
    return failed("nvrtcGetPTX", code);
  while (!result.ptx.empty() && result.ptx.back() == '\0')
    result.ptx.pop_back();
  if (int code = f.cubinSize(owned.program, &size))
    return failed("nvrtcGetCUBINSize", code);
  result.cubin.resize(size);
  if (size)
    if (int code = f.cubin(owned.program, reinterpret_cast<char *>(result.cubin.data())))
      return failed("nvrtcGetCUBIN", code);
  return result;
}

} // namespace graphc::cuda
