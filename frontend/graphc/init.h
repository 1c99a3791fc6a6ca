// Initial values, written in place. `fanIn` is the number of inputs one output of a layer sees.
#pragma once

#include "frontend/graphc/tensor.h"

namespace graphc::nn::init {

struct Fans {
  int64_t in, out;
};
/// Of a weight [out, in, window…]; an error below rank 2.
Fans fans(const Tensor &weight);

Tensor &uniform(Tensor &tensor, double low = 0, double high = 1);
Tensor &normal(Tensor &tensor, double mean = 0, double std = 1);
/// Values beyond two deviations (or the given bounds) are drawn again.
Tensor &truncatedNormal(Tensor &tensor, double mean = 0, double std = 1, double low = -2, double high = 2);
Tensor &constant(Tensor &tensor, double value);
Tensor &xavierUniform(Tensor &tensor, double gain = 1);
Tensor &xavierNormal(Tensor &tensor, double gain = 1);
/// `slope` of the leaky relu that follows: 0 for relu, √5 as linear and convolution layers use it.
Tensor &kaimingUniform(Tensor &tensor, double slope = 0);
Tensor &kaimingNormal(Tensor &tensor, double slope = 0);

} // namespace graphc::nn::init
