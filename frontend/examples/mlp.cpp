// Trains a small network on digits the library draws itself: the shortest complete training program.
//
//   mlp [EPOCHS]
#include "frontend/graphc/graphc.h"

#include <charconv>
#include <cstring>
#include <iomanip>
#include <iostream>

using namespace graphc;

namespace {

struct Mlp : nn::Module {
  nn::Linear first = add("first", nn::Linear(784, 128)), last = add("last", nn::Linear(128, 10));
  Tensor forward(const Tensor &images) { return last(relu(first(images.flatten(1)))); }
};

double accuracy(nn::Handle<Mlp> &net, data::DataLoader &loader) {
  NoGrad guard;
  net->eval();
  int64_t right = 0, all = 0;
  for (data::Batch &batch : loader) {
    Tensor x = data::take(batch, 0), y = data::take(batch, 1);
    right += eq(net(x).argmax(1), y).sum().item<int64_t>();
    all += y.numel();
  }
  net->train();
  return static_cast<double>(right) / static_cast<double>(all);
}

} // namespace

int main(int argc, char **argv) {
  int epochs = 3;
  if (argc > 1) {
    const char *end = argv[1] + std::strlen(argv[1]);
    auto [stopped, problem] = std::from_chars(argv[1], end, epochs);
    if (argc > 2 || problem != std::errc() || stopped != end || epochs < 1) {
      std::cerr << "mlp: '" << argv[argc - 1] << "' is no number of epochs; usage: mlp [EPOCHS]\n";
      return 2;
    }
  }
  try {
    manualSeed(1);
    data::Mnist digits = data::drawnDigits(2000, 500);
    std::cout << digits.description << '\n';
    auto prepared = [](const data::Dataset &images) { return images.map(data::toTensor()).map(data::normalize(.1307, .3081)); };
    data::DataLoader train(prepared(digits.train), {.batchSize = 50, .shuffle = true, .workers = 1, .seed = 1});
    data::DataLoader test(prepared(digits.test), {.batchSize = 250});

    auto net = nn::make<Mlp>();
    optim::Adam optimizer(net->parameters(), {.lr = 1e-3});
    for (int epoch = 1; epoch <= epochs; ++epoch) {
      double sum = 0;
      for (data::Batch &batch : train) {
        Tensor x = data::take(batch, 0), y = data::take(batch, 1);
        Tensor loss = crossEntropy(net(x), y);
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        sum += loss.item<double>();
      }
      std::cout << "epoch " << epoch << ": loss " << std::fixed << std::setprecision(4) << sum / static_cast<double>(train.size()) << '\n';
    }
    std::cout << "test accuracy " << std::fixed << std::setprecision(2) << 100 * accuracy(net, test) << " %\n";
  } catch (const std::exception &problem) {
    std::cerr << "mlp: " << problem.what() << '\n';
    return 1;
  }
}
