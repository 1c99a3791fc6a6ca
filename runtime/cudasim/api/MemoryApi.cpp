// Allocation: device, pinned and registered host memory, managed memory, and what is known about a pointer.
#include "runtime/cudasim/api/Driver.h"

#include <cstring>
#include <sys/mman.h>

using namespace graphc::cudasim;

namespace graphc::cudasim {

MemoryRecord *Driver::recordAllocation(uint64_t base, uint64_t size, MemoryRecord::Kind kind, Context *context,
                                       Device *device) {
  MemoryRecord record;
  record.base = base;
  record.size = size;
  record.kind = kind;
  record.context = context;
  record.device = device;
  record.id = nextId++;
  record.site = captureSite();
  return &(memory[base] = record);
}

uint64_t Driver::allocateOn(Device &device, uint64_t size, uint64_t alignment, AllocationKind kind) {
  uint64_t base = device.memory->allocate(size, alignment, kind);
  if (!base && !scheduler.idle()) {
    scheduler.runAll();
    base = device.memory->allocate(size, alignment, kind);
  }
  return base;
}

} // namespace graphc::cudasim

namespace {

CUresult allocateDevice(Driver &driver, Context *context, CUdeviceptr *result, size_t bytes, MemoryRecord::Kind kind) {
  if (!result || !bytes)
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult refusal = driver.refuseInCapture())
    return refusal;
  Device &device = *context->device;
  uint64_t base = driver.allocateOn(device, bytes, 512,
                             kind == MemoryRecord::Kind::Managed ? AllocationKind::Managed : AllocationKind::Device);
  if (!base)
    return CUDA_ERROR_OUT_OF_MEMORY;
  driver.recordAllocation(base, bytes, kind, context, &device);
  *result = base;
  return CUDA_SUCCESS;
}

CUresult allocateHost(Driver &driver, Context *context, void **result, size_t bytes, unsigned flags) {
  if (!result || !bytes)
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult refusal = driver.refuseInCapture())
    return refusal;
  // Whole pages of its own, so that the host watch can protect it.
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  auto base = reinterpret_cast<uint64_t>(memory);
  MemoryRecord *record =
      driver.recordAllocation(base, bytes, MemoryRecord::Kind::Pinned, context, context->device);
  record->flags = flags;
  record->mappedPages = true;
  for (auto &device : driver.devices)
    device->memory->registerHost(memory, bytes, AllocationKind::Pinned);
  driver.hostWatch.addOwned(base, bytes);
  *result = memory;
  return CUDA_SUCCESS;
}

/// Frees wait for all work of the device, as the driver's do.
CUresult release(Driver &driver, Context *context, MemoryRecord *record) {
  if (CUresult refusal = driver.refuseInCapture())
    return refusal;
  uint64_t base = record->base;
  if (record->onDevice()) {
    driver.synchroniseDevice(*record->device);
  } else {
    for (auto &device : driver.devices)
      driver.synchroniseDevice(*device);
  }
  // A queued cuMemFreeAsync of the same range may have run meanwhile.
  auto it = driver.memory.find(base);
  if (it == driver.memory.end())
    return CUDA_ERROR_INVALID_VALUE;
  driver.releaseMemory(it);
  return context->outcome();
}

CUresult invalidFree(Driver &driver, const char *call, uint64_t address) {
  if (MemoryRecord *inside = driver.findMemory(address))
    driver.log.add("invalid-free",
                   std::string(call) + " of an address inside an allocation, or of another kind of memory: " +
                       driver.describeAddress(inside->base) + "\n  called from " + captureSite().text() + "\n",
                   true, true);
  else
    driver.log.add("invalid-free",
                   std::string(call) + " of an address that is not live: " + driver.describeAddress(address) +
                       "\n  called from " + captureSite().text() + "\n",
                   true, true);
  return CUDA_ERROR_INVALID_VALUE;
}

/// False when the attribute does not exist.
bool pointerAttribute(Driver &driver, const MemoryRecord *record, uint64_t address, CUpointer_attribute attribute,
                      void *data) {
  auto put = [&](auto value) { std::memcpy(data, &value, sizeof value); };
  bool onDevice = record && record->onDevice();
  bool managed = record && record->kind == MemoryRecord::Kind::Managed;
  switch (int(attribute)) {
  case CU_POINTER_ATTRIBUTE_CONTEXT:
    put(record ? reinterpret_cast<void *>(record->context) : nullptr);
    return true;
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    put(unsigned(!record ? 0 : onDevice ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST));
    return true;
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    put(record ? address : uint64_t(0));
    return true;
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    put(record && (!onDevice || managed) ? address : uint64_t(0));
    return true;
  case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    put(unsigned(record && record->syncMemops));
    return true;
  case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    put(record ? (unsigned long long)record->id : 0ull);
    return true;
  case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    put(unsigned(managed));
    return true;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    put(int(record && record->device ? record->device->ordinal : -2));
    return true;
  case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
  case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    put(unsigned(0));
    return true;
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    put(record ? record->base : uint64_t(0));
    return true;
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    put(record ? size_t(record->size) : size_t(0));
    return true;
  case CU_POINTER_ATTRIBUTE_MAPPED:
    put(unsigned(record != nullptr));
    return true;
  case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    put((unsigned long long)0);
    return true;
  case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    put(int(record ? 3 : 0));
    return true;
  case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    put(record ? reinterpret_cast<void *>(record->pool) : nullptr);
    return true;
  default:
    (void)driver;
    return false;
  }
}

} // namespace

extern "C" {

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  CUDASIM_ENTER(Live);
  MemorySpace &space = *context->device->memory;
  uint64_t used = std::min(space.used(), space.capacity());
  if (free)
    *free = space.capacity() - used;
  if (total)
    *total = space.capacity();
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *result, size_t bytes) {
  CUDASIM_ENTER(Live);
  return allocateDevice(driver, context, result, bytes, MemoryRecord::Kind::Device);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *result, size_t *pitch, size_t width, size_t height, unsigned elementBytes) {
  CUDASIM_ENTER(Live);
  if (!pitch || !width || !height || (elementBytes != 4 && elementBytes != 8 && elementBytes != 16))
    return CUDA_ERROR_INVALID_VALUE;
  *pitch = (width + 511) / 512 * 512;
  return allocateDevice(driver, context, result, *pitch * height, MemoryRecord::Kind::Device);
}

CUresult cuMemAllocManaged(CUdeviceptr *result, size_t bytes, unsigned flags) {
  CUDASIM_ENTER(Live);
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
    return CUDA_ERROR_INVALID_VALUE;
  return allocateDevice(driver, context, result, bytes, MemoryRecord::Kind::Managed);
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  CUDASIM_ENTER(Context);
  if (!address)
    return CUDA_SUCCESS;
  auto it = driver.memory.find(address);
  if (it == driver.memory.end() || !it->second.onDevice() || it->second.kind == MemoryRecord::Kind::Module)
    return invalidFree(driver, "cuMemFree", address);
  return release(driver, context, &it->second);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address) {
  CUDASIM_ENTER(Live);
  MemoryRecord *record = driver.findMemory(address);
  if (!record)
    return CUDA_ERROR_NOT_FOUND;
  if (base)
    *base = record->base;
  if (size)
    *size = record->size;
  return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **result, size_t bytes, unsigned flags) {
  CUDASIM_ENTER(Live);
  if (flags & ~(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED))
    return CUDA_ERROR_INVALID_VALUE;
  return allocateHost(driver, context, result, bytes, flags);
}

CUresult cuMemAllocHost_v2(void **result, size_t bytes) {
  CUDASIM_ENTER(Live);
  return allocateHost(driver, context, result, bytes, 0);
}

CUresult cuMemFreeHost(void *address) {
  CUDASIM_ENTER(Context);
  if (!address)
    return CUDA_SUCCESS;
  auto it = driver.memory.find(reinterpret_cast<uint64_t>(address));
  if (it == driver.memory.end() || it->second.kind != MemoryRecord::Kind::Pinned)
    return invalidFree(driver, "cuMemFreeHost", reinterpret_cast<uint64_t>(address));
  return release(driver, context, &it->second);
}

CUresult cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags) {
  CUDASIM_ENTER(Live);
  if (!address || !bytes || (flags & ~15u))
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult refusal = driver.refuseInCapture())
    return refusal;
  auto base = reinterpret_cast<uint64_t>(address);
  auto next = driver.memory.lower_bound(base);
  if ((next != driver.memory.end() && next->first < base + bytes) || driver.findMemory(base))
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  MemoryRecord *record =
      driver.recordAllocation(base, bytes, MemoryRecord::Kind::Registered, context, context->device);
  record->flags = flags;
  for (auto &device : driver.devices)
    device->memory->registerHost(address, bytes, AllocationKind::Registered);
  return CUDA_SUCCESS;
}

CUresult cuMemHostRegister(void *address, size_t bytes, unsigned flags) {
  return cuMemHostRegister_v2(address, bytes, flags);
}

CUresult cuMemHostUnregister(void *address) {
  CUDASIM_ENTER(Context);
  auto it = driver.memory.find(reinterpret_cast<uint64_t>(address));
  if (it == driver.memory.end() || it->second.kind != MemoryRecord::Kind::Registered)
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  return release(driver, context, &it->second);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *result, void *address, unsigned flags) {
  CUDASIM_ENTER(Live);
  MemoryRecord *record = driver.findMemory(reinterpret_cast<uint64_t>(address));
  if (!result || flags || !record || record->onDevice())
    return CUDA_ERROR_INVALID_VALUE;
  *result = reinterpret_cast<uint64_t>(address);
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned *flags, void *address) {
  CUDASIM_ENTER(Live);
  MemoryRecord *record = driver.findMemory(reinterpret_cast<uint64_t>(address));
  if (!flags || !record || record->onDevice())
    return CUDA_ERROR_INVALID_VALUE;
  *flags = record->flags;
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address) {
  CUDASIM_ENTER(Context);
  MemoryRecord *record = driver.findMemory(address);
  if (!data || !record)
    return CUDA_ERROR_INVALID_VALUE;
  return pointerAttribute(driver, record, address, attribute, data) ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr address) {
  CUDASIM_ENTER(Context);
  if (!attributes || !data)
    return CUDA_ERROR_INVALID_VALUE;
  MemoryRecord *record = driver.findMemory(address);
  for (unsigned i = 0; i < count; ++i)
    if (!data[i] || !pointerAttribute(driver, record, address, attributes[i], data[i]))
      return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr address) {
  CUDASIM_ENTER(Context);
  MemoryRecord *record = driver.findMemory(address);
  if (!value || !record || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
    return CUDA_ERROR_INVALID_VALUE;
  record->syncMemops = *static_cast<const unsigned *>(value) != 0;
  return CUDA_SUCCESS;
}

// Managed memory lives on the device's side of the simulator and the host reads it in place: advice changes nothing.
CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise, CUmemLocation) {
  CUDASIM_ENTER(Live);
  MemoryRecord *record = driver.findMemory(address);
  return bytes && record && record->kind == MemoryRecord::Kind::Managed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice) {
  return cuMemAdvise_v2(address, bytes, advice, CUmemLocation{});
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation, unsigned flags, CUstream handle) {
  CUDASIM_ENTER(Live);
  MemoryRecord *record = driver.findMemory(address);
  Stream *stream = driver.stream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (!bytes || flags || !record || record->kind != MemoryRecord::Kind::Managed)
    return CUDA_ERROR_INVALID_VALUE;
  return driver.submit(*stream, makeMarker("cuMemPrefetchAsync"));
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice, CUstream stream) {
  return cuMemPrefetchAsync_v2(address, bytes, CUmemLocation{}, 0, stream);
}

CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t, unsigned) {
  CUDASIM_ENTER(Live);
  Stream *stream = driver.stream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  MemoryRecord *record = driver.findMemory(address);
  if (!record || record->kind != MemoryRecord::Kind::Managed)
    return CUDA_ERROR_INVALID_VALUE;
  return driver.submit(*stream, makeMarker("cuStreamAttachMemAsync"));
}

} // extern "C"
