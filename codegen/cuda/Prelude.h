// The few device functions that generated kernels share, as text.
#pragma once

namespace graphc::codegen::cuda {
const char *preludeText();
} // namespace graphc::codegen::cuda
