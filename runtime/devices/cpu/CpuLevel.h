// Instruction-set levels kernels are compiled for, and which of them this machine runs.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace graphc::cpu {

/// Each level includes those before it.
enum class Level { V3, V4, V4Bf16, V4Amx };

std::string_view levelName(Level level); // "v3", "v4", "v4-bf16", "v4-amx"
std::optional<Level> levelFromName(std::string_view name);

/// The highest level of this machine; nothing below v3 (no AVX2). Asks the system for AMX once, which must happen before
/// threads start.
std::optional<Level> hostLevel();

} // namespace graphc::cpu
