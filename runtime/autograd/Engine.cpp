#include "runtime/autograd/Engine.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

namespace graphc {

namespace {

thread_local GradientOps *currentOps = nullptr;

struct ModeGuard {
  ModeGuard(GradientOps &ops, bool enabled) : ops(ops), before(ops.setGradMode(enabled)), outer(currentOps) { currentOps = &ops; }
  ~ModeGuard() {
    ops.setGradMode(before);
    currentOps = outer;
  }
  GradientOps &ops;
  bool before;
  GradientOps *outer;
};

/// What one backward pass knows of a node.
struct Visit {
  int waitsFor = 0;             // edges into it that have not delivered yet
  bool runs = true;             // leads to a wanted gradient
  std::vector<TensorRef> grads; // by input
  std::vector<int> wanted;      // indices into EngineCall::wanted, by input; -1: not wanted
};

class Walk {
public:
  Walk(EngineCall &call, GradientOps &ops) : call(call), ops(ops), results(call.wanted.size()) {}

  std::vector<TensorRef> run() {
    discover();
    auto later = [](Node *a, Node *b) { return a->sequence < b->sequence; };
    std::priority_queue<Node *, std::vector<Node *>, decltype(later)> ready(later);
    for (size_t i = 0; i < call.roots.size(); ++i)
      if (call.roots[i].node)
        deliver(call.roots[i], std::move(call.gradients[i]));
    for (Node *node : order)
      if (visits[node].waitsFor == 0)
        ready.push(node);
    std::vector<TensorRef> out;
    BackwardOptions options{call.keepGraph, call.createGraph};
    while (!ready.empty()) {
      Node *node = ready.top();
      ready.pop();
      Visit &visit = visits[node];
      if (visit.runs) {
        visit.grads.resize(node->inputs());
        if (!node->isAccumulator())
          runHooks(*node, visit.grads);
        for (size_t i = 0; i < visit.wanted.size(); ++i)
          if (visit.wanted[i] >= 0)
            results[visit.wanted[i]] = captured(*node, visit.grads[i]);
      }
      out.clear();
      out.resize(node->edges.size());
      bool any = std::any_of(visit.grads.begin(), visit.grads.end(), [](const TensorRef &g) { return bool(g); });
      if (visit.runs && any && applies(*node)) {
        std::vector<TensorRef> in = std::move(visit.grads);
        node->apply(in, out, options);
        if (call.anomaly)
          checkNan(*node, out);
        if (!call.keepGraph)
          node->releaseSaved();
      }
      visit.grads.clear();
      for (size_t e = 0; e < node->edges.size(); ++e) {
        const Edge &edge = node->edges[e];
        if (!edge.node)
          continue;
        Visit &next = visits[edge.node.get()];
        if (e < out.size() && out[e] && next.runs)
          deliver(edge, std::move(out[e]));
        if (--next.waitsFor == 0)
          ready.push(edge.node.get());
      }
    }
    return std::move(results);
  }

private:
  /// With chosen gradients, a wanted node itself is not run unless something wanted lies behind it.
  bool applies(Node &node) {
    if (call.wanted.empty())
      return true;
    return needsApply.empty() || needsApply[&node];
  }

  void discover() {
    std::vector<Node *> stack;
    auto meet = [&](Node *node) {
      if (visits.try_emplace(node).second) {
        order.push_back(node);
        stack.push_back(node);
      }
    };
    for (const Edge &root : call.roots)
      if (root.node)
        meet(root.node.get());
    while (!stack.empty()) {
      Node *node = stack.back();
      stack.pop_back();
      for (const Edge &edge : node->edges)
        if (edge.node) {
          meet(edge.node.get());
          ++visits[edge.node.get()].waitsFor;
        }
    }
    if (call.wanted.empty())
      return;
    for (size_t i = 0; i < call.wanted.size(); ++i) {
      auto found = visits.find(call.wanted[i].node.get());
      if (found == visits.end())
        continue;
      auto &wanted = found->second.wanted;
      wanted.resize(std::max<size_t>(wanted.size(), found->first->inputs()), -1);
      wanted[call.wanted[i].input] = static_cast<int>(i);
    }
    // A node runs when it, or one it leads to, is wanted. Successors have been met after their predecessors only along one path, so
    // the marks are spread until nothing changes, in topological order.
    std::vector<Node *> topological = sortedNodes();
    for (auto it = topological.rbegin(); it != topological.rend(); ++it) {
      bool behind = false;
      for (const Edge &edge : (*it)->edges)
        behind |= edge.node && visits[edge.node.get()].runs;
      needsApply[*it] = behind;
      Visit &visit = visits[*it];
      visit.runs = behind || std::any_of(visit.wanted.begin(), visit.wanted.end(), [](int w) { return w >= 0; });
    }
  }

  std::vector<Node *> sortedNodes() {
    std::unordered_map<Node *, int> waits;
    for (Node *node : order)
      waits[node] = visits[node].waitsFor;
    std::vector<Node *> sorted;
    for (Node *node : order)
      if (waits[node] == 0)
        sorted.push_back(node);
    for (size_t i = 0; i < sorted.size(); ++i)
      for (const Edge &edge : sorted[i]->edges)
        if (edge.node && --waits[edge.node.get()] == 0)
          sorted.push_back(edge.node.get());
    return sorted;
  }

  void deliver(const Edge &edge, TensorRef grad) {
    Visit &visit = visits[edge.node.get()];
    visit.grads.resize(edge.node->inputs());
    TensorRef &slot = visit.grads[edge.input];
    if (!slot) {
      slot = std::move(grad);
      return;
    }
    // The second sum goes into memory that only the engine holds.
    bool own = !call.createGraph && slot->refs.load() == 1 && slot->storage->refs.load() == 1 && slot->dense && slot->storage->blockBytes;
    if (own)
      ops.addInto(slot, grad);
    else
      slot = ops.add(slot, grad);
  }

  static void runHooks(Node &node, std::vector<TensorRef> &grads) {
    for (size_t i = 0; i < node.inputHooks.size() && i < grads.size(); ++i) {
      if (!grads[i])
        continue;
      for (size_t h = 0; h < node.inputHooks[i].hooks.hooks.size(); ++h) {
        auto hook = node.inputHooks[i].hooks.hooks[h].second;
        if (TensorRef replaced = hook(grads[i]))
          grads[i] = std::move(replaced);
      }
      if (auto *tensor = node.inputHooks[i].retains) {
        AutogradMeta &meta = autogradMeta(*tensor);
        meta.grad = meta.grad ? currentOps->add(meta.grad, grads[i]) : currentOps->clone(grads[i]);
      }
    }
  }

  /// The hooks of a wanted leaf run as well, though its .grad stays.
  TensorRef captured(Node &node, const TensorRef &grad) {
    if (!grad || !node.isAccumulator())
      return grad;
    TensorRef result = grad;
    AutogradMeta &meta = autogradMeta(*static_cast<AccumulateGrad &>(node).leaf());
    for (auto &[id, hook] : meta.hooks.hooks)
      if (TensorRef replaced = hook(result))
        result = std::move(replaced);
    return result;
  }

  void checkNan(Node &node, const std::vector<TensorRef> &grads) {
    for (size_t i = 0; i < grads.size(); ++i)
      if (grads[i] && isFloat(grads[i]->dtype) && ops.hasNan(grads[i]))
        throw AutogradFailure{error(codes::AutogradMisuse, "backward: ", node.name(), " gave NaN as gradient ", i, ", ",
                                    detail::describe(*grads[i]), "; look at the operands of the forward op")};
  }

  EngineCall &call;
  GradientOps &ops;
  std::unordered_map<Node *, Visit> visits;
  std::unordered_map<Node *, bool> needsApply;
  std::vector<Node *> order; // as met
  std::vector<TensorRef> results;
};

} // namespace

GradientOps &currentGradientOps() {
  assert(currentOps && "AccumulateGrad runs inside runBackward");
  return *currentOps;
}

std::vector<TensorRef> runBackward(EngineCall call, GradientOps &ops) {
  // The graph stays whole while it is walked, also when a hook drops the loss.
  std::vector<NodeRef> alive;
  for (const Edge &root : call.roots)
    alive.push_back(root.node);
  ModeGuard mode(ops, call.createGraph);
  return Walk(call, ops).run();
}

} // namespace graphc
