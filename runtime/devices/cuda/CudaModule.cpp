// Compiled kernels, loaded: the device's own machine code if there is some, else the newest PTX it can run.
#include "runtime/devices/cuda/CudaContext.h"

#include <charconv>

namespace graphc::cuda {

namespace {

class CudaModule final : public DeviceModule {
public:
  CudaModule(std::shared_ptr<const CudaContext> context, std::string name, CUmodule handle)
      : context_(std::move(context)), name_(std::move(name)), handle_(handle) {}
  ~CudaModule() override {
    Current current(*context_);
    // Work in flight may still run it.
    (void)context_->driver->ctxSynchronize.raw();
    (void)context_->driver->moduleUnload.raw(handle_);
  }

  Result<std::unique_ptr<DeviceKernel>> kernel(const std::string &name, int threads, int64_t dynamicShared) const override {
    GRAPHC_WITH_CONTEXT(*context_);
    const Driver &driver = *context_->driver;
    CUfunction function = nullptr;
    if (CUresult code = driver.moduleGetFunction.raw(&function, handle_, name.c_str()); code != CUDA_SUCCESS)
      return error(Code::KernelMissing, "module '", name_, "' has no kernel '", name, "': ", driver.moduleGetFunction.name(), " failed: ",
                   driver.meaning(code));
    int most = 0;
    GRAPHC_RETURN_IF_ERROR(driver.funcGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    if (threads > most)
      return error(Code::KernelMissing, "kernel '", name, "' is to run with ", threads, " threads a block, but ", context_->deviceName,
                   " can run it with at most ", most);
    if (dynamicShared > 48 * 1024)
      if (Status status = driver.funcSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(dynamicShared));
          !status.ok())
        return error(Code::KernelMissing, "kernel '", name, "' needs ", dynamicShared, " bytes of dynamic shared memory: ", status.message());
    return std::unique_ptr<DeviceKernel>(std::make_unique<CudaKernel>(context_, handle_, function));
  }

private:
  std::shared_ptr<const CudaContext> context_;
  std::string name_;
  CUmodule handle_;
};

/// "sm_90a": 90 and 'a'.
bool parseArch(std::string_view arch, int &capability, bool &exact) {
  size_t underscore = arch.find('_');
  if (underscore == std::string_view::npos)
    return false;
  std::string_view digits = arch.substr(underscore + 1);
  auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), capability);
  exact = end != digits.data() + digits.size() && *end == 'a';
  return problem == std::errc();
}

} // namespace

Result<std::shared_ptr<const DeviceModule>> loadCudaModule(std::shared_ptr<const CudaContext> context, const plan::CudaModuleT &module) {
  const plan::CudaImageT *best = nullptr;
  int bestRank = -1;
  std::vector<std::string> offered;
  for (const auto &image : module.images) {
    offered.push_back(image->arch);
    int capability = 0;
    bool exact = false;
    if (!parseArch(image->arch, capability, exact) || capability > context->capability || (exact && capability != context->capability))
      continue;
    bool cubin = image->kind == plan::ImageKind::CUBIN;
    if (cubin && (context->simulated || capability / 10 != context->capability / 10))
      continue;
    int rank = capability + (cubin ? 1000 : 0);
    if (rank > bestRank) {
      bestRank = rank;
      best = image.get();
    }
  }
  if (!best)
    return error(Code::ArtifactTarget, "module '", module.name, "' was compiled for ", joined(offered), "; none of these runs on ",
                 context->deviceName, ", which is sm_", context->capability, context->simulated ? " and takes PTX only" : "",
                 "; compile it again with that target");
  GRAPHC_WITH_CONTEXT(*context);
  char log[4096] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  CUmodule handle = nullptr;
  if (CUresult code = context->driver->moduleLoadDataEx.raw(&handle, best->bytes.data(), 2, options, values); code != CUDA_SUCCESS)
    return error(code == CUDA_ERROR_OUT_OF_MEMORY ? Code::OutOfMemory : Code::ArtifactTarget, "module '", module.name, "' (", best->arch,
                 ") cannot be loaded on ", context->deviceName, ": ", context->driver->moduleLoadDataEx.name(), " failed: ",
                 context->driver->meaning(code), *log ? "\n" : "", log);
  return std::shared_ptr<const DeviceModule>(std::make_shared<CudaModule>(std::move(context), module.name, handle));
}

} // namespace graphc::cuda
