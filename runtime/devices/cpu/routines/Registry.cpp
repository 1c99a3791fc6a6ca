// The one visible list of routines.
#include "runtime/devices/cpu/routines/Routines.h"

namespace graphc::cpu {

namespace {

// name, inputs from..to, outputs, host integers, symbols defined
constexpr RoutineEntry entries[] = {
    {"sort", 1, 1, 2, 0, 0, routines::sort},
    {"topk", 1, 1, 2, 1, 0, routines::topk},
    {"nonzero", 1, 1, 1, 0, 1, routines::nonzero},
    {"compress", 2, 2, 1, 0, 1, routines::compress},
    {"unique", 1, 1, 4, 0, 1, routines::unique},
    {"nms", 2, 5, 1, 0, 1, routines::nonMaxSuppression},
};

} // namespace

std::span<const RoutineEntry> allRoutines() { return entries; }

const RoutineEntry *findRoutine(std::string_view name) {
  for (const RoutineEntry &entry : entries)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

} // namespace graphc::cpu
