// The one visible list of routines.
#include "runtime/devices/cpu/routines/Routines.h"

namespace graphc::cpu {

namespace {

// name, inputs from..to, outputs, sizes decided at most
constexpr RoutineEntry entries[] = {
    {"sort", 1, 1, 2, 0, routines::sort},
    {"topk", 1, 1, 2, 0, routines::topk},
    {"nonzero", 1, 1, 1, 1, routines::nonzero},
    {"compress", 2, 2, 1, 1, routines::compress},
    {"unique", 1, 1, 4, 1, routines::unique},
    {"nms", 2, 5, 1, 1, routines::nonMaxSuppression},
    {"scatter_elements", 3, 3, 1, 0, routines::scatterElements},
    {"scatter_nd", 3, 3, 1, 0, routines::scatterNd},
    {"cumulative", 1, 1, 1, 0, routines::cumulative},
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
