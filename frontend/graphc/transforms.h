// Transforms of one field, in host memory. Images come in two forms, told apart by their dtype: u8 [height, width] or
// [height, width, channels] as decoded, f32 [channels, height, width] after toTensor(). Everything but normalize() takes
// both.
#pragma once

#include "frontend/graphc/data.h"

namespace graphc::data {

/// u8 [h, w(, c)] in 0…255 → f32 [c, h, w] in 0…1.
Transform toTensor();
/// (x - mean) / std, per channel; one number serves all channels. f32 only.
Transform normalize(double mean, double std);
Transform normalize(std::vector<double> means, std::vector<double> stds);

/// Bilinear; when it shrinks, every source pixel takes part (as PIL does).
Transform resize(int64_t height, int64_t width);
/// The shorter side becomes `size`.
Transform resize(int64_t size);
Transform centerCrop(int64_t height, int64_t width);
struct CropOptions {
  int64_t padding = 0; // added on every side before cropping
  double fill = 0;
};
Transform randomCrop(int64_t height, int64_t width, const CropOptions &options = {});
Transform randomHorizontalFlip(double probability = .5);
Transform randomVerticalFlip(double probability = .5);
/// By an angle in [-degrees, degrees] around the centre, bilinear; what comes from outside is `fill`.
Transform randomRotation(double degrees, double fill = 0);
Transform pad(int64_t padding, double fill = 0);
/// Elements as another dtype (labels to i64, say).
Transform convertTo(DType dtype);

} // namespace graphc::data
