// Whole compiled models kept on disk, found without loading the compiler. No MLIR in this header.
//
// Two steps, since only the compiler knows what a model depends on besides its file:
//   needs-KEY   of the model's bytes, options, CPU level and build: its external files and the inputs whose values sizes depend on
//   model-KEY   of all that and of those files' and values' contents: the compiled model as an artifact
// Weights that lie unchanged in the model's own files stay there; what the library packed is in the entry.
#pragma once

#include "frontend/compile/Compiler.h"
#include "runtime/cache/CompileCache.h"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace graphc {

/// Values of inputs that sizes depend on: that of `names[index]`, nothing when it was not given.
using InputValues = std::function<Result<std::optional<HostTensor>>(std::span<const std::string> names, size_t index)>;

class ModelCache {
public:
  /// `identity`: the build of compiler and runtime (compilerIdentity()). `warn` gets one line about an entry that cannot be
  /// used or written; results are the same without it.
  static Result<ModelCache> open(const std::string &folder, std::string identity, std::function<void(const std::string &)> warn);

  /// Whether such a compilation has only the result to show; dumps and texts come from the compiler alone.
  static bool serves(const std::string &path, const CompileOptions &options);

  /// The model ready to run, with the warnings of its compilation in `remarks`; nothing when it must be compiled. Values found by way of
  /// `values` are left in `options.constantInputs`, where a compilation wants them too.
  Result<std::optional<CompiledModel>> find(const std::string &path, CompileOptions &options, const InputValues &values);

  /// Keeps what compileFile made with `keepObjects` after a find() that found nothing. A model whose files have changed meanwhile is
  /// not kept.
  void store(const std::string &path, const CompileOptions &options, const CompileResult &result);

  /// Why find() would find nothing, in one sentence; empty when it would find the model.
  Result<std::string> explainMiss(const std::string &path, CompileOptions &options, const InputValues &values);

private:
  ModelCache(CompileCache cache, std::string identity, std::function<void(const std::string &)> warn)
      : cache_(std::move(cache)), identity_(std::move(identity)), warn_(std::move(warn)) {}

  struct Needs {
    std::vector<ModelFile> files; // paths relative to the model's folder where they lie below it
    std::vector<std::string> values, inputNames;
  };
  /// What the key is made of, in words: kept in the entry so that a miss can be explained.
  std::map<std::string, std::string> components(const std::string &path, const CompileOptions &options, const std::string &content) const;
  std::string needsKey(const std::map<std::string, std::string> &components) const;
  Result<std::string> modelKey(const std::string &path, const std::string &needsKey, const Needs &needs, const CompileOptions &options,
                               std::map<std::string, WeightBytes> *outerFiles) const;
  std::optional<Needs> readNeeds(const std::string &key);

  CompileCache cache_;
  std::string identity_;
  std::function<void(const std::string &)> warn_;
  // Of the last find(): what store() must find unchanged.
  std::string stamp_, content_;
  int64_t startedNs_ = 0;
};

} // namespace graphc
