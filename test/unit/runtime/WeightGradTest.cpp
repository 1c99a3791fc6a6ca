// Gradients of convolution weights through the library, against naive loops; the same bits for any number of threads.
#include "LibraryReference.h"

using namespace graphc;
using namespace graphc::test;

namespace {

struct Case {
  int64_t batch, in, out, height, width, kernel;
  int64_t stride = 1, dilation = 1, pad = 0, groups = 1, chunks = 4;
  gp::Layout layout = gp::Layout::ChannelsLast;
};

std::ostream &operator<<(std::ostream &s, const Case &c) {
  return s << c.batch << "x" << c.in << "->" << c.out << " " << c.height << "x" << c.width << " k" << c.kernel << " s" << c.stride << " g"
           << c.groups << " chunks " << c.chunks;
}

class WeightGrad : public testing::TestWithParam<Case> {
protected:
  Case c = GetParam();
  int64_t outHeight = (c.height + 2 * c.pad - (c.kernel - 1) * c.dilation - 1) / c.stride + 1;
  int64_t outWidth = (c.width + 2 * c.pad - (c.kernel - 1) * c.dilation - 1) / c.stride + 1;

  std::vector<int64_t> dims(int64_t channels, int64_t h, int64_t w) const {
    return c.layout == gp::Layout::ChannelsLast ? std::vector{c.batch, h, w, channels} : std::vector{c.batch, channels, h, w};
  }
  int64_t at(int64_t channels, int64_t h, int64_t w, int64_t n, int64_t channel, int64_t y, int64_t x) const {
    return c.layout == gp::Layout::ChannelsLast ? ((n * h + y) * w + x) * channels + channel : ((n * channels + channel) * h + y) * w + x;
  }

  std::vector<float> run(const std::vector<float> &x, const std::vector<float> &g, int threads) const {
    PlanBuilder b;
    auto xDims = dims(c.in, c.height, c.width), gDims = dims(c.out, outHeight, outWidth);
    std::vector<int64_t> wDims = {c.chunks, c.out, c.in / c.groups, c.kernel, c.kernel};
    int xBuffer = b.input("x", DType::F32, b.constants(xDims)), gBuffer = b.input("g", DType::F32, b.constants(gDims));
    int wBuffer = b.output("w", DType::F32, b.constants(wDims));
    gp::LibraryT library;
    library.kind = gp::LibraryKind::ConvWeightGrad;
    library.layout = c.layout;
    library.groups = c.groups;
    library.strides = {c.stride, c.stride};
    library.dilations = {c.dilation, c.dilation};
    library.pads_begin = b.constants({c.pad, c.pad});
    library.pads_end = b.constants({c.pad, c.pad});
    for (int buffer : {xBuffer, wBuffer, -1, gBuffer})
      library.operands.push_back(PlanBuilder::operand(buffer));
    b.add("weight gradient", std::move(library), {xBuffer, gBuffer}, {wBuffer});
    if (threads > 1)
      b.options.pool = std::make_shared<SpinPool>(SpinPoolOptions{.threads = threads});
    auto executable = b.load();
    EXPECT_TRUE(executable.ok()) << executable.status().str();
    std::vector<HostTensor> inputs, outputs(1);
    inputs.push_back(HostTensor::of<float>(Shape(xDims), std::span<const float>(x)));
    inputs.push_back(HostTensor::of<float>(Shape(gDims), std::span<const float>(g)));
    for (int round = 0; round < 2; ++round) {
      Status status = (*executable)->run(inputs, outputs);
      EXPECT_TRUE(status.ok()) << status.str();
    }
    auto values = outputs[0].values<float>();
    return {values.begin(), values.end()};
  }
};

TEST_P(WeightGrad, MatchesLoopsChunkByChunk) {
  auto x = randomFloats(c.batch * c.in * c.height * c.width, 1), g = randomFloats(c.batch * c.out * outHeight * outWidth, 2);
  std::vector<double> expected;
  int64_t inPerGroup = c.in / c.groups, outPerGroup = c.out / c.groups;
  for (int64_t chunk = 0; chunk < c.chunks; ++chunk)
    for (int64_t o = 0; o < c.out; ++o)
      for (int64_t i = 0; i < inPerGroup; ++i)
        for (int64_t ky = 0; ky < c.kernel; ++ky)
          for (int64_t kx = 0; kx < c.kernel; ++kx) {
            double sum = 0;
            for (int64_t n = c.batch * chunk / c.chunks; n < c.batch * (chunk + 1) / c.chunks; ++n)
              for (int64_t y = 0; y < outHeight; ++y)
                for (int64_t z = 0; z < outWidth; ++z) {
                  int64_t sy = y * c.stride + ky * c.dilation - c.pad, sx = z * c.stride + kx * c.dilation - c.pad;
                  if (sy < 0 || sy >= c.height || sx < 0 || sx >= c.width)
                    continue;
                  sum += double(x[at(c.in, c.height, c.width, n, o / outPerGroup * inPerGroup + i, sy, sx)]) *
                         g[at(c.out, outHeight, outWidth, n, o, y, z)];
                }
            expected.push_back(sum);
          }
  expectClose(run(x, g, 1), expected);
}

TEST_P(WeightGrad, HasTheSameBitsForAnyNumberOfThreads) {
  auto x = randomFloats(c.batch * c.in * c.height * c.width, 3), g = randomFloats(c.batch * c.out * outHeight * outWidth, 4);
  EXPECT_EQ(run(x, g, 1), run(x, g, 2));
  EXPECT_EQ(run(x, g, 1), run(x, g, 3));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, WeightGrad,
    testing::Values(Case{8, 16, 32, 14, 14, 3, 1, 1, 1}, Case{5, 3, 8, 9, 7, 3, 2, 1, 1},
                    Case{4, 8, 16, 10, 10, 3, 1, 2, 2}, Case{6, 8, 16, 8, 8, 3, 1, 1, 1, 2},
                    Case{4, 16, 16, 7, 7, 3, 1, 1, 1, 16}, Case{8, 1, 32, 28, 28, 3, 1, 1, 1},
                    // a row that no window reaches, and more chunks than images
                    Case{2, 4, 8, 8, 8, 3, 2, 1, 0, 1, 4}, Case{4, 8, 8, 6, 6, 1, 1, 1, 0},
                    Case{4, 8, 16, 10, 10, 3, 1, 1, 1, 1, 2, gp::Layout::ChannelsFirst}));

} // namespace
