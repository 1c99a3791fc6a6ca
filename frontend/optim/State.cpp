#include "frontend/graphc/state.h"

#include "frontend/tensor/Raise.h"

#include <charconv>

namespace graphc {

void SavedState::set(const std::string &name, double value) {
  char digits[32];
  auto [end, problem] = std::to_chars(digits, digits + sizeof digits, value); // the shortest form that reads back exactly
  values[name] = std::string(digits, end);
}
void SavedState::set(const std::string &name, int64_t value) { values[name] = std::to_string(value); }

const std::string &SavedState::word(const std::string &name, const std::string &what) const {
  auto found = values.find(name);
  if (found == values.end())
    raise(Code::WeightFile, what, ": the state has no '", name, "'");
  return found->second;
}

namespace {
template <typename T>
T parsed(const std::string &text, const std::string &name, const std::string &what) {
  T value{};
  auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size())
    raise(Code::WeightFile, what, ": '", name, "' is '", text, "', a number was expected");
  return value;
}
} // namespace

double SavedState::number(const std::string &name, const std::string &what) const { return parsed<double>(word(name, what), name, what); }
int64_t SavedState::integer(const std::string &name, const std::string &what) const { return parsed<int64_t>(word(name, what), name, what); }

Tensor SavedState::tensor(const std::string &name) const {
  for (const auto &[each, tensor] : tensors)
    if (each == name)
      return tensor;
  return {};
}

} // namespace graphc
