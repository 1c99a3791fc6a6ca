// NumPy's .npz files: zip archives of .npy files, as numpy.savez writes them (stored, not compressed).
#pragma once

#include "runtime/base/HostTensor.h"

#include <string>
#include <utility>
#include <vector>

namespace graphc {

using NamedTensors = std::vector<std::pair<std::string, HostTensor>>;

/// In the order of the file; names without ".npy".
Result<NamedTensors> readNpz(const std::string &path);
Status writeNpz(const std::string &path, const NamedTensors &tensors);

} // namespace graphc
