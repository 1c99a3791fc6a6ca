// Where in the user's program the op at work was called. Arguments of ops remember it when they are made; the outermost one
// counts, so what the library calls on the way does not hide it.
#pragma once

#include <source_location>

// The library's own calls of its ops are nobody's call site.
#ifdef GRAPHC_LIBRARY_SOURCE
#define GRAPHC_HERE std::source_location()
#else
#define GRAPHC_HERE std::source_location::current()
#endif

namespace graphc {

namespace detail {
inline constinit thread_local std::source_location callSite{};
} // namespace detail

class CallSite {
public:
  CallSite() = default;
  explicit CallSite(std::source_location where) : outermost_(where.line() != 0 && detail::callSite.line() == 0) {
    if (outermost_)
      detail::callSite = where;
  }
  CallSite(const CallSite &) {}
  CallSite &operator=(const CallSite &) { return *this; }
  ~CallSite() {
    if (outermost_)
      detail::callSite = {};
  }
  /// Line 0: not known.
  static std::source_location current() { return detail::callSite; }

private:
  bool outermost_ = false;
};

} // namespace graphc
