// Modules: names, state, moving, hooks, and the messages of what goes wrong.
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/nn.h"
#include "frontend/graphc/safetensors.h"
#include "frontend/tensor/ReadFile.h"
#include "test/unit/nn/Fill.h"

#include <filesystem>
#include <sstream>

using namespace graphc;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

struct Net : nn::Module {
  nn::Conv2d conv = add("conv", nn::Conv2d({.in = 1, .out = 2, .kernel = 3}));
  nn::BatchNorm2d norm = add("norm", nn::BatchNorm2d(2));
  nn::Linear head = add("head", nn::Linear(8, 3));
  nn::Dropout drop = add("drop", nn::Dropout(.5));
  Tensor scale = addParameter("scale", ones({1}));
  Tensor forward(const Tensor &x) { return head(drop(relu(norm(conv(x))).flatten(1))) * scale; }
};

std::vector<std::string> namesOf(const nn::NamedTensorList &list) {
  std::vector<std::string> names;
  for (const auto &[name, tensor] : list)
    names.push_back(name);
  return names;
}

std::string scratch(const char *name) { return (std::filesystem::path(testing::TempDir()) / name).string(); }

TEST(Module, NamesEverythingByItsPlace) {
  auto net = nn::make<Net>();
  EXPECT_THAT(namesOf(net->namedParameters()), ElementsAre("scale", "conv.weight", "conv.bias", "norm.weight", "norm.bias", "head.weight", "head.bias"));
  EXPECT_THAT(namesOf(net->namedParameters(false)), ElementsAre("scale"));
  EXPECT_THAT(namesOf(net->namedBuffers()), ElementsAre("norm.running_mean", "norm.running_var", "norm.num_batches_tracked"));
  EXPECT_THAT(namesOf(net->stateDict()), ElementsAre("scale", "conv.weight", "conv.bias", "norm.weight", "norm.bias", "norm.running_mean",
                                                     "norm.running_var", "norm.num_batches_tracked", "head.weight", "head.bias"));
  EXPECT_EQ(net->head->weight.name(), "head.weight") << "errors call parameters by their place";
  EXPECT_TRUE(net->parameter("head.weight").is(net->head->weight));
  EXPECT_EQ(&net->module("conv"), net->conv.pointer().get());
  EXPECT_ERROR(net->parameter("head.wight"), Code::UnknownName, HasSubstr("no parameter is called 'head.wight'; there are scale, conv.weight"));
  nn::Sequential nested(nn::Sequential(nn::Linear(2, 3), nn::ReLU()), nn::Linear(3, 1));
  EXPECT_THAT(namesOf(nested->namedParameters()), ElementsAre("0.0.weight", "0.0.bias", "1.weight", "1.bias"));
  EXPECT_EQ(nested->namedParameters()[0].second.name(), "0.0.weight");
}

TEST(Module, WhatCannotBeRegistered) {
  struct Twice : nn::Module {
    Twice() {
      add("a", nn::Linear(1, 1));
      add("a", nn::Linear(1, 1));
    }
  };
  EXPECT_ERROR(nn::make<Twice>(), Code::InvalidOption, "module 'a': the module has something of this name already");
  struct Dotted : nn::Module {
    Dotted() { addBuffer("a.b", ones({1})); }
  };
  EXPECT_ERROR(nn::make<Dotted>(), Code::InvalidOption, "buffer 'a.b': a name must not be empty or hold a dot");
  struct Computed : nn::Module {
    Computed() { addParameter("w", ones({1}).requiresGrad_() * ones({1})); }
  };
  EXPECT_ERROR(nn::make<Computed>(), Code::InvalidOption, HasSubstr("parameter 'w': only a leaf can be a parameter"));
  struct Empty : nn::Module {
    Empty() { add("a", nn::Linear(nullptr)); }
  };
  EXPECT_ERROR(nn::make<Empty>(), Code::InvalidOption, "module 'a': an empty handle");
}

TEST(Module, TiedTensorsComeOnceButHaveAllTheirNames) {
  struct Tied : nn::Module {
    nn::Embedding embed = add("embed", nn::Embedding(5, 3));
    Tensor head = addParameter("head", embed->weight);
  };
  auto tied = nn::make<Tied>();
  EXPECT_EQ(tied->parameters().size(), 1u);
  EXPECT_THAT(namesOf(tied->stateDict()), ElementsAre("head", "embed.weight"));
  tied->save(scratch("tied.safetensors"));
  EXPECT_LT(std::filesystem::file_size(scratch("tied.safetensors")), 260u) << "60 bytes of data, not 120";
  auto other = nn::make<Tied>();
  other->load(scratch("tied.safetensors"));
  EXPECT_TRUE(equal(other->head.detach(), tied->head.detach()));
}

TEST(Module, TrainAndEvalReachEverything) {
  auto net = nn::make<Net>();
  EXPECT_TRUE(net->drop->isTraining());
  net->eval();
  EXPECT_FALSE(net->isTraining());
  EXPECT_FALSE(net->drop->isTraining());
  net->train();
  EXPECT_TRUE(net->drop->isTraining());
  int seen = 0;
  net->apply([&](nn::Module &) { ++seen; });
  EXPECT_EQ(seen, 5);
}

TEST(Module, ToKeepsTheObjects) {
  auto net = nn::make<Net>();
  Tensor weight = net->head->weight;
  weight.setGrad(ones({3, 8}));
  net->to(DType::F64);
  EXPECT_EQ(weight.dtype(), DType::F64);
  EXPECT_EQ(weight.grad().dtype(), DType::F64);
  EXPECT_TRUE(weight.requiresGrad());
  EXPECT_TRUE(weight.is(net->parameter("head.weight")));
  EXPECT_EQ(net->norm->numBatchesTracked.dtype(), DType::I64) << "integers stay";
  EXPECT_EQ(net->norm->runningMean.dtype(), DType::F64);
  Tensor y = net(ones({2, 1, 4, 4}, {.dtype = DType::F64}));
  sum(y).backward();
  EXPECT_EQ(weight.grad().dtype(), DType::F64);
  EXPECT_ERROR(net->to(DType::I32), Code::TypeMismatch, "to(i32): parameters can only become floating-point");
}

TEST(Module, StateGoesFromOneToAnother) {
  auto a = nn::make<Net>(), b = nn::make<Net>();
  a(randn({4, 1, 4, 4})); // moves the running statistics
  nn::LoadReport report = b->loadStateDict(a->stateDict());
  EXPECT_TRUE(report.missing.empty());
  nn::NamedTensorList left = a->stateDict(), right = b->stateDict();
  for (size_t k = 0; k < left.size(); ++k)
    EXPECT_TRUE(equal(left[k].second, right[k].second)) << left[k].first;
  // Values are copied, not shared.
  a->head->weight.detach().fill_(Scalar(0));
  EXPECT_FALSE(equal(a->head->weight.detach(), b->head->weight.detach()));
}

TEST(Module, AStateThatDoesNotFitChangesNothing) {
  auto net = nn::make<Net>();
  nn::NamedTensorList state = net->stateDict();
  Tensor before = net->head->bias.detach().clone();
  state[0].first = "scala";
  state[8].second = ones({3, 9});
  state[9].second = zeros({3});
  EXPECT_ERROR(net->loadStateDict(state), Code::WeightFile,
               "the state is of another model: missing: 'scale'; unexpected: 'scala'; 'head.weight' is f32[3, 9] in the state and f32[3, 8] in the model");
  EXPECT_TRUE(equal(net->head->bias.detach(), before));
  state[8].second = ones({3, 8});
  nn::LoadReport report = net->loadStateDict(state, {.strict = false});
  EXPECT_THAT(report.missing, ElementsAre("scale"));
  EXPECT_THAT(report.unexpected, ElementsAre("scala"));
  EXPECT_EQ(net->head->bias.detach().toVector<float>()[0], 0);
  state[3].second = tensor({1, 1});
  EXPECT_ERROR(net->loadStateDict(state, {.strict = false}), Code::WeightFile,
               "the state is of another model: 'norm.weight' is i64[2] in the state and f32[2] in the model");
}

TEST(Module, SavesAndLoadsFiles) {
  auto a = nn::make<Net>(), b = nn::make<Net>();
  a->save(scratch("net.safetensors"));
  b->load(scratch("net.safetensors"));
  for (size_t k = 0; k < a->stateDict().size(); ++k)
    EXPECT_TRUE(equal(a->stateDict()[k].second, b->stateDict()[k].second));
  EXPECT_ERROR(nn::make<Net>()->load(scratch("none.safetensors")), Code::FileSystem, HasSubstr("none.safetensors"));
}

TEST(Module, ForwardHooksSeeAndChange) {
  nn::Linear layer(2, 2);
  std::vector<std::string> order;
  HookHandle pre = layer->registerForwardPreHook([&](nn::Module &, std::vector<Tensor> &inputs) {
    order.push_back("pre");
    inputs[0] = inputs[0] * Scalar(2.0);
  });
  HookHandle post = layer->registerForwardHook([&](nn::Module &, const std::vector<Tensor> &inputs, std::vector<Tensor> &outputs) {
    order.push_back("post");
    EXPECT_EQ(inputs[0].toVector<float>()[0], 2);
    outputs[0] = outputs[0] + Scalar(1.0);
  });
  Tensor x = ones({1, 2}), hooked = layer(x);
  pre.remove();
  post.remove();
  EXPECT_LT(distance(hooked, layer(x * Scalar(2.0)) + Scalar(1.0)), 1e-6);
  EXPECT_THAT(order, ElementsAre("pre", "post"));
  // Modules with several inputs and outputs.
  nn::LSTM lstm(2, 3);
  size_t outputs = 0;
  lstm->registerForwardHook([&](nn::Module &, const std::vector<Tensor> &, std::vector<Tensor> &out) { outputs = out.size(); });
  lstm(ones({4, 1, 2}));
  EXPECT_EQ(outputs, 3u);
}

TEST(Module, BackwardHooksSeeGradientsThroughThisCallAlone) {
  nn::Activation twice("twice", [](const Tensor &x) { return x * Scalar(2.0); });
  int calls = 0;
  HookHandle handle = twice->registerBackwardHook([&](nn::Module &, const std::vector<Tensor> &in, const std::vector<Tensor> &out) {
    ++calls;
    EXPECT_EQ(out[0].toVector<float>()[0], 3);
    EXPECT_EQ(in[0].toVector<float>()[0], 6);
  });
  Tensor x = ones({1}).requiresGrad_();
  sum(twice(x) * Scalar(3.0) + x).backward();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(x.grad().toVector<float>()[0], 7);
  handle.remove();
  sum(twice(x)).backward();
  EXPECT_EQ(calls, 1);
}

TEST(Module, PrintsItsParts) {
  nn::Sequential net(nn::Conv2d({.in = 1, .out = 32, .kernel = 3, .padding = 1}), nn::ReLU(), nn::Sequential(nn::Linear(4, 2, {.bias = false})));
  std::ostringstream out;
  out << *net;
  EXPECT_EQ(out.str(), "Sequential {\n  0: Conv2d(in=1, out=32, kernel=3, padding=1)\n  1: ReLU\n  2: Sequential {\n    0: Linear(in=4, out=2, bias=false)\n  }\n}");
}

TEST(Module, FreezingTakesParametersOutOfTheGraph) {
  nn::Linear frozen(2, 2);
  frozen->requiresGrad_(false);
  nn::Linear head(2, 1);
  sum(head(frozen(ones({1, 2})))).backward();
  EXPECT_FALSE(frozen->weight.grad().defined());
  EXPECT_TRUE(head->weight.grad().defined());
  head->zeroGrad();
  EXPECT_FALSE(head->weight.grad().defined());
}

TEST(ModuleList, RegistersByPosition) {
  nn::ModuleList<nn::Linear> list({nn::Linear(1, 2), nn::Linear(2, 3)});
  EXPECT_THAT(namesOf(list->namedParameters()), ElementsAre("0.weight", "0.bias", "1.weight", "1.bias"));
  EXPECT_EQ(list[1]->weight.size(0), 3);
}

} // namespace
