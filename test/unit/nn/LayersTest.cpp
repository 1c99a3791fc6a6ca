// Layers: how they start, what they do in training and evaluation, gradients by finite differences, refused options.
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/nn.h"
#include "test/unit/nn/Fill.h"

using namespace graphc;
using testing::HasSubstr;

namespace {

struct Moments {
  double low, high, mean, variance;
};
Moments momentsOf(const Tensor &tensor) {
  std::vector<double> values = tensor.detach().toVector<double>();
  Moments m{values[0], values[0], 0, 0};
  for (double v : values)
    m.low = std::min(m.low, v), m.high = std::max(m.high, v), m.mean += v / static_cast<double>(values.size());
  for (double v : values)
    m.variance += (v - m.mean) * (v - m.mean) / static_cast<double>(values.size());
  return m;
}

void expectUniform(const Tensor &tensor, double bound, const char *what) {
  Moments m = momentsOf(tensor);
  double n = static_cast<double>(tensor.numel()), deviation = bound / std::sqrt(3.);
  EXPECT_GE(m.low, -bound) << what;
  EXPECT_LE(m.high, bound) << what;
  EXPECT_GT(m.high, bound * (1 - 20 / n)) << what << ": the bound is reached";
  EXPECT_LT(m.low, -bound * (1 - 20 / n)) << what;
  EXPECT_NEAR(m.mean, 0, 5 * deviation / std::sqrt(n)) << what;
  EXPECT_NEAR(m.variance, deviation * deviation, 5 * deviation * deviation / std::sqrt(n)) << what;
}

TEST(Init, LinearAndConvolutionsByFanIn) {
  manualSeed(1);
  nn::Linear linear(25, 400);
  expectUniform(linear->weight, 1 / 5., "Linear weight");
  expectUniform(linear->bias, 1 / 5., "Linear bias");
  nn::Conv2d conv({.in = 8, .out = 600, .kernel = {3, 2}, .groups = 2}); // 4 * 6
  expectUniform(conv->weight, 1 / std::sqrt(24.), "Conv2d weight");
  expectUniform(conv->bias, 1 / std::sqrt(24.), "Conv2d bias");
  nn::ConvTranspose2d transposed({.in = 300, .out = 8, .kernel = 3, .groups = 2}); // weight.size(1) = 4 outputs, 9 window
  expectUniform(transposed->weight, 1 / 6., "ConvTranspose2d weight");
}

TEST(Init, RecurrentEmbeddingAttentionNorms) {
  manualSeed(2);
  nn::LSTM lstm({.input = 30, .hidden = 16, .layers = 2});
  for (auto &[name, tensor] : lstm->namedParameters())
    expectUniform(tensor, .25, name.c_str());
  nn::Embedding embedding(200, 50, {.paddingIndex = -1});
  Moments m = momentsOf(embedding->weight.narrow(0, 0, 199));
  EXPECT_NEAR(m.mean, 0, .05);
  EXPECT_NEAR(m.variance, 1, .06);
  EXPECT_EQ(momentsOf(embedding->weight.select(0, 199)).high, 0);
  EXPECT_EQ(momentsOf(embedding->weight.select(0, 199)).low, 0);
  nn::MultiheadAttention attention(24, 4);
  expectUniform(attention->inProjWeight, std::sqrt(6. / (24 + 72)), "in_proj_weight"); // xavier over the packed matrix
  expectUniform(attention->outProj->weight, 1 / std::sqrt(24.), "out_proj.weight");
  EXPECT_EQ(momentsOf(attention->inProjBias).variance, 0);
  EXPECT_EQ(momentsOf(attention->outProj->bias).variance, 0);
  nn::BatchNorm1d norm(4);
  EXPECT_EQ(momentsOf(norm->weight).mean, 1);
  EXPECT_EQ(momentsOf(norm->bias).mean, 0);
  EXPECT_EQ(momentsOf(norm->runningMean).mean, 0);
  EXPECT_EQ(momentsOf(norm->runningVar).mean, 1);
}

TEST(Init, TheNamedDistributions) {
  manualSeed(3);
  Tensor w = empty({200, 50});
  expectUniform(nn::init::xavierUniform(w, 2), 2 * std::sqrt(6. / 250), "xavierUniform");
  expectUniform(nn::init::kaimingUniform(w), std::sqrt(6. / 50), "kaimingUniform");
  EXPECT_NEAR(momentsOf(nn::init::kaimingNormal(w)).variance, 2. / 50, .002);
  EXPECT_NEAR(momentsOf(nn::init::xavierNormal(w)).variance, 2. / 250, .0005);
  Moments cut = momentsOf(nn::init::truncatedNormal(w, 0, 1, -1, 1));
  EXPECT_GE(cut.low, -1);
  EXPECT_LE(cut.high, 1);
  EXPECT_NEAR(cut.variance, .2911, .02);
  Tensor vector = empty({3});
  EXPECT_ERROR(nn::init::xavierUniform(vector), Code::ShapeMismatch, "init: fans need a weight of rank 2 or more, this is f32[3]");
}

TEST(Init, TheSameSeedGivesTheSameModel) {
  manualSeed(9);
  nn::Linear a(3, 4);
  manualSeed(9);
  nn::Linear b(3, 4);
  EXPECT_TRUE(equal(a->weight.detach(), b->weight.detach()));
  nn::Linear c(3, 4);
  EXPECT_FALSE(equal(a->weight.detach(), c->weight.detach()));
}

TEST(BatchNorm, MovesItsStatisticsInTrainingAlone) {
  nn::BatchNorm1d norm(1);
  Tensor x = tensor({{1.0}, {2.0}, {4.0}});
  norm(x);
  EXPECT_NEAR(norm->runningMean.item<double>(), .2333333, 1e-6);
  EXPECT_NEAR(norm->runningVar.item<double>(), 1.1333333, 1e-6); // unbiased
  EXPECT_EQ(norm->numBatchesTracked.item<int64_t>(), 1);
  norm->eval();
  Tensor y = norm(x);
  EXPECT_NEAR(norm->runningMean.item<double>(), .2333333, 1e-6);
  EXPECT_EQ(norm->numBatchesTracked.item<int64_t>(), 1);
  EXPECT_NEAR(y.detach().toVector<double>()[0], (1 - .2333333) / std::sqrt(1.1333333 + 1e-5), 1e-5) << "evaluation uses them";
}

TEST(BatchNorm, CumulativeAverageAndWithoutStatistics) {
  nn::BatchNorm1d cumulative(1, {.momentum = std::nullopt});
  cumulative(tensor({{1.0}, {3.0}}));
  cumulative(tensor({{5.0}, {7.0}}));
  EXPECT_NEAR(cumulative->runningMean.item<double>(), 4, 1e-6);
  nn::BatchNorm1d free(1, {.affine = false, .trackRunningStats = false});
  EXPECT_TRUE(free->stateDict().empty());
  free->eval();
  EXPECT_NEAR(free(tensor({{1.0}, {3.0}})).toVector<double>()[0], -1, 1e-4) << "the batch's own statistics";
  EXPECT_ERROR(nn::BatchNorm2d(3)(ones({2, 4, 5, 5})), Code::ShapeMismatch, "BatchNorm2d: made for 3 features, the input is f32[2, 4, 5, 5]");
  EXPECT_ERROR(nn::BatchNorm2d(3)(ones({2, 3})), Code::InputRank, "BatchNorm2d: needs rank 4, the input is f32[2, 3]");
  EXPECT_ERROR(nn::BatchNorm1d(3)(ones({3})), Code::InputRank, "BatchNorm1d: needs rank 2 or 3, the input is f32[3]");
}

TEST(Dropout, RateScaleEvaluationAndTheSameMaskBackward) {
  manualSeed(4);
  nn::Dropout drop(.25);
  Tensor x = ones({10000}).requiresGrad_();
  Tensor y = drop(x);
  std::vector<float> out = y.detach().toVector<float>();
  int64_t zeros = std::count(out.begin(), out.end(), 0.f);
  EXPECT_NEAR(static_cast<double>(zeros), 2500, 200);
  for (float v : out)
    EXPECT_TRUE(v == 0 || std::abs(v - 4 / 3.f) < 1e-6f);
  sum(y).backward();
  EXPECT_EQ(x.grad().toVector<float>(), out);
  drop->eval();
  EXPECT_TRUE(equal(drop(x.detach()), x.detach())) << "not scaled in evaluation";
  EXPECT_ERROR(nn::Dropout(1.5), Code::InvalidOption, "Dropout: probability is 1.5, it must be in 0…1");
}

TEST(Losses, IgnoredLabelsCountForNothing) {
  DefaultDtype f64(DType::F64);
  Tensor x = filled({3, 4}, 37);
  auto loss = nn::CrossEntropyLoss();
  Tensor some = loss(x, tensor({2, -100, 1}));
  Tensor both = loss(cat({x.narrow(0, 0, 1), x.narrow(0, 2, 1)}), tensor({2, 1}));
  EXPECT_NEAR(some.item<double>(), both.item<double>(), 1e-14) << "the mean is over the labels that count";
  EXPECT_TRUE(std::isnan(loss(x, tensor({-100, -100, -100})).item<double>()));
  EXPECT_NEAR(nn::CrossEntropyLoss({.ignoreIndex = 1})(x, tensor({2, 1, 1})).item<double>(), loss(x.narrow(0, 0, 1), tensor({2})).item<double>(), 1e-14);
}

TEST(Losses, LargeScoresDoNotOverflow) {
  Tensor x = tensor({{10000.0, 9999.0}, {-10000.0, -10000.0}});
  std::vector<float> p = softmax(x, 1).toVector<float>();
  EXPECT_NEAR(p[0], 1 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_FLOAT_EQ(p[2], .5f);
  EXPECT_NEAR(nn::CrossEntropyLoss({.reduction = Reduction::Sum})(x, tensor({1, 0})).item<double>(), 1 + std::log(1 + std::exp(-1.0)) + std::log(2.0), 1e-5);
  EXPECT_NEAR(nn::BCEWithLogitsLoss()(tensor({1000.0, -1000.0}), tensor({1.0, 0.0})).item<double>(), 0, 1e-6);
}

TEST(Losses, BceWithLogitsHasHalfAsSlopeAtZero) {
  Tensor x = zeros({1}).requiresGrad_();
  nn::BCEWithLogitsLoss()(x, zeros({1})).backward();
  EXPECT_FLOAT_EQ(x.grad().item<float>(), .5f);
}

TEST(Losses, ALabelOutOfRangeIsNamed) {
  Tensor x = zeros({2, 3});
  std::string message;
  try {
    nn::CrossEntropyLoss()(x, tensor({0, 3})).item<double>();
  } catch (const Error &problem) {
    message = problem.message();
  }
  EXPECT_THAT(message, testing::AllOf(HasSubstr("3"), HasSubstr("out of range")));
}

TEST(Recurrent, ChecksShapesAndStates) {
  nn::GRU gru(3, 4);
  EXPECT_ERROR(gru(ones({5, 3})), Code::InputRank, "GRU: needs an input of rank 3, this is f32[5, 3]");
  EXPECT_ERROR(gru(ones({5, 2, 7})), Code::ShapeMismatch, "GRU: made for 3 features, the input is f32[5, 2, 7]");
  EXPECT_ERROR(gru(ones({5, 2, 3}), ones({1, 1, 4})), Code::ShapeMismatch, "GRU: the initial state must be [1, 2, 4], it is f32[1, 1, 4]");
  auto [output, last] = gru(ones({5, 2, 3}), zeros({1, 2, 4}));
  EXPECT_TRUE(equal(output.detach().select(0, 4), last.detach().select(0, 0)));
  EXPECT_ERROR(nn::LSTM({.input = 1, .hidden = 0}), Code::InvalidOption, HasSubstr("must be at least 1"));
}

TEST(Attention, MasksLeaveOut) {
  DefaultDtype f64(DType::F64);
  nn::MultiheadAttention attention({.embedding = 4, .heads = 2, .batchFirst = true});
  Tensor x = filled({2, 3, 4}, 37);
  auto [causal, causalWeights] = attention(x, x, x, nn::AttentionCall{.causal = true});
  auto [fast, none] = attention(x, x, x, nn::AttentionCall{.causal = true, .needWeights = false});
  EXPECT_LT(distance(causal, fast), 1e-12);
  EXPECT_FALSE(none.defined());
  Tensor future = triu(ones({3, 3}, {.dtype = DType::Bool}), 1);
  EXPECT_LT(distance(attention(x, x, x, nn::AttentionCall{.mask = future}).first, causal), 1e-12);
  EXPECT_EQ(causalWeights.detach().select(1, 0).toVector<double>()[1], 0);
  EXPECT_NEAR(sum(causalWeights.detach()).item<double>(), 6, 1e-12) << "weights of a query add up to one";
  // Padding: the same as leaving the keys away.
  Tensor padding = tensor({{false, false, true}, {false, false, true}});
  Tensor cut = attention(x, x.narrow(1, 0, 2), x.narrow(1, 0, 2)).first;
  EXPECT_LT(distance(attention(x, x, x, nn::AttentionCall{.keyPadding = padding}).first, cut), 1e-12);
  EXPECT_ERROR(attention(ones({3, 4}), x, x), Code::ShapeMismatch, HasSubstr("one is f64[3, 4]"));
  EXPECT_ERROR(nn::MultiheadAttention(5, 2), Code::InvalidOption, "MultiheadAttention: embedding 5 must be a multiple of heads 2");
}

TEST(Encoder, StacksLayersWithOwnParameters) {
  nn::TransformerEncoder encoder({.embedding = 8, .heads = 2, .feedforward = 16}, 2, true);
  EXPECT_EQ(encoder->parameters().size(), 2u * 12 + 2);
  EXPECT_TRUE(encoder->parameter("layers.1.self_attn.in_proj_weight").defined());
  EXPECT_TRUE(encoder->parameter("norm.bias").defined());
  EXPECT_EQ(encoder(ones({3, 1, 8})).sizes()[2], 8);
}

TEST(Layers, LinearOfNothingIsItsBias) {
  nn::Linear linear(0, 3);
  NoGrad guard;
  linear->bias.copy_(tensor({1.0, 2.0, 3.0}));
  EXPECT_EQ(linear(zeros({2, 0})).toVector<float>(), (std::vector<float>{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(sizesOf(nn::Linear(3, 0)(zeros({2, 3}))), (std::vector<int64_t>{2, 0}));
}

TEST(Layers, OptionsThatCannotBe) {
  EXPECT_ERROR(nn::Conv2d({.in = 3, .out = 4, .groups = 2}), Code::InvalidOption, "Conv2d: in 3 and out 4 must be multiples of groups 2");
  EXPECT_ERROR(nn::Conv2d({.in = 2, .out = 4, .kernel = {1, 2, 3}}), Code::InvalidOption, "Conv2d: kernel has 3 entries; one for all or 2 are needed");
  EXPECT_ERROR(nn::Conv1d({.in = 2, .out = 4, .stride = 0}), Code::InvalidOption, "Conv1d: stride is 0, at least 1 is needed");
  EXPECT_ERROR(nn::Conv1d({.in = 2, .out = 4, .outputPadding = 1}), Code::InvalidOption, "Conv1d: outputPadding belongs to transposed convolutions");
  EXPECT_ERROR(nn::AvgPool2d({.kernel = 2, .dilation = 2}), Code::InvalidOption, "AvgPool2d: dilation belongs to max pooling");
  EXPECT_ERROR(nn::Embedding(3, 2, {.paddingIndex = 3}), Code::IndexOutOfRange, "Embedding: paddingIndex 3 is out of range for 3 rows");
  EXPECT_ERROR(nn::GroupNorm(2, 5), Code::InvalidOption, "GroupNorm: channels 5 must be a multiple of groups 2");
}

// Finite differences in double, first and second order, sizes that are not square.
struct Checked {
  const char *name;
  std::vector<int64_t> input;
  std::function<std::pair<std::shared_ptr<nn::Module>, std::function<Tensor(const Tensor &)>>()> make;
  bool secondOrder = true;
};
template <typename HandleType>
auto checked(HandleType (*make)()) {
  return [make] {
    HandleType handle = make();
    return std::pair<std::shared_ptr<nn::Module>, std::function<Tensor(const Tensor &)>>(handle.pointer(), [handle](const Tensor &x) { return handle(x); });
  };
}
#define MODULE(...) checked<decltype(__VA_ARGS__)>(+[] { return __VA_ARGS__; })

std::vector<Checked> checkedModules() {
  return {
      {"linear", {4, 3}, MODULE(nn::Linear(3, 2))},
      {"conv2d", {1, 2, 4, 5}, MODULE(nn::Conv2d({.in = 2, .out = 2, .kernel = {2, 3}, .stride = {1, 2}, .padding = {1, 0}}))},
      {"conv_transpose2d", {1, 2, 2, 3}, MODULE(nn::ConvTranspose2d({.in = 2, .out = 1, .kernel = 2, .stride = 2}))},
      {"max_pool2d", {1, 1, 4, 5}, MODULE(nn::MaxPool2d(2))},
      {"avg_pool2d", {1, 1, 4, 5}, MODULE(nn::AvgPool2d({.kernel = 3, .stride = 2, .padding = 1}))},
      {"batch_norm", {3, 2, 2}, MODULE(nn::BatchNorm1d(2))},
      {"layer_norm", {2, 5}, MODULE(nn::LayerNorm(5))},
      {"group_norm", {2, 4, 2}, MODULE(nn::GroupNorm(2, 4))},
      {"instance_norm", {2, 2, 3}, MODULE(nn::InstanceNorm1d(2, {.affine = true}))},
      {"rms_norm", {2, 5}, MODULE(nn::RMSNorm(5, {.epsilon = 1e-5}))},
      {"prelu", {2, 3}, MODULE(nn::PReLU(3))},
      {"gelu", {7}, MODULE(nn::GELU())},
      {"silu", {7}, MODULE(nn::SiLU())},
      {"mish", {7}, MODULE(nn::Mish())},
      {"softplus", {7}, MODULE(nn::Softplus())},
      {"glu", {2, 6}, MODULE(nn::GLU())},
      {"softmax", {2, 4}, MODULE(nn::Softmax(1))},
      {"encoder", {1, 3, 4}, MODULE(nn::TransformerEncoderLayer({.embedding = 4, .heads = 2, .feedforward = 3, .dropout = 0, .gelu = true, .batchFirst = true}))},
      {"gru", {3, 1, 2},
       [] {
         nn::GRU gru(2, 3);
         return std::pair<std::shared_ptr<nn::Module>, std::function<Tensor(const Tensor &)>>(gru.pointer(), [gru](const Tensor &x) { return gru(x).first; });
       }},
      {"lstm", {3, 1, 2},
       [] {
         nn::LSTM lstm(2, 2);
         return std::pair<std::shared_ptr<nn::Module>, std::function<Tensor(const Tensor &)>>(lstm.pointer(), [lstm](const Tensor &x) { return lstm(x).first; });
       }},
  };
}

class ModuleGradients : public testing::TestWithParam<size_t> {};

TEST_P(ModuleGradients, AgreeWithFiniteDifferences) {
  DefaultDtype f64(DType::F64);
  manualSeed(11);
  Checked each = checkedModules()[GetParam()];
  auto [module, forward] = each.make();
  // The input and every parameter are arguments of the function that is checked.
  std::vector<Tensor> arguments = {(randn(each.input) * Scalar(.7)).detach().requiresGrad_()};
  for (const Tensor &parameter : module->parameters())
    arguments.push_back(parameter);
  auto call = forward;
  std::string report = checkGradients([&](const std::vector<Tensor> &x) { return call(x[0]); }, arguments, {.secondOrder = each.secondOrder});
  EXPECT_EQ(report, "");
}

INSTANTIATE_TEST_SUITE_P(Layers, ModuleGradients, testing::Range(size_t{0}, checkedModules().size()),
                         [](const auto &info) { return std::string(checkedModules()[info.param].name); });

} // namespace
