// The plan in memory (FlatBuffers object API, namespace graphc::plan) and the way to its bytes and back.
//
// Libraries that include this header link `graphc_plan`, which generates the schema's header first.
#pragma once

#include "runtime/base/DType.h"
#include "runtime/base/Status.h"
#include "runtime/plan/Plan_generated.h"

#include <span>
#include <string>
#include <vector>

namespace graphc::plan {

inline graphc::DType toDType(plan::DType type) { return static_cast<graphc::DType>(type); }
inline plan::DType fromDType(graphc::DType type) { return static_cast<plan::DType>(type); }

/// Serialises; the same plan gives the same bytes.
std::vector<uint8_t> toBytes(const PlanT &plan);

/// Parses bytes that may be damaged: verifies the FlatBuffers structure and the version. Whether the plan makes
/// sense is the business of checkPlan().
Result<std::unique_ptr<PlanT>> fromBytes(std::span<const uint8_t> bytes);

inline constexpr uint32_t kPlanVersion = 1;

} // namespace graphc::plan
