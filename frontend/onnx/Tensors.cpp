#include "frontend/onnx/Tensors.h"

#include "llvm/ADT/APFloat.h"
#include "runtime/base/Float16.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <onnx/onnx_pb.h>

namespace graphc::onnx_import {

using namespace mlir;

namespace {
// TensorProto.DataType; the header at hand ends at 16.
enum OnnxType : int32_t {
  kFloat = 1, kUint8, kInt8, kUint16, kInt16, kInt32, kInt64, kString, kBool, kFloat16, kDouble, kUint32, kUint64,
  kComplex64, kComplex128, kBfloat16
};
const char *const kTypeNames[] = {"undefined", "float", "uint8", "int8", "uint16", "int16", "int32", "int64", "string",
                                  "bool", "float16", "double", "uint32", "uint64", "complex64", "complex128", "bfloat16",
                                  "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4",
                                  "float4e2m1", "float8e8m0", "uint2", "int2"};
} // namespace

Type elementTypeOf(int32_t onnxType, MLIRContext *ctx) {
  auto integer = [&](unsigned width, bool isUnsigned) {
    return IntegerType::get(ctx, width, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  };
  switch (onnxType) {
  case kFloat: return Float32Type::get(ctx);
  case kDouble: return Float64Type::get(ctx);
  case kFloat16: return Float16Type::get(ctx);
  case kBfloat16: return BFloat16Type::get(ctx);
  case kInt8: return integer(8, false);
  case kInt16: return integer(16, false);
  case kInt32: return integer(32, false);
  case kInt64: return integer(64, false);
  case kUint8: return integer(8, true);
  case kUint16: return integer(16, true);
  case kUint32: return integer(32, true);
  case kUint64: return integer(64, true);
  case kBool: return integer(1, false);
  default: return {};
  }
}

std::string elementTypeName(int32_t t) {
  if (t >= 0 && t < static_cast<int32_t>(std::size(kTypeNames)))
    return kTypeNames[t];
  return text("element type ", t);
}

Type elementTypeOf(DType dtype, MLIRContext *ctx) {
  constexpr int32_t numbers[kNumDTypes] = {kDouble, kFloat, kFloat16, kBfloat16, kInt64, kInt32, kInt16, kInt8, kUint64, kUint32, kUint16, kUint8, kBool};
  return elementTypeOf(numbers[static_cast<int>(dtype)], ctx);
}

int64_t bytesOf(Type elementType) { return elementType.isInteger(1) ? 1 : elementType.getIntOrFloatBitWidth() / 8; }

template <typename T>
static T readAt(std::string_view bytes, int64_t i) {
  T v;
  std::memcpy(&v, bytes.data() + i * sizeof(T), sizeof(T));
  return v;
}

static std::string readFile(const std::string &path, uint64_t offset, uint64_t size) {
  std::string out(size, '\0');
  std::ifstream in(path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(offset));
  if (!in.read(out.data(), static_cast<std::streamsize>(size)))
    fail(Code::ModelUnreadable, "cannot read ", size, " bytes at ", offset, " of ", path);
  return out;
}

std::optional<Known> Literal::known() const {
  Type t = type.getElementType();
  bool floating = isa<FloatType>(t);
  if (elements() > (floating ? 64 : kMaxKnown) || (floating && !t.isF32() && !t.isF64()))
    return std::nullopt;
  std::string loaded;
  std::string_view data = bytes;
  if (!externalPath.empty()) {
    loaded = readFile(externalPath, offset, sizeBytes());
    data = loaded;
  }
  Known k;
  k.floating = floating;
  for (int64_t i = 0; i < elements(); ++i) {
    if (floating) {
      k.floats.push_back(t.isF32() ? readAt<float>(data, i) : readAt<double>(data, i));
      continue;
    }
    int64_t v = 0;
    bool isUnsigned = t.isUnsignedInteger() || t.isInteger(1);
    switch (bytesOf(t)) {
    case 1: v = isUnsigned ? int64_t(readAt<uint8_t>(data, i)) : readAt<int8_t>(data, i); break;
    case 2: v = isUnsigned ? int64_t(readAt<uint16_t>(data, i)) : readAt<int16_t>(data, i); break;
    case 4: v = isUnsigned ? int64_t(readAt<uint32_t>(data, i)) : readAt<int32_t>(data, i); break;
    default: v = readAt<int64_t>(data, i);
    }
    if (t.isInteger(1))
      v = v != 0;
    k.ints.push_back(getAffineConstantExpr(v, type.getContext()));
  }
  return k;
}

DenseElementsAttr Literal::dense() const {
  std::string loaded;
  std::string_view data = bytes;
  if (!externalPath.empty()) {
    loaded = readFile(externalPath, offset, sizeBytes());
    data = loaded;
  }
  if (type.getElementType().isInteger(1)) {
    llvm::SmallVector<bool> bits;
    for (char c : data)
      bits.push_back(c != 0);
    return DenseElementsAttr::get(type, bits);
  }
  // An aligned copy: the buffer is read as elements.
  std::vector<char> copy(data.begin(), data.end());
  return DenseElementsAttr::getFromRawBuffer(type, copy);
}

/// The path of external data, which must lie below `folder` also after following links.
static std::string externalPath(const std::string &location, const std::string &folder) {
  namespace fs = std::filesystem;
  fs::path relative(location);
  bool climbs = std::any_of(relative.begin(), relative.end(), [](const fs::path &p) { return p == ".."; });
  if (location.empty() || relative.is_absolute() || climbs || location.find('\0') != std::string::npos)
    fail(Code::ModelMalformed, "external data '", location, "' is not below the model's folder");
  std::error_code failed;
  fs::path base = fs::weakly_canonical(folder.empty() ? fs::path(".") : fs::path(folder), failed);
  fs::path full = fs::weakly_canonical(base / relative, failed);
  if (failed || !fs::exists(full, failed))
    fail(Code::MissingInitializer, "external data file '", location, "' does not exist in the model's folder");
  auto [a, b] = std::mismatch(base.begin(), base.end(), full.begin(), full.end());
  if (a != base.end())
    fail(Code::ModelMalformed, "external data '", location, "' links to a place outside the model's folder");
  return full.string();
}

static uint64_t parseNumber(const std::string &value, const char *what) {
  uint64_t n = 0;
  if (value.empty() || value.size() > 18)
    fail(Code::ModelMalformed, "external data: ", what, " is '", value, "', expected a number of bytes");
  for (char c : value) {
    if (c < '0' || c > '9')
      fail(Code::ModelMalformed, "external data: ", what, " is '", value, "', expected a number of bytes");
    n = n * 10 + (c - '0');
  }
  return n;
}

/// Bools other than 0 and 1 would be undefined behaviour later.
static bool cleanBools(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0 || c == 1; });
}

std::shared_ptr<Literal> decodeTensor(const ::onnx::TensorProto &proto, std::optional<RawRange> raw, const LiteralSource &source) {
  Type element = elementTypeOf(proto.data_type(), source.ctx);
  if (!element)
    unsupported("tensor '", proto.name(), "' has element type ", elementTypeName(proto.data_type()), ", which is not supported");
  if (proto.has_segment())
    unsupported("tensor '", proto.name(), "' is stored in segments");
  llvm::SmallVector<int64_t> shape;
  int64_t elements = 1;
  bool empty = false;
  for (int64_t d : proto.dims()) {
    if (d < 0)
      fail(Code::ModelMalformed, "tensor '", proto.name(), "' has the negative size ", d);
    empty |= d == 0;
    if (d != 0 && __builtin_mul_overflow(elements, d, &elements))
      fail(Code::ModelMalformed, "tensor '", proto.name(), "': the number of elements overflows");
    shape.push_back(d);
  }
  if (empty)
    elements = 0;
  auto literal = std::make_shared<Literal>();
  literal->type = RankedTensorType::get(shape, element);
  int64_t expected;
  if (__builtin_mul_overflow(elements, bytesOf(element), &expected))
    fail(Code::ModelMalformed, "tensor '", proto.name(), "': the number of bytes overflows");
  auto checkSize = [&](uint64_t got) {
    if (got != static_cast<uint64_t>(expected))
      fail(Code::ModelMalformed, "tensor '", proto.name(), "' of shape ", Shape(std::vector<int64_t>(shape.begin(), shape.end())).str(), " and type ",
           elementTypeName(proto.data_type()), " needs ", expected, " bytes, the model holds ", got);
  };

  if (proto.data_location() == ::onnx::TensorProto::EXTERNAL) {
    std::string location;
    uint64_t offset = 0, length = expected;
    for (const auto &entry : proto.external_data()) {
      if (entry.key() == "location")
        location = entry.value();
      else if (entry.key() == "offset")
        offset = parseNumber(entry.value(), "offset");
      else if (entry.key() == "length")
        length = parseNumber(entry.value(), "length");
    }
    checkSize(length);
    literal->externalPath = externalPath(location, source.folder);
    if (source.externalFiles)
      source.externalFiles->insert(location);
    std::error_code failed;
    uint64_t fileSize = std::filesystem::file_size(literal->externalPath, failed);
    if (failed || fileSize < offset || fileSize - offset < length)
      fail(Code::ModelMalformed, "tensor '", proto.name(), "' needs bytes ", offset, "..", offset + length, " of '", location, "', which has ", failed ? 0 : fileSize);
    literal->file = location;
    literal->offset = offset;
    if (element.isInteger(1)) {
      literal->owned = readFile(literal->externalPath, offset, length);
      literal->externalPath.clear();
      literal->file.clear();
      for (char &c : literal->owned)
        c = c != 0;
      literal->bytes = literal->owned;
    }
    return literal;
  }

  if (raw) {
    checkSize(raw->bytes);
    literal->bytes = source.modelBytes.substr(raw->offset, raw->bytes);
    literal->file = source.modelFile;
    literal->offset = raw->offset;
  } else if (proto.has_raw_data()) {
    checkSize(proto.raw_data().size());
    literal->owned = proto.raw_data();
  } else {
    std::string &out = literal->owned;
    auto count = [&](int have) {
      if (have != elements)
        fail(Code::ModelMalformed, "tensor '", proto.name(), "' of shape ", Shape(std::vector<int64_t>(shape.begin(), shape.end())).str(), " needs ", elements,
             " values, the model holds ", have);
    };
    auto put = [&](auto v) { out.append(reinterpret_cast<const char *>(&v), sizeof(v)); };
    switch (proto.data_type()) {
    case kFloat:
      count(proto.float_data_size());
      for (float v : proto.float_data()) put(v);
      break;
    case kDouble:
      count(proto.double_data_size());
      for (double v : proto.double_data()) put(v);
      break;
    case kInt64:
      count(proto.int64_data_size());
      for (int64_t v : proto.int64_data()) put(v);
      break;
    case kUint64:
      count(proto.uint64_data_size());
      for (uint64_t v : proto.uint64_data()) put(v);
      break;
    case kUint32:
      count(proto.uint64_data_size());
      for (uint64_t v : proto.uint64_data()) put(static_cast<uint32_t>(v));
      break;
    default:
      count(proto.int32_data_size());
      for (int32_t v : proto.int32_data()) {
        if (element.isInteger(1)) put(static_cast<uint8_t>(v != 0));
        else if (bytesOf(element) == 1) put(static_cast<uint8_t>(v));
        else if (bytesOf(element) == 2) put(static_cast<uint16_t>(v));
        else put(v);
      }
    }
  }
  if (literal->file.empty())
    literal->bytes = literal->owned;
  if (element.isInteger(1) && !cleanBools(literal->bytes)) {
    std::string cleaned(literal->bytes);
    for (char &c : cleaned)
      c = c != 0;
    literal->owned = std::move(cleaned);
    literal->bytes = literal->owned;
    literal->file.clear();
  }
  return literal;
}

std::shared_ptr<Literal> literalOf(const HostTensor &tensor, MLIRContext *ctx) {
  auto literal = std::make_shared<Literal>();
  literal->type = RankedTensorType::get(tensor.shape().dims(), elementTypeOf(tensor.dtype(), ctx));
  literal->owned.assign(static_cast<const char *>(tensor.raw()), tensor.sizeBytes());
  literal->bytes = literal->owned;
  return literal;
}

std::shared_ptr<Literal> literalOf(const Known &known, RankedTensorType type) {
  auto literal = std::make_shared<Literal>();
  literal->type = type;
  Type t = type.getElementType();
  std::string &out = literal->owned;
  auto put = [&](auto v) { out.append(reinterpret_cast<const char *>(&v), sizeof(v)); };
  for (double v : known.floats)
    t.isF32() ? put(static_cast<float>(v)) : put(v);
  for (AffineExpr e : known.ints) {
    int64_t v = cast<AffineConstantExpr>(e).getValue();
    switch (bytesOf(t)) {
    case 1: put(static_cast<int8_t>(v)); break;
    case 2: put(static_cast<int16_t>(v)); break;
    case 4: put(static_cast<int32_t>(v)); break;
    default: put(v);
    }
  }
  literal->bytes = literal->owned;
  return literal;
}

} // namespace graphc::onnx_import
