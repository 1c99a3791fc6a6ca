// Turns element formulas into kernel IR: each formula is emitted in the outermost loop whose indices it uses, once.
#pragma once
#include "ir/graph/Graph.h"
#include "ir/kernel/Kernel.h"

namespace graphc {

/// Element type of a buffer in a kernel: signless, bool as i1.
mlir::Type kernelElementType(mlir::Type elementType);

class KernelBuilder : public graph::ElementBuilder {
public:
  /// `buffers` maps values that live in memory to kernel arguments; everything else is emitted from its defining op.
  /// `symbols` maps interned size symbols to the kernel's scalars.
  KernelBuilder(mlir::OpBuilder &b, mlir::Location loc, llvm::DenseMap<mlir::Value, mlir::Value> buffers,
                llvm::DenseMap<unsigned, mlir::Value> symbols);

  /// Runs `body` inside a new kernel.parallel or kernel.map over these sizes, with the loop's dims as indices.
  void parallel(llvm::ArrayRef<mlir::AffineExpr> sizes, llvm::function_ref<void(llvm::ArrayRef<mlir::AffineExpr>)> body);
  void map(llvm::ArrayRef<mlir::AffineExpr> sizes, llvm::function_ref<void(llvm::ArrayRef<mlir::AffineExpr>)> body);

  /// The element of a value of the group, or of a buffer, in the computation type.
  graph::Expr elementOf(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index);
  /// Stores the element of `value` at `index` into `buffer`, converted to the value's element type.
  void store(mlir::Value value, mlir::Value buffer, llvm::ArrayRef<mlir::AffineExpr> index);
  /// From now on `value` is read back from `buffer`, which earlier passes have filled at every point of this row.
  void readFrom(mlir::Value value, mlir::Value buffer) { buffers[value] = buffer; }
  /// Inside reductions over this value's elements, also store them (see `readFrom`).
  void spill(mlir::Value value, mlir::Value buffer) { spills[value] = buffer; }

  /// A loop in sequence: `body` gets the index and the carried values, and gives the next ones.
  void scan(llvm::ArrayRef<mlir::AffineExpr> sizes, llvm::ArrayRef<graph::Expr> init,
            llvm::function_ref<llvm::SmallVector<graph::Expr>(llvm::ArrayRef<mlir::AffineExpr>, llvm::ArrayRef<graph::Expr>)> body);
  /// Reads or writes a buffer here and now, after whatever stands before.
  graph::Expr loadFrom(mlir::Value buffer, mlir::Type element, llvm::ArrayRef<mlir::AffineExpr> index);
  void storeTo(graph::Expr value, mlir::Value buffer, llvm::ArrayRef<mlir::AffineExpr> index, std::optional<graph::Expr> condition);
  /// The op whose checks are emitted from now on.
  void setCurrent(mlir::Operation *op) { current = op; }

  /// Ops whose computed indices are checked, in site order.
  llvm::ArrayRef<mlir::Operation *> sites() const { return siteOps; }

  // ElementBuilder
  mlir::MLIRContext *context() override { return b.getContext(); }
  graph::Expr constant(double value, mlir::Type type) override;
  graph::Expr constantInt(int64_t value, mlir::Type type) override;
  graph::Expr unary(graph::ScalarKind kind, graph::Expr a) override;
  graph::Expr binary(graph::ScalarKind kind, graph::Expr a, graph::Expr b) override;
  graph::Expr select(graph::Expr condition, graph::Expr a, graph::Expr b) override;
  graph::Expr cast(graph::Expr a, mlir::Type type) override;
  graph::Expr indexValue(mlir::AffineExpr index) override;
  mlir::AffineExpr computedIndex(graph::Expr value, mlir::AffineExpr limit) override;
  graph::Expr load(mlir::Value operand, llvm::ArrayRef<mlir::AffineExpr> index, std::optional<graph::Expr> fill) override;
  llvm::SmallVector<graph::Expr>
  reduce(llvm::ArrayRef<mlir::AffineExpr> sizes, llvm::ArrayRef<graph::Expr> init,
         llvm::function_ref<llvm::SmallVector<graph::Expr>(llvm::ArrayRef<mlir::AffineExpr>)> body,
         llvm::function_ref<llvm::SmallVector<graph::Expr>(llvm::ArrayRef<graph::Expr>, llvm::ArrayRef<graph::Expr>)>
             combine) override;

private:
  struct Scope {
    mlir::Block *block;
    unsigned id; // unique, so that remembered expressions of a closed scope are recognised
  };
  struct Known {
    mlir::Value value; // the SSA value of an Expr
    unsigned depth;    // of the scope it was emitted in
    unsigned scopeId;
  };

  mlir::Value valueOf(graph::Expr e) { return known[(uintptr_t)e.handle].value; }
  unsigned depthOf(graph::Expr e) { return known[(uintptr_t)e.handle].depth; }
  unsigned depthOf(llvm::ArrayRef<mlir::AffineExpr> index);
  graph::Expr remember(mlir::Value value, mlir::Type type, unsigned depth);
  mlir::AffineExpr newDim(mlir::Value value, unsigned depth, mlir::AffineExpr size);
  /// Affine expressions over our dims and interned symbols as a map with SSA operands.
  mlir::AffineMap localMap(llvm::ArrayRef<mlir::AffineExpr> exprs, llvm::SmallVectorImpl<mlir::Value> &operands);
  /// The end of a scope's block: loops that are under construction are not in it yet.
  void enter(unsigned depth);
  /// Everything but literals is emitted inside the outer domain: a kernel's prologue holds constants only.
  template <typename Fn>
  graph::Expr emitAt(unsigned depth, mlir::Type type, Fn fn) {
    return emitIn(scopes.size() > 1 ? std::max(depth, 1u) : depth, type, fn);
  }
  template <typename Fn>
  graph::Expr emitIn(unsigned depth, mlir::Type type, Fn fn) {
    mlir::OpBuilder::InsertionGuard guard(b);
    enter(depth);
    return remember(fn(), type, depth);
  }
  template <typename Loop>
  void loop(llvm::ArrayRef<mlir::AffineExpr> sizes, llvm::function_ref<void(llvm::ArrayRef<mlir::AffineExpr>)> body);
  llvm::SmallVector<mlir::AffineExpr> openDims(mlir::ValueRange ivs, llvm::ArrayRef<mlir::AffineExpr> sizes);
  /// Least and greatest value of an index whose dims have constant sizes.
  std::optional<std::pair<int64_t, int64_t>> extremesOf(mlir::AffineExpr index);
  bool provedInside(mlir::AffineExpr index, mlir::AffineExpr size);
  graph::Expr insideRange(llvm::ArrayRef<mlir::AffineExpr> index, llvm::ArrayRef<mlir::AffineExpr> dims);

  mlir::OpBuilder &b;
  mlir::Location loc;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers, spills;
  llvm::DenseMap<unsigned, mlir::Value> symbols;
  llvm::SmallVector<Scope> scopes;
  unsigned nextScope = 0;
  std::vector<Known> known;
  struct Dim {
    mlir::Value value;
    unsigned depth;
    mlir::AffineExpr size; // null for computed indices
  };
  std::vector<Dim> dims;
  /// A value and an index into it.
  using Place = std::pair<void *, std::vector<const void *>>;
  Place placeOf(mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> index);
  /// The element of a maximum or of its place where the kernel computes both: by one pass over the window.
  std::optional<graph::Expr> maximumOrPlace(mlir::Operation *op, llvm::ArrayRef<mlir::AffineExpr> index);
  std::map<Place, graph::Expr> elements;
  llvm::SmallVector<mlir::Operation *> siteOps;
  mlir::Operation *current = nullptr; // whose formula is being emitted
  unsigned guardedDepth = 0;          // inside an index that may be out of range
};

} // namespace graphc
