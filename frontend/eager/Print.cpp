// Tensors as text, laid out as PyTorch lays them out.
#include "frontend/eager/Dispatch.h"
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/context.h"
#include "frontend/graphc/ops.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace graphc {

namespace {

/// How all elements of a tensor are written: one width, one notation.
class Format {
public:
  Format(const std::vector<double> &shown, DType dtype, const PrintOptions &options) : dtype_(dtype), precision_(options.precision) {
    if (dtype == DType::Bool) {
      for (double v : shown)
        width_ = std::max(width_, v ? 4 : 5);
      return;
    }
    if (!isFloat(dtype)) {
      for (double v : shown)
        width_ = std::max<int>(width_, static_cast<int>(text(static_cast<int64_t>(v)).size()));
      return;
    }
    double low = 0, high = 0;
    bool any = false, whole = true;
    for (double v : shown) {
      if (!std::isfinite(v) || v == 0)
        continue;
      double a = std::abs(v);
      low = any ? std::min(low, a) : a;
      high = any ? std::max(high, a) : a;
      any = true;
      whole &= v == std::ceil(v);
    }
    whole_ = whole;
    if (any)
      scientific_ = whole ? high / low > 1000 && high > 1e8 : high / low > 1000 || high > 1e8 || low < 1e-4;
    if (any && whole && high > 1e8)
      scientific_ = true;
    // Zeros, infinities and NaN do not widen the columns.
    for (double v : shown)
      if (std::isfinite(v) && (v != 0 || !any))
        width_ = std::max<int>(width_, static_cast<int>(bare(v).size()));
  }

  std::string operator()(double value) const {
    std::string s = bare(value);
    return std::string(static_cast<size_t>(std::max<int>(0, width_ - static_cast<int>(s.size()))), ' ') + s;
  }
  int width() const { return width_; }

private:
  std::string bare(double v) const {
    if (dtype_ == DType::Bool)
      return v ? "True" : "False";
    if (!isFloat(dtype_))
      return text(static_cast<int64_t>(v));
    if (std::isnan(v))
      return "nan";
    if (std::isinf(v))
      return v > 0 ? "inf" : "-inf";
    char buffer[64];
    if (scientific_)
      std::snprintf(buffer, sizeof buffer, "%.*e", precision_, v);
    else if (whole_)
      std::snprintf(buffer, sizeof buffer, "%.0f.", v);
    else
      std::snprintf(buffer, sizeof buffer, "%.*f", precision_, v);
    return buffer;
  }

  DType dtype_;
  int precision_, width_ = 0;
  bool scientific_ = false, whole_ = true;
};

class Printer {
public:
  Printer(const Tensor &tensor, const PrintOptions &options)
      : sizes_(tensor.sizes().begin(), tensor.sizes().end()), options_(options), summary_(tensor.numel() > options.threshold) {
    values_ = tensor.dtype() == DType::I64 ? std::vector<double>() : tensor.toVector<double>();
    if (tensor.dtype() == DType::I64)
      for (int64_t v : tensor.toVector<int64_t>())
        values_.push_back(static_cast<double>(v));
    std::vector<double> shown;
    collect(0, 0, shown);
    format_.emplace(shown, tensor.dtype(), options);
  }

  std::string body(int indent) const { return level(0, 0, indent); }

private:
  int64_t step(size_t d) const {
    int64_t n = 1;
    for (size_t k = d + 1; k < sizes_.size(); ++k)
      n *= sizes_[k];
    return n;
  }
  /// Which entries of a dim are written; -1 stands for the dots.
  std::vector<int64_t> entries(size_t d) const {
    std::vector<int64_t> list;
    int64_t n = sizes_[d], edge = options_.edgeItems;
    for (int64_t i = 0; i < n; ++i) {
      if (summary_ && n > 2 * edge && i == edge) {
        list.push_back(-1);
        i = n - edge;
      }
      list.push_back(i);
    }
    return list;
  }
  void collect(size_t d, int64_t at, std::vector<double> &shown) const {
    if (d == sizes_.size()) {
      shown.push_back(values_[static_cast<size_t>(at)]);
      return;
    }
    for (int64_t i : entries(d))
      if (i >= 0)
        collect(d + 1, at + i * step(d), shown);
  }
  std::string level(size_t d, int64_t at, int indent) const {
    if (d == sizes_.size())
      return (*format_)(values_[static_cast<size_t>(at)]);
    if (d + 1 == sizes_.size())
      return row(at, indent);
    std::string out = "[";
    bool first = true;
    for (int64_t i : entries(d)) {
      if (!first)
        out += "," + std::string(sizes_.size() - d - 1, '\n') + std::string(static_cast<size_t>(indent + 1), ' ');
      first = false;
      out += i < 0 ? "..." : level(d + 1, at + i * step(d), indent + 1);
    }
    return out + "]";
  }
  std::string row(int64_t at, int indent) const {
    int perLine = std::max(1, (options_.lineWidth - indent) / (format_->width() + 2));
    std::string out = "[";
    int onLine = 0;
    bool first = true;
    for (int64_t i : entries(sizes_.size() - 1)) {
      if (!first)
        out += ",";
      if (onLine == perLine) {
        out += "\n" + std::string(static_cast<size_t>(indent + 1), ' ');
        onLine = 0;
      } else if (!first) {
        out += " ";
      }
      first = false;
      ++onLine;
      out += i < 0 ? " ..." : (*format_)(values_[static_cast<size_t>(at + i)]);
    }
    return out + "]";
  }

  std::vector<int64_t> sizes_;
  PrintOptions options_;
  bool summary_;
  std::vector<double> values_;
  std::optional<Format> format_;
};

} // namespace

std::string toString(const Tensor &tensor, const PrintOptions &options) {
  if (!tensor.defined())
    return "tensor(undefined)";
  NoGrad guard;
  std::string out = "tensor(";
  if (tensor.numel() == 0) {
    out += "[]";
    if (tensor.dim() != 1)
      out += text(", size=(", joined(tensor.sizes()), ")");
  } else {
    out += Printer(tensor.detach().cpu(), options).body(7);
  }
  DType dtype = tensor.dtype();
  // What the numbers show already is left out.
  bool plain = dtype == defaultDtype() || ((dtype == DType::I64 || dtype == DType::Bool) && tensor.numel() > 0);
  if (!plain)
    out += text(", dtype=", dtype);
  if (!tensor.device().isCpu())
    out += text(", device='", tensor.device().str(), "'");
  std::string node = tensor.gradFnName();
  if (!node.empty())
    out += text(", gradFn=<", node, ">");
  else if (tensor.requiresGrad())
    out += ", requiresGrad=true";
  return out + ")";
}

std::ostream &operator<<(std::ostream &stream, const Tensor &tensor) { return stream << toString(tensor); }

} // namespace graphc
