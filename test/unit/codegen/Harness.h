// Compiles kernels from text for this machine and runs them against plain loops.
#pragma once
#include "codegen/common/Schedule.h"
#include "codegen/cpu/CpuCodegen.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace graphc::test {

/// One kernel, compiled and linked.
class CpuKernel {
public:
  /// `level`: a CPU level this machine runs.
  explicit CpuKernel(const std::string &text, const char *level = "host") {
    mlir::DialectRegistry registry;
    codegen::cpu::registerCpuCodegenDialects(registry);
    context_ = std::make_unique<mlir::MLIRContext>(registry);
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, context_.get());
    if (!module_)
      return;
    auto target = codegen::cpu::CpuTarget::parse(level);
    kernel_ = *module_->getOps<kernel::FuncOp>().begin();
    codegen::scheduleKernel(kernel_, {target->vectorBytes(), target->hasMasks()});
    std::vector<codegen::cpu::CompiledKernel> compiled;
    if (auto result = codegen::cpu::compileKernels(*module_, *target, {1, true}); mlir::succeeded(result))
      compiled = std::move(*result);
    else
      return;
    ir = compiled[0].llvmIr;
    assembly = compiled[0].assembly;
    // The other levels must compile too, whether this machine runs them or not.
    for (const char *name : {"v3", "v4", "v4-bf16", "v4-amx"}) {
      auto other = mlir::parseSourceString<mlir::ModuleOp>(text, context_.get());
      auto objects = codegen::cpu::compileKernels(*other, *codegen::cpu::CpuTarget::parse(name));
      EXPECT_TRUE(mlir::succeeded(objects) && objects->front().object.size() > 500) << name;
    }
    jit_ = llvm::cantFail(codegen::cpu::JitKernels::create());
    entry = llvm::cantFail(jit_->add(compiled[0].name, compiled[0].object));
  }

  int64_t range(std::vector<int64_t> scalars) {
    mlir::AffineMap map = kernel_.getRangeMap();
    mlir::Builder b(context_.get());
    mlir::SmallVector<mlir::Attribute> operands, results;
    for (int64_t scalar : scalars)
      operands.push_back(b.getIndexAttr(scalar));
    EXPECT_TRUE(mlir::succeeded(map.constantFold(operands, results)));
    return mlir::cast<mlir::IntegerAttr>(results[0]).getInt();
  }

  /// Runs the whole range in `pieces` parts, so that ranges start and end anywhere.
  void run(std::vector<void *> buffers, std::vector<int64_t> scalars = {}, int64_t pieces = 1) {
    ASSERT_NE(entry, nullptr);
    GraphcKernelContext context{&error, nullptr, 0};
    int64_t total = range(scalars);
    for (int64_t piece = 0; piece < pieces; ++piece)
      entry(buffers.data(), scalars.data(), &context, total * piece / pieces, total * (piece + 1) / pieces);
  }

  std::string scheduled() {
    std::string text;
    llvm::raw_string_ostream stream(text);
    kernel_->print(stream);
    return text;
  }

  GraphcKernelFn entry = nullptr;
  GraphcErrorCell error{};
  std::string ir, assembly;

private:
  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  kernel::FuncOp kernel_;
  std::unique_ptr<codegen::cpu::JitKernels> jit_;
};

inline std::vector<float> randomFloats(size_t count, float low = -2, float high = 2, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(count);
  for (float &value : values)
    value = distribution(generator);
  return values;
}

/// A buffer with canaries on both sides; `check` finds writes outside.
template <typename T>
class Guarded {
public:
  explicit Guarded(size_t count, T fill = T{}) : count_(count), bytes_(count * sizeof(T) + 2 * pad, 0x5a) {
    std::fill(data(), data() + count, fill);
  }
  T *data() { return reinterpret_cast<T *>(bytes_.data() + pad); }
  T &operator[](size_t i) { return data()[i]; }
  size_t size() const { return count_; }
  void check() {
    for (size_t i = 0; i < pad; ++i) {
      ASSERT_EQ(bytes_[i], 0x5a) << "write before the buffer";
      ASSERT_EQ(bytes_[bytes_.size() - 1 - i], 0x5a) << "write behind the buffer";
    }
  }

private:
  static constexpr size_t pad = 256;
  size_t count_;
  std::vector<unsigned char> bytes_;
};

} // namespace graphc::test

// The same tests run on the simulated CUDA device in a program of their own.
#ifdef GRAPHC_TEST_ON_SIM
#include "test/unit/codegen/SimKernel.h"
namespace graphc::test {
using Kernel = SimKernel;
}
#else
namespace graphc::test {
using Kernel = CpuKernel;
}
#endif
