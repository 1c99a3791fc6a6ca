// Tensors as command lines spell them: `[NAME=]SPEC`.
//
//   FILE.npy  FILE.pb           a file (NumPy, ONNX TensorProto)
//   1x3x224x224xf32=0.5         every element
//   4xi64=[1 2 3 4]             row-major; commas and inner brackets may stand anywhere between the numbers
//   2x2xf32=random:7            a seed: floats uniform in [-1, 1), integers and bools 0 or 1 (valid as token ids and masks)
//   8xf32=ramp                  k/n at flat index k of n; integers count k
//   f32=1                       rank 0
#pragma once

#include "runtime/base/HostTensor.h"

#include <optional>
#include <string>
#include <string_view>

namespace graphc {

struct NamedTensor {
  std::optional<std::string> name;
  HostTensor tensor;
};

/// NAME is what stands before the first '=' when that is not itself a type.
Result<NamedTensor> parseTensorSpec(std::string_view spec);

/// "1x3xf32"; "f32" is rank 0.
std::optional<std::pair<DType, Shape>> parseTensorType(std::string_view spelled);
std::string tensorTypeText(DType dtype, const Shape &shape);

/// The values of `=random:SEED`: element k depends on the seed and k alone.
void fillRandom(HostTensor &tensor, uint64_t seed);
void fillRamp(HostTensor &tensor);

} // namespace graphc
