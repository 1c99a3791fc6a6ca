// One traced and compiled program: when it holds, and how it runs.
#pragma once

#include "frontend/graphc/compile.h"
#include "frontend/trace/Trace.h"
#include "runtime/exec/Executable.h"

#include <set>

namespace graphc::trace {

/// What must be as it was when the program was traced.
struct TensorGuard {
  bool defined = true, dense = true, requiresGrad = false;
  DType dtype = DType::F32;
  std::vector<int64_t> sizes; // -1: any, see the symbols
};

/// An axis of an argument whose size may be any.
struct OpenAxis {
  std::string name; // equal names, equal sizes
  int64_t lo = 0, hi = 0;
  int argument = 0;
  int64_t axis = 0;
};

using TracedFunction = std::function<detail::CallOutcome(detail::CallLeaves &)>;

class Program {
public:
  /// Traces `fn` on stand-ins for `leaves` and compiles what it did. Throws with nothing changed.
  static std::unique_ptr<Program> make(const CompileSettings &settings, const std::vector<OpenAxis> &open, const detail::CallLeaves &leaves,
                                       const TracedFunction &fn, CompileReport &report);

  /// Where a result of the function comes from.
  struct ResultSource {
    int result = -1;   // of the graph
    int captured = -1; // it looks at the memory of this captured tensor, which the program may have changed
    bool itself = false; // it is that tensor
    bool defined = true;
    std::vector<int64_t> sizes, strides;
    int64_t offset = 0;
    DType dtype = DType::F32;
  };
  /// One run of the function on stand-ins.
  struct Recorded {
    std::unique_ptr<Trace> trace;
    std::vector<ResultSource> results;
    std::vector<int64_t> integers;
    std::vector<double> floats;
    std::shared_ptr<void> shape;
    int withHistory = -1; // a result that needs a gradient
  };
  /// What the function does for the sizes and floats at hand.
  static Recorded recordAsIs(const CompileSettings &settings, const detail::CallLeaves &leaves, const TracedFunction &fn);

  /// Whether the open sizes and floats are known to be ones that the program was found to be right for, or there are none.
  bool isVerified(const detail::CallLeaves &leaves) const;
  /// Empty when `asIs` is what the program does at these sizes and floats, which is remembered; else what differs.
  std::string verify(const Recorded &asIs, const detail::CallLeaves &leaves);
  /// Empty when the program holds for this call; else what differs.
  std::string mismatch(const detail::CallLeaves &leaves);
  /// The axes of arguments that would have to be open for the program to hold, as far as their sizes go.
  std::vector<std::pair<OpenAxis, int64_t>> changedSizes(const detail::CallLeaves &leaves) const; // and what they were
  /// Throws with nothing changed.
  detail::CallOutcome run(const detail::CallLeaves &leaves);
  const std::string &ir() const { return text_; }
  bool isOpen() const { return !closed_; }
  /// Compiles it once more with what it only reads as constants, and writes an artifact.
  void save(const std::string &path) const;

private:
  struct ModeGuard {
    const nn::Module *module;
    bool training;
    std::string name;
  };
  struct NumberCells {
    size_t input; // of the trace's numberInputs()
    std::vector<std::byte> bytes;
  };

  struct FloatInput {
    int argument; // of the graph
    size_t number; // of the call's floats
    DType dtype;
    std::byte cell[8];
  };
  static Recorded record(const CompileSettings &settings, SizeNames sizes, const std::vector<OpenAxis> &open, const detail::CallLeaves &leaves,
                         std::vector<double> floats, const TracedFunction &fn, size_t limit);
  /// Traces with stand-ins for open sizes and floats; a reason when what comes of them cannot be followed.
  std::string recordOpen(const CompileSettings &settings, const std::vector<OpenAxis> &open, const detail::CallLeaves &leaves, const TracedFunction &fn,
                         const Recorded &asIs);
  void setOpen(const std::vector<OpenAxis> &open);
  std::vector<int64_t> openValues(const detail::CallLeaves &leaves) const;
  /// What differs between the trace with stand-ins and one at the sizes and floats of `leaves`.
  std::string difference(const Recorded &asIs, const detail::CallLeaves &leaves) const;
  /// Error: an argument that the program changes shares memory with another tensor it uses.
  void checkAliases(const std::vector<TensorImpl *> &tensors) const;
  void guard(const CompileSettings &settings, const detail::CallLeaves &leaves);
  void compile(CompileReport &report);
  static ResultSource sourceOf(Trace &trace, const Tensor &result, size_t number);
  TensorImpl *tensorOf(const Captured &captured, const detail::CallLeaves &leaves) const;
  std::vector<int64_t> symbolsOf(const detail::CallLeaves &leaves) const;
  std::vector<int64_t> at(const std::vector<int64_t> &sizes, const std::vector<int64_t> &symbols) const;

  std::unique_ptr<Trace> trace_;
  std::vector<OpenAxis> open_;
  std::vector<size_t> symbolAxis_; // for each symbol, the entry of open_ that has its size
  std::vector<FloatInput> floatInputs_;
  std::vector<std::shared_ptr<nn::Module>> modules_;
  std::vector<TensorGuard> arguments_;
  std::vector<TensorGuard> captured_;
  std::vector<int64_t> integers_;
  std::vector<double> floats_;
  std::vector<ModeGuard> modes_;
  bool gradMode_ = true;
  std::vector<ResultSource> results_;
  std::vector<int64_t> resultIntegers_;
  std::vector<double> resultFloats_;
  std::vector<double> standFloats_; // what float arguments were in the trace
  bool closed_ = true;
  std::set<std::vector<int64_t>> verified_; // open sizes and the bits of floats
  std::shared_ptr<void> shape_;
  std::string text_;
  std::vector<NumberCells> cells_;
  int64_t key_ = 0, offset_ = 0;
  std::shared_ptr<const Executable> executable_;
  std::shared_ptr<Context> context_;
  std::vector<HostTensor> inputs_, outputs_;
};

} // namespace graphc::trace
