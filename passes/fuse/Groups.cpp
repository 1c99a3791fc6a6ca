#include "passes/fuse/Groups.h"
#include "ir/graph/Control.h"
#include <queue>
#include <set>

using namespace mlir;
using namespace graphc;
using namespace graphc::graph;

StringRef graphc::groupKindName(GroupKind kind) {
  switch (kind) {
  case GroupKind::Loop:
    return "loop";
  case GroupKind::Library:
    return "library";
  case GroupKind::Routine:
    return "routine";
  case GroupKind::View:
    return "view";
  case GroupKind::Concat:
    return "concat";
  case GroupKind::Control:
    return "control";
  }
  llvm_unreachable("every kind has a name");
}

bool graphc::isSource(Operation *op) { return isa<ConstantOp, GetWeightOp>(op); }

Groups::Groups(Block &block) {
  for (auto [i, op] : llvm::enumerate(block))
    position[&op] = i;
}

int Groups::add(Group group) {
  int id = groups.size();
  for (Operation *op : group.ops)
    index[op] = id;
  groups.push_back(std::move(group));
  return id;
}

void Groups::move(Operation *op, int id) {
  int old = idOf(op);
  if (old >= 0) {
    llvm::erase(groups[old].ops, op);
    groups[old].dead |= groups[old].ops.empty();
  }
  groups[id].ops.push_back(op);
  index[op] = id;
}

bool Groups::dependsOn(int from, int target, bool ignoreDirect) const {
  SmallVector<int> stack = {from};
  llvm::DenseSet<int> seen = {from};
  while (!stack.empty()) {
    int id = stack.pop_back_val();
    for (Operation *op : groups[id].ops)
      for (Value operand : inputsOf(op)) {
        Operation *def = operand.getDefiningOp();
        int producer = def ? idOf(def) : -1;
        if (producer < 0 || producer == id)
          continue;
        if (producer == target) {
          if (ignoreDirect && id == from)
            continue;
          return true;
        }
        if (seen.insert(producer).second)
          stack.push_back(producer);
      }
  }
  return false;
}

bool Groups::wouldCycle(Operation *op, int group) const {
  int own = idOf(op);
  // op -> (another group) -> group: what `op` feeds outside must not come back in. And group -> op through an operand of op.
  for (Operation *user : op->getUsers()) {
    int id = idOf(user);
    if (id >= 0 && id != group && id != own && dependsOn(group, id))
      return true;
  }
  for (Value operand : op->getOperands()) {
    Operation *def = operand.getDefiningOp();
    int id = def ? idOf(def) : -1;
    if (id >= 0 && id != group && id != own && dependsOn(id, group))
      return true;
  }
  return false;
}

SmallVector<int> Groups::order() const {
  // Kahn's algorithm; the ready group whose last op comes first in the program goes first.
  std::vector<unsigned> pending(groups.size(), 0), last(groups.size(), 0);
  std::vector<std::set<int>> users(groups.size());
  for (auto [id, group] : llvm::enumerate(groups)) {
    std::set<int> producers;
    for (Operation *op : group.ops) {
      last[id] = std::max(last[id], position.lookup(op));
      for (Value operand : inputsOf(op))
        if (Operation *def = operand.getDefiningOp())
          if (int p = idOf(def); p >= 0 && p != (int)id)
            producers.insert(p);
    }
    pending[id] = producers.size();
    for (int p : producers)
      users[p].insert(id);
  }
  auto later = [&](int a, int b) { return std::tie(last[a], a) > std::tie(last[b], b); };
  std::priority_queue<int, std::vector<int>, decltype(later)> ready(later);
  unsigned live = 0;
  for (auto [id, group] : llvm::enumerate(groups))
    if (!group.dead && ++live && !pending[id])
      ready.push(id);
  SmallVector<int> order;
  while (!ready.empty()) {
    int id = ready.top();
    ready.pop();
    order.push_back(id);
    for (int user : users[id])
      if (--pending[user] == 0)
        ready.push(user);
  }
  assert(order.size() == live && "fusion closed a cycle between groups");
  return order;
}
