// One traced and compiled program: when it holds, and how it runs.
#pragma once

#include "frontend/graphc/compile.h"
#include "frontend/trace/Trace.h"
#include "runtime/exec/Executable.h"

namespace graphc::trace {

/// What must be as it was when the program was traced.
struct TensorGuard {
  bool defined = true, dense = true, requiresGrad = false;
  DType dtype = DType::F32;
  std::vector<int64_t> sizes; // -1: any, see the symbols
};

class Program {
public:
  /// Traces `fn` on stand-ins for `leaves` and compiles what it did. Throws with nothing changed.
  static std::unique_ptr<Program> make(const CompileSettings &settings, const detail::CallLeaves &leaves,
                                       const std::function<detail::CallOutcome(detail::CallLeaves &)> &fn, CompileReport &report);

  /// Empty when the program holds for this call; else what differs.
  std::string mismatch(const detail::CallLeaves &leaves);
  /// Throws with nothing changed.
  detail::CallOutcome run(const detail::CallLeaves &leaves);
  const std::string &ir() const { return text_; }

private:
  struct ModeGuard {
    const nn::Module *module;
    bool training;
    std::string name;
  };
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
  struct NumberCells {
    size_t input; // of the trace's numberInputs()
    std::vector<std::byte> bytes;
  };

  TensorImpl *tensorOf(const Captured &captured, const detail::CallLeaves &leaves, std::vector<TensorRef> &kept) const;
  void compile(const CompileSettings &settings, CompileReport &report);
  ResultSource sourceOf(const Tensor &result, size_t number);

  std::unique_ptr<Trace> trace_;
  std::vector<std::shared_ptr<nn::Module>> modules_;
  std::vector<TensorGuard> arguments_;
  std::vector<TensorGuard> captured_;
  std::vector<int64_t> integers_;
  std::vector<double> floats_;
  std::vector<ModeGuard> modes_;
  bool gradMode_ = true;
  std::vector<ResultSource> results_;
  std::shared_ptr<void> shape_;
  std::string text_;
  std::vector<NumberCells> cells_;
  int64_t key_ = 0, offset_ = 0;
  std::shared_ptr<const Executable> executable_;
  std::shared_ptr<Context> context_;
  std::vector<HostTensor> inputs_, outputs_;
};

} // namespace graphc::trace
