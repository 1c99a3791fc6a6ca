// Kernel launches.
#include "runtime/cudasim/api/Actions.h"

using namespace graphc::cudasim;

namespace {

CUresult launchOn(Driver &driver, Context *context, CUfunction function, Dim3 grid, Dim3 block, unsigned sharedBytes,
                  CUstream handle, void **params, void **extra, bool cooperative) {
  Stream *stream = driver.stream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (stream->context != context && stream->context->device != context->device)
    return CUDA_ERROR_INVALID_HANDLE;
  if (CUresult refusal = driver.refuseLegacyInCapture(*stream))
    return refusal;
  std::shared_ptr<KernelAction> action;
  if (CUresult bad = makeKernelAction(function, grid, block, sharedBytes, params, extra, cooperative, stream->context,
                                      action))
    return bad;
  return driver.submit(*stream, std::move(action));
}

} // namespace

extern "C" {

CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                        unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream, void **params,
                        void **extra) {
  CUDASIM_ENTER(Live);
  return launchOn(driver, context, function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, stream,
                  params, extra, false);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                                   unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream,
                                   void **params) {
  CUDASIM_ENTER(Live);
  return launchOn(driver, context, function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes, stream,
                  params, nullptr, true);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params, void **extra) {
  CUDASIM_ENTER(Live);
  if (!config || (config->numAttrs && !config->attrs))
    return CUDA_ERROR_INVALID_VALUE;
  bool cooperative = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute &attribute = config->attrs[i];
    switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      cooperative = attribute.value.cooperative != 0;
      break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      if (attribute.value.clusterDim.x * attribute.value.clusterDim.y * attribute.value.clusterDim.z > 1)
        return CUDA_ERROR_NOT_SUPPORTED;
      break;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      // Allowed to overlap, not obliged to: full stream order is a legal schedule.
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      break;
    default:
      driver.note("unsupported-launch", "cuLaunchKernelEx: launch attribute " + std::to_string(int(attribute.id)) +
                                            " is not supported by the simulated device\n");
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return launchOn(driver, context, function, {config->gridDimX, config->gridDimY, config->gridDimZ},
                  {config->blockDimX, config->blockDimY, config->blockDimZ}, config->sharedMemBytes, config->hStream,
                  params, extra, cooperative);
}

// The launch calls of CUDA 3, still declared: shape and parameters were set on the function beforehand. They are
// answered as not supported by the generated stubs.

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data) {
  CUDASIM_ENTER(Live);
  Stream *stream = driver.stream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!function)
    return CUDA_ERROR_INVALID_VALUE;
  auto action = std::make_shared<HostAction>();
  action->function = function;
  action->data = data;
  return driver.submit(*stream, std::move(action));
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void *data, unsigned flags) {
  CUDASIM_ENTER(Live);
  Stream *stream = driver.stream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!callback || flags)
    return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture) {
    driver.invalidate(*stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  auto action = std::make_shared<HostAction>();
  action->callback = callback;
  action->stream = handle;
  action->data = data;
  return driver.submit(*stream, std::move(action));
}

} // extern "C"
