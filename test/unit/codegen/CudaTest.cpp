// What only CUDA has: the same bits as a CPU, machine code for every architecture, no spills.
#include "codegen/cuda/Resources.h"
#include "test/unit/codegen/Harness.h"

using namespace graphc;
using namespace graphc::test;

namespace {

std::string unary(const std::string &body) {
  return "kernel.func @f(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) attributes {arg_dims = [affine_map<()[s0] -> (s0)>, "
         "affine_map<()[s0] -> (s0)>]} {\n  %c = arith.constant 0.3 : f32\n  kernel.parallel (%i) to (symbol(%n)) {\n"
         "    %v = kernel.load %x[%i] : memref<?xf32>\n" + body + "    kernel.store %r, %y[%i] : memref<?xf32>\n  }\n}";
}

/// Bit patterns from everywhere: all exponents, both signs, the ends.
std::vector<float> everywhere() {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += 1046527) {
    float value;
    uint32_t pattern = static_cast<uint32_t>(bits);
    std::memcpy(&value, &pattern, 4);
    values.push_back(value);
  }
  for (float x : {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 1e-45f, 88.7f, -87.4f, 3.4e38f})
    values.push_back(x);
  auto usual = randomFloats(3000, -20, 20);
  values.insert(values.end(), usual.begin(), usual.end());
  return values;
}

class SameBits : public testing::TestWithParam<std::pair<const char *, const char *>> {};

TEST_P(SameBits, AsOnACpu) {
  std::string text = unary(GetParam().second);
  CpuKernel cpu(text, "v3");
  SimKernel sim(text);
  auto x = everywhere();
  std::vector<float> a(x.size()), b(x.size());
  cpu.run({x.data(), a.data()}, {int64_t(x.size())});
  sim.run({x.data(), b.data()}, {int64_t(x.size())});
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i]))
      continue;
    ASSERT_EQ(std::memcmp(&a[i], &b[i], 4), 0) << "of " << x[i] << ": cpu " << a[i] << ", cuda " << b[i];
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cuda, SameBits,
    testing::Values(std::pair("exp", "    %r = math.exp %v : f32\n"), std::pair("exp2", "    %r = math.exp2 %v : f32\n"),
                    std::pair("expm1", "    %r = math.expm1 %v : f32\n"), std::pair("log", "    %r = math.log %v : f32\n"),
                    std::pair("log2", "    %r = math.log2 %v : f32\n"), std::pair("log10", "    %r = math.log10 %v : f32\n"),
                    std::pair("log1p", "    %r = math.log1p %v : f32\n"), std::pair("tanh", "    %r = math.tanh %v : f32\n"),
                    std::pair("erf", "    %r = math.erf %v : f32\n"), std::pair("sin", "    %r = math.sin %v : f32\n"),
                    std::pair("cos", "    %r = math.cos %v : f32\n"), std::pair("rsqrt", "    %r = math.rsqrt %v : f32\n"),
                    std::pair("sqrt", "    %r = math.sqrt %v : f32\n"), std::pair("floor", "    %r = math.floor %v : f32\n"),
                    std::pair("roundeven", "    %r = math.roundeven %v : f32\n"),
                    std::pair("quotient", "    %r = arith.divf %c, %v : f32\n"),
                    std::pair("product_sum", "    %p = arith.mulf %v, %v : f32\n    %r = arith.addf %p, %c : f32\n"),
                    std::pair("fused", "    %r = math.fma %v, %v, %c : f32\n"),
                    std::pair("f16", "    %h = arith.truncf %v : f32 to f16\n    %r = arith.extf %h : f16 to f32\n"),
                    std::pair("bf16", "    %h = arith.truncf %v : f32 to bf16\n    %r = arith.extf %h : bf16 to f32\n"),
                    std::pair("to_int", "    %h = arith.fptosi %v : f32 to i32\n    %r = arith.sitofp %h : i32 to f32\n"),
                    std::pair("to_byte", "    %h = arith.fptoui %v : f32 to i8\n    %r = arith.uitofp %h : i8 to f32\n"),
                    std::pair("remainder", "    %r = arith.remf %v, %c : f32\n")),
    [](const auto &info) { return std::string(info.param.first); });

// A row kernel, a column kernel, packs and a transpose in one text.
constexpr const char *kSchedules = R"(
kernel.func @gelu(%x: memref<4096xf32>, %y: memref<4096xf16>) {
  %c = arith.constant 1.0 : f32
  kernel.parallel (%i) to (4096) {
    %v = kernel.load %x[%i] : memref<4096xf32>
    %e = math.erf %v : f32
    %t = math.tanh %e : f32
    %f = arith.addf %t, %c : f32
    %g = arith.mulf %v, %f : f32
    %h = arith.truncf %g : f32 to f16
    kernel.store %h, %y[%i] : memref<4096xf16>
  }
}
kernel.func @softmax(%x: memref<64x1024xf32>, %y: memref<64x1024xf32>) {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  kernel.parallel (%i) to (64) {
    %max = kernel.reduce (%k) to (1024) init (%lowest : f32) {
      %v = kernel.load %x[%i, %k] : memref<64x1024xf32>
      kernel.yield %v : f32
    } combine (%a, %b) {
      %m = arith.maximumf %a, %b : f32
      kernel.yield %m : f32
    }
    %sum = kernel.reduce (%k) to (1024) init (%zero : f32) {
      %v = kernel.load %x[%i, %k] : memref<64x1024xf32>
      %d = arith.subf %v, %max : f32
      %e = math.exp %d : f32
      kernel.store %e, %y[%i, %k] : memref<64x1024xf32>
      kernel.yield %e : f32
    } combine (%a, %b) {
      %m = arith.addf %a, %b : f32
      kernel.yield %m : f32
    }
    kernel.map (%k) to (1024) {
      %e = kernel.load %y[%i, %k] : memref<64x1024xf32>
      %p = arith.divf %e, %sum : f32
      kernel.store %p, %y[%i, %k] : memref<64x1024xf32>
    }
  }
}
kernel.func @columns(%x: memref<4096x512xf32>, %y: memref<512xf32>) {
  %zero = arith.constant 0.0 : f32
  kernel.parallel (%j) to (512) {
    %s = kernel.reduce (%i) to (4096) init (%zero : f32) {
      %v = kernel.load %x[%i, %j] : memref<4096x512xf32>
      kernel.yield %v : f32
    } combine (%a, %c) {
      %t = arith.addf %a, %c : f32
      kernel.yield %t : f32
    }
    kernel.store %s, %y[%j] : memref<512xf32>
  }
}
kernel.func @turn(%x: memref<100x60xf32>, %y: memref<60x100xf32>) {
  kernel.parallel (%i, %j) to (60, 100) {
    %v = kernel.load %x[%j, %i] : memref<100x60xf32>
    kernel.store %v, %y[%i, %j] : memref<60x100xf32>
  }
}
)";

TEST(Cuda, MachineCodeWithoutSpillsForEveryArchitecture) {
  mlir::DialectRegistry registry;
  registry.insert<kernel::KernelDialect, mlir::arith::ArithDialect, mlir::math::MathDialect>();
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(kSchedules, &context);
  ASSERT_TRUE(module);
  std::vector<codegen::cuda::KernelResources> resources;
  codegen::cuda::ModuleOptions options;
  options.architectures = {"sm_80", "sm_90", "sm_100"};
  options.compile = [&](const std::string &source, const std::string &name, const std::string &architecture) -> Result<std::vector<std::byte>> {
    auto flags = codegen::cuda::nvrtcOptions();
    flags.push_back("--gpu-architecture=" + architecture);
    flags.push_back(codegen::cuda::resourceOption());
    GRAPHC_ASSIGN_OR_RETURN(auto compiled, Simulator::get().nvrtc->compile(source, name, flags));
    for (auto &kernel : codegen::cuda::parseResources(compiled.log))
      resources.push_back(kernel);
    return compiled.cubin;
  };
  auto code = codegen::cuda::compileModules(*module, options);
  ASSERT_TRUE(mlir::succeeded(code));
  ASSERT_EQ(resources.size(), 12u) << "four kernels, three architectures";
  for (const auto &kernel : resources) {
    EXPECT_GT(kernel.registers, 4) << kernel.kernel;
    EXPECT_EQ(kernel.spillStoreBytes + kernel.spillLoadBytes + kernel.stackBytes, 0) << kernel.kernel << " spills on " << kernel.architecture;
  }
  for (const auto &unit : code->modules)
    for (const auto &image : unit.images)
      EXPECT_GT(image.bytes.size(), 1000u) << image.architecture;
}

TEST(Cuda, ASpillIsSeenInTheReport) {
  auto found = codegen::cuda::parseResources("ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
                                             "ptxas info    : Function properties for k\n"
                                             "ptxas         .     96 bytes stack frame, 88 bytes spill stores, 92 bytes spill loads\n"
                                             "ptxas info    : Used 255 registers, used 1 barriers, 8704 bytes smem\n");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kernel, "k");
  EXPECT_EQ(found[0].architecture, "sm_90");
  EXPECT_EQ(found[0].registers, 255);
  EXPECT_EQ(found[0].stackBytes, 96);
  EXPECT_EQ(found[0].spillStoreBytes, 88);
  EXPECT_EQ(found[0].spillLoadBytes, 92);
  EXPECT_EQ(found[0].sharedBytes, 8704);
}
} // namespace
