#include "frontend/graphc/init.h"

#include "frontend/graphc/autograd.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/ops.h"
#include "frontend/tensor/Raise.h"

#include <cmath>

namespace graphc::nn::init {
namespace {
double kaimingGain(double slope) { return std::sqrt(2 / (1 + slope * slope)); }
} // namespace

Fans fans(const Tensor &weight) {
  if (weight.dim() < 2)
    raise(Code::ShapeMismatch, "init: fans need a weight of rank 2 or more, this is ", weight.describe());
  int64_t window = 1;
  for (int64_t dim = 2; dim < weight.dim(); ++dim)
    window *= weight.size(dim);
  return {weight.size(1) * window, weight.size(0) * window};
}

Tensor &uniform(Tensor &tensor, double low, double high) {
  NoGrad guard;
  return tensor.uniform_(low, high);
}
Tensor &normal(Tensor &tensor, double mean, double std) {
  NoGrad guard;
  return tensor.normal_(mean, std);
}
Tensor &truncatedNormal(Tensor &tensor, double mean, double std, double low, double high) {
  NoGrad guard;
  if (low >= high)
    raise(Code::InvalidOption, "truncatedNormal: the bounds ", low, " and ", high, " leave nothing between them");
  // What lies outside is drawn again; with bounds far from the mean a few stragglers are moved to the bound.
  tensor.normal_(mean, std);
  for (int round = 0; round < 64; ++round) {
    Tensor outside = logicalOr(lt(tensor, Scalar(low)), gt(tensor, Scalar(high)));
    if (!any(outside).item<bool>())
      break;
    Tensor again = emptyLike(tensor);
    again.normal_(mean, std);
    tensor.copy_(where(outside, again, tensor));
  }
  return tensor.clamp_(low, high);
}
Tensor &constant(Tensor &tensor, double value) {
  NoGrad guard;
  return tensor.fill_(value);
}
Tensor &xavierUniform(Tensor &tensor, double gain) {
  auto [in, out] = fans(tensor);
  double bound = gain * std::sqrt(6. / static_cast<double>(in + out));
  return uniform(tensor, -bound, bound);
}
Tensor &xavierNormal(Tensor &tensor, double gain) {
  auto [in, out] = fans(tensor);
  return normal(tensor, 0, gain * std::sqrt(2. / static_cast<double>(in + out)));
}
Tensor &kaimingUniform(Tensor &tensor, double slope) {
  double bound = kaimingGain(slope) * std::sqrt(3. / static_cast<double>(fans(tensor).in));
  return uniform(tensor, -bound, bound);
}
Tensor &kaimingNormal(Tensor &tensor, double slope) {
  return normal(tensor, 0, kaimingGain(slope) / std::sqrt(static_cast<double>(fans(tensor).in)));
}

} // namespace graphc::nn::init
