// Reads a model file, leaves the weights in it, hands the rest to GraphImporter.
#include "frontend/onnx/Import.h"

#include "frontend/onnx/GraphImport.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace graphc {
namespace {

using namespace onnx_import;

/// A file mapped while it is imported; its weights are mapped again by the runtime.
class MappedFile {
public:
  explicit MappedFile(const std::string &path) {
    int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info = {};
    if (file < 0 || ::fstat(file, &info) != 0) {
      reason = std::strerror(errno);
    } else if (!S_ISREG(info.st_mode)) {
      reason = S_ISDIR(info.st_mode) ? "is a directory" : "is not a regular file";
    } else if (info.st_size > 0) {
      data = ::mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
      if (data == MAP_FAILED) {
        data = nullptr;
        reason = std::strerror(errno);
      } else {
        size = info.st_size;
      }
    }
    if (file >= 0)
      ::close(file);
  }
  ~MappedFile() {
    if (data)
      ::munmap(data, size);
  }
  MappedFile(const MappedFile &) = delete;
  std::string_view bytes() const { return {static_cast<const char *>(data), size}; }
  std::string reason;

private:
  void *data = nullptr;
  size_t size = 0;
};

/// Takes one number off the front.
std::optional<int64_t> takeNumber(std::string_view &s) {
  int64_t n = 0;
  size_t digits = 0;
  while (digits < s.size() && s[digits] >= '0' && s[digits] <= '9' && digits < 18)
    n = n * 10 + (s[digits++] - '0');
  s.remove_prefix(digits);
  return digits ? std::optional<int64_t>(n) : std::nullopt;
}
bool take(std::string_view &s, std::string_view token) {
  if (s.substr(0, token.size()) != token)
    return false;
  s.remove_prefix(token.size());
  return true;
}

} // namespace

Result<std::pair<std::string, std::vector<ShapeDim>>> parseShapeOption(std::string_view option) {
  std::string name;
  std::string_view rest = option;
  if (size_t equals = option.rfind('='); equals != std::string_view::npos) {
    name = option.substr(0, equals);
    rest = option.substr(equals + 1);
  }
  auto bad = [&] { return error(Code::InvalidOption, "--shape '", option, "': expected NAME=SIZExSIZE..., each SIZE a number, [LO..HI] or ?"); };
  std::vector<ShapeDim> dims;
  while (!rest.empty()) {
    if (!dims.empty() && !take(rest, "x"))
      return bad();
    ShapeDim dim;
    if (take(rest, "?")) {
      dim.symbolic = true;
    } else if (take(rest, "[")) {
      auto lo = takeNumber(rest);
      if (!lo || !take(rest, ".."))
        return bad();
      dim.symbolic = true;
      dim.lo = *lo;
      dim.hi = takeNumber(rest).value_or(-1);
      if (!take(rest, "]") || (dim.hi >= 0 && dim.hi < dim.lo))
        return bad();
    } else if (auto n = takeNumber(rest)) {
      dim.size = *n;
    } else {
      return bad();
    }
    dims.push_back(dim);
  }
  return std::pair(name, dims);
}

ImportResult importOnnx(const std::string &path, const ImportOptions &options, mlir::MLIRContext &context, const DiagnosticSink &sink) {
  MappedFile file(path);
  if (!file.reason.empty()) {
    sink({Code::ModelUnreadable, text("cannot read model '", path, "': ", file.reason)});
    return {};
  }
  return importOnnxBytes(file.bytes(), path, options, context, sink);
}

ImportResult importOnnxBytes(std::string_view bytes, const std::string &name, const ImportOptions &options, mlir::MLIRContext &context,
                             const DiagnosticSink &sink) {
  context.loadDialect<graph::GraphDialect, mlir::func::FuncDialect>();
  auto split = splitModel(bytes);
  if (!split.ok()) {
    sink({split.status().code(), text(name, ": ", split.status().message())});
    return {};
  }
  ::onnx::ModelProto model;
  google::protobuf::io::ArrayInputStream stream(split->skeleton.data(), static_cast<int>(std::min<size_t>(split->skeleton.size(), INT32_MAX)));
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(INT32_MAX);
  if (split->skeleton.size() > INT32_MAX || !model.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) {
    sink({Code::ModelMalformed, text(name, ": not an ONNX model: its protobuf does not match the ONNX schema")});
    return {};
  }
  if (!model.has_graph()) {
    sink({Code::ModelMalformed, text(name, ": not an ONNX model: it has no graph", bytes.empty() ? " (the file is empty)" : "")});
    return {};
  }
  std::filesystem::path path(name);
  auto externalFiles = std::make_shared<std::set<std::string>>();
  LiteralSource source{&context, bytes, path.filename().string(), path.parent_path().string(), externalFiles};
  Report report;
  GraphImporter importer(model, std::move(split->initializers), std::move(source), options, name);
  ImportResult result = importer.run(report);
  result.externalFiles.assign(externalFiles->begin(), externalFiles->end());
  report.send(name, sink);
  if (!report.clean())
    result.module = nullptr;
  return result;
}

} // namespace graphc
