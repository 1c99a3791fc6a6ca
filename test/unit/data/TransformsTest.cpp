// Transforms on both forms of images, against values worked out by hand.
#include "frontend/graphc/transforms.h"
#include "test/unit/data/Expect.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace graphc;
using namespace graphc::data;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

namespace {

HostTensor transformed(const Transform &transform, HostTensor image, uint64_t index = 0) {
  RandomStream random(1, 0, index);
  return transform(std::move(image), random);
}
template <typename T>
std::vector<T> valuesOf(const HostTensor &tensor) {
  return {tensor.values<T>().begin(), tensor.values<T>().end()};
}
HostTensor bytes(Shape shape, std::initializer_list<uint8_t> values) { return HostTensor::of<uint8_t>(std::move(shape), values); }
/// 0, 1, 2, … as f32[channels, height, width]
HostTensor counting(int64_t channels, int64_t height, int64_t width) {
  HostTensor image = *HostTensor::allocate(DType::F32, {channels, height, width});
  std::iota(image.data<float>(), image.data<float>() + image.elements(), 0.f);
  return image;
}

TEST(Transforms, ToTensorMovesChannelsFirst) {
  HostTensor grey = transformed(toTensor(), bytes({1, 2}, {0, 255}));
  EXPECT_EQ(grey.shape(), (Shape{1, 1, 2}));
  EXPECT_THAT(valuesOf<float>(grey), ElementsAre(0, 1));
  HostTensor colour = transformed(toTensor(), bytes({1, 2, 3}, {0, 51, 102, 153, 204, 255}));
  EXPECT_EQ(colour.shape(), (Shape{3, 1, 2}));
  EXPECT_THAT(valuesOf<float>(colour), Pointwise(FloatNear(1e-7f), {0.f, .6f, .2f, .8f, .4f, 1.f}));
  EXPECT_ERROR(transformed(toTensor(), counting(1, 1, 1)), Code::ShapeMismatch, HasSubstr("not f32[1, 1, 1]"));
}

TEST(Transforms, NormalizePerChannel) {
  EXPECT_THAT(valuesOf<float>(transformed(normalize({0, 4}, {1, 2}), counting(2, 1, 2))), ElementsAre(0, 1, -1, -.5));
  EXPECT_THAT(valuesOf<float>(transformed(normalize(1, 2), counting(1, 1, 3))), ElementsAre(-.5, 0, .5));
  // Borrowed memory is the dataset's and stays as it is.
  HostTensor own = counting(1, 1, 2);
  transformed(normalize(1, 2), HostTensor::borrow(DType::F32, own.shape(), own.raw()));
  EXPECT_THAT(valuesOf<float>(own), ElementsAre(0, 1));
  EXPECT_ERROR(transformed(normalize(0, 1), bytes({1, 1}, {1})), Code::ShapeMismatch, HasSubstr("put toTensor() before it"));
  EXPECT_ERROR(transformed(normalize({0, 0}, {1, 1}), counting(3, 1, 1)), Code::ShapeMismatch, "normalize: 2 means for an image of 3 channels");
  EXPECT_ERROR(normalize(0, 0), Code::InvalidOption, HasSubstr("a deviation of 0"));
}

TEST(Transforms, CropsAndPads) {
  EXPECT_THAT(valuesOf<float>(transformed(centerCrop(1, 2), counting(1, 3, 4))), ElementsAre(5, 6));
  HostTensor padded = transformed(pad(1, 9), bytes({1, 1, 2}, {3, 4}));
  EXPECT_EQ(padded.shape(), (Shape{3, 3, 2}));
  EXPECT_THAT(valuesOf<uint8_t>(padded), ElementsAre(9, 9, 9, 9, 9, 9, 9, 9, 3, 4, 9, 9, 9, 9, 9, 9, 9, 9));
  // Every position occurs, and each crop is a window of the image.
  std::vector<int> counts(4);
  for (uint64_t index = 0; index < 400; ++index) {
    auto values = valuesOf<float>(transformed(randomCrop(2, 2), counting(1, 3, 3), index));
    int top = static_cast<int>(values[0]) / 3, left = static_cast<int>(values[0]) % 3;
    ASSERT_LT(top, 2);
    ASSERT_LT(left, 2);
    EXPECT_THAT(values, ElementsAre(values[0], values[0] + 1, values[0] + 3, values[0] + 4));
    ++counts[top * 2 + left];
  }
  for (int count : counts)
    EXPECT_NEAR(count, 100, 35);
  EXPECT_EQ(transformed(randomCrop(5, 5, {.padding = 1}), counting(2, 3, 3)).shape(), (Shape{2, 5, 5}));
  EXPECT_ERROR(transformed(randomCrop(6, 5, {.padding = 1}), counting(2, 3, 3)), Code::ShapeMismatch,
               "randomCrop: 6 × 5 does not fit into an image of 3 × 3 with padding 1");
  EXPECT_ERROR(centerCrop(0, 2), Code::InvalidOption, "centerCrop: 0 × 2 is no size");
}

TEST(Transforms, Flips) {
  EXPECT_THAT(valuesOf<float>(transformed(randomHorizontalFlip(1), counting(1, 2, 2))), ElementsAre(1, 0, 3, 2));
  EXPECT_THAT(valuesOf<float>(transformed(randomVerticalFlip(1), counting(1, 2, 2))), ElementsAre(2, 3, 0, 1));
  EXPECT_THAT(valuesOf<uint8_t>(transformed(randomHorizontalFlip(1), bytes({1, 2, 2}, {1, 2, 3, 4}))), ElementsAre(3, 4, 1, 2));
  EXPECT_THAT(valuesOf<float>(transformed(randomHorizontalFlip(0), counting(1, 1, 2))), ElementsAre(0, 1));
  int flipped = 0;
  for (uint64_t index = 0; index < 1000; ++index)
    flipped += valuesOf<float>(transformed(randomHorizontalFlip(.3), counting(1, 1, 2), index))[0] == 1;
  EXPECT_NEAR(flipped, 300, 45);
  EXPECT_ERROR(randomVerticalFlip(1.5), Code::InvalidOption, "randomVerticalFlip: probability is 1.5, it must be in 0…1");
}

// torch: F.interpolate(arange(4.).view(1,1,1,4), (1,n), mode='bilinear', antialias=True)
TEST(Transforms, ResizeIsBilinearAndAveragesWhenShrinking) {
  EXPECT_THAT(valuesOf<float>(transformed(resize(1, 8), counting(1, 1, 4))),
              Pointwise(FloatNear(1e-6f), {0.f, .25f, .75f, 1.25f, 1.75f, 2.25f, 2.75f, 3.f}));
  EXPECT_THAT(valuesOf<float>(transformed(resize(1, 2), counting(1, 1, 4))), Pointwise(FloatNear(1e-6f), {.71428573f, 2.2857144f}));
  EXPECT_THAT(valuesOf<uint8_t>(transformed(resize(2, 1), bytes({4, 1}, {0, 1, 2, 3}))), ElementsAre(1, 2));
  EXPECT_EQ(transformed(resize(6), counting(3, 4, 8)).shape(), (Shape{3, 6, 12}));
  EXPECT_EQ(transformed(resize(6), counting(3, 8, 4)).shape(), (Shape{3, 12, 6}));
  HostTensor same = transformed(resize(3, 4), counting(2, 3, 4));
  EXPECT_EQ(valuesOf<float>(same), valuesOf<float>(counting(2, 3, 4)));
}

TEST(Transforms, RotationTurnsAroundTheCentre) {
  HostTensor still = transformed(randomRotation(0), counting(2, 3, 4));
  EXPECT_EQ(valuesOf<float>(still), valuesOf<float>(counting(2, 3, 4)));
  // A bright spot above the centre moves along a circle; the image's sum stays about the same for small angles.
  HostTensor spot = *HostTensor::allocate(DType::F32, {1, 21, 21});
  std::memset(spot.raw(), 0, spot.sizeBytes());
  spot.data<float>()[4 * 21 + 10] = 1;
  double leftmost = 0, rightmost = 0;
  for (uint64_t index = 0; index < 50; ++index) {
    HostTensor turned = transformed(randomRotation(30), *spot.clone(), index);
    double sum = 0, x = 0, y = 0;
    for (int k = 0; k < 441; ++k) {
      double value = turned.values<float>()[k];
      sum += value, x += value * (k % 21 - 10), y += value * (k / 21 - 10);
    }
    ASSERT_NEAR(sum, 1, .45);
    EXPECT_NEAR(std::hypot(x / sum, y / sum), 6, .5);
    leftmost = std::min(leftmost, x / sum), rightmost = std::max(rightmost, x / sum);
  }
  EXPECT_NEAR(leftmost, -3, .5);
  EXPECT_NEAR(rightmost, 3, .5);
  // What comes from outside is the fill.
  HostTensor corner = transformed(randomRotation(40, 7), counting(1, 1, 9), 3);
  EXPECT_EQ(corner.values<float>()[0], 7);
}

TEST(Transforms, ConvertTo) {
  HostTensor label = transformed(convertTo(DType::I64), bytes({}, {7}));
  EXPECT_EQ(label.dtype(), DType::I64);
  EXPECT_EQ(label.values<int64_t>()[0], 7);
}

} // namespace
