#include "frontend/tensor/PrintTensor.h"

#include "frontend/tensor/Element.h"
#include "frontend/tensor/TensorSpec.h"

#include <charconv>
#include <cmath>

namespace graphc {

std::string elementText(const HostTensor &tensor, int64_t index) {
  char digits[64];
  long double value = readElement(tensor, index);
  std::to_chars_result end{};
  if (!isFloat(tensor.dtype())) {
    end = tensor.dtype() == DType::U64 ? std::to_chars(digits, digits + sizeof digits, static_cast<uint64_t>(value))
                                       : std::to_chars(digits, digits + sizeof digits, static_cast<int64_t>(value));
  } else if (std::isnan(value)) {
    return "nan"; // its sign means nothing
  } else if (tensor.dtype() == DType::F64) {
    end = std::to_chars(digits, digits + sizeof digits, static_cast<double>(value));
  } else {
    end = std::to_chars(digits, digits + sizeof digits, static_cast<float>(value));
  }
  return std::string(digits, end.ptr);
}

std::string tensorText(const HostTensor &tensor, int64_t limit) {
  const Shape &shape = tensor.shape();
  std::string out = tensorTypeText(tensor.dtype(), shape) + "=";
  int rank = shape.rank();
  if (rank == 0)
    return out + elementText(tensor, 0);
  if (tensor.elements() == 0)
    return out + "[]";
  // How many brackets open before, and close after, element k: one for each axis that begins or ends there.
  std::vector<int64_t> period(rank);
  int64_t product = 1;
  for (int axis = rank - 1; axis >= 0; --axis)
    period[axis] = product *= shape[axis];
  for (int64_t k = 0; k < tensor.elements(); ++k) {
    bool opens = false;
    for (int axis = 0; axis < rank; ++axis)
      if (k % period[axis] == 0)
        out += '[', opens = true;
    if (k == limit)
      return out + "…";
    if (!opens)
      out += ' ';
    out += elementText(tensor, k);
    for (int axis = 0; axis < rank; ++axis)
      if ((k + 1) % period[axis] == 0)
        out += ']';
  }
  return out;
}

} // namespace graphc
