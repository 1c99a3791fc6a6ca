// The passes around Schedule and MathExpansion.
#include "codegen/common/Passes.h"

#include "codegen/common/MathExpansion.h"
#include "codegen/common/Schedule.h"

namespace graphc::codegen {
#define GEN_PASS_DEF_KERNELSCHEDULE
#define GEN_PASS_DEF_KERNELEXPANDMATH
#include "codegen/common/Passes.h.inc"

namespace {
struct KernelSchedule : impl::KernelScheduleBase<KernelSchedule> {
  using KernelScheduleBase::KernelScheduleBase;
  void runOnOperation() override {
    if (!getOperation().getScheduleAttr())
      scheduleKernel(getOperation(), {vectorBytes, masks});
  }
};

struct KernelExpandMath : impl::KernelExpandMathBase<KernelExpandMath> {
  void runOnOperation() override { expandMath(getOperation()); }
};
} // namespace
} // namespace graphc::codegen
