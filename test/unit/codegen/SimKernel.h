// The `Kernel` of Harness.h on the simulated CUDA device: the same tests, every check of the simulator on, and any report
// fails the test. Buffers are copied in and out; where a kernel takes another path for buffers that are not aligned, it runs on
// such buffers too and must give the same bits.
#pragma once
#include "codegen/cuda/CompileModules.h"
#include "runtime/base/KernelContext.h"
#include "runtime/cudasim/cudasim.h"
#include "runtime/devices/cuda/Driver.h"
#include "runtime/devices/cuda/Nvrtc.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace graphc::test {

/// The simulator and NVRTC, opened once by `main` (SimMain.cpp).
struct Simulator {
  std::shared_ptr<const cuda::Driver> driver;
  std::shared_ptr<const cuda::Nvrtc> nvrtc;
  static Simulator &get();
  /// Findings since the last call, as text.
  std::string findings();
};

class SimKernel {
public:
  /// The level is a CPU's: ignored.
  explicit SimKernel(const std::string &text, const char * = "") {
    mlir::DialectRegistry registry;
    registry.insert<kernel::KernelDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
    context_ = std::make_unique<mlir::MLIRContext>(registry);
    context_->loadAllAvailableDialects();
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, context_.get());
    if (!module_)
      return;
    kernel_ = *module_->getOps<kernel::FuncOp>().begin();
    codegen::cuda::scheduleKernel(kernel_);
    codegen::cuda::ModuleOptions options;
    options.compile = [](const std::string &source, const std::string &name, const std::string &architecture) -> Result<std::vector<std::byte>> {
      auto flags = codegen::cuda::nvrtcOptions();
      flags.push_back("--gpu-architecture=" + architecture);
      GRAPHC_ASSIGN_OR_RETURN(auto compiled, Simulator::get().nvrtc->compile(source, name, flags));
      auto bytes = std::as_bytes(std::span(compiled.ptx.c_str(), compiled.ptx.size() + 1));
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    auto code = codegen::cuda::compileModules(*module_, options);
    if (mlir::failed(code))
      return;
    source = code->modules[0].source;
    launch_ = code->kernels[0].launch;
    const auto &driver = *Simulator::get().driver;
    check(driver.moduleLoadDataEx(&loaded_, code->modules[0].images[0].bytes.data(), 0, nullptr, nullptr));
    check(driver.moduleGetFunction(&entry, loaded_, code->kernels[0].name.c_str()));
  }
  ~SimKernel() {
    if (loaded_)
      check(Simulator::get().driver->moduleUnload(loaded_));
  }

  int64_t range(std::vector<int64_t> scalars) { return evaluate(kernel_.getRangeMap(), scalars)[0]; }

  void run(std::vector<void *> buffers, std::vector<int64_t> scalars = {}, int64_t = 1) {
    ASSERT_NE(entry, nullptr);
    bool twoPaths = source.find("&& is_aligned<") != std::string::npos;
    std::map<void *, std::vector<char>> aligned;
    if (twoPaths) {
      // Off the first element's alignment, on copies.
      std::vector<std::vector<char>> copies;
      std::map<void *, void *> copyOf;
      std::vector<void *> others;
      copies.reserve(buffers.size());
      for (size_t i = 0; i < buffers.size(); ++i) {
        if (!copyOf.count(buffers[i])) {
          size_t bytes = bytesOf(i, scalars);
          copies.emplace_back(static_cast<char *>(buffers[i]), static_cast<char *>(buffers[i]) + bytes);
          copies.back().resize(bytes + 1);
          copyOf[buffers[i]] = copies.back().data();
        }
        others.push_back(copyOf[buffers[i]]);
      }
      launch(others, scalars, /*shift=*/true);
      launch(buffers, scalars, false);
      for (size_t i = 0; i < buffers.size(); ++i)
        ASSERT_EQ(std::memcmp(buffers[i], others[i], bytesOf(i, scalars)), 0) << "aligned and other buffers give different bits in buffer " << i;
      return;
    }
    launch(buffers, scalars, false);
  }

  std::string scheduled() {
    std::string text;
    llvm::raw_string_ostream stream(text);
    kernel_->print(stream);
    return text;
  }

  CUfunction entry = nullptr;
  GraphcErrorCell error{};
  std::string source;

private:
  static void check(const Status &status) { ASSERT_TRUE(status.ok()) << status.str() << "\n" << Simulator::get().findings(); }

  std::vector<int64_t> evaluate(mlir::AffineMap map, const std::vector<int64_t> &scalars) {
    mlir::Builder b(context_.get());
    mlir::SmallVector<mlir::Attribute> operands, results;
    for (unsigned i = 0; i < map.getNumSymbols(); ++i)
      operands.push_back(b.getIndexAttr(scalars[i]));
    EXPECT_TRUE(mlir::succeeded(map.constantFold(operands, results)));
    std::vector<int64_t> values;
    for (mlir::Attribute value : results)
      values.push_back(mlir::cast<mlir::IntegerAttr>(value).getInt());
    return values;
  }
  size_t elementBytes(size_t i) {
    return std::max(1u, mlir::cast<mlir::MemRefType>(kernel_.getArgument(i).getType()).getElementTypeBitWidth() / 8);
  }
  size_t bytesOf(size_t i, const std::vector<int64_t> &scalars) {
    size_t bytes = elementBytes(i);
    for (int64_t dim : evaluate(kernel_.getBufferDims(i), scalars))
      bytes *= dim;
    return bytes;
  }

  void launch(const std::vector<void *> &buffers, std::vector<int64_t> scalars, bool shift) {
    const auto &driver = *Simulator::get().driver;
    CUstream stream = nullptr;
    std::map<void *, CUdeviceptr> base;
    std::vector<CUdeviceptr> addresses;
    for (size_t i = 0; i < buffers.size(); ++i) {
      size_t bytes = bytesOf(i, scalars), offset = shift ? elementBytes(i) : 0;
      if (!base.count(buffers[i])) {
        check(driver.memAlloc(&base[buffers[i]], bytes + offset + 1));
        if (bytes)
          check(driver.memcpyHtoDAsync(base[buffers[i]] + offset, buffers[i], bytes, stream));
      }
      addresses.push_back(base[buffers[i]] + offset);
    }
    CUdeviceptr cell = 0;
    check(driver.memAlloc(&cell, sizeof error));
    check(driver.memcpyHtoDAsync(cell, &error, sizeof error, stream));
    int64_t units = range(scalars);
    std::vector<void *> arguments;
    for (CUdeviceptr &address : addresses)
      arguments.push_back(&address);
    for (int64_t &scalar : scalars)
      arguments.push_back(&scalar);
    arguments.push_back(&units);
    arguments.push_back(&cell);
    int64_t blocks = (units + launch_.itemsPerBlock - 1) / launch_.itemsPerBlock;
    if (blocks)
      check(driver.launchKernel(entry, blocks, 1, 1, launch_.threads, 1, 1, 0, stream, arguments.data(), nullptr));
    for (size_t i = 0; i < buffers.size(); ++i)
      if (size_t bytes = bytesOf(i, scalars))
        check(driver.memcpyDtoHAsync(buffers[i], addresses[i], bytes, stream));
    check(driver.memcpyDtoHAsync(&error, cell, sizeof error, stream));
    check(driver.streamSynchronize(stream));
    for (auto &[host, address] : base)
      check(driver.memFree(address));
    check(driver.memFree(cell));
    ASSERT_EQ(Simulator::get().findings(), "");
  }

  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  kernel::FuncOp kernel_;
  codegen::cuda::LaunchShape launch_;
  CUmodule loaded_ = nullptr;
};

} // namespace graphc::test
