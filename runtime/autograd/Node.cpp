#include "runtime/autograd/Node.h"

#include "runtime/autograd/Engine.h"

namespace graphc {

void retain(Node *node) { addReference(*node); }

void release(Node *node) {
  if (!dropReference(*node))
    return;
  // Destroying a node drops its successors; those that die with it wait in a list instead of nesting calls.
  thread_local Node *dead = nullptr;
  thread_local bool draining = false;
  node->nextDead_ = dead;
  dead = node;
  if (draining)
    return;
  draining = true;
  while (dead) {
    Node *next = dead;
    dead = next->nextDead_;
    delete next;
  }
  draining = false;
}

uint64_t nextSequence() {
  thread_local uint64_t sequence = 0;
  return ++sequence;
}

AutogradMeta &autogradMeta(detail::TensorImpl &tensor) {
  if (!tensor.autograd)
    tensor.autograd = new AutogradMeta;
  return *tensor.autograd;
}

void destroyAutogradMeta(AutogradMeta *meta) {
  if (meta->retainsGrad && meta->gradFn && meta->outputNumber < static_cast<int>(meta->gradFn->inputHooks.size()))
    meta->gradFn->inputHooks[meta->outputNumber].retains = nullptr;
  delete meta;
}

AccumulateGrad::AccumulateGrad(const TensorRef &leaf) : Node(1), leaf_(leaf) {
  sequence = UINT64_MAX; // as soon as it is ready
  autogradMeta(*leaf_).accumulator = this;
}

AccumulateGrad::~AccumulateGrad() {
  if (leaf_->autograd && leaf_->autograd->accumulator == this)
    leaf_->autograd->accumulator = nullptr;
}

void AccumulateGrad::apply(std::vector<TensorRef> &in, std::vector<TensorRef> &, const BackwardOptions &options) {
  TensorRef grad = std::move(in[0]);
  if (!grad)
    return;
  GradientOps &ops = currentGradientOps();
  AutogradMeta &meta = autogradMeta(*leaf_);
  // Hooks may add and remove hooks.
  for (size_t i = 0; i < meta.hooks.hooks.size(); ++i) {
    auto hook = meta.hooks.hooks[i].second;
    if (TensorRef replaced = hook(grad))
      grad = std::move(replaced);
  }
  if (!meta.grad) {
    if (options.createGraph) {
      meta.grad = ops.clone(grad);
    } else {
      // A gradient that nobody else holds becomes .grad as it is.
      bool own = grad->refs.load() == 1 && grad->storage->refs.load() == 1 && grad->dense && grad->storage->blockBytes;
      meta.grad = own ? grad : ops.clone(grad);
      if (own && grad->autograd && grad->autograd->gradFn)
        meta.grad = ops.detach(grad);
    }
  } else if (options.createGraph) {
    meta.grad = ops.add(meta.grad, grad);
  } else {
    ops.addInto(meta.grad, grad);
  }
  auto hooks = meta.postAccumulateHooks;
  for (auto &[id, hook] : hooks)
    hook(leaf_);
}

Edge gradientEdge(detail::TensorImpl &tensor) {
  if (!tensor.requiresGrad)
    return {};
  AutogradMeta &meta = autogradMeta(tensor);
  if (meta.gradFn)
    return {meta.gradFn, meta.outputNumber};
  if (meta.accumulator)
    return {NodeRef(meta.accumulator), 0};
  return {NodeRef::adopt(new AccumulateGrad(TensorRef(&tensor))), 0};
}

} // namespace graphc
