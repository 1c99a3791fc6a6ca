// The tensors of one call, from the command line: --input, --test-data, --random, --expected, --output, tolerances.
#pragma once

#include "frontend/tensor/CompareTensors.h"
#include "runtime/base/HostTensor.h"
#include "runtime/base/Status.h"

#include <CLI/App.hpp>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace graphc::tool {

/// An input or output of a model. A size that is not fixed has a name and, in `dims`, no value.
struct Port {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::optional<int64_t>> dims;
  std::vector<std::string> dimNames; // what prints for each size

  /// "Nx3x224x224xf32"
  std::string typeText() const;
};

/// Values of inputs that a model's sizes depend on (the shape operand of a Reshape …), asked for while compiling: that of
/// `names[index]`. Nothing when that input was not given.
using ValueProvider = std::function<Result<std::optional<HostTensor>>(std::span<const std::string> names, size_t index)>;

/// Where inputs come from.
struct InputOptions {
  std::vector<std::string> inputs;
  std::string testData;
  std::string random; // seed; empty when not asked for

  void declare(CLI::App &app);
  bool any() const { return !inputs.empty() || !testData.empty() || !random.empty(); }
  /// One tensor per port, in order; names resolved, what is missing drawn at random when asked for.
  Result<std::vector<HostTensor>> resolve(std::span<const Port> ports) const;
  /// The value of the input `names[index]` when one was given; types are not known yet.
  Result<std::optional<HostTensor>> valueOf(std::span<const std::string> names, size_t index) const;
  ValueProvider provider() const {
    return [this](std::span<const std::string> names, size_t index) { return valueOf(names, index); };
  }
};

/// What outputs are compared with.
struct ExpectedOptions {
  std::vector<std::string> expected;
  std::string tol;
  std::optional<double> rtol, atol;

  void declare(CLI::App &app);
  Result<Tolerance> tolerance() const;
  /// One entry per port; nothing where no expectation was given. `testData` adds its output_K.pb files.
  Result<std::vector<std::optional<HostTensor>>> resolve(std::span<const Port> ports, const std::string &testData) const;
};

/// Puts `named` tensors or files to their ports: named ones by name, the others in order. Used for outputs as well.
/// Answers the port of each entry.
Result<std::vector<size_t>> assignPorts(std::span<const std::optional<std::string>> names, std::span<const Port> ports, std::string_view what);

} // namespace graphc::tool
