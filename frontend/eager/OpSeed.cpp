// A seed file: "graphc ops 1\n", the identity's length and bytes, the number of entries, the entries sorted by key, then their
// bytes. Numbers are 64 bits wide, in the machine's order.
#include "frontend/compile/Identity.h"
#include "frontend/eager/OpStore.h"
#include "frontend/tensor/AtomicFile.h"

#include <cstring>
#include <filesystem>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace graphc::eager {

namespace {

constexpr std::string_view kMagic = "graphc ops 1\n";

struct Entry {
  char key[32];
  uint64_t offset, bytes, checksum; // the offset counts from the file's begin
};

std::string keyOf(const std::string &identity, const char *kind, std::string_view key) {
  CacheKey hash;
  hash.add(identity).add(kind).add(key);
  return hash.str();
}

} // namespace

std::optional<OpSeed> OpSeed::ofBuild(const OpCompiler &compiler) {
  auto identity = compiler.identity();
  if (!identity.ok())
    return std::nullopt;
  // "BUILD LEVEL": code of v4 runs on everything above it.
  size_t space = identity->rfind(' ');
  std::string level = identity->substr(space + 1).starts_with("v4") ? "v4" : "v3";
  std::filesystem::path folder = std::filesystem::path(fileOfCode(reinterpret_cast<const void *>(&keyOf))).parent_path();
  return open((folder / "graphc" / fileName(level)).string(), identity->substr(0, space + 1) + level);
}

std::optional<OpSeed> OpSeed::open(const std::string &path, const std::string &identity) {
  OpSeed seed;
  seed.identity_ = identity;
  auto file = MappedFile::open(path);
  if (!file.ok())
    return std::nullopt;
  std::string_view bytes(reinterpret_cast<const char *>((*file)->bytes().data()), (*file)->bytes().size()), rest = bytes;
  auto number = [&](uint64_t &value) {
    if (rest.size() < sizeof value)
      return false;
    std::memcpy(&value, rest.data(), sizeof value);
    rest.remove_prefix(sizeof value);
    return true;
  };
  uint64_t length = 0, count = 0;
  if (!rest.starts_with(kMagic))
    return std::nullopt;
  rest.remove_prefix(kMagic.size());
  if (!number(length) || rest.substr(0, length) != seed.identity_)
    return std::nullopt;
  rest.remove_prefix(length);
  if (!number(count) || count > rest.size() / sizeof(Entry))
    return std::nullopt;
  seed.entries_ = rest.substr(0, count * sizeof(Entry));
  seed.file_ = *std::move(file);
  return seed;
}

std::optional<std::string> OpSeed::find(const char *kind, std::string_view key) const {
  std::string wanted = keyOf(identity_, kind, key);
  auto entryAt = [&](size_t i) {
    Entry entry;
    std::memcpy(&entry, entries_.data() + i * sizeof entry, sizeof entry);
    return entry;
  };
  size_t low = 0, high = entries_.size() / sizeof(Entry);
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (std::memcmp(entryAt(middle).key, wanted.data(), sizeof Entry::key) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  if (low * sizeof(Entry) == entries_.size())
    return std::nullopt;
  Entry entry = entryAt(low);
  if (std::memcmp(entry.key, wanted.data(), sizeof entry.key) != 0 || entry.offset > file_->bytes().size() ||
      entry.bytes > file_->bytes().size() - entry.offset)
    return std::nullopt;
  const char *bytes = reinterpret_cast<const char *>(file_->bytes().data()) + entry.offset;
  if (XXH3_64bits(bytes, entry.bytes) != entry.checksum)
    return std::nullopt;
  return std::string(bytes, entry.bytes);
}

void OpSeedWriter::add(const char *kind, std::string_view key, std::string bytes) { entries_[keyOf(identity_, kind, key)] = std::move(bytes); }

Status OpSeedWriter::write(const std::string &path) const {
  std::string head(kMagic), body;
  auto number = [&](uint64_t value) { head.append(reinterpret_cast<const char *>(&value), sizeof value); };
  number(identity_.size());
  head += identity_;
  number(entries_.size());
  uint64_t begin = head.size() + entries_.size() * sizeof(Entry);
  for (const auto &[key, bytes] : entries_) {
    Entry entry{{}, begin + body.size(), bytes.size(), XXH3_64bits(bytes.data(), bytes.size())};
    std::memcpy(entry.key, key.data(), sizeof entry.key);
    head.append(reinterpret_cast<const char *>(&entry), sizeof entry);
    body += bytes;
  }
  GRAPHC_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  GRAPHC_RETURN_IF_ERROR(file.write(head.data(), head.size()));
  GRAPHC_RETURN_IF_ERROR(file.write(body.data(), body.size()));
  return file.commit();
}

} // namespace graphc::eager
