// Start-up, versions, errors, devices and their attributes.
#include "runtime/cudasim/api/Driver.h"
#include "runtime/cudasim/api/Exports.h"

#include <cstring>

using namespace graphc::cudasim;

namespace {

constexpr int driverVersion = 13000;

/// The driver's words for the codes programs print most; others are spelled from their names.
const std::pair<int, const char *> errorTexts[] = {
    {0, "no error"},
    {1, "invalid argument"},
    {2, "out of memory"},
    {3, "initialization error"},
    {4, "driver shutting down"},
    {100, "no CUDA-capable device is detected"},
    {101, "invalid device ordinal"},
    {200, "device kernel image is invalid"},
    {201, "invalid device context"},
    {209, "no kernel image is available for execution on the device"},
    {217, "peer access is not supported between these two devices"},
    {218, "a PTX JIT compilation failed"},
    {222, "the provided PTX was compiled with an unsupported toolchain."},
    {300, "device kernel image is invalid"},
    {301, "file not found"},
    {400, "invalid resource handle"},
    {500, "named symbol not found"},
    {600, "device not ready"},
    {700, "an illegal memory access was encountered"},
    {701, "too many resources requested for launch"},
    {702, "the launch timed out and was terminated"},
    {704, "peer access is already enabled"},
    {705, "peer access has not been enabled"},
    {708, "primary context already active"},
    {709, "context is destroyed"},
    {710, "device-side assert triggered"},
    {712, "part or all of the requested memory range is already mapped"},
    {713, "pointer does not correspond to a registered memory region"},
    {715, "an illegal instruction was encountered"},
    {716, "misaligned address"},
    {719, "unspecified launch failure"},
    {720, "too many blocks in cooperative launch"},
    {800, "operation not permitted"},
    {801, "operation not supported"},
    {900, "operation not permitted when stream is capturing"},
    {901, "operation failed due to a previous error during capture"},
    {902, "operation would result in a merge of separate capture sequences"},
    {903, "capture was not ended in the same stream as it began"},
    {904, "capturing stream has unjoined work"},
    {905, "dependency created on uncaptured work in another stream"},
    {906, "operation would make the legacy stream depend on a capturing blocking stream"},
    {907, "operation not permitted on an event last recorded in a capturing stream"},
    {908, "attempt to terminate a thread-local capture sequence from another thread"},
    {910, "the graph update was not performed because it included changes which violated constraints specific to "
          "instantiated graph update"},
    {999, "unknown error"},
};

const char *spelled(const char *name) {
  // "CUDA_ERROR_TOO_MANY_PEERS" → "too many peers", made once per name and kept.
  static std::map<std::string, std::string> made;
  std::string &text = made[name];
  if (text.empty()) {
    for (const char *c = name + (std::strncmp(name, "CUDA_ERROR_", 11) ? 0 : 11); *c; ++c)
      text += *c == '_' ? ' ' : char(std::tolower(*c));
  }
  return text.c_str();
}

bool attributeOf(const Device &device, const Options &options, CUdevice_attribute attribute, int &value) {
  const DeviceModel &m = device.model;
  switch (int(attribute)) {
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: value = int(m.maxThreadsPerBlock); break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X: value = 1024; break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: value = 1024; break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: value = 64; break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: value = 0x7fffffff; break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y: value = 65535; break;
  case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: value = 65535; break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: value = int(m.sharedPerBlock); break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: value = int(m.sharedPerBlockOptin); break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: value = int(m.sharedPerMultiprocessor); break;
  case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: value = int(m.reservedSharedPerBlock); break;
  case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY: value = int(m.constBytes); break;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE: value = 32; break;
  case CU_DEVICE_ATTRIBUTE_MAX_PITCH: value = 0x7fffffff; break;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: value = int(m.registersPerBlock); break;
  case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: value = int(m.registersPerMultiprocessor); break;
  case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: value = int(m.clockKHz); break;
  case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: value = int(m.memoryClockKHz); break;
  case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: value = int(m.memoryBusBits); break;
  case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: value = int(m.l2Bytes); break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: value = int(m.multiprocessors); break;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: value = int(m.maxThreadsPerMultiprocessor); break;
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: value = int(m.maxBlocksPerMultiprocessor); break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: value = m.major; break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: value = m.minor; break;
  case CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO:
    value = int(m.fp32LanesPerClock / std::max(1.0, m.fp64LanesPerClock));
    break;
  case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT: value = 512; break;
  case CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT: value = 32; break;
  case CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT: value = 512; break;
  case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: value = 3; break;
  case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: value = device.ordinal + 1; break;
  case CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID: value = device.ordinal; break;
  // Yes.
  case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
  case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
  case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
  case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
  case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
  case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
  case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
  case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1:
  case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
  case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
  case CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED:
    value = 1;
    break;
  default:
    // Everything else is a feature we do not have (textures, ECC, IPC, virtual memory, clusters, ...).
    if (attribute < 1 || attribute >= CU_DEVICE_ATTRIBUTE_MAX)
      return false;
    value = 0;
    break;
  }
  (void)options;
  return true;
}

} // namespace

extern "C" {

CUresult cuInit(unsigned int flags) {
  Call call(__func__, __builtin_return_address(0));
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  if (threadState().inCallback)
    return CUDA_ERROR_NOT_PERMITTED;
  return call.driver.initialise();
}

CUresult cuDriverGetVersion(int *version) {
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  *version = driverVersion;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **text) {
  if (!text)
    return CUDA_ERROR_INVALID_VALUE;
  *text = nullptr;
  for (unsigned i = 0; i < errorNameCount; ++i)
    if (errorNames[i].value == int(error)) {
      *text = errorNames[i].name;
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  const char *name = nullptr;
  if (!text)
    return CUDA_ERROR_INVALID_VALUE;
  *text = nullptr;
  if (CUresult unknown = cuGetErrorName(error, &name))
    return unknown;
  for (auto [value, known] : errorTexts)
    if (value == int(error)) {
      *text = known;
      return CUDA_SUCCESS;
    }
  CUDASIM_ENTER(Nothing);
  *text = spelled(name);
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status) {
  if (!symbol || !function || cudaVersion > driverVersion ||
      flags > (CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) ||
      flags == (CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM))
    return CUDA_ERROR_INVALID_VALUE;
  *function = nullptr;
  bool wantsPerThread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  const ExportedFunction *best = nullptr;
  bool exists = false;
  for (unsigned i = 0; i < exportedFunctionCount; ++i) {
    const ExportedFunction &candidate = exportedFunctions[i];
    if (std::strcmp(candidate.base, symbol))
      continue;
    exists = true;
    if (candidate.version > cudaVersion || (candidate.perThread && !wantsPerThread))
      continue;
    // The newest form wins; of a form's two spellings the per-thread one, where asked for.
    bool better = !best || candidate.perThread > best->perThread ||
                  (candidate.perThread == best->perThread && candidate.version > best->version);
    if (better)
      best = &candidate;
  }
  if (best)
    *function = best->address;
  if (status)
    *status = best     ? CU_GET_PROC_ADDRESS_SUCCESS
              : exists ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                       : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return best || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char *symbol, void **function, int cudaVersion, cuuint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, cudaVersion, flags, nullptr);
}

CUresult cuGetExportTable(const void **table, const CUuuid *id) {
  Call call(__func__, __builtin_return_address(0));
  if (table)
    *table = nullptr;
  if (!id || !table)
    return CUDA_ERROR_INVALID_VALUE;
  if (call.driver.log.countUnsupported("cuGetExportTable"))
    call.driver.log.print(
        "graphc-cudasim: a library asked for the driver's private tables (cuGetExportTable). Programs and libraries "
        "built on the CUDA runtime (cudart, cuBLASLt, cuDNN, NCCL) need them and cannot run on the simulated device; "
        "programs that use the driver API and PTX can.\n");
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  CUDASIM_ENTER(Init);
  if (!device)
    return CUDA_ERROR_INVALID_VALUE;
  if (!driver.device(ordinal))
    return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  CUDASIM_ENTER(Init);
  if (!count)
    return CUDA_ERROR_INVALID_VALUE;
  *count = int(driver.devices.size());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice ordinal) {
  CUDASIM_ENTER(Init);
  Device *device = driver.device(ordinal);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!name || length <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(name, size_t(length), "%s", device->model.name.c_str());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice ordinal) {
  CUDASIM_ENTER(Init);
  if (!driver.device(ordinal))
    return CUDA_ERROR_INVALID_DEVICE;
  if (!uuid)
    return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(uuid->bytes, "graphc-cudasim\0", 15);
  uuid->bytes[15] = char(ordinal);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice ordinal) { return cuDeviceGetUuid_v2(uuid, ordinal); }

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice ordinal) {
  CUDASIM_ENTER(Init);
  Device *device = driver.device(ordinal);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!bytes)
    return CUDA_ERROR_INVALID_VALUE;
  *bytes = device->memory->capacity();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice ordinal) {
  CUDASIM_ENTER(Init);
  Device *device = driver.device(ordinal);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!value || !attributeOf(*device, driver.options, attribute, *value))
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice ordinal) {
  CUDASIM_ENTER(Init);
  Device *device = driver.device(ordinal);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!major || !minor)
    return CUDA_ERROR_INVALID_VALUE;
  *major = device->model.major;
  *minor = device->model.minor;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(CUdevprop *properties, CUdevice ordinal) {
  CUDASIM_ENTER(Init);
  Device *device = driver.device(ordinal);
  if (!device)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!properties)
    return CUDA_ERROR_INVALID_VALUE;
  const DeviceModel &m = device->model;
  *properties = {};
  properties->maxThreadsPerBlock = int(m.maxThreadsPerBlock);
  properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
  properties->maxThreadsDim[2] = 64;
  properties->maxGridSize[0] = 0x7fffffff;
  properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
  properties->sharedMemPerBlock = int(m.sharedPerBlock);
  properties->totalConstantMemory = int(m.constBytes);
  properties->SIMDWidth = 32;
  properties->memPitch = 0x7fffffff;
  properties->regsPerBlock = int(m.registersPerBlock);
  properties->clockRate = int(m.clockKHz);
  properties->textureAlign = 512;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *text, int length, CUdevice ordinal) {
  CUDASIM_ENTER(Init);
  if (!driver.device(ordinal))
    return CUDA_ERROR_INVALID_DEVICE;
  if (!text || length < 13)
    return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(text, size_t(length), "0000:%02x:00.0", unsigned(ordinal + 1));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *ordinal, const char *text) {
  CUDASIM_ENTER(Init);
  unsigned domain = 0, bus = 0;
  if (!ordinal || !text || std::sscanf(text, "%x:%x:", &domain, &bus) != 2)
    return CUDA_ERROR_INVALID_VALUE;
  if (!bus || !driver.device(int(bus) - 1))
    return CUDA_ERROR_INVALID_DEVICE;
  *ordinal = int(bus) - 1;
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice from, CUdevice to) {
  CUDASIM_ENTER(Init);
  if (!driver.device(from) || !driver.device(to))
    return CUDA_ERROR_INVALID_DEVICE;
  if (!can)
    return CUDA_ERROR_INVALID_VALUE;
  *can = from != to;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice from, CUdevice to) {
  CUDASIM_ENTER(Init);
  if (!driver.device(from) || !driver.device(to) || from == to)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!value)
    return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
  case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
  case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
    *value = 1;
    return CUDA_SUCCESS;
  default:
    *value = 0;
    return CUDA_SUCCESS;
  }
}

// cudaProfiler.h: there is no profiler to switch; counters=on counts every launch.
__attribute__((visibility("default"))) CUresult cuProfilerStart(void) {
  CUDASIM_ENTER(Context);
  return CUDA_SUCCESS;
}
__attribute__((visibility("default"))) CUresult cuProfilerStop(void) {
  CUDASIM_ENTER(Context);
  return CUDA_SUCCESS;
}

CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget, CUflushGPUDirectRDMAWritesScope) {
  CUDASIM_ENTER(Init);
  return CUDA_SUCCESS;
}

} // extern "C"
