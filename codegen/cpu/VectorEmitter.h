// Writes one scheduled kernel as a function over scf, arith, vector and llvm memory ops.
#pragma once
#include "codegen/common/Contract.h"
#include "ir/kernel/Kernel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace graphc::codegen::cpu {

/// Emission walks the kernel once per copy of a loop body (full vectors, the masked or scalar tail). `index` becomes i64
/// everywhere, so that nothing is left to convert around the memory ops.
///
/// A kernel value is *varying* when it differs between lanes; it is then a vector, everything else stays scalar and is
/// broadcast where a vector meets it.
class VectorEmitter {
public:
  VectorEmitter(kernel::FuncOp kernel, mlir::OpBuilder &builder);

  /// Emits `func.func @name(buffers, scalars, context: !llvm.ptr, begin, end: i64)` before the kernel.
  mlir::func::FuncOp emit();

private:
  using Values = mlir::SmallVector<mlir::Value>;
  using BodyFn = llvm::function_ref<Values(mlir::Value iv, mlir::ValueRange carried)>;

  /// How the current copy of a body runs: 0 lanes is point by point.
  struct Lanes {
    int64_t count = 0;
    mlir::Value iv;   // kernel value that runs along the lanes
    mlir::Value base; // its value in lane 0
    mlir::Value mask; // active lanes, or null for all
  };

  // VectorEmitter.cpp: the frame, loops
  void loadArguments(mlir::Value buffers, mlir::Value scalars);
  void emitBody();
  void emitSegments();
  void emitParallel(kernel::ParallelOp op);
  void emitOps(llvm::ArrayRef<mlir::Operation *> ops);
  void emitOp(mlir::Operation *op);
  void emitMap(kernel::MapOp op);
  void emitReduce(kernel::ReduceOp op);
  void emitScan(kernel::ScanOp op);
  Values emitNest(kernel::LoopOp op, unsigned numDims, mlir::ValueRange carried, llvm::function_ref<Values(mlir::ValueRange)> body);
  /// Vectors from `lower` to `upper`. `carried` are vectors; `reduction` keeps inactive lanes of a masked tail. Returns the
  /// carried vectors; a scalar tail is left to the caller and starts at `tailStart` (null when nothing is left).
  Values emitLaneLoop(mlir::Value iv, int64_t lanes, mlir::Value lower, mlir::Value upper, std::optional<int64_t> staticTrip,
                      mlir::ValueRange carried, llvm::function_ref<Values(mlir::ValueRange)> body, mlir::Value &tailStart);
  Values emitFor(mlir::Value lower, mlir::Value upper, int64_t step, mlir::ValueRange carried, BodyFn body);
  Values emitCombine(kernel::ReduceOp op, mlir::ValueRange a, mlir::ValueRange b);
  Values combineAcrossLanes(kernel::ReduceOp op, mlir::ValueRange vectors);
  void markVarying(kernel::LoopOp op, mlir::Value iv);
  /// The body that `iv` runs over has many ops.
  static bool isBig(mlir::Value iv);

  // TransposeEmitter.cpp
  void emitTransposed(kernel::ParallelOp op);
  Values transposeRegisters(mlir::ValueRange rows);

  // ContractEmitter.cpp
  struct ContractTile {
    Contraction *contraction;
    mlir::Value tiledIv; // the kernel's dim that the tile lies along
    mlir::Value first;   // its value at the first point
    int64_t points;
  };
  void emitContracted(kernel::ParallelOp op);
  void emitContractTile(kernel::ParallelOp op, const ContractTile &tile);
  Values emitProducts(const ContractTile &tile, mlir::ValueRange sums);
  mlir::Value loadNear(mlir::Value base, mlir::Type element, int64_t distance, bool contiguous);

  // MemoryEmitter.cpp: loads, stores, checks
  void emitLoad(kernel::LoadOp op);
  void emitStore(kernel::StoreOp op);
  void emitCheck(kernel::CheckIndexOp op);
  mlir::Value loadAt(mlir::Value buffer, mlir::Type element, mlir::Value offset);
  void storeAt(mlir::Value buffer, mlir::Value value, mlir::Value offset);
  mlir::Value address(mlir::Value buffer, mlir::Type element, mlir::Value offset);
  mlir::Value gather(mlir::Value buffer, mlir::Type element, mlir::Value offsets, mlir::Value mask, mlir::Value fill);
  mlir::Value loadStrided(mlir::Value buffer, mlir::Type element, mlir::Value offset, int64_t stride);
  static mlir::Type storageType(mlir::Type element);
  mlir::Value fromMemory(mlir::Value stored, mlir::Type element);
  mlir::Value toMemory(mlir::Value value, mlir::Type element);
  mlir::Value inBounds(const LinearAccess &access);
  mlir::LLVM::LLVMFuncOp reportFunction();
  mlir::Value combineKind(mlir::arith::AtomicRMWKind kind, mlir::Value a, mlir::Value b);

  // ValueEmitter.cpp: scalars and vectors
  void emitElementwise(mlir::Operation *op);
  mlir::Value emitLibraryCall(mlir::Operation *op, mlir::ValueRange operands, mlir::Type element);
  mlir::Value evaluate(mlir::AffineExpr expr, llvm::function_ref<mlir::Value(unsigned)> dim);
  /// Evaluates in the space of an access; lanes step along (`laneZero`: the value in lane 0 only).
  mlir::Value evaluateIn(const ValueSpace &space, mlir::AffineExpr expr, bool laneZero);
  mlir::Value sizeValue(kernel::LoopOp op, unsigned dim);
  mlir::Value valueOf(mlir::Value kernelValue);
  mlir::Value laneVector();
  mlir::Value steps(mlir::Type element, int64_t count, int64_t stride = 1);
  mlir::Value vectorOf(mlir::Value value, int64_t count);
  template <typename Op, typename... Args>
  mlir::Value binary(mlir::Value a, mlir::Value b, Args... args) {
    match(a, b);
    return Op::create(b_, loc_, a, b, args...);
  }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b) {
    match(a, b);
    return mlir::arith::CmpIOp::create(b_, loc_, predicate, a, b);
  }
  void match(mlir::Value &a, mlir::Value &b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value andMask(mlir::Value a, mlir::Value b);
  mlir::Value i64(int64_t value) { return constant(b_.getI64IntegerAttr(value)); }
  mlir::Value constant(mlir::TypedAttr attr);
  mlir::Type typeOf(mlir::Type kernelType) { return kernelType.isIndex() ? b_.getI64Type() : kernelType; }
  bool isVarying(mlir::Value kernelValue) { return lanes_.count && varying_.contains(kernelValue); }

  kernel::FuncOp kernel_;
  mlir::OpBuilder &b_;
  mlir::Location loc_;
  mlir::Block *entry_ = nullptr;
  mlir::Value context_, begin_, end_;
  mlir::SmallVector<mlir::Value> pointers_, scalars_;
  mlir::SmallVector<mlir::Type> elements_;
  llvm::DenseMap<mlir::Value, mlir::Value> values_;
  llvm::DenseSet<mlir::Value> varying_, stored_;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants_;
  Lanes lanes_;
  bool scalarTail_ = false;
};

} // namespace graphc::codegen::cpu
