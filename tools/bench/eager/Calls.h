// The calls that are timed, written once for both libraries: `Lib` has the few spellings that differ. Prints one line per case,
// "name nanoseconds": the fastest of many rounds, since other programs only ever make a round slower.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

namespace bench {

inline double fastestNs(const std::function<void()> &call, double roundMs = 4, int rounds = 40) {
  using Clock = std::chrono::steady_clock;
  auto run = [&](long count) {
    auto start = Clock::now();
    for (long i = 0; i < count; ++i)
      call();
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / static_cast<double>(count);
  };
  call();
  double once = std::max(20.0, run(20));
  long count = std::max(1L, static_cast<long>(roundMs * 1e6 / once));
  double best = 1e300;
  for (int r = 0; r < rounds; ++r)
    best = std::min(best, run(count));
  return best;
}

inline void report(const char *name, const std::function<void()> &call, double roundMs = 4, int rounds = 40) {
  std::printf("%s %.1f\n", name, fastestNs(call, roundMs, rounds));
  std::fflush(stdout);
}

template <typename Lib>
void smallCalls() {
  using Tensor = typename Lib::Tensor;
  Tensor a = Lib::ones({8}), b = Lib::ones({8}), w = Lib::leaf({8}), row = Lib::ones({4, 2}), column = Lib::ones({4, 1});
  {
    typename Lib::NoGrad guard;
    report("a+b", [&] { Tensor c = a + b; });
    report("a*2.5", [&] { Tensor c = a * 2.5; });
    report("a.add_(b)", [&] { a.add_(b); });
    report("row+column", [&] { Tensor c = row + column; });
    report("exp(a)", [&] { Tensor c = a.exp(); });
    report("a.sum()", [&] { Tensor c = a.sum(); });
    report("row.t()", [&] { Tensor c = row.t(); });
    report("matmul 4x2x4", [&] { Tensor c = Lib::matmul(row, Lib::transposed(row)); });
    // Operands that do not lie densely.
    Tensor square = Lib::ones({256, 256}), other = Lib::ones({256, 256}), half = square.narrow(1, 0, 128), lines = square.t();
    report("transposed 256x256 + dense", [&] { Tensor c = lines + other; });
    report("half the columns of 256x256 * 2.5", [&] { Tensor c = half * 2.5; });
    report("half the columns of 256x256, sum", [&] { Tensor c = half.sum(); });
    report("matmul of a transposed 256x256", [&] { Tensor c = Lib::matmul(lines, other); });
    report("zeros", [&] { Tensor c = Lib::zeros({8}); });
  }
  report("w+b with grad", [&] { Tensor c = w + b; });
  report("(w+b).sum().backward()", [&] { (w + b).sum().backward(); });
  report("(w*b).exp().sum().backward()", [&] { (w * b).exp().sum().backward(); });
}

/// 784-256-128-10, batch 32: forward and backward.
template <typename Lib>
void mlpStep() {
  using Tensor = typename Lib::Tensor;
  Tensor x = Lib::ones({32, 784}), y = Lib::labels(32), w1 = Lib::leaf({256, 784}), b1 = Lib::leaf({256}), w2 = Lib::leaf({128, 256}), b2 = Lib::leaf({128}),
         w3 = Lib::leaf({10, 128}), b3 = Lib::leaf({10});
  report(
      "mlp forward+backward, batch 32",
      [&] {
        Tensor h = Lib::relu(Lib::linear(x, w1, b1));
        h = Lib::relu(Lib::linear(h, w2, b2));
        Lib::crossEntropy(Lib::linear(h, w3, b3), y).backward();
        for (Tensor *p : {&w1, &b1, &w2, &b2, &w3, &b3})
          Lib::dropGrad(*p);
      },
      30, 15);
}

/// Conv 1-32-64, two pools, 3136-256-10, batch 64: forward and backward.
template <typename Lib>
void cnnStep() {
  using Tensor = typename Lib::Tensor;
  Tensor x = Lib::ones({64, 1, 28, 28}), y = Lib::labels(64), k1 = Lib::leaf({32, 1, 3, 3}), k2 = Lib::leaf({64, 32, 3, 3}), w1 = Lib::leaf({256, 3136}),
         b1 = Lib::leaf({256}), w2 = Lib::leaf({10, 256}), b2 = Lib::leaf({10}), c1 = Lib::leaf({32}), c2 = Lib::leaf({64});
  report(
      "cnn forward+backward, batch 64",
      [&] {
        Tensor h = Lib::pool(Lib::relu(Lib::conv(x, k1, c1)));
        h = Lib::pool(Lib::relu(Lib::conv(h, k2, c2)));
        h = Lib::relu(Lib::linear(h.flatten(1), w1, b1));
        Lib::crossEntropy(Lib::linear(h, w2, b2), y).backward();
        for (Tensor *p : {&k1, &c1, &k2, &c2, &w1, &b1, &w2, &b2})
          Lib::dropGrad(*p);
      },
      200, 6);
}

template <typename Lib>
void all() {
  smallCalls<Lib>();
  mlpStep<Lib>();
  cnnStep<Lib>();
}

} // namespace bench
