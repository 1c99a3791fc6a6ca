// Transforms of images in both forms: u8 with channels last, f32 with channels first. Each is written once over a view with
// strides; only the element type differs.
#include "frontend/graphc/transforms.h"
#include "frontend/tensor/Element.h"
#include "frontend/tensor/Raise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

namespace graphc::data {
namespace {

template <typename T>
struct View {
  T *data;
  int64_t channels, height, width, channelStride, rowStride, columnStride;
  T &at(int64_t channel, int64_t row, int64_t column) const {
    return data[channel * channelStride + row * rowStride + column * columnStride];
  }
};

template <typename T>
T rounded(double value) {
  if constexpr (std::same_as<T, uint8_t>)
    return static_cast<uint8_t>(std::clamp(std::floor(value + .5), 0., 255.));
  else
    return static_cast<T>(value);
}

Shape shapeLike(const HostTensor &image, int64_t height, int64_t width) {
  const Shape &shape = image.shape();
  if (image.dtype() == DType::F32)
    return {shape[0], height, width};
  return shape.rank() == 2 ? Shape{height, width} : Shape{height, width, shape[2]};
}

template <typename T>
View<T> viewOf(HostTensor &image) {
  const Shape &shape = image.shape();
  if (image.dtype() == DType::F32)
    return {image.data<T>(), shape[0], shape[1], shape[2], shape[1] * shape[2], shape[2], 1};
  int64_t channels = shape.rank() == 3 ? shape[2] : 1;
  return {image.data<T>(), channels, shape[0], shape[1], 1, shape[1] * channels, channels};
}

void checkImage(const char *name, const HostTensor &image) {
  int rank = image.shape().rank();
  if (!(image.dtype() == DType::F32 && rank == 3) && !(image.dtype() == DType::U8 && (rank == 2 || rank == 3)))
    raise(Code::ShapeMismatch, name, ": needs an image, u8[height, width], u8[height, width, channels] or f32[channels, height, width], not ",
          image.dtype(), image.shape());
}

struct Size {
  int64_t height, width;
};
Size sizeOfImage(const HostTensor &image) {
  const Shape &shape = image.shape();
  return image.dtype() == DType::F32 ? Size{shape[1], shape[2]} : Size{shape[0], shape[1]};
}

/// Makes an image of the given size; `fill(from, to)` gets views of old and new.
template <typename Fill>
HostTensor remade(HostTensor image, Size size, Fill fill) {
  HostTensor result = orRaise(HostTensor::allocate(image.dtype(), shapeLike(image, size.height, size.width)));
  if (image.dtype() == DType::U8)
    fill(viewOf<uint8_t>(image), viewOf<uint8_t>(result));
  else
    fill(viewOf<float>(image), viewOf<float>(result));
  return result;
}

/// The window [top, top + height) × [left, left + width) of the image; outside it is `fill`.
HostTensor window(HostTensor image, int64_t top, int64_t left, Size size, double fill) {
  return remade(std::move(image), size, [&]<typename T>(View<T> from, View<T> to) {
    for (int64_t c = 0; c < to.channels; ++c)
      for (int64_t y = 0; y < to.height; ++y)
        for (int64_t x = 0; x < to.width; ++x) {
          int64_t row = y + top, column = x + left;
          bool inside = row >= 0 && row < from.height && column >= 0 && column < from.width;
          to.at(c, y, x) = inside ? from.at(c, row, column) : rounded<T>(fill);
        }
  });
}

/// Which source pixels a new pixel is made of, along one dimension: a triangle as wide as the step when shrinking.
struct Weights {
  int64_t first;
  std::vector<double> values;
};
std::vector<Weights> triangleWeights(int64_t from, int64_t to) {
  double step = static_cast<double>(from) / static_cast<double>(to), support = std::max(step, 1.);
  std::vector<Weights> result;
  for (int64_t k = 0; k < to; ++k) {
    double center = (static_cast<double>(k) + .5) * step;
    int64_t first = std::max<int64_t>(0, static_cast<int64_t>(center - support + .5));
    int64_t end = std::min(from, static_cast<int64_t>(center + support + .5));
    Weights weights{first, {}};
    double sum = 0;
    for (int64_t j = first; j < end; ++j) {
      weights.values.push_back(std::max(0., 1 - std::abs((static_cast<double>(j) - center + .5) / support)));
      sum += weights.values.back();
    }
    for (double &value : weights.values)
      value /= sum;
    result.push_back(std::move(weights));
  }
  return result;
}

HostTensor resized(HostTensor image, Size size) {
  Size old = sizeOfImage(image);
  if (old.height == 0 || old.width == 0)
    raise(Code::ShapeMismatch, "resize: the image ", image.shape(), " is empty");
  auto rows = triangleWeights(old.height, size.height), columns = triangleWeights(old.width, size.width);
  return remade(std::move(image), size, [&]<typename T>(View<T> from, View<T> to) {
    std::vector<double> narrow(static_cast<size_t>(from.height * to.width));
    for (int64_t c = 0; c < to.channels; ++c) {
      for (int64_t y = 0; y < from.height; ++y)
        for (int64_t x = 0; x < to.width; ++x) {
          double sum = 0;
          for (size_t j = 0; j < columns[x].values.size(); ++j)
            sum += columns[x].values[j] * from.at(c, y, columns[x].first + static_cast<int64_t>(j));
          narrow[y * to.width + x] = sum;
        }
      for (int64_t y = 0; y < to.height; ++y)
        for (int64_t x = 0; x < to.width; ++x) {
          double sum = 0;
          for (size_t j = 0; j < rows[y].values.size(); ++j)
            sum += rows[y].values[j] * narrow[(rows[y].first + static_cast<int64_t>(j)) * to.width + x];
          to.at(c, y, x) = rounded<T>(sum);
        }
    }
  });
}

HostTensor rotated(HostTensor image, double degrees, double fill) {
  double angle = degrees * std::numbers::pi / 180, cosine = std::cos(angle), sine = std::sin(angle);
  Size size = sizeOfImage(image);
  return remade(std::move(image), size, [&]<typename T>(View<T> from, View<T> to) {
    double centerY = static_cast<double>(from.height - 1) / 2, centerX = static_cast<double>(from.width - 1) / 2;
    auto pixel = [&](int64_t c, int64_t y, int64_t x) {
      bool inside = y >= 0 && y < from.height && x >= 0 && x < from.width;
      return inside ? static_cast<double>(from.at(c, y, x)) : fill;
    };
    for (int64_t c = 0; c < to.channels; ++c)
      for (int64_t y = 0; y < to.height; ++y)
        for (int64_t x = 0; x < to.width; ++x) {
          // Counter-clockwise as people see it: y points down.
          double dx = static_cast<double>(x) - centerX, dy = static_cast<double>(y) - centerY;
          double sourceX = centerX + dx * cosine - dy * sine, sourceY = centerY + dx * sine + dy * cosine;
          double floorX = std::floor(sourceX), floorY = std::floor(sourceY), fx = sourceX - floorX, fy = sourceY - floorY;
          int64_t x0 = static_cast<int64_t>(floorX), y0 = static_cast<int64_t>(floorY);
          to.at(c, y, x) = rounded<T>((pixel(c, y0, x0) * (1 - fx) + pixel(c, y0, x0 + 1) * fx) * (1 - fy) +
                                      (pixel(c, y0 + 1, x0) * (1 - fx) + pixel(c, y0 + 1, x0 + 1) * fx) * fy);
        }
  });
}

void checkProbability(const char *name, double probability) {
  if (!(probability >= 0 && probability <= 1))
    raise(Code::InvalidOption, name, ": probability is ", probability, ", it must be in 0…1");
}
void checkSize(const char *name, int64_t height, int64_t width) {
  if (height < 1 || width < 1)
    raise(Code::InvalidOption, name, ": ", height, " × ", width, " is no size");
}

} // namespace

Transform toTensor() {
  return [](HostTensor image, RandomStream &) {
    if (image.dtype() != DType::U8 || image.shape().rank() < 2 || image.shape().rank() > 3)
      raise(Code::ShapeMismatch, "toTensor: needs u8[height, width] or u8[height, width, channels], not ", image.dtype(), image.shape());
    View<uint8_t> from = viewOf<uint8_t>(image);
    HostTensor result = orRaise(HostTensor::allocate(DType::F32, {from.channels, from.height, from.width}));
    View<float> to = viewOf<float>(result);
    for (int64_t c = 0; c < to.channels; ++c)
      for (int64_t y = 0; y < to.height; ++y)
        for (int64_t x = 0; x < to.width; ++x)
          to.at(c, y, x) = static_cast<float>(from.at(c, y, x)) / 255.f;
    return result;
  };
}

Transform normalize(std::vector<double> means, std::vector<double> stds) {
  if (means.empty() || means.size() != stds.size())
    raise(Code::InvalidOption, "normalize: ", means.size(), " means and ", stds.size(), " deviations; as many of one as of the other are needed");
  for (double std : stds)
    if (!(std > 0))
      raise(Code::InvalidOption, "normalize: a deviation of ", std, "; it must be above 0");
  return [means = std::move(means), stds = std::move(stds)](HostTensor image, RandomStream &) {
    if (image.dtype() != DType::F32 || image.shape().rank() != 3)
      raise(Code::ShapeMismatch, "normalize: needs f32[channels, height, width], not ", image.dtype(), image.shape(), "; put toTensor() before it");
    int64_t channels = image.shape()[0];
    if (means.size() != 1 && static_cast<int64_t>(means.size()) != channels)
      raise(Code::ShapeMismatch, "normalize: ", means.size(), " means for an image of ", channels, " channels");
    if (!image.ownsData())
      image = orRaise(image.clone());
    View<float> view = viewOf<float>(image);
    for (int64_t c = 0; c < channels; ++c) {
      size_t which = means.size() == 1 ? 0 : static_cast<size_t>(c);
      float mean = static_cast<float>(means[which]), std = static_cast<float>(stds[which]);
      for (int64_t k = 0; k < view.channelStride; ++k) {
        float &value = view.data[c * view.channelStride + k];
        value = (value - mean) / std;
      }
    }
    return image;
  };
}
Transform normalize(double mean, double std) { return normalize(std::vector{mean}, std::vector{std}); }

Transform resize(int64_t height, int64_t width) {
  checkSize("resize", height, width);
  return [=](HostTensor image, RandomStream &) {
    checkImage("resize", image);
    return resized(std::move(image), {height, width});
  };
}

Transform resize(int64_t size) {
  checkSize("resize", size, size);
  return [=](HostTensor image, RandomStream &) {
    checkImage("resize", image);
    auto [height, width] = sizeOfImage(image);
    if (height == 0 || width == 0)
      raise(Code::ShapeMismatch, "resize: the image ", image.shape(), " is empty");
    return resized(std::move(image), height <= width ? Size{size, size * width / height} : Size{size * height / width, size});
  };
}

Transform centerCrop(int64_t height, int64_t width) {
  checkSize("centerCrop", height, width);
  return [=](HostTensor image, RandomStream &) {
    checkImage("centerCrop", image);
    Size old = sizeOfImage(image);
    if (old.height < height || old.width < width)
      raise(Code::ShapeMismatch, "centerCrop: ", height, " × ", width, " does not fit into an image of ", old.height, " × ", old.width);
    return window(std::move(image), (old.height - height + 1) / 2, (old.width - width + 1) / 2, {height, width}, 0);
  };
}

Transform randomCrop(int64_t height, int64_t width, const CropOptions &options) {
  checkSize("randomCrop", height, width);
  if (options.padding < 0)
    raise(Code::InvalidOption, "randomCrop: padding is ", options.padding, ", at least 0 is needed");
  return [=](HostTensor image, RandomStream &random) {
    checkImage("randomCrop", image);
    Size old = sizeOfImage(image);
    int64_t roomY = old.height + 2 * options.padding - height, roomX = old.width + 2 * options.padding - width;
    if (roomY < 0 || roomX < 0)
      raise(Code::ShapeMismatch, "randomCrop: ", height, " × ", width, " does not fit into an image of ", old.height, " × ", old.width,
            " with padding ", options.padding);
    int64_t top = static_cast<int64_t>(random.below(static_cast<uint64_t>(roomY) + 1)) - options.padding;
    int64_t left = static_cast<int64_t>(random.below(static_cast<uint64_t>(roomX) + 1)) - options.padding;
    return window(std::move(image), top, left, {height, width}, options.fill);
  };
}

Transform pad(int64_t padding, double fill) {
  if (padding < 0)
    raise(Code::InvalidOption, "pad: padding is ", padding, ", at least 0 is needed");
  return [=](HostTensor image, RandomStream &) {
    checkImage("pad", image);
    Size old = sizeOfImage(image);
    return window(std::move(image), -padding, -padding, {old.height + 2 * padding, old.width + 2 * padding}, fill);
  };
}

Transform randomHorizontalFlip(double probability) {
  checkProbability("randomHorizontalFlip", probability);
  return [=](HostTensor image, RandomStream &random) {
    checkImage("randomHorizontalFlip", image);
    if (random.uniform() >= probability)
      return image;
    Size size = sizeOfImage(image);
    return remade(std::move(image), size, []<typename T>(View<T> from, View<T> to) {
      for (int64_t c = 0; c < to.channels; ++c)
        for (int64_t y = 0; y < to.height; ++y)
          for (int64_t x = 0; x < to.width; ++x)
            to.at(c, y, x) = from.at(c, y, to.width - 1 - x);
    });
  };
}

Transform randomVerticalFlip(double probability) {
  checkProbability("randomVerticalFlip", probability);
  return [=](HostTensor image, RandomStream &random) {
    checkImage("randomVerticalFlip", image);
    if (random.uniform() >= probability)
      return image;
    Size size = sizeOfImage(image);
    return remade(std::move(image), size, []<typename T>(View<T> from, View<T> to) {
      for (int64_t c = 0; c < to.channels; ++c)
        for (int64_t y = 0; y < to.height; ++y)
          for (int64_t x = 0; x < to.width; ++x)
            to.at(c, y, x) = from.at(c, to.height - 1 - y, x);
    });
  };
}

Transform randomRotation(double degrees, double fill) {
  if (!(degrees >= 0))
    raise(Code::InvalidOption, "randomRotation: degrees is ", degrees, ", at least 0 is needed");
  return [=](HostTensor image, RandomStream &random) {
    checkImage("randomRotation", image);
    return rotated(std::move(image), random.uniform(-degrees, degrees), fill);
  };
}

Transform convertTo(DType dtype) {
  return [=](HostTensor tensor, RandomStream &) {
    if (tensor.dtype() == dtype)
      return tensor;
    HostTensor result = orRaise(HostTensor::allocate(dtype, tensor.shape()));
    for (int64_t k = 0; k < tensor.elements(); ++k)
      writeElement(result, k, readElement(tensor, k));
    return result;
  };
}

} // namespace graphc::data
