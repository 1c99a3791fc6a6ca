#include "runtime/devices/cpu/CpuLevel.h"

#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace graphc::cpu {

static constexpr std::string_view names[] = {"v3", "v4", "v4-bf16", "v4-amx"};

std::string_view levelName(Level level) { return names[static_cast<int>(level)]; }

std::optional<Level> levelFromName(std::string_view name) {
  for (int i = 0; i < 4; ++i)
    if (names[i] == name)
      return static_cast<Level>(i);
  return std::nullopt;
}

#if defined(__x86_64__)
static bool hasAmx() {
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
    return false;
  constexpr unsigned amxBf16 = 1u << 22, amxTile = 1u << 24, amxInt8 = 1u << 25;
  if ((d & (amxBf16 | amxTile | amxInt8)) != (amxBf16 | amxTile | amxInt8))
    return false;
  constexpr int requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return ::syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

static bool hasAvx512Bf16() {
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & (1u << 5));
}
#endif

static std::optional<Level> findHostLevel() {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2"))
    return std::nullopt;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512cd"))
    return Level::V3;
  if (!hasAvx512Bf16() || !__builtin_cpu_supports("avx512vnni"))
    return Level::V4;
  return hasAmx() ? Level::V4Amx : Level::V4Bf16;
#else
  return std::nullopt;
#endif
}

std::optional<Level> hostLevel() {
  // Asked once: on a virtual machine each CPUID leaves to the host, for tens of microseconds.
  static const std::optional<Level> level = findHostLevel();
  return level;
}

} // namespace graphc::cpu
