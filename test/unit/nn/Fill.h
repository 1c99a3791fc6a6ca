// Deterministic tensors and comparisons for the tests of nn and optim.
#pragma once

#include "frontend/graphc/context.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/ops.h"
#include "test/unit/data/Expect.h"

#include <cmath>
#include <numeric>

namespace graphc {

/// fill(i) = (((i*a + 17) mod 97) - 48) / 64, see goldens/README.md.
inline Tensor filled(const std::vector<int64_t> &sizes, int64_t a, DType dtype = DType::F64) {
  int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<double>((i * a + 17) % 97 - 48) / 64);
  return fromVector(values, sizes).to(dtype);
}
inline std::vector<int64_t> sizesOf(const Tensor &tensor) { return {tensor.sizes().begin(), tensor.sizes().end()}; }

/// Largest |a - b| / (1 + |b|); NaN where only one is NaN, infinity where sizes differ.
inline double distance(const Tensor &a, const Tensor &b) {
  if (sizesOf(a) != sizesOf(b))
    return INFINITY;
  double worst = 0;
  std::vector<double> left = a.detach().toVector<double>(), right = b.detach().toVector<double>();
  for (size_t k = 0; k < left.size(); ++k) {
    if ((std::isnan(left[k]) && std::isnan(right[k])) || left[k] == right[k])
      continue;
    double apart = std::abs(left[k] - right[k]) / (1 + std::abs(right[k]));
    if (!(apart <= worst))
      worst = apart;
  }
  return worst;
}

/// New tensors are of this type while it lives.
class DefaultDtype {
public:
  explicit DefaultDtype(DType dtype) : before_(defaultDtype()) { setDefaultDtype(dtype); }
  ~DefaultDtype() { setDefaultDtype(before_); }

private:
  DType before_;
};

} // namespace graphc
