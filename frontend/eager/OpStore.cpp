#include "frontend/eager/OpStore.h"

#include <cstring>

namespace graphc::eager {

namespace {

/// Numbers and texts one after the other, lengths first.
class Writer {
public:
  void number(int64_t value) { bytes_.append(reinterpret_cast<const char *>(&value), sizeof value); }
  void text(std::string_view value) {
    number(static_cast<int64_t>(value.size()));
    bytes_ += value;
  }
  void types(const std::vector<OpValueType> &list) {
    number(static_cast<int64_t>(list.size()));
    for (const OpValueType &type : list) {
      number(static_cast<int64_t>(type.dtype));
      number(static_cast<int64_t>(type.dims.size()));
      for (const std::string &dim : type.dims)
        text(dim);
    }
  }
  void program(const OpProgram &program) {
    text(program.text);
    types(program.arguments);
    types(program.results);
    number(program.symbols);
  }
  std::string take() { return std::move(bytes_); }

private:
  std::string bytes_;
};

class Reader {
public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  int64_t number() {
    int64_t value = 0;
    if (bytes_.size() < sizeof value) {
      good_ = false;
      return 0;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
    return value;
  }
  /// A count of things of at least a byte each.
  size_t count() {
    int64_t value = number();
    if (value < 0 || static_cast<size_t>(value) > bytes_.size()) {
      good_ = good_ && value == 0;
      return 0;
    }
    return static_cast<size_t>(value);
  }
  std::string text() {
    size_t length = count();
    std::string value(bytes_.substr(0, length));
    bytes_.remove_prefix(length);
    return value;
  }
  std::vector<OpValueType> types() {
    std::vector<OpValueType> list;
    for (size_t i = 0, n = count(); i < n && good_; ++i) {
      OpValueType &type = list.emplace_back();
      int64_t dtype = number();
      if (dtype < 0 || dtype >= kNumDTypes)
        good_ = false;
      type.dtype = static_cast<DType>(dtype);
      for (size_t d = 0, rank = count(); d < rank && good_; ++d)
        type.dims.push_back(text());
    }
    return list;
  }
  OpProgram program() {
    OpProgram program;
    program.text = text();
    program.arguments = types();
    program.results = types();
    program.symbols = static_cast<int>(number());
    return program;
  }
  bool done() const { return good_ && bytes_.empty(); }

private:
  std::string_view bytes_;
  bool good_ = true;
};

} // namespace

std::string encodeProgram(const OpProgram &program) {
  Writer out;
  out.program(program);
  return out.take();
}
std::optional<OpProgram> decodeProgram(std::string_view bytes) {
  Reader in(bytes);
  OpProgram program = in.program();
  return in.done() ? std::optional(std::move(program)) : std::nullopt;
}

std::string encodeGradient(const OpGradient &gradient) {
  Writer out;
  out.program(gradient.program);
  out.number(static_cast<int64_t>(gradient.inputs.size()));
  for (const GradientInput &input : gradient.inputs) {
    out.number(input.kind);
    out.number(input.index);
  }
  out.number(static_cast<int64_t>(gradient.gradients.size()));
  for (int from : gradient.gradients)
    out.number(from);
  return out.take();
}
std::optional<OpGradient> decodeGradient(std::string_view bytes) {
  Reader in(bytes);
  OpGradient gradient;
  gradient.program = in.program();
  for (size_t i = 0, n = in.count(); i < n; ++i) {
    int64_t kind = in.number();
    if (kind < GradientInput::Argument || kind > GradientInput::ResultGradient)
      return std::nullopt;
    gradient.inputs.push_back({static_cast<GradientInput::Kind>(kind), static_cast<int>(in.number())});
  }
  for (size_t i = 0, n = in.count(); i < n; ++i)
    gradient.gradients.push_back(static_cast<int>(in.number()));
  return in.done() ? std::optional(std::move(gradient)) : std::nullopt;
}

std::string encodeCode(const CompiledOp &op) {
  Writer out;
  out.text({reinterpret_cast<const char *>(op.plan.data()), op.plan.size()});
  out.number(static_cast<int64_t>(op.kernels.size()));
  for (const auto &[name, object] : op.kernels) {
    out.text(name);
    out.text(object);
  }
  return out.take();
}
std::optional<CompiledOp> decodeCode(std::string_view bytes) {
  Reader in(bytes);
  CompiledOp op;
  std::string plan = in.text();
  op.plan.assign(plan.begin(), plan.end());
  for (size_t i = 0, n = in.count(); i < n; ++i) {
    std::string name = in.text();
    op.kernels.emplace_back(std::move(name), in.text());
  }
  return in.done() ? std::optional(std::move(op)) : std::nullopt;
}

std::optional<OpStore> OpStore::open(const std::string &folder, std::string identity, bool readOnly, std::string &problem) {
  auto cache = CompileCache::open({folder});
  if (!cache.ok()) {
    problem = cache.status().message();
    return std::nullopt;
  }
  return OpStore(*std::move(cache), std::move(identity), readOnly);
}

std::string OpStore::keyOf(std::string_view key) const {
  CacheKey hash;
  hash.add(identity_).add(key);
  return hash.str();
}

std::optional<std::string> OpStore::find(const char *kind, std::string_view key) {
  auto bytes = cache_.find(kind, keyOf(key));
  if (!bytes)
    return std::nullopt;
  return std::string(reinterpret_cast<const char *>(bytes->data()), bytes->size());
}

void OpStore::store(const char *kind, std::string_view key, std::string_view bytes) {
  if (!readOnly_)
    (void)cache_.store(kind, keyOf(key), std::as_bytes(std::span(bytes.data(), bytes.size())));
}

} // namespace graphc::eager
