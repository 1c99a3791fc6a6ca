#include "LibraryReference.h"

#include "runtime/devices/cpu/LibraryCall.h"

using namespace graphc;
using namespace graphc::test;
using testing::HasSubstr;

namespace {

struct Product {
  std::vector<int64_t> batch;
  int64_t m, k, n;
  bool constantWeights = true, transposedWeights = false, transposedSource = false, bias = false;
  bool batchedWeights = false;
  int threads = 1;
  std::vector<gp::PostOpKind> postOps = {};
};

std::ostream &operator<<(std::ostream &s, const Product &p) {
  return s << "[" << joined(p.batch) << "] " << p.m << "x" << p.k << "x" << p.n << " threads " << p.threads;
}

class MatMul : public testing::TestWithParam<Product> {};

TEST_P(MatMul, MatchesLoops) {
  const Product &p = GetParam();
  int64_t batches = 1;
  for (int64_t b : p.batch)
    batches *= b;
  auto with = [&](std::initializer_list<int64_t> tail, bool batched = true) {
    std::vector<int64_t> dims = batched ? p.batch : std::vector<int64_t>();
    dims.insert(dims.end(), tail);
    return dims;
  };
  PlanBuilder b;
  std::vector<int64_t> aStored = p.transposedSource ? with({p.k, p.m}) : with({p.m, p.k});
  std::vector<int64_t> wStored = p.transposedWeights ? with({p.n, p.k}, p.batchedWeights) : with({p.k, p.n}, p.batchedWeights);
  auto aValues = randomFloats(batches * p.m * p.k, 1), wValues = randomFloats((p.batchedWeights ? batches : 1) * p.k * p.n, 2);
  auto biasValues = randomFloats(p.n, 3), otherValues = randomFloats(batches * p.m * p.n, 4);
  int a = b.input("a", DType::F32, b.constants(aStored));
  int y = b.output("y", DType::F32, b.constants(with({p.m, p.n})));
  int w = p.constantWeights ? b.weight("w", wStored, wValues) : b.input("w", DType::F32, b.constants(wStored));
  int bias = p.bias ? b.weight("bias", {p.n}, biasValues) : -1;

  auto swapped = [&](int buffer, const std::vector<int64_t> &stored) {
    auto strides = Shape(stored).denseStrides();
    auto dims = stored;
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    std::swap(strides[dims.size() - 1], strides[dims.size() - 2]);
    return PlanBuilder::operand(buffer, b.constants(dims), b.constants(strides));
  };
  gp::LibraryT library;
  library.kind = gp::LibraryKind::MatMul;
  library.operands.push_back(p.transposedSource ? swapped(a, aStored) : PlanBuilder::operand(a));
  library.operands.push_back(p.transposedWeights ? swapped(w, wStored) : PlanBuilder::operand(w));
  library.operands.push_back(PlanBuilder::operand(bias));
  library.operands.push_back(PlanBuilder::operand(y));
  std::vector<int> reads = {a, w};
  for (gp::PostOpKind kind : p.postOps) {
    int operand = -1;
    if (kind >= gp::PostOpKind::BinaryAdd) {
      int other = b.weight("other", with({p.m, p.n}), otherValues);
      operand = static_cast<int>(library.operands.size());
      library.operands.push_back(PlanBuilder::operand(other));
      reads.push_back(other);
    }
    library.post_ops.push_back(PlanBuilder::postOp(kind, 0.5f, 0.75f, operand));
  }
  std::vector<std::unique_ptr<gp::PostOpT>> ops;
  for (auto &op : library.post_ops)
    ops.push_back(std::make_unique<gp::PostOpT>(*op));
  b.add("matmul", std::move(library), reads, {y});
  if (p.threads > 1)
    b.options.pool = std::make_shared<SpinPool>(SpinPoolOptions{.threads = p.threads});
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  EXPECT_FALSE((*executable)->implementation(0).empty());

  std::vector<HostTensor> inputs, outputs(1);
  inputs.push_back(HostTensor::of<float>(Shape(aStored), std::span<const float>(aValues)));
  if (!p.constantWeights)
    inputs.push_back(HostTensor::of<float>(Shape(wStored), std::span<const float>(wValues)));
  ASSERT_OK((*executable)->run(inputs, outputs));

  std::vector<double> expected(batches * p.m * p.n);
  for (int64_t q = 0; q < batches; ++q)
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        double sum = p.bias ? biasValues[j] : 0;
        for (int64_t k = 0; k < p.k; ++k) {
          double left = aValues[q * p.m * p.k + (p.transposedSource ? k * p.m + i : i * p.k + k)];
          double right = wValues[(p.batchedWeights ? q * p.k * p.n : 0) + (p.transposedWeights ? j * p.k + k : k * p.n + j)];
          sum += left * right;
        }
        int64_t at = (q * p.m + i) * p.n + j;
        for (const auto &op : ops)
          sum = applyPostOp(*op, sum, otherValues[at]);
        expected[at] = sum;
      }
  expectClose(outputs[0].values<float>(), expected);
}

using enum gp::PostOpKind;
INSTANTIATE_TEST_SUITE_P(
    All, MatMul,
    testing::Values(Product{{}, 5, 7, 9}, Product{{}, 64, 128, 96, .bias = true, .postOps = {Relu}},
                    Product{{}, 64, 128, 96, .transposedWeights = true, .bias = true, .postOps = {GeluErf}},
                    Product{{}, 33, 64, 40, .transposedSource = true}, Product{{2, 3}, 4, 8, 5, .batchedWeights = true},
                    Product{{4}, 16, 32, 24, .bias = true, .postOps = {Clip, BinaryAdd}},
                    Product{{4}, 16, 32, 24, .constantWeights = false, .transposedWeights = true, .batchedWeights = true},
                    Product{{}, 200, 300, 256, .bias = true, .threads = 2, .postOps = {BinaryMul, Swish}},
                    Product{{}, 1, 2048, 1000, .bias = true, .threads = 2},
                    Product{{}, 3, 4096, 1000, .transposedWeights = true, .threads = 3, .postOps = {BinaryAdd, Relu}},
                    Product{{}, 1, 11616, 32, .transposedWeights = true, .bias = true, .postOps = {Relu}},
                    Product{{}, 3, 9001, 700, .bias = true, .threads = 2, .postOps = {BinaryAdd, Tanh}},
                    Product{{8}, 64, 64, 64, .constantWeights = false, .batchedWeights = true, .threads = 2},
                    Product{{}, 6, 10, 12, .postOps = {Linear, Tanh, Abs, Square}}, Product{{}, 6, 10, 12, .postOps = {Elu, HardSwish, HardSigmoid}},
                    Product{{}, 6, 10, 12, .postOps = {Logistic, Exp, SoftRelu, GeluTanh}},
                    Product{{}, 6, 10, 12, .postOps = {BinarySub, BinaryMax, BinaryMin}}));

TEST(MatMul, SourcesWithGapsKeepTheLibrarysKernel) {
  // Every second element: the state of a recurrent network, taken out of a pair.
  for (int64_t rows : {1, 3}) {
    PlanBuilder b;
    int two = b.constant(2), m = b.constant(rows), k = b.constant(128), out = b.constant(96), row = b.constant(256), one = b.constant(1);
    auto values = randomFloats(128 * 96, 1), state = randomFloats(rows * 256, 2);
    int x = b.input("x", DType::F32, {m, k, two}), y = b.output("y", DType::F32, {m, out});
    int w = b.weight<float>("w", {128, 96}, values);
    gp::LibraryT library;
    library.kind = gp::LibraryKind::MatMul;
    library.operands.push_back(PlanBuilder::operand(x, {m, k}, {row, two}, one));
    for (int buffer : {w, -1, y})
      library.operands.push_back(PlanBuilder::operand(buffer));
    b.add("matmul", std::move(library), {x, w}, {y});
    auto executable = b.load();
    ASSERT_TRUE(executable.ok()) << executable.status().str();
    EXPECT_EQ((*executable)->implementation(0).find("ref"), std::string::npos) << (*executable)->implementation(0);
    std::vector<HostTensor> inputs, outputs(1);
    inputs.push_back(HostTensor::of<float>({rows, 128, 2}, std::span<const float>(state)));
    ASSERT_OK((*executable)->run(inputs, outputs));
    std::vector<double> expected(rows * 96);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < 96; ++j)
        for (int64_t d = 0; d < 128; ++d)
          expected[i * 96 + j] += double(state[(i * 128 + d) * 2 + 1]) * double(values[d * 96 + j]);
    expectClose(outputs[0].values<float>(), expected);
  }
}

TEST(MatMul, SymbolicRowsSharePackedWeights) {
  PlanBuilder b;
  int n = b.symbolExpr(b.symbol("n", 0, 0)), k = b.constant(64), out = b.constant(48);
  auto values = randomFloats(64 * 48, 1);
  int x = b.input("x", DType::F32, {n, k}), y = b.output("y", DType::F32, {n, out});
  int w = b.weight<float>("w", {64, 48}, values);
  gp::LibraryT library;
  library.kind = gp::LibraryKind::MatMul;
  for (int buffer : {x, w, -1, y})
    library.operands.push_back(PlanBuilder::operand(buffer));
  b.add("matmul", std::move(library), {x, w}, {y});
  auto executable = *b.load();
  int64_t packed = -1;
  for (int64_t rows : {1, 2, 3, 5, 8, 13, 40, 77, 100, 33, 34, 35, 250, 1000, 77, 77, 77, 77, 0}) {
    auto xs = randomFloats(rows * 64, static_cast<uint32_t>(rows));
    HostTensor input = HostTensor::of<float>({rows, 64}, std::span<const float>(xs));
    std::vector<HostTensor> outputs(1);
    ASSERT_OK(executable->run({&input, 1}, outputs));
    std::vector<double> expected(rows * 48);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < 48; ++j)
        for (int64_t q = 0; q < 64; ++q)
          expected[i * 48 + j] += static_cast<double>(xs[i * 64 + q]) * values[q * 48 + j];
    expectClose(outputs[0].values<float>(), expected);
    if (packed < 0)
      packed = executable->statistics().packedBytes;
    EXPECT_EQ(executable->statistics().packedBytes, packed) << rows;
  }
}

TEST(MatMul, SumAddsToTheDestination) {
  PlanBuilder b;
  int two = b.constant(2);
  int x = b.input("x", DType::F32, {two, two}), y = b.output("y", DType::F32, {two, two});
  int w = b.weight<float>("w", {2, 2}, {1, 0, 0, 1});
  gp::CopyT copy;
  copy.src = PlanBuilder::operand(x);
  copy.dst = PlanBuilder::operand(y);
  b.add("copy", std::move(copy), {x}, {y});
  gp::LibraryT library;
  for (int buffer : {x, w, -1, y})
    library.operands.push_back(PlanBuilder::operand(buffer));
  library.post_ops.push_back(PlanBuilder::postOp(gp::PostOpKind::Sum, 2));
  b.add("matmul", std::move(library), {x, w, y}, {y});
  auto executable = *b.load();
  HostTensor input = HostTensor::of<float>({2, 2}, {1, 2, 3, 4});
  std::vector<HostTensor> outputs(1);
  ASSERT_OK(executable->run({&input, 1}, outputs));
  EXPECT_THAT(outputs[0].values<float>(), testing::ElementsAre(3, 6, 9, 12));
}

TEST(MatMul, EmptyInnerDimensionGivesZeros) {
  PlanBuilder b;
  int two = b.constant(2), zero = b.constant(0), three = b.constant(3);
  int x = b.input("x", DType::F32, {two, zero}), w = b.input("w", DType::F32, {zero, three}), y = b.output("y", DType::F32, {two, three});
  gp::LibraryT library;
  for (int buffer : {x, w, -1, y})
    library.operands.push_back(PlanBuilder::operand(buffer));
  b.add("matmul", std::move(library), {x, w}, {y});
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  std::vector<HostTensor> inputs, outputs(1);
  inputs.push_back(*HostTensor::allocate(DType::F32, {2, 0}));
  inputs.push_back(*HostTensor::allocate(DType::F32, {0, 3}));
  outputs[0] = HostTensor::of<float>({2, 3}, {9, 9, 9, 9, 9, 9});
  ASSERT_OK((*executable)->run(inputs, outputs));
  EXPECT_THAT(outputs[0].values<float>(), testing::Each(0.0f));
}

TEST(MatMul, MismatchesAndTypesAreExplained) {
  auto build = [](DType dtype, int64_t k2) {
    PlanBuilder b;
    int two = b.constant(2), k = b.constant(4), other = b.constant(k2);
    int x = b.input("x", dtype, {two, k}), w = b.input("w", dtype, {other, two}), y = b.output("y", dtype, {two, two});
    gp::LibraryT library;
    for (int buffer : {x, w, -1, y})
      library.operands.push_back(PlanBuilder::operand(buffer));
    b.add("mm", std::move(library), {x, w}, {y});
    return b.load().status();
  };
  EXPECT_TRUE(build(DType::F32, 4).ok());
  EXPECT_THAT(build(DType::F32, 5).message(), HasSubstr("'mm' (test.cpp:mm): matmul: the sizes [2, 4], [5, 2], -, [2, 2]"));
  Status f64 = build(DType::F64, 4);
  EXPECT_EQ(f64.code(), Code::UnsupportedByLibrary);
  EXPECT_THAT(f64.message(), HasSubstr("no element type f64"));
}

TEST(MatMul, IntegersAccumulateExactly) {
  PlanBuilder b;
  int m = b.constant(3), k = b.constant(64), n = b.constant(5);
  int x = b.input("x", DType::U8, {m, k}), w = b.input("w", DType::I8, {k, n}), y = b.output("y", DType::I32, {m, n});
  gp::LibraryT library;
  for (int buffer : {x, w, -1, y})
    library.operands.push_back(PlanBuilder::operand(buffer));
  b.add("mm", std::move(library), {x, w}, {y});
  auto executable = b.load();
  if (!cpu::exactInt8()) {
    EXPECT_EQ(executable.status().code(), Code::UnsupportedByLibrary);
    EXPECT_THAT(executable.status().message(), HasSubstr("need a CPU with VNNI"));
    return;
  }
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  std::vector<HostTensor> inputs, outputs(1);
  inputs.push_back(*HostTensor::allocate(DType::U8, {3, 64}));
  inputs.push_back(*HostTensor::allocate(DType::I8, {64, 5}));
  std::fill_n(inputs[0].data<uint8_t>(), 192, uint8_t{255});
  std::fill_n(inputs[1].data<int8_t>(), 320, int8_t{-128});
  ASSERT_OK((*executable)->run(inputs, outputs));
  EXPECT_THAT(outputs[0].values<int32_t>(), testing::Each(255 * -128 * 64));
}

} // namespace
