// Streams and events: work of one stream runs in order, events mark places in it. On the CPU an op is done when its call returns,
// so streams order nothing there and events are done as soon as they are recorded; programs written with them run everywhere.
#pragma once

#include "frontend/graphc/device.h"

#include <cstdint>
#include <memory>

namespace graphc {

class StreamEvent;

class Stream {
public:
  /// A new stream of the device.
  explicit Stream(Device device = Device::cpu());
  /// The one ops of this thread are put into, and the one every thread begins with.
  static Stream current(Device device = Device::cpu());
  static Stream defaultStream(Device device = Device::cpu());

  Device device() const { return device_; }
  /// Marks what was put into the stream so far.
  StreamEvent record() const;
  /// What is put into the stream from now on runs after the event.
  void wait(const StreamEvent &event) const;
  /// Returns when everything in the stream is done.
  void synchronize() const;
  bool isDone() const;
  bool operator==(const Stream &) const = default;

private:
  friend class StreamGuard;
  Stream(Device device, int64_t id) : device_(device), id_(id) {}
  Device device_;
  int64_t id_ = 0;
};

/// While it lives, ops of this thread on the stream's device are put into it.
class StreamGuard {
public:
  explicit StreamGuard(const Stream &stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard &) = delete;
  StreamGuard &operator=(const StreamGuard &) = delete;

private:
  int64_t before_;
};

class StreamEvent {
public:
  /// Not recorded yet.
  StreamEvent() = default;
  void record(const Stream &stream = Stream::current());
  bool isRecorded() const { return recordedNs_ >= 0; }
  /// Whether everything before it is done; an event that was never recorded is.
  bool isDone() const { return true; }
  void synchronize() const {}
  /// Milliseconds from `start` to this event; an error unless both are recorded.
  double elapsedMs(const StreamEvent &start) const;

private:
  int64_t recordedNs_ = -1;
};

} // namespace graphc
