// Shared by the families that multiply matrices or slide windows.
#pragma once

#include "frontend/onnx/Node.h"

namespace graphc::onnx_import {

/// numpy's matmul: a vector is a row on the left, a column on the right.
Value numpyMatmul(Build &n, Value x, Value y);

/// Window, stride, dilation and padding of a convolution or pooling, read from the usual attributes.
struct Windows {
  llvm::SmallVector<int64_t> window, strides, dilations, low, high;
  /// Sizes of the result's spatial dims.
  Dims output;
};
/// `kernel`: the window sizes. `ceilMode`: the last window may start inside the padding only.
Windows readWindows(Node &n, const Dims &input, ArrayRef<int64_t> kernel, bool ceilMode = false);

/// x convolved with w as the attributes of `n` say; no bias.
Value convolve(Node &n, Value x, Value w);

/// A bias of one value per channel (dim 1) added.
Value addChannelBias(Build &n, Value x, Value bias);

} // namespace graphc::onnx_import
