// What queued work does: launches, copies, fills, host functions, stream-ordered allocation, values in memory.
#pragma once

#include "runtime/cudasim/api/Driver.h"

namespace graphc::cudasim {

class KernelAction final : public Action {
public:
  Function *function = nullptr;
  Dim3 grid, block, cluster;
  uint32_t sharedBytes = 0, stackBytes = 1024;
  bool cooperative = false;
  std::vector<std::byte> params;
  std::string kernelName; ///< survives the module

  std::string describe() const override;
  int nodeType() const override { return CU_GRAPH_NODE_TYPE_KERNEL; }
  bool touchesAnything() const override { return true; }
  void run(Operation &operation) override;
};

/// Fills in the parameter block and checks the configuration as cuLaunchKernel does.
CUresult makeKernelAction(CUfunction function, Dim3 grid, Dim3 block, uint32_t sharedBytes, void **kernelParams,
                          void **extra, bool cooperative, Context *context, std::shared_ptr<KernelAction> &result);

/// A rectangular copy between any two memories; a plain copy is one row.
class CopyAction final : public Action {
public:
  struct Side {
    uint64_t base = 0;
    uint64_t pitch = 0, slice = 0; ///< bytes from row to row, from plane to plane
    bool device = false;           ///< device memory (by record), else host
    bool pinned = false;           ///< host memory that is pinned or registered
    uint64_t extent(uint64_t width, uint64_t height, uint64_t depth) const {
      return width && height && depth ? (depth - 1) * slice + (height - 1) * pitch + width : 0;
    }
  };
  std::string name;
  Side source, destination;
  uint64_t width = 0, height = 1, depth = 1; ///< bytes, rows, planes
  /// Pageable source bytes, taken when the call was made, packed.
  std::shared_ptr<std::vector<std::byte>> staged;
  CUDA_MEMCPY3D description = {}; ///< for graph getters

  void stage();
  uint64_t bytes() const { return width * height * depth; }
  std::string describe() const override;
  int nodeType() const override { return CU_GRAPH_NODE_TYPE_MEMCPY; }
  void queued(Operation &operation) override;
  void run(Operation &operation) override;

private:
  bool usable(Operation &operation, const Side &side, const char *role) const;
};

class FillAction final : public Action {
public:
  uint64_t base = 0, pitch = 0;
  uint32_t value = 0, elementBytes = 1;
  uint64_t width = 0, height = 1; ///< elements, rows
  std::string name;

  std::string describe() const override;
  int nodeType() const override { return CU_GRAPH_NODE_TYPE_MEMSET; }
  void queued(Operation &operation) override;
  void run(Operation &operation) override;
};

class HostAction final : public Action {
public:
  CUhostFn function = nullptr;
  CUstreamCallback callback = nullptr; ///< cuStreamAddCallback
  CUstream stream = nullptr;
  void *data = nullptr;

  std::string describe() const override { return callback ? "stream callback" : "host function"; }
  int nodeType() const override { return CU_GRAPH_NODE_TYPE_HOST; }
  bool callsHost() const override { return true; }
  bool survivesFailure() const override { return callback != nullptr; }
  void run(Operation &operation) override;
};

/// The copy or fill that a description asks for, checked against what the addresses are.
CUresult copyFromDescription(const char *name, const CUDA_MEMCPY3D &d, std::shared_ptr<CopyAction> &result);
CUresult fillFrom(const char *name, uint64_t base, uint64_t pitch, uint32_t value, uint32_t elementBytes,
                  uint64_t width, uint64_t height, std::shared_ptr<FillAction> &result);

/// Stream-ordered allocation and release: each counts as a write of the range.
class PoolAction final : public Action {
public:
  bool release = false;
  uint64_t base = 0, size = 0;
  bool keep = false; ///< graph-owned memory stays reserved

  std::string describe() const override;
  int nodeType() const override { return release ? CU_GRAPH_NODE_TYPE_MEM_FREE : CU_GRAPH_NODE_TYPE_MEM_ALLOC; }
  bool survivesFailure() const override { return true; }
  void run(Operation &operation) override;
};

/// cuStreamWriteValue and cuStreamWaitValue.
class ValueAction final : public Action {
public:
  bool wait = false, wide = false;
  unsigned flags = 0;
  uint64_t address = 0, value = 0;

  std::string describe() const override;
  int nodeType() const override { return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP; }
  bool touchesAnything() const override { return true; }
  bool ready(const Operation &operation) const override;
  void run(Operation &operation) override;
};

/// Event records and waits hold a place in their stream.
class EventAction final : public Action {
public:
  EventAction(bool record, Event *event) : record(record), event(event) {}
  bool record;
  Event *event;
  std::string describe() const override { return record ? "event record" : "event wait"; }
  int nodeType() const override {
    return record ? CU_GRAPH_NODE_TYPE_EVENT_RECORD : CU_GRAPH_NODE_TYPE_WAIT_EVENT;
  }
  bool survivesFailure() const override { return true; }
  void run(Operation &) override {}
};

} // namespace graphc::cudasim
