// Types by name and size; labels by scope.
#include "runtime/cudasim/engine/Ptx.h"

namespace graphc::cudasim::ptx {

unsigned sizeOf(Type type) {
  switch (type) {
  case Type::B8: case Type::U8: case Type::S8: case Type::E4M3: case Type::E5M2:
    return 1;
  case Type::B16: case Type::U16: case Type::S16: case Type::F16: case Type::BF16: case Type::E4M3x2: case Type::E5M2x2:
    return 2;
  case Type::B32: case Type::U32: case Type::S32: case Type::F32: case Type::F16x2: case Type::BF16x2: case Type::TF32:
    return 4;
  case Type::B64: case Type::U64: case Type::S64: case Type::F64: case Type::F32x2:
    return 8;
  case Type::B128:
    return 16;
  case Type::None: case Type::Pred:
    return 0;
  }
  return 0;
}

Type typeNamed(std::string_view text) {
  static const std::unordered_map<std::string_view, Type> names = {
      {"pred", Type::Pred}, {"b8", Type::B8}, {"b16", Type::B16}, {"b32", Type::B32}, {"b64", Type::B64},
      {"b128", Type::B128}, {"u8", Type::U8}, {"u16", Type::U16}, {"u32", Type::U32}, {"u64", Type::U64},
      {"s8", Type::S8}, {"s16", Type::S16}, {"s32", Type::S32}, {"s64", Type::S64}, {"f16", Type::F16},
      {"f16x2", Type::F16x2}, {"bf16", Type::BF16}, {"bf16x2", Type::BF16x2}, {"tf32", Type::TF32},
      {"f32", Type::F32}, {"f64", Type::F64}, {"f32x2", Type::F32x2}, {"e4m3", Type::E4M3}, {"e5m2", Type::E5M2},
      {"e4m3x2", Type::E4M3x2}, {"e5m2x2", Type::E5M2x2}};
  auto it = names.find(text);
  return it == names.end() ? Type::None : it->second;
}

int Function::findLabel(std::string_view label, int scope) const {
  for (; scope >= 0; scope = scopeParents[scope])
    for (const Label &candidate : labels)
      if (candidate.scope == scope && candidate.name == label)
        return int(candidate.index);
  return -1;
}

} // namespace graphc::cudasim::ptx
