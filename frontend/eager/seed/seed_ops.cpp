// Compiles what most programs use, for every machine of two CPU levels, when graphc is built:
//
//   seed_ops FOLDER        writes FOLDER/ops-v3.seed and FOLDER/ops-v4.seed
//
// The ops below are called once each, which finds out their programs and those of their gradients; these are then compiled for
// each level. What depends on sizes (convolutions, linear layers) cannot be known before.
#include "frontend/eager/State.h"
#include "frontend/graphc/autograd.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/ops.h"
#include "frontend/graphc/optim.h"

#include <filesystem>
#include <iostream>
#include <set>

using namespace graphc;
using namespace graphc::eager;

namespace {

Tensor leaf(IntList sizes, DType dtype = DType::F32) { return full(sizes, 0.5, {.dtype = dtype, .requiresGrad = true}); }

/// Forward and backward.
void both(const Tensor &y) {
  if (y.requiresGrad())
    y.backward(onesLike(y));
}

void elementwise(DType dtype) {
  using Unary = Tensor (*)(const TensorArg &);
  for (Unary op : std::initializer_list<Unary>{neg, abs, exp, log, sqrt, rsqrt, square, reciprocal, sin, cos, tanh, erf, floor, relu, relu6, silu, sigmoid,
                                               logSigmoid, selu, mish, softsign, hardswish, hardsigmoid, log1p, expm1, sign, round})
    both(op(leaf({8}, dtype)));
  both(gelu(leaf({8}, dtype)));
  both(gelu(leaf({8}, dtype), true));
  both(leakyRelu(leaf({8}, dtype)));
  both(elu(leaf({8}, dtype)));
  both(softplus(leaf({8}, dtype)));
  both(clamp(leaf({8}, dtype), -1., 1.));
  both(pow(leaf({8}, dtype), 3));
  using Binary = Tensor (*)(const TensorArg &, const Tensor &);
  // Equal sizes, a row, a column, a number, and numbers of rank 0.
  struct Sizes {
    std::vector<int64_t> a, b;
  };
  for (const Sizes &s : {Sizes{{8}, {8}}, Sizes{{4, 6}, {6}}, Sizes{{4, 6}, {4, 1}}, Sizes{{8}, {}}, Sizes{{}, {}}, Sizes{{3, 4, 6}, {3, 1, 6}}, Sizes{{3, 4, 6}, {4, 1}}}) {
    auto plus = [](const TensorArg &a, const Tensor &b) { return add(a, b); };
    auto minus = [](const TensorArg &a, const Tensor &b) { return sub(a, b); };
    auto over = [](const TensorArg &a, const Tensor &b) { return div(a, b); };
    for (Binary op : std::initializer_list<Binary>{plus, minus, mul, over, maximum, minimum})
      both(op(leaf(s.a, dtype), leaf(s.b, dtype)));
    NoGrad guard;
    for (Binary op : std::initializer_list<Binary>{eq, ne, lt, le, gt, ge})
      op(leaf(s.a, dtype), leaf(s.b, dtype));
    where(gt(leaf(s.a, dtype), leaf(s.b, dtype)), leaf(s.a, dtype), leaf(s.b, dtype));
  }
  Tensor x = leaf({8}, dtype);
  both(x * 2);
  both(x + 1);
  both(x - 1);
  both(x / 2);
  both(1 - x);
  both(1 / x);
  both(lerp(leaf({8}, dtype), leaf({8}, dtype), 0.5));
  both(addcmul(leaf({8}, dtype), leaf({8}, dtype), leaf({8}, dtype), 2));
  both(maskedFill(leaf({8}, dtype), gt(x.detach(), 0), 0));
  NoGrad guard;
  for (DType to : {DType::F64, DType::F32, DType::I64, DType::I32, DType::U8, DType::Bool})
    if (to != dtype)
      x.to(to), zeros({8}, {.dtype = to}).to(dtype);
  gt(x, 0), lt(x, 0), isnan(x), isfinite(x), logicalNot(gt(x, 0)), logicalAnd(gt(x, 0), gt(x, 0));
}

void reductions(DType dtype) {
  for (const std::vector<int64_t> &sizes : std::vector<std::vector<int64_t>>{{8}, {4, 6}, {3, 4, 6}}) {
    int64_t rank = static_cast<int64_t>(sizes.size());
    both(leaf(sizes, dtype).sum());
    both(leaf(sizes, dtype).mean());
    both(amax(leaf(sizes, dtype)));
    for (int64_t d : std::set<int64_t>{0, rank - 1}) {
      for (bool keep : {false, true}) {
        both(leaf(sizes, dtype).sum({d}, keep));
        both(leaf(sizes, dtype).mean({d}, keep));
        both(leaf(sizes, dtype).amax({d}, keep));
      }
      both(leaf(sizes, dtype).softmax(d));
      both(leaf(sizes, dtype).logSoftmax(d));
      NoGrad guard;
      leaf(sizes, dtype).argmax(d);
      leaf(sizes, dtype).max(d);
      leaf(sizes, dtype).cumsum(d);
    }
    both(leaf(sizes, dtype).norm());
    both(var(leaf(sizes, dtype)));
  }
  NoGrad guard;
  all(gt(leaf({8}, dtype), 0)), any(gt(leaf({8}, dtype), 0));
}

void products(DType dtype) {
  both(matmul(leaf({4, 2}, dtype), leaf({2, 6}, dtype)));
  both(matmul(leaf({4, 2}, dtype), leaf({6, 2}, dtype).t()));
  both(matmul(leaf({5, 4, 2}, dtype), leaf({5, 2, 6}, dtype)));
  both(matmul(leaf({3, 5, 4, 2}, dtype), leaf({3, 5, 2, 6}, dtype)));
  both(matmul(leaf({3, 5, 4, 2}, dtype), leaf({3, 5, 6, 2}, dtype).transpose(2, 3)));
  both(dot(leaf({8}, dtype), leaf({8}, dtype)));
  both(matmul(leaf({4, 2}, dtype), leaf({2}, dtype)));
}

void networks(DType dtype) {
  Tensor labels = zeros({4}, {.dtype = DType::I64});
  for (Reduction reduction : {Reduction::Mean, Reduction::Sum, Reduction::None})
    both(crossEntropy(leaf({4, 6}, dtype), labels, {}, {.reduction = reduction}));
  both(nllLoss(leaf({4, 6}, dtype), labels));
  both(mseLoss(leaf({4, 6}, dtype), zeros({4, 6}, {.dtype = dtype})));
  both(l1Loss(leaf({4, 6}, dtype), zeros({4, 6}, {.dtype = dtype})));
  both(smoothL1Loss(leaf({4, 6}, dtype), zeros({4, 6}, {.dtype = dtype})));
  both(binaryCrossEntropyWithLogits(leaf({4, 6}, dtype), zeros({4, 6}, {.dtype = dtype})));
  both(layerNorm(leaf({4, 6}, dtype), {6}, leaf({6}, dtype), leaf({6}, dtype)));
  both(layerNorm(leaf({3, 4, 6}, dtype), {6}, leaf({6}, dtype), leaf({6}, dtype)));
  both(rmsNorm(leaf({3, 4, 6}, dtype), {6}, leaf({6}, dtype)));
  both(embedding(zeros({4}, {.dtype = DType::I64}), leaf({9, 6}, dtype)));
  both(embedding(zeros({3, 4}, {.dtype = DType::I64}), leaf({9, 6}, dtype)));
  both(dropout(leaf({8}, dtype), 0.5, true));
  both(dropout(leaf({8}, dtype), 0.1, true));
  both(cat({leaf({4, 6}, dtype), leaf({4, 6}, dtype)}, 0));
  both(cat({leaf({4, 6}, dtype), leaf({4, 6}, dtype)}, 1));
  NoGrad guard;
  rand({8}, {.dtype = dtype}), randn({8}, {.dtype = dtype}), randint(0, 9, {8}), randperm(8);
  topk(leaf({4, 6}, dtype), 2), sort(leaf({4, 6}, dtype));
  eq(leaf({4, 6}, dtype).argmax(1), labels).sum();
}

void training(DType dtype) {
  auto parameters = [&] {
    std::vector<Tensor> list = {leaf({8}, dtype)};
    list[0].setGrad(ones({8}, {.dtype = dtype}));
    return list;
  };
  for (double decay : {0., .1}) {
    optim::SGD(parameters(), {.weightDecay = decay}).step();
    optim::SGD(parameters(), {.momentum = .9, .weightDecay = decay}).step();
    optim::SGD(parameters(), {.momentum = .9, .weightDecay = decay, .nesterov = true}).step();
    optim::Adam(parameters(), {.weightDecay = decay}).step();
    optim::AdamW(parameters(), {.weightDecay = decay}).step();
    optim::RMSprop(parameters(), {.weightDecay = decay}).step();
    optim::Adagrad(parameters(), {.weightDecay = decay}).step();
  }
  optim::clipGradNorm(parameters(), 1);
  optim::clipGradValue(parameters(), 1);
  optim::Ema(parameters()).update();
}

void integers() {
  Tensor a = ones({8}, {.dtype = DType::I64});
  a + a, a - a, a *a, a + 1, a * 2, eq(a, a), lt(a, 1), a.sum(), amax(a), amin(a);
  Tensor matrix = ones({4, 6}, {.dtype = DType::I64});
  matrix.sum({1}), matrix.cumsum(1);
}

/// Everything that belongs to a function, gradients of gradients included.
Status compileAll(OpCompiler &compiler, OpSeedWriter &writer, Function &function, std::set<std::string> &done) {
  // Other units compute it on the machines above this level.
  if (!done.insert(function.program.text).second || function.program.text.find("bf16") != std::string::npos)
    return {};
  GRAPHC_ASSIGN_OR_RETURN(CompiledOp code, compiler.compile(function.program));
  writer.add("code", function.codeKey(), encodeCode(code));
  for (const Gradient *gradient = function.gradients(); gradient; gradient = gradient->next) {
    writer.add("gradient", function.gradientKey(gradient->needs, gradient->given), encodeGradient(gradient->info));
    if (!gradient->info.program.results.empty())
      GRAPHC_RETURN_IF_ERROR(compileAll(compiler, writer, *gradient->function, done));
  }
  return {};
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::cerr << "usage: seed_ops FOLDER\n";
    return 2;
  }
  try {
    std::filesystem::create_directories(argv[1]);
    elementwise(DType::F32);
    reductions(DType::F32);
    products(DType::F32);
    networks(DType::F32);
    training(DType::F32);
    integers();
    for (const char *level : {"v3", "v4"}) {
      OpCompiler compiler({.cpuLevel = level});
      auto identity = compiler.identity();
      check(identity.status());
      OpSeedWriter writer(*identity);
      std::set<std::string> done;
      for (const auto &function : Services::get().functions()) {
        writer.add("op", function->key, encodeProgram(function->program));
        check(compileAll(compiler, writer, *function, done));
      }
      check(writer.write(std::string(argv[1]) + "/" + OpSeed::fileName(level)));
      std::cout << level << ": " << done.size() << " programs\n";
    }
  } catch (const std::exception &problem) {
    std::cerr << "seed_ops: " << problem.what() << '\n';
    return 1;
  }
}
