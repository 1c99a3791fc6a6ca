// Values of ops: against formulas in double, dtypes, empty and rank-0 tensors, strided operands, in place.
#include "test/unit/eager/Expect.h"

using namespace graphc;
using namespace graphc::test;
using testing::ElementsAre;

namespace {

struct UnaryCase {
  const char *name;
  Tensor (*op)(const Tensor &);
  double (*formula)(double);
  bool positive = false, insideOne = false;
};
double sigmoidOf(double x) { return 1 / (1 + std::exp(-x)); }
double signOf(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

const UnaryCase kUnary[] = {
    {"neg", [](const Tensor &x) { return neg(x); }, [](double x) { return -x; }},
    {"abs", [](const Tensor &x) { return abs(x); }, [](double x) { return std::abs(x); }},
    {"sign", [](const Tensor &x) { return sign(x); }, signOf},
    {"exp", [](const Tensor &x) { return exp(x); }, [](double x) { return std::exp(x); }},
    {"exp2", [](const Tensor &x) { return exp2(x); }, [](double x) { return std::exp2(x); }},
    {"expm1", [](const Tensor &x) { return expm1(x); }, [](double x) { return std::expm1(x); }},
    {"log", [](const Tensor &x) { return log(x); }, [](double x) { return std::log(x); }, true},
    {"log2", [](const Tensor &x) { return log2(x); }, [](double x) { return std::log2(x); }, true},
    {"log10", [](const Tensor &x) { return log10(x); }, [](double x) { return std::log10(x); }, true},
    {"log1p", [](const Tensor &x) { return log1p(x); }, [](double x) { return std::log1p(x); }, true},
    {"sqrt", [](const Tensor &x) { return sqrt(x); }, [](double x) { return std::sqrt(x); }, true},
    {"rsqrt", [](const Tensor &x) { return rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); }, true},
    {"square", [](const Tensor &x) { return square(x); }, [](double x) { return x * x; }},
    {"reciprocal", [](const Tensor &x) { return reciprocal(x); }, [](double x) { return 1 / x; }, true},
    {"sin", [](const Tensor &x) { return sin(x); }, [](double x) { return std::sin(x); }},
    {"cos", [](const Tensor &x) { return cos(x); }, [](double x) { return std::cos(x); }},
    {"tan", [](const Tensor &x) { return tan(x); }, [](double x) { return std::tan(x); }},
    {"asin", [](const Tensor &x) { return asin(x); }, [](double x) { return std::asin(x); }, false, true},
    {"acos", [](const Tensor &x) { return acos(x); }, [](double x) { return std::acos(x); }, false, true},
    {"atan", [](const Tensor &x) { return atan(x); }, [](double x) { return std::atan(x); }},
    {"sinh", [](const Tensor &x) { return sinh(x); }, [](double x) { return std::sinh(x); }},
    {"cosh", [](const Tensor &x) { return cosh(x); }, [](double x) { return std::cosh(x); }},
    {"tanh", [](const Tensor &x) { return tanh(x); }, [](double x) { return std::tanh(x); }},
    {"asinh", [](const Tensor &x) { return asinh(x); }, [](double x) { return std::asinh(x); }},
    {"atanh", [](const Tensor &x) { return atanh(x); }, [](double x) { return std::atanh(x); }, false, true},
    {"erf", [](const Tensor &x) { return erf(x); }, [](double x) { return std::erf(x); }},
    {"erfc", [](const Tensor &x) { return erfc(x); }, [](double x) { return std::erfc(x); }},
    {"floor", [](const Tensor &x) { return floor(x); }, [](double x) { return std::floor(x); }},
    {"ceil", [](const Tensor &x) { return ceil(x); }, [](double x) { return std::ceil(x); }},
    {"round", [](const Tensor &x) { return round(x); }, [](double x) { return std::nearbyint(x); }},
    {"trunc", [](const Tensor &x) { return trunc(x); }, [](double x) { return std::trunc(x); }},
    {"frac", [](const Tensor &x) { return frac(x); }, [](double x) { return x - std::trunc(x); }},
    {"relu", [](const Tensor &x) { return relu(x); }, [](double x) { return std::max(x, 0.0); }},
    {"relu6", [](const Tensor &x) { return relu6(x * 9); }, [](double x) { return std::clamp(9 * x, 0.0, 6.0); }},
    {"leakyRelu", [](const Tensor &x) { return leakyRelu(x, 0.2); }, [](double x) { return x < 0 ? 0.2 * x : x; }},
    {"elu", [](const Tensor &x) { return elu(x, 1.5); }, [](double x) { return x < 0 ? 1.5 * std::expm1(x) : x; }},
    {"gelu", [](const Tensor &x) { return gelu(x); }, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2))); }},
    {"geluTanh", [](const Tensor &x) { return gelu(x, true); },
     [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
    {"silu", [](const Tensor &x) { return silu(x); }, [](double x) { return x * sigmoidOf(x); }},
    {"mish", [](const Tensor &x) { return mish(x); }, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
    {"sigmoid", [](const Tensor &x) { return sigmoid(x); }, sigmoidOf},
    {"logSigmoid", [](const Tensor &x) { return logSigmoid(x); }, [](double x) { return std::log(sigmoidOf(x)); }},
    {"softplus", [](const Tensor &x) { return softplus(x, 2, 1); }, [](double x) { return 2 * x > 1 ? x : std::log1p(std::exp(2 * x)) / 2; }},
    {"softsign", [](const Tensor &x) { return softsign(x); }, [](double x) { return x / (1 + std::abs(x)); }},
    {"softshrink", [](const Tensor &x) { return softshrink(x, 0.3); }, [](double x) { return x > 0.3 ? x - 0.3 : x < -0.3 ? x + 0.3 : 0; }},
    {"hardshrink", [](const Tensor &x) { return hardshrink(x, 0.3); }, [](double x) { return std::abs(x) > 0.3 ? x : 0; }},
    {"hardtanh", [](const Tensor &x) { return hardtanh(x, -0.5, 0.25); }, [](double x) { return std::clamp(x, -0.5, 0.25); }},
    {"hardsigmoid", [](const Tensor &x) { return hardsigmoid(x); }, [](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
    {"hardswish", [](const Tensor &x) { return hardswish(x); }, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
    {"tanhshrink", [](const Tensor &x) { return tanhshrink(x); }, [](double x) { return x - std::tanh(x); }},
};

} // namespace

class Unary : public testing::TestWithParam<UnaryCase> {};

TEST_P(Unary, valueDtypesEmptyRankZeroAndStrided) {
  const UnaryCase &c = GetParam();
  Tensor x = filled({3, 5}, 37, DType::F64) * 2;
  if (c.positive)
    x = abs(x) + 0.1;
  if (c.insideOne)
    x = x * 0.4;
  std::vector<double> expected;
  for (double v : x.toVector<double>())
    expected.push_back(c.formula(v));
  expectValues(c.op(x), {3, 5}, expected, 1e-9);
  expectValues(c.op(x.to(DType::F32)), {3, 5}, expected, 1e-5);
  for (DType half : {DType::F16, DType::BF16}) {
    // What the op computes in f32 of the rounded operand, rounded once.
    Tensor rounded = x.to(half);
    Tensor result = c.op(rounded);
    EXPECT_EQ(result.dtype(), half);
    Tensor wide = c.op(rounded.to(DType::F64));
    EXPECT_TRUE(allclose(result.to(DType::F64), wide, half == DType::F16 ? 2e-3 : 1.6e-2, 1e-2)) << c.name << result << wide;
  }
  Tensor turned = c.op(x.t());
  EXPECT_TRUE(allclose(turned, c.op(x).t(), 1e-12)) << c.name;
  EXPECT_THAT(c.op(zeros({0, 3})).sizes(), ElementsAre(0, 3));
  Tensor one = c.op(x[1][2]);
  EXPECT_EQ(one.dim(), 0);
  EXPECT_NEAR(one.item<double>(), expected[7], 1e-9);
}
INSTANTIATE_TEST_SUITE_P(All, Unary, testing::ValuesIn(kUnary), [](const auto &info) { return std::string(info.param.name); });

TEST(Binary, broadcastingAndStrides) {
  Tensor a = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}), b = tensor({10.0, 20.0, 30.0});
  expectValues(a + b, {2, 3}, {11, 22, 33, 14, 25, 36});
  expectValues(a.unsqueeze(1) * tensor({{1.0}, {2.0}}), {2, 2, 3}, {1, 2, 3, 2, 4, 6, 4, 5, 6, 8, 10, 12});
  expectValues(a.t() - tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}), {3, 2}, {0, 2, -1, 1, -2, 0});
  expectValues(a.slice(1, 0, {}, 2) / 2, {2, 2}, {.5, 1.5, 2, 3});
  expectValues(b.expand({2, 3}) + a, {2, 3}, {11, 22, 33, 14, 25, 36});
  expectValues(2 - a, {2, 3}, {1, 0, -1, -2, -3, -4});
  expectValues(12 / a, {2, 3}, {12, 6, 4, 3, 2.4, 2});
  expectValues(zeros({0, 3}) + b, {0, 3}, {});
  expectValues(zeros({2, 0}) + zeros({2, 1}), {2, 0}, {});
}

TEST(Binary, largeTensorsOnAllThreads) {
  Tensor a = arange(300'000, {.dtype = DType::F32}).view({300, 1000});
  Tensor c = (a + 1).mul(2);
  EXPECT_EQ(c[299][999].item<float>(), 600'000);
  EXPECT_EQ(c.sum().item<double>() > 0, true);
}

TEST(Binary, typePromotion) {
  Tensor i32 = ones({2}, {.dtype = DType::I32}), f16 = ones({2}, {.dtype = DType::F16}), f32 = ones({2}), u8 = ones({2}, {.dtype = DType::U8}),
         boolean = ones({2}, {.dtype = DType::Bool}), i64 = ones({2}, {.dtype = DType::I64});
  EXPECT_EQ((i32 + f16).dtype(), DType::F16);
  EXPECT_EQ((f16 + f32).dtype(), DType::F32);
  EXPECT_EQ((f16 + ones({2}, {.dtype = DType::BF16})).dtype(), DType::F32);
  EXPECT_EQ((i32 / i64).dtype(), DType::F32);
  EXPECT_EQ((boolean + boolean).dtype(), DType::Bool);
  EXPECT_EQ((u8 + ones({2}, {.dtype = DType::I8})).dtype(), DType::I16);
  EXPECT_EQ((f16 + 1).dtype(), DType::F16);
  EXPECT_EQ((f16 + 1.5).dtype(), DType::F16);
  EXPECT_EQ((i32 + 1.5).dtype(), DType::F32);
  EXPECT_EQ((i32 + 1).dtype(), DType::I32);
  EXPECT_EQ((boolean + 1).dtype(), DType::I64);
  EXPECT_EQ((f32 + ones({}, {.dtype = DType::F64})).dtype(), DType::F32);
  EXPECT_EQ((i32 + ones({}, {.dtype = DType::F64})).dtype(), DType::F64);
  EXPECT_EQ((i32 == i64).dtype(), DType::Bool);
  EXPECT_EQ(boolean.sum().dtype(), DType::I64);
  EXPECT_EQ(i32.prod().dtype(), DType::I64);
  EXPECT_EQ(i32.cumsum(0).dtype(), DType::I64);
  EXPECT_EQ(exp(i32).dtype(), DType::F32);
}

TEST(Binary, integersAndRounding) {
  Tensor a = tensor({7, -7, 7, -7}), b = tensor({2, 2, -2, -2});
  expectValues(div(a, b, Rounding::Trunc), {4}, {3, -3, -3, 3});
  expectValues(div(a, b, Rounding::Floor), {4}, {3, -4, -4, 3});
  expectValues(remainder(a, b), {4}, {1, 1, -1, -1});
  expectValues(div(a, tensor({0, 0, 0, 0}), Rounding::Floor), {4}, {0, 0, 0, 0});
  // Of floats: what the remainder leaves is divided.
  Tensor f = tensor({-1.0f, 1.0f, 1.0f, -7.5f, INFINITY, 3.0f, -3.0f}), g = tensor({INFINITY, INFINITY, 0.1f, 2.0f, 2.0f, 0.0f, 0.0f});
  expectValues(div(f, g, Rounding::Floor), {7}, {-1, 0, 9, -4, NAN, INFINITY, -INFINITY});
  expectValues(tensor({true, true, false}) + tensor({true, false, false}), {3}, {1, 1, 0});
  expectValues(fmod(a, b), {4}, {1, -1, 1, -1});
  expectValues(a.pow(2), {4}, {49, 49, 49, 49});
  expectValues(bitwiseAnd(a, tensor({3, 3, 3, 3})), {4}, {3, 1, 3, 1});
  expectValues(maximum(a, b), {4}, {7, 2, 7, -2});
  expectValues(atan2(tensor({1.0, 1.0, -1.0, 0.0}), tensor({1.0, -1.0, -1.0, 0.0})), {4}, {M_PI / 4, 3 * M_PI / 4, -3 * M_PI / 4, 0});
  expectValues(where(a > 0, a, 0), {4}, {7, 0, 7, 0});
  expectValues(clamp(a, -1, 3), {4}, {3, -1, 3, -1});
  expectValues(clamp(tensor({-2.0, std::nan(""), 2.0}), -1.0, 1.0), {3}, {-1, NAN, 1});
  expectValues(logicalXor(tensor({true, false}), tensor({true, true})), {2}, {0, 1});
}

TEST(InPlace, writesWhereTheTensorLies) {
  Tensor x = arange(6, {.dtype = DType::F32}).view({2, 3});
  void *data = x.dataPtr();
  x.add_(1).mul_(tensor({1.0, 2.0, 3.0}));
  EXPECT_EQ(x.dataPtr(), data);
  expectValues(x, {2, 3}, {1, 4, 9, 4, 10, 18});
  x.t().sub_(tensor({1.0, 2.0}));
  expectValues(x, {2, 3}, {0, 3, 8, 2, 8, 16});
  x.slice(1, 0, 2).copy_(x.slice(1, 1, 3).clone());
  expectValues(x, {2, 3}, {3, 8, 8, 8, 16, 16});
  // The operand overlaps what is written.
  Tensor v = arange(5, {.dtype = DType::F32});
  v.slice(0, 1, 5).add_(v.slice(0, 0, 4));
  expectValues(v, {5}, {0, 1, 3, 5, 7});
  EXPECT_EQ(v.version(), 1u);
  Tensor i = arange(3);
  i.add_(tensor({1, 1, 1}, {.dtype = DType::I32}));
  expectValues(i, {3}, {1, 2, 3});
  v.indexPut_({Slice(0, 2)}, 9);
  expectValues(v, {5}, {9, 9, 3, 5, 7});
}

TEST(Reduce, values) {
  Tensor x = tensor({{1.0, 5.0, 3.0}, {4.0, 2.0, 6.0}});
  expectValues(x.sum(), {}, {21});
  expectValues(x.sum({0}), {3}, {5, 7, 9});
  expectValues(x.sum({-1}, true), {2, 1}, {9, 12});
  expectValues(sum(x, {}, true), {1, 1}, {21});
  expectValues(x.t().sum({0}), {2}, {9, 12});
  expectValues(x.mean({1}), {2}, {3, 4});
  expectValues(x.prod(), {}, {720});
  expectValues(x.prod(1), {2}, {15, 48});
  expectValues(x.amax({0}), {3}, {4, 5, 6});
  expectValues(x.min(), {}, {1});
  auto [values, indices] = x.max(1);
  expectValues(values, {2}, {5, 6});
  expectValues(indices, {2}, {1, 2});
  expectValues(x.argmin(), {}, {0});
  expectValues(x.argmax(0, true), {1, 3}, {1, 0, 1});
  expectValues(x.var(), {}, {3.5});
  expectValues(x.var({1}, 0), {2}, {8.0 / 3, 8.0 / 3});
  expectValues(x.std({1}), {2}, {2, 2});
  expectValues(x.norm(), {}, {std::sqrt(91.0)});
  expectValues(x.norm(1, {0}), {3}, {5, 7, 9});
  expectValues(x.norm(INFINITY), {}, {6});
  expectValues(x.logsumexp({1}), {2}, {std::log(std::exp(1) + std::exp(5) + std::exp(3)), std::log(std::exp(4) + std::exp(2) + std::exp(6))});
  expectValues(logsumexp(full({2}, -INFINITY), {0}), {}, {-INFINITY});
  expectValues(all(x > 0), {}, {1});
  expectValues(any(x > 5, {1}), {2}, {0, 1});
  expectValues(median(x), {}, {3});
  expectValues(x.cumsum(1), {2, 3}, {1, 6, 9, 4, 6, 12});
  expectValues(x.cumprod(0), {2, 3}, {1, 5, 3, 4, 10, 18});
  expectValues(x.softmax(1).sum({1}), {2}, {1, 1});
  expectValues(x.logSoftmax(0).exp().sum({0}), {3}, {1, 1, 1});
  expectValues(zeros({0}).sum(), {}, {0});
  expectValues(zeros({2, 0}).prod(1), {2}, {1, 1});
  expectValues(tensor(3.0).sum(), {}, {3});
}

TEST(Products, matmul) {
  Tensor a = tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}), b = tensor({{1.0, 0.0, 2.0}, {0.0, 1.0, 3.0}});
  expectValues(matmul(a, b), {3, 3}, {1, 2, 8, 3, 4, 18, 5, 6, 28});
  expectValues(matmul(a.t(), b.t()), {2, 2}, {11, 18, 14, 22});
  expectValues(matmul(tensor({1.0, 2.0}), b), {3}, {1, 2, 8});
  expectValues(matmul(a, tensor({1.0, 1.0})), {3}, {3, 7, 11});
  expectValues(dot(tensor({1.0, 2.0}), tensor({3.0, 4.0})), {}, {11});
  Tensor batch = stack({a, a * 2});
  expectValues(matmul(batch, b)[1], {3, 3}, {2, 4, 16, 6, 8, 36, 10, 12, 56});
  expectValues(bmm(batch, batch.transpose(1, 2))[0][0], {3}, {5, 11, 17});
  expectValues(linear(a, tensor({{1.0, 1.0}}), tensor({0.5})), {3, 1}, {3.5, 7.5, 11.5});
  expectValues(linear(a.view({3, 1, 2}), tensor({{1.0, 1.0}})), {3, 1, 1}, {3, 7, 11});
  expectValues(einsum("ij,jk->ik", {a, b}), {3, 3}, {1, 2, 8, 3, 4, 18, 5, 6, 28});
  expectValues(einsum("ij->ji", {a}), {2, 3}, {1, 3, 5, 2, 4, 6});
  expectValues(einsum("ii", {eye(3)}), {}, {3});
  expectValues(einsum("bij,bkj->bik", {batch, batch}).select(0, 0), {3, 3}, {5, 11, 17, 11, 25, 39, 17, 39, 61});
  for (DType dtype : {DType::F64, DType::BF16, DType::F16, DType::I64, DType::I32})
    expectValues(matmul(a.to(dtype), b.to(dtype)), {3, 3}, {1, 2, 8, 3, 4, 18, 5, 6, 28});
  expectValues(matmul(zeros({0, 2}), b), {0, 3}, {});
}

TEST(Windows, convolutionAndPooling) {
  Tensor x = arange(16, {.dtype = DType::F32}).view({1, 1, 4, 4});
  Tensor w = tensor({{1.0, 0.0}, {0.0, -1.0}}).view({1, 1, 2, 2});
  expectValues(conv2d(x, w, tensor({0.5})), {1, 1, 3, 3}, std::vector<double>(9, -4.5));
  expectValues(conv2d(x, w, {}, {.stride = 2, .padding = 1}), {1, 1, 3, 3}, {0, -2, 0, -8, -5, 7, 0, 13, 15}, 1e-6);
  expectValues(conv2d(x.to(DType::F64), w.to(DType::F64)), {1, 1, 3, 3}, std::vector<double>(9, -5));
  expectValues(maxPool2d(x, 2), {1, 1, 2, 2}, {5, 7, 13, 15});
  expectValues(avgPool2d(x, 2), {1, 1, 2, 2}, {2.5, 4.5, 10.5, 12.5});
  expectValues(maxPool2d(x, 3, {.stride = 2, .ceilMode = true}), {1, 1, 2, 2}, {10, 11, 14, 15});
  expectValues(avgPool2d(ones({1, 1, 2, 2}), 2, {.stride = 2, .padding = 1}), {1, 1, 2, 2}, {.25, .25, .25, .25});
  expectValues(avgPool2d(ones({1, 1, 2, 2}), 2, {.stride = 2, .padding = 1, .countIncludePad = false}), {1, 1, 2, 2}, {1, 1, 1, 1});
  expectValues(conv1d(tensor({1.0, 2.0, 3.0}).view({1, 1, 3}), tensor({1.0, 1.0}).view({1, 1, 2})), {1, 1, 2}, {3, 5});
  expectValues(convTranspose2d(ones({1, 1, 2, 2}), w, {}, {.stride = 2}), {1, 1, 4, 4}, {1, 0, 1, 0, 0, -1, 0, -1, 1, 0, 1, 0, 0, -1, 0, -1});
  expectValues(adaptiveAvgPool2d(x, 2), {1, 1, 2, 2}, {2.5, 4.5, 10.5, 12.5});
  expectValues(adaptiveAvgPool2d(x, {3, 1}), {1, 1, 3, 1}, {3.5, 7.5, 11.5});
  expectValues(pad(tensor({1.0, 2.0, 3.0}), {1, 2}), {6}, {0, 1, 2, 3, 0, 0});
  expectValues(pad(tensor({1.0, 2.0, 3.0}), {2, 1}, PadMode::Reflect), {6}, {3, 2, 1, 2, 3, 2});
  expectValues(pad(tensor({1.0, 2.0, 3.0}), {1, 1}, PadMode::Replicate), {5}, {1, 1, 2, 3, 3});
  expectValues(pad(tensor({1.0, 2.0, 3.0}), {1, 1}, PadMode::Circular), {5}, {3, 1, 2, 3, 1});
  for (PadMode mode : {PadMode::Replicate, PadMode::Reflect, PadMode::Circular}) {
    EXPECT_THAT(messageOf([&] { pad(zeros({2, 0}), {1, 0}, mode); }, codes::InvalidArgument), testing::HasSubstr("is empty"));
    expectValues(pad(zeros({2, 0}), {0, 0}, mode), {2, 0}, {});
  }
  EXPECT_THAT(messageOf([] { pad(zeros({2}), {INT64_MAX, INT64_MAX}); }, Code::ShapeMismatch), testing::HasSubstr("cannot be padded"));
  EXPECT_THAT(messageOf([] { interpolate(zeros({1, 1, 2, 2}), {0, 0}); }, Code::ShapeMismatch), testing::HasSubstr("must be at least 1"));
  EXPECT_THAT(messageOf([] { interpolate(zeros({1, 1, 0, 2}), {2, 2}); }, Code::ShapeMismatch), testing::HasSubstr("must be at least 1"));
  expectValues(interpolate(tensor({1.0, 2.0}).view({1, 1, 2}), {4}), {1, 1, 4}, {1, 1, 2, 2});
  expectValues(interpolate(tensor({1.0, 2.0}).view({1, 1, 2}), {4}, InterpolateMode::Bilinear), {1, 1, 4}, {1, 1.25, 1.75, 2});
}

TEST(Norms, values) {
  Tensor x = tensor({{1.0, 2.0, 3.0}, {4.0, 6.0, 8.0}}, {.dtype = DType::F64});
  Tensor y = layerNorm(x, {3});
  EXPECT_NEAR(y.mean({1})[0].item<double>(), 0, 1e-12);
  EXPECT_NEAR(y[0][2].item<double>(), 1 / std::sqrt(2.0 / 3 + 1e-5), 1e-9);
  expectValues(rmsNorm(x, {3}, {}, 0.0)[0], {3}, {1 / std::sqrt(14.0 / 3), 2 / std::sqrt(14.0 / 3), 3 / std::sqrt(14.0 / 3)});
  Tensor mean = zeros({1}, {.dtype = DType::F64}), var = ones({1}, {.dtype = DType::F64});
  // batch 1, 2, 4: running mean .2333333, running variance 1.1333333
  Tensor normed = batchNorm(tensor({1.0, 2.0, 4.0}, {.dtype = DType::F64}).view({3, 1}), mean, var, {}, {}, true);
  expectValues(mean, {1}, {0.7 / 3});
  expectValues(var, {1}, {0.9 + 0.1 * 7.0 / 3});
  EXPECT_NEAR(normed.sum().item<double>(), 0, 1e-12);
  expectValues(batchNorm(tensor({{3.0}}, {.dtype = DType::F64}), mean * 0, var * 0 + 4, {}, {}, false, 0.1, 0.0), {1, 1}, {1.5});
  EXPECT_NEAR(groupNorm(filled({2, 4, 3}), 2).sum().item<double>(), 0, 1e-5);
  EXPECT_NEAR(instanceNorm(filled({2, 4, 3})).sum().item<double>(), 0, 1e-5);
  expectValues(normalize(tensor({{3.0, 4.0}})), {1, 2}, {.6, .8});
  Tensor q = filled({1, 2, 3, 4});
  Tensor attention = scaledDotProductAttention(q, q, q, {}, {.causal = true});
  EXPECT_TRUE(allclose(attention.select(2, 0), q.select(2, 0)));
  expectValues(embedding(tensor({1, 0}), tensor({{1.0, 2.0}, {3.0, 4.0}})), {2, 2}, {3, 4, 1, 2});
  expectValues(oneHot(tensor({2, 0}), 3), {2, 3}, {0, 0, 1, 1, 0, 0});
}

TEST(Losses, values) {
  Tensor scores = tensor({{1.0, 2.0, 3.0}, {1.0, 1.0, 1.0}}, {.dtype = DType::F64}), labels = tensor({2, 0});
  double first = std::log(std::exp(-2) + std::exp(-1) + 1), second = std::log(3);
  expectValues(crossEntropy(scores, labels), {}, {(first + second) / 2});
  expectValues(crossEntropy(scores, labels, {}, {.reduction = Reduction::None}), {2}, {first, second});
  expectValues(crossEntropy(scores, tensor({2, -100})), {}, {first});
  expectValues(crossEntropy(scores, tensor({-100, -100})), {}, {NAN});
  expectValues(crossEntropy(scores, oneHot(labels, 3).to(DType::F64)), {}, {(first + second) / 2});
  expectValues(nllLoss(logSoftmax(scores, 1), labels, {}, {.reduction = Reduction::Sum}), {}, {first + second});
  Tensor a = tensor({1.0, 4.0}), b = tensor({1.5, 1.0});
  expectValues(mseLoss(a, b), {}, {(0.25 + 9) / 2});
  expectValues(l1Loss(a, b, Reduction::Sum), {}, {3.5});
  expectValues(smoothL1Loss(a, b, Reduction::None), {2}, {0.125, 2.5});
  expectValues(huberLoss(a, b, Reduction::None, 2), {2}, {0.125, 4});
  expectValues(binaryCrossEntropyWithLogits(tensor({0.0, 2.0}), tensor({1.0, 0.0}), {}, {}, Reduction::None), {2}, {std::log(2), 2 + std::log1p(std::exp(-2))});
  expectValues(binaryCrossEntropy(tensor({0.5, 0.0}), tensor({1.0, 1.0}), {}, Reduction::None), {2}, {std::log(2), 100});
  expectValues(klDiv(tensor({-1.0, -2.0}), tensor({0.5, 0.0}), KlReduction::Sum), {}, {0.5 * (std::log(0.5) + 1)});
}

TEST(Indexing, values) {
  Tensor x = arange(12, {.dtype = DType::F32}).view({3, 4});
  expectValues(cat({x, x.slice(0, 0, 1)}), {4, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3});
  expectValues(stack({tensor({1, 2}), tensor({3, 4})}, 1), {2, 2}, {1, 3, 2, 4});
  EXPECT_EQ(cat(std::vector<Tensor>(40, ones({2}))).numel(), 80);
  expectValues(gather(x, 1, tensor({{0, 3}, {1, 1}})), {2, 2}, {0, 3, 5, 5});
  expectValues(scatter(zeros({2, 3}), 1, tensor({{2}, {0}}), tensor({{5.0}, {6.0}})), {2, 3}, {0, 0, 5, 6, 0, 0});
  expectValues(scatterAdd(zeros({3}), 0, tensor({1, 1, 0}), tensor({1.0, 2.0, 4.0})), {3}, {4, 3, 0});
  expectValues(indexSelect(x, 0, tensor({2, 0})), {2, 4}, {8, 9, 10, 11, 0, 1, 2, 3});
  expectValues(indexAdd(zeros({3, 1}), 0, tensor({2, 2}), tensor({{1.0}, {2.0}})), {3, 1}, {0, 0, 3});
  expectValues(take(x, tensor({5, -1})), {2}, {5, 11});
  expectValues(nonzero(tensor({{0, 1}, {2, 0}})), {2, 2}, {0, 1, 1, 0});
  expectValues(maskedSelect(x, x > 8), {3}, {9, 10, 11});
  expectValues(x.index({tensor({0, 2}), tensor({1, -1})}), {2}, {1, 11});
  expectValues(x.index({Slice(), tensor({3, 0})}), {3, 2}, {3, 0, 7, 4, 11, 8});
  expectValues(x.index({x > 9}), {2}, {10, 11});
  expectValues(x.index({ellipsis, newAxis, 1}), {3, 1}, {1, 5, 9});
  Tensor y = x.clone();
  y.indexPut_({tensor({0, 2}), tensor({0, 0})}, tensor({-1.0, -2.0}));
  expectValues(y.select(1, 0), {3}, {-1, 4, -2});
  y.indexPut_({y < 0}, 0);
  expectValues(y.select(1, 0), {3}, {0, 4, 0});
  auto [values, order] = sort(tensor({3.0, 1.0, 2.0}));
  expectValues(values, {3}, {1, 2, 3});
  expectValues(order, {3}, {1, 2, 0});
  expectValues(topk(tensor({3.0, 1.0, 2.0}), 2).first, {2}, {3, 2});
  expectValues(tril(ones({2, 3})), {2, 3}, {1, 0, 0, 1, 1, 0});
  expectValues(triu(ones({2, 3}), 1), {2, 3}, {0, 1, 1, 0, 0, 1});
  expectValues(tril(ones({1, 2}), INT64_MAX), {1, 2}, {1, 1});
  expectValues(tril(ones({1, 2}), INT64_MIN), {1, 2}, {0, 0});
  expectValues(flip(tensor({{1, 2}, {3, 4}}), {1}), {2, 2}, {2, 1, 4, 3});
  expectValues(roll(tensor({1, 2, 3}), 1, 0), {3}, {3, 1, 2});
  expectValues(repeat(tensor({1, 2}), {2, 2}), {2, 4}, {1, 2, 1, 2, 1, 2, 1, 2});
  expectValues(repeatInterleave(tensor({1, 2}), 2, 0), {4}, {1, 1, 2, 2});
  EXPECT_TRUE(equal(x, x.clone()));
  EXPECT_FALSE(equal(x, x + 1));
  EXPECT_TRUE(allclose(x + 1, x + 1.000001));
  EXPECT_FALSE(allclose(x, x + 1e-3));
}

TEST(Random, numbersDependOnSeedAndPlaceAlone) {
  manualSeed(7);
  Tensor a = rand({1000}), b = randn({1000});
  manualSeed(7);
  EXPECT_TRUE(equal(a, rand({10, 100}).view({1000})));
  EXPECT_TRUE(equal(b, randn({1000})));
  EXPECT_FALSE(equal(b, randn({1000})));
  EXPECT_GE(a.min().item<float>(), 0);
  EXPECT_LT(a.max().item<float>(), 1);
  EXPECT_NEAR(a.mean().item<double>(), 0.5, 0.03);
  EXPECT_NEAR(b.std().item<double>(), 1, 0.07);
  std::vector<int64_t> p = randperm(50).toVector<int64_t>();
  std::sort(p.begin(), p.end());
  for (int64_t i = 0; i < 50; ++i)
    EXPECT_EQ(p[static_cast<size_t>(i)], i);
  Tensor r = randint(-2, 3, {1000});
  EXPECT_EQ(r.min().item<int>(), -2);
  EXPECT_EQ(r.max().item<int>(), 2);
  EXPECT_NEAR(dropout(ones({10'000}), 0.25, true).mean().item<double>(), 1, 0.03);
  expectValues(dropout(ones({2}), 0.5, false), {2}, {1, 1});
  EXPECT_NEAR(bernoulli(full({1000}, 0.2)).mean().item<double>(), 0.2, 0.05);
  EXPECT_EQ(multinomial(tensor({0.0, 1.0, 0.0}), 1).item<int>(), 1);
}

TEST(Eager, newSizesCompileNothing) {
  ThreadContext context;
  ThreadContext::Use use(context);
  (ones({3, 5}) * 2.5 + ones({5})).sum();
  context.resetOpStatistics();
  for (int64_t n : {2, 7, 64, 1000})
    (ones({n, 3 * n}) * 2.5 + ones({3 * n})).sum();
  EXPECT_EQ(context.opStatistics().compiled, 0);
  EXPECT_EQ(context.opStatistics().denseCopies, 0);
  EXPECT_GT(context.opStatistics().calls, 8);
}
