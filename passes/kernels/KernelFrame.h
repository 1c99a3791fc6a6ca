// What every kernel of a group has around its body: the function with its buffers and size scalars, and the dispatch that
// calls it.
#pragma once
#include "ir/graph/Graph.h"
#include "ir/kernel/Kernel.h"
#include "ir/plan/Plan.h"
#include "llvm/ADT/SetVector.h"

namespace graphc {

/// A literal that is written where it is used, and needs no buffer.
bool isInPlaceLiteral(mlir::Value v);

struct KernelFrame {
  /// An empty kernel at the end of `module`: buffers are what the group reads, then `outputs`.
  KernelFrame(graph::GroupOp group, mlir::ValueRange outputs, mlir::ModuleOp module, llvm::StringRef name);

  kernel::FuncOp func;
  llvm::SetVector<mlir::Value> inputs;
  llvm::SetVector<unsigned> symbols;              // sizes that become scalars
  llvm::DenseMap<mlir::Value, mlir::Value> buffers; // input -> argument
  llvm::DenseMap<unsigned, mlir::Value> scalars;    // symbol -> argument
  double scalarOps = 0;                           // per element, roughly

  auto outputArguments() { return func.getBuffers().drop_front(inputs.size()); }

  /// The call. `sites` are the ops whose indices the kernel checks, `cost` nanoseconds of one point.
  plan::DispatchOp dispatch(graph::GroupOp group, llvm::ArrayRef<mlir::Operation *> sites, llvm::ArrayRef<int64_t> inplace, double cost,
                            mlir::OpBuilder &b);
};

} // namespace graphc
