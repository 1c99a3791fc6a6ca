#include "frontend/compile/Phases.h"
#include "codegen/common/Passes.h"
#include "codegen/cuda/Passes.h"
#include "ir/graph/Control.h"
#include "ir/kernel/Kernel.h"
#include "ir/plan/Plan.h"
#include "mlir/Transforms/Passes.h"
#include "passes/autocast/Autocast.h"
#include "passes/control/Control.h"
#include "passes/decompose/Decompose.h"
#include "passes/differentiate/Differentiate.h"
#include "passes/fuse/Fuse.h"
#include "passes/kernels/AttentionKernel.h"
#include "passes/kernels/Kernels.h"
#include "passes/layout/Layout.h"
#include "passes/plan/PlaceBuffers.h"
#include "passes/raise/Raise.h"
#include "passes/simplify/Simplify.h"

using namespace mlir;
using namespace graphc;

namespace {

/// Every op of every function satisfies `allowed`.
LogicalResult onlyOps(ModuleOp module, llvm::function_ref<bool(Operation *)> allowed, StringRef promise) {
  LogicalResult result = success();
  for (auto func : module.getOps<func::FuncOp>())
    func.walk([&](Operation *op) {
      if (op == func || isa<func::ReturnOp>(op) || allowed(op))
        return;
      op->emitError() << "breaks a contract: " << promise;
      result = failure();
    });
  return result;
}

/// An op with bodies, or what ends one.
bool isStructure(Operation *op) { return graph::isControl(op) || isa<graph::YieldOp>(op); }

LogicalResult imported(ModuleOp module) {
  return onlyOps(module, [](Operation *op) { return !isa<UnknownLoc>(op->getLoc()); }, "every op has a location");
}
LogicalResult anything(ModuleOp) { return success(); }
LogicalResult differentiated(ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>())
    if (func->hasAttr(kGradientOf))
      return func.emitError() << "breaks a contract: no function asks for gradients any more";
  return success();
}
LogicalResult decomposed(ModuleOp module) {
  return onlyOps(module, [](Operation *op) { return !isa<graph::Composite>(op) || isa<graph::AttentionOp>(op); },
                 "no composite is left but those that a target keeps whole");
}
LogicalResult selected(ModuleOp module) {
  return onlyOps(module, [](Operation *op) { return !isa<graph::Contraction, graph::Composite>(op) || op->hasAttr("by"); },
                 "every contraction is decided");
}
LogicalResult fused(ModuleOp module) {
  return onlyOps(
      module,
      [](Operation *op) {
        return isa<graph::GroupOp, graph::ConstantOp, graph::GetWeightOp, graph::AssumeEqualOp>(op) ||
               isa<graph::GroupOp>(op->getParentOp()) || isStructure(op);
      },
      "every op is in a group");
}
LogicalResult outlined(ModuleOp module) {
  return onlyOps(
      module,
      [](Operation *op) {
        return isa<plan::PlanDialect>(op->getDialect()) || isa<graph::ConstantOp, graph::GetWeightOp>(op) || isStructure(op);
      },
      "only plan commands, control flow, literals and weights are left");
}
LogicalResult placed(ModuleOp module) {
  return onlyOps(
      module,
      [](Operation *op) {
        return op->hasAttr("place") || op->getNumResults() == 0 ||
               isa<plan::ViewOp, graph::ConstantOp, graph::GetWeightOp>(op);
      },
      "every result has a place");
}

/// What a target keeps whole: attention on bf16, where the program asked for bf16 (what it wrote in bf16 itself is computed in f32,
/// see `graphc-widen-contractions`).
KeepsWhole keptBy(const TargetInfo &target) {
  return [bf16 = target.bf16Attention](graph::Composite op) {
    auto attention = dyn_cast<graph::AttentionOp>(op.getOperation());
    Type low = autocastTypeAt(op);
    if (!attention || !bf16 || !low || !low.isBF16())
      return false;
    auto element = [](Value v) { return cast<RankedTensorType>(v.getType()).getElementType(); };
    Value mask = attention.getMask();
    bool maskFits = !mask || element(mask).isF32() || element(mask).isBF16() || element(mask).isInteger(1);
    return maskFits && llvm::all_of(ValueRange{attention.getQuery(), attention.getKey(), attention.getValue()},
                                    [&](Value v) { return element(v).isBF16(); });
  };
}

void simplifyWith(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

const Phase table[] = {
    {"import", "trace, ONNX or parse; sizes become symbols", [](OpPassManager &, const PhaseContext &) {}, imported},
    {"raise", "recognise what exporters spell out",
     [](OpPassManager &pm, const PhaseContext &) {
       simplifyWith(pm);
       pm.addPass(createRaisePass());
       pm.addPass(createFoldNormsPass());
     },
     anything},
    {"autocast", "mixed precision by op class, inside regions",
     [](OpPassManager &pm, const PhaseContext &context) { pm.addPass(createAutocastPass(context.amp)); }, verifyAutocast},
    {"differentiate", "functions marked for it return gradients as well",
     [](OpPassManager &pm, const PhaseContext &) { pm.addPass(createDifferentiatePass()); }, differentiated},
    {"decompose", "composites become primitives by formula",
     [](OpPassManager &pm, const PhaseContext &context) {
       pm.addPass(createDecomposePass(context.cuda ? KeepsWhole([](graph::Composite op) { return isOneKernelAttention(op); }) : keptBy(context.info)));
     },
     decomposed},
    {"simplify", "canonicalise, fold, share common expressions",
     [](OpPassManager &pm, const PhaseContext &context) {
       // What the program asked for in an autocast region is computed so where the target can.
       bool bf16 = context.info.bf16Products;
       pm.addPass(createWidenContractionsPass([bf16](graph::Contraction op) {
         Type low = autocastTypeAt(op);
         return bf16 && low && low.isBF16() && cast<RankedTensorType>(op->getResult(0).getType()).getElementType().isBF16();
       }));
       pm.addPass(createControlPass());
       pm.addPass(createSimplifyPass());
     },
     anything},
    {"layout", "channels last through convolution networks",
     [](OpPassManager &pm, const PhaseContext &) {
       pm.addPass(createLayoutPass());
       pm.addPass(createSimplifyPass());
       pm.addPass(createSinkShufflesPass());
     },
     anything},
    {"select", "library or generated kernel, for each contraction",
     [](OpPassManager &pm, const PhaseContext &context) { pm.addNestedPass<func::FuncOp>(createSelectPass(context.info)); }, selected},
    {"fuse", "group ops into kernels and library calls",
     [](OpPassManager &pm, const PhaseContext &context) {
       if (!context.cuda) // its kernels are split by their own rules
         pm.addNestedPass<func::FuncOp>(createStageReductionsPass());
       pm.addNestedPass<func::FuncOp>(createFusePass(/*unfused=*/!context.fuse));
       if (context.probeGroups)
         pm.addNestedPass<func::FuncOp>(createProbeGroupsPass());
     },
     fused},
    {"kernels", "groups become scheduled loops and plan commands",
     [](OpPassManager &pm, const PhaseContext &context) {
       pm.addPass(createKernelsPass());
       if (context.cuda) {
         pm.addPass(codegen::cuda::createCudaSplitReductions());
         pm.addNestedPass<kernel::FuncOp>(codegen::cuda::createKernelScheduleCuda());
         return;
       }
       pm.addPass(createJoinKernelsPass());
       codegen::KernelScheduleOptions schedule;
       schedule.vectorBytes = context.target.vectorBytes();
       schedule.masks = context.target.hasMasks();
       pm.addNestedPass<kernel::FuncOp>(codegen::createKernelSchedule(schedule));
     },
     outlined},
    {"plan", "where results live",
     [](OpPassManager &pm, const PhaseContext &) {
       pm.addNestedPass<func::FuncOp>(createTiedResultsPass());
       pm.addNestedPass<func::FuncOp>(createPlaceBuffersPass());
     },
     placed},
};
} // namespace

ArrayRef<Phase> graphc::phases() { return table; }

TargetInfo graphc::cudaTargetInfo() {
  TargetInfo info;
  info.library = info.routines = false;
  info.bf16Products = true;
  return info;
}
