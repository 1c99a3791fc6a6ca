// Our own walk of a model's protobuf bytes. Protobuf copies tensors and tells no offsets; weights are to stay in the
// mapped file. So the walk finds the raw bytes of every initializer, and leaves a skeleton without them to protobuf.
#pragma once

#include "runtime/base/Status.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace graphc::onnx_import {

struct RawRange {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct SplitModel {
  /// The model without raw_data of the main graph's initializers.
  std::string skeleton;
  /// One entry per initializer of the main graph, in order: where its raw_data lies, if it has any.
  std::vector<std::optional<RawRange>> initializers;
};

/// Fails on malformed bytes, naming the offset.
Result<SplitModel> splitModel(std::string_view bytes);

} // namespace graphc::onnx_import
