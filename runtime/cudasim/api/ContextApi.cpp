// Contexts: primary and created ones, the thread's stack of them, limits and peers.
#include "runtime/cudasim/api/Driver.h"

using namespace graphc::cudasim;

namespace {

CUcontext handleOf(Context *context) { return reinterpret_cast<CUcontext>(context); }

constexpr unsigned contextFlags = CU_CTX_SCHED_MASK | CU_CTX_MAP_HOST | CU_CTX_LMEM_RESIZE_TO_MAX |
                                  CU_CTX_COREDUMP_ENABLE | CU_CTX_USER_COREDUMP_ENABLE | CU_CTX_SYNC_MEMOPS;

constexpr size_t mostStack = 512 << 10; ///< local memory of one thread

} // namespace

size_t Context::limit(int which) const {
  auto it = limits.find(which);
  if (it != limits.end())
    return it->second;
  switch (which) {
  case CU_LIMIT_STACK_SIZE:
    return Driver::get().options.stackBytes;
  case CU_LIMIT_PRINTF_FIFO_SIZE:
    return 1 << 20;
  case CU_LIMIT_MALLOC_HEAP_SIZE:
    return 8 << 20;
  case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
    return 64;
  default:
    return 0;
  }
}

extern "C" {

CUresult cuDevicePrimaryCtxRetain(CUcontext *result, CUdevice ordinal) {
  CUDASIM_ENTER(Init);
  Device *device = driver.device(ordinal);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!result)
    return CUDA_ERROR_INVALID_VALUE;
  if (!device->primary)
    device->primary = driver.createContext(*device, device->primaryFlags, true);
  ++device->primaryCount;
  *result = handleOf(device->primary);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal) {
  CUDASIM_ENTER(Init);
  Device *device = driver.device(ordinal);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!device->primary || !device->primaryCount)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (--device->primaryCount == 0)
    driver.destroyContext(device->primary);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice ordinal) { return cuDevicePrimaryCtxRelease_v2(ordinal); }

CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal) {
  CUDASIM_ENTER(Init);
  Device *device = driver.device(ordinal);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  if (device->primary)
    driver.destroyContext(device->primary, /*renew=*/true);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset(CUdevice ordinal) { return cuDevicePrimaryCtxReset_v2(ordinal); }

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags) {
  CUDASIM_ENTER(Init);
  Device *device = driver.device(ordinal);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  if (flags & ~contextFlags)
    return CUDA_ERROR_INVALID_VALUE;
  device->primaryFlags = flags;
  if (device->primary)
    device->primary->flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice ordinal, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(ordinal, flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned *flags, int *active) {
  CUDASIM_ENTER(Init);
  Device *device = driver.device(ordinal);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!flags || !active)
    return CUDA_ERROR_INVALID_VALUE;
  *flags = device->primaryFlags;
  *active = device->primary != nullptr;
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v4(CUcontext *result, CUctxCreateParams *params, unsigned flags, CUdevice ordinal) {
  CUDASIM_ENTER(Init);
  Device *device = driver.device(ordinal);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!result || (flags & ~contextFlags))
    return CUDA_ERROR_INVALID_VALUE;
  if (params && (params->numExecAffinityParams || params->cigParams))
    return CUDA_ERROR_NOT_SUPPORTED;
  Context *created = driver.createContext(*device, flags, false);
  threadState().contexts.push_back(created);
  *result = handleOf(created);
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v3(CUcontext *result, CUexecAffinityParam *params, int count, unsigned flags, CUdevice device) {
  if (params || count)
    return CUDA_ERROR_NOT_SUPPORTED;
  return cuCtxCreate_v4(result, nullptr, flags, device);
}

CUresult cuCtxCreate_v2(CUcontext *result, unsigned flags, CUdevice device) {
  return cuCtxCreate_v4(result, nullptr, flags, device);
}

CUresult cuCtxCreate(CUcontext *result, unsigned flags, CUdevice device) {
  return cuCtxCreate_v4(result, nullptr, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext handle) {
  CUDASIM_ENTER(Init);
  Context *target = driver.contexts.find(handle);
  if (!target)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (target->primary)
    return CUDA_ERROR_INVALID_CONTEXT;
  auto &stack = threadState().contexts;
  if (!stack.empty() && stack.back() == target)
    stack.pop_back();
  driver.destroyContext(target);
  return CUDA_SUCCESS;
}

CUresult cuCtxDestroy(CUcontext handle) { return cuCtxDestroy_v2(handle); }

CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  CUDASIM_ENTER(Init);
  Context *pushed = driver.contexts.find(handle);
  if (!pushed)
    return CUDA_ERROR_INVALID_CONTEXT;
  threadState().contexts.push_back(pushed);
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext handle) { return cuCtxPushCurrent_v2(handle); }

CUresult cuCtxPopCurrent_v2(CUcontext *result) {
  CUDASIM_ENTER(Init);
  auto &stack = threadState().contexts;
  if (stack.empty())
    return CUDA_ERROR_INVALID_CONTEXT;
  if (result)
    *result = handleOf(stack.back());
  stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext *result) { return cuCtxPopCurrent_v2(result); }

CUresult cuCtxSetCurrent(CUcontext handle) {
  CUDASIM_ENTER(Init);
  auto &stack = threadState().contexts;
  Context *next = handle ? driver.contexts.find(handle) : nullptr;
  if (handle && !next)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!stack.empty())
    stack.pop_back();
  if (next)
    stack.push_back(next);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *result) {
  CUDASIM_ENTER(Init);
  if (!result)
    return CUDA_ERROR_INVALID_VALUE;
  auto &stack = threadState().contexts;
  *result = stack.empty() ? nullptr : handleOf(stack.back());
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(CUdevice *ordinal, CUcontext handle) {
  CUDASIM_ENTER(Init);
  Context *target = handle ? driver.contexts.find(handle) : context;
  if (!target)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!ordinal)
    return CUDA_ERROR_INVALID_VALUE;
  *ordinal = target->device->ordinal;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *ordinal) {
  CUDASIM_ENTER(Context);
  if (!ordinal)
    return CUDA_ERROR_INVALID_VALUE;
  *ordinal = context->device->ordinal;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned *flags) {
  CUDASIM_ENTER(Context);
  if (!flags)
    return CUDA_ERROR_INVALID_VALUE;
  *flags = context->flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned flags) {
  CUDASIM_ENTER(Context);
  if (flags & ~contextFlags)
    return CUDA_ERROR_INVALID_VALUE;
  context->flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long *id) {
  CUDASIM_ENTER(Init);
  Context *target = handle ? driver.contexts.find(handle) : context;
  if (!target)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!id)
    return CUDA_ERROR_INVALID_VALUE;
  *id = target->id;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize_v2(CUcontext handle) {
  CUDASIM_ENTER(Init);
  Context *target = handle ? driver.contexts.find(handle) : context;
  if (!target)
    return CUDA_ERROR_INVALID_CONTEXT;
  for (Stream *stream : target->streams)
    if (stream->capture) {
      driver.invalidate(*stream->capture);
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
  return driver.synchronise(*target);
}

CUresult cuCtxSynchronize(void) {
  CUDASIM_ENTER(Context);
  return cuCtxSynchronize_v2(handleOf(context));
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  CUDASIM_ENTER(Live);
  switch (limit) {
  case CU_LIMIT_STACK_SIZE:
    if (value > mostStack)
      return CUDA_ERROR_INVALID_VALUE;
    context->limits[limit] = value;
    return CUDA_SUCCESS;
  case CU_LIMIT_PRINTF_FIFO_SIZE:
  case CU_LIMIT_MALLOC_HEAP_SIZE:
  case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
  case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
    context->limits[limit] = value;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_UNSUPPORTED_LIMIT;
  }
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit) {
  CUDASIM_ENTER(Live);
  if (!value)
    return CUDA_ERROR_INVALID_VALUE;
  if (limit < 0 || limit > CU_LIMIT_PERSISTING_L2_CACHE_SIZE || limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH ||
      limit == CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT)
    return CUDA_ERROR_UNSUPPORTED_LIMIT;
  *value = context->limit(limit);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *config) {
  CUDASIM_ENTER(Live);
  if (!config)
    return CUDA_ERROR_INVALID_VALUE;
  *config = context->cacheConfig;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  CUDASIM_ENTER(Live);
  context->cacheConfig = config;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config) {
  CUDASIM_ENTER(Live);
  if (!config)
    return CUDA_ERROR_INVALID_VALUE;
  *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig) {
  CUDASIM_ENTER(Live);
  return CUDA_SUCCESS; // a hint that current devices ignore
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned *version) {
  CUDASIM_ENTER(Init);
  if (handle ? !driver.contexts.find(handle) : !context)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  *version = 3020;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  CUDASIM_ENTER(Live);
  if (least)
    *least = 0;
  if (greatest)
    *greatest = -5;
  return CUDA_SUCCESS;
}

CUresult cuCtxResetPersistingL2Cache(void) {
  CUDASIM_ENTER(Live);
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned flags) {
  CUDASIM_ENTER(Live);
  Context *peer = driver.contexts.find(handle);
  if (!peer || peer == context)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  if (peer->device == context->device)
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  if (!context->peers.insert(peer).second)
    return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  context->device->memory->enablePeer(*peer->device->memory);
  return CUDA_SUCCESS;
}

CUresult cuCtxDisablePeerAccess(CUcontext handle) {
  CUDASIM_ENTER(Live);
  Context *peer = driver.contexts.find(handle);
  if (!peer)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!context->peers.erase(peer))
    return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  // The engine knows devices, not contexts: keep the path while another context of this device still has it.
  for (Context *other : driver.contexts.all())
    if (other->device == context->device)
      for (Context *theirs : other->peers)
        if (theirs->device == peer->device)
          return CUDA_SUCCESS;
  driver.synchronise(*context);
  context->device->memory->disablePeer(*peer->device->memory);
  return CUDA_SUCCESS;
}

} // extern "C"
