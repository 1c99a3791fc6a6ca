// Stream-ordered allocation. Addresses are never reused, so the reuse policies have nothing to choose; what matters is
// kept: an allocation exists from its place in the stream on, and ends at the free's.
#include "runtime/cudasim/api/Actions.h"

using namespace graphc::cudasim;

namespace {

CUmemoryPool handleOf(Pool *pool) { return reinterpret_cast<CUmemoryPool>(pool); }

CUresult allocateFrom(Driver &driver, Context *context, Pool *pool, CUdeviceptr *result, size_t bytes,
                      CUstream handle) {
  Stream *stream = driver.stream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!result || !bytes)
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult refusal = driver.refuseLegacyInCapture(*stream))
    return refusal;
  uint64_t base = driver.allocateOn(*pool->device, bytes, 512, AllocationKind::Pool);
  if (!base)
    return CUDA_ERROR_OUT_OF_MEMORY;
  MemoryRecord *record = driver.recordAllocation(base, bytes,
                                          stream->capture ? MemoryRecord::Kind::GraphOwned : MemoryRecord::Kind::Pooled,
                                          context, pool->device);
  auto action = std::make_shared<PoolAction>();
  action->base = base;
  action->size = bytes;
  if (!stream->capture) {
    record->pool = pool;
    pool->used += bytes;
    pool->usedHigh = std::max(pool->usedHigh, pool->used);
  }
  *result = base;
  return driver.submit(*stream, std::move(action));
}

} // namespace

extern "C" {

CUresult cuMemAllocAsync(CUdeviceptr *result, size_t bytes, CUstream stream) {
  CUDASIM_ENTER(Live);
  return allocateFrom(driver, context, context->device->currentPool, result, bytes, stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *result, size_t bytes, CUmemoryPool handle, CUstream stream) {
  CUDASIM_ENTER(Live);
  Pool *pool = driver.pools.find(handle);
  if (!pool)
    return CUDA_ERROR_INVALID_VALUE;
  return allocateFrom(driver, context, pool, result, bytes, stream);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  CUDASIM_ENTER(Live);
  Stream *stream = driver.stream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!address)
    return CUDA_SUCCESS;
  if (CUresult refusal = driver.refuseLegacyInCapture(*stream))
    return refusal;
  auto it = driver.memory.find(address);
  if (it == driver.memory.end() || !it->second.onDevice() || it->second.kind == MemoryRecord::Kind::Module) {
    driver.log.add("invalid-free",
                   "cuMemFreeAsync of an address that starts no live allocation: " + driver.describeAddress(address) +
                       "\n  called from " + captureSite().text() + "\n",
                   true, true);
    return CUDA_ERROR_INVALID_VALUE;
  }
  MemoryRecord &record = it->second;
  if (!stream->capture && record.freeQueued) {
    driver.log.add("invalid-free",
                   "cuMemFreeAsync of an allocation whose release is queued already: " +
                       driver.describeAddress(address) + "\n  called from " + captureSite().text() + "\n",
                   true, true);
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto action = std::make_shared<PoolAction>();
  action->release = true;
  action->base = address;
  action->size = record.size;
  // A graph's memory keeps its address from launch to launch.
  action->keep = stream->capture != nullptr || record.kind == MemoryRecord::Kind::GraphOwned;
  if (!action->keep)
    record.freeQueued = true;
  return driver.submit(*stream, std::move(action));
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice ordinal) {
  CUDASIM_ENTER(Init);
  Device *device = driver.device(ordinal);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!pool)
    return CUDA_ERROR_INVALID_VALUE;
  *pool = handleOf(device->defaultPool);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice ordinal) {
  CUDASIM_ENTER(Init);
  Device *device = driver.device(ordinal);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!pool)
    return CUDA_ERROR_INVALID_VALUE;
  *pool = handleOf(device->currentPool);
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool handle) {
  CUDASIM_ENTER(Init);
  Device *device = driver.device(ordinal);
  Pool *pool = driver.pools.find(handle);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!pool || pool->device != device)
    return CUDA_ERROR_INVALID_VALUE;
  device->currentPool = pool;
  return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *result, const CUmemPoolProps *properties) {
  CUDASIM_ENTER(Init);
  if (!result || !properties)
    return CUDA_ERROR_INVALID_VALUE;
  if (properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (properties->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
    return CUDA_ERROR_NOT_SUPPORTED;
  Device *device = driver.device(properties->location.id);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  auto pool = std::make_unique<Pool>();
  pool->device = device;
  *result = handleOf(driver.pools.add(std::move(pool)));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  CUDASIM_ENTER(Init);
  Pool *pool = driver.pools.find(handle);
  if (!pool || pool->isDefault)
    return CUDA_ERROR_INVALID_VALUE;
  for (auto &[base, record] : driver.memory)
    if (record.pool == pool)
      record.pool = nullptr; // lives on until freed, as the driver promises
  if (pool->device->currentPool == pool)
    pool->device->currentPool = pool->device->defaultPool;
  driver.pools.erase(pool);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t) {
  CUDASIM_ENTER(Init);
  return driver.pools.find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value) {
  CUDASIM_ENTER(Init);
  Pool *pool = driver.pools.find(handle);
  if (!pool || !value)
    return CUDA_ERROR_INVALID_VALUE;
  switch (int(attribute)) {
  case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
  case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
  case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
    pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = *static_cast<int *>(value);
    return CUDA_SUCCESS;
  case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
    pool->releaseThreshold = *static_cast<cuuint64_t *>(value);
    return CUDA_SUCCESS;
  case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
  case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
    if (*static_cast<cuuint64_t *>(value))
      return CUDA_ERROR_INVALID_VALUE;
    pool->usedHigh = pool->used;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value) {
  CUDASIM_ENTER(Init);
  Pool *pool = driver.pools.find(handle);
  if (!pool || !value)
    return CUDA_ERROR_INVALID_VALUE;
  switch (int(attribute)) {
  case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
  case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
  case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
    *static_cast<int *>(value) = pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
    return CUDA_SUCCESS;
  case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
    *static_cast<cuuint64_t *>(value) = pool->releaseThreshold;
    return CUDA_SUCCESS;
  case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
  case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
    *static_cast<cuuint64_t *>(value) = pool->used;
    return CUDA_SUCCESS;
  case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
  case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
    *static_cast<cuuint64_t *>(value) = pool->usedHigh;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *descriptions, size_t count) {
  CUDASIM_ENTER(Init);
  Pool *pool = driver.pools.find(handle);
  if (!pool || (count && !descriptions))
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    const CUmemAccessDesc &d = descriptions[i];
    if (d.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
      return CUDA_ERROR_NOT_SUPPORTED;
    Device *device = driver.device(d.location.id);
    if (!device)
      return CUDA_ERROR_INVALID_DEVICE;
    if (device == pool->device) {
      if (d.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
        return CUDA_ERROR_INVALID_DEVICE;
      continue;
    }
    pool->access[device->ordinal] = d.flags;
    // The engine opens a whole device to its peer, not one pool: an access outside this pool goes unnoticed.
    if (d.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE)
      device->memory->enablePeer(*pool->device->memory);
  }
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location) {
  CUDASIM_ENTER(Init);
  Pool *pool = driver.pools.find(handle);
  if (!flags || !pool || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
    return CUDA_ERROR_INVALID_VALUE;
  Device *device = driver.device(location->id);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  auto it = pool->access.find(device->ordinal);
  *flags = device == pool->device   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
           : it == pool->access.end() ? CU_MEM_ACCESS_FLAGS_PROT_NONE
                                      : it->second;
  return CUDA_SUCCESS;
}

} // extern "C"
