// Eager calls: an op is a small graph, compiled once for everything that shapes its code, found again by a key and run at once.
//
//   Call call("sum");                                  // the key: name, attributes, dtypes, ranks, which sizes agree
//   call.input(x).attribute(axis);
//   return call.run([&](GraphBuilder &g) {             // only when the key is new
//     g.result(g.op("reduce", {g.input(0)}, text("kind = \"sum\", axes = array<i64: ", axis, ">")));
//   })[0];
//
// Sizes are symbols; equal sizes share one, sizes of 1 are constants. Elementwise calls (`elementwise()`) broadcast, and merge
// neighbouring dims first. A recorded call becomes one autograd node whose backward is the compiled gradient of the same graph.
#pragma once

#include "frontend/compile/OpCompiler.h"
#include "frontend/graphc/tensor.h"
#include "runtime/autograd/Node.h"
#include "runtime/exec/DirectCall.h"

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace graphc::eager {

using detail::kMaxRank;
using detail::TensorImpl;

inline constexpr int kMaxSymbols = 40;
inline constexpr int kMaxInputs = 16;
inline constexpr int kMaxResults = 8;

/// A graph under construction; values are numbers.
class GraphBuilder {
public:
  struct Value {
    int id = -1;
  };

  GraphBuilder() = default;
  /// For programs that are not calls: every argument as it is.
  explicit GraphBuilder(const std::vector<OpValueType> &arguments);

  Value input(int index) const { return inputs_[index]; }
  int inputs() const { return static_cast<int>(inputs_.size()); }
  DType dtype(int input) const { return types_[input].dtype; }
  int rank(int input) const { return static_cast<int>(types_[input].dims.size()); }
  /// The size of a dim of an input, as the graph spells it.
  const std::string &dim(int input, int64_t d) const { return types_[input].dims[d]; }
  const std::vector<std::string> &dims(int input) const { return types_[input].dims; }
  /// Symbol number `index` of Call::symbol.
  std::string symbol(int index) const { return extra_[index]; }

  /// One result, inferred by the op.
  Value op(const std::string &name, const std::vector<Value> &operands, const std::string &attributes = "");
  /// One result of this type.
  Value op(const std::string &name, const std::vector<Value> &operands, const std::string &attributes, OpValueType type);
  std::vector<Value> ops(const std::string &name, const std::vector<Value> &operands, const std::string &attributes,
                         std::vector<OpValueType> types);
  /// Several results, inferred by the op.
  std::vector<Value> opMany(const std::string &name, const std::vector<Value> &operands, const std::string &attributes, int results);
  Value constant(double value, DType dtype); // rank 0
  /// `value` has these dims; another element type.
  Value cast(Value value, DType dtype, std::vector<std::string> dims);
  Value castInput(int index, DType dtype) { return cast(input(index), dtype, dims(index)); }
  /// A size as a rank-0 number.
  Value size(const std::string &dim, DType dtype);
  Value add(Value a, Value b) { return op("add", {a, b}); }
  Value sub(Value a, Value b) { return op("sub", {a, b}); }
  Value mul(Value a, Value b) { return op("mul", {a, b}); }
  Value div(Value a, Value b) { return op("div", {a, b}); }
  void result(Value value) { graph_.results.push_back(value.id); }
  /// Building it fails unless it is elementwise.
  void mustBeElementwise() { graph_.elementwise = true; }

  OpGraph take() { return std::move(graph_); }

private:
  friend class Call;
  OpGraph graph_;
  int values_ = 0;
  std::vector<Value> inputs_;
  std::vector<OpValueType> types_; // of inputs, as the ops see them
  std::vector<std::string> extra_;
};

/// What an op's operand is to the compiled code: a tensor seen under these dims.
struct Operand {
  TensorRef tensor;
  int rank = 0;
  bool dense = true;
  int64_t dims[kMaxRank];
  int64_t strides[kMaxRank];
};

/// While it lives, errors of this thread speak in the name of this op, which the user called, not of one it is made of. The
/// outermost counts.
class OpScope {
public:
  explicit OpScope(const char *name) : outermost_(!current_) {
    if (outermost_)
      current_ = name;
  }
  ~OpScope() {
    if (outermost_)
      current_ = nullptr;
  }
  OpScope(const OpScope &) = delete;
  OpScope &operator=(const OpScope &) = delete;
  static const char *current() { return current_; }

private:
  bool outermost_;
  static inline constinit thread_local const char *current_ = nullptr;
};

class Function;

/// A function's code.
struct Form {
  std::shared_ptr<const Executable> executable;
  ResultShapes shapes;
  std::optional<DirectCall> direct;
};

/// The gradient of a function for a set of operands.
struct Gradient {
  uint64_t needs = 0, given = 0;
  OpGradient info;
  std::shared_ptr<Function> function;
  Gradient *next = nullptr;
};

/// Builds the gradient of a program for the operands that `needs` marks, in place of the derivative of its ops.
using OwnGradient = std::function<OpGradient(const OpProgram &program, uint64_t needs)>;

/// A graph, what was compiled from it, and its gradients. Shared by threads; lists only grow.
class Function {
public:
  /// `key`: what other processes find the program by; empty: they do not.
  Function(std::string name, OpProgram program, std::string key = "", OwnGradient ownGradient = {})
      : name(std::move(name)), program(std::move(program)), key(std::move(key)), ownGradient_(std::move(ownGradient)) {}
  ~Function();
  /// Compiled on the first call.
  const Form &form();
  /// The same for a device with its own memory.
  const Form &form(const detail::DeviceId &device);
  const Gradient &gradient(uint64_t needs, uint64_t given);
  /// Those built so far, the latest first.
  const Gradient *gradients() const { return gradients_.load(std::memory_order_acquire); }
  /// What its code and its gradients are stored under.
  std::string codeKey() const { return "code\n" + program.text; }
  std::string gradientKey(uint64_t needs, uint64_t given) const;

  const std::string name;
  const OpProgram program;
  const std::string key;

private:
  OpGradient buildGradient(uint64_t needs, uint64_t given);
  OwnGradient ownGradient_;
  std::map<std::pair<int, int>, Form> deviceForms_; // by kind and index; under mutex_
  std::atomic<Form *> form_{nullptr};
  std::atomic<Gradient *> gradients_{nullptr};
  std::mutex mutex_;
};

/// Runs `function`; operands' dims and `symbols` must be those its program was built for. Results have the program's sizes.
/// `into`: dense memory for the first results, each may be null; empty: none. What is given may be an operand.
void runFunction(Function &function, std::span<Operand> operands, std::span<const int64_t> symbols, std::span<TensorRef> results,
                 std::span<TensorImpl *const> into = {});

/// Sizes that results get instead of the program's: those of an elementwise call before its dims were merged.
struct ResultShape {
  std::span<const int64_t> sizes;
};
/// As above, recorded when an operand needs a gradient and the mode says so.
void runRecorded(const std::shared_ptr<Function> &function, std::span<Operand> operands, std::span<const int64_t> symbols,
                 std::span<TensorRef> results, const ResultShape *shape = nullptr);

/// Takes `count` of the generator's random numbers, which come in blocks: key and offset as rank-0 tensors.
std::pair<Tensor, Tensor> drawBlocks(int64_t count, int64_t perBlock);
/// Work below this is not worth sharing out (LoadOptions::serialCutoffNs has the measurement).
inline constexpr double kSerialCutoffNs = 12000;
/// The error that a kernel's bounds check left, in the words of the function's user.
[[noreturn]] void outOfRange(const Function &function, const GraphcErrorCell &cell);

/// Other sizes for a dense tensor that nobody else has seen yet.
void reshapeFresh(TensorImpl &tensor, std::span<const int64_t> sizes);
/// The number's bytes as this dtype.
void writeScalar(Scalar value, DType dtype, void *at);

/// Bytes that grow on the stack first.
class KeyBytes {
public:
  void add(const void *bytes, size_t count) {
    if (size_ + count <= sizeof inline_) {
      std::memcpy(inline_ + size_, bytes, count);
    } else {
      if (heap_.empty())
        heap_.assign(inline_, size_);
      heap_.append(static_cast<const char *>(bytes), count);
    }
    size_ += count;
  }
  std::string_view view() const { return heap_.empty() ? std::string_view(inline_, size_) : std::string_view(heap_); }

private:
  size_t size_ = 0;
  std::string heap_;
  char inline_[320];
};

class Call {
public:
  explicit Call(const char *name);

  /// An operand, converted to `dtype` inside the graph when that is another one.
  Call &input(const Tensor &tensor) { return input(tensor, tensor.dtype()); }
  Call &input(const Tensor &tensor, DType dtype);
  /// A number as a rank-0 operand: other values reuse the code.
  Call &input(Scalar value, DType dtype);
  template <typename T>
    requires(std::integral<T> || std::floating_point<T>)
  Call &attribute(T value) {
    if constexpr (std::integral<T>) {
      int64_t wide = static_cast<int64_t>(value);
      key_.add(&wide, sizeof wide);
    } else {
      double wide = value;
      key_.add(&wide, sizeof wide);
    }
    return *this;
  }
  Call &attribute(std::string_view value) {
    attribute(value.size());
    key_.add(value.data(), value.size());
    return *this;
  }
  Call &attributes(std::span<const int64_t> values) {
    attribute(values.size());
    key_.add(values.data(), values.size_bytes());
    return *this;
  }
  /// Sizes of the last operand from `dim` on are constants of the code: convolutions and windows are chosen by them.
  Call &fixed(int dim = 0) {
    fixedFrom_[count_ - 1] = static_cast<int8_t>(dim);
    return *this;
  }
  /// A size that no operand has (a result's, a start): GraphBuilder::symbol(k) for the k-th.
  Call &symbol(int64_t value);
  /// Operands broadcast against each other and results have the broadcast shape.
  Call &elementwise();
  /// The name means this graph in this process only: it is not looked for among what others have stored.
  Call &ofProcess() {
    ofProcess_ = true;
    return *this;
  }
  Call &gradient(OwnGradient own) {
    ownGradient_ = std::move(own);
    return *this;
  }
  /// Results carry no history.
  Call &noGradient() {
    noGradient_ = true;
    return *this;
  }
  /// The next result goes here, the first call speaks of result 0: a dense tensor of the result's sizes whose elements no
  /// operand shares except at the same place.
  Call &into(const Tensor &result) {
    into_[intoCount_++] = result.impl();
    return *this;
  }

  template <typename Build>
  Tensor run(Build &&build) {
    Tensor result;
    finish(lookUp(std::forward<Build>(build)), {&result, 1});
    return result;
  }
  template <typename Build>
  std::vector<Tensor> runMany(int results, Build &&build) {
    std::vector<Tensor> tensors(static_cast<size_t>(results));
    finish(lookUp(std::forward<Build>(build)), tensors);
    return tensors;
  }
  /// The broadcast shape of an elementwise call, after its operands are given.
  std::span<const int64_t> broadcastSizes() const { return {sizes_, static_cast<size_t>(rank_)}; }

private:
  template <typename Build>
  const std::shared_ptr<Function> &lookUp(Build &&build) {
    if (const std::shared_ptr<Function> *known = find()) [[likely]]
      return *known;
    GraphBuilder builder;
    prepare(builder);
    build(builder);
    return store(builder.take());
  }
  void collapse();
  void findBroadcast();
  void broadcast();
  void assignSymbols();
  const std::shared_ptr<Function> *find();
  const std::shared_ptr<Function> *fromDisk();
  void prepare(GraphBuilder &builder);
  const std::shared_ptr<Function> &store(OpGraph graph);
  void finish(const std::shared_ptr<Function> &function, std::span<Tensor> results);

  const char *name_;
  KeyBytes key_;
  int count_ = 0, symbols_ = 0, extra_ = 0;
  bool elementwise_ = false, noGradient_ = false, ofProcess_ = false;
  OwnGradient ownGradient_;
  int intoCount_ = 0;
  TensorImpl *into_[kMaxResults];
  Operand operands_[kMaxInputs];
  DType as_[kMaxInputs];
  int8_t codes_[kMaxInputs][kMaxRank]; // 0: size 1; -1: a constant; else symbol + 1
  int8_t fixedFrom_[kMaxInputs];
  int64_t values_[kMaxSymbols];
  int8_t extraCode_[16];
  int64_t extraValue_[16];
  int rank_ = 0;
  int64_t sizes_[kMaxRank];
};

Scalar readScalar(DType dtype, const void *at);
/// A float as an attribute spells it, exactly.
std::string number(double value);

/// Throws graphc::Error.
[[noreturn]] void fail(const Status &status);
template <typename... Parts>
[[noreturn]] void failWith(Code code, Parts &&...parts) {
  fail(error(code, std::forward<Parts>(parts)...));
}
inline void check(const Status &status) {
  if (!status.ok())
    fail(status);
}

/// All operands on one device, or an error that names both.
void checkDevices(const char *op, std::initializer_list<const Tensor *> tensors);
/// A tensor as errors name it: "w" f32[2, 3], or f32[2, 3].
std::string nameOf(const TensorImpl &tensor);
inline std::string nameOf(const Tensor &tensor) { return nameOf(*tensor.impl()); }
inline Tensor wrap(TensorRef ref) { return Tensor::adopt(ref.leave()); }
inline TensorRef ref(const Tensor &tensor) { return TensorRef(tensor.impl()); }
/// The axis in [0, rank), or an error in the op's name; rank 0 takes 0 and -1.
int64_t wrapAxis(const char *op, int64_t axis, int64_t rank);
/// Sorted axes in [0, rank); all when empty.
std::vector<int64_t> wrapAxes(const char *op, IntList axes, int64_t rank);

} // namespace graphc::eager
