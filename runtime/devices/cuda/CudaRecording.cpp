// Recordings are CUDA graphs: captured from the queue, instantiated once, nodes updated when addresses move.
#include "runtime/devices/cuda/CopyKernels.h"
#include "runtime/devices/cuda/CudaContext.h"

namespace graphc::cuda {

namespace {

class CudaRecording final : public Recording {
public:
  CudaRecording(const CudaQueue &lowering, std::shared_ptr<const CudaContext> context, CUgraph graph)
      : lowering_(lowering), context_(std::move(context)), graph_(graph) {}
  ~CudaRecording() override {
    Current current(*context_);
    // A launch in flight keeps what it needs: the driver frees the executable graph after it.
    if (executable_)
      (void)context_->driver->graphExecDestroy.raw(executable_);
    (void)context_->driver->graphDestroy.raw(graph_);
  }

  Status instantiate() {
    size_t count = 0;
    GRAPHC_RETURN_IF_ERROR(context_->driver->graphGetNodes(graph_, nullptr, &count));
    count_ = static_cast<int64_t>(count);
    return context_->driver->graphInstantiate(&executable_, graph_, 0);
  }

  Status launch(Queue &queue) override {
    GRAPHC_WITH_CONTEXT(*context_);
    return context_->driver->graphLaunch(executable_, static_cast<CudaQueue &>(queue).handle());
  }
  int64_t workCount() const override { return count_; }

  Status update(RecordedWork work, const LaunchWork &launch) override {
    GRAPHC_WITH_CONTEXT(*context_);
    GRAPHC_ASSIGN_OR_RETURN(DriverWork lowered, lowering_.lower(launch));
    return set(work, lowered);
  }
  Status update(RecordedWork work, const CopyWork &copy) override {
    GRAPHC_WITH_CONTEXT(*context_);
    CopyParameters parameters;
    void *argument = nullptr;
    return set(work, lowering_.lower(copy, parameters, argument));
  }
  Status update(RecordedWork work, const FillWork &fill) override {
    GRAPHC_WITH_CONTEXT(*context_);
    CopyParameters parameters;
    void *argument = nullptr;
    return set(work, lowering_.lower(fill, parameters, argument));
  }

private:
  Status set(RecordedWork node, const DriverWork &work) {
    const Driver &driver = *context_->driver;
    auto handle = static_cast<CUgraphNode>(node);
    switch (work.kind) {
    case DriverWork::Kind::Kernel: {
      CUDA_KERNEL_NODE_PARAMS params = {};
      params.func = work.function;
      params.gridDimX = work.blocks;
      params.gridDimY = params.gridDimZ = 1;
      params.blockDimX = work.threads;
      params.blockDimY = params.blockDimZ = 1;
      params.sharedMemBytes = work.dynamicShared;
      params.kernelParams = work.arguments;
      return driver.graphExecKernelNodeSetParams(executable_, handle, &params);
    }
    case DriverWork::Kind::Memcpy: {
      CUDA_MEMCPY3D copy = {};
      copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
      copy.srcDevice = work.src;
      copy.dstDevice = work.dst;
      copy.WidthInBytes = copy.srcPitch = copy.dstPitch = work.bytes;
      copy.Height = copy.Depth = copy.srcHeight = copy.dstHeight = 1;
      return driver.graphExecMemcpyNodeSetParams(executable_, handle, &copy, context_->handle);
    }
    case DriverWork::Kind::Memset: {
      CUDA_MEMSET_NODE_PARAMS fill = {};
      fill.dst = work.dst;
      fill.elementSize = work.elementBytes;
      fill.value = work.value;
      fill.width = work.bytes;
      fill.height = 1;
      return driver.graphExecMemsetNodeSetParams(executable_, handle, &fill, context_->handle);
    }
    }
    return {};
  }

  const CudaQueue &lowering_; // the device's default queue: lives as long as the device
  std::shared_ptr<const CudaContext> context_;
  CUgraph graph_;
  CUgraphExec executable_ = nullptr;
  int64_t count_ = 0;
};

} // namespace

Result<std::unique_ptr<Recording>> makeRecording(const CudaQueue &lowering, std::shared_ptr<const CudaContext> context, CUgraph graph) {
  auto recording = std::make_unique<CudaRecording>(lowering, std::move(context), graph);
  GRAPHC_RETURN_IF_ERROR(recording->instantiate());
  return std::unique_ptr<Recording>(std::move(recording));
}

Status CudaQueue::beginRecording() {
  GRAPHC_WITH_CONTEXT(*context_);
  // Other threads go on calling what a recording forbids; only this one is watched.
  return context_->driver->streamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

Result<std::unique_ptr<Recording>> CudaQueue::endRecording() {
  GRAPHC_WITH_CONTEXT(*context_);
  CUgraph graph = nullptr;
  GRAPHC_RETURN_IF_ERROR(context_->driver->streamEndCapture(stream_, &graph));
  return makeRecording(static_cast<const CudaQueue &>(device().defaultQueue()), context_, graph);
}

void CudaQueue::abandonRecording() {
  Current current(*context_);
  CUgraph graph = nullptr;
  if (context_->driver->streamEndCapture.raw(stream_, &graph) == CUDA_SUCCESS && graph)
    (void)context_->driver->graphDestroy.raw(graph);
}

Result<RecordedWork> CudaQueue::lastRecorded() {
  GRAPHC_WITH_CONTEXT(*context_);
  CUstreamCaptureStatus status;
  const CUgraphNode *nodes = nullptr;
  size_t count = 0;
  cuuint64_t id = 0;
  GRAPHC_RETURN_IF_ERROR(context_->driver->streamGetCaptureInfo(stream_, &status, &id, nullptr, &nodes, nullptr, &count));
  // Behind a verb the queue depends on exactly the node it made.
  if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE || count != 1)
    return error(Code::Internal, "the queue is not being recorded, or its last work is not known (", count, " nodes)");
  return static_cast<RecordedWork>(nodes[0]);
}

} // namespace graphc::cuda
