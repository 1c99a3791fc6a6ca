// Arrays in NumPy's .npy files: C order, little endian, the element types kernels take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace graphc::cudasim::tool {

/// "f32", "i64", ...; `numpy` is the header's spelling. bf16 has no NumPy type and travels as u16.
struct ElementType {
  const char *name;
  const char *numpy;
  unsigned bytes;
  enum Kind : uint8_t { Float, Signed, Unsigned } kind;
};
/// Null when no type has that name.
const ElementType *elementType(const std::string &name);

struct Array {
  const ElementType *type = nullptr;
  std::vector<size_t> shape;
  std::vector<std::byte> data;
  size_t count() const {
    size_t result = 1;
    for (size_t extent : shape)
      result *= extent;
    return result;
  }
};

/// Both return an empty string, or what went wrong.
std::string readNpy(const std::string &path, Array &array);
std::string writeNpy(const std::string &path, const Array &array);

/// One value of the array's type, from or to a double (the integers kernels use fit).
void storeElement(Array &array, size_t index, double value);
double loadElement(const Array &array, size_t index);

} // namespace graphc::cudasim::tool
