// The recorder: turns what ops say into a TraceGraph, and remembers what tensors and state the program reads and changes.
//
// Every storage has a current value in the graph, a dense tensor of some sizes. A tensor is read by deriving its geometry (offset,
// sizes, strides) from that value, and written by replacing a region of it; so all views of a storage agree, in whatever order
// they are read and written.
#pragma once

#include "frontend/compile/TraceGraph.h"
#include "frontend/eager/Tracing.h"
#include "frontend/graphc/random.h"
#include "frontend/trace/Sizes.h"

#include <map>
#include <unordered_map>

namespace graphc::trace {

using detail::StorageImpl;
using detail::StorageRef;
using detail::TensorImpl;
using detail::TensorRef;

/// A tensor of the outside that the program reads, and perhaps changes.
struct Captured {
  TensorRef tensor;       // whose storage it is whenever the program runs
  bool whole = false;     // the argument has the tensor's sizes; else it is all of the storage, as a vector
  bool constant = false;  // made while tracing: belongs to the program
  int argument = -1;      // of the graph
  int parameter = -1;     // it stands for this argument of the call
  int gradientOf = -1;    // it is the `.grad` of this LeafGradient's leaf, whichever tensor that is
  uint32_t version = 0;   // of the storage before the trace
  int updates = -1;       // result of the graph with its new value
};

/// What the program asks of the outside for each run, beside tensors.
struct NumberInput {
  const void *owner = nullptr;
  size_t group = 0;
  int64_t step = 0; // of the optimizer's parameters while tracing
  /// The counts that stand there, and how far they have risen by then: equal ones, or the numbers are not shared.
  std::vector<std::pair<int64_t *, int64_t>> counts;
  DType dtype = DType::F32;
  int variant = 0;
  std::function<eager::LiveNumbers()> read;
  std::vector<int> arguments; // of the graph, one per number
  std::vector<TensorRef> tensors;
};

/// A step count: it rises by `rises` in every run.
struct StepCount {
  int64_t *count = nullptr;
  int64_t before = 0;
  int64_t rises = 0;
};

/// A leaf whose `.grad` the program reads or replaces.
struct LeafGradient {
  TensorRef leaf;
  TensorRef before; // null: there was none
  int result = -1;  // of the graph: what `.grad` becomes a new tensor of
  bool cleared = false;
};

/// What the function asked for: unlike the op programs it became, which join axes and know sizes of 1, the same for every size once
/// its numbers are put in.
struct Event {
  std::string what;
  int program = -1;              // of the graph
  std::vector<int64_t> numbers;  // sizes, or made of them
  std::vector<std::pair<size_t, size_t>> views; // where sizes of a tensor begin in `numbers`, and how many; so many strides follow
  bool isConstant = false;
  double value = 0;              // of a constant
  DType dtype = DType::F32;
};

class Trace final : public eager::Recorder {
public:
  /// More events than `limit` are an error: the function does more, the larger a size is.
  explicit Trace(SizeNames sizes, size_t limit = SIZE_MAX) : sizes_(std::move(sizes)), limit_(limit) {}
  ~Trace() override;

  /// A stand-in for an argument of the call.
  TensorRef parameter(int index, const TensorImpl &like, std::span<const int64_t> sizes, const std::string &name);
  /// The tensor's value at the end of the program becomes a result of the graph; its number.
  int result(const TensorImpl &tensor, const std::string &name);
  /// After the last op: what was changed becomes results, and everything outside is as it was before.
  void finish();
  /// Puts back what tracing has changed outside; finish() does it, too.
  void restore();

  const TraceGraph &graph() const { return graph_; }
  const std::vector<Captured> &captured() const { return captured_; }
  const std::vector<NumberInput> &numberInputs() const { return numbers_; }
  const std::vector<StepCount> &stepCounts() const { return steps_; }
  const std::vector<LeafGradient> &gradients() const { return gradients_; }
  const std::vector<Event> &events() const { return events_; }
  int keyArgument() const { return keyArgument_; }
  int offsetArgument() const { return offsetArgument_; }
  /// Blocks of random numbers that one run takes, at these values of the symbols.
  int64_t randomBlocks(const std::vector<int64_t> &symbols) const;
  const SizeNames &sizes() const { return sizes_; }
  /// Makes the constant that step `step` is an argument; its number. For a number of the program that turned out to be an input.
  int turnIntoArgument(size_t step, const std::string &name);
  /// The captured tensor whose storage this is, -1 when there is none.
  int capturedOf(const StorageImpl *storage) const;

  // ---- eager::Recorder ----
  void call(eager::Function &function, std::span<const eager::Operand> operands, std::span<const int64_t> symbols, std::span<TensorRef> results,
            std::span<TensorImpl *const> into) override;
  TensorRef full(DType dtype, std::span<const int64_t> sizes, Scalar value) override;
  TensorRef sequence(DType dtype, int64_t count, int64_t first, int64_t step) override;
  TensorRef copy(const TensorImpl &from) override;
  void write(const TensorImpl &from, const TensorImpl &to) override;
  void fill(const TensorImpl &to, Scalar value) override;
  void accumulate(const TensorImpl &from, const TensorImpl &to) override;
  std::pair<TensorRef, TensorRef> random(int64_t count, int64_t perBlock) override;
  std::vector<TensorRef> numbers(const void *owner, size_t group, int64_t *step, DType dtype, std::function<eager::LiveNumbers()> read) override;
  void stepRises(int64_t *step) override;
  std::vector<Tensor> branch(const Tensor &condition, const std::function<std::vector<Tensor>()> &then,
                             const std::function<std::vector<Tensor>()> &otherwise) override;
  void made(const TensorImpl &tensor) override;
  void gradientChanges(TensorImpl &leaf) override;
  bool isTraced(const TensorImpl &tensor) override;

private:
  struct Value {
    DType dtype;
    std::vector<int64_t> dims;
    bool zero = false; // every element is 0
  };
  struct Held {
    StorageRef storage;
    int value = -1;
    int captured = -1; // -1: made by the program
  };
  /// Where a view lies in a dense value: the value reshaped to `axes`, sliced, its axes put in the view's order, repeated.
  struct Place;
  friend struct Place;

  /// Notes an event; the storages of its tensors are numbered in the order in which they appear.
  void note(Event event);
  void noteTensor(Event &event, const TensorImpl &tensor);
  int argument(const std::string &name, DType dtype, std::vector<int64_t> dims);
  int emit(OpNode node, Value value);
  int emit(const std::string &op, std::vector<int> operands, const std::string &attributes, DType dtype, std::vector<int64_t> dims);
  int constant(DType dtype, Scalar value);
  /// An expression of sizes as a rank-0 number.
  int sizeNumber(const std::string &size, DType dtype);
  int broadcast(int value, std::vector<int64_t> dims);
  int reshape(int value, std::vector<int64_t> dims);
  int transpose(int value, const std::vector<int64_t> &perm);
  int slice(int value, std::vector<int64_t> starts, std::vector<int64_t> sizes, std::vector<int64_t> steps);
  /// Flat places of a view's elements, an i64 tensor of its sizes.
  int places(int64_t offset, std::span<const int64_t> sizes, std::span<const int64_t> strides);
  OpValueType typeOf(DType dtype, std::span<const int64_t> dims) const;

  TensorRef traced(int value);
  Held &held(const TensorImpl &tensor);
  int derive(const TensorImpl &tensor, int64_t offset, std::span<const int64_t> sizes, std::span<const int64_t> strides);
  int read(const TensorImpl &tensor) { return derive(tensor, tensor.offset, tensor.sizeSpan(), tensor.strideSpan()); }
  void store(const TensorImpl &to, int value);
  int replaced(int base, const TensorImpl &to, int value);
  int replacedRegion(int base, int value, std::span<const int64_t> starts, size_t axis);

  SizeNames sizes_;
  size_t limit_;
  std::vector<Event> events_;
  std::unordered_map<const StorageImpl *, int64_t> seen_;
  TraceGraph graph_;
  std::vector<Value> values_;
  std::unordered_map<const StorageImpl *, Held> storages_;
  std::map<const eager::Function *, int> programs_;
  std::map<std::string, int> emitted_; // moves and constants that are there already
  std::vector<Captured> captured_;
  std::vector<NumberInput> numbers_;
  std::vector<StepCount> steps_;
  std::vector<LeafGradient> gradients_;
  std::map<const TensorImpl *, bool> constants_;
  std::vector<TensorRef> kept_;
  int keyArgument_ = -1, offsetArgument_ = -1, keyValue_ = -1, offsetValue_ = -1;
  std::vector<std::pair<int64_t, int64_t>> draws_; // numbers, and how many make a block
  bool restored_ = false;
};

} // namespace graphc::trace
