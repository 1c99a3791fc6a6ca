// Library calls that a kernel on AMX tiles takes over: which calls, whatever the slices the same bits, strided operands.
#include "LibraryReference.h"

#include "runtime/devices/cpu/amx/MatMul.h"

#include <bit>

using namespace graphc;
using namespace graphc::test;
using testing::HasSubstr;

namespace {

using Bf16 = uint16_t;

Bf16 toBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<Bf16>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
double fromBf16(Bf16 value) { return std::bit_cast<float>(uint32_t(value) << 16); }

std::vector<Bf16> randomHalves(int64_t count, uint32_t seed) {
  std::vector<Bf16> values;
  for (float value : randomFloats(count, seed))
    values.push_back(toBf16(value));
  return values;
}

HostTensor tensorOf(Shape shape, const std::vector<Bf16> &values) {
  HostTensor tensor = *HostTensor::allocate(DType::BF16, shape);
  std::memcpy(tensor.raw(), values.data(), values.size() * sizeof(Bf16));
  return tensor;
}
std::vector<Bf16> halvesOf(const HostTensor &tensor) {
  std::vector<Bf16> values(tensor.sizeBytes() / sizeof(Bf16));
  std::memcpy(values.data(), tensor.raw(), tensor.sizeBytes());
  return values;
}
int weightOf(PlanBuilder &b, std::vector<int64_t> dims, const std::vector<Bf16> &values) {
  int weight = b.weight("w", std::move(dims), values); // the builder knows these bits as u16
  b.plan->buffers[weight]->dtype = gp::DType::BF16;
  return weight;
}
void useThreads(PlanBuilder &b, int threads) {
  if (threads > 1)
    b.options.pool = std::make_shared<SpinPool>(SpinPoolOptions{.threads = threads});
}

class AmxCall : public testing::Test {
protected:
  void SetUp() override {
    if (!cpu::amx::available())
      GTEST_SKIP() << "no AMX on this machine";
  }
};

/// Pointwise, channels last, bias, a residual and a relu: rows (many pixels) or columns (few) are shared out.
TEST_F(AmxCall, PointwiseConvolution) {
  for (auto [height, width, in, out] : {std::array<int64_t, 4>{30, 31, 70, 90}, {3, 2, 330, 1100}}) {
    auto x = randomHalves(2 * height * width * in, 1), w = randomHalves(out * in, 2), other = randomHalves(2 * height * width * out, 3);
    auto bias = randomFloats(out, 4);
    std::vector<Bf16> single;
    for (int threads : {1, 2, 3}) {
      PlanBuilder b;
      int input = b.input("x", DType::BF16, b.constants({2, height, width, in}));
      int residual = b.input("r", DType::BF16, b.constants({2, height, width, out}));
      int output = b.output("y", DType::BF16, b.constants({2, height, width, out}));
      int weights = weightOf(b, {out, in, 1, 1}, w), biases = b.weight("b", {out}, bias);
      gp::LibraryT library;
      library.kind = gp::LibraryKind::Conv;
      for (int buffer : {input, weights, biases, output, residual})
        library.operands.push_back(PlanBuilder::operand(buffer));
      library.post_ops.push_back(PlanBuilder::postOp(gp::PostOpKind::BinaryAdd, 0, 0, 4));
      library.post_ops.push_back(PlanBuilder::postOp(gp::PostOpKind::Relu));
      b.add("conv", std::move(library), {input, weights, biases, residual}, {output});
      useThreads(b, threads);
      auto executable = b.load();
      ASSERT_TRUE(executable.ok()) << executable.status().str();
      EXPECT_EQ((*executable)->implementation(0), "amx:bf16");
      std::vector<HostTensor> inputs, outputs(1);
      inputs.push_back(tensorOf({2, height, width, in}, x));
      inputs.push_back(tensorOf({2, height, width, out}, other));
      ASSERT_OK((*executable)->run(inputs, outputs));
      auto got = halvesOf(outputs[0]);
      if (threads > 1) {
        EXPECT_EQ(got, single) << threads << " threads";
        continue;
      }
      single = got;
      for (int64_t pixel = 0; pixel < 2 * height * width; ++pixel)
        for (int64_t o = 0; o < out; ++o) {
          double expected = bias[o] + fromBf16(other[pixel * out + o]);
          for (int64_t i = 0; i < in; ++i)
            expected += fromBf16(x[pixel * in + i]) * fromBf16(w[o * in + i]);
          expected = std::max(expected, 0.0);
          ASSERT_NEAR(fromBf16(got[pixel * out + o]), expected, 0.004 * expected + 1e-3) << "pixel " << pixel << " channel " << o;
        }
    }
  }
}

/// What the kernel does not know goes to the library as before.
TEST_F(AmxCall, TheLibraryKeepsTheRest) {
  auto implementation = [](gp::PostOpKind kind, bool constant) {
    PlanBuilder b;
    int x = b.input("x", DType::BF16, b.constants({64, 64})), y = b.output("y", DType::BF16, b.constants({64, 64}));
    int w = constant ? weightOf(b, {64, 64}, randomHalves(64 * 64, 1)) : b.input("w", DType::BF16, b.constants({64, 64}));
    gp::LibraryT library;
    library.kind = gp::LibraryKind::MatMul;
    for (int buffer : {x, w, -1, y})
      library.operands.push_back(PlanBuilder::operand(buffer));
    library.post_ops.push_back(PlanBuilder::postOp(kind));
    b.add("mm", std::move(library), {x, w}, {y});
    auto executable = b.load();
    return executable.ok() ? (*executable)->implementation(0) : executable.status().str();
  };
  EXPECT_EQ(implementation(gp::PostOpKind::Relu, true), "amx:bf16");
  EXPECT_THAT(implementation(gp::PostOpKind::Abs, true), HasSubstr("brg"));
  EXPECT_THAT(implementation(gp::PostOpKind::Relu, false), HasSubstr("brg"));
}

TEST_F(AmxCall, RowsKnownAtRunTime) {
  PlanBuilder b;
  int n = b.symbolExpr(b.symbol("n", 0, 0)), k = b.constant(96), out = b.constant(50);
  auto w = randomHalves(96 * 50, 1);
  int x = b.input("x", DType::BF16, {n, k}), y = b.output("y", DType::F32, {n, out}), weights = weightOf(b, {96, 50}, w);
  gp::LibraryT library;
  library.kind = gp::LibraryKind::MatMul;
  for (int buffer : {x, weights, -1, y})
    library.operands.push_back(PlanBuilder::operand(buffer));
  b.add("mm", std::move(library), {x, weights}, {y});
  useThreads(b, 2);
  auto executable = *b.load();
  for (int64_t rows : {1, 5, 31, 33, 200, 1500, 0, 200}) {
    auto values = randomHalves(rows * 96, static_cast<uint32_t>(rows));
    std::vector<HostTensor> inputs, outputs(1);
    inputs.push_back(tensorOf({rows, 96}, values));
    ASSERT_OK(executable->run(inputs, outputs));
    std::vector<double> expected(rows * 50);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < 50; ++j)
        for (int64_t d = 0; d < 96; ++d)
          expected[i * 50 + j] += fromBf16(values[i * 96 + d]) * fromBf16(w[d * 50 + j]);
    expectClose(outputs[0].values<float>(), expected);
  }
}

/// Query, key and value are thirds of one projection, the result goes back to rows of heads: strides on every side.
TEST(AttentionCall, ReadsAndWritesByStrides) {
  constexpr int64_t rows = 37, heads = 4, depth = 24, width = heads * depth;
  auto projection = randomHalves(2 * rows * 3 * width, 1);
  std::vector<Bf16> single;
  for (int threads : {1, 2}) {
    PlanBuilder b;
    int x = b.input("x", DType::BF16, b.constants({2, rows, 3 * width})), y = b.output("y", DType::BF16, b.constants({2, rows, width}));
    gp::LibraryT library;
    library.kind = gp::LibraryKind::Attention;
    library.scale = 0.25f;
    for (int64_t third : {0, 1, 2})
      library.operands.push_back(PlanBuilder::operand(x, b.constants({2, heads, rows, depth}),
                                                      b.constants({rows * 3 * width, depth, 3 * width, 1}), b.constant(third * width)));
    library.operands.push_back(PlanBuilder::operand(y, b.constants({2, heads, rows, depth}), b.constants({rows * width, depth, width, 1})));
    b.add("attention", std::move(library), {x}, {y});
    useThreads(b, threads);
    auto executable = b.load();
    if (!cpu::amx::available()) {
      EXPECT_EQ(executable.status().code(), Code::UnsupportedByLibrary);
      EXPECT_THAT(executable.status().message(), HasSubstr("needs a CPU with AMX"));
      GTEST_SKIP() << "no AMX on this machine";
    }
    ASSERT_TRUE(executable.ok()) << executable.status().str();
    std::vector<HostTensor> inputs, outputs(1);
    inputs.push_back(tensorOf({2, rows, 3 * width}, projection));
    ASSERT_OK((*executable)->run(inputs, outputs));
    auto got = halvesOf(outputs[0]);
    if (threads > 1) {
      EXPECT_EQ(got, single);
      continue;
    }
    single = got;
    auto at = [&](int64_t batch, int64_t row, int64_t third, int64_t head, int64_t column) {
      return fromBf16(projection[((batch * rows + row) * 3 + third) * width + head * depth + column]);
    };
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < rows; ++i) {
          std::vector<double> p(rows);
          double sum = 0;
          for (int64_t j = 0; j < rows; ++j) {
            for (int64_t d = 0; d < depth; ++d)
              p[j] += at(n, i, 0, h, d) * at(n, j, 1, h, d);
            sum += p[j] = std::exp(p[j] * 0.25);
          }
          for (int64_t d = 0; d < depth; ++d) {
            double expected = 0;
            for (int64_t j = 0; j < rows; ++j)
              expected += p[j] / sum * at(n, j, 2, h, d);
            ASSERT_NEAR(fromBf16(got[(n * rows + i) * width + h * depth + d]), expected, 0.006);
          }
        }
  }
}

} // namespace
