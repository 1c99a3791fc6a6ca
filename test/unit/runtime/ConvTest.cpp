#include "LibraryReference.h"

using namespace graphc;
using namespace graphc::test;

namespace {

struct Conv {
  std::vector<int64_t> spatial; // of the source
  int64_t batch, in, out;
  std::vector<int64_t> kernel;
  int64_t groups = 1;
  std::vector<int64_t> strides = {}, dilations = {}, padsBegin = {}, padsEnd = {};
  gp::Layout layout = gp::Layout::ChannelsLast;
  bool bias = false, constantWeights = true, transposed = false;
  int threads = 1;
  std::vector<gp::PostOpKind> postOps = {};
  int64_t outputPadding = 0;
};

std::ostream &operator<<(std::ostream &s, const Conv &c) {
  return s << "[" << joined(c.spatial) << "] " << c.in << "->" << c.out << " k[" << joined(c.kernel) << "] g" << c.groups << " threads "
           << c.threads;
}

/// Row-major walk over `dims`.
template <typename Body>
void forEach(const std::vector<int64_t> &dims, Body body) {
  std::vector<int64_t> index(dims.size());
  for (int64_t dim : dims)
    if (dim == 0)
      return;
  while (true) {
    body(index);
    size_t d = dims.size();
    while (d > 0 && ++index[d - 1] == dims[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

class Convolution : public testing::TestWithParam<Conv> {};

TEST_P(Convolution, MatchesLoops) {
  Conv c = GetParam();
  size_t spatial = c.spatial.size();
  auto fill = [&](std::vector<int64_t> &values, int64_t value) {
    if (values.empty())
      values.assign(spatial, value);
  };
  fill(c.strides, 1);
  fill(c.dilations, 1);
  fill(c.padsBegin, 0);
  fill(c.padsEnd, 0);
  std::vector<int64_t> outSpatial;
  for (size_t d = 0; d < spatial; ++d) {
    int64_t reach = (c.kernel[d] - 1) * c.dilations[d] + 1;
    outSpatial.push_back(c.transposed ? (c.spatial[d] - 1) * c.strides[d] + reach - c.padsBegin[d] - c.padsEnd[d] + c.outputPadding
                                      : (c.spatial[d] + c.padsBegin[d] + c.padsEnd[d] - reach) / c.strides[d] + 1);
  }
  bool last = c.layout == gp::Layout::ChannelsLast;
  auto tensorDims = [&](int64_t channels, const std::vector<int64_t> &sizes) {
    std::vector<int64_t> dims = {c.batch};
    if (!last)
      dims.push_back(channels);
    dims.insert(dims.end(), sizes.begin(), sizes.end());
    if (last)
      dims.push_back(channels);
    return dims;
  };
  auto indexOf = [&](const std::vector<int64_t> &dims, int64_t n, int64_t channel, const std::vector<int64_t> &at) {
    auto strides = Shape(dims).denseStrides();
    int64_t offset = n * strides[0] + channel * strides[last ? spatial + 1 : 1];
    for (size_t d = 0; d < spatial; ++d)
      offset += at[d] * strides[d + (last ? 1 : 2)];
    return offset;
  };
  std::vector<int64_t> xDims = tensorDims(c.in, c.spatial), yDims = tensorDims(c.out, outSpatial);
  std::vector<int64_t> wDims = c.transposed ? std::vector<int64_t>{c.in, c.out / c.groups} : std::vector<int64_t>{c.out, c.in / c.groups};
  wDims.insert(wDims.end(), c.kernel.begin(), c.kernel.end());
  auto x = randomFloats(Shape(xDims).elements(), 1), w = randomFloats(Shape(wDims).elements(), 2), bias = randomFloats(c.out, 3),
       other = randomFloats(Shape(yDims).elements(), 4);

  PlanBuilder b;
  int xBuffer = b.input("x", DType::F32, b.constants(xDims)), yBuffer = b.output("y", DType::F32, b.constants(yDims));
  int wBuffer = c.constantWeights ? b.weight("w", wDims, w) : b.input("w", DType::F32, b.constants(wDims));
  int biasBuffer = c.bias ? b.weight("bias", {c.out}, bias) : -1;
  gp::LibraryT library;
  library.kind = c.transposed ? gp::LibraryKind::Deconv : gp::LibraryKind::Conv;
  library.layout = c.layout;
  library.groups = c.groups;
  library.strides = c.strides;
  library.dilations = c.dilations;
  library.pads_begin = b.constants(c.padsBegin);
  library.pads_end = b.constants(c.padsEnd);
  for (int buffer : {xBuffer, wBuffer, biasBuffer, yBuffer})
    library.operands.push_back(PlanBuilder::operand(buffer));
  std::vector<int> reads = {xBuffer, wBuffer};
  for (gp::PostOpKind kind : c.postOps) {
    int operand = -1;
    if (kind >= gp::PostOpKind::BinaryAdd) {
      operand = static_cast<int>(library.operands.size());
      library.operands.push_back(PlanBuilder::operand(b.weight("other", yDims, other)));
    }
    library.post_ops.push_back(PlanBuilder::postOp(kind, 0.25f, 0.5f, operand));
  }
  std::vector<std::unique_ptr<gp::PostOpT>> ops;
  for (auto &op : library.post_ops)
    ops.push_back(std::make_unique<gp::PostOpT>(*op));
  b.add("conv", std::move(library), reads, {yBuffer});
  if (c.threads > 1)
    b.options.pool = std::make_shared<SpinPool>(SpinPoolOptions{.threads = c.threads});
  auto executable = b.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  RecordProperty("implementation", (*executable)->implementation(0));
  std::vector<HostTensor> inputs, outputs(1);
  inputs.push_back(HostTensor::of<float>(Shape(xDims), std::span<const float>(x)));
  if (!c.constantWeights)
    inputs.push_back(HostTensor::of<float>(Shape(wDims), std::span<const float>(w)));
  for (int round = 0; round < 2; ++round)
    ASSERT_OK((*executable)->run(inputs, outputs));

  std::vector<double> expected(Shape(yDims).elements());
  auto wStrides = Shape(wDims).denseStrides();
  auto weightAt = [&](int64_t first, int64_t second, const std::vector<int64_t> &k) {
    int64_t offset = first * wStrides[0] + second * wStrides[1];
    for (size_t d = 0; d < spatial; ++d)
      offset += k[d] * wStrides[2 + d];
    return static_cast<double>(w[offset]);
  };
  int64_t inPerGroup = c.in / c.groups, outPerGroup = c.out / c.groups;
  if (!c.transposed) {
    for (int64_t n = 0; n < c.batch; ++n)
      for (int64_t o = 0; o < c.out; ++o)
        forEach(outSpatial, [&](const std::vector<int64_t> &at) {
          double sum = c.bias ? bias[o] : 0;
          for (int64_t i = 0; i < inPerGroup; ++i)
            forEach(c.kernel, [&](const std::vector<int64_t> &k) {
              std::vector<int64_t> from(spatial);
              for (size_t d = 0; d < spatial; ++d) {
                from[d] = at[d] * c.strides[d] - c.padsBegin[d] + k[d] * c.dilations[d];
                if (from[d] < 0 || from[d] >= c.spatial[d])
                  return;
              }
              sum += x[indexOf(xDims, n, o / outPerGroup * inPerGroup + i, from)] * weightAt(o, i, k);
            });
          int64_t to = indexOf(yDims, n, o, at);
          for (const auto &op : ops)
            sum = applyPostOp(*op, sum, other[to]);
          expected[to] = sum;
        });
  } else {
    for (int64_t n = 0; n < c.batch; ++n)
      for (int64_t i = 0; i < c.in; ++i)
        forEach(c.spatial, [&](const std::vector<int64_t> &from) {
          for (int64_t o = 0; o < outPerGroup; ++o)
            forEach(c.kernel, [&](const std::vector<int64_t> &k) {
              std::vector<int64_t> at(spatial);
              for (size_t d = 0; d < spatial; ++d) {
                at[d] = from[d] * c.strides[d] - c.padsBegin[d] + k[d] * c.dilations[d];
                if (at[d] < 0 || at[d] >= outSpatial[d])
                  return;
              }
              int64_t channel = i / inPerGroup * outPerGroup + o;
              expected[indexOf(yDims, n, channel, at)] += x[indexOf(xDims, n, i, from)] * weightAt(i, o, k);
            });
        });
    for (int64_t n = 0; n < c.batch; ++n)
      for (int64_t o = 0; o < c.out; ++o)
        forEach(outSpatial, [&](const std::vector<int64_t> &at) {
          int64_t to = indexOf(yDims, n, o, at);
          if (c.bias)
            expected[to] += bias[o];
          for (const auto &op : ops)
            expected[to] = applyPostOp(*op, expected[to], other[to]);
        });
  }
  expectClose(outputs[0].values<float>(), expected);
}

using enum gp::PostOpKind;
constexpr auto First = gp::Layout::ChannelsFirst;
INSTANTIATE_TEST_SUITE_P(
    All, Convolution,
    testing::Values(Conv{{8, 9}, 1, 8, 16, {3, 3}, .padsBegin = {1, 1}, .padsEnd = {1, 1}, .bias = true, .postOps = {Relu}},
                    Conv{{8, 9}, 1, 8, 16, {3, 3}, .padsBegin = {1, 1}, .padsEnd = {1, 1}, .layout = First, .bias = true},
                    Conv{{28, 28}, 1, 1, 8, {5, 5}, .padsBegin = {2, 2}, .padsEnd = {2, 2}, .bias = true},
                    Conv{{28, 28}, 1, 1, 8, {5, 5}, .padsBegin = {2, 2}, .padsEnd = {2, 2}, .layout = First},
                    Conv{{32, 32}, 1, 3, 16, {7, 7}, .strides = {2, 2}, .padsBegin = {3, 3}, .padsEnd = {3, 3}, .postOps = {Clip}},
                    Conv{{14, 14}, 2, 32, 64, {1, 1}, .strides = {2, 2}, .postOps = {Relu}},
                    Conv{{14, 14}, 1, 64, 64, {1, 1}, .postOps = {BinaryAdd, Relu}},
                    Conv{{17, 13}, 1, 16, 16, {3, 3}, .groups = 16, .strides = {2, 1}, .padsBegin = {1, 1}, .padsEnd = {1, 1}, .bias = true, .postOps = {HardSwish}},
                    Conv{{10, 10}, 1, 12, 24, {3, 3}, .groups = 3, .padsBegin = {1, 1}, .padsEnd = {0, 2}},
                    Conv{{15, 15}, 1, 8, 8, {3, 3}, .dilations = {2, 3}, .padsBegin = {2, 3}, .padsEnd = {2, 3}},
                    Conv{{50}, 2, 16, 24, {5}, .strides = {2}, .padsBegin = {2}, .padsEnd = {1}, .bias = true},
                    Conv{{50}, 1, 4, 4, {5}, .groups = 4, .dilations = {3}, .layout = First},
                    Conv{{5, 6, 7}, 1, 4, 8, {3, 3, 3}, .padsBegin = {1, 1, 1}, .padsEnd = {1, 1, 1}},
                    Conv{{9, 9}, 1, 8, 8, {3, 3}, .bias = true, .constantWeights = false},
                    Conv{{9, 9}, 1, 7, 13, {3, 3}, .layout = First, .constantWeights = false},
                    Conv{{40, 24}, 1, 32, 32, {3, 3}, .padsBegin = {1, 1}, .padsEnd = {1, 1}, .bias = true, .threads = 2, .postOps = {BinaryAdd, Relu}},
                    Conv{{37, 20}, 1, 32, 40, {3, 3}, .strides = {2, 2}, .padsBegin = {1, 0}, .padsEnd = {1, 1}, .threads = 3},
                    Conv{{12, 12}, 5, 32, 40, {3, 3}, .padsBegin = {1, 1}, .padsEnd = {1, 1}, .threads = 2},
                    Conv{{6, 7}, 1, 8, 12, {3, 3}, .strides = {2, 2}, .padsBegin = {1, 1}, .padsEnd = {1, 1}, .bias = true, .transposed = true, .outputPadding = 1},
                    Conv{{6, 7}, 2, 8, 12, {4, 4}, .groups = 2, .strides = {2, 2}, .padsBegin = {1, 1}, .padsEnd = {1, 1}, .transposed = true, .postOps = {Relu}},
                    Conv{{64, 1}, 1, 16, 24, {5, 1}, .padsBegin = {2, 0}, .padsEnd = {1, 0}, .bias = true, .threads = 2, .postOps = {BinaryAdd, Relu}},
                    Conv{{40, 1}, 2, 8, 16, {3, 1}, .strides = {2, 1}},
                    Conv{{11}, 1, 6, 4, {3}, .strides = {3}, .layout = First, .transposed = true}));

class EveryBatch : public testing::TestWithParam<gp::LibraryKind> {};
INSTANTIATE_TEST_SUITE_P(All, EveryBatch, testing::Values(gp::LibraryKind::Conv, gp::LibraryKind::Deconv, gp::LibraryKind::MaxPool));

TEST_P(EveryBatch, IsServedByOnePlan) {
  bool pools = GetParam() == gp::LibraryKind::MaxPool;
  for (int threads : {1, 2}) {
    PlanBuilder b;
    int n = b.symbolExpr(b.symbol("n", 0, 0, 1)), size = b.constant(12), in = b.constant(16), out = b.constant(pools ? 16 : 24);
    auto w = randomFloats(24 * 16 * 9, 1);
    int x = b.input("x", DType::F32, {n, size, size, in}), y = b.output("y", DType::F32, {n, size, size, out});
    gp::LibraryT library;
    library.kind = GetParam();
    library.kernel_shape = pools ? std::vector<int64_t>{3, 3} : std::vector<int64_t>{};
    int weights = pools ? -1 : b.weight<float>("w", library.kind == gp::LibraryKind::Conv ? std::vector<int64_t>{24, 16, 3, 3} : std::vector<int64_t>{16, 24, 3, 3}, w);
    library.pads_begin = library.pads_end = b.constants({1, 1});
    int bias = pools ? -1 : b.weight<float>("bias", {24}, randomFloats(24, 3));
    for (int buffer : {x, weights, bias, y})
      library.operands.push_back(PlanBuilder::operand(buffer));
    if (!pools)
      library.post_ops.push_back(PlanBuilder::postOp(gp::PostOpKind::Relu));
    b.add("window", std::move(library), pools ? std::vector<int>{x} : std::vector<int>{x, weights}, {y});
    if (threads > 1)
      b.options.pool = std::make_shared<SpinPool>(SpinPoolOptions{.threads = threads});
    auto executable = *b.load();
    auto images = randomFloats(80 * 12 * 12 * 16, 2);
    auto context = *executable->newContext();
    auto run = [&](int64_t first, int64_t count) {
      HostTensor input = HostTensor::borrow(DType::F32, {count, 12, 12, 16}, images.data() + first * 12 * 12 * 16);
      std::vector<HostTensor> outputs(1);
      Status status = executable->run(*context, {&input, 1}, outputs);
      EXPECT_TRUE(status.ok()) << status.str();
      return std::vector<float>(outputs[0].values<float>().begin(), outputs[0].values<float>().end());
    };
    std::vector<std::vector<float>> single;
    for (int64_t i = 0; i < 80; ++i)
      single.push_back(run(i, 1));
    // Put together from blocks of images at first, by a primitive of its own from the third time on.
    for (int64_t count : {2, 2, 2, 2, 7, 32, 32, 32, 32, 3, 31, 80, 63, 80}) {
      auto together = run(0, count);
      for (int64_t i = 0; i < count; ++i)
        for (size_t j = 0; j < single[i].size(); ++j)
          ASSERT_NEAR(together[i * single[i].size() + j], single[i][j], 1e-4);
    }
  }
}

// A slice is chosen the kernel that the whole is: the reference loops are a hundred times slower.
TEST(Convolution, SlicesOfRowsKeepTheLibrarysKernel) {
  std::string whole;
  for (int threads : {1, 2}) {
    PlanBuilder b;
    int one = b.constant(1), size = b.constant(56), in = b.constant(64), out = b.constant(256);
    int x = b.input("x", DType::F32, {one, size, size, in}), y = b.output("y", DType::F32, {one, size, size, out});
    int residual = b.input("r", DType::F32, {one, size, size, out});
    int weights = b.weight<float>("w", {256, 64, 1, 1}, randomFloats(256 * 64, 1));
    int bias = b.weight<float>("bias", {256}, randomFloats(256, 3));
    gp::LibraryT library;
    library.kind = gp::LibraryKind::Conv;
    for (int buffer : {x, weights, bias, y, residual})
      library.operands.push_back(PlanBuilder::operand(buffer));
    auto add = PlanBuilder::postOp(gp::PostOpKind::BinaryAdd);
    add->operand = 4;
    library.post_ops.push_back(std::move(add));
    b.add("conv", std::move(library), {x, weights, residual}, {y});
    if (threads > 1)
      b.options.pool = std::make_shared<SpinPool>(SpinPoolOptions{.threads = threads});
    auto executable = b.load();
    ASSERT_TRUE(executable.ok()) << executable.status().str();
    std::string implementation = (*executable)->implementation(0);
    if (threads == 1)
      whole = implementation;
    else
      EXPECT_EQ(implementation, whole);
  }
}

} // namespace
