#include "codegen/cpu/CpuTarget.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/TargetParser/Host.h"

#include <vector>

using namespace graphc::codegen::cpu;

llvm::StringRef CpuTarget::name() const {
  switch (level) {
  case CpuLevel::v3: return "v3";
  case CpuLevel::v4: return "v4";
  case CpuLevel::v4Bf16: return "v4-bf16";
  case CpuLevel::v4Amx: return "v4-amx";
  }
  return "";
}

llvm::StringRef CpuTarget::llvmCpu() const { return level == CpuLevel::v3 ? "x86-64-v3" : "x86-64-v4"; }

llvm::StringRef CpuTarget::llvmFeatures() const {
  switch (level) {
  case CpuLevel::v4Bf16: return "+avx512bf16,+avx512vnni";
  case CpuLevel::v4Amx: return "+avx512bf16,+avx512vnni,+amx-tile,+amx-bf16,+amx-int8";
  default: return "";
  }
}

static std::vector<llvm::StringRef> featuresOf(CpuLevel level) {
  std::vector<llvm::StringRef> features = {"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"};
  if (level >= CpuLevel::v4)
    features.insert(features.end(), {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  if (level >= CpuLevel::v4Bf16)
    features.insert(features.end(), {"avx512bf16", "avx512vnni"});
  if (level >= CpuLevel::v4Amx)
    features.insert(features.end(), {"amx-tile", "amx-bf16", "amx-int8"});
  return features;
}

graphc::TargetInfo CpuTarget::info() const {
  TargetInfo info;
  info.vectorBytes = vectorBytes();
  info.vectorRegisters = level == CpuLevel::v3 ? 16 : 32;
  info.masks = hasMasks();
  info.bf16Attention = level == CpuLevel::v4Amx;
  info.bf16Products = info.exactInt8 = level >= CpuLevel::v4Bf16; // the level includes VNNI
  return info;
}

std::optional<std::string> CpuTarget::missingOnHost() const {
  auto host = llvm::sys::getHostCPUFeatures();
  std::string missing;
  for (llvm::StringRef feature : featuresOf(level))
    if (!host.lookup(feature))
      missing += (missing.empty() ? "" : ", ") + feature.str();
  if (missing.empty())
    return std::nullopt;
  return "cpu level " + name().str() + " needs " + missing + ", which this machine does not have";
}

std::optional<CpuTarget> CpuTarget::host() {
  for (CpuLevel level : {CpuLevel::v4Amx, CpuLevel::v4Bf16, CpuLevel::v4, CpuLevel::v3})
    if (CpuTarget target{level}; !target.missingOnHost())
      return target;
  return std::nullopt;
}

std::optional<CpuTarget> CpuTarget::parse(llvm::StringRef name) {
  if (name == "host")
    return host();
  for (CpuLevel level : {CpuLevel::v3, CpuLevel::v4, CpuLevel::v4Bf16, CpuLevel::v4Amx})
    if (CpuTarget target{level}; target.name() == name)
      return target;
  return std::nullopt;
}
