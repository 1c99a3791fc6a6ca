#include "frontend/tensor/CompareTensors.h"

#include "frontend/tensor/Element.h"
#include "frontend/tensor/PrintTensor.h"
#include "frontend/tensor/TensorSpec.h"

#include <cmath>
#include <limits>
#include <vector>

namespace graphc {
namespace {

std::string indexText(const Shape &shape, int64_t flat) {
  std::vector<int64_t> index(shape.rank());
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return Shape(std::move(index)).str();
}

/// Three digits are enough to see how wrong something is.
std::string brief(long double value) {
  std::ostringstream out;
  out.precision(3);
  out << value;
  return out.str();
}

} // namespace

Comparison compareTensors(const HostTensor &got, const HostTensor &want, Tolerance tolerance) {
  Comparison result;
  if (got.dtype() != want.dtype() || got.shape() != want.shape()) {
    result.message = text("is ", tensorTypeText(got.dtype(), got.shape()), ", expected ", tensorTypeText(want.dtype(), want.shape()));
    return result;
  }
  int64_t n = got.elements();
  long double largest = 0;
  if (tolerance.scaled != 0)
    for (int64_t k = 0; k < n; ++k)
      if (long double value = std::fabs(readElement(want, k)); std::isfinite(value) && value > largest)
        largest = value;

  long double worstRatio = -1, infinity = std::numeric_limits<long double>::infinity();
  for (int64_t k = 0; k < n; ++k) {
    long double a = readElement(got, k), b = readElement(want, k);
    long double difference = 0, allowed = tolerance.atol + tolerance.scaled * largest;
    if (std::isnan(a) || std::isnan(b))
      difference = std::isnan(a) && std::isnan(b) ? 0 : infinity;
    else if (a != b)
      difference = std::fabs(a - b);
    if (std::isfinite(b))
      allowed += tolerance.rtol * std::fabs(b);
    bool within = difference <= allowed;
    result.differing += !within;
    long double ratio = difference == 0 ? 0 : std::isinf(difference) ? infinity : allowed == 0 ? difference * 1e30L : difference / allowed;
    if (ratio > worstRatio) {
      worstRatio = ratio;
      result.worst = k;
      result.difference = difference;
      result.allowed = allowed;
    }
  }
  result.matches = result.differing == 0;
  if (!result.worst || (result.matches && result.difference == 0)) {
    result.message = "matches exactly";
    return result;
  }
  std::string element = text("element ", indexText(got.shape(), *result.worst), " is ", elementText(got, *result.worst), ", expected ",
                             elementText(want, *result.worst), " (off by ", brief(result.difference), ", allowed ", brief(result.allowed), ")");
  if (result.matches)
    result.message = text("matches; most different: ", element);
  else
    result.message = text("differs in ", result.differing, " of ", n, " elements; most different: ", element);
  return result;
}

} // namespace graphc
