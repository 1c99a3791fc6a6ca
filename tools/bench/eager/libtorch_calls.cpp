// The same calls through libtorch; compiled by compare_libtorch.py against the `torch` package of PyPI.
#include <torch/torch.h>

#include "tools/bench/eager/Calls.h"

namespace {
struct Torch {
  using Tensor = torch::Tensor;
  using NoGrad = torch::NoGradGuard;
  static Tensor ones(std::initializer_list<int64_t> sizes) { return torch::ones(sizes); }
  static Tensor zeros(std::initializer_list<int64_t> sizes) { return torch::zeros(sizes); }
  static Tensor leaf(std::initializer_list<int64_t> sizes) { return torch::full(sizes, 0.01).requires_grad_(); }
  static Tensor labels(int64_t n) { return torch::full({n}, 3, torch::kLong); }
  static Tensor matmul(const Tensor &a, const Tensor &b) { return torch::matmul(a, b); }
  static Tensor transposed(const Tensor &a) { return a.t(); }
  static Tensor relu(const Tensor &a) { return torch::relu(a); }
  static Tensor linear(const Tensor &x, const Tensor &w, const Tensor &b) { return torch::linear(x, w, b); }
  static Tensor crossEntropy(const Tensor &x, const Tensor &y) { return torch::nn::functional::cross_entropy(x, y); }
  static Tensor conv(const Tensor &x, const Tensor &w, const Tensor &b) { return torch::conv2d(x, w, b, 1, 1); }
  static Tensor pool(const Tensor &x) { return torch::max_pool2d(x, 2); }
  static void dropGrad(Tensor &t) { t.mutable_grad().reset(); }
};
} // namespace

int main() {
  torch::set_num_threads(2);
  bench::all<Torch>();
}
