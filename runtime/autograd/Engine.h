// Walks the autograd graph backwards on the calling thread. Reentrant: a node may call it again.
#pragma once

#include "runtime/autograd/Node.h"

#include <span>

namespace graphc {

/// The few ops the engine needs itself. They record history when gradient mode is on.
class GradientOps {
public:
  virtual ~GradientOps() = default;
  virtual TensorRef add(const TensorRef &a, const TensorRef &b) = 0;
  /// a += b, where nobody else sees a.
  virtual void addInto(const TensorRef &a, const TensorRef &b) = 0;
  virtual TensorRef clone(const TensorRef &a) = 0;
  virtual TensorRef detach(const TensorRef &a) = 0;
  virtual bool hasNan(const TensorRef &a) = 0;
  /// Gradient mode of this thread; returns what it was.
  virtual bool setGradMode(bool enabled) = 0;
};

struct EngineCall {
  std::span<const Edge> roots;
  std::vector<TensorRef> gradients; // one per root
  bool keepGraph = false;
  bool createGraph = false;
  bool anomaly = false;
  /// Not empty: only these gradients are wanted, and leaves are left alone.
  std::span<const Edge> wanted;
};

/// Gradients of `wanted`, undefined where none arrived. Throws what nodes throw.
std::vector<TensorRef> runBackward(EngineCall call, GradientOps &ops);

/// The engine's ops while runBackward is at work on this thread (AccumulateGrad asks for them).
GradientOps &currentGradientOps();

/// What broke: AutogradMisuse or Internal, thrown by nodes and the engine as this.
struct AutogradFailure {
  Status status;
};

} // namespace graphc
