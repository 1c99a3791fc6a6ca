#include "frontend/onnx/WireFormat.h"

#include <functional>

namespace graphc::onnx_import {
namespace {

// Field numbers of onnx.proto: ModelProto.graph, GraphProto.initializer, TensorProto.raw_data.
constexpr uint32_t kGraph = 7, kInitializer = 5, kRawData = 9;

struct Field {
  uint32_t number = 0;
  uint32_t wire = 0;
  uint64_t begin = 0;                     // of the key
  uint64_t payloadBegin = 0, payload = 0; // of a length-delimited field
  uint64_t end = 0;
};

class Walker {
public:
  explicit Walker(std::string_view bytes) : bytes(bytes) {}

  /// Calls `visit` for each field of the message in [begin, end); false on malformed bytes or when `visit` says so.
  bool fields(uint64_t begin, uint64_t end, const std::function<bool(const Field &)> &visit) {
    for (uint64_t at = begin; at < end;) {
      Field field;
      field.begin = at;
      uint64_t key;
      if (!varint(at, end, key) || key >> 32 || (key >> 3) == 0)
        return malformed(field.begin);
      field.number = static_cast<uint32_t>(key >> 3);
      field.wire = key & 7;
      uint64_t size = 0;
      switch (field.wire) {
      case 0:
        if (!varint(at, end, size))
          return malformed(field.begin);
        break;
      case 1: size = 8; break;
      case 5: size = 4; break;
      case 2:
        if (!varint(at, end, size))
          return malformed(field.begin);
        field.payloadBegin = at;
        field.payload = size;
        break;
      default: return malformed(field.begin); // groups are not used by ONNX
      }
      if (field.wire != 0) {
        if (size > end - at)
          return malformed(field.begin);
        at += size;
      }
      field.end = at;
      if (!visit(field))
        return false;
    }
    return true;
  }

  uint64_t errorAt = 0;

private:
  bool malformed(uint64_t at) {
    errorAt = at;
    return false;
  }
  bool varint(uint64_t &at, uint64_t end, uint64_t &value) {
    value = 0;
    for (int shift = 0; shift < 70 && at < end; shift += 7) {
      uint8_t byte = static_cast<uint8_t>(bytes[at++]);
      if (shift < 64)
        value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return true;
    }
    return false;
  }
  std::string_view bytes;
};

void putVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}
void putMessage(std::string &out, uint32_t number, const std::string &body) {
  putVarint(out, number << 3 | 2);
  putVarint(out, body.size());
  out += body;
}

} // namespace

Result<SplitModel> splitModel(std::string_view bytes) {
  SplitModel split;
  Walker walker(bytes);
  auto copy = [&](std::string &out, const Field &field) {
    out.append(bytes.substr(field.begin, field.end - field.begin));
    return true;
  };
  auto message = [](const Field &field, uint32_t number) { return field.number == number && field.wire == 2; };

  bool ok = walker.fields(0, bytes.size(), [&](const Field &field) {
    if (!message(field, kGraph))
      return copy(split.skeleton, field);
    std::string graph;
    bool graphOk = walker.fields(field.payloadBegin, field.end, [&](const Field &part) {
      if (!message(part, kInitializer))
        return copy(graph, part);
      std::string tensor;
      std::optional<RawRange> raw; // the last one counts, as in protobuf
      bool tensorOk = walker.fields(part.payloadBegin, part.end, [&](const Field &member) {
        if (!message(member, kRawData))
          return copy(tensor, member);
        raw = RawRange{member.payloadBegin, member.payload};
        return true;
      });
      if (!tensorOk)
        return false;
      split.initializers.push_back(raw);
      putMessage(graph, kInitializer, tensor);
      return true;
    });
    if (!graphOk)
      return false;
    putMessage(split.skeleton, kGraph, graph);
    return true;
  });
  if (!ok)
    return error(Code::ModelMalformed, "not an ONNX model: malformed protobuf bytes at offset ", walker.errorAt, " of ",
                 bytes.size(), " (is the file complete?)");
  return split;
}

} // namespace graphc::onnx_import
