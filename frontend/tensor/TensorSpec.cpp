#include "frontend/tensor/TensorSpec.h"

#include "frontend/tensor/Element.h"
#include "frontend/tensor/Npy.h"
#include "frontend/tensor/TensorProtoFile.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

namespace graphc {
namespace {

constexpr std::string_view kForms = "FILE.npy, FILE.pb, 1x3xf32=0.5, 4xi64=[1 2 3 4], 4xf32=random:7 or 4xf32=ramp";

uint64_t splitMix(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

/// A number, `nan`, `inf`, `true` or `false`; integers keep all 64 bits.
std::optional<long double> parseNumber(std::string_view spelled) {
  if (spelled == "true")
    return 1;
  if (spelled == "false")
    return 0;
  if (spelled.empty())
    return std::nullopt;
  std::string owned(spelled);
  char *end = nullptr;
  long double value = std::strtold(owned.c_str(), &end);
  return end == owned.c_str() + owned.size() ? std::optional(value) : std::nullopt;
}

/// Why `value` cannot be an element of `dtype`, or nothing.
std::optional<std::string> whyUnfit(DType dtype, long double value) {
  if (isFloat(dtype))
    return std::nullopt;
  return withElementType(dtype, [&](auto sample) -> std::optional<std::string> {
    using T = decltype(sample);
    if constexpr (std::is_integral_v<T>) {
      if (std::isnan(value) || std::isinf(value) || value != std::trunc(value))
        return text("is not an integer");
      long double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
      if (value < low || value > high)
        return text("is outside ", dtype, "'s range ", +std::numeric_limits<T>::min(), " to ", +std::numeric_limits<T>::max());
    }
    return std::nullopt;
  });
}

Status fillList(HostTensor &tensor, std::string_view list) {
  int64_t k = 0, n = tensor.elements();
  int depth = 0;
  size_t at = 0;
  while (at < list.size()) {
    char c = list[at];
    if (c == ' ' || c == ',' || c == '\t' || c == '\n') {
      ++at;
    } else if (c == '[') {
      ++depth, ++at;
    } else if (c == ']') {
      if (--depth < 0)
        return error(Code::InvalidOption, "a ']' without its '['");
      ++at;
    } else {
      size_t end = list.find_first_of(" ,[]\t\n", at);
      end = end == std::string_view::npos ? list.size() : end;
      std::string_view word = list.substr(at, end - at);
      auto value = parseNumber(word);
      if (!value)
        return error(Code::InvalidOption, "'", word, "' is not a number");
      if (auto why = whyUnfit(tensor.dtype(), *value))
        return error(Code::InvalidOption, "element ", k, ": ", word, " ", *why);
      if (k < n)
        writeElement(tensor, k, *value);
      ++k;
      at = end;
    }
  }
  if (depth != 0)
    return error(Code::InvalidOption, "a '[' without its ']'");
  if (k != n)
    return error(Code::InvalidOption, "shape ", tensor.shape(), " needs ", n, " elements, the list has ", k);
  return {};
}

Status fillFrom(HostTensor &tensor, std::string_view value) {
  if (value == "ramp") {
    fillRamp(tensor);
    return {};
  }
  if (value == "random" || value.starts_with("random:")) {
    uint64_t seed = 0;
    if (value.size() > 6) {
      std::string_view digits = value.substr(7);
      auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
      if (problem != std::errc() || end != digits.data() + digits.size() || digits.empty())
        return error(Code::InvalidOption, "'", digits, "' is not a seed; write random:7");
    }
    fillRandom(tensor, seed);
    return {};
  }
  if (value.starts_with("["))
    return fillList(tensor, value);
  auto number = parseNumber(value);
  if (!number)
    return error(Code::InvalidOption, "'", value, "' is neither a number, a [list], random[:SEED] nor ramp");
  if (auto why = whyUnfit(tensor.dtype(), *number))
    return error(Code::InvalidOption, value, " ", *why);
  for (int64_t k = 0; k < tensor.elements(); ++k)
    writeElement(tensor, k, *number);
  return {};
}

Result<HostTensor> parseUnnamed(std::string_view spec) {
  if (spec.ends_with(".npy"))
    return readNpy(std::string(spec));
  if (spec.ends_with(".pb"))
    return readTensorProto(std::string(spec));
  size_t equals = spec.find('=');
  auto type = parseTensorType(spec.substr(0, equals));
  if (!type)
    return error(Code::InvalidOption, "tensor '", spec, "': expected ", kForms);
  if (equals == std::string_view::npos)
    return error(Code::InvalidOption, "tensor '", spec, "': a value is missing; write ", spec, "=0, =random or =ramp");
  auto elements = type->second.checkedElements();
  if (!elements)
    return error(Code::InvalidOption, "tensor '", spec, "': too many elements");
  GRAPHC_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::allocate(type->first, type->second));
  if (Status status = fillFrom(tensor, spec.substr(equals + 1)); !status.ok())
    return error(status.code(), "tensor '", spec.substr(0, 60), spec.size() > 60 ? "…" : "", "': ", status.message());
  return tensor;
}

} // namespace

/// Whether `spelled` is a type but for sizes below zero.
static bool hasNegativeSize(std::string_view spelled) {
  std::string positive;
  for (size_t i = 0; i < spelled.size(); ++i)
    if (spelled[i] != '-' || (i > 0 && spelled[i - 1] != 'x'))
      positive += spelled[i];
  return positive.size() < spelled.size() && parseTensorType(positive);
}

std::optional<std::pair<DType, Shape>> parseTensorType(std::string_view spelled) {
  std::vector<int64_t> dims;
  while (true) {
    size_t x = spelled.find('x');
    std::string_view word = spelled.substr(0, x);
    if (x == std::string_view::npos) {
      auto dtype = dtypeFromName(word);
      return dtype ? std::optional(std::pair(*dtype, Shape(std::move(dims)))) : std::nullopt;
    }
    int64_t dim = 0;
    auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), dim);
    if (problem != std::errc() || end != word.data() + word.size() || dim < 0)
      return std::nullopt;
    dims.push_back(dim);
    spelled.remove_prefix(x + 1);
  }
}

std::string tensorTypeText(DType dtype, const Shape &shape) {
  std::string spelled;
  for (int64_t dim : shape)
    spelled += text(dim, "x");
  return spelled + std::string(dtypeName(dtype));
}

Result<NamedTensor> parseTensorSpec(std::string_view spec) {
  size_t equals = spec.find('=');
  NamedTensor named;
  size_t last = spec.find('=', equals == std::string_view::npos ? 0 : equals + 1); // of a named one: where its type ends
  for (std::string_view type : {spec.substr(0, equals), equals == std::string_view::npos ? spec : spec.substr(equals + 1, last - equals - 1)})
    if (hasNegativeSize(type))
      return error(Code::InvalidOption, "tensor '", type, "': a size is negative; sizes are 0 or more");
  if (equals != std::string_view::npos && equals > 0 && !parseTensorType(spec.substr(0, equals))) {
    named.name = std::string(spec.substr(0, equals));
    spec.remove_prefix(equals + 1);
  }
  GRAPHC_ASSIGN_OR_RETURN(named.tensor, parseUnnamed(spec));
  return named;
}

void fillRandom(HostTensor &tensor, uint64_t seed) {
  uint64_t base = splitMix(seed);
  bool real = isFloat(tensor.dtype());
  for (int64_t k = 0; k < tensor.elements(); ++k) {
    uint64_t bits = splitMix(base + static_cast<uint64_t>(k));
    // 24 bits: exact in f32 and above.
    writeElement(tensor, k, real ? static_cast<long double>(bits >> 40) / (1 << 23) - 1 : static_cast<long double>(bits >> 63));
  }
}

void fillRamp(HostTensor &tensor) {
  int64_t n = tensor.elements();
  bool real = isFloat(tensor.dtype());
  for (int64_t k = 0; k < n; ++k) {
    if (real)
      writeElement(tensor, k, static_cast<double>(k) / static_cast<double>(n));
    else // wraps in narrow integers
      withElementType(tensor.dtype(), [&](auto sample) {
        using T = decltype(sample);
        if constexpr (std::is_integral_v<T>)
          writeElement(tensor, k, static_cast<T>(k));
      });
  }
}

} // namespace graphc
