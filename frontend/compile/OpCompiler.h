// Small graphs of ops to executables, for programs that run op by op: build a graph from names and attributes, take its gradient
// by the ops' VJP rules, compile it. No MLIR in this header; a new op of the dialect needs nothing new here.
//
// Sizes are constants or expressions over the symbols s0, s1, …, so one executable serves all sizes. The symbols' values come as
// the sizes of one argument before the others (see `compile`), not from the arguments that happen to have them.
#pragma once

#include "runtime/base/DType.h"
#include "runtime/exec/Executable.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace graphc {

struct OpValueType {
  DType dtype = DType::F32;
  std::vector<std::string> dims; // "1", "s0", "(s0 + 1) floordiv 2"
};

struct OpNode {
  std::string op;         // "reduce"
  std::string attributes; // MLIR syntax without braces: "kind = \"sum\", axes = array<i64: 0>"
  std::vector<int> operands;
  std::vector<OpValueType> results; // empty: one, inferred
};

/// Values are numbered: arguments first, then the results of the nodes in order.
struct OpGraph {
  std::vector<OpValueType> arguments;
  std::vector<OpNode> nodes;
  std::vector<int> results;
  bool elementwise = false; // it must be: every op with operands is, results have the sizes that the arguments have together
};

/// A verified graph as text, with the types of what goes in and out.
struct OpProgram {
  std::string text;
  std::vector<OpValueType> arguments, results;
  int symbols = 0; // s0 … are in use below this
};

/// What a gradient program reads, in the order of its arguments.
struct GradientInput {
  enum Kind { Argument, Result, ResultGradient } kind;
  int index;
};
/// A program that computes gradients of another one's arguments.
struct OpGradient {
  OpProgram program;
  std::vector<GradientInput> inputs;
  /// For each argument of the original: the result of `program` that is its gradient; kNone when none reaches it;
  /// passes(i) when it is input i unchanged.
  std::vector<int> gradients;
  static constexpr int kNone = -1;
  static constexpr int passes(int input) { return -2 - input; }
};

struct TraceGraph; // TraceGraph.h

/// A compiled program, ready to be kept: the bytes of its plan, and a relocatable object for each kernel of it.
struct CompiledOp {
  std::vector<uint8_t> plan;
  std::vector<std::pair<std::string, std::string>> kernels; // name, object
};

struct OpCompilerOptions {
  std::string cpuLevel = "host";
};

/// Any thread may call it; one compiles at a time.
class OpCompiler {
public:
  explicit OpCompiler(OpCompilerOptions options = {});
  ~OpCompiler();

  Result<OpProgram> build(const OpGraph &graph);

  /// Gradients of the arguments that `needs` marks, given those of the results that `given` marks.
  Result<OpGradient> gradient(const OpProgram &program, const std::vector<bool> &needs, const std::vector<bool> &given);

  /// The executable's inputs are, when there are symbols, one bool tensor of sizes [0, s0, s1, …], then the program's arguments,
  /// dense.
  ///
  /// With architectures ("compute_80", "sm_90") it is for a CUDA device: the plan holds the code, there are no kernels beside it.
  Result<CompiledOp> compile(const OpProgram &program, int threads = 1, const std::vector<std::string> &architectures = {});

  /// A traced program as one text. Its symbols are named by the trace and come with the sizes of its arguments.
  Result<OpProgram> write(const TraceGraph &graph);

  /// Links a kernel's object with the compiler's own linker, for objects that need more than `ObjectCode` gives. The code lives
  /// as long as the process.
  Result<GraphcKernelFn> link(const std::string &name, const std::string &object);

  /// Stands for the build and the CPU level: what one identity compiled is of no use to another. Starts nothing.
  Result<std::string> identity() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace graphc
