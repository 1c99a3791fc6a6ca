// The autograd graph: nodes that turn gradients of an op's results into gradients of its operands, and what tensors remember of
// them.
//
// A tensor made by a recorded op points to (node, which result); the node's edges point to whoever made its operands, down to the
// leaves' AccumulateGrad. Nodes own their successors, tensors own their node: dropping the loss drops the graph.
#pragma once

#include "runtime/tensor/TensorImpl.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace graphc {

class Node;
void retain(Node *node);
/// Long chains are taken apart in a loop, not by recursion.
void release(Node *node);
using NodeRef = Ref<Node>;
using detail::TensorRef;

/// Where the gradient of an operand goes: input `input` of `node`; a null node takes none.
struct Edge {
  NodeRef node;
  int input = 0;
};

/// Changes or watches a gradient; a defined result replaces it.
using GradHook = std::function<TensorRef(const TensorRef &grad)>;
struct HookList {
  std::vector<std::pair<uint64_t, GradHook>> hooks;
  uint64_t next = 1;
  uint64_t add(GradHook hook) {
    hooks.emplace_back(next, std::move(hook));
    return next++;
  }
  void remove(uint64_t id) { std::erase_if(hooks, [&](const auto &entry) { return entry.first == id; }); }
};

struct BackwardOptions {
  bool keepGraph = false;
  bool createGraph = false;
};

class Node : public RefCounted {
public:
  explicit Node(int inputs) : inputs_(inputs) {}
  virtual ~Node() = default;

  /// "MulBackward": what errors and printing call it.
  virtual std::string name() const = 0;
  /// Gradients of the op's results in (undefined: none arrived), gradients of its operands out, one per edge.
  virtual void apply(std::vector<TensorRef> &in, std::vector<TensorRef> &out, const BackwardOptions &options) = 0;
  /// Frees what was saved for apply(); a later apply() is an error that says so.
  virtual void releaseSaved() {}
  virtual bool isAccumulator() const { return false; }

  int inputs() const { return inputs_; }
  std::vector<Edge> edges;
  /// Later nodes run first among those that are ready.
  uint64_t sequence = 0;

  /// Tensor hooks of each result, and tensors that keep their gradient; null when there are none.
  struct InputHooks {
    HookList hooks;
    detail::TensorImpl *retains = nullptr; // not owned: a tensor clears it when it dies
  };
  InputHooks &hooksOf(int input) {
    if (static_cast<int>(inputHooks.size()) < inputs_)
      inputHooks.resize(inputs_);
    return inputHooks[input];
  }
  std::vector<InputHooks> inputHooks;

private:
  friend void release(Node *);
  int inputs_;
  Node *nextDead_ = nullptr;
};

/// Why in-place ops on a view may be refused.
enum class ViewOrigin : uint8_t { Normal, NoGrad, MultiOutput };

/// What a tensor knows of autograd; tensors without any have none.
struct AutogradMeta {
  TensorRef grad;
  NodeRef gradFn;          // null: a leaf
  int outputNumber = 0;
  Node *accumulator = nullptr; // of a leaf; not owned, clears itself
  HookList hooks;              // of a leaf; of others they lie in gradFn
  std::vector<std::pair<uint64_t, std::function<void(const TensorRef &)>>> postAccumulateHooks;
  uint64_t nextPostHook = 1;
  bool retainsGrad = false;
  // Of a view that autograd follows:
  TensorRef base;
  uint32_t baseVersion = 0; // version of the storage when gradFn was right
  ViewOrigin origin = ViewOrigin::Normal;
  std::string name;
};
AutogradMeta &autogradMeta(detail::TensorImpl &tensor);
void destroyAutogradMeta(AutogradMeta *meta);

/// Sums a leaf's gradient into its .grad.
class AccumulateGrad final : public Node {
public:
  explicit AccumulateGrad(const TensorRef &leaf);
  ~AccumulateGrad() override;
  std::string name() const override { return "AccumulateGrad"; }
  void apply(std::vector<TensorRef> &in, std::vector<TensorRef> &out, const BackwardOptions &options) override;
  bool isAccumulator() const override { return true; }
  const TensorRef &leaf() const { return leaf_; }

private:
  TensorRef leaf_;
};

/// Where the gradient of `tensor` goes; a null node when it needs none.
Edge gradientEdge(detail::TensorImpl &tensor);

uint64_t nextSequence();

} // namespace graphc
