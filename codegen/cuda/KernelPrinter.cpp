// The frame around a kernel's body: what it computes, its parameters, which schedule prints it.
#include "codegen/cuda/KernelPrinter.h"

#include "codegen/cuda/Prelude.h"

using namespace mlir;
using namespace graphc;
using namespace graphc::codegen;
using namespace graphc::codegen::cuda;

namespace {

std::optional<int64_t> staticElements(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  if (!type.hasStaticShape())
    return std::nullopt;
  return type.getNumElements();
}

/// Trip count of a loop and everything around it, when it is known.
std::optional<int64_t> tripsAround(Operation *op) {
  int64_t trips = 1;
  for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
    if (auto loop = dyn_cast<kernel::LoopOp>(parent))
      for (unsigned d = 0; d < loop.getIvs().size(); ++d) {
        auto size = constantOf(sizeOf(loop, d));
        if (!size)
          return std::nullopt;
        trips *= *size;
      }
  return trips;
}

/// Every element, iteration and offset is known to fit 32 bits with room to spare.
bool fits32Bits(kernel::FuncOp kernel) {
  constexpr int64_t limit = int64_t(1) << 30;
  if (kernel.getNumScalars())
    return false;
  for (Value buffer : kernel.getBuffers()) {
    auto count = staticElements(buffer);
    if (!count || *count >= limit)
      return false;
  }
  bool fits = true;
  kernel.walk([&](kernel::LoopOp loop) {
    int64_t points = 1;
    for (unsigned d = 0; d < loop.getIvs().size(); ++d) {
      auto size = constantOf(sizeOf(loop, d));
      fits &= size && *size < limit;
      if (fits)
        points *= *size;
      fits &= points < limit;
    }
  });
  return fits;
}

std::string amount(double value, const char *unit) {
  const char *scale = "";
  for (const char *next : {"k", "M", "G"})
    if (value >= 1000) {
      value /= 1000;
      scale = next;
    }
  char buffer[64];
  snprintf(buffer, sizeof buffer, "%.4g %s%s", value, scale, unit);
  return buffer;
}

std::string shapeText(kernel::FuncOp kernel, unsigned index) {
  auto type = cast<MemRefType>(kernel.getArgument(index).getType());
  std::string text;
  llvm::raw_string_ostream os(text);
  os << type.getElementType() << '[';
  AffineMap dims = kernel.getBufferDims(index);
  for (auto [d, size] : llvm::enumerate(dims.getResults())) {
    std::string dim;
    llvm::raw_string_ostream(dim) << size;
    for (char &c : dim)
      if (c == 's')
        c = 'n';
    os << (d ? ", " : "") << dim;
  }
  os << ']';
  return text;
}
} // namespace

KernelPrinter::KernelPrinter(kernel::FuncOp kernel) : kernel_(kernel) {
  auto stored = storedBuffers(kernel);
  stored_.insert(stored.begin(), stored.end());
  index_ = fits32Bits(kernel) ? "int" : "i64";
  unsigned inputs = 0, outputs = 0;
  for (Value buffer : kernel.getBuffers())
    set(buffer, {stored_.contains(buffer) ? "out" + std::to_string(outputs++) : "in" + std::to_string(inputs++)});
  for (auto [i, scalar] : llvm::enumerate(kernel.getScalars())) {
    set(scalar, {"n" + std::to_string(i)});
    nonNegative_.insert(scalar);
  }
}

/// What it computes, and what that costs where sizes are known.
std::string KernelPrinter::header() {
  std::string text = "// " + kernel_.getSymName().str() + "\n";
  if (auto sources = kernel_.getSources()) {
    text += "//   computes ";
    bool first = true;
    for (Attribute source : *sources) {
      text += (first ? "" : ", ") + cast<StringAttr>(source).str();
      first = false;
    }
    text += "\n";
  }
  double read = 0, written = 0;
  bool known = true;
  for (auto [i, buffer] : llvm::enumerate(kernel_.getBuffers())) {
    text += "//   " + names_[buffer].text + ": " + shapeText(kernel_, i) + "\n";
    auto count = staticElements(buffer);
    known &= count.has_value();
    double bytes = count ? static_cast<double>(*count) * std::max(1u, cast<MemRefType>(buffer.getType()).getElementTypeBitWidth() / 8) : 0;
    (stored_.contains(buffer) ? written : read) += bytes;
  }
  if (!known)
    return text;
  double flops = 0;
  kernel_.walk([&](Operation *op) {
    if (op->getNumResults() != 1 || !isa<FloatType>(op->getResult(0).getType()) || !isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
        isa<arith::ConstantOp, arith::SelectOp, arith::ExtFOp, arith::TruncFOp, arith::BitcastOp>(op))
      return;
    flops += static_cast<double>(tripsAround(op).value_or(0)) * (isa<math::FmaOp>(op) ? 2 : 1);
  });
  return text + "//   reads " + amount(read, "B") + ", writes " + amount(written, "B") + ", " + amount(flops, "flop") + "\n";
}

std::string KernelPrinter::signature() {
  std::string text = "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(launch_.threads) + ")\n" +
                     kernel_.getSymName().str() + "(";
  for (Value buffer : kernel_.getBuffers())
    text += std::string(stored_.contains(buffer) ? "" : "const ") + type(cast<MemRefType>(buffer.getType()).getElementType()) + "* " +
            names_[buffer].text + ", ";
  for (Value scalar : kernel_.getScalars())
    text += "i64 " + names_[scalar].text + ", ";
  return text + "i64 range, ErrorCell* error)";
}

FailureOr<KernelSource> KernelPrinter::print() {
  depth_ = 1;
  for (Operation &op : kernel_.getBody().front().without_terminator()) {
    auto parallel = dyn_cast<kernel::ParallelOp>(op);
    if (!parallel) {
      printOp(&op);
      continue;
    }
    switch (kernel_.getScheduleOrDefault().getStrategy()) {
    case kernel::Strategy::loop:
      printPerThread(parallel);
      break;
    case kernel::Strategy::rows:
    case kernel::Strategy::columns:
      printGroup(parallel);
      break;
    case kernel::Strategy::transpose:
      printTransposed(parallel);
      break;
    case kernel::Strategy::tiles:
      if (auto attention = matchAttention(parallel))
        printAttention(parallel, *attention);
      else
        printTiles(parallel);
      break;
    case kernel::Strategy::contract:
      return kernel_.emitError() << "is scheduled for a CPU's registers", failure();
    }
  }
  if (failed_)
    return failure();
  KernelSource source;
  source.name = kernel_.getSymName().str();
  source.text = header() + signature() + " {\n" + text_ + "}\n";
  source.helpers = helpers_;
  source.launch = launch_;
  if (auto sources = kernel_.getSources())
    for (Attribute each : *sources)
      source.sourceOps.push_back(cast<StringAttr>(each).str());
  return source;
}

FailureOr<KernelSource> cuda::printKernel(kernel::FuncOp kernel) { return KernelPrinter(kernel).print(); }

std::string cuda::translationUnit(ArrayRef<const KernelSource *> kernels, MLIRContext *context) {
  std::set<std::string> helpers;
  for (const KernelSource *kernel : kernels)
    helpers.insert(kernel->helpers.begin(), kernel->helpers.end());
  std::string text = preludeText();
  for (const std::string &helper : helpers)
    text += "\n" + KernelPrinter::helperFunction(helper, context);
  for (const KernelSource *kernel : kernels)
    text += "\n" + kernel->text;
  return text;
}

std::vector<std::string> cuda::nvrtcOptions() {
  return {"--std=c++17", "--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false", "--device-as-default-execution-space", "--diag-suppress=177"};
}
