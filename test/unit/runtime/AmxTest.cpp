// The kernels on AMX tiles against loops in double. Needs a CPU with AMX: skipped by name elsewhere.
#include "runtime/devices/cpu/amx/Attention.h"
#include "runtime/devices/cpu/amx/MatMul.h"
#include "runtime/devices/cpu/amx/Pack.h"

#include "runtime/base/Text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>

using namespace graphc;
using namespace graphc::cpu;

namespace {

using Bf16 = uint16_t;

Bf16 toBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<Bf16>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
double fromBf16(Bf16 value) { return std::bit_cast<float>(uint32_t(value) << 16); }

std::vector<Bf16> randomHalves(int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> draw(-1, 1);
  std::vector<Bf16> values(count);
  for (Bf16 &value : values)
    value = toBf16(draw(generator));
  return values;
}

struct Scratch {
  explicit Scratch(int64_t bytes) : memory(std::aligned_alloc(64, (bytes + 64) / 64 * 64), &std::free) {
    std::memset(memory.get(), 0xff, bytes); // NaN: what is read must have been written
  }
  std::unique_ptr<void, decltype(&std::free)> memory;
};

/// Within bf16's rounding of `scale`, the largest addend; NaN only where NaN is expected.
void expectNear(double got, double expected, double scale, const std::string &where) {
  if (std::isnan(expected))
    EXPECT_TRUE(std::isnan(got)) << where << " is " << got;
  else
    EXPECT_LE(std::abs(got - expected), 0.004 * std::abs(expected) + 1e-4 * scale) << where << " is " << got << ", expected " << expected;
}

class OnAmx : public testing::Test {
protected:
  void SetUp() override {
    if (!amx::available())
      GTEST_SKIP() << "no AMX on this machine";
  }
};

class AmxMatMul : public OnAmx, public testing::WithParamInterface<std::tuple<int, int, int>> {};

double applied(const amx::Step &step, double x, double other) {
  auto logistic = [](double v) { return 1 / (1 + std::exp(-v)); };
  switch (step.kind) {
  case amx::StepKind::Relu: return x > 0 || std::isnan(x) ? x : step.alpha == 0 ? 0 : step.alpha * x;
  case amx::StepKind::Clip: return std::min<double>(std::max<double>(x, step.alpha), step.beta);
  case amx::StepKind::Linear: return step.alpha * x + step.beta;
  case amx::StepKind::GeluErf: return x / 2 * (1 + std::erf(x / std::sqrt(2)));
  case amx::StepKind::GeluTanh: return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  case amx::StepKind::Tanh: return std::tanh(x);
  case amx::StepKind::Logistic: return logistic(x);
  case amx::StepKind::Swish: return x * logistic(step.alpha * x);
  case amx::StepKind::HardSwish: return x * std::min(1.0, std::max(0.0, x / 6 + 0.5));
  case amx::StepKind::HardSigmoid: return std::min(1.0, std::max(0.0, double(step.alpha) * x + step.beta));
  case amx::StepKind::Add: return x + other;
  case amx::StepKind::Sub: return x - other;
  case amx::StepKind::Mul: return x * other;
  case amx::StepKind::Div: return x / other;
  }
  return x;
}

/// Runs the product with `steps` and compares every element; the other operand of the steps is one matrix.
void checkProduct(int64_t m, int64_t k, int64_t n, const std::vector<amx::Step> &steps, DType result, bool transposedLeft, DType bias) {
  auto left = randomHalves(m * k, 1), right = randomHalves(k * n, 2), biasHalves = randomHalves(n, 3), other = randomHalves(m * n, 4);
  for (Bf16 &value : other)
    value |= 0x3f80; // away from 0, so that divisions stay tame
  std::vector<float> biasSingles(n);
  for (int64_t j = 0; j < n; ++j)
    biasSingles[j] = static_cast<float>(fromBf16(biasHalves[j]));
  amx::MatMulShape shape;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  shape.leftRowStride = transposedLeft ? 1 : k;
  shape.leftColumnStride = transposedLeft ? m : 1;
  shape.result = result;
  shape.resultRowStride = n + 3;
  shape.hasBias = true;
  shape.bias = bias;
  shape.steps = steps;
  amx::MatMul product(shape);
  Scratch scratch(product.scratchBytes()), packed(amx::packedBytes(k, n));
  amx::packRight(packed.memory.get(), right.data(), k, n, n, 1);
  std::vector<uint8_t> stored(m * (n + 3) * sizeOf(result), 0xee);
  std::vector<const void *> addresses(steps.size(), other.data());
  product.run({left.data(), packed.memory.get(), bias == DType::F32 ? static_cast<const void *>(biasSingles.data()) : biasHalves.data(),
               stored.data(), scratch.memory.get(), addresses.data()});
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double expected = 0;
      for (int64_t d = 0; d < k; ++d)
        expected += fromBf16(left[transposedLeft ? d * m + i : i * k + d]) * fromBf16(right[d * n + j]);
      expected += biasSingles[j];
      double scale = 1 + std::sqrt(static_cast<double>(k));
      for (const amx::Step &step : steps)
        expected = applied(step, expected, fromBf16(other[step.rowStride * i + step.columnStride * j]));
      int64_t at = i * (n + 3) + j;
      double got = result == DType::F32 ? reinterpret_cast<float *>(stored.data())[at] : fromBf16(reinterpret_cast<Bf16 *>(stored.data())[at]);
      expectNear(got, expected, scale, text("[", i, ", ", j, "]"));
    }
    for (size_t gap = (i * (n + 3) + n) * sizeOf(result); gap < (i + 1) * (n + 3) * sizeOf(result); ++gap)
      ASSERT_EQ(stored[gap], 0xee) << "written beyond row " << i;
  }
}

TEST_P(AmxMatMul, MatchesLoops) {
  auto [m, k, n] = GetParam();
  checkProduct(m, k, n, {}, DType::BF16, false, DType::F32);
  checkProduct(m, k, n, {{.kind = amx::StepKind::GeluErf}}, DType::F32, true, DType::BF16);
}

INSTANTIATE_TEST_SUITE_P(Sizes, AmxMatMul,
                         testing::Values(std::tuple(1, 1, 1), std::tuple(16, 32, 32), std::tuple(17, 33, 31), std::tuple(33, 64, 300),
                                         std::tuple(64, 800, 65), std::tuple(5, 1000, 48), std::tuple(197, 96, 40), std::tuple(1100, 34, 20)));

TEST_F(OnAmx, EveryStep) {
  using enum amx::StepKind;
  int64_t n = 45;
  for (auto kind : {Relu, Clip, Linear, GeluErf, GeluTanh, Tanh, Logistic, Swish, HardSwish, HardSigmoid})
    checkProduct(19, 40, n, {{.kind = kind, .alpha = kind == Clip ? -0.5f : 0.25f, .beta = 0.75f}}, DType::BF16, false, DType::F32);
  for (auto kind : {Add, Sub, Mul, Div}) {
    checkProduct(19, 40, n, {{.kind = kind, .type = DType::BF16, .rowStride = n, .columnStride = 1}}, DType::BF16, false, DType::F32);
    checkProduct(19, 40, n, {{.kind = kind, .type = DType::BF16, .rowStride = 0, .columnStride = 1}}, DType::F32, false, DType::F32);
    checkProduct(19, 40, n, {{.kind = kind, .type = DType::BF16, .rowStride = n, .columnStride = 0}, {.kind = Relu}}, DType::BF16, false, DType::F32);
  }
}

/// What activations do at the ends: as the formulas in f32 do.
TEST_F(OnAmx, SpecialValues) {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  float values[] = {0, -0.0f, inf, -inf, nan, 1e30f, -3e38f, 88, -88, 100, -100, 5, -5};
  for (auto kind : {amx::StepKind::Relu, amx::StepKind::GeluErf, amx::StepKind::GeluTanh, amx::StepKind::Tanh, amx::StepKind::Logistic, amx::StepKind::Swish}) {
    for (float value : values) {
      amx::MatMulShape shape;
      shape.m = shape.n = shape.k = 1;
      shape.leftRowStride = shape.resultRowStride = 1;
      shape.result = DType::F32;
      shape.steps = {{.kind = kind, .alpha = kind == amx::StepKind::Swish ? 1.0f : 0.0f}};
      amx::MatMul product(shape);
      Scratch scratch(product.scratchBytes()), packed(amx::packedBytes(1, 1));
      Bf16 one = toBf16(1), x = static_cast<Bf16>(std::bit_cast<uint32_t>(value) >> 16);
      amx::packRight(packed.memory.get(), &one, 1, 1, 1, 1);
      float got = 0;
      const void *none = nullptr;
      product.run({&x, packed.memory.get(), nullptr, &got, scratch.memory.get(), &none});
      double expected = applied(shape.steps[0], fromBf16(x), 0);
      if (std::isinf(value) && value < 0 && kind != amx::StepKind::Relu && kind != amx::StepKind::Tanh && kind != amx::StepKind::Logistic)
        expected = nan; // -inf * 0
      std::string where = text("step ", static_cast<int>(kind), " of ", value);
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(got)) << where << " is " << got;
      else if (std::isinf(expected))
        EXPECT_EQ(got, expected) << where;
      else
        EXPECT_NEAR(got, expected, 1e-5 * std::abs(expected) + 1e-6) << where;
    }
  }
}

/// Rows adjacent, columns adjacent, neither: the same packed bytes, as Pack.h says they lie.
TEST(AmxPack, EveryOrder) {
  if (!amx::available())
    GTEST_SKIP() << "no AMX on this machine";
  for (auto [k, n] : {std::pair<int64_t, int64_t>{1, 1}, {32, 32}, {33, 70}, {97, 31}, {64, 128}}) {
    auto rows = randomHalves(k * n, 7);
    std::vector<Bf16> columns(k * n), spread(4 * k * n);
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < n; ++j)
        columns[j * k + i] = spread[2 * (i * n + j) + 1] = rows[i * n + j];
    std::vector<Bf16> expected(amx::packedBytes(k, n) / 2);
    for (size_t at = 0; at < expected.size(); ++at) {
      int64_t pairElement = at % 2, column = at / 2 % 16, pair = at / 32 % 16, tile = at / 512 % 2, step = at / 1024 % ((k + 31) / 32), panel = at / 1024 / ((k + 31) / 32);
      int64_t i = step * 32 + 2 * pair + pairElement, j = panel * 32 + tile * 16 + column;
      expected[at] = i < k && j < n ? rows[i * n + j] : Bf16(0);
    }
    auto packed = [&](const Bf16 *from, int64_t rowStride, int64_t columnStride) {
      Scratch to(amx::packedBytes(k, n));
      amx::packRight(to.memory.get(), from, k, n, rowStride, columnStride);
      const auto *values = static_cast<const Bf16 *>(to.memory.get());
      return std::vector<Bf16>(values, values + expected.size());
    };
    EXPECT_EQ(packed(rows.data(), n, 1), expected) << k << "x" << n;
    EXPECT_EQ(packed(columns.data(), 1, k), expected) << k << "x" << n;
    EXPECT_EQ(packed(spread.data() + 1, 2 * n, 2), expected) << k << "x" << n;
  }
}

struct Heads {
  int64_t batch, heads, rows, keys, depth, valueDepth;
  enum { None, Added, AddedRow, Flags } mask;
};

class AmxAttention : public OnAmx, public testing::WithParamInterface<Heads> {};

/// Heads side by side in a row, as networks store them: [batch, rows, heads * depth].
TEST_P(AmxAttention, MatchesLoops) {
  const Heads &p = GetParam();
  auto query = randomHalves(p.batch * p.rows * p.heads * p.depth, 1), key = randomHalves(p.batch * p.keys * p.heads * p.depth, 2),
       value = randomHalves(p.batch * p.keys * p.heads * p.valueDepth, 3);
  std::vector<float> added(p.rows * p.keys);
  std::vector<uint8_t> flags(p.rows * p.keys);
  std::mt19937 generator(5);
  for (int64_t i = 0; i < p.rows * p.keys; ++i) {
    flags[i] = generator() % 3 != 0;
    added[i] = generator() % 4 == 0 ? -std::numeric_limits<float>::max() : static_cast<float>(generator() % 8) / 4;
  }
  if (p.rows > 2)
    std::fill_n(flags.begin() + 2 * p.keys, p.keys, uint8_t(0)); // a row that keeps nothing
  auto side = [&](int64_t rows, int64_t depth) { return amx::AttentionSide{{rows * p.heads * depth, depth}, p.heads * depth, 1}; };
  for (bool nanToZero : {false, true}) {
    amx::AttentionShape shape;
    shape.batch = {p.batch, p.heads};
    shape.rows = p.rows;
    shape.keys = p.keys;
    shape.depth = p.depth;
    shape.valueDepth = p.valueDepth;
    shape.query = side(p.rows, p.depth);
    shape.key = side(p.keys, p.depth);
    shape.value = side(p.keys, p.valueDepth);
    shape.result = side(p.rows, p.valueDepth);
    shape.scale = 0.3f;
    shape.nanToZero = nanToZero;
    shape.hasMask = p.mask != Heads::None;
    shape.maskType = p.mask == Heads::Flags ? DType::Bool : DType::F32;
    shape.mask = {{0, 0}, p.mask == Heads::AddedRow ? 0 : p.keys, 1};
    amx::Attention attention(shape);
    ASSERT_EQ(attention.heads(), p.batch * p.heads);
    Scratch scratch(attention.scratchBytes());
    std::vector<Bf16> result(p.batch * p.rows * p.heads * p.valueDepth, 0x7fc0);
    const void *mask = p.mask == Heads::Flags ? static_cast<const void *>(flags.data()) : added.data();
    amx::AttentionOperands operands{query.data(), key.data(), value.data(), mask, result.data(), scratch.memory.get()};
    attention.run(operands, 0, 1);
    attention.run(operands, 1, attention.heads());
    for (int64_t b = 0; b < p.batch; ++b)
      for (int64_t h = 0; h < p.heads; ++h)
        for (int64_t i = 0; i < p.rows; ++i) {
          std::vector<double> scores(p.keys);
          double largest = -INFINITY, sum = 0;
          for (int64_t j = 0; j < p.keys; ++j) {
            for (int64_t d = 0; d < p.depth; ++d)
              scores[j] += fromBf16(query[((b * p.rows + i) * p.heads + h) * p.depth + d]) * fromBf16(key[((b * p.keys + j) * p.heads + h) * p.depth + d]);
            scores[j] *= shape.scale;
            if (p.mask == Heads::Flags)
              scores[j] = flags[i * p.keys + j] ? scores[j] : -INFINITY;
            else if (shape.hasMask)
              scores[j] += added[(p.mask == Heads::AddedRow ? 0 : i * p.keys) + j];
            largest = std::max(largest, scores[j]);
          }
          for (double &score : scores)
            sum += score = std::exp(score - largest);
          for (int64_t d = 0; d < p.valueDepth; ++d) {
            double expected = 0;
            for (int64_t j = 0; j < p.keys; ++j)
              expected += scores[j] / sum * fromBf16(value[((b * p.keys + j) * p.heads + h) * p.valueDepth + d]);
            if (nanToZero && std::isnan(sum))
              expected = 0;
            double got = fromBf16(result[((b * p.rows + i) * p.heads + h) * p.valueDepth + d]);
            if (std::isnan(expected))
              EXPECT_TRUE(std::isnan(got)) << got;
            else
              EXPECT_NEAR(got, expected, 0.008) << "batch " << b << " head " << h << " row " << i << " column " << d;
          }
        }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AmxAttention,
                         testing::Values(Heads{1, 2, 32, 32, 32, 32, Heads::None}, Heads{2, 3, 7, 50, 20, 33, Heads::None},
                                         Heads{1, 2, 33, 65, 64, 64, Heads::Added}, Heads{1, 2, 5, 17, 64, 64, Heads::AddedRow},
                                         Heads{1, 2, 40, 40, 64, 96, Heads::Flags}, Heads{3, 1, 1, 1, 1, 1, Heads::None}));

} // namespace
