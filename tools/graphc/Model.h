// A model ready to run, whatever file it came from.
#pragma once

#include "runtime/base/HostTensor.h"
#include "runtime/base/Status.h"
#include "tools/graphc/Options.h"
#include "tools/graphc/Tensors.h"

#include <memory>
#include <span>
#include <vector>

namespace graphc::tool {

/// What a bench reports of memory: the runtime's own account.
struct MemoryReport {
  int64_t peakBytes = 0;     // arena, outputs and prepared weights at the worst moment
  int64_t preparedBytes = 0; // weights rewritten at load
};

class Model {
public:
  /// Compiles `.onnx` and `.mlir`. Warnings and remarks of the compiler go to stderr.
  static Result<Model> load(const ModelOptions &options);

  Model(Model &&) noexcept;
  Model &operator=(Model &&) noexcept;
  ~Model();

  std::span<const Port> inputs() const;
  std::span<const Port> outputs() const;

  /// One call; the outputs are new.
  Result<std::vector<HostTensor>> run(std::span<const HostTensor> inputs);
  /// Calls over and over with the same inputs: outputs are bound once, so that a call costs what the model costs.
  Status runAgain(std::span<const HostTensor> inputs);

  double compileMs() const; // import to binary
  double loadMs() const;    // weights mapped and prepared
  MemoryReport memory() const;

  struct Parts;

private:
  explicit Model(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts;
};

} // namespace graphc::tool
