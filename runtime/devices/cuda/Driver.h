// The CUDA driver as a table of functions, filled from a library that is opened by name or path.
//
//   GRAPHC_ASSIGN_OR_RETURN(std::shared_ptr<const Driver> driver, Driver::open("libcuda.so.1"));
//   GRAPHC_RETURN_IF_ERROR(driver->memAlloc(&address, bytes));   // "cuMemAlloc_v2 failed: CUDA_ERROR_… (2): out of memory"
//
// Nothing links against libcuda. The simulated device's library fills the same table.
#pragma once

#include "runtime/base/Status.h"

#include <cuda.h>

#include <memory>
#include <string>
#include <vector>

namespace graphc::cuda {

class Driver;

/// One driver function. Calling it gives a Status that names call, code and meaning; `raw` gives the code itself.
class DriverEntry {
public:
  const char *name() const { return name_; }

protected:
  DriverEntry(Driver &driver, const char *name, bool optional);
  Status failure(CUresult code) const;
  void *address_ = nullptr;

private:
  friend class Driver;
  Driver &driver_;
  const char *name_;
  bool optional_;
};

template <typename Function>
class DriverCall;

template <typename... Args>
class DriverCall<CUresult(Args...)> : public DriverEntry {
public:
  DriverCall(Driver &driver, const char *name, bool optional = false) : DriverEntry(driver, name, optional) {}
  explicit operator bool() const { return address_ != nullptr; }
  CUresult raw(Args... args) const { return reinterpret_cast<CUresult (*)(Args...)>(address_)(args...); }
  Status operator()(Args... args) const {
    CUresult code = raw(args...);
    return code == CUDA_SUCCESS ? Status() : failure(code);
  }
};

// cuda.h renames functions to their versioned names; the table needs those names as text.
#define GRAPHC_CUDA_TEXT_(name) #name
#define GRAPHC_CUDA_TEXT(name) GRAPHC_CUDA_TEXT_(name)
#define GRAPHC_CUDA_CALL(member, function) DriverCall<decltype(function)> member{*this, GRAPHC_CUDA_TEXT(function)}

class Driver {
  std::vector<DriverEntry *> entries_; // before the entries, which join it
  friend class DriverEntry;

public:
  /// The oldest driver API that has everything the table needs.
  static constexpr int kMinimumVersion = 12030;

  /// Opens the library, checks its version, and initialises it. Not found, too old, no GPU: an error that says which.
  /// `simulatorOptions` (cudasim.h) configure the simulated device before it starts; with another driver they are an error.
  static Result<std::shared_ptr<const Driver>> open(const std::string &library, const std::string &simulatorOptions = {});
  ~Driver();
  Driver(const Driver &) = delete;
  Driver &operator=(const Driver &) = delete;

  const std::string &library() const { return library_; }
  int version() const { return version_; }
  std::string versionText() const;
  int deviceCount() const { return deviceCount_; }

  /// "CUDA_ERROR_INVALID_VALUE (1): invalid argument"
  std::string meaning(CUresult code) const;
  /// A function outside the driver API, such as the simulator's own; null when the library has none of that name.
  void *find(const char *name) const;

  // ---- initialisation, devices, contexts ----
  GRAPHC_CUDA_CALL(init, cuInit);
  GRAPHC_CUDA_CALL(driverGetVersion, cuDriverGetVersion);
  GRAPHC_CUDA_CALL(getErrorName, cuGetErrorName);
  GRAPHC_CUDA_CALL(getErrorString, cuGetErrorString);
  GRAPHC_CUDA_CALL(deviceGetCount, cuDeviceGetCount);
  GRAPHC_CUDA_CALL(deviceGet, cuDeviceGet);
  GRAPHC_CUDA_CALL(deviceGetName, cuDeviceGetName);
  GRAPHC_CUDA_CALL(deviceGetAttribute, cuDeviceGetAttribute);
  GRAPHC_CUDA_CALL(deviceTotalMem, cuDeviceTotalMem);
  GRAPHC_CUDA_CALL(deviceCanAccessPeer, cuDeviceCanAccessPeer);
  GRAPHC_CUDA_CALL(primaryCtxRetain, cuDevicePrimaryCtxRetain);
  GRAPHC_CUDA_CALL(primaryCtxRelease, cuDevicePrimaryCtxRelease);
  GRAPHC_CUDA_CALL(ctxGetCurrent, cuCtxGetCurrent);
  GRAPHC_CUDA_CALL(ctxSetCurrent, cuCtxSetCurrent);
  GRAPHC_CUDA_CALL(ctxEnablePeerAccess, cuCtxEnablePeerAccess);
  using CtxSynchronize = CUresult(); // the header's newest form takes a context; the first form is in every driver
  DriverCall<CtxSynchronize> ctxSynchronize{*this, "cuCtxSynchronize"};

  // ---- memory ----
  GRAPHC_CUDA_CALL(memGetInfo, cuMemGetInfo);
  GRAPHC_CUDA_CALL(memAlloc, cuMemAlloc);
  GRAPHC_CUDA_CALL(memFree, cuMemFree);
  GRAPHC_CUDA_CALL(memHostAlloc, cuMemHostAlloc);
  GRAPHC_CUDA_CALL(memFreeHost, cuMemFreeHost);
  GRAPHC_CUDA_CALL(memcpyHtoDAsync, cuMemcpyHtoDAsync);
  GRAPHC_CUDA_CALL(memcpyDtoHAsync, cuMemcpyDtoHAsync);
  GRAPHC_CUDA_CALL(memcpyDtoDAsync, cuMemcpyDtoDAsync);
  GRAPHC_CUDA_CALL(memcpyPeerAsync, cuMemcpyPeerAsync);
  GRAPHC_CUDA_CALL(memsetD8Async, cuMemsetD8Async);
  GRAPHC_CUDA_CALL(memsetD16Async, cuMemsetD16Async);
  GRAPHC_CUDA_CALL(memsetD32Async, cuMemsetD32Async);

  // ---- streams and events ----
  GRAPHC_CUDA_CALL(streamCreate, cuStreamCreate);
  GRAPHC_CUDA_CALL(streamDestroy, cuStreamDestroy);
  GRAPHC_CUDA_CALL(streamSynchronize, cuStreamSynchronize);
  GRAPHC_CUDA_CALL(streamQuery, cuStreamQuery);
  GRAPHC_CUDA_CALL(streamWaitEvent, cuStreamWaitEvent);
  GRAPHC_CUDA_CALL(eventCreate, cuEventCreate);
  GRAPHC_CUDA_CALL(eventDestroy, cuEventDestroy);
  GRAPHC_CUDA_CALL(eventRecord, cuEventRecord);
  GRAPHC_CUDA_CALL(eventQuery, cuEventQuery);
  GRAPHC_CUDA_CALL(eventSynchronize, cuEventSynchronize);
  using EventElapsedTime = CUresult(float *, CUevent, CUevent);
  DriverCall<EventElapsedTime> eventElapsedTime{*this, "cuEventElapsedTime"};

  // ---- modules and launches ----
  GRAPHC_CUDA_CALL(moduleLoadDataEx, cuModuleLoadDataEx);
  GRAPHC_CUDA_CALL(moduleUnload, cuModuleUnload);
  GRAPHC_CUDA_CALL(moduleGetFunction, cuModuleGetFunction);
  GRAPHC_CUDA_CALL(funcGetAttribute, cuFuncGetAttribute);
  GRAPHC_CUDA_CALL(funcSetAttribute, cuFuncSetAttribute);
  GRAPHC_CUDA_CALL(launchKernel, cuLaunchKernel);

  // ---- graphs ----
  GRAPHC_CUDA_CALL(streamBeginCapture, cuStreamBeginCapture);
  GRAPHC_CUDA_CALL(streamEndCapture, cuStreamEndCapture);
  using StreamGetCaptureInfo = CUresult(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *, const CUgraphNode **,
                                        const CUgraphEdgeData **, size_t *);
  DriverCall<StreamGetCaptureInfo> streamGetCaptureInfo{*this, "cuStreamGetCaptureInfo_v3"};
  GRAPHC_CUDA_CALL(graphInstantiate, cuGraphInstantiateWithFlags);
  GRAPHC_CUDA_CALL(graphLaunch, cuGraphLaunch);
  GRAPHC_CUDA_CALL(graphDestroy, cuGraphDestroy);
  GRAPHC_CUDA_CALL(graphExecDestroy, cuGraphExecDestroy);
  GRAPHC_CUDA_CALL(graphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams);
  GRAPHC_CUDA_CALL(graphExecMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams);
  GRAPHC_CUDA_CALL(graphExecMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams);
  GRAPHC_CUDA_CALL(graphGetNodes, cuGraphGetNodes);

private:
  Driver() = default;

  std::string library_;
  void *handle_ = nullptr;
  int version_ = 0, deviceCount_ = 0;
};

#undef GRAPHC_CUDA_CALL

} // namespace graphc::cuda
