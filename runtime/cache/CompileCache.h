// Results of compilation kept on disk: kernel objects and whole artifacts, found by content.
//
// An entry is one file, named by its key: a checksum and the bytes (`.entry`), or an artifact, which checks itself (`.gcx`). It is
// written beside and moved into place, so readers see all of it or nothing, and processes need no lock to share the
// folder. A damaged entry counts as missing and is removed. When the folder grows past its limit the entries used longest
// ago go first.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace graphc {

/// What an entry depends on: everything is fed in, the name is the 128-bit hash.
class CacheKey {
public:
  CacheKey();
  ~CacheKey();
  CacheKey(const CacheKey &) = delete;
  CacheKey &operator=(const CacheKey &) = delete;

  /// Lengths are hashed too: ("ab", "c") differs from ("a", "bc").
  CacheKey &add(std::string_view text);
  CacheKey &add(std::span<const std::byte> bytes);
  CacheKey &add(int64_t number);
  /// 32 hexadecimal digits.
  std::string str() const;

private:
  void *state_;
};

class CompileCache {
public:
  struct Options {
    std::string folder;
    int64_t maxBytes = int64_t{2} << 30;
  };
  struct Entry {
    std::string kind, key;
    int64_t bytes = 0;
    int64_t lastUsed = 0; // seconds since the epoch
    std::string path;
  };
  struct Counters {
    int64_t hits = 0, misses = 0, stored = 0, damaged = 0;
  };

  /// Creates the folder; an error says why it cannot be used.
  static Result<CompileCache> open(Options options);

  /// `kind`: "kernel", "model" … groups entries for people. Nothing when there is no (intact) entry.
  std::optional<std::vector<std::byte>> find(std::string_view kind, const std::string &key);
  /// A failure (disk full, no permission) leaves the cache as it was; callers report it in one line and go on.
  Status store(std::string_view kind, const std::string &key, std::span<const std::byte> bytes);

  /// An entry that checks itself, as `write` makes it at the path it is given.
  Status storeFile(std::string_view kind, const std::string &key, const std::function<Status(const std::string &path)> &write);
  /// Its path when there is one; it counts as used now. Who finds it damaged says so.
  std::optional<std::string> findFile(std::string_view kind, const std::string &key);
  void removeDamaged(std::string_view kind, const std::string &key);

  std::vector<Entry> list() const;
  int64_t totalBytes() const;
  Status clear();
  const Counters &counters() const { return counters_; }
  const std::string &folder() const { return options_.folder; }

private:
  explicit CompileCache(Options options) : options_(std::move(options)) {}
  enum class Form { Checksummed, File };
  std::string pathOf(std::string_view kind, const std::string &key, Form form) const;
  std::string temporaryOf(const std::string &path) const;
  Status moveIntoPlace(const std::string &temporary, const std::string &path);
  void shrink();

  Options options_;
  Counters counters_;
  int64_t storedBytes_ = 0; // since the folder was last looked through
  bool looked_ = false;
};

} // namespace graphc
