#include "frontend/graphc/stream.h"

#include "frontend/eager/State.h"

#include <atomic>
#include <chrono>

namespace graphc {

using namespace eager;

static void onlyCpu(const char *what, Device device) {
  if (!device.isCpu())
    failWith(Code::DeviceUnavailable, what, ": device ", device.str(), " is not available to tensors in this build; \"cpu\" is");
}

Stream::Stream(Device device) : device_(device) {
  onlyCpu("Stream", device);
  static std::atomic<int64_t> next{1}; // 0 is the default stream
  id_ = next++;
}
Stream Stream::current(Device device) {
  onlyCpu("Stream", device);
  return {device, ThreadContext::current().state().stream};
}
Stream Stream::defaultStream(Device device) {
  onlyCpu("Stream", device);
  return {device, 0};
}
StreamEvent Stream::record() const {
  StreamEvent event;
  event.record(*this);
  return event;
}
void Stream::wait(const StreamEvent &event) const { event.synchronize(); }
void Stream::synchronize() const { graphc::synchronize(device_); }
bool Stream::isDone() const { return true; }

StreamGuard::StreamGuard(const Stream &stream) : before_(std::exchange(ThreadContext::current().state().stream, stream.id_)) {}
StreamGuard::~StreamGuard() { ThreadContext::current().state().stream = before_; }

void StreamEvent::record(const Stream &stream) {
  stream.synchronize();
  recordedNs_ = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double StreamEvent::elapsedMs(const StreamEvent &start) const {
  if (!isRecorded() || !start.isRecorded())
    failWith(codes::InvalidArgument, "elapsedMs: ", isRecorded() ? "the start" : "the event", " was not recorded; call record() first");
  return static_cast<double>(recordedNs_ - start.recordedNs_) / 1e6;
}

} // namespace graphc
