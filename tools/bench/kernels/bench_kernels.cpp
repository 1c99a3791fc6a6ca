// Softmax, layer norm, gelu, column sum, transpose: one thread, minimum of many runs, beside a copy of as many bytes.
#include "codegen/common/Schedule.h"
#include "codegen/cpu/CpuCodegen.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>

using namespace graphc;
using Clock = std::chrono::steady_clock;

static double microseconds(Clock::time_point start) { return std::chrono::duration<double, std::micro>(Clock::now() - start).count(); }

/// Processor time of this thread: what compiling costs however busy the machine is.
static double threadMilliseconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

/// Minimum time of one call, over about a fifth of a second.
static double bestOf(llvm::function_ref<void()> run) {
  double best = 1e30;
  auto begin = Clock::now();
  for (int i = 0; i < 5 || microseconds(begin) < 200000; ++i) {
    auto start = Clock::now();
    run();
    best = std::min(best, microseconds(start));
  }
  return best;
}

struct Bench {
  std::string name, text;
  std::vector<int64_t> elements; // f32 elements per buffer
  int64_t units;                 // of the outer range before scheduling changes it
  int64_t traffic;               // bytes that must move once
};

static std::string type(int64_t rows, int64_t columns) {
  return "memref<" + std::to_string(rows) + "x" + std::to_string(columns) + "xf32>";
}

static const char *addCombiner = " combine (%a, %b) { %t = arith.addf %a, %b : f32\n kernel.yield %t : f32 }\n";

static Bench softmax(int64_t n, int64_t m) {
  std::string t = type(n, m), s = std::to_string(m);
  return {"softmax " + std::to_string(n) + "x" + s,
          "kernel.func @f(%x: " + t + ", %y: " + t + ") {\n %lowest = arith.constant 0xFF800000 : f32\n %zero = arith.constant 0.0 : f32\n"
          " %one = arith.constant 1.0 : f32\n kernel.parallel (%i) to (" + std::to_string(n) + ") {\n"
          " %max = kernel.reduce (%k) to (" + s + ") init (%lowest : f32) { %v = kernel.load %x[%i, %k] : " + t + "\n kernel.yield %v : f32 }"
          " combine (%a, %b) { %t = arith.maximumf %a, %b : f32\n kernel.yield %t : f32 }\n"
          " %sum = kernel.reduce (%k) to (" + s + ") init (%zero : f32) { %v = kernel.load %x[%i, %k] : " + t +
          "\n %d = arith.subf %v, %max : f32\n %e = math.exp %d : f32\n kernel.store %e, %y[%i, %k] : " + t + "\n kernel.yield %e : f32 }" + addCombiner +
          " kernel.map (%k) to (" + s + ") { %e = kernel.load %y[%i, %k] : " + t +
          "\n %r = arith.divf %one, %sum : f32\n %p = arith.mulf %e, %r : f32\n kernel.store %p, %y[%i, %k] : " + t + " } } }",
          {n * m, n * m}, n, n * m * 8};
}

static Bench layerNorm(int64_t n, int64_t m) {
  std::string t = type(n, m), s = std::to_string(m), v = "memref<" + s + "xf32>";
  std::string load = "%v = kernel.load %x[%i, %k] : " + t + "\n";
  return {"layer norm " + std::to_string(n) + "x" + s,
          "kernel.func @f(%x: " + t + ", %g: " + v + ", %h: " + v + ", %y: " + t + ") {\n %zero = arith.constant 0.0 : f32\n"
          " %count = arith.constant " + s + ".0 : f32\n %eps = arith.constant 1.0e-5 : f32\n kernel.parallel (%i) to (" + std::to_string(n) + ") {\n"
          " %sum = kernel.reduce (%k) to (" + s + ") init (%zero : f32) { " + load + " kernel.yield %v : f32 }" + addCombiner +
          " %mean = arith.divf %sum, %count : f32\n %sq = kernel.reduce (%k) to (" + s + ") init (%zero : f32) { " + load +
          " %d = arith.subf %v, %mean : f32\n %q = arith.mulf %d, %d : f32\n kernel.yield %q : f32 }" + addCombiner +
          " %var = arith.divf %sq, %count : f32\n %ve = arith.addf %var, %eps : f32\n %r = math.rsqrt %ve : f32\n kernel.map (%k) to (" + s + ") { " + load +
          " %gk = kernel.load %g[%k] : " + v + "\n %hk = kernel.load %h[%k] : " + v +
          "\n %d = arith.subf %v, %mean : f32\n %u = arith.mulf %d, %r : f32\n %w = arith.mulf %u, %gk : f32\n %z = arith.addf %w, %hk : f32\n"
          " kernel.store %z, %y[%i, %k] : " + t + " } } }",
          {n * m, m, m, n * m}, n, n * m * 8};
}

static Bench gelu(int64_t n, int64_t m) {
  std::string t = type(n, m);
  return {"gelu " + std::to_string(n) + "x" + std::to_string(m),
          "kernel.func @f(%x: " + t + ", %y: " + t + ") {\n %h = arith.constant 0.5 : f32\n %one = arith.constant 1.0 : f32\n %c = arith.constant 0.70710678 : f32\n"
          " kernel.parallel (%i, %j) to (" + std::to_string(n) + ", " + std::to_string(m) + ") { %v = kernel.load %x[%i, %j] : " + t +
          "\n %s = arith.mulf %v, %c : f32\n %e = math.erf %s : f32\n %p = arith.addf %e, %one : f32\n %q = arith.mulf %v, %p : f32\n"
          " %r = arith.mulf %q, %h : f32\n kernel.store %r, %y[%i, %j] : " + t + " } }",
          {n * m, n * m}, n * m, n * m * 8};
}

static Bench columnSum(int64_t n, int64_t m) {
  std::string t = type(n, m), v = "memref<" + std::to_string(m) + "xf32>";
  return {"column sum " + std::to_string(n) + "x" + std::to_string(m),
          "kernel.func @f(%x: " + t + ", %y: " + v + ") {\n %zero = arith.constant 0.0 : f32\n kernel.parallel (%j) to (" + std::to_string(m) + ") {\n"
          " %s = kernel.reduce (%k) to (" + std::to_string(n) + ") init (%zero : f32) { %v = kernel.load %x[%k, %j] : " + t +
          "\n kernel.yield %v : f32 }" + addCombiner + " kernel.store %s, %y[%j] : " + v + " } }",
          {n * m, m}, m, n * m * 4};
}

static Bench transpose(int64_t n, int64_t m) {
  std::string t = type(n, m), u = type(m, n);
  return {"transpose " + std::to_string(n) + "x" + std::to_string(m),
          "kernel.func @f(%x: " + t + ", %y: " + u + ") { kernel.parallel (%i, %j) to (" + std::to_string(m) + ", " + std::to_string(n) +
          ") { %v = kernel.load %x[%j, %i] : " + t + "\n kernel.store %v, %y[%i, %j] : " + u + " } }",
          {n * m, n * m}, n * m, n * m * 8};
}

static Bench add(int64_t n) {
  std::string t = "memref<" + std::to_string(n) + "xf32>";
  return {"add " + std::to_string(n),
          "kernel.func @f(%x: " + t + ", %z: " + t + ", %y: " + t + ") { kernel.parallel (%i) to (" + std::to_string(n) + ") { %v = kernel.load %x[%i] : " + t +
          "\n %w = kernel.load %z[%i] : " + t + "\n %s = arith.addf %v, %w : f32\n kernel.store %s, %y[%i] : " + t + " } }",
          {n, n, n}, n, n * 12};
}

int main(int argc, char **argv) {
  auto target = codegen::cpu::CpuTarget::parse(argc > 1 ? argv[1] : "host");
  if (!target) {
    std::fprintf(stderr, "cpu level is one of v3, v4, v4-bf16, v4-amx, host\n");
    return 1;
  }
  if (auto missing = target->missingOnHost()) {
    std::fprintf(stderr, "%s\n", missing->c_str());
    return 1;
  }
  mlir::DialectRegistry registry;
  codegen::cpu::registerCpuCodegenDialects(registry);
  mlir::MLIRContext context(registry);
  auto start = Clock::now();
  codegen::cpu::warmUp(*target);
  std::printf("level %s, first kernel of the process %.1f ms\n", target->name().str().c_str(), microseconds(start) / 1000);
  auto jit = llvm::cantFail(codegen::cpu::JitKernels::create());

  std::printf("%-24s %10s %8s %10s %10s %8s\n", "kernel", "us", "GB/s", "copy us", "compile ms", "code B");
  for (const Bench &bench : {softmax(1024, 1024), softmax(1024, 77), softmax(64, 1024), layerNorm(1024, 768), layerNorm(64, 768), gelu(1024, 4096), gelu(64, 1024),
                             columnSum(4096, 512), transpose(2048, 2048), transpose(512, 512), add(1 << 20), add(4096)}) {
    double compile = 1e30;
    GraphcKernelFn entry = nullptr;
    int64_t units = 0;
    size_t bytes = 0;
    for (int i = 0; i < 3; ++i) {
      auto module = mlir::parseSourceString<mlir::ModuleOp>(bench.text, &context);
      if (!module)
        return 1;
      double begin = threadMilliseconds();
      kernel::FuncOp kernel = *module->getOps<kernel::FuncOp>().begin();
      codegen::scheduleKernel(kernel, {target->vectorBytes(), target->hasMasks()});
      auto compiled = codegen::cpu::compileKernels(*module, *target);
      if (mlir::failed(compiled))
        return 1;
      entry = llvm::cantFail(jit->add("f", compiled->front().object));
      compile = std::min(compile, threadMilliseconds() - begin);
      units = mlir::cast<mlir::AffineConstantExpr>(kernel.getRangeMap().getResult(0)).getValue();
      bytes = compiled->front().object.size();
    }
    std::vector<std::vector<float>> storage;
    std::vector<void *> buffers;
    for (int64_t count : bench.elements) {
      auto &buffer = storage.emplace_back(count + 16);
      for (int64_t i = 0; i < count; ++i)
        buffer[i] = float(i % 97) * 0.05f - 2.0f;
      buffers.push_back(reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(buffer.data()) + 63) & ~uintptr_t(63)));
    }
    GraphcErrorCell cell{};
    GraphcKernelContext kernelContext{&cell, nullptr, 0};
    double best = bestOf([&] { entry(buffers.data(), nullptr, &kernelContext, 0, units); });
    std::vector<char> from(bench.traffic / 2, 1), to(bench.traffic / 2);
    double copy = bestOf([&] { std::memcpy(to.data(), from.data(), from.size()); });
    std::printf("%-24s %10.1f %8.1f %10.1f %10.1f %8zu\n", bench.name.c_str(), best, bench.traffic / best / 1000, copy, compile, bytes);
  }
  return 0;
}
