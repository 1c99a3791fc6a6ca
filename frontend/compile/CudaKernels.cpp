#include "frontend/compile/CudaKernels.h"

#include "runtime/cache/CompileCache.h"
#include "runtime/devices/cuda/Nvrtc.h"

#include <mutex>

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen::cuda;

namespace {
constexpr const char *kKind = "cuda";

/// PTX with its closing zero byte, or a cubin.
Result<std::vector<std::byte>> compileText(const cuda::Nvrtc &nvrtc, const std::string &source, const std::string &name, const std::string &architecture,
                                           std::string *log) {
  std::vector<std::string> options = nvrtcOptions();
  options.push_back("--gpu-architecture=" + architecture);
  if (log)
    options.push_back(resourceOption());
  GRAPHC_ASSIGN_OR_RETURN(cuda::Nvrtc::Compiled compiled, nvrtc.compile(source, name, options));
  if (log)
    *log = compiled.log;
  if (!architecture.starts_with("compute_"))
    return std::move(compiled.cubin);
  auto bytes = std::as_bytes(std::span(compiled.ptx.c_str(), compiled.ptx.size() + 1));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}
} // namespace

Result<DeviceCode> graphc::compileCudaKernels(ModuleOp module, const CudaBuild &build) {
  // Opened when the first text must be compiled: with a warm cache it is not needed but for its version.
  auto nvrtc = cuda::Nvrtc::open(build.nvrtc.empty() ? cuda::Nvrtc::candidates({}) : build.nvrtc);
  if (!nvrtc.ok())
    return nvrtc.status();
  std::optional<CompileCache> cache;
  if (!build.cacheDir.empty()) {
    auto opened = CompileCache::open({build.cacheDir});
    if (opened.ok())
      cache = *std::move(opened);
    else if (build.warn)
      build.warn(Code::CacheUnusable, "the compile cache is not used: " + opened.status().message());
  }
  std::mutex mutex; // of cache and resources
  bool warned = false, warnedDamaged = false;
  ModuleOptions options;
  options.architectures = build.architectures;
  options.threads = build.threads;
  options.compile = [&](const std::string &source, const std::string &name, const std::string &architecture) -> Result<std::vector<std::byte>> {
    if (build.resources) {
      std::string log;
      auto compiled = compileText(**nvrtc, source, name, architecture, &log);
      std::lock_guard lock(mutex);
      for (KernelResources &kernel : parseResources(log))
        build.resources->push_back(std::move(kernel));
      return compiled;
    }
    if (!cache)
      return compileText(**nvrtc, source, name, architecture, nullptr);
    CacheKey key;
    key.add(source).add(architecture).add((*nvrtc)->versionText());
    for (const std::string &option : nvrtcOptions())
      key.add(option);
    std::string entry = key.str();
    {
      std::lock_guard lock(mutex);
      if (auto found = cache->find(kKind, entry))
        return *std::move(found);
      if (cache->counters().damaged && !std::exchange(warnedDamaged, true) && build.warn)
        build.warn(Code::ArtifactCorrupt, "a kernel of the compile cache was damaged and is made anew");
    }
    auto compiled = compileText(**nvrtc, source, name, architecture, nullptr);
    if (!compiled.ok())
      return compiled;
    std::lock_guard lock(mutex);
    Status stored = cache->store(kKind, entry, *compiled);
    if (!stored.ok() && !std::exchange(warned, true) && build.warn)
      build.warn(Code::CacheUnusable, "the compile cache keeps nothing new: " + stored.message());
    return compiled;
  };

  // What the printer or NVRTC refuses becomes one error.
  std::string problems;
  ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &d) {
    if (d.getSeverity() != DiagnosticSeverity::Error)
      return failure();
    std::string where;
    if (auto named = d.getLocation()->findInstanceOf<NameLoc>())
      where = named.getName().str() + ": ";
    problems += (problems.empty() ? "" : "\n  ") + where + d.str();
    return success();
  });
  auto code = compileModules(module, options);
  if (failed(code))
    return error(Code::CompileFailed, problems.empty() ? "CUDA code generation failed" : problems);
  return std::move(*code);
}
