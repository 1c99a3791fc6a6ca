// Recorded calls: the queued work of one set of shapes, launched again as a whole.
//
// The first call with new shapes walks the plan; it loads code and finds memory. Then the walk is timed, recorded and the
// replay timed too, and the recording is kept only where it is faster. Work that touches inputs or outputs is remembered
// with them: when a parameter has moved since the last launch, that work alone gets its new addresses. Outputs are the
// caller's, never the recording's, so no later call overwrites them.
#include "runtime/exec/DeviceRun.h"

#include <algorithm>
#include <chrono>
#include <set>

namespace graphc {

using plan::Action;

namespace {

constexpr int kTimedRuns = 2;
/// What a driver before CUDA 12.4 keeps on the device for one recorded launch.
constexpr int64_t kBytesPerWork = 64 * 1024;

double msSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

/// The record of this call's shapes, moved to the front.
DeviceRun::ShapeRecord &DeviceRun::shapeRecord() {
  auto found = std::find_if(shapes_.begin(), shapes_.end(), [&](const ShapeRecord &record) { return record.shapes == context_.shapes_; });
  if (found == shapes_.end()) {
    shapes_.emplace_front().shapes = context_.shapes_;
    return shapes_.front();
  }
  shapes_.splice(shapes_.begin(), shapes_, found);
  return shapes_.front();
}

Status DeviceRun::workRecorded(const RunOptions &options) {
  const Program &program = context_.program_;
  if (!context_.list_.notRecordable.empty()) {
    if (!saidWhyNot_)
      program.log(LogLevel::Remark, text("reduce-overhead: '", program.plan->model, "' is not recorded: ", context_.list_.notRecordable));
    saidWhyNot_ = true;
    return walkStreams(*main_, options);
  }
  ShapeRecord &shape = shapeRecord();
  bool always = program.options.record == RecordPolicy::Always;
  int run = shape.runs++;
  // A replay runs whole or not at all; a call that was cancelled does not start.
  if (options.cancelled && options.cancelled->load(std::memory_order_relaxed))
    return error(Code::Cancelled, "the call was cancelled before it started");
  if (shape.rejected || run == 0)
    return walkStreams(*main_, options);
  if (!always && run <= kTimedRuns) {
    GRAPHC_RETURN_IF_ERROR(main_->synchronize());
    auto start = std::chrono::steady_clock::now();
    GRAPHC_RETURN_IF_ERROR(walkStreams(*main_, options));
    GRAPHC_RETURN_IF_ERROR(main_->synchronize());
    shape.eagerMs = std::min(shape.eagerMs, msSince(start));
    return {};
  }
  if (!shape.recording || shape.arena != arenaMemory_) {
    if (Status status = record(shape, options); !status.ok()) {
      if (status.code() == Code::Cancelled || status.code() == Code::OutOfMemory)
        return status;
      program.log(LogLevel::Remark, text("reduce-overhead: '", program.plan->model, "' is not recorded: ", status.message()));
      shape.rejected = true;
      return walkStreams(*main_, options);
    }
    limitRecordings();
  }
  if (always || shape.replays++ >= kTimedRuns)
    return replay(shape);
  GRAPHC_RETURN_IF_ERROR(main_->synchronize());
  auto start = std::chrono::steady_clock::now();
  GRAPHC_RETURN_IF_ERROR(replay(shape));
  GRAPHC_RETURN_IF_ERROR(main_->synchronize());
  shape.replayMs = std::min(shape.replayMs, msSince(start));
  if (shape.replays == kTimedRuns && shape.replayMs >= shape.eagerMs) {
    program.log(LogLevel::Remark, text("reduce-overhead: '", program.plan->model, "' is faster without a recording (", shape.eagerMs,
                                       " ms against ", shape.replayMs, " ms)"));
    shape.rejected = true;
    shape.recording.reset();
    shape.moving.clear();
    shape.arena.reset();
  }
  return {};
}

/// Walks the plan with a queue that records.
Status DeviceRun::record(ShapeRecord &shape, const RunOptions &options) {
  if (!recordQueue_) {
    GRAPHC_ASSIGN_OR_RETURN(recordQueue_, device()->newQueue());
  }
  shape.recording.reset();
  shape.moving.clear();
  CachingAllocator &memory = device()->memory();
  memory.beginRecording();
  Status status = recordQueue_->beginRecording();
  if (status.ok()) {
    recordingInto_ = &shape;
    status = walkStreams(*recordQueue_, options);
    recordingInto_ = nullptr;
    if (status.ok()) {
      auto recording = recordQueue_->endRecording();
      if (recording.ok())
        shape.recording = *std::move(recording);
      status = recording.status();
    } else {
      recordQueue_->abandonRecording();
    }
  }
  memory.endRecording();
  if (!status.ok())
    return status;
  shape.arena = arenaMemory_;
  shape.inputs = context_.inputs_;
  shape.outputs = context_.outputs_;
  return {};
}

Status DeviceRun::noteMoving(const Step &step, Queue &queue, int stream) {
  if (!recordingInto_)
    return {};
  std::set<int> inputs, outputs;
  auto note = [&](int buffer) {
    if (buffer < 0)
      return;
    const BufferInfo &info = context_.program_.buffers[buffer];
    if (info.place == Place::Input)
      inputs.insert(info.index);
    else if (info.place == Place::Output)
      outputs.insert(info.index);
  };
  for (int i = 0; i < step.slotCount; ++i)
    note(context_.list_.slotBuffers[step.slot + i]);
  for (const OperandInfo &operand : step.operands)
    note(operand.buffer);
  if (inputs.empty() && outputs.empty())
    return {};
  GRAPHC_ASSIGN_OR_RETURN(RecordedWork work, queue.lastRecorded());
  recordingInto_->moving.push_back({&step, work, stream, {inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}});
  return {};
}

Status DeviceRun::replay(ShapeRecord &shape) {
  auto moved = [](const std::vector<std::byte *> &now, const std::vector<std::byte *> &then, const std::vector<int> &touched) {
    return std::any_of(touched.begin(), touched.end(), [&](int i) { return now[static_cast<size_t>(i)] != then[static_cast<size_t>(i)]; });
  };
  if (shape.inputs != context_.inputs_ || shape.outputs != context_.outputs_) {
    for (const MovingWork &work : shape.moving) {
      if (!moved(context_.inputs_, shape.inputs, work.inputs) && !moved(context_.outputs_, shape.outputs, work.outputs))
        continue;
      const Step &step = *work.step;
      Status status = step.kind == Action::Dispatch ? launch(step, *main_, work.stream, &work, shape.recording.get())
                      : step.kind == Action::Copy   ? copy(step, *main_, &work, shape.recording.get())
                                                    : fill(step, *main_, &work, shape.recording.get());
      GRAPHC_RETURN_IF_ERROR(status);
    }
    shape.inputs = context_.inputs_;
    shape.outputs = context_.outputs_;
  }
  return shape.recording->launch(*main_);
}

int64_t DeviceRun::recordedBytes() const {
  std::set<const DeviceMemory *> arenas;
  int64_t bytes = 0;
  for (const ShapeRecord &shape : shapes_)
    if (shape.recording) {
      bytes += shape.recording->workCount() * kBytesPerWork;
      if (arenas.insert(shape.arena.get()).second)
        bytes += shape.arena->bytes();
    }
  return bytes;
}

/// Recordings of the shapes used longest ago go until the rest fits; the one in use stays.
void DeviceRun::limitRecordings() {
  for (auto it = std::prev(shapes_.end()); it != shapes_.begin() && recordedBytes() > context_.program_.options.recordedBytesCap; --it) {
    it->recording.reset();
    it->moving.clear();
    it->arena.reset();
    it->runs = 1;
    it->replays = 0;
  }
}

} // namespace graphc
