// IDX, the format of MNIST: two zero bytes, a type, a rank, the sizes and the elements, all big-endian; often gzipped.
#include "frontend/graphc/datasets.h"
#include "frontend/tensor/AtomicFile.h"
#include "frontend/tensor/Raise.h"
#include "frontend/tensor/ReadFile.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

namespace graphc::data {
namespace {

struct TypeByte {
  unsigned char byte;
  DType dtype;
};
constexpr TypeByte kTypes[] = {{0x08, DType::U8}, {0x09, DType::I8}, {0x0B, DType::I16}, {0x0C, DType::I32}, {0x0D, DType::F32}, {0x0E, DType::F64}};

bool isGzip(std::string_view bytes) { return bytes.size() > 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b'; }

std::string gunzip(const std::string &bytes, const std::string &path) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) // 16: a gzip header, not zlib's
    raise(Code::LibraryFailed, "zlib could not start");
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  char piece[1 << 16];
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef *>(piece);
    stream.avail_out = sizeof piece;
    status = inflate(&stream, Z_NO_FLUSH);
    if (status == Z_OK || status == Z_STREAM_END)
      out.append(piece, sizeof piece - stream.avail_out);
  }
  std::string reason = stream.msg ? stream.msg : "truncated";
  inflateEnd(&stream);
  if (status != Z_STREAM_END)
    raise(Code::ModelMalformed, "'", path, "': not a whole gzip file (", reason, ")");
  return out;
}

void toHostOrder(HostTensor &tensor) {
  size_t size = sizeOf(tensor.dtype());
  char *bytes = static_cast<char *>(tensor.raw());
  if (size > 1)
    for (int64_t k = 0; k < tensor.elements(); ++k)
      std::reverse(bytes + k * size, bytes + (k + 1) * size);
}

} // namespace

HostTensor readIdx(const std::string &path) {
  std::string bytes = orRaise(readFile(path));
  if (isGzip(bytes))
    bytes = gunzip(bytes, path);
  auto bad = [&](auto &&...parts) { raise(Code::ModelMalformed, "'", path, "': ", parts...); };
  if (bytes.size() < 4 || bytes[0] != 0 || bytes[1] != 0)
    bad("not an IDX file (it must begin with two zero bytes)");
  auto type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](TypeByte t) { return t.byte == static_cast<unsigned char>(bytes[2]); });
  if (type == std::end(kTypes))
    bad("IDX type ", static_cast<int>(static_cast<unsigned char>(bytes[2])), " is unknown");
  size_t rank = static_cast<unsigned char>(bytes[3]), at = 4 + 4 * rank;
  if (bytes.size() < at)
    bad("truncated in the header");
  std::vector<int64_t> dims;
  for (size_t k = 0; k < rank; ++k) {
    uint32_t dim = 0;
    for (size_t byte = 0; byte < 4; ++byte)
      dim = dim << 8 | static_cast<unsigned char>(bytes[4 + 4 * k + byte]);
    dims.push_back(dim);
  }
  Shape shape(std::move(dims));
  auto elements = shape.checkedElements();
  size_t size = sizeOf(type->dtype);
  if (!elements || static_cast<uint64_t>(*elements) != (bytes.size() - at) / size || (bytes.size() - at) % size != 0)
    bad("shape ", shape, " of ", type->dtype, " does not fit its ", bytes.size() - at, " bytes of data");
  HostTensor tensor = orRaise(HostTensor::allocate(type->dtype, std::move(shape)));
  std::memcpy(tensor.raw(), bytes.data() + at, tensor.sizeBytes());
  toHostOrder(tensor);
  return tensor;
}

void writeIdx(const std::string &path, const HostTensor &tensor) {
  auto type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](TypeByte t) { return t.dtype == tensor.dtype(); });
  if (type == std::end(kTypes))
    raise(Code::TypeMismatch, "'", path, "': IDX has no ", tensor.dtype(), "; it has u8, i8, i16, i32, f32 and f64");
  std::string bytes = {0, 0, static_cast<char>(type->byte), static_cast<char>(tensor.shape().rank())};
  for (int64_t dim : tensor.shape()) {
    if (dim > UINT32_MAX)
      raise(Code::ShapeMismatch, "'", path, "': IDX cannot hold a size of ", dim);
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes += static_cast<char>(dim >> shift);
  }
  HostTensor copy = orRaise(tensor.clone());
  toHostOrder(copy); // the same exchange of bytes in either direction
  bytes.append(static_cast<const char *>(copy.raw()), copy.sizeBytes());
  AtomicFile file = orRaise(AtomicFile::create(path));
  orRaise(file.write(bytes.data(), bytes.size()));
  orRaise(file.commit());
}

} // namespace graphc::data
