// Where in the program a call came from: return addresses, taken fast because every launch needs them.
//
// Unwinding costs microseconds a frame. A program calls from the same places over and over, so each thread remembers
// the last unwindings by caller and stack depth, together with the stack words that held the return addresses. If those
// words still hold them, the stack is the same and so is the result.
#include "runtime/cudasim/api/Driver.h"

#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>

// The library's own address range, to leave its frames out of call sites.
extern "C" {
extern char __ehdr_start __attribute__((visibility("hidden")));
extern char _end __attribute__((visibility("hidden")));
}

namespace graphc::cudasim {

namespace {

struct Remembered {
  void *caller = nullptr;
  char *stack = nullptr;
  unsigned count = 0;
  uint32_t offsets[5] = {}; ///< from `stack`, of the words holding site.frames
  CallSite site;
  bool holds(void *nowCaller, char *nowStack) const {
    if (caller != nowCaller || stack != nowStack)
      return false;
    for (unsigned i = 0; i < count; ++i) {
      void *word;
      std::memcpy(&word, stack + offsets[i], sizeof word);
      if (word != site.frames[i])
        return false;
    }
    return true;
  }
};

/// The end of this thread's stack: nothing beyond is read.
char *stackEnd() {
  static thread_local char *end = [] {
    pthread_attr_t attributes;
    void *base = nullptr;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
      pthread_attr_getstack(&attributes, &base, &bytes);
      pthread_attr_destroy(&attributes);
    }
    return static_cast<char *>(base) + bytes;
  }();
  return end;
}

} // namespace

CallSite captureSite() {
  static thread_local Remembered memory[32];
  // The frame of the entry point: the program's return addresses lie above it, our own copies of them below.
  char *here = threadState().entryFrame;
  void *caller = threadState().caller;
  Remembered &slot = memory[(reinterpret_cast<uintptr_t>(caller) >> 2 ^ reinterpret_cast<uintptr_t>(here) >> 4) % 32];
  if (slot.holds(caller, here))
    return slot.site;

  CallSite site;
  void *stack[24];
  int depth = backtrace(stack, 24);
  unsigned count = 0;
  for (int i = 0; i < depth && count < site.frames.size(); ++i) {
    auto *frame = static_cast<char *>(stack[i]);
    if (frame < &__ehdr_start || frame >= &_end)
      site.frames[count++] = frame;
  }
  if (!count)
    site.frames[0] = caller;
  slot = {caller, here, count, {}, site};
  char *at = here, *end = std::min(stackEnd(), here + (1 << 16));
  for (unsigned i = 0; i < count; ++i) {
    for (; at + sizeof(void *) <= end; at += sizeof(void *)) {
      void *word;
      std::memcpy(&word, at, sizeof word);
      if (word == site.frames[i])
        break;
    }
    if (at + sizeof(void *) > end) {
      slot.caller = nullptr; // not all found: not remembered
      break;
    }
    slot.offsets[i] = uint32_t(at - here);
    at += sizeof(void *);
  }
  if (!count)
    slot.caller = nullptr;
  return site;
}

std::string CallSite::text() const {
  std::string result;
  for (void *frame : frames) {
    if (!frame)
      break;
    char buffer[64];
    Dl_info info = {};
    if (!result.empty())
      result += " < ";
    // One byte back: a return address may already belong to the next function or line.
    auto *address = static_cast<char *>(frame) - 1;
    if (!dladdr(address, &info) || !info.dli_fname) {
      std::snprintf(buffer, sizeof buffer, "%p", frame);
      result += buffer;
      continue;
    }
    const char *file = std::strrchr(info.dli_fname, '/');
    file = file ? file + 1 : info.dli_fname;
    std::snprintf(buffer, sizeof buffer, "+0x%zx", size_t(address - static_cast<char *>(info.dli_fbase)));
    if (info.dli_sname)
      result += std::string(info.dli_sname) + " (" + file + buffer + ")";
    else
      result += std::string(file) + buffer;
  }
  return result.empty() ? "unknown" : result;
}

} // namespace graphc::cudasim
