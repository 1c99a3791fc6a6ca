// What passes may ask of the machine they compile for. Targets fill it in, frontend/compile hands it on; no pass looks at a
// processor, a device or a library itself.
#pragma once
#include <cstdint>

namespace graphc {

struct TargetInfo {
  bool library = true;       // a library contracts what it can; otherwise every contraction is a generated kernel
  bool routines = true;      // the runtime sorts, scatters and searches; otherwise kernels do
  int64_t vectorBytes = 32;
  int64_t vectorRegisters = 16;
  bool masks = false;        // masked memory access of every element size
  bool bf16Products = false; // bf16 x bf16 accumulated in f32, by instructions of its own
  bool bf16Attention = false; // attention on bf16 as one piece
  bool exactInt8 = false;    // 8-bit products accumulated in 32 bits without saturation on the way
};

} // namespace graphc
