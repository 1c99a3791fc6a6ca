// Trains a small network as a program outside of graphc would; the first ops are among those that come compiled.
#include <graphc/graphc.h>

#include <iostream>

using namespace graphc;

struct Net : nn::Module {
  nn::Linear first = add("first", nn::Linear(2, 16)), last = add("last", nn::Linear(16, 1));
  Tensor forward(const Tensor &x) { return last(tanh(first(x))); }
};

int main() {
  try {
    Tensor a = full({3, 4}, 2), b = (a * a + 1).sum();
    std::cout << "compiled " << ThreadContext::current().opStatistics().compiled << " before training\n";
    manualSeed(1);
    auto net = nn::make<Net>();
    optim::Adam optimizer(net->parameters(), {.lr = 1e-2});
    Tensor x = rand({64, 2}), y = x.slice(1, 0, 1) * x.slice(1, 1, 2);
    double begin = 0, end = 0;
    for (int step = 0; step < 100; ++step) {
      Tensor loss = mseLoss(net(x), y);
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      (step == 0 ? begin : end) = loss.item<double>();
    }
    std::cout << (end < begin / 2 && b.item<double>() == 60 ? "loss fell\n" : "nothing was learnt\n");
  } catch (const Error &failure) {
    std::cerr << "trains: " << failure.what() << "\n";
    return 1;
  }
}
