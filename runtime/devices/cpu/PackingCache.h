// Constant operands in the layout the library wants, packed once and shared by every call that wants the same.
#pragma once

#include "runtime/base/HostTensor.h"
#include "runtime/base/Status.h"
#include "runtime/memory/Account.h"

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace graphc::cpu {

class PackingCache {
public:
  explicit PackingCache(MemoryAccount *account = nullptr) : account_(account) {}
  ~PackingCache();

  struct Packed {
    const void *data = nullptr;
    int64_t bytes = 0;
  };

  /// Source bytes are identified by address (constants of one executable do not move); `format` is everything else the
  /// packed bytes depend on: type, dimensions, strides, target format, instruction set, library version.
  Result<Packed> findOrPack(const void *source, const std::string &format, int64_t bytes,
                            const std::function<Status(void *destination)> &pack);

  /// Bytes packed earlier (an artifact's), used when a call asks for exactly this key.
  void adopt(const void *source, const std::string &format, Packed packed);

  /// A source whose bytes are not at hand: what was adopted of it is all there is.
  void refuse(const void *source);

  struct Entry {
    const void *source;
    std::string format;
    Packed packed;
  };
  /// Everything packed so far, in a stable order: what `graphc compile` stores in an artifact.
  std::vector<Entry> entries() const;
  int64_t ownedBytes() const;

private:
  struct Slot {
    Packed packed;
    AlignedBytes owned;
  };
  mutable std::mutex mutex_;
  std::map<std::pair<const void *, std::string>, Slot> slots_;
  std::set<const void *> refused_;
  int64_t ownedBytes_ = 0;
  MemoryAccount *account_;
};

} // namespace graphc::cpu
