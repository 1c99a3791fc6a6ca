// The levels of x86-64 kernels are compiled for.
#pragma once
#include "ir/target/TargetInfo.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace graphc::codegen::cpu {

/// v3: AVX2 + FMA + F16C. v4: AVX-512 F/BW/CD/DQ/VL. v4-bf16: v4 with AVX512_BF16 and VNNI. v4-amx: v4-bf16 with AMX.
enum class CpuLevel { v3, v4, v4Bf16, v4Amx };

struct CpuTarget {
  CpuLevel level = CpuLevel::v3;

  llvm::StringRef name() const;
  /// LLVM's cpu and feature strings.
  llvm::StringRef llvmCpu() const;
  llvm::StringRef llvmFeatures() const;
  int64_t vectorBytes() const { return level == CpuLevel::v3 ? 32 : 64; }
  /// Masked memory access of every element size.
  bool hasMasks() const { return level != CpuLevel::v3; }
  /// What passes may know of the level.
  TargetInfo info() const;

  /// Why this machine cannot run the level, or nothing when it can.
  std::optional<std::string> missingOnHost() const;

  /// Highest level this machine runs; nothing below v3.
  static std::optional<CpuTarget> host();
  /// "v3", "v4", "v4-bf16", "v4-amx" or "host".
  static std::optional<CpuTarget> parse(llvm::StringRef name);
};

} // namespace graphc::codegen::cpu
