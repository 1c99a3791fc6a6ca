// What a caching allocator needs from a device. Streams and events are opaque words to it (a CUstream, a CUevent).
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>

namespace graphc {

class MemorySource {
public:
  using Stream = uint64_t;
  using Event = uint64_t;

  virtual ~MemorySource() = default;

  /// Fresh memory, aligned to 512 bytes; Code::OutOfMemory when there is no more.
  virtual Result<uint64_t> reserve(int64_t bytes) = 0;
  /// Gives memory back, after all queued work that may still touch it.
  virtual void release(uint64_t address, int64_t bytes) = 0;

  /// An event behind everything queued in `stream` so far.
  virtual Result<Event> record(Stream stream) = 0;
  virtual Result<bool> done(Event event) = 0;
  virtual Status synchronize(Event event) = 0;
  virtual void destroy(Event event) = 0;

  struct Info {
    int64_t freeBytes = 0, totalBytes = 0;
  };
  virtual Info info() = 0;

  /// A part of reserved memory is handed to a user, or comes back, at this place of the stream. For devices that watch
  /// what is touched.
  virtual void handedOut(uint64_t address, int64_t bytes, const std::string &label, Stream stream) {}
  virtual void takenBack(uint64_t address, int64_t bytes, Stream stream) {}
};

} // namespace graphc
