#include "frontend/tensor/Npy.h"

#include "frontend/tensor/ReadFile.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <vector>

namespace graphc {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

std::string_view descrOf(DType dtype) {
  switch (dtype) {
  case DType::F64: return "<f8";
  case DType::F32: return "<f4";
  case DType::F16: return "<f2";
  case DType::BF16: return "<V2"; // NumPy has no bf16; ml_dtypes writes its own as raw pairs of bytes
  case DType::I64: return "<i8";
  case DType::I32: return "<i4";
  case DType::I16: return "<i2";
  case DType::I8: return "|i1";
  case DType::U64: return "<u8";
  case DType::U32: return "<u4";
  case DType::U16: return "<u2";
  case DType::U8: return "|u1";
  case DType::Bool: return "|b1";
  }
  return "";
}

std::optional<DType> dtypeOfDescr(std::string_view descr) {
  if (descr.size() < 2)
    return std::nullopt;
  for (int i = 0; i < kNumDTypes; ++i)
    if (descrOf(static_cast<DType>(i)).substr(1) == descr.substr(1))
      return static_cast<DType>(i);
  return std::nullopt;
}

/// The text after `'key':` in the header's Python dictionary.
std::optional<std::string_view> valueOf(std::string_view header, std::string_view key) {
  for (char quote : {'\'', '"'}) {
    std::string quoted = text(quote, key, quote);
    size_t at = header.find(quoted);
    if (at == std::string_view::npos)
      continue;
    at = header.find(':', at + quoted.size());
    if (at == std::string_view::npos)
      return std::nullopt;
    at = header.find_first_not_of(" \t", at + 1);
    return at == std::string_view::npos ? std::nullopt : std::optional(header.substr(at));
  }
  return std::nullopt;
}

std::optional<Shape> parseTuple(std::string_view tuple) {
  if (tuple.empty() || tuple[0] != '(')
    return std::nullopt;
  std::vector<int64_t> dims;
  size_t at = 1;
  while (true) {
    at = tuple.find_first_not_of(" ,", at);
    if (at == std::string_view::npos)
      return std::nullopt;
    if (tuple[at] == ')')
      return Shape(std::move(dims));
    int64_t dim = 0;
    auto [end, problem] = std::from_chars(tuple.data() + at, tuple.data() + tuple.size(), dim);
    if (problem != std::errc() || dim < 0)
      return std::nullopt;
    dims.push_back(dim);
    at = static_cast<size_t>(end - tuple.data());
  }
}

/// Copies column-major data into row-major order.
void copyFortran(const char *from, char *to, const Shape &shape, size_t size) {
  int rank = shape.rank();
  std::vector<int64_t> index(rank, 0), stride(rank, 1);
  for (int axis = 1; axis < rank; ++axis)
    stride[axis] = stride[axis - 1] * shape[axis - 1];
  for (int64_t k = 0, n = shape.elements(); k < n; ++k) {
    int64_t source = 0;
    for (int axis = 0; axis < rank; ++axis)
      source += index[axis] * stride[axis];
    std::memcpy(to + k * size, from + source * size, size);
    for (int axis = rank - 1; axis >= 0 && ++index[axis] == shape[axis]; --axis)
      index[axis] = 0;
  }
}

} // namespace

Result<HostTensor> decodeNpy(std::string_view bytes, const std::string &name) {
  auto malformed = [&](auto &&...parts) { return error(Code::ModelMalformed, "'", name, "': ", parts...); };
  if (bytes.size() < 10 || bytes.substr(0, 6) != kMagic)
    return malformed("not a .npy file (its first bytes are not \\x93NUMPY)");
  int major = static_cast<unsigned char>(bytes[6]);
  if (major < 1 || major > 3)
    return malformed(".npy version ", major, " is unknown; versions 1 to 3 are read");
  size_t lengthBytes = major == 1 ? 2 : 4, start = 8 + lengthBytes;
  if (bytes.size() < start)
    return malformed("truncated in the header");
  size_t headerBytes = 0;
  for (size_t i = 0; i < lengthBytes; ++i)
    headerBytes |= static_cast<size_t>(static_cast<unsigned char>(bytes[8 + i])) << (8 * i);
  if (headerBytes > bytes.size() - start)
    return malformed("truncated in the header");
  std::string_view header = bytes.substr(start, headerBytes);
  std::string_view data = bytes.substr(start + headerBytes);

  auto descr = valueOf(header, "descr"), order = valueOf(header, "fortran_order"), tuple = valueOf(header, "shape");
  if (!descr || !order || !tuple)
    return malformed("the header lacks descr, fortran_order or shape");
  if (descr->empty() || (descr->front() != '\'' && descr->front() != '"'))
    return malformed("records (structured dtypes) are not supported");
  std::string_view spelled = descr->substr(1, descr->find((*descr)[0], 1) - 1);
  auto dtype = dtypeOfDescr(spelled);
  if (!dtype)
    return malformed("dtype '", spelled, "' is not supported; use float64/32/16, int64/32/16/8, uint64/32/16/8 or bool");
  auto shape = parseTuple(*tuple);
  auto elements = shape ? shape->checkedElements() : std::nullopt;
  if (!elements)
    return malformed("the header's shape is not a tuple of sizes");
  size_t size = sizeOf(*dtype);
  if (static_cast<uint64_t>(*elements) > data.size() / size)
    return malformed("truncated: shape ", *shape, " of ", *dtype, " needs ", *elements, " elements of ", size, " bytes, the file has ", data.size(), " bytes of data");

  GRAPHC_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::allocate(*dtype, *shape));
  char *to = static_cast<char *>(tensor.raw());
  if (order->substr(0, 4) == "True")
    copyFortran(data.data(), to, *shape, size);
  else
    std::memcpy(to, data.data(), tensor.sizeBytes());
  if (spelled[0] == '>' && size > 1)
    for (int64_t k = 0; k < *elements; ++k)
      std::reverse(to + k * size, to + (k + 1) * size);
  if (*dtype == DType::Bool)
    for (int64_t k = 0; k < *elements; ++k)
      to[k] = to[k] != 0;
  return tensor;
}

std::string encodeNpy(const HostTensor &tensor) {
  std::string tuple = "(";
  for (int64_t dim : tensor.shape())
    tuple += text(dim, ", ");
  if (tensor.shape().rank() > 1)
    tuple.resize(tuple.size() - 2);
  else if (tensor.shape().rank() == 1)
    tuple.pop_back();
  tuple += ")";
  std::string header = text("{'descr': '", descrOf(tensor.dtype()), "', 'fortran_order': False, 'shape': ", tuple, ", }");
  // The data begins at a multiple of 64 bytes, as NumPy writes it.
  size_t total = (10 + header.size() + 1 + 63) / 64 * 64;
  header.resize(total - 10 - 1, ' ');
  header += '\n';
  std::string bytes(kMagic);
  bytes += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  bytes += header;
  bytes.append(static_cast<const char *>(tensor.raw()), tensor.sizeBytes());
  return bytes;
}

Result<HostTensor> readNpy(const std::string &path) {
  GRAPHC_ASSIGN_OR_RETURN(std::string bytes, readFile(path));
  return decodeNpy(bytes, path);
}

Status writeNpy(const std::string &path, const HostTensor &tensor) { return writeFileAtomically(path, encodeNpy(tensor)); }

} // namespace graphc
