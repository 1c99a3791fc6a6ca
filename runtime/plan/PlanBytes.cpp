#include "runtime/plan/Plan.h"

namespace graphc::plan {

// Both enums are cast into each other.
static_assert(static_cast<int>(plan::DType::F64) == static_cast<int>(graphc::DType::F64));
static_assert(static_cast<int>(plan::DType::I64) == static_cast<int>(graphc::DType::I64));
static_assert(static_cast<int>(plan::DType::U64) == static_cast<int>(graphc::DType::U64));
static_assert(static_cast<int>(plan::DType::Bool) == static_cast<int>(graphc::DType::Bool));
static_assert(static_cast<int>(plan::DType::MAX) + 1 == kNumDTypes);

std::vector<uint8_t> toBytes(const PlanT &plan) {
  flatbuffers::FlatBufferBuilder builder(1 << 16);
  FinishPlanBuffer(builder, CreatePlan(builder, &plan));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

Result<std::unique_ptr<PlanT>> fromBytes(std::span<const uint8_t> bytes) {
  if (bytes.size() < 8 || !PlanBufferHasIdentifier(bytes.data()))
    return error(Code::PlanInvalid, "plan: these ", bytes.size(),
                 " bytes are not a graphc plan (the identifier GCPL is missing)");
  // Plans of large models hold tens of thousands of tables; the verifier's default limit is a million.
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), /*max_depth=*/64, /*max_tables=*/100'000'000);
  if (!VerifyPlanBuffer(verifier))
    return error(Code::PlanInvalid, "plan: the ", bytes.size(), " bytes are damaged (an offset leaves the buffer)");
  const Plan *root = GetPlan(bytes.data());
  if (root->version() != kPlanVersion)
    return error(Code::ArtifactVersion, "plan: version ", root->version(), " cannot be run by this runtime, which reads version ",
                 kPlanVersion, "; compile the model again");
  return std::unique_ptr<PlanT>(root->UnPack());
}

} // namespace graphc::plan
