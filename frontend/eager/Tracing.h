// What ops ask while a program is being traced. A recorder notes what would be computed; no element exists yet.
//
// A traced tensor has sizes, strides and a storage of its own, whose data is null. Ops, views, in-place ops and the autograd tape
// work on it as on any other; whoever would touch elements asks the recorder instead.
#pragma once

#include "frontend/eager/Dispatch.h"

#include <functional>
#include <utility>

namespace graphc::eager {

/// Numbers of a formula that a compiled program reads anew before every run: a learning rate and what follows from it.
struct LiveNumbers {
  int variant = 0; // of the formula; another one needs another program
  std::vector<double> values;
};

class Recorder {
public:
  virtual ~Recorder() = default;

  /// What `runFunction` does.
  virtual void call(Function &function, std::span<const Operand> operands, std::span<const int64_t> symbols, std::span<TensorRef> results,
                    std::span<TensorImpl *const> into) = 0;

  /// A dense tensor of one value.
  virtual TensorRef full(DType dtype, std::span<const int64_t> sizes, Scalar value) = 0;
  /// first, first + step, …
  virtual TensorRef sequence(DType dtype, int64_t count, int64_t first, int64_t step) = 0;
  /// The elements of a view in a dense tensor of its own.
  virtual TensorRef copy(const TensorImpl &from) = 0;
  /// to = from, of the same sizes and dtype.
  virtual void write(const TensorImpl &from, const TensorImpl &to) = 0;
  virtual void fill(const TensorImpl &to, Scalar value) = 0;
  /// to += from, where several elements of `to` may be one.
  virtual void accumulate(const TensorImpl &from, const TensorImpl &to) = 0;

  /// Key and offset for `count` random numbers, `perBlock` of which are one block: the generator's, whenever the program runs.
  virtual std::pair<TensorRef, TensorRef> random(int64_t count, int64_t perBlock) = 0;
  /// Rank-0 tensors of numbers that `read` gives when the program runs, after `*step` has risen as it rises now. Parameters of one
  /// `group` of `owner` that stand at the same step share them.
  virtual std::vector<TensorRef> numbers(const void *owner, size_t group, int64_t *step, DType dtype, std::function<LiveNumbers()> read) = 0;

  /// Called before a step count rises.
  virtual void stepRises(int64_t *step) = 0;

  /// What one of two functions gives, as `condition` says. Both are recorded; of what they change, the chosen one's changes stay.
  virtual std::vector<Tensor> branch(const Tensor &condition, const std::function<std::vector<Tensor>()> &then,
                                     const std::function<std::vector<Tensor>()> &otherwise) = 0;

  /// Memory that a factory has filled: a constant of the program.
  virtual void made(const TensorImpl &tensor) = 0;
  /// Called before `.grad` of a leaf is replaced.
  virtual void gradientChanges(TensorImpl &leaf) = 0;
  /// Whether the elements of a tensor depend on what is traced, or may differ from run to run.
  virtual bool isTraced(const TensorImpl &tensor) = 0;
};

/// The recorder of this thread's context, or null when ops run at once.
Recorder *recorder();

/// Ops run at once while this lives, also during a trace.
class TracePause {
public:
  TracePause();
  ~TracePause();
  TracePause(const TracePause &) = delete;
  TracePause &operator=(const TracePause &) = delete;

private:
  Recorder *before_;
};

/// Throws when the elements of `tensor` are not known, naming `what` asks for them and the way out.
void needElements(const TensorImpl &tensor, const char *what);

} // namespace graphc::eager
