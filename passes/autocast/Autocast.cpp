// graphc-autocast. Before: ops in the types the model was written in. After: inside regions marked `graph.autocast = bf16`, ops of
// class Low compute in bf16, ops of class Full in f32, and the others in what their operands now are: the low precision
// when every computed operand is (weights and literals follow), else f32. Outside of regions nothing is touched.
// Before `decompose`, because classes belong to whole ops: a softmax stays in f32 from its first exponential to its division.
//
//     %y = graph.matmul %x, %w : f32            %y = graph.matmul (cast %x), (cast %w) : bf16
//     %z = graph.add %y, %bias : f32      →     %z = graph.add %y, (cast %bias) : bf16
//     %s = graph.softmax %z : f32               %s = graph.softmax (cast %z) : f32
//     return %s                                 return %s
//
// Casts of weights depend on weights alone, so `fuse` puts them into @prepare. A value is cast once, however many read it. What
// leaves the function keeps its type.
#include "passes/autocast/Autocast.h"
#include "ir/graph/Control.h"
#include "passes/simplify/Weights.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::graph;

Type graphc::autocastTypeAt(Operation *op) {
  for (; op; op = op->getParentOp())
    if (Attribute attr = op->getAttr(kAutocastAttr)) {
      auto type = dyn_cast<TypeAttr>(attr);
      return type ? type.getValue() : Type();
    }
  return {};
}

AutocastClass graphc::autocastClassOf(Operation *op) {
  auto classed = dyn_cast<AutocastOp>(op);
  return classed ? classed.autocastClass() : AutocastClass::Natural;
}

namespace {

class Autocast {
public:
  explicit Autocast(func::FuncOp func) : func(func) {}

  void run() {
    func.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op == func)
        return;
      Type low = autocastTypeAt(op);
      if (low && isa<GraphDialect>(op->getDialect()) && !keepsTypes(op))
        cast(op, low);
      else
        restoreOperands(op);
    });
  }

private:
  /// Weights and literals are cast where they are used; a cast already says what it wants.
  /// Bodies take and yield what they were written with.
  static bool keepsTypes(Operation *op) { return isa<ConstantOp, GetWeightOp, CastOp, YieldOp>(op) || isControl(op); }

  static bool isCastable(Type type, Type low) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && (tensor.getElementType().isF32() || tensor.getElementType() == low);
  }

  void cast(Operation *op, Type low) {
    Type wide = Float32Type::get(op->getContext());
    Type chosen;
    switch (autocastClassOf(op)) {
    case AutocastClass::Low: chosen = low; break;
    case AutocastClass::Full: chosen = wide; break;
    case AutocastClass::Natural: chosen = naturalType(op, low); break;
    }
    if (!chosen)
      return restoreOperands(op);
    auto classed = dyn_cast<AutocastOp>(op);
    for (OpOperand &operand : op->getOpOperands())
      if (isCastable(operand.get().getType(), low)) {
        bool keeps = classed && classed.keepsOperand(operand.getOperandNumber());
        operand.set(as(operand.get(), keeps ? originalElement(operand.get()) : chosen));
      }
    for (Value result : op->getResults())
      if (isCastable(result.getType(), low) && elementTypeOf(result) != chosen) {
        originals[result] = elementTypeOf(result);
        result.setType(withElementType(result.getType(), chosen));
      }
  }

  /// What an op without a class computes in; null: as written.
  Type naturalType(Operation *op, Type low) {
    bool any = false, full = false;
    for (Value operand : op->getOperands()) {
      if (!isCastable(operand.getType(), low))
        continue;
      if (dependsOnWeightsOnly(operand)) {
        full |= overflows(operand, low);
        continue;
      }
      any = true;
      full |= elementTypeOf(operand) != low;
    }
    if (!any)
      return {};
    return full ? Float32Type::get(op->getContext()) : low;
  }

  /// A literal like -3.4e38 (a mask's) would become infinite.
  static bool overflows(Value value, Type low) {
    auto number = splatNumber(value);
    if (!number || !std::isfinite(*number))
      return false;
    APFloat narrowed(*number);
    bool inexact;
    narrowed.convert(mlir::cast<FloatType>(low).getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
    return narrowed.isInfinity();
  }

  /// Ops outside of regions, and ops that leave the function, see the types they were written with.
  void restoreOperands(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (auto it = originals.find(operand.get()); it != originals.end() && !isa<CastOp>(op))
        operand.set(as(operand.get(), it->second));
  }
  Type originalElement(Value value) {
    auto it = originals.find(value);
    return it == originals.end() ? elementTypeOf(value) : it->second;
  }

  /// `value` in another element type: one cast behind its definition, shared by all readers.
  Value as(Value value, Type element) {
    if (elementTypeOf(value) == element)
      return value;
    // A widening of what was narrowed before, by us, is not the value itself: it stays a cast of the narrowed one.
    Value &converted = casts[{value, element}];
    if (!converted) {
      OpBuilder b(func.getContext());
      b.setInsertionPointAfterValue(value);
      converted = CastOp::create(b, value.getLoc(), withElementType(value.getType(), element), value);
    }
    return converted;
  }

  func::FuncOp func;
  llvm::DenseMap<Value, Type> originals; // element types of results that changed
  llvm::DenseMap<std::pair<Value, Type>, Value> casts;
};

struct AutocastPass : PassWrapper<AutocastPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AutocastPass)
  AutocastPass() = default;
  AutocastPass(const AutocastPass &other) : PassWrapper(other) {}
  explicit AutocastPass(StringRef given) { dtype = given.str(); }
  StringRef getArgument() const final { return "graphc-autocast"; }
  StringRef getDescription() const final { return "mixed precision by op class, inside regions marked graph.autocast"; }

  void runOnOperation() final {
    Builder b(&getContext());
    Type low = dtype == "bf16" ? Type(b.getBF16Type()) : dtype == "f16" ? Type(b.getF16Type()) : Type();
    if (!dtype.empty() && !low) {
      getOperation().emitError() << "graphc-autocast: dtype \"" << dtype << "\" is neither bf16 nor f16";
      return signalPassFailure();
    }
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      if (low && !func->hasAttr(kAutocastAttr))
        func->setAttr(kAutocastAttr, TypeAttr::get(low));
      Autocast(func).run();
    }
  }
  Option<std::string> dtype{*this, "dtype", llvm::cl::desc("low precision of functions that have no graph.autocast: bf16 or f16")};
};

} // namespace

LogicalResult graphc::verifyAutocast(ModuleOp module) {
  LogicalResult result = success();
  module.walk([&](AutocastOp op) {
    Type low = autocastTypeAt(op);
    if (!low || op.autocastClass() == AutocastClass::Natural)
      return;
    bool isLow = op.autocastClass() == AutocastClass::Low;
    for (Value value : op->getResults()) {
      Type element = elementTypeOf(value);
      if (isLow ? element.isF32() : element == low) {
        op->emitError() << "breaks a contract: in an autocast region this op computes in " << (isLow ? low : Float32Type::get(op.getContext()));
        result = failure();
      }
    }
  });
  return result;
}

std::unique_ptr<Pass> graphc::createAutocastPass(StringRef dtype) { return std::make_unique<AutocastPass>(dtype); }
