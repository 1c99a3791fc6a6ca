// One training step of three models: forward, backward, optimizer, zeroGrad; eagerly, and compiled as a whole. Prints one JSON line
// per model and mode with the minimum and the median over the steps, the first step, the peak of tensor bytes, and of each step the launches
// of eager ops and the copies of operands that no kernel reads as they lie.
//
//   bench_training [SECONDS] [THREADS: 1, or 0 for all] [mlp|cnn|transformer …] [eager|compiled …]
#include "frontend/graphc/compile.h"
#include "frontend/graphc/context.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/nn.h"
#include "frontend/graphc/optim.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string>

using namespace graphc;

namespace {

struct Mlp : nn::Module {
  nn::Linear a = add("a", nn::Linear(784, 256)), b = add("b", nn::Linear(256, 128)), c = add("c", nn::Linear(128, 10));
  Tensor forward(const Tensor &x) { return c(relu(b(relu(a(x))))); }
};

struct Cnn : nn::Module {
  nn::Conv2d a = add("a", nn::Conv2d({.in = 1, .out = 32, .kernel = 3, .padding = 1})), b = add("b", nn::Conv2d({.in = 32, .out = 64, .kernel = 3, .padding = 1}));
  nn::Linear c = add("c", nn::Linear(3136, 256)), d = add("d", nn::Linear(256, 10));
  nn::Dropout drop = add("drop", nn::Dropout(.5));
  Tensor forward(const Tensor &images) {
    Tensor x = maxPool2d(relu(a(images)), 2);
    x = maxPool2d(relu(b(x)), 2);
    return d(drop(relu(c(x.flatten(1)))));
  }
};

struct Transformer : nn::Module {
  nn::Embedding token = add("token", nn::Embedding(128, 256)), place = add("place", nn::Embedding(128, 256));
  nn::TransformerEncoder blocks = add("blocks", nn::TransformerEncoder({.embedding = 256, .heads = 8, .feedforward = 1024, .dropout = 0, .gelu = true,
                                                                        .batchFirst = true, .normFirst = true}, 4, true));
  nn::Linear head = add("head", nn::Linear(256, 128));
  Tensor forward(const Tensor &ids) {
    Tensor x = token(ids) + place(arange(Scalar(int64_t{128})));
    return head(blocks(x, nn::AttentionCall{.causal = true})).flatten(0, 1);
  }
};

template <typename Step>
void measure(const std::string &name, const std::string &mode, double seconds, Step step, const Tensor &x, const Tensor &y) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  memory::resetPeak();
  ThreadContext::current().resetOpStatistics();
  double loss = 0;
  auto begin = Clock::now();
  while (times.size() < 4 || std::chrono::duration<double>(Clock::now() - begin).count() < seconds) {
    auto start = Clock::now();
    Tensor value = step(x, y);
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    loss = value.item<double>();
  }
  const OpStatistics &ops = ThreadContext::current().opStatistics();
  double steps = static_cast<double>(times.size());
  double first = times[0];
  times.erase(times.begin());
  std::sort(times.begin(), times.end());
  std::cout << "{\"model\": \"" << name << "\", \"mode\": \"" << mode << "\", \"min_ms\": " << times[0] << ", \"median_ms\": " << times[times.size() / 2]
            << ", \"first_ms\": " << first << ", \"steps\": " << times.size() + 1 << ", \"peak_bytes\": " << memory::stats().peakAllocated
            << ", \"launches\": " << static_cast<double>(ops.launches) / steps << ", \"dense_copies\": " << static_cast<double>(ops.denseCopies) / steps
            << ", \"dense_copy_bytes\": " << static_cast<double>(ops.denseCopyBytes) / steps << ", \"loss\": " << loss << "}" << std::endl;
}

struct Choice {
  double seconds;
  std::vector<std::string> names; // of models and modes; none of a kind: all
  bool wants(const std::string &name, std::initializer_list<const char *> kind) const {
    auto chosen = [&](const std::string &each) { return std::find(names.begin(), names.end(), each) != names.end(); };
    return chosen(name) || std::none_of(kind.begin(), kind.end(), [&](const char *each) { return chosen(each); });
  }
};

template <typename Net, typename Optimizer>
void measureBoth(const Choice &choice, const std::string &name, nn::Handle<Net> net, Optimizer &optimizer, const Tensor &x, const Tensor &y) {
  auto step = [&](Tensor x, Tensor y) {
    Tensor loss = crossEntropy(net(x), y);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    return loss.detach();
  };
  for (const char *mode : {"eager", "compiled"}) {
    if (!choice.wants(mode, {"eager", "compiled"}))
      continue;
    if (mode == std::string("eager"))
      measure(name, mode, choice.seconds, step, x, y);
    else
      measure(name, mode, choice.seconds, compile(step, {.state = {net, optimizer}}), x, y);
  }
}

} // namespace

int main(int argc, char **argv) {
  Choice choice{argc > 1 ? std::atof(argv[1]) : 5, {}};
  if (argc > 2)
    ThreadContext::current().threads = std::atoi(argv[2]);
  for (int i = 3; i < argc; ++i)
    choice.names.push_back(argv[i]);
  auto wanted = [&](const char *name) { return choice.wants(name, {"mlp", "cnn", "transformer"}); };
  manualSeed(1);
  if (wanted("mlp")) {
    auto net = nn::make<Mlp>();
    optim::Adam adam(net->parameters());
    measureBoth(choice, "mlp", net, adam, randn({32, 784}), randint(0, 10, {32}));
  }
  if (wanted("cnn")) {
    auto net = nn::make<Cnn>();
    optim::Adam adam(net->parameters());
    measureBoth(choice, "cnn", net, adam, randn({256, 1, 28, 28}), randint(0, 10, {256}));
  }
  if (wanted("transformer")) {
    auto net = nn::make<Transformer>();
    optim::AdamW adamw(net->parameters());
    measureBoth(choice, "transformer", net, adamw, randint(0, 128, {16, 128}), randint(0, 128, {2048}));
  }
}
