// What optimizers, schedulers, averages and loaders put into a checkpoint: tensors and small values under names.
#pragma once

#include "frontend/graphc/tensor.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace graphc {

struct SavedState {
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::map<std::string, std::string> values;

  void set(const std::string &name, double value); // read back exactly
  void set(const std::string &name, int64_t value);
  void set(const std::string &name, const std::string &value) { values[name] = value; }
  /// Errors say `what` is missing or unreadable.
  double number(const std::string &name, const std::string &what) const;
  int64_t integer(const std::string &name, const std::string &what) const;
  const std::string &word(const std::string &name, const std::string &what) const;
  /// Undefined when there is none.
  Tensor tensor(const std::string &name) const;
};

} // namespace graphc
