// The element formula of an op, recorded once: a graph of scalar nodes that Evaluate.cpp runs over all result points.
//
// Every node belongs to the innermost loop whose position it depends on (loop 0 is the walk over result points), so what
// does not change inside a reduction is evaluated outside of it. Sizes are numbers here: symbols have been bound.
#pragma once
#include "codegen/reference/WideTensor.h"
#include "ir/graph/Element.h"
#include "llvm/ADT/DenseMap.h"
#include <map>

namespace graphc::reference {

enum class NodeCode : uint8_t {
  Constant,
  Position,    // of a result or reduction dim
  Accumulator, // of a running reduction
  Unary,
  Binary,
  FloorDiv, // of indices, by a positive number
  CeilDiv,
  Select,
  Cast,
  BoundedIndex, // a computed index: reported and clamped when out of range
  Load,
  RunLoop,      // evaluates a reduction
  LoopResult
};

struct FormulaNode {
  NodeCode code;
  graph::ScalarKind kind = graph::ScalarKind::Add;
  ScalarType type;
  int a = -1, b = -1, c = -1;
  int64_t payload = 0; // constant's bits, BoundedIndex's limit, number of a load or loop, Cast: 1 rounds to f32, 2 to f16, 3 to bf16
  int loop = 0;
};

/// One element of a tensor. `checks` are the indices that may fall outside; then the element is `fill`.
struct FormulaLoad {
  WideTensor tensor;
  int offset = -1;
  int fill = -1;
  std::vector<std::pair<int, int64_t>> checks; // node of the index, size of the dim
};

struct FormulaLoop {
  int depth = 0;
  std::vector<int64_t> sizes;
  std::vector<int> positions, init, accumulators, next, results;
  std::vector<int> body; // nodes in order of evaluation
};

struct Formula {
  std::vector<FormulaNode> nodes;
  std::vector<FormulaLoad> loads;
  std::vector<FormulaLoop> loops; // loops[0] walks over the result
  int result = -1;
};

/// Records what an op's `element` says. `shape` is that of the result.
class FormulaRecorder : public graph::ElementBuilder {
public:
  using TensorOf = std::function<WideTensor(mlir::Value)>;
  using SizeOf = std::function<int64_t(mlir::AffineExpr)>;
  FormulaRecorder(mlir::MLIRContext *ctx, llvm::ArrayRef<int64_t> shape, TensorOf tensorOf, SizeOf sizeOf);

  /// The indices to ask an op's `element` for.
  llvm::ArrayRef<mlir::AffineExpr> resultIndex() const { return index; }
  Formula finish(graph::Expr result);

  mlir::MLIRContext *context() override { return ctx; }
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
         llvm::function_ref<llvm::SmallVector<graph::Expr>(llvm::ArrayRef<graph::Expr>, llvm::ArrayRef<graph::Expr>)> combine)
      override;

private:
  /// A range that an index is known to stay in.
  struct Range {
    int64_t low, high;
  };
  int addNode(FormulaNode node);
  int addDim(int loop, int64_t size, mlir::AffineExpr &expr);
  int integerConstant(int64_t value);
  int indexNode(mlir::AffineExpr index);
  int indexBinary(NodeCode code, graph::ScalarKind kind, int a, int b);
  Range rangeOf(int node) const;
  graph::Expr expr(int node, mlir::Type type) { return {this, reinterpret_cast<void *>(intptr_t(node) + 1), type}; }
  static int nodeOf(graph::Expr e) { return static_cast<int>(reinterpret_cast<intptr_t>(e.handle)) - 1; }

  mlir::MLIRContext *ctx;
  TensorOf tensorOf;
  SizeOf sizeOf;
  Formula formula;
  llvm::SmallVector<mlir::AffineExpr> index;
  std::vector<int> dimNodes; // by AffineDimExpr position
  std::map<std::tuple<int, int, uint64_t, int, int, int, int64_t>, int> known;
  std::vector<Range> ranges; // parallel to nodes
  int currentLoop = 0;
};

} // namespace graphc::reference
