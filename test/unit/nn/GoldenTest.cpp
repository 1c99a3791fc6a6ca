// Every layer and loss against values of PyTorch in double: outputs, gradients of inputs and parameters, buffers.
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/nn.h"
#include "frontend/graphc/safetensors.h"
#include "test/unit/nn/Fill.h"

#include <map>
#include <set>

using namespace graphc;

namespace {

using Tensors = std::vector<Tensor>;

struct Built {
  std::shared_ptr<nn::Module> module; // null: a function
  std::function<Tensors(const Tensors &)> forward;
};
struct Case {
  const char *name;
  std::vector<std::vector<int64_t>> inputs;
  std::function<Built()> build;
  Tensors integers = {}; // inputs before the floating ones
  double tolerance = 1e-10;
};

/// A layer of one input and one output.
template <typename HandleType>
std::function<Built()> layer(std::function<HandleType()> make) {
  return [make] {
    HandleType handle = make();
    return Built{handle.pointer(), [handle](const Tensors &x) { return Tensors{handle(x[0])}; }};
  };
}
#define LAYER(...) layer<decltype(__VA_ARGS__)>([] { return __VA_ARGS__; })
#define FUNCTION(...) [] { return Built{nullptr, [](const Tensors &x) { return Tensors{__VA_ARGS__}; }}; }

Tensor labels(std::initializer_list<int64_t> values) { return tensor(values); }
Tensor times(const Tensor &x, double factor) { return x * Scalar(factor); }

std::vector<Case> cases() {
  return {
      {"linear", {{4, 5}}, LAYER(nn::Linear(5, 3))},
      {"conv1d", {{2, 3, 9}}, LAYER(nn::Conv1d({.in = 3, .out = 4, .kernel = 3, .stride = 2, .padding = 1}))},
      {"conv2d", {{2, 4, 7, 6}}, LAYER(nn::Conv2d({.in = 4, .out = 6, .kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}, .groups = 2}))},
      {"conv3d", {{1, 2, 3, 4, 3}}, LAYER(nn::Conv3d({.in = 2, .out = 3, .kernel = 2, .padding = 1}))},
      {"depthwise", {{2, 3, 5, 4}}, LAYER(nn::Conv2d({.in = 3, .out = 6, .kernel = 3, .padding = 1, .groups = 3, .bias = false}))},
      {"conv_transpose2d", {{2, 4, 4, 3}}, LAYER(nn::ConvTranspose2d({.in = 4, .out = 3, .kernel = 3, .stride = 2, .padding = 1, .outputPadding = 1}))},
      {"max_pool2d", {{2, 3, 6, 7}}, LAYER(nn::MaxPool2d({.kernel = 3, .stride = 2, .padding = 1, .ceilMode = true}))},
      {"avg_pool2d", {{2, 3, 6, 7}}, LAYER(nn::AvgPool2d({.kernel = 3, .stride = 2, .padding = 1, .countIncludePad = false}))},
      {"adaptive_avg_pool2d", {{2, 3, 7, 5}}, LAYER(nn::AdaptiveAvgPool2d({3, 2}))},
      {"batch_norm1d", {{5, 3}}, LAYER(nn::BatchNorm1d(3))},
      {"batch_norm2d", {{2, 3, 4, 5}}, LAYER(nn::BatchNorm2d(3))},
      {"layer_norm", {{2, 3, 4}}, LAYER(nn::LayerNorm({3, 4}))},
      {"group_norm", {{2, 6, 3, 2}}, LAYER(nn::GroupNorm(2, 6))},
      {"instance_norm2d", {{2, 3, 4, 3}}, LAYER(nn::InstanceNorm2d(3, {.affine = true}))},
      {"rms_norm", {{3, 5}}, LAYER(nn::RMSNorm(5, {.epsilon = 1e-6}))},
      {"embedding", {}, LAYER(nn::Embedding(7, 4, {.paddingIndex = 2})), {labels({1, 2, 6, 1, 0})}},
      {"multihead_attention", {{2, 5, 8}, {2, 6, 8}, {2, 6, 8}},
       [] {
         nn::MultiheadAttention attention({.embedding = 8, .heads = 2, .batchFirst = true});
         return Built{attention.pointer(), [attention](const Tensors &x) {
                        auto [output, weights] = attention(x[0], x[1], x[2]);
                        return Tensors{output, weights};
                      }};
       }},
      {"encoder_layer", {{2, 5, 8}}, LAYER(nn::TransformerEncoderLayer({.embedding = 8, .heads = 2, .feedforward = 12, .dropout = 0, .batchFirst = true}))},
      {"encoder_layer_norm_first", {{2, 5, 8}},
       LAYER(nn::TransformerEncoderLayer({.embedding = 8, .heads = 2, .feedforward = 12, .dropout = 0, .gelu = true, .batchFirst = true, .normFirst = true}))},
      {"lstm", {{2, 5, 3}},
       [] {
         nn::LSTM lstm({.input = 3, .hidden = 4, .layers = 2, .batchFirst = true, .bidirectional = true});
         return Built{lstm.pointer(), [lstm](const Tensors &x) {
                        auto [output, last] = lstm(x[0]);
                        return Tensors{output, last.first, last.second};
                      }};
       }},
      {"gru", {{5, 2, 3}},
       [] {
         nn::GRU gru(3, 4);
         return Built{gru.pointer(), [gru](const Tensors &x) {
                        auto [output, last] = gru(x[0]);
                        return Tensors{output, last};
                      }};
       }},
      {"rnn_relu", {{5, 2, 3}},
       [] {
         nn::RNN rnn({.input = 3, .hidden = 4, .relu = true});
         return Built{rnn.pointer(), [rnn](const Tensors &x) {
                        auto [output, last] = rnn(x[0]);
                        return Tensors{output, last};
                      }};
       }},
      {"sdpa_causal", {{2, 2, 5, 4}, {2, 2, 5, 4}, {2, 2, 5, 4}}, FUNCTION(scaledDotProductAttention(x[0], x[1], x[2], {}, {.causal = true}))},
      {"softmax", {{3, 5, 2}}, FUNCTION(softmax(times(x[0], 4), 1))},
      {"log_softmax", {{3, 5}}, FUNCTION(logSoftmax(times(x[0], 4), -1))},
      {"gelu", {{3, 7}}, FUNCTION(gelu(times(x[0], 4)))},
      {"gelu_tanh", {{3, 7}}, FUNCTION(gelu(times(x[0], 4), true))},
      {"silu", {{3, 7}}, FUNCTION(silu(times(x[0], 4)))},
      {"mish", {{3, 7}}, FUNCTION(mish(times(x[0], 4)))},
      {"elu", {{3, 7}}, FUNCTION(elu(x[0], 1.5))},
      {"softplus", {{3, 7}}, FUNCTION(softplus(times(x[0], 30), 1.5, 20))},
      {"hardswish", {{3, 7}}, FUNCTION(hardswish(times(x[0], 8)))},
      {"prelu", {{2, 3, 4}}, LAYER(nn::PReLU(3))},
      {"leaky_relu", {{3, 7}}, LAYER(nn::LeakyReLU(.2))},
      {"einsum", {{2, 3, 4}, {2, 5, 4}}, FUNCTION(einsum("bij,bkj->bik", {x[0], x[1]}))},
      {"cumsum", {{3, 5}}, FUNCTION(cumsum(x[0], 1))},
      {"sort", {{3, 7}}, FUNCTION(sort(x[0], 1, true).first)},
      {"topk", {{3, 7}}, FUNCTION(topk(x[0], 3, 1).first)},
      {"gather", {{3, 3}}, FUNCTION(gather(x[0], 1, tensor({{0, 2}, {1, 1}, {2, 0}})))},
      {"index_add", {{4, 2}, {3, 2}}, FUNCTION(indexAdd(x[0], 0, labels({1, 1, 3}), x[1]))},
      {"std", {{3, 5}}, FUNCTION(x[0].std({1}))},
      {"logsumexp", {{3, 5}}, FUNCTION(logsumexp(times(x[0], 9), {1}))},
      {"norm2", {{3, 5}}, FUNCTION(norm(x[0], 2, {1}))},
      {"prod", {{3, 4}}, FUNCTION(prod(x[0], 1))},
      {"interpolate", {{1, 2, 3, 4}}, FUNCTION(interpolate(x[0], {5, 7}, InterpolateMode::Bilinear)), {}, 1e-6}, // the places between pixels are computed in f32
      {"cross_entropy", {{4, 4}},
       [] {
         auto loss = nn::CrossEntropyLoss({.labelSmoothing = .1}, abs(filled({4}, 5)) + Scalar(1.0));
         return Built{nullptr, [loss](const Tensors &x) { return Tensors{loss(times(x[0], 4), labels({0, 2, 1, 3}))}; }};
       }},
      {"cross_entropy_ignore", {{4, 4}}, FUNCTION(nn::CrossEntropyLoss({.reduction = Reduction::Sum})(times(x[0], 4), labels({0, -100, 1, 3})))},
      {"nll", {{3, 4}}, FUNCTION(nn::NLLLoss()(logSoftmax(x[0], 1), labels({0, 2, 1})))},
      {"mse", {{3, 4}, {3, 4}}, FUNCTION(nn::MSELoss()(x[0], x[1]))},
      {"l1", {{3, 4}, {3, 4}}, FUNCTION(nn::L1Loss()(x[0], x[1]))},
      {"smooth_l1", {{3, 4}, {3, 4}}, FUNCTION(nn::SmoothL1Loss(Reduction::Mean, .5)(times(x[0], 2), x[1]))},
      {"huber", {{3, 4}, {3, 4}}, FUNCTION(nn::HuberLoss(Reduction::Mean, .5)(times(x[0], 2), x[1]))},
      {"bce_with_logits", {{3, 4}, {3, 4}},
       FUNCTION(nn::BCEWithLogitsLoss(Reduction::Mean, full({}, Scalar(2.0)))(times(x[0], 4), gt(x[1], Scalar(0.0)).to(DType::F64)))},
      {"kl_div", {{3, 4}, {3, 4}}, FUNCTION(nn::KLDivLoss(KlReduction::BatchMean)(logSoftmax(x[0], 1), softmax(x[1], 1)))},
  };
}

const std::map<std::string, Tensor> &goldens() {
  static const std::map<std::string, Tensor> all = [] {
    auto list = loadSafetensors(GRAPHC_GOLDENS "/layers.safetensors");
    return std::map<std::string, Tensor>(list.begin(), list.end());
  }();
  return all;
}

class Golden : public testing::TestWithParam<size_t> {};

TEST_P(Golden, OutputsGradientsAndBuffers) {
  DefaultDtype f64(DType::F64);
  Case each = cases()[GetParam()];
  SCOPED_TRACE(each.name);
  Built built = each.build();
  int64_t a = 37;
  nn::NamedTensorList parameters;
  if (built.module) {
    parameters = built.module->namedParameters();
    NoGrad guard;
    for (auto &[name, tensor] : parameters) {
      tensor.copy_(filled(sizesOf(tensor), a));
      a += 4;
    }
  }
  Tensors inputs = each.integers;
  for (const auto &sizes : each.inputs) {
    inputs.push_back(filled(sizes, a).requiresGrad_());
    a += 4;
  }
  Tensors outputs = built.forward(inputs);
  Tensor loss;
  std::string prefix = std::string(each.name) + "/";
  size_t compared = 0;
  auto compare = [&](const std::string &key, const Tensor &value) {
    auto found = goldens().find(prefix + key);
    ASSERT_NE(found, goldens().end()) << key;
    ASSERT_TRUE(value.defined()) << key;
    EXPECT_LT(distance(value, found->second), each.tolerance) << key << "\n" << value << "\nexpected\n" << found->second;
    ++compared;
  };
  for (size_t k = 0; k < outputs.size(); ++k) {
    compare(text("out/", k), outputs[k]);
    Tensor part = sum(outputs[k] * filled(sizesOf(outputs[k]), 29 + 6 * static_cast<int64_t>(k)));
    loss = loss.defined() ? loss + part : part;
  }
  loss.backward();
  for (size_t k = 0; k < inputs.size(); ++k)
    if (goldens().contains(prefix + text("grad_in/", k)))
      compare(text("grad_in/", k), inputs[k].grad());
  for (auto &[name, tensor] : parameters)
    compare("grad/" + name, tensor.grad());
  if (built.module)
    for (auto &[name, tensor] : built.module->namedBuffers())
      compare("buffer/" + name, tensor);
  size_t stored = 0;
  for (const auto &[key, tensor] : goldens())
    stored += key.starts_with(prefix);
  EXPECT_EQ(compared, stored) << "every stored value is looked at";
}

INSTANTIATE_TEST_SUITE_P(Layers, Golden, testing::Range(size_t{0}, cases().size()), [](const auto &info) { return std::string(cases()[info.param].name); });

TEST(GoldenFile, EveryCaseIsTested) {
  std::set<std::string> stored, tested;
  for (const auto &[key, tensor] : goldens())
    stored.insert(key.substr(0, key.find('/')));
  for (const Case &each : cases())
    tested.insert(each.name);
  EXPECT_EQ(stored, tested);
  EXPECT_EQ(tested.size(), 54u);
}

} // namespace
