#include "runtime/base/DType.h"

namespace graphc {

static constexpr std::string_view names[kNumDTypes] = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16",
                                                       "i8",  "u64", "u32", "u16",  "u8",  "bool"};

std::string_view dtypeName(DType type) { return names[static_cast<int>(type)]; }

std::optional<DType> dtypeFromName(std::string_view name) {
  for (int i = 0; i < kNumDTypes; ++i)
    if (names[i] == name)
      return static_cast<DType>(i);
  return std::nullopt;
}

} // namespace graphc
