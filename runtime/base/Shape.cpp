#include "runtime/base/Shape.h"

#include "runtime/base/Text.h"

#include <cassert>

namespace graphc {

std::optional<int64_t> Shape::checkedElements() const {
  int64_t product = 1;
  bool empty = false, overflow = false;
  for (int64_t dim : dims_) {
    if (dim < 0)
      return std::nullopt;
    empty = empty || dim == 0;
    overflow = overflow || __builtin_mul_overflow(product, dim, &product);
  }
  if (empty)
    return 0;
  if (overflow)
    return std::nullopt;
  return product;
}

int64_t Shape::elements() const {
  auto product = checkedElements();
  assert(product && "the shape has a negative size or too many elements; use checkedElements() on untrusted shapes");
  return *product;
}

std::vector<int64_t> Shape::denseStrides() const {
  std::vector<int64_t> strides(dims_.size());
  int64_t stride = 1;
  for (size_t i = dims_.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims_[i];
  }
  return strides;
}

std::string Shape::str() const { return "[" + joined(dims_) + "]"; }

} // namespace graphc
