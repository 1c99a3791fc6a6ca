#include "tools/graphc-cudasim/Nvrtc.h"

#include <dlfcn.h>
#include <sys/stat.h>

namespace graphc::cudasim::tool {

namespace {

// The part of nvrtc.h that is used; its ABI has been the same since CUDA 8.
using Program = struct ProgramHandle *;
using Result = int;
struct Functions {
  Result (*version)(int *, int *);
  const char *(*errorString)(Result);
  Result (*create)(Program *, const char *, const char *, int, const char *const *, const char *const *);
  Result (*destroy)(Program *);
  Result (*compile)(Program, int, const char *const *);
  Result (*ptxSize)(Program, size_t *);
  Result (*ptx)(Program, char *);
  Result (*logSize)(Program, size_t *);
  Result (*log)(Program, char *);
  Result (*addName)(Program, const char *);
  Result (*loweredName)(Program, const char *, const char **);
};

template <typename F>
bool load(void *library, F &function, const char *name) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

bool isFolder(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

void *openCompiler(const std::string &given, std::string &problem) {
  std::vector<std::string> names;
  if (!given.empty()) {
    names.push_back(given);
  } else {
    for (const char *name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
      names.push_back(name);
    for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
      if (const char *root = getenv(variable))
        names.push_back(std::string(root) + "/lib64/libnvrtc.so");
    names.push_back("/usr/local/cuda/lib64/libnvrtc.so"); // where a toolkit lies when nobody says otherwise
  }
  for (const std::string &name : names)
    if (void *library = dlopen(name.c_str(), RTLD_NOW))
      return library;
  problem = "NVRTC was not found (" + (given.empty() ? std::string("libnvrtc.so.13, .12, or in CUDA_HOME") : given) +
            "): install a CUDA Toolkit, name its library with --nvrtc, or pass a .ptx file";
  return nullptr;
}

} // namespace

CompileStatus compileCuda(const std::string &libraryName, const std::string &path, const std::string &source,
                          const std::string &kernel, const std::string &arch, const std::vector<std::string> &options,
                          CompiledSource &result, std::string &problem) {
  void *library = openCompiler(libraryName, problem);
  if (!library)
    return CompileStatus::NoCompiler;
  Functions f;
  if (!load(library, f.version, "nvrtcVersion") || !load(library, f.errorString, "nvrtcGetErrorString") ||
      !load(library, f.create, "nvrtcCreateProgram") || !load(library, f.destroy, "nvrtcDestroyProgram") ||
      !load(library, f.compile, "nvrtcCompileProgram") || !load(library, f.ptxSize, "nvrtcGetPTXSize") ||
      !load(library, f.ptx, "nvrtcGetPTX") || !load(library, f.logSize, "nvrtcGetProgramLogSize") ||
      !load(library, f.log, "nvrtcGetProgramLog") || !load(library, f.addName, "nvrtcAddNameExpression") ||
      !load(library, f.loweredName, "nvrtcGetLoweredName")) {
    problem = "the NVRTC library lacks a function: " + std::string(dlerror() ? dlerror() : "");
    return CompileStatus::NoCompiler;
  }
  std::vector<std::string> words = {"--gpu-architecture=" + arch, "-lineinfo"};
  words.insert(words.end(), options.begin(), options.end());
  // The toolkit's own headers lie beside the library.
  Dl_info info = {};
  if (dladdr(reinterpret_cast<void *>(f.version), &info) && info.dli_fname) {
    std::string folder = info.dli_fname;
    char *real = realpath(folder.c_str(), nullptr);
    if (real) {
      folder = real;
      free(real);
    }
    folder = folder.substr(0, folder.rfind('/'));
    for (const char *place : {"/../include", "/../../../include"})
      if (isFolder(folder + place)) {
        words.push_back("-I" + folder + place);
        words.push_back("-I" + folder + place + "/cccl");
        break;
      }
  }
  size_t slash = path.rfind('/');
  words.push_back("-I" + (slash == std::string::npos ? std::string(".") : path.substr(0, slash)));

  Program program = nullptr;
  if (Result failure = f.create(&program, source.c_str(), path.c_str(), 0, nullptr, nullptr)) {
    problem = f.errorString(failure);
    return CompileStatus::NoCompiler;
  }
  if (!kernel.empty())
    f.addName(program, kernel.c_str());
  std::vector<const char *> pointers;
  for (const std::string &word : words)
    pointers.push_back(word.c_str());
  Result status = f.compile(program, int(pointers.size()), pointers.data());
  size_t size = 0;
  if (f.logSize(program, &size) == 0 && size > 1) {
    result.log.resize(size);
    f.log(program, result.log.data());
    result.log.resize(size - 1);
  }
  if (status) {
    problem = path + ": " + f.errorString(status);
    f.destroy(&program);
    return CompileStatus::SourceError;
  }
  f.ptxSize(program, &size);
  result.ptx.resize(size);
  f.ptx(program, result.ptx.data());
  result.ptx.resize(size ? size - 1 : 0);
  const char *lowered = nullptr;
  result.kernel = kernel;
  if (!kernel.empty() && f.loweredName(program, kernel.c_str(), &lowered) == 0 && lowered)
    result.kernel = lowered;
  f.destroy(&program);
  return CompileStatus::Ok;
}

} // namespace graphc::cudasim::tool
