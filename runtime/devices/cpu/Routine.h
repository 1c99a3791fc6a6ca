// What the runtime computes itself because no loop nest describes it: sorting, searching, compaction, non-maximum
// suppression. One file per family in routines/; the list of all is routines/Registry.cpp.
#pragma once

#include "runtime/base/DType.h"
#include "runtime/base/Status.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace graphc::cpu {

/// Operand at concrete sizes; strides in elements, `data` already at the operand's offset.
struct RoutineTensor {
  DType dtype = DType::F32;
  std::span<const int64_t> dims;
  std::span<const int64_t> strides;
  void *data = nullptr; // null: operand absent

  bool present() const { return data != nullptr; }
  int rank() const { return static_cast<int>(dims.size()); }
  int64_t elements() const {
    int64_t product = 1;
    for (int64_t dim : dims)
      product *= dim;
    return product;
  }
  bool dense() const {
    int64_t expected = 1;
    for (size_t i = dims.size(); i-- > 0;) {
      if (dims[i] != 1 && strides[i] != expected)
        return false;
      expected *= dims[i];
    }
    return true;
  }
};

struct RoutineAttribute {
  std::string_view name;
  std::span<const int64_t> ints;
  std::span<const double> floats;
  std::span<const std::string> strings;
};

struct RoutineArgs {
  std::span<const RoutineTensor> inputs;
  std::span<const RoutineTensor> outputs;
  std::span<const RoutineAttribute> attributes;
  std::span<const int64_t> exprs;   // host integers
  std::span<int64_t> symbols;       // sizes the routine decides
  std::vector<std::byte> *scratch;  // grows as needed, kept by the context

  int64_t intAttribute(std::string_view name, int64_t fallback) const {
    for (const RoutineAttribute &attribute : attributes)
      if (attribute.name == name && !attribute.ints.empty())
        return attribute.ints[0];
    return fallback;
  }
  bool hasAttribute(std::string_view name) const {
    for (const RoutineAttribute &attribute : attributes)
      if (attribute.name == name)
        return true;
    return false;
  }
  std::string_view stringAttribute(std::string_view name, std::string_view fallback) const {
    for (const RoutineAttribute &attribute : attributes)
      if (attribute.name == name && !attribute.strings.empty())
        return attribute.strings[0];
    return fallback;
  }
  double floatAttribute(std::string_view name, double fallback) const {
    for (const RoutineAttribute &attribute : attributes)
      if (attribute.name == name && !attribute.floats.empty())
        return attribute.floats[0];
    return fallback;
  }
};

/// The plan may know the size already, and then asks for no symbol.
inline void decideSize(const RoutineArgs &args, size_t symbol, int64_t size) {
  if (symbol < args.symbols.size())
    args.symbols[symbol] = size;
}

using RoutineFn = Status (*)(const RoutineArgs &);

struct RoutineEntry {
  std::string_view name;
  int minInputs, maxInputs, outputs, maxSymbols;
  RoutineFn run;
};

/// Null when there is no routine of this name.
const RoutineEntry *findRoutine(std::string_view name);
/// Every routine, for messages and documentation.
std::span<const RoutineEntry> allRoutines();

} // namespace graphc::cpu
