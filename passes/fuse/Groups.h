// The grouping under construction: every op of a function in exactly one group, groups joined as fusion goes.
#pragma once
#include "ir/graph/Graph.h"

namespace graphc {

enum class GroupKind { Loop, Library, Routine, View, Concat, Control };
llvm::StringRef groupKindName(GroupKind kind);

struct Group {
  GroupKind kind;
  llvm::SmallVector<mlir::Operation *> ops;   // program order is restored when the group is emitted
  llvm::SmallVector<mlir::AffineExpr> shape;  // Loop: sizes of the full domain
  llvm::SmallVector<int64_t> reduced;         // Loop: dims reduced inside the group and broadcast back (softmax, norms)
  bool constant = false;                      // depends on weights alone: runs once, in @prepare
  bool dead = false;                          // joined into another
};

class Groups {
public:
  explicit Groups(mlir::Block &block);

  Group &of(mlir::Operation *op) { return groups[index.lookup(op)]; }
  bool has(mlir::Operation *op) const { return index.count(op); }
  /// Of an op inside a body: that of the op with the body. -1: in no group.
  int idOf(mlir::Operation *op) const {
    for (; op; op = op->getParentOp())
      if (auto it = index.find(op); it != index.end())
        return it->second;
    return -1;
  }
  Group &operator[](int id) { return groups[id]; }
  int add(Group group);
  void move(mlir::Operation *op, int group);

  /// Whether group `from` needs, through any number of groups, a result of group `target`. Direct edges from -> target do not
  /// count when `ignoreDirect`.
  bool dependsOn(int from, int target, bool ignoreDirect = false) const;
  /// Whether `op` would close a cycle as a member of `group`.
  bool wouldCycle(mlir::Operation *op, int group) const;

  /// Groups in an order in which each comes after what it needs; program order where there is a choice.
  llvm::SmallVector<int> order() const;
  size_t size() const { return groups.size(); }

private:
  std::vector<Group> groups;
  llvm::DenseMap<mlir::Operation *, int> index;
  llvm::DenseMap<mlir::Operation *, unsigned> position;
};

/// Small literals and weights belong to no group: whoever uses them reads them.
bool isSource(mlir::Operation *op);

} // namespace graphc
