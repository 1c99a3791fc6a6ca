// Weights in safetensors files, which Hugging Face's library reads and writes. Files appear whole or not at all; reading
// checks every range before it believes any. Tensors that are the same memory (tied weights) are stored once.
#pragma once

#include "frontend/graphc/tensor.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace graphc {

void saveSafetensors(const std::string &path, const std::vector<std::pair<std::string, Tensor>> &tensors,
                     const std::map<std::string, std::string> &metadata = {});
/// In the order of the names; tied names included.
std::vector<std::pair<std::string, Tensor>> loadSafetensors(const std::string &path, std::map<std::string, std::string> *metadata = nullptr);

} // namespace graphc
