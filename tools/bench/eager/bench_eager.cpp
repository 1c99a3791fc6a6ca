// Eager calls of graphc, timed; compare_libtorch.py times libtorch's in the same run.
#include "frontend/graphc/graphc.h"
#include "tools/bench/eager/Calls.h"

namespace {
struct Graphc {
  using Tensor = graphc::Tensor;
  using NoGrad = graphc::NoGrad;
  static Tensor ones(std::initializer_list<int64_t> sizes) { return graphc::ones(sizes); }
  static Tensor zeros(std::initializer_list<int64_t> sizes) { return graphc::zeros(sizes); }
  static Tensor leaf(std::initializer_list<int64_t> sizes) { return graphc::full(sizes, 0.01, {.requiresGrad = true}); }
  static Tensor labels(int64_t n) { return graphc::full({n}, 3); }
  static Tensor matmul(const Tensor &a, const Tensor &b) { return graphc::matmul(a, b); }
  static Tensor transposed(const Tensor &a) { return a.t(); }
  static Tensor relu(const Tensor &a) { return graphc::relu(a); }
  static Tensor linear(const Tensor &x, const Tensor &w, const Tensor &b) { return graphc::linear(x, w, b); }
  static Tensor crossEntropy(const Tensor &x, const Tensor &y) { return graphc::crossEntropy(x, y); }
  static Tensor conv(const Tensor &x, const Tensor &w, const Tensor &b) { return graphc::conv2d(x, w, b, {.padding = 1}); }
  static Tensor pool(const Tensor &x) { return graphc::maxPool2d(x, 2); }
  static void dropGrad(Tensor &t) { t.setGrad({}); }
};

/// What the first use of an op costs in a process that has compiled others before.
void firstUse() {
  graphc::Tensor a = graphc::ones({8}), b = graphc::ones({8});
  auto time = [&](const char *name, const std::function<void()> &call) {
    auto start = std::chrono::steady_clock::now();
    call();
    std::printf("first use of %s %.1f\n", name, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
  };
  time("anything", [&] { a + b; });
  time("mul", [&] { a *b; });
  time("tanh", [&] { graphc::tanh(a); });
  time("softmax", [&] { graphc::softmax(a, 0); });
  time("gelu and its gradient", [&] { graphc::gelu(graphc::ones({8}, {.requiresGrad = true})).sum().backward(); });
}
} // namespace

int main(int argc, char **argv) {
  // With a folder of compiled ops: the second run shows what loading costs.
  if (argc > 1)
    graphc::setOpCacheFolder(argv[1]);
  firstUse();
  if (argc > 1)
    return 0;
  bench::all<Graphc>();
}
