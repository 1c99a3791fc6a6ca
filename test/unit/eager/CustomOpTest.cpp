// Ops of the user's own, streams and events, einsum's dots, probabilities out of range.
#include "test/unit/eager/Expect.h"

#include "frontend/graphc/stream.h"

using namespace graphc;
using namespace graphc::test;

namespace {

OpDefinition steepTanh() {
  return {.name = "steepTanh",
          .elementwise = true,
          .formula = [](const std::vector<OpValue> &x, const OpNumbers &n) { return tanh(n[0] * x[0]); },
          .gradient = [](const OpGradientValues &v, const OpNumbers &n) { return std::vector{v.gradient * n[0] * (1 - v.result * v.result)}; }};
}

TEST(CustomOp, formulaGradientAndDtypes) {
  CustomOp op = defineOp(steepTanh());
  Tensor x = filled({3, 5}, 37, DType::F64);
  std::vector<double> expected;
  for (double v : x.toVector<double>())
    expected.push_back(std::tanh(1.7 * v));
  expectValues(op({x}, {1.7}), {3, 5}, expected, 1e-12);
  expectValues(op({x.t()}, {1.7}).t(), {3, 5}, expected, 1e-12);
  EXPECT_EQ(op({x.to(DType::F16)}, {1.7}).dtype(), DType::F16);
  EXPECT_EQ(op({zeros({0, 2})}, {1.}).numel(), 0);
  EXPECT_NEAR(op({tensor(0.5)}, {2.}).item<double>(), std::tanh(1.0), 1e-6);
  EXPECT_EQ(checkGradients([&](const std::vector<Tensor> &in) { return op(in, {1.7}); }, {x}, {.secondOrder = true}), "");
  Tensor leaf = x.clone().requiresGrad_();
  EXPECT_EQ(op({leaf}, {2.}).gradFnName(), "steepTanhBackward");
}

TEST(CustomOp, theGivenGradientIsTheOneThatRuns) {
  OpDefinition straight{.name = "hardStep",
                        .elementwise = true,
                        .formula = [](const std::vector<OpValue> &x, const OpNumbers &) { return where(x[0] > 0.0, x[0] * 0.0 + 1.0, x[0] * 0.0); },
                        .gradient = [](const OpGradientValues &v, const OpNumbers &) { return std::vector{v.gradient}; }};
  CustomOp step = defineOp(straight);
  Tensor x = tensor({-1., 2., 3.}, {.requiresGrad = true});
  (step({x}) * tensor({1., 2., 4.})).sum().backward();
  expectValues(x.grad(), {3}, {1, 2, 4});
  straight.name = "hardStepOfItself";
  straight.gradient = nullptr;
  CustomOp plain = defineOp(straight);
  x.setGrad({});
  plain({x}).sum().backward();
  expectValues(x.grad(), {3}, {0, 0, 0});
}

TEST(CustomOp, severalOperandsBroadcastAndSomeHaveNoGradient) {
  CustomOp op = defineOp({.name = "scaledGap",
                          .operands = 2,
                          .elementwise = true,
                          .formula = [](const std::vector<OpValue> &x, const OpNumbers &) { return (x[0] - x[1]) * x[1]; },
                          .gradient = [](const OpGradientValues &v, const OpNumbers &) {
                            return std::vector{v.gradient * v.operands[1], v.gradient * (v.operands[0] - 2.0 * v.operands[1])};
                          }});
  Tensor a = filled({4, 3}, 37, DType::F64), b = filled({3}, 41, DType::F64);
  EXPECT_EQ(checkGradients([&](const std::vector<Tensor> &in) { return op(in); }, {a, b}, {.secondOrder = true}), "");
  CustomOp half = defineOp({.name = "half",
                            .operands = 2,
                            .elementwise = true,
                            .formula = [](const std::vector<OpValue> &x, const OpNumbers &) { return x[0] * x[1]; },
                            .gradient = [](const OpGradientValues &v, const OpNumbers &) { return std::vector{v.gradient * v.operands[1], OpValue()}; }});
  Tensor x = ones({2}, {.requiresGrad = true}), y = full({2}, 3., {.requiresGrad = true});
  half({x, y}).sum().backward();
  expectValues(x.grad(), {2}, {3, 3});
  EXPECT_FALSE(y.grad().defined());
}

TEST(CustomOp, shapesThatAreNotElementwise) {
  CustomOp rowNorm = defineOp({.name = "rowNorm",
                               .shape = [](const OpShapes &s, const OpNumbers &) -> std::vector<int64_t> {
                                 if (s[0].size() != 2)
                                   throw Error(error(Code::ShapeMismatch, "rowNorm: a matrix is needed"));
                                 return {s[0][0]};
                               },
                               .formula = [](const std::vector<OpValue> &x, const OpNumbers &) { return sqrt(sum(x[0] * x[0], {1})); }});
  Tensor x = filled({4, 3}, 37, DType::F64);
  EXPECT_TRUE(allclose(rowNorm({x}), norm(x, 2, {1}), 1e-12));
  EXPECT_EQ(checkGradients([&](const std::vector<Tensor> &in) { return rowNorm(in); }, {x}, {.secondOrder = true}), "");
  EXPECT_EQ(messageOf([&] { rowNorm({zeros({3})}); }, Code::ShapeMismatch), "rowNorm: a matrix is needed");
  CustomOp attention = defineOp({.name = "scores", .operands = 2, .formula = [](const std::vector<OpValue> &x, const OpNumbers &) {
                                   return matmul(x[0], x[1], false, true);
                                 }});
  EXPECT_TRUE(allclose(attention({x, x}), matmul(x, x.t()), 1e-12));
}

TEST(CustomOp, misuse) {
  EXPECT_EQ(messageOf([] { defineOp({.name = "nothing"}); }, codes::InvalidArgument), "defineOp: a definition needs a name and a formula");
  CustomOp op = defineOp(steepTanh());
  EXPECT_EQ(messageOf([&] { op({}, {1.}); }, codes::InvalidArgument), "steepTanh: it takes 1 operands, 0 were given");
  CustomOp liar = defineOp({.name = "liar", .shape = [](const OpShapes &, const OpNumbers &) { return std::vector<int64_t>{7}; },
                            .formula = [](const std::vector<OpValue> &x, const OpNumbers &) { return x[0] * 2.0; }});
  EXPECT_EQ(messageOf([&] { liar({zeros({2})}); }, Code::ShapeMismatch), "liar: the shape rule says [7], the formula gives [2]");
  CustomOp unknown = defineOp({.name = "unknown", .formula = [](const std::vector<OpValue> &x, const OpNumbers &) { return graphOp("no_such_op", x); }});
  EXPECT_EQ(messageOf([&] { unknown({zeros({2})}); }, codes::InvalidArgument), "unknown: there is no graph op \"no_such_op\"");
  CustomOp garbled = defineOp({.name = "garbled", .formula = [](const std::vector<OpValue> &x, const OpNumbers &) { return graphOp("neg", x, "nonsense = {"); }});
  EXPECT_THAT(messageOf([&] { garbled({zeros({2})}); }, codes::InvalidArgument),
              testing::StartsWith("garbled: the attributes {nonsense = {} of graph op \"neg\" do not parse"));
  EXPECT_EQ(messageOf([&] { op({zeros({2})}); }, codes::InvalidArgument), "steepTanh: it needs number 0; 0 were given");
  CustomOp second = defineOp({.name = "second", .formula = [](const std::vector<OpValue> &x, const OpNumbers &) { return x.at(1); }});
  EXPECT_THAT(messageOf([&] { second({zeros({2})}); }, codes::InvalidArgument),
              testing::StartsWith("second: its formula reads an operand or a number that is not there"));
  CustomOp nothing = defineOp({.name = "nothing", .formula = [](const std::vector<OpValue> &, const OpNumbers &) { return OpValue(); }});
  EXPECT_EQ(messageOf([&] { nothing({zeros({2})}); }, codes::InvalidArgument), "nothing: its formula uses an undefined value");
}

TEST(CustomOp, elementwiseFormulasUseElementwiseOpsOnly) {
  using Values = std::vector<OpValue>;
  Tensor x = arange(6, {.dtype = DType::F32}).reshape({3, 2});
  const char *refused = "it is defined as elementwise, but its formula uses \"reduce\", which is not; leave .elementwise out";
  CustomOp total = defineOp({.name = "total", .elementwise = true, .formula = [](const Values &v, const OpNumbers &) { return sum(v[0], {0}); }});
  EXPECT_EQ(messageOf([&] { total({x}); }, codes::InvalidArgument), text("total: ", refused));
  // Of the right sizes, but over dims that elementwise code merges.
  CustomOp shifted = defineOp({.name = "shifted", .elementwise = true, .formula = [](const Values &v, const OpNumbers &) { return v[0] - amax(v[0], {0}, true); }});
  EXPECT_EQ(messageOf([&] { shifted({x}); }, codes::InvalidArgument), text("shifted: ", refused));
  CustomOp first = defineOp({.name = "first", .operands = 2, .elementwise = true, .formula = [](const Values &v, const OpNumbers &) { return v[0] * 2.0; }});
  expectValues(first({x, x}), {3, 2}, {0, 2, 4, 6, 8, 10});
  EXPECT_EQ(messageOf([&] { first({ones({3, 1}), x}); }, Code::ShapeMismatch),
            "first: it is defined as elementwise, but its formula does not give the sizes that all operands have together");
  CustomOp steep = defineOp({.name = "steepSum",
                             .elementwise = true,
                             .formula = [](const Values &v, const OpNumbers &) { return v[0] * 2.0; },
                             .gradient = [](const OpGradientValues &v, const OpNumbers &) { return std::vector{v.gradient + sum(v.gradient, {0}, true)}; }});
  Tensor leaf = x.clone().requiresGrad_();
  EXPECT_THAT(messageOf([&] { steep({leaf}).sum().backward(); }, codes::InvalidArgument), testing::HasSubstr(refused));
}

TEST(CustomOp, valuesOfAnotherFormulaAreRefused) {
  OpValue kept;
  CustomOp keeper = defineOp({.name = "keeper", .formula = [&](const std::vector<OpValue> &x, const OpNumbers &) { return kept = exp(x[0]); }});
  keeper({ones({1})});
  CustomOp borrower = defineOp({.name = "borrower", .formula = [&](const std::vector<OpValue> &x, const OpNumbers &) { return x[0] + kept; }});
  EXPECT_EQ(messageOf([&] { borrower({ones({1})}); }, codes::InvalidArgument),
            "borrower: its formula uses a value of another formula; values last as long as their formula is evaluated");
  CustomOp echo = defineOp({.name = "echo", .formula = [&](const std::vector<OpValue> &, const OpNumbers &) { return kept; }});
  EXPECT_THAT(messageOf([&] { echo({ones({1})}); }, codes::InvalidArgument), testing::StartsWith("echo: its formula uses a value of another formula"));
  EXPECT_THAT(messageOf([&] { exp(kept); }, codes::InvalidArgument), testing::HasSubstr("outside of it"));
}

TEST(Streams, onTheCpuEverythingIsInOrder) {
  Stream stream;
  EXPECT_FALSE(stream == Stream::current());
  StreamEvent start, end;
  EXPECT_EQ(messageOf([&] { end.elapsedMs(start); }, codes::InvalidArgument), "elapsedMs: the event was not recorded; call record() first");
  {
    StreamGuard guard(stream);
    EXPECT_TRUE(stream == Stream::current());
    start.record();
    Tensor x = ones({1000}).exp();
    end = stream.record();
    Stream::defaultStream().wait(end);
  }
  EXPECT_TRUE(Stream::current() == Stream::defaultStream());
  end.synchronize();
  EXPECT_TRUE(end.isDone() && stream.isDone());
  EXPECT_GT(end.elapsedMs(start), 0);
  EXPECT_LT(start.elapsedMs(end), 0);
}

TEST(Einsum, dotsStandForTheOtherDims) {
  Tensor a = filled({2, 3, 4, 5}, 37, DType::F64), b = filled({5, 6}, 41, DType::F64), c = filled({2, 1, 4, 5}, 29, DType::F64);
  EXPECT_TRUE(allclose(einsum("...i,ij->...j", {a, b}), matmul(a, b), 1e-12));
  EXPECT_TRUE(allclose(einsum("...ij->...ji", {a}), a.transpose(2, 3), 0));
  EXPECT_TRUE(allclose(einsum("...ij,...kj->...ik", {a, c}), matmul(a, c.transpose(2, 3)), 1e-12));
  EXPECT_TRUE(allclose(einsum("...,...", {a, c}), a * c, 1e-12));
  EXPECT_TRUE(allclose(einsum("i...->...", {a}), a.sum({0}), 1e-12));
  EXPECT_TRUE(allclose(einsum("b...ij,b...ij->b", {a, a}), (a * a).sum({1, 2, 3}), 1e-12));
  EXPECT_EQ(checkGradients([](const std::vector<Tensor> &in) { return einsum("...ij,...kj->...ik", in); }, {a, c}), "");
  EXPECT_EQ(messageOf([&] { einsum("...abcde->...", {a}); }, Code::ShapeMismatch), "einsum: \"...abcde\" of \"...abcde->...\" does not name the 4 dims of f64[2, 3, 4, 5]");
  EXPECT_EQ(messageOf([&] { einsum("ij,jk", {b}); }, codes::InvalidArgument), "einsum: \"ij,jk\" names 2 operands, 1 are given");
}

TEST(Values, softmaxOfLargeScores) {
  double e = std::exp(-1.0);
  expectValues(softmax(tensor({1000., 1001.}), 0), {2}, {e / (1 + e), 1 / (1 + e)});
  expectValues(logSoftmax(tensor({-1000., -1001.}), 0), {2}, {-std::log1p(e), -1 - std::log1p(e)});
}

TEST(Values, edgesThatOthersDefine) {
  EXPECT_TRUE(std::isnan(median(tensor({1., double(NAN), 2.})).item<double>()));
  EXPECT_EQ(median(tensor({3., 1., 2.})).item<double>(), 2);
  Tensor bias = full({2}, INFINITY);
  expectValues(addmm(bias, ones({2, 3}), ones({3, 2}), 0, 2), {2, 2}, {6, 6, 6, 6});
  expectValues(tril(ones({2, 2}), INT64_MAX), {2, 2}, {1, 1, 1, 1});
  expectValues(tril(ones({2, 2}), INT64_MIN), {2, 2}, {0, 0, 0, 0});
  expectValues(arange(5).slice(0, 1, 4, INT64_MAX), {1}, {1});
}

} // namespace
