// A model ready to run, whatever file it came from.
#pragma once

#include "frontend/compile/Compiler.h"
#include "frontend/compile/ModelCache.h"
#include "runtime/base/HostTensor.h"
#include "runtime/base/Status.h"
#include "tools/graphc/Options.h"
#include "tools/graphc/Tensors.h"

#include <map>
#include <memory>
#include <string>
#include <span>
#include <vector>

namespace graphc::tool {

/// What a bench reports of memory: the runtime's own account.
struct MemoryReport {
  int64_t peakBytes = 0;     // arena, outputs and prepared weights at the worst moment
  int64_t preparedBytes = 0; // weights rewritten at load
};

CompileOptions compileOptionsOf(const ModelOptions &options, CompileOptions base = {});

class Model {
public:
  /// Compiles `.onnx` and `.mlir`, or finds them in the cache without loading the compiler. Warnings go to stderr.
  static Result<Model> load(const ModelOptions &options, const ValueProvider &values = nullptr, CompileOptions compile = {});

  Model(Model &&) noexcept;
  Model &operator=(Model &&) noexcept;
  ~Model();

  /// False when compilation stopped at --to-phase.
  bool runnable() const { return compiled.executable != nullptr; }
  std::span<const Port> inputs() const { return inputPorts; }
  std::span<const Port> outputs() const { return outputPorts; }

  /// One call; the outputs are new.
  Result<std::vector<HostTensor>> run(std::span<const HostTensor> inputs);
  /// Calls over and over with the same inputs: outputs are bound once, so that a call costs what the model costs.
  Status runAgain(std::span<const HostTensor> inputs, const RunOptions &runOptions = {});

  /// Keeps a model that had to be compiled for the next process; called when the answer is out. An error under --strict only.
  Status keep();
  /// "off", "hit" or "miss"
  const char *cacheUse() const { return cacheUse_; }

  double compileMs() const; // import to binary
  double loadMs() const;    // weights mapped and prepared
  /// Of the last runAgain.
  MemoryReport memory() const;
  const CompiledModel &details() const { return compiled; }
  /// The values that sizes depended on, for another compilation.
  std::map<std::string, HostTensor> takeConstantInputs() { return std::move(constantInputs); }

private:
  Model() = default;
  Status findOrCompile(CompileOptions compileOptions, const ValueProvider &values);
  /// reduce-overhead on the processor; a device records its calls instead.
  bool bindsBuffers() const { return options.mode == "reduce-overhead" && options.deviceId.isCpu(); }
  Status strictly(std::span<const CompileDiagnostic> diagnostics) const;

  ModelOptions options;
  std::shared_ptr<ComputeDevice> device; // null: the processor
  const char *cacheUse_ = "off";
  std::unique_ptr<ModelCache> cache;          // null: not used
  std::unique_ptr<std::vector<std::string>> cacheProblems = std::make_unique<std::vector<std::string>>();
  std::unique_ptr<CompileOptions> missed;     // what compiled it, when the cache had nothing
  CompileResult result;                       // of that compilation; its model has moved into `compiled`
  CompiledModel compiled;
  std::map<std::string, HostTensor> constantInputs;
  std::vector<Port> inputPorts, outputPorts;
  std::shared_ptr<Context> context; // of runAgain
  std::vector<HostTensor> bound;
};

} // namespace graphc::tool
