// A whole training step as one program against the same step run op by op.
#include "test/unit/trace/Models.h"

using namespace graphc;

namespace {

template <typename Make>
void compareMlp(Make &&make, double tolerance = 1e-5) {
  Training runs[2];
  for (bool compiled : {false, true}) {
    manualSeed(7);
    auto net = nn::make<Mlp>();
    auto opt = make(net->parameters());
    runs[compiled] = train(compiled, net, *opt, 50, [] { return std::pair{randn({8, 12}), randint(0, 5, {8})}; });
  }
  expectSameRun(runs[0], runs[1], tolerance);
}

using Parameters = std::vector<Tensor>;

TEST(CompileStep, AnMlpTrainsAsItDoesEagerlyWithEveryOptimizer) {
  compareMlp([](const Parameters &p) { return std::make_unique<optim::Adam>(p, optim::AdamOptions{.lr = 1e-2}); });
  compareMlp([](const Parameters &p) { return std::make_unique<optim::AdamW>(p, optim::AdamWOptions{.lr = 1e-2, .amsgrad = true}); });
  compareMlp([](const Parameters &p) { return std::make_unique<optim::SGD>(p, optim::SgdOptions{.lr = .1, .momentum = .9, .dampening = .1, .weightDecay = 1e-3}); });
  compareMlp([](const Parameters &p) { return std::make_unique<optim::SGD>(p, optim::SgdOptions{.lr = .1, .momentum = .9, .nesterov = true}); });
  compareMlp([](const Parameters &p) { return std::make_unique<optim::RMSprop>(p, optim::RmspropOptions{.lr = 1e-3, .momentum = .5, .centered = true}); }, 1e-4);
  compareMlp([](const Parameters &p) { return std::make_unique<optim::Adagrad>(p, optim::AdagradOptions{.lr = 1e-2, .lrDecay = .1}); });
}

TEST(CompileStep, ATransformerTrainsAsItDoesEagerly) {
  for (double dropout : {0., .1}) {
    Training runs[2];
    for (bool compiled : {false, true}) {
      manualSeed(3);
      auto net = nn::make<Gpt>(dropout);
      optim::AdamW opt(net->parameters(), {.lr = 3e-3});
      runs[compiled] = train(compiled, net, opt, 50, [] { return std::pair{randint(0, 11, {4, 6}), randint(0, 11, {4, 6})}; });
    }
    expectSameRun(runs[0], runs[1], 1e-5);
  }
}

TEST(CompileStep, AConvolutionNetworkTrainsAsItDoesEagerly) {
  Training runs[2];
  for (bool compiled : {false, true}) {
    manualSeed(5);
    auto net = nn::make<Cnn>();
    optim::SGD opt(net->parameters(), {.lr = .05});
    runs[compiled] = train(compiled, net, opt, 10, [] { return std::pair{randn({6, 1, 8, 8}), randint(0, 5, {6})}; });
  }
  expectSameRun(runs[0], runs[1], 1e-4);
  EXPECT_EQ(runs[1].buffers[2].item<int64_t>(), 10) << "batches seen";
}

} // namespace
