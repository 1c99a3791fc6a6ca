// Tensors to and from files and other libraries.
#pragma once

#include "frontend/graphc/tensor.h"

namespace graphc {

/// NumPy's files.
Tensor loadNpy(const std::string &path);
void saveNpy(const std::string &path, const Tensor &tensor);
std::vector<std::pair<std::string, Tensor>> loadNpz(const std::string &path);
void saveNpz(const std::string &path, const std::vector<std::pair<std::string, Tensor>> &tensors);

/// DLPack (version 0.8 layout). The tensors share memory; the pointer is a DLManagedTensor*. `toDlpack` gives one that its
/// consumer must release through its deleter; `fromDlpack` takes one over.
void *toDlpack(const Tensor &tensor);
Tensor fromDlpack(void *managed);

} // namespace graphc
