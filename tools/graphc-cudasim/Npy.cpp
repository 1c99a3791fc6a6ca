#include "tools/graphc-cudasim/Npy.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace graphc::cudasim::tool {

namespace {

const ElementType types[] = {
    {"f32", "<f4", 4, ElementType::Float},    {"f64", "<f8", 8, ElementType::Float},
    {"f16", "<f2", 2, ElementType::Float},    {"bf16", "<u2", 2, ElementType::Float},
    {"i8", "|i1", 1, ElementType::Signed},    {"i16", "<i2", 2, ElementType::Signed},
    {"i32", "<i4", 4, ElementType::Signed},   {"i64", "<i8", 8, ElementType::Signed},
    {"u8", "|u1", 1, ElementType::Unsigned},  {"u16", "<u2", 2, ElementType::Unsigned},
    {"u32", "<u4", 4, ElementType::Unsigned}, {"u64", "<u8", 8, ElementType::Unsigned},
    {"i1", "|b1", 1, ElementType::Unsigned},
};

uint16_t halfFrom(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return uint16_t(sign | 0x7e00);
  if (magnitude >= 0x477ff000) // rounds past the largest half
    return uint16_t(sign | 0x7c00);
  if (magnitude < 0x38800000) { // subnormal: let the float adder round
    float shifted;
    std::memcpy(&shifted, &magnitude, 4);
    shifted += 0.5f;
    uint32_t out;
    std::memcpy(&out, &shifted, 4);
    return uint16_t(sign | (out - 0x3f000000));
  }
  uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return uint16_t(sign | ((rounded - 0x38000000) >> 13));
}

float halfTo(uint16_t half) {
  int exponent = half >> 10 & 31, fraction = half & 1023;
  float magnitude = exponent == 31  ? (fraction ? NAN : INFINITY)
                    : exponent == 0 ? std::ldexp(float(fraction), -24)
                                    : std::ldexp(float(fraction + 1024), exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

uint16_t bfloatFrom(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float bfloatTo(uint16_t value) {
  uint32_t bits = uint32_t(value) << 16;
  float result;
  std::memcpy(&result, &bits, 4);
  return result;
}

template <typename T>
void put(std::byte *at, T value) {
  std::memcpy(at, &value, sizeof value);
}
template <typename T>
T get(const std::byte *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

} // namespace

const ElementType *elementType(const std::string &name) {
  for (const ElementType &type : types)
    if (name == type.name)
      return &type;
  return nullptr;
}

void storeElement(Array &array, size_t index, double value) {
  std::byte *at = array.data.data() + index * array.type->bytes;
  const std::string name = array.type->name;
  if (name == "f32")
    put(at, float(value));
  else if (name == "f64")
    put(at, value);
  else if (name == "f16")
    put(at, halfFrom(float(value)));
  else if (name == "bf16")
    put(at, bfloatFrom(float(value)));
  else if (name == "u64")
    put(at, uint64_t(value));
  else {
    int64_t integer = int64_t(value);
    std::memcpy(at, &integer, array.type->bytes); // little endian: the low bytes
  }
}

double loadElement(const Array &array, size_t index) {
  const std::byte *at = array.data.data() + index * array.type->bytes;
  const std::string name = array.type->name;
  if (name == "f32")
    return get<float>(at);
  if (name == "f64")
    return get<double>(at);
  if (name == "f16")
    return halfTo(get<uint16_t>(at));
  if (name == "bf16")
    return bfloatTo(get<uint16_t>(at));
  bool isSigned = array.type->kind == ElementType::Signed;
  switch (array.type->bytes) {
  case 1:
    return isSigned ? double(get<int8_t>(at)) : double(get<uint8_t>(at));
  case 2:
    return isSigned ? double(get<int16_t>(at)) : double(get<uint16_t>(at));
  case 4:
    return isSigned ? double(get<int32_t>(at)) : double(get<uint32_t>(at));
  default:
    return isSigned ? double(get<int64_t>(at)) : double(get<uint64_t>(at));
  }
}

std::string readNpy(const std::string &path, Array &array) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return path + ": cannot be read";
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  if (bytes.size() < 12 || bytes.compare(0, 6, "\x93NUMPY") != 0)
    return path + ": is no .npy file";
  bool wide = bytes[6] >= 2;
  size_t start = wide ? 12 : 10, length = 0;
  for (int i = wide ? 3 : 1; i >= 0; --i)
    length = length << 8 | uint8_t(bytes[8 + i]);
  if (length > bytes.size() - start)
    return path + ": the header runs past the end of the file";
  std::string header = bytes.substr(start, length);
  auto field = [&](const std::string &key) {
    size_t at = header.find("'" + key + "'");
    return at == std::string::npos ? std::string() : header.substr(header.find(':', at) + 1);
  };
  std::string descr = field("descr"), order = field("fortran_order"), shape = field("shape");
  size_t quote = descr.find('\'');
  descr = quote == std::string::npos ? "" : descr.substr(quote + 1, descr.find('\'', quote + 1) - quote - 1);
  if (order.find("True") < 2)
    return path + ": Fortran order is not supported; save it with numpy.ascontiguousarray";
  array.type = nullptr;
  for (const ElementType &type : types)
    if (descr == type.numpy && std::string(type.name) != "bf16" && !array.type)
      array.type = &type;
  if (!array.type)
    return path + ": element type " + descr + " is not supported";
  array.shape.clear();
  size_t open = shape.find('('), close = shape.find(')');
  if (open == std::string::npos || close == std::string::npos)
    return path + ": the header has no shape";
  for (size_t i = open + 1; i < close;) {
    if (shape[i] < '0' || shape[i] > '9') {
      ++i;
      continue;
    }
    size_t extent = 0;
    for (; i < close && shape[i] >= '0' && shape[i] <= '9'; ++i)
      extent = extent * 10 + size_t(shape[i] - '0');
    array.shape.push_back(extent);
  }
  size_t wanted = array.count() * array.type->bytes;
  if (bytes.size() - start - length < wanted)
    return path + ": holds fewer bytes than its shape needs";
  array.data.resize(wanted);
  std::memcpy(array.data.data(), bytes.data() + start + length, wanted);
  return "";
}

std::string writeNpy(const std::string &path, const Array &array) {
  std::string shape;
  for (size_t extent : array.shape)
    shape += std::to_string(extent) + ",";
  std::string header =
      "{'descr': '" + std::string(array.type->numpy) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  while ((header.size() + 11) % 64)
    header += ' ';
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  const char magic[] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, char(header.size() & 255), char(header.size() >> 8)};
  file.write(magic, sizeof magic);
  file << header;
  file.write(reinterpret_cast<const char *>(array.data.data()), std::streamsize(array.data.size()));
  return file.flush() ? "" : path + ": cannot be written";
}

} // namespace graphc::cudasim::tool
