// Gradient modes, gradients of chosen tensors, functions with a gradient of the user's own.
#pragma once

#include "frontend/graphc/tensor.h"

#include <any>

namespace graphc {

/// While it lives, ops of this thread record nothing.
class NoGrad {
public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad &) = delete;
  NoGrad &operator=(const NoGrad &) = delete;

private:
  bool before_;
};

/// Records again inside a NoGrad, or on request not.
class GradMode {
public:
  explicit GradMode(bool enabled);
  ~GradMode();
  GradMode(const GradMode &) = delete;
  GradMode &operator=(const GradMode &) = delete;
  static bool isEnabled();

private:
  bool before_;
};

/// Like NoGrad, and what is made inside can never take part in autograd: no versions are counted for it.
class InferenceMode {
public:
  explicit InferenceMode(bool enabled = true);
  ~InferenceMode();
  InferenceMode(const InferenceMode &) = delete;
  InferenceMode &operator=(const InferenceMode &) = delete;
  static bool isEnabled();

private:
  bool grad_, inference_;
};

/// backward() names the op whose gradient first holds a NaN.
class AnomalyDetection {
public:
  explicit AnomalyDetection(bool enabled = true);
  ~AnomalyDetection();
  AnomalyDetection(const AnomalyDetection &) = delete;
  AnomalyDetection &operator=(const AnomalyDetection &) = delete;

private:
  bool before_;
};

struct GradOptions {
  std::optional<bool> retainGraph; // default: createGraph
  bool createGraph = false;        // record the gradients' own history, for higher orders
  bool allowUnused = false;        // undefined gradients instead of an error
};
/// d(outputs · gradOutputs) / d inputs, without touching any .grad.
std::vector<Tensor> grad(const std::vector<Tensor> &outputs, const std::vector<Tensor> &inputs,
                         const std::vector<Tensor> &gradOutputs = {}, const GradOptions &options = {});
void backward(const std::vector<Tensor> &outputs, const std::vector<Tensor> &gradients = {}, BackwardFlags flags = {});

/// What forward() hands to backward().
class FunctionContext {
public:
  /// Inputs or outputs that backward() needs; in-place changes of them are found out.
  void saveForBackward(std::vector<Tensor> tensors) { toSave_ = std::move(tensors); }
  std::vector<Tensor> saved() const;
  /// Anything else.
  std::any data;
  bool needsGrad(size_t input) const { return input < needs_.size() && needs_[input]; }
  void markNonDifferentiable(const Tensor &output) { nonDifferentiable_.push_back(output); }

  struct Access; // of the engine
private:
  std::vector<Tensor> toSave_, nonDifferentiable_;
  std::vector<bool> needs_;
  std::function<std::vector<Tensor>()> unpack_;
};

/// A function whose gradient the user writes:
///   struct Double {
///     static std::vector<Tensor> forward(FunctionContext &context, const std::vector<Tensor> &inputs);
///     static std::vector<Tensor> backward(FunctionContext &context, const std::vector<Tensor> &gradients);  // one per input
///   };
///   Tensor y = applyFunction<Double>({x})[0];
using ForwardFn = std::function<std::vector<Tensor>(FunctionContext &, const std::vector<Tensor> &)>;
std::vector<Tensor> applyFunction(const std::string &name, const std::vector<Tensor> &inputs, ForwardFn forward, ForwardFn backward);
template <typename F>
std::vector<Tensor> applyFunction(const std::vector<Tensor> &inputs, const std::string &name = "Function") {
  return applyFunction(name, inputs, &F::forward, &F::backward);
}

/// Compares analytic with central-difference gradients of sum(fn(inputs) * fixed weights) in f64. The report is empty when
/// they agree; else it names the input, the element and both values.
struct GradCheckOptions {
  double epsilon = 1e-6, relativeTolerance = 1e-5, absoluteTolerance = 1e-7;
  bool secondOrder = false;
};
std::string checkGradients(const std::function<Tensor(const std::vector<Tensor> &)> &fn, const std::vector<Tensor> &inputs,
                           const GradCheckOptions &options = {});

} // namespace graphc
