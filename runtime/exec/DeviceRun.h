// A call on a device: the steps of a context queued on a device's queues. Private to runtime/exec.
//
// One *main* queue (the caller's, else the device's default one) frames the call: inputs go up in it, further queues start
// behind it and join it at the end, so whatever is queued there next finds the call done. Memory of the context is used in
// that order only. Bad indices go into error cells, which are read after the call.
#pragma once

#include "runtime/exec/Context.h"

#include <list>

namespace graphc {

class DeviceRun {
public:
  explicit DeviceRun(Context &context);
  ~DeviceRun();

  Status run(std::span<const HostTensor> inputs, std::span<HostTensor> outputs, const RunOptions &options);
  Status run(std::span<const DeviceTensor> inputs, std::span<DeviceTensor> outputs, const RunOptions &options);

  // What the context does itself on the processor:
  Status reserveMemory();
  Status placeOutput(int output);
  Status allocateHeap(int heap);

private:
  /// A recorded piece of work that touches parameters, whose addresses may move.
  struct MovingWork {
    const Step *step;
    RecordedWork work;
    int stream;
    std::vector<int> inputs, outputs; // parameters it touches
  };
  /// What is known of one set of input shapes.
  struct ShapeRecord {
    std::vector<int64_t> shapes;
    int runs = 0, replays = 0;
    double eagerMs = 1e30, replayMs = 1e30; // the best so far
    bool rejected = false;
    std::unique_ptr<Recording> recording;
    std::vector<MovingWork> moving;
    std::vector<std::byte *> inputs, outputs; // addresses it was last launched with
    std::shared_ptr<DeviceMemory> arena;      // that its work is done in
  };

  Status enter(const RunOptions &options);
  Status begin(std::span<const HostTensor> views);
  Status work(const RunOptions &options);
  Status walkStreams(Queue &main, const RunOptions &options);
  Status walkSteps(const std::vector<Step> &steps, Queue &queue, int stream, const RunOptions &options);
  Status walkStep(const Step &step, Queue &queue, int stream, const RunOptions &options);
  Result<Queue *> queueOf(int stream, Queue &main);
  Result<Event *> eventOf(size_t index);
  Status waitFor(Queue &queue, const Event &event);

  /// Queues the command; with a recording, gives `moved`'s work there the command's present addresses instead.
  Status launch(const Step &step, Queue &queue, int stream, const MovingWork *moved = nullptr, Recording *recording = nullptr);
  Status copy(const Step &step, Queue &queue, const MovingWork *moved = nullptr, Recording *recording = nullptr);
  Status fill(const Step &step, Queue &queue, const MovingWork *moved = nullptr, Recording *recording = nullptr);
  Status routineOnHost(const Step &step, Queue &queue);
  Status bind(const Step &step, Queue &queue);
  Status loop(const Step &step, Queue &queue, int stream, const RunOptions &options);
  Result<int64_t> readValue(int buffer, int64_t element, Queue &queue);
  Status reserveWorkspace();

  // ---- recording (DeviceRecording.cpp) ----
  ShapeRecord &shapeRecord();
  Status workRecorded(const RunOptions &options);
  Status record(ShapeRecord &shape, const RunOptions &options);
  Status replay(ShapeRecord &shape);
  Status noteMoving(const Step &step, Queue &queue, int stream);
  void limitRecordings();
  int64_t recordedBytes() const;

  Result<PinnedMemory> readCells();
  Status startTimer(const Step &step, Queue &queue);
  Status reportTimes(const RunOptions &options);
  static Status checkCells(const std::vector<std::vector<std::string>> &cells, const GraphcErrorCell *values);
  std::shared_ptr<ComputeDevice> device() const { return context_.program_.options.device; }

  Context &context_;
  Queue *main_ = nullptr;                    // of the call under way
  MemorySource::Stream lastStream_ = 0;      // of the call before
  std::unique_ptr<Event> done_, start_;      // behind the last call; behind the uploads of this one
  bool ran_ = false;

  std::shared_ptr<DeviceMemory> arenaMemory_;
  DeviceMemory workspace_;
  int64_t workspaceBytes_ = 0;               // per stream
  std::vector<DeviceMemory> heaps_;
  StreamWaits waits_;                        // of these sizes
  std::vector<std::unique_ptr<Queue>> sideQueues_;
  std::vector<bool> sideUsed_;               // in this call
  int waitCount_ = 0;                        // in this call
  std::vector<std::unique_ptr<Event>> events_; // by command; the last ones are the side queues' ends
  DeviceMemory cells_;
  PinnedMemory readBack_;                    // for values the host needs

  // Parameters: on the device for the caller, or here for host tensors.
  bool onDevice_ = false;
  std::vector<DeviceMemory> inputMemory_, outputMemory_;
  std::span<DeviceTensor> deviceOutputs_;
  std::span<HostTensor> hostOutputs_;
  std::vector<HostTensor> noOutputs_;
  std::vector<void *> arguments_;

  std::list<ShapeRecord> shapes_;            // the one used last first
  ShapeRecord *recordingInto_ = nullptr;
  std::unique_ptr<Queue> recordQueue_;
  bool saidWhyNot_ = false;

  struct Timed {
    const Step *step;
    std::unique_ptr<Event> begin, end;
  };
  std::vector<Timed> timed_;
};

} // namespace graphc
