// Digits for machines without MNIST: strokes of a few points per digit, moved about, drawn with a soft pen. Image and label
// depend on the seed and the index alone.
#include "frontend/graphc/datasets.h"
#include "frontend/tensor/Raise.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace graphc::data {
namespace {

constexpr int kSide = 28;

struct Point {
  double x, y;
};
using Stroke = std::vector<Point>;

Stroke arc(double centerX, double centerY, double radiusX, double radiusY, double fromDegrees, double toDegrees) {
  Stroke stroke;
  for (int k = 0; k <= 16; ++k) {
    double angle = (fromDegrees + (toDegrees - fromDegrees) * k / 16) * std::numbers::pi / 180;
    stroke.push_back({centerX + radiusX * std::cos(angle), centerY + radiusY * std::sin(angle)});
  }
  return stroke;
}

/// In a box from -1 to 1, y down.
std::vector<Stroke> strokesOf(int digit) {
  switch (digit) {
  case 0: return {arc(0, 0, .6, .95, 0, 360)};
  case 1: return {{{-.35, -.55}, {.1, -.95}, {.1, .95}}};
  case 2: return {arc(0, -.45, .55, .5, -180, 40), {{.42, -.13}, {-.6, .95}, {.65, .95}}};
  case 3: return {arc(-.05, -.48, .5, .46, -160, 90), arc(-.05, .47, .58, .48, -90, 160)};
  case 4: return {{{.3, .95}, {.3, -.95}, {-.65, .35}, {.7, .35}}};
  case 5: return {{{.55, -.95}, {-.4, -.95}, {-.48, -.1}}, arc(-.05, .35, .6, .58, -140, 150)};
  case 6: return {{{.35, -.95}, {-.3, -.35}, {-.55, .4}}, arc(0, .42, .55, .52, 0, 360)};
  case 7: return {{{-.6, -.95}, {.6, -.95}, {-.15, .95}}};
  case 8: return {arc(0, -.48, .46, .46, 0, 360), arc(0, .46, .56, .49, 0, 360)};
  default: return {arc(0, -.42, .55, .52, 0, 360), {{.55, -.4}, {.45, .35}, {.1, .95}}};
  }
}

double distanceToSegment(Point p, Point a, Point b) {
  double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
  double t = length > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length, 0., 1.) : 0;
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

void draw(int digit, RandomStream &random, uint8_t *pixels) {
  double angle = random.uniform(-.25, .25), shear = random.uniform(-.3, .3);
  double scaleX = random.uniform(6, 9), scaleY = random.uniform(7.5, 10);
  double shiftX = kSide / 2. + random.uniform(-2, 2), shiftY = kSide / 2. + random.uniform(-1.5, 1.5);
  double pen = random.uniform(.8, 1.6);
  std::vector<Stroke> strokes = strokesOf(digit);
  for (Stroke &stroke : strokes)
    for (Point &point : stroke) {
      double x = (point.x + shear * point.y) * scaleX + random.normal() * .25, y = point.y * scaleY + random.normal() * .25;
      point = {shiftX + x * std::cos(angle) - y * std::sin(angle), shiftY + x * std::sin(angle) + y * std::cos(angle)};
    }
  for (int row = 0; row < kSide; ++row)
    for (int column = 0; column < kSide; ++column) {
      double nearest = kSide;
      for (const Stroke &stroke : strokes)
        for (size_t k = 1; k < stroke.size(); ++k)
          nearest = std::min(nearest, distanceToSegment({column + .5, row + .5}, stroke[k - 1], stroke[k]));
      double ink = std::clamp(pen + .5 - nearest, 0., 1.) * 255 + random.normal() * 6;
      pixels[row * kSide + column] = static_cast<uint8_t>(std::clamp(std::lround(ink), 0l, 255l));
    }
}

class Digits : public MapSource {
public:
  Digits(int64_t first, int64_t count, uint64_t seed) : first_(first), count_(count), seed_(seed) {}
  int64_t size() const override { return count_; }
  Sample get(int64_t index, RandomStream &) const override {
    // The dataset's own stream, not the epoch's: an image stays the same from epoch to epoch.
    RandomStream random(seed_, 0, static_cast<uint64_t>(first_ + index));
    HostTensor image = orRaise(HostTensor::allocate(DType::U8, {kSide, kSide}));
    int64_t label = static_cast<int64_t>(random.below(10));
    draw(static_cast<int>(label), random, image.data<uint8_t>());
    Sample sample;
    sample.fields.push_back(std::move(image));
    sample.fields.push_back(HostTensor::of<int64_t>({}, {label}));
    return sample;
  }

private:
  int64_t first_, count_;
  uint64_t seed_;
};

} // namespace

Mnist drawnDigits(int64_t trainCount, int64_t testCount, uint64_t seed) {
  if (trainCount < 0 || testCount < 0)
    raise(Code::InvalidOption, "drawnDigits: counts must be at least 0");
  return {Dataset(std::make_shared<Digits>(0, trainCount, seed)), Dataset(std::make_shared<Digits>(trainCount, testCount, seed)),
          text("synthetic digits, drawn with seed ", seed, ": ", trainCount, " training and ", testCount, " test images")};
}

} // namespace graphc::data
