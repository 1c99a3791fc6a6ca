#include "runtime/cache/CompileCache.h"

#include "runtime/memory/MappedFile.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace graphc {

namespace fs = std::filesystem;

namespace {

struct Header {
  char magic[8];
  uint64_t bytes, hash;
  char reserved[40];
};
static_assert(sizeof(Header) == 64);
constexpr char kMagic[8] = {'g', 'r', 'a', 'p', 'h', 'c', '0', '1'};
constexpr const char *kSuffixes[] = {".entry", ".gcx"}; // by Form
/// Temporary files of processes that died while writing are removed when they are this old.
constexpr int64_t kAbandonedSeconds = 3600;

Status writeAll(int fd, const void *data, size_t bytes) {
  const auto *p = static_cast<const char *>(data);
  while (bytes) {
    ssize_t done = ::write(fd, p, bytes);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return error(Code::CacheUnusable, std::strerror(done < 0 ? errno : ENOSPC));
    p += done;
    bytes -= static_cast<size_t>(done);
  }
  return {};
}

bool intact(std::span<const std::byte> file) {
  Header header;
  if (file.size() < sizeof header)
    return false;
  std::memcpy(&header, file.data(), sizeof header);
  auto payload = file.subspan(sizeof header);
  bool unused = std::all_of(std::begin(header.reserved), std::end(header.reserved), [](char c) { return c == 0; });
  return std::memcmp(header.magic, kMagic, sizeof kMagic) == 0 && unused && header.bytes == payload.size() &&
         header.hash == XXH3_64bits(payload.data(), payload.size());
}

} // namespace

CacheKey::CacheKey() : state_(XXH3_createState()) { XXH3_128bits_reset(static_cast<XXH3_state_t *>(state_)); }
CacheKey::~CacheKey() { XXH3_freeState(static_cast<XXH3_state_t *>(state_)); }

CacheKey &CacheKey::add(std::span<const std::byte> bytes) {
  add(static_cast<int64_t>(bytes.size()));
  XXH3_128bits_update(static_cast<XXH3_state_t *>(state_), bytes.data(), bytes.size());
  return *this;
}

CacheKey &CacheKey::add(std::string_view text) { return add(std::as_bytes(std::span(text.data(), text.size()))); }

CacheKey &CacheKey::add(int64_t number) {
  XXH3_128bits_update(static_cast<XXH3_state_t *>(state_), &number, sizeof number);
  return *this;
}

std::string CacheKey::str() const {
  XXH128_hash_t hash = XXH3_128bits_digest(static_cast<const XXH3_state_t *>(state_));
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return buffer;
}

Result<CompileCache> CompileCache::open(Options options) {
  std::error_code problem;
  fs::create_directories(options.folder, problem);
  if (problem)
    return error(Code::CacheUnusable, "the cache folder '", options.folder, "' cannot be created: ", problem.message());
  if (::access(options.folder.c_str(), R_OK | W_OK | X_OK) != 0)
    return error(Code::CacheUnusable, "the cache folder '", options.folder, "' cannot be used: ", std::strerror(errno));
  return CompileCache(std::move(options));
}

std::string CompileCache::pathOf(std::string_view kind, const std::string &key, Form form) const {
  return options_.folder + "/" + std::string(kind) + "-" + key + kSuffixes[static_cast<int>(form)];
}

std::string CompileCache::temporaryOf(const std::string &path) const {
  static std::atomic<uint64_t> counter{0};
  return text(path, ".", ::getpid(), ".", counter.fetch_add(1), ".tmp");
}

std::optional<std::vector<std::byte>> CompileCache::find(std::string_view kind, const std::string &key) {
  std::string path = pathOf(kind, key, Form::Checksummed);
  if (::access(path.c_str(), F_OK) == 0) {
    auto mapped = MappedFile::open(path);
    if (mapped.ok() && intact((*mapped)->bytes())) {
      ++counters_.hits;
      ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); // used now
      auto payload = (*mapped)->bytes().subspan(sizeof(Header));
      return std::vector<std::byte>(payload.begin(), payload.end());
    }
    ++counters_.damaged;
    ::unlink(path.c_str());
  }
  ++counters_.misses;
  return std::nullopt;
}

std::optional<std::string> CompileCache::findFile(std::string_view kind, const std::string &key) {
  std::string path = pathOf(kind, key, Form::File);
  if (::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) != 0 && ::access(path.c_str(), R_OK) != 0) {
    ++counters_.misses;
    return std::nullopt;
  }
  ++counters_.hits;
  return path;
}

void CompileCache::removeDamaged(std::string_view kind, const std::string &key) {
  ++counters_.damaged;
  ::unlink(pathOf(kind, key, Form::File).c_str());
}

Status CompileCache::moveIntoPlace(const std::string &temporary, const std::string &path) {
  struct stat info {};
  int64_t bytes = ::stat(temporary.c_str(), &info) == 0 ? info.st_size : 0;
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    return error(Code::CacheUnusable, std::strerror(errno));
  ++counters_.stored;
  // Looking through the folder costs a call per entry, so not after every store: first, and when much was added.
  storedBytes_ += bytes;
  if (!looked_ || storedBytes_ > options_.maxBytes / 16) {
    looked_ = true;
    storedBytes_ = 0;
    shrink();
  }
  return {};
}

Status CompileCache::store(std::string_view kind, const std::string &key, std::span<const std::byte> bytes) {
  std::string path = pathOf(kind, key, Form::Checksummed), temporary = temporaryOf(path);
  auto unusable = [&](const std::string &reason) {
    ::unlink(temporary.c_str());
    return error(Code::CacheUnusable, "the cache entry '", path, "' (", bytes.size(), " bytes) cannot be written: ", reason);
  };
  int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0)
    return unusable(std::strerror(errno));
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.bytes = bytes.size();
  header.hash = XXH3_64bits(bytes.data(), bytes.size());
  Status written = writeAll(fd, &header, sizeof header);
  if (written.ok())
    written = writeAll(fd, bytes.data(), bytes.size());
  if (::close(fd) != 0 && written.ok())
    written = error(Code::CacheUnusable, std::strerror(errno));
  if (written.ok())
    written = moveIntoPlace(temporary, path);
  return written.ok() ? Status() : unusable(written.message());
}

Status CompileCache::storeFile(std::string_view kind, const std::string &key,
                               const std::function<Status(const std::string &path)> &write) {
  std::string path = pathOf(kind, key, Form::File), temporary = temporaryOf(path);
  Status written = write(temporary);
  if (written.ok())
    written = moveIntoPlace(temporary, path);
  if (written.ok())
    return {};
  ::unlink(temporary.c_str());
  return error(Code::CacheUnusable, "the cache entry '", path, "' cannot be written: ", written.message());
}

std::vector<CompileCache::Entry> CompileCache::list() const {
  std::vector<Entry> entries;
  std::error_code problem;
  for (fs::directory_iterator it(options_.folder, problem), end; !problem && it != end; it.increment(problem)) {
    std::string name = it->path().stem().string();
    size_t dash = name.find('-');
    bool known = std::find(std::begin(kSuffixes), std::end(kSuffixes), it->path().extension()) != std::end(kSuffixes);
    struct stat info;
    if (!known || dash == std::string::npos || ::stat(it->path().c_str(), &info) != 0) // removed meanwhile
      continue;
    entries.push_back({name.substr(0, dash), name.substr(dash + 1), info.st_size, info.st_mtim.tv_sec, it->path().string()});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::tie(a.kind, a.key) < std::tie(b.kind, b.key);
  });
  return entries;
}

int64_t CompileCache::totalBytes() const {
  int64_t total = 0;
  for (const Entry &entry : list())
    total += entry.bytes;
  return total;
}

void CompileCache::shrink() {
  std::error_code problem;
  for (fs::directory_iterator it(options_.folder, problem), end; !problem && it != end; it.increment(problem)) {
    struct stat info;
    if (it->path().extension() == ".tmp" && ::stat(it->path().c_str(), &info) == 0 && ::time(nullptr) - info.st_mtim.tv_sec > kAbandonedSeconds)
      ::unlink(it->path().c_str());
  }
  std::vector<Entry> entries = list();
  int64_t total = 0;
  for (const Entry &entry : entries)
    total += entry.bytes;
  if (total <= options_.maxBytes)
    return;
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::tie(a.lastUsed, a.kind, a.key) < std::tie(b.lastUsed, b.kind, b.key);
  });
  // Down to nine tenths, so that the next store does not sort again.
  for (const Entry &entry : entries) {
    if (total <= options_.maxBytes / 10 * 9)
      break;
    if (::unlink(entry.path.c_str()) == 0)
      total -= entry.bytes;
  }
}

Status CompileCache::clear() {
  for (const Entry &entry : list())
    if (::unlink(entry.path.c_str()) != 0 && errno != ENOENT)
      return error(Code::CacheUnusable, "the cache entry '", entry.path, "' cannot be removed: ", std::strerror(errno));
  return {};
}

} // namespace graphc
