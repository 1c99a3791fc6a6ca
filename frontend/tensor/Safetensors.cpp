#include "frontend/tensor/Safetensors.h"

#include "frontend/tensor/AtomicFile.h"
#include "runtime/memory/MappedFile.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>

namespace graphc {
namespace {

using Json = nlohmann::ordered_json;

// The reference implementation refuses longer headers; so do we, before reserving memory for one.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kLengthBytes = 8;

const char *spelled(DType dtype) {
  switch (dtype) {
  case DType::F64: return "F64";
  case DType::F32: return "F32";
  case DType::F16: return "F16";
  case DType::BF16: return "BF16";
  case DType::I64: return "I64";
  case DType::I32: return "I32";
  case DType::I16: return "I16";
  case DType::I8: return "I8";
  case DType::U64: return "U64";
  case DType::U32: return "U32";
  case DType::U16: return "U16";
  case DType::U8: return "U8";
  case DType::Bool: return "BOOL";
  }
  return "";
}

std::optional<DType> dtypeOfSpelling(const std::string &name) {
  for (int i = 0; i < kNumDTypes; ++i)
    if (name == spelled(static_cast<DType>(i)))
      return static_cast<DType>(i);
  return std::nullopt;
}

/// A header whose keys are all different: the JSON library would silently keep the last of two.
std::optional<Json> parseUnique(std::string_view header, std::string &problem) {
  std::vector<std::set<std::string>> open;
  std::string twice;
  auto watch = [&](int, Json::parse_event_t event, Json &parsed) {
    if (event == Json::parse_event_t::object_start)
      open.emplace_back();
    else if (event == Json::parse_event_t::object_end)
      open.pop_back();
    else if (event == Json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  try {
    Json json = Json::parse(header, watch);
    if (!twice.empty()) {
      problem = text("the header names '", twice, "' twice");
      return std::nullopt;
    }
    return json;
  } catch (const Json::exception &exception) {
    problem = text("the header is not JSON: ", exception.what());
    return std::nullopt;
  }
}

std::optional<Shape> shapeOf(const Json &json) {
  if (!json.is_array())
    return std::nullopt;
  std::vector<int64_t> dims;
  for (const Json &dim : json) {
    if (!dim.is_number_integer() || (dim.is_number_unsigned() ? dim.get<uint64_t>() > INT64_MAX : dim.get<int64_t>() < 0))
      return std::nullopt;
    dims.push_back(dim.get<int64_t>());
  }
  return Shape(std::move(dims));
}

} // namespace

Result<Safetensors> Safetensors::open(const std::string &path) {
  GRAPHC_ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
  auto bad = [&](auto &&...parts) { return error(Code::WeightFile, "'", path, "': ", parts...); };
  std::span<const std::byte> bytes = file->bytes();
  if (bytes.size() < kLengthBytes)
    return bad("truncated: a safetensors file begins with 8 bytes that say how long its header is, this one has ", bytes.size(), " bytes");
  uint64_t headerBytes = 0;
  for (size_t i = 0; i < kLengthBytes; ++i)
    headerBytes |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  if (headerBytes > kMaxHeaderBytes)
    return bad("not a safetensors file: its header would have ", headerBytes, " bytes, at most ", kMaxHeaderBytes, " are allowed");
  if (headerBytes > bytes.size() - kLengthBytes)
    return bad("truncated: the header has ", headerBytes, " bytes, the file only ", bytes.size() - kLengthBytes, " after the length");
  std::string_view header(reinterpret_cast<const char *>(bytes.data()) + kLengthBytes, headerBytes);
  if (header.empty() || header.front() != '{')
    return bad("not a safetensors file: the header must begin with '{'");
  std::string problem;
  auto json = parseUnique(header, problem);
  if (!json)
    return bad(problem);

  Safetensors result;
  result.file_ = file;
  const size_t start = kLengthBytes + headerBytes, dataBytes = bytes.size() - start;
  for (const auto &[name, value] : json->items()) {
    if (name == "__metadata__") {
      if (!value.is_object())
        return bad("__metadata__ must be an object of strings");
      for (const auto &[key, entry] : value.items()) {
        if (!entry.is_string())
          return bad("__metadata__: '", key, "' is not a string");
        result.metadata_[key] = entry.get<std::string>();
      }
      continue;
    }
    if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") || !value.contains("data_offsets"))
      return bad("tensor '", name, "': needs dtype, shape and data_offsets");
    if (!value["dtype"].is_string())
      return bad("tensor '", name, "': dtype is not a string");
    auto dtype = dtypeOfSpelling(value["dtype"].get<std::string>());
    if (!dtype)
      return bad("tensor '", name, "': dtype ", value["dtype"].get<std::string>(),
                 " is unknown; F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8 and BOOL are read");
    auto shape = shapeOf(value["shape"]);
    if (!shape)
      return bad("tensor '", name, "': shape is not a list of sizes");
    auto range = shapeOf(value["data_offsets"]);
    if (!range || range->rank() != 2 || (*range)[0] > (*range)[1])
      return bad("tensor '", name, "': data_offsets must be [begin, end] with begin ≤ end");
    auto elements = shape->checkedElements();
    uint64_t begin = static_cast<uint64_t>((*range)[0]), end = static_cast<uint64_t>((*range)[1]);
    if (!elements || static_cast<uint64_t>(*elements) > UINT64_MAX / sizeOf(*dtype) ||
        static_cast<uint64_t>(*elements) * sizeOf(*dtype) != end - begin)
      return bad("tensor '", name, "': ", *dtype, *shape, " does not fill its ", end - begin, " bytes");
    if (end > dataBytes)
      return bad("truncated: tensor '", name, "' ends at byte ", end, " of the data, the file has ", dataBytes);
    result.entries_.push_back({name, *dtype, *std::move(shape), start + begin, start + end});
  }
  // In the order of the data the tensors must follow each other exactly.
  std::sort(result.entries_.begin(), result.entries_.end(),
            [](const Entry &a, const Entry &b) { return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name); });
  size_t at = start;
  const Entry *before = nullptr;
  for (const Entry &entry : result.entries_) {
    if (entry.begin < at)
      return bad("tensors '", before->name, "' and '", entry.name, "' overlap");
    if (entry.begin > at)
      return bad("a hole of ", entry.begin - at, " bytes before tensor '", entry.name, "'");
    at = entry.end;
    before = &entry;
  }
  if (at != bytes.size())
    return bad(bytes.size() - at, " bytes after the last tensor belong to none");
  return result;
}

const Safetensors::Entry *Safetensors::find(const std::string &name) const {
  auto named = [&](const std::string &wanted) -> const Entry * {
    for (const Entry &entry : entries_)
      if (entry.name == wanted)
        return &entry;
    return nullptr;
  };
  if (const Entry *entry = named(name))
    return entry;
  auto alias = metadata_.find(name);
  return alias == metadata_.end() ? nullptr : named(alias->second);
}

std::map<std::string, std::string> Safetensors::aliases() const {
  std::set<std::string> names;
  for (const Entry &entry : entries_)
    names.insert(entry.name);
  std::map<std::string, std::string> result;
  for (const auto &[key, value] : metadata_)
    if (!names.contains(key) && names.contains(value))
      result.emplace(key, value);
  return result;
}

const std::byte *Safetensors::data(const Entry &entry) const { return file_->bytes().data() + entry.begin; }

Result<HostTensor> Safetensors::read(const Entry &entry) const {
  GRAPHC_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::allocate(entry.dtype, entry.shape));
  std::memcpy(tensor.raw(), data(entry), tensor.sizeBytes());
  return tensor;
}

Status writeSafetensors(const std::string &path, const std::vector<SafetensorsWrite> &tensors,
                        const std::map<std::string, std::string> &metadata) {
  auto bad = [&](auto &&...parts) { return error(Code::WeightFile, "'", path, "': ", parts...); };
  std::set<std::string> names;
  for (const SafetensorsWrite &each : tensors) {
    if (each.name == "__metadata__")
      return bad("no tensor may be called __metadata__");
    if (!names.insert(each.name).second)
      return bad("two tensors are called '", each.name, "'");
  }
  std::map<std::string, std::string> notes = metadata;
  for (const auto &[key, value] : metadata)
    if (names.contains(key))
      return bad("the metadata may not have the name of a tensor, '", key, "'");

  // Big elements first keeps every tensor aligned to its element; then by name, so that the same tensors give the same bytes.
  std::vector<SafetensorsWrite> order = tensors;
  std::sort(order.begin(), order.end(), [](const SafetensorsWrite &a, const SafetensorsWrite &b) {
    size_t sizeA = sizeOf(a.tensor->dtype()), sizeB = sizeOf(b.tensor->dtype());
    return sizeA != sizeB ? sizeA > sizeB : a.name < b.name;
  });
  std::map<std::tuple<const void *, DType, std::vector<int64_t>>, std::string> stored;
  std::vector<SafetensorsWrite> written;
  Json header = Json::object();
  Json ranges = Json::object();
  size_t at = 0;
  for (const SafetensorsWrite &each : order) {
    const HostTensor &tensor = *each.tensor;
    if (tensor.elements() > 0) {
      auto [kept, fresh] = stored.try_emplace({tensor.raw(), tensor.dtype(), tensor.shape().dims()}, each.name);
      if (!fresh) {
        notes[each.name] = kept->second;
        continue;
      }
    }
    ranges[each.name] = {{"dtype", spelled(tensor.dtype())}, {"shape", tensor.shape().dims()}, {"data_offsets", {at, at + tensor.sizeBytes()}}};
    at += tensor.sizeBytes();
    written.push_back(each);
  }
  if (!notes.empty())
    header["__metadata__"] = notes;
  header.update(ranges);
  std::string bytes;
  try {
    bytes = header.dump();
  } catch (const Json::exception &) {
    return bad("a name or a metadata entry is not UTF-8");
  }
  bytes.resize((bytes.size() + 7) / 8 * 8, ' '); // the data begins at a multiple of eight
  if (bytes.size() > kMaxHeaderBytes)
    return bad("the header would have ", bytes.size(), " bytes, at most ", kMaxHeaderBytes, " are allowed");

  GRAPHC_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  unsigned char length[kLengthBytes];
  for (size_t i = 0; i < kLengthBytes; ++i)
    length[i] = static_cast<unsigned char>(bytes.size() >> (8 * i));
  GRAPHC_RETURN_IF_ERROR(file.write(length, kLengthBytes));
  GRAPHC_RETURN_IF_ERROR(file.write(bytes.data(), bytes.size()));
  for (const SafetensorsWrite &each : written)
    GRAPHC_RETURN_IF_ERROR(file.write(each.tensor->raw(), each.tensor->sizeBytes()));
  return file.commit();
}

Result<NamedTensors> readSafetensors(const std::string &path) {
  GRAPHC_ASSIGN_OR_RETURN(Safetensors file, Safetensors::open(path));
  NamedTensors tensors;
  for (const Safetensors::Entry &entry : file.entries()) {
    GRAPHC_ASSIGN_OR_RETURN(HostTensor tensor, file.read(entry));
    tensors.emplace_back(entry.name, std::move(tensor));
  }
  return tensors;
}

} // namespace graphc
