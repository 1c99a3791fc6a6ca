// Speed of the simulated CUDA device: median of seven launches of each kernel, in milliseconds, answers checked.
// Times are processor time with one host thread (so that a busy machine matters less), else the shortest elapsed time,
// followed by the least processor time of all threads together: divided by the threads, that is what a machine with
// nothing else to do would take.
//   cudasim-bench [--threads N] [--check races|shared-races|global-races|uninitialised|counters|track]… [--level x86-64-v3] [--only vadd|softmax|sgemm64|mma64|launch]
#include "runtime/cudasim/engine/Engine.h"
#include "tools/bench/cudasim/Kernels.h"
#include "tools/bench/cudasim/Nvrtc.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <random>

using namespace graphc::cudasim;

namespace {

template <class T>
struct Buffer {
  uint64_t address;
  T *data;
  Buffer(MemorySpace &memory, size_t count) : address(memory.allocate(count * sizeof(T))), data(reinterpret_cast<T *>(address)) {
    memory.markDefined(address, count * sizeof(T));
  }
};

struct Params {
  std::vector<std::byte> bytes;
  template <class T>
  Params &add(T value) {
    size_t at = (bytes.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    bytes.resize(at + sizeof(T));
    std::memcpy(bytes.data() + at, &value, sizeof(T));
    return *this;
  }
};

uint16_t toBf16(float f) {
  uint32_t u;
  std::memcpy(&u, &f, 4);
  return uint16_t((u + 0x7FFF + ((u >> 16) & 1)) >> 16);
}
float fromBf16(uint16_t h) {
  uint32_t u = uint32_t(h) << 16;
  float f;
  std::memcpy(&f, &u, 4);
  return f;
}

} // namespace

int main(int argc, char **argv) {
  LaunchConfig base;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--threads" && i + 1 < argc) {
      base.hostThreads = unsigned(std::atoi(argv[++i]));
    } else if (arg == "--level" && i + 1 < argc) {
      if (!setHandlerLevel(argv[++i])) {
        std::fprintf(stderr, "this processor has no level %s\n", argv[i]);
        return 2;
      }
    } else if (arg == "--check" && i + 1 < argc) {
      std::string what = argv[++i];
      base.checks.sharedRaces |= what == "races" || what == "shared-races";
      base.checks.globalRaces |= what == "races" || what == "global-races";
      base.checks.uninitialised |= what == "uninitialised";
      base.collectCounters |= what == "counters";
      base.trackAccesses |= what == "track";
    } else if (arg == "--only" && i + 1 < argc) {
      only = argv[++i];
    } else {
      std::fprintf(stderr, "unknown option %s\n", argv[i]);
      return 2;
    }
  }
  Nvrtc nvrtc;
  if (!nvrtc.available()) {
    std::fprintf(stderr, "libnvrtc was not found\n");
    return 2;
  }
  std::string log, ptx = nvrtc.compile(benchmarkKernels, "compute_80", log);
  if (ptx.empty()) {
    std::fprintf(stderr, "%s\n", log.c_str());
    return 1;
  }
  DeviceModel model = *DeviceModel::named("A100");
  MemorySpace memory(0, uint64_t(8) << 30, base.checks.uninitialised);
  auto begin = std::chrono::steady_clock::now();
  std::unique_ptr<Module> module = Module::load(ptx, model, memory, log);
  double loadMs = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (!module) {
    std::fprintf(stderr, "%s\n", log.c_str());
    return 1;
  }
  std::printf("handlers %s, host threads %u, parse and decode %.1f ms\n", handlerLevel(), base.hostThreads, loadMs);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  bool good = true;
  auto run = [&](const char *name, Dim3 grid, Dim3 block, Params params, double flops) {
    int index = module->findFunction(name);
    LaunchConfig config = base;
    config.grid = grid;
    config.block = block;
    config.params = params.bytes;
    std::vector<double> times, elapsed;
    LaunchResult result;
    bool parallel = base.hostThreads > 1;
    clockid_t clock = parallel ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID;
    for (int i = 0; i < (parallel ? 21 : 7); ++i) {
      timespec before, after;
      clock_gettime(clock, &before);
      result = launch(*module, size_t(index), memory, model, config);
      clock_gettime(clock, &after);
      if (result.status != LaunchStatus::Ok) {
        std::printf("%s: %s %s\n%s\n", name, statusName(result.status), result.error.c_str(),
                    result.findings.empty() ? "" : result.findings[0].message.c_str());
        good = false;
        return;
      }
      times.push_back(double(after.tv_sec - before.tv_sec) * 1e3 + double(after.tv_nsec - before.tv_nsec) * 1e-6);
      elapsed.push_back(result.seconds * 1e3);
    }
    std::sort(times.begin(), times.end());
    double ms = parallel ? *std::min_element(elapsed.begin(), elapsed.end()) : times[3];
    std::printf("%-10s %8.2f ms  %6.1f ns a warp instruction  %7.2f G lane-op/s", name, ms,
                ms * 1e6 / double(result.counters.warpInstructions), double(result.counters.warpInstructions) * 32 / ms / 1e6);
    if (flops)
      std::printf("  %6.2f GFLOP/s", flops / ms / 1e6);
    if (parallel)
      std::printf("  (%.2f ms of all processors)", times[0]);
    std::printf("\n");
  };
  auto wanted = [&](const char *name) { return only.empty() || only == name; };
  auto verify = [&](const char *name, double error, double bound) {
    if (!(error <= bound)) {
      std::printf("%s: error %g exceeds %g\n", name, error, bound);
      good = false;
    }
  };
  if (wanted("vadd")) {
    const int n = 1 << 20;
    Buffer<float> a(memory, n), b(memory, n), c(memory, n);
    for (int i = 0; i < n; ++i)
      a.data[i] = uniform(random), b.data[i] = uniform(random);
    run("vadd", {n / 256, 1, 1}, {256, 1, 1}, Params().add(a.address).add(b.address).add(c.address).add(n), 0);
    double error = 0;
    for (int i = 0; i < n; ++i)
      error = std::max(error, std::fabs(double(c.data[i]) - double(a.data[i] + b.data[i])));
    verify("vadd", error, 0);
  }
  if (wanted("softmax")) {
    const int n = 1024;
    Buffer<float> in(memory, n * n), out(memory, n * n);
    for (int i = 0; i < n * n; ++i)
      in.data[i] = uniform(random) * 4;
    run("softmax", {n, 1, 1}, {256, 1, 1}, Params().add(in.address).add(out.address).add(n), 0);
    double error = 0;
    for (int r = 0; r < n; ++r) {
      double m = -1e30, s = 0;
      for (int i = 0; i < n; ++i)
        m = std::max(m, double(in.data[r * n + i]));
      for (int i = 0; i < n; ++i)
        s += std::exp(in.data[r * n + i] - m);
      for (int i = 0; i < n; ++i) {
        double want = std::exp(in.data[r * n + i] - m) / s;
        error = std::max(error, std::fabs(out.data[r * n + i] - want) / want);
      }
    }
    verify("softmax", error, 5e-6);
  }
  if (wanted("sgemm64")) {
    const int n = 256;
    Buffer<float> a(memory, n * n), b(memory, n * n), c(memory, n * n);
    for (int i = 0; i < n * n; ++i)
      a.data[i] = uniform(random), b.data[i] = uniform(random);
    run("sgemm64", {n / 64, n / 64, 1}, {16, 16, 1}, Params().add(a.address).add(b.address).add(c.address).add(n).add(n).add(n), 2.0 * n * n * n);
    double error = 0;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        double want = 0;
        for (int k = 0; k < n; ++k)
          want += double(a.data[i * n + k]) * b.data[k * n + j];
        error = std::max(error, std::fabs(c.data[i * n + j] - want));
      }
    verify("sgemm64", error, 5e-5);
  }
  if (wanted("mma64")) {
    const int n = 256;
    Buffer<uint16_t> a(memory, n * n), b(memory, n * n);
    Buffer<float> c(memory, n * n);
    for (int i = 0; i < n * n; ++i)
      a.data[i] = toBf16(uniform(random)), b.data[i] = toBf16(uniform(random));
    run("mma64", {n / 64, n / 64, 1}, {128, 1, 1}, Params().add(a.address).add(b.address).add(c.address).add(n).add(n).add(n), 2.0 * n * n * n);
    double error = 0;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        double want = 0;
        for (int k = 0; k < n; ++k)
          want += double(fromBf16(a.data[i * n + k])) * fromBf16(b.data[j * n + k]);
        error = std::max(error, std::fabs(c.data[i * n + j] - want));
      }
    verify("mma64", error, 5e-5);
  }
  // What a launch costs beside its kernel: one block on a small and on a large buffer.
  for (size_t bytes : {size_t(4) << 10, size_t(4) << 20}) {
    if (!wanted("launch"))
      break;
    Buffer<float> a(memory, bytes / 4), b(memory, bytes / 4), c(memory, bytes / 4);
    Params params;
    params.add(a.address).add(b.address).add(c.address).add(256);
    LaunchConfig config = base;
    config.grid = {1, 1, 1};
    config.block = {256, 1, 1};
    config.params = params.bytes;
    int index = module->findFunction("vadd");
    const int count = 500;
    std::vector<double> times;
    for (int i = 0; i < 7; ++i) {
      timespec before, after;
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
      for (int k = 0; k < count; ++k)
        good &= launch(*module, size_t(index), memory, model, config).status == LaunchStatus::Ok;
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
      times.push_back((double(after.tv_sec - before.tv_sec) * 1e6 + double(after.tv_nsec - before.tv_nsec) * 1e-3) / count);
    }
    std::sort(times.begin(), times.end());
    std::printf("launch of 256 threads, buffers of %4zu KiB: %.1f us\n", bytes >> 10, times[3]);
  }
  return good ? 0 : 1;
}
