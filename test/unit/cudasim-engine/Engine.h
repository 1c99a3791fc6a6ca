// Running kernels on the engine directly: for tests of reports, options and internals.
#pragma once

#include "runtime/cudasim/engine/Engine.h"
#include "tools/bench/cudasim/Nvrtc.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>

namespace graphc::cudasim {

inline Nvrtc &nvrtc() {
  static Nvrtc instance;
  return instance;
}

/// PTX of a CUDA source, compiled once; empty (and a skip is due) without NVRTC.
inline const std::string &ptxOf(const std::string &source, const std::string &arch = "compute_80", std::vector<std::string> options = {}) {
  static std::map<std::string, std::string> cache;
  std::string key = arch;
  for (const std::string &option : options)
    key += option;
  auto [it, isNew] = cache.try_emplace(key + source);
  if (isNew) {
    std::string log;
    it->second = nvrtc().compile(source, arch, log, options);
    if (it->second.empty())
      ADD_FAILURE() << log;
  }
  return it->second;
}

/// One device and what runs on it.
class Bench {
public:
  explicit Bench(bool trackDefined = false, const char *gpu = "A100")
      : model(*DeviceModel::named(gpu)), memory(0, uint64_t(4) << 30, trackDefined) {}

  DeviceModel model;
  MemorySpace memory;
  LaunchConfig config;
  std::unique_ptr<Module> module;
  std::string log;

  bool load(const std::string &ptx) {
    module = Module::load(ptx, model, memory, log);
    return module != nullptr;
  }
  template <class T>
  T *allocate(size_t count, const char *label = "", bool defined = true) {
    uint64_t address = memory.allocate(count * sizeof(T), 256, AllocationKind::Device, label);
    if (defined) {
      std::memset(reinterpret_cast<void *>(address), 0, count * sizeof(T));
      memory.markDefined(address, count * sizeof(T));
    }
    return reinterpret_cast<T *>(address);
  }
  template <class... Args>
  LaunchResult run(const char *name, Dim3 grid, Dim3 block, Args... args) {
    std::vector<std::byte> params;
    auto add = [&](auto value) {
      size_t at = (params.size() + sizeof value - 1) / sizeof value * sizeof value;
      params.resize(at + sizeof value);
      std::memcpy(params.data() + at, &value, sizeof value);
    };
    (add(args), ...);
    int index = module ? module->findFunction(name) : -1;
    if (index < 0) {
      ADD_FAILURE() << "no kernel " << name << " " << log;
      return {};
    }
    config.grid = grid;
    config.block = block;
    config.params = params;
    return launch(*module, size_t(index), memory, model, config);
  }
};

inline std::string messages(const LaunchResult &result) {
  std::string text = std::string(statusName(result.status)) + " " + result.error;
  for (const Finding &finding : result.findings)
    text += "\n" + finding.message;
  return text;
}
inline bool has(const LaunchResult &result, FindingKind kind) {
  for (const Finding &finding : result.findings)
    if (finding.kind == kind)
      return true;
  return false;
}

#define CLEAN(result) \
  do { \
    const LaunchResult &r_ = (result); \
    ASSERT_EQ(r_.status, LaunchStatus::Ok) << messages(r_); \
    for (const Finding &f_ : r_.findings) \
      ASSERT_FALSE(f_.isError) << f_.message; \
  } while (false)
#define FINDS(result, kind) \
  do { \
    LaunchResult r_ = (result); \
    ASSERT_TRUE(has(r_, FindingKind::kind)) << "expected " #kind ", got " << messages(r_); \
    ASSERT_NE(r_.status, LaunchStatus::Ok); \
  } while (false)

class EngineTest : public testing::Test {
protected:
  void SetUp() override {
    if (!nvrtc().available())
      GTEST_SKIP() << "libnvrtc was not found";
  }
};

} // namespace graphc::cudasim
