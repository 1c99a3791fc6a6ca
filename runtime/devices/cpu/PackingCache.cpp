#include "runtime/devices/cpu/PackingCache.h"

namespace graphc::cpu {

PackingCache::~PackingCache() {
  if (account_)
    account_->remove(ownedBytes_);
}

Result<PackingCache::Packed> PackingCache::findOrPack(const void *source, const std::string &format, int64_t bytes,
                                                      const std::function<Status(void *)> &pack) {
  // Packing happens at load or on a size never seen; holding the lock meanwhile keeps it from happening twice.
  std::lock_guard lock(mutex_);
  auto key = std::make_pair(source, format);
  if (auto found = slots_.find(key); found != slots_.end())
    return found->second.packed;
  if (refused_.count(source))
    return error(Code::ArtifactTarget, "a weight was stored only as packed for another machine, thread count or library, and is needed here as '", format,
                 "'; compile the model again");
  AlignedBytes memory = allocateAligned(static_cast<size_t>(bytes));
  if (!memory)
    return error(Code::OutOfMemory, "packing a weight needs ", bytes, " bytes, which the system does not have");
  GRAPHC_RETURN_IF_ERROR(pack(memory.get()));
  Packed packed{memory.get(), bytes};
  slots_.emplace(std::move(key), Slot{packed, std::move(memory)});
  ownedBytes_ += bytes;
  if (account_)
    account_->add(bytes);
  return packed;
}

void PackingCache::adopt(const void *source, const std::string &format, Packed packed) {
  std::lock_guard lock(mutex_);
  slots_.emplace(std::make_pair(source, format), Slot{packed, nullptr});
}

void PackingCache::refuse(const void *source) {
  std::lock_guard lock(mutex_);
  refused_.insert(source);
}

std::vector<PackingCache::Entry> PackingCache::entries() const {
  std::lock_guard lock(mutex_);
  std::vector<Entry> entries;
  for (const auto &[key, slot] : slots_)
    entries.push_back({key.first, key.second, slot.packed});
  return entries;
}

int64_t PackingCache::ownedBytes() const {
  std::lock_guard lock(mutex_);
  return ownedBytes_;
}

} // namespace graphc::cpu
