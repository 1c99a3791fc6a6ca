// ONNX TensorProto files (`input_0.pb` of ONNX's test layout), read from the protobuf wire format by ourselves: a tool
// that runs a finished artifact must not load protobuf for its inputs.
#pragma once

#include "runtime/base/HostTensor.h"

#include <string>
#include <string_view>

namespace graphc {

Result<HostTensor> readTensorProto(const std::string &path);
/// The same from memory; `name` is what errors call it. `tensorName` receives the tensor's own name when asked for.
Result<HostTensor> decodeTensorProto(std::string_view bytes, const std::string &name, std::string *tensorName = nullptr);

} // namespace graphc
