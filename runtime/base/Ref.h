// Shared ownership in one word: the count lies in the object. For tensors, storages and autograd nodes, of which a step makes
// thousands.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace graphc {

struct RefCounted {
  std::atomic<uint32_t> refs{1};
};

/// Objects define `retain(T *)` and `release(T *)`, found by their namespace; release frees at zero.
template <typename T>
class Ref {
public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  /// One more reference.
  explicit Ref(T *object) : object_(object) {
    if (object_)
      retain(object_);
  }
  /// Takes over a reference that exists.
  static Ref adopt(T *object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  Ref(const Ref &other) : Ref(other.object_) {}
  Ref(Ref &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  template <typename U>
  Ref(Ref<U> &&other) noexcept : object_(other.leave()) {}
  Ref &operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_)
      release(object_);
  }
  T *get() const { return object_; }
  T *operator->() const { return object_; }
  T &operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const Ref &other) const { return object_ == other.object_; }
  /// Gives the reference to the caller.
  T *leave() { return std::exchange(object_, nullptr); }

private:
  T *object_ = nullptr;
};

inline void addReference(RefCounted &object) { object.refs.fetch_add(1, std::memory_order_relaxed); }
/// True for the last one.
inline bool dropReference(RefCounted &object) {
  return object.refs.load(std::memory_order_acquire) == 1 || object.refs.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

} // namespace graphc
