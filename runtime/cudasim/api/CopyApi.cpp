// Copies and fills, in all their spellings: each becomes one CopyAction or FillAction.
//
// When a copy returns depends on the host memory in it (notes of the driver API, "API synchronization behavior"):
//   pageable to device   the source is read when the call is made; the data arrives later, in stream order
//   device to pageable   returns when the copy is done, even in its Async form
//   pinned               synchronous forms wait, asynchronous ones read or write the buffer when they run
//   device to device     asynchronous to the host in both forms
#include "runtime/cudasim/api/Actions.h"

#include <cstring>

using namespace graphc::cudasim;

namespace {

enum class Timing : bool { Async, Sync };

std::string describeRange(Driver &driver, uint64_t address, uint64_t bytes) {
  char text[64];
  std::snprintf(text, sizeof text, "%llu bytes at 0x%llx, ", (unsigned long long)bytes, (unsigned long long)address);
  return text + driver.describeAddress(address);
}

/// Finds out what memory the side is, and that the allocation holds all of it.
CUresult resolve(Driver &driver, CopyAction &action, CopyAction::Side &side, bool mustBeDevice) {
  uint64_t extent = side.extent(action.width, action.height, action.depth);
  if (!extent)
    return CUDA_SUCCESS;
  MemoryRecord *record = driver.findMemory(side.base);
  if (!record) {
    if (!mustBeDevice)
      return side.base ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    driver.log.add("invalid-copy",
                   action.name + ": " + describeRange(driver, side.base, extent) + "\n  called from " +
                       captureSite().text() + "\n",
                   true, true);
    return CUDA_ERROR_INVALID_VALUE;
  }
  side.device = record->onDevice();
  side.pinned = !side.device;
  if (side.base - record->base > record->size || extent > record->size - (side.base - record->base)) {
    if (!side.device && record->kind == MemoryRecord::Kind::Registered) {
      side.pinned = false; // runs past the registered part: ordinary memory as a whole
      return CUDA_SUCCESS;
    }
    driver.log.add("out-of-bounds",
                   action.name + " runs past the end of an allocation: " + describeRange(driver, side.base, extent) +
                       "\n  called from " + captureSite().text() + "\n",
                   true, true);
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult copy(Driver &driver, Context *context, std::shared_ptr<CopyAction> action, Stream *stream, Timing timing,
              bool sourceOnDevice, bool destinationOnDevice) {
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (CUresult bad = resolve(driver, *action, action->source, sourceOnDevice))
    return bad;
  if (CUresult bad = resolve(driver, *action, action->destination, destinationOnDevice))
    return bad;
  if (CUresult refusal = driver.refuseLegacyInCapture(*stream))
    return refusal;
  if (timing == Timing::Sync)
    if (CUresult refusal = driver.refuseInCapture())
      return refusal;
  if (!action->bytes())
    return CUDA_SUCCESS;
  if (stream->capture)
    return driver.submit(*stream, action);

  bool fromPageable = !action->source.device && !action->source.pinned;
  bool toPageable = !action->destination.device && !action->destination.pinned;
  if (fromPageable && toPageable) {
    // Host to host: nothing of it can be seen by the device, but it happens in stream order.
    if (CUresult failure = driver.synchronise(*stream))
      return failure;
  } else if (fromPageable) {
    if (timing == Timing::Sync)
      if (CUresult failure = driver.synchronise(*stream))
        return failure;
    action->stage();
  }
  bool waits = toPageable || (timing == Timing::Sync && (action->source.pinned || action->destination.pinned));
  OperationRef queued;
  if (CUresult failure = driver.submit(*stream, std::move(action), &queued))
    return failure;
  return waits ? driver.waitFor(queued, queued->clock, context) : CUDA_SUCCESS;
}

CUresult linear(const char *name, uint64_t destination, uint64_t source, size_t bytes, CUstream handle, Timing timing,
                bool destinationOnDevice, bool sourceOnDevice, Driver &driver, Context *context) {
  auto action = std::make_shared<CopyAction>();
  action->name = name;
  action->source.base = source;
  action->destination.base = destination;
  action->width = bytes;
  action->source.pitch = action->source.slice = action->destination.pitch = action->destination.slice = bytes;
  CUDA_MEMCPY3D &d = action->description;
  d.srcMemoryType = d.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  d.srcDevice = source;
  d.dstDevice = destination;
  d.WidthInBytes = bytes;
  d.Height = d.Depth = 1;
  return copy(driver, context, std::move(action), driver.stream(handle), timing, sourceOnDevice, destinationOnDevice);
}

template <typename Pointer>
uint64_t addressOf(Pointer *pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

} // namespace

namespace graphc::cudasim {

CUresult copyFromDescription(const char *name, const CUDA_MEMCPY3D &d, std::shared_ptr<CopyAction> &result) {
  if (d.srcMemoryType == CU_MEMORYTYPE_ARRAY || d.dstMemoryType == CU_MEMORYTYPE_ARRAY)
    return CUDA_ERROR_NOT_SUPPORTED;
  auto action = std::make_shared<CopyAction>();
  action->name = name;
  action->width = d.WidthInBytes;
  action->height = d.Height;
  action->depth = d.Depth;
  action->description = d;
  auto side = [&](CopyAction::Side &side, CUmemorytype type, const void *host, CUdeviceptr device, size_t x, size_t y,
                  size_t z, size_t pitch, size_t rows) {
    if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED)
      return false;
    uint64_t base = type == CU_MEMORYTYPE_HOST ? reinterpret_cast<uint64_t>(host) : device;
    side.pitch = pitch ? pitch : d.WidthInBytes + x;
    side.slice = side.pitch * (rows ? rows : d.Height + y);
    if ((d.Height > 1 && side.pitch < d.WidthInBytes + x) || (d.Depth > 1 && rows && rows < d.Height + y))
      return false;
    side.base = base + x + y * side.pitch + z * side.slice;
    return base != 0;
  };
  if (!side(action->source, d.srcMemoryType, d.srcHost, d.srcDevice, d.srcXInBytes, d.srcY, d.srcZ, d.srcPitch,
            d.srcHeight) ||
      !side(action->destination, d.dstMemoryType, d.dstHost, d.dstDevice, d.dstXInBytes, d.dstY, d.dstZ, d.dstPitch,
            d.dstHeight))
    return CUDA_ERROR_INVALID_VALUE;
  Driver &driver = Driver::get();
  if (CUresult bad = resolve(driver, *action, action->source, d.srcMemoryType == CU_MEMORYTYPE_DEVICE))
    return bad;
  if (CUresult bad = resolve(driver, *action, action->destination, d.dstMemoryType == CU_MEMORYTYPE_DEVICE))
    return bad;
  result = std::move(action);
  return CUDA_SUCCESS;
}

CUresult fillFrom(const char *name, uint64_t base, uint64_t pitch, uint32_t value, uint32_t elementBytes,
                  uint64_t width, uint64_t height, std::shared_ptr<FillAction> &result) {
  Driver &driver = Driver::get();
  auto action = std::make_shared<FillAction>();
  action->name = name;
  action->base = base;
  action->pitch = pitch ? pitch : width * elementBytes;
  action->value = value;
  action->elementBytes = elementBytes;
  action->width = width;
  action->height = height;
  if (base % elementBytes || (height > 1 && action->pitch < width * elementBytes) ||
      (height > 1 && action->pitch % elementBytes))
    return CUDA_ERROR_INVALID_VALUE;
  if (width && height) {
    MemoryRecord *record = driver.findMemory(base);
    uint64_t extent = (height - 1) * action->pitch + width * elementBytes;
    if (!record || extent > record->size - (base - record->base)) {
      driver.log.add("out-of-bounds",
                     std::string(name) + ": " + describeRange(driver, base, extent) + "\n  called from " +
                         captureSite().text() + "\n",
                     true, true);
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  result = std::move(action);
  return CUDA_SUCCESS;
}

} // namespace graphc::cudasim

namespace {

CUresult copy3D(const char *name, const CUDA_MEMCPY3D *d, CUstream handle, Timing timing, Driver &driver,
                Context *context) {
  if (!d)
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<CopyAction> action;
  if (CUresult bad = copyFromDescription(name, *d, action))
    return bad;
  return copy(driver, context, std::move(action), driver.stream(handle), timing,
              d->srcMemoryType == CU_MEMORYTYPE_DEVICE, d->dstMemoryType == CU_MEMORYTYPE_DEVICE);
}

CUDA_MEMCPY3D widen(const CUDA_MEMCPY2D &d) {
  CUDA_MEMCPY3D result = {};
  result.srcXInBytes = d.srcXInBytes;
  result.srcY = d.srcY;
  result.srcMemoryType = d.srcMemoryType;
  result.srcHost = d.srcHost;
  result.srcDevice = d.srcDevice;
  result.srcArray = d.srcArray;
  result.srcPitch = d.srcPitch;
  result.dstXInBytes = d.dstXInBytes;
  result.dstY = d.dstY;
  result.dstMemoryType = d.dstMemoryType;
  result.dstHost = d.dstHost;
  result.dstDevice = d.dstDevice;
  result.dstArray = d.dstArray;
  result.dstPitch = d.dstPitch;
  result.WidthInBytes = d.WidthInBytes;
  result.Height = d.Height;
  result.Depth = 1;
  return result;
}

CUresult copy2D(const char *name, const CUDA_MEMCPY2D *d, CUstream handle, Timing timing, Driver &driver,
                Context *context) {
  if (!d)
    return CUDA_ERROR_INVALID_VALUE;
  CUDA_MEMCPY3D wide = widen(*d);
  return copy3D(name, &wide, handle, timing, driver, context);
}

CUresult copy3DPeer(const char *name, const CUDA_MEMCPY3D_PEER *d, CUstream handle, Timing timing, Driver &driver,
                    Context *context) {
  if (!d)
    return CUDA_ERROR_INVALID_VALUE;
  CUDA_MEMCPY3D plain = {};
  plain.srcXInBytes = d->srcXInBytes;
  plain.srcY = d->srcY;
  plain.srcZ = d->srcZ;
  plain.srcMemoryType = d->srcMemoryType;
  plain.srcHost = d->srcHost;
  plain.srcDevice = d->srcDevice;
  plain.srcPitch = d->srcPitch;
  plain.srcHeight = d->srcHeight;
  plain.dstXInBytes = d->dstXInBytes;
  plain.dstY = d->dstY;
  plain.dstZ = d->dstZ;
  plain.dstMemoryType = d->dstMemoryType;
  plain.dstHost = d->dstHost;
  plain.dstDevice = d->dstDevice;
  plain.dstPitch = d->dstPitch;
  plain.dstHeight = d->dstHeight;
  plain.WidthInBytes = d->WidthInBytes;
  plain.Height = d->Height;
  plain.Depth = d->Depth;
  return copy3D(name, &plain, handle, timing, driver, context);
}

CUresult fill(const char *name, uint64_t base, uint64_t pitch, uint32_t value, uint32_t elementBytes, uint64_t width,
              uint64_t height, CUstream handle, Timing timing, Driver &driver, Context *context) {
  std::shared_ptr<FillAction> action;
  if (CUresult bad = fillFrom(name, base, pitch, value, elementBytes, width, height, action))
    return bad;
  Stream *stream = driver.stream(handle);
  if (!stream)
    return CUDA_ERROR_INVALID_HANDLE;
  if (CUresult refusal = driver.refuseLegacyInCapture(*stream))
    return refusal;
  if (timing == Timing::Sync)
    if (CUresult refusal = driver.refuseInCapture())
      return refusal;
  if (!width || !height)
    return CUDA_SUCCESS;
  MemoryRecord *record = driver.findMemory(base);
  // Asynchronous to the host in both forms, unless the host could see the result at once.
  bool waits = timing == Timing::Sync && record &&
               (!record->onDevice() || record->kind == MemoryRecord::Kind::Managed);
  OperationRef queued;
  if (CUresult failure = driver.submit(*stream, std::move(action), &queued))
    return failure;
  return waits && queued ? driver.waitFor(queued, queued->clock, context) : CUDA_SUCCESS;
}

} // namespace

extern "C" {

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  CUDASIM_ENTER(Live);
  return linear(__func__, to, from, bytes, nullptr, Timing::Sync, false, false, driver, context);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  CUDASIM_ENTER(Live);
  return linear(__func__, to, from, bytes, stream, Timing::Async, false, false, driver, context);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  CUDASIM_ENTER(Live);
  return linear("cuMemcpyHtoD", to, addressOf(from), bytes, nullptr, Timing::Sync, true, false, driver, context);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  CUDASIM_ENTER(Live);
  return linear("cuMemcpyHtoDAsync", to, addressOf(from), bytes, stream, Timing::Async, true, false, driver, context);
}
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  CUDASIM_ENTER(Live);
  return linear("cuMemcpyDtoH", addressOf(to), from, bytes, nullptr, Timing::Sync, false, true, driver, context);
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  CUDASIM_ENTER(Live);
  return linear("cuMemcpyDtoHAsync", addressOf(to), from, bytes, stream, Timing::Async, false, true, driver, context);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  CUDASIM_ENTER(Live);
  return linear("cuMemcpyDtoD", to, from, bytes, nullptr, Timing::Sync, true, true, driver, context);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  CUDASIM_ENTER(Live);
  return linear("cuMemcpyDtoDAsync", to, from, bytes, stream, Timing::Async, true, true, driver, context);
}
CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext, size_t bytes) {
  CUDASIM_ENTER(Live);
  if (!driver.contexts.find(toContext) || !driver.contexts.find(fromContext))
    return CUDA_ERROR_INVALID_CONTEXT;
  return linear(__func__, to, from, bytes, nullptr, Timing::Sync, true, true, driver, context);
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext, size_t bytes,
                           CUstream stream) {
  CUDASIM_ENTER(Live);
  if (!driver.contexts.find(toContext) || !driver.contexts.find(fromContext))
    return CUDA_ERROR_INVALID_CONTEXT;
  return linear(__func__, to, from, bytes, stream, Timing::Async, true, true, driver, context);
}
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *d) {
  CUDASIM_ENTER(Live);
  return copy2D("cuMemcpy2D", d, nullptr, Timing::Sync, driver, context);
}
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *d) {
  CUDASIM_ENTER(Live);
  return copy2D("cuMemcpy2DUnaligned", d, nullptr, Timing::Sync, driver, context);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *d, CUstream stream) {
  CUDASIM_ENTER(Live);
  return copy2D("cuMemcpy2DAsync", d, stream, Timing::Async, driver, context);
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *d) {
  CUDASIM_ENTER(Live);
  return copy3D("cuMemcpy3D", d, nullptr, Timing::Sync, driver, context);
}
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *d, CUstream stream) {
  CUDASIM_ENTER(Live);
  return copy3D("cuMemcpy3DAsync", d, stream, Timing::Async, driver, context);
}
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *d) {
  CUDASIM_ENTER(Live);
  return copy3DPeer(__func__, d, nullptr, Timing::Sync, driver, context);
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *d, CUstream stream) {
  CUDASIM_ENTER(Live);
  return copy3DPeer(__func__, d, stream, Timing::Async, driver, context);
}
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
                               CUmemcpyAttributes *attributes, size_t *attributeIndices, size_t attributeCount,
                               CUstream stream) {
  CUDASIM_ENTER(Live);
  if (!to || !from || !sizes || !count || !attributes || !attributeIndices || !attributeCount || !stream)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i)
    if (CUresult failure =
            linear("cuMemcpyBatchAsync", to[i], from[i], sizes[i], stream, Timing::Async, false, false, driver, context))
      return failure;
  return CUDA_SUCCESS;
}

CUresult cuMemsetD8_v2(CUdeviceptr at, unsigned char value, size_t count) {
  CUDASIM_ENTER(Live);
  return fill("cuMemsetD8", at, 0, value, 1, count, 1, nullptr, Timing::Sync, driver, context);
}
CUresult cuMemsetD16_v2(CUdeviceptr at, unsigned short value, size_t count) {
  CUDASIM_ENTER(Live);
  return fill("cuMemsetD16", at, 0, value, 2, count, 1, nullptr, Timing::Sync, driver, context);
}
CUresult cuMemsetD32_v2(CUdeviceptr at, unsigned value, size_t count) {
  CUDASIM_ENTER(Live);
  return fill("cuMemsetD32", at, 0, value, 4, count, 1, nullptr, Timing::Sync, driver, context);
}
CUresult cuMemsetD2D8_v2(CUdeviceptr at, size_t pitch, unsigned char value, size_t width, size_t height) {
  CUDASIM_ENTER(Live);
  return fill("cuMemsetD2D8", at, pitch, value, 1, width, height, nullptr, Timing::Sync, driver, context);
}
CUresult cuMemsetD2D16_v2(CUdeviceptr at, size_t pitch, unsigned short value, size_t width, size_t height) {
  CUDASIM_ENTER(Live);
  return fill("cuMemsetD2D16", at, pitch, value, 2, width, height, nullptr, Timing::Sync, driver, context);
}
CUresult cuMemsetD2D32_v2(CUdeviceptr at, size_t pitch, unsigned value, size_t width, size_t height) {
  CUDASIM_ENTER(Live);
  return fill("cuMemsetD2D32", at, pitch, value, 4, width, height, nullptr, Timing::Sync, driver, context);
}
CUresult cuMemsetD8Async(CUdeviceptr at, unsigned char value, size_t count, CUstream stream) {
  CUDASIM_ENTER(Live);
  return fill(__func__, at, 0, value, 1, count, 1, stream, Timing::Async, driver, context);
}
CUresult cuMemsetD16Async(CUdeviceptr at, unsigned short value, size_t count, CUstream stream) {
  CUDASIM_ENTER(Live);
  return fill(__func__, at, 0, value, 2, count, 1, stream, Timing::Async, driver, context);
}
CUresult cuMemsetD32Async(CUdeviceptr at, unsigned value, size_t count, CUstream stream) {
  CUDASIM_ENTER(Live);
  return fill(__func__, at, 0, value, 4, count, 1, stream, Timing::Async, driver, context);
}
CUresult cuMemsetD2D8Async(CUdeviceptr at, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream) {
  CUDASIM_ENTER(Live);
  return fill(__func__, at, pitch, value, 1, width, height, stream, Timing::Async, driver, context);
}
CUresult cuMemsetD2D16Async(CUdeviceptr at, size_t pitch, unsigned short value, size_t width, size_t height,
                            CUstream stream) {
  CUDASIM_ENTER(Live);
  return fill(__func__, at, pitch, value, 2, width, height, stream, Timing::Async, driver, context);
}
CUresult cuMemsetD2D32Async(CUdeviceptr at, size_t pitch, unsigned value, size_t width, size_t height,
                            CUstream stream) {
  CUDASIM_ENTER(Live);
  return fill(__func__, at, pitch, value, 4, width, height, stream, Timing::Async, driver, context);
}

} // extern "C"
