// Handles of the C API: pointers that a table knows.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

namespace graphc::cudasim {

/// Owns the objects behind one kind of handle, in order of creation.
template <typename T>
class Table {
public:
  T *add(std::unique_ptr<T> object) {
    T *pointer = object.get();
    objects.emplace(pointer, std::move(object));
    order.push_back(pointer);
    return pointer;
  }
  template <typename Handle>
  T *find(Handle handle) const {
    auto it = objects.find(reinterpret_cast<T *>(handle));
    return it == objects.end() ? nullptr : it->second.get();
  }
  void erase(T *object) {
    std::erase(order, object);
    objects.erase(object);
  }
  const std::vector<T *> &all() const { return order; }
  void clear() {
    while (!order.empty())
      erase(order.back());
  }

private:
  std::unordered_map<T *, std::unique_ptr<T>> objects;
  std::vector<T *> order;
};

} // namespace graphc::cudasim
