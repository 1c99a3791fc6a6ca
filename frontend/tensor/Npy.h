// NumPy's .npy files, versions 1 to 3, C or Fortran order, either byte order.
#pragma once

#include "runtime/base/HostTensor.h"

#include <string>
#include <string_view>

namespace graphc {

Result<HostTensor> readNpy(const std::string &path);
Status writeNpy(const std::string &path, const HostTensor &tensor);

/// The same from and to memory; `name` is what errors call it.
Result<HostTensor> decodeNpy(std::string_view bytes, const std::string &name);
std::string encodeNpy(const HostTensor &tensor);

} // namespace graphc
