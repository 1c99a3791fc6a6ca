// Greedy non-maximum suppression per batch and class, as ONNX defines it.
#include "runtime/devices/cpu/routines/Elements.h"
#include "runtime/devices/cpu/routines/Routines.h"

#include <algorithm>
#include <array>

namespace graphc::cpu::routines {

namespace {

struct Box {
  float y0, x0, y1, x1;
  float area() const { return (y1 - y0) * (x1 - x0); }
};

float overlap(const Box &a, const Box &b) {
  float height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0), width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  if (height <= 0 || width <= 0)
    return 0;
  float shared = height * width, all = a.area() + b.area() - shared;
  return all > 0 ? shared / all : 0;
}

} // namespace

Status nonMaxSuppression(const RoutineArgs &args) {
  auto input = [&](size_t i) { return i < args.inputs.size() ? args.inputs[i] : RoutineTensor{}; };
  const RoutineTensor &boxes = args.inputs[0], &scores = args.inputs[1], &out = args.outputs[0];
  if (boxes.rank() != 3 || boxes.dims[2] != 4 || scores.rank() != 3 || scores.dims[0] != boxes.dims[0] ||
      scores.dims[2] != boxes.dims[1])
    return error(Code::RoutineFailed, "boxes must be [b, n, 4] and scores [b, c, n]");
  if (boxes.dtype != DType::F32 || scores.dtype != DType::F32)
    return error(Code::RoutineFailed, "boxes and scores must be f32");
  if (!out.dense())
    return error(Code::RoutineFailed, "the result of nms must be dense");
  RoutineTensor maxTensor = input(2), iouTensor = input(3), scoreTensor = input(4);
  int64_t perClass = maxTensor.present() ? *static_cast<const int64_t *>(maxTensor.data) : args.intAttribute("max_per_class", 0);
  float iouLimit = iouTensor.present() ? *static_cast<const float *>(iouTensor.data)
                                       : static_cast<float>(args.floatAttribute("iou_threshold", 0));
  bool hasScoreLimit = scoreTensor.present() || args.hasAttribute("score_threshold");
  float scoreLimit = scoreTensor.present() ? *static_cast<const float *>(scoreTensor.data)
                                           : static_cast<float>(args.floatAttribute("score_threshold", 0));
  bool center = args.intAttribute("center_boxes", 0) != 0;

  int64_t count = 0, capacity = out.elements() / 3, n = boxes.dims[1];
  auto *result = static_cast<int64_t *>(out.data);
  std::vector<Box> corners(static_cast<size_t>(n));
  std::vector<int64_t> order, kept;
  for (int64_t b = 0; b < boxes.dims[0]; ++b) {
    for (int64_t i = 0; i < n; ++i) {
      const float *box = static_cast<const float *>(boxes.data) + b * boxes.strides[0] + i * boxes.strides[1];
      float v[4];
      for (int k = 0; k < 4; ++k)
        v[k] = box[k * boxes.strides[2]];
      if (center) // x, y, width, height
        corners[i] = {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
      else // y, x of any two opposite corners
        corners[i] = {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
    }
    for (int64_t c = 0; c < scores.dims[1]; ++c) {
      const float *score = static_cast<const float *>(scores.data) + b * scores.strides[0] + c * scores.strides[1];
      auto scoreOf = [&](int64_t i) { return score[i * scores.strides[2]]; };
      order.clear();
      kept.clear();
      for (int64_t i = 0; i < n; ++i)
        if (!hasScoreLimit || scoreOf(i) > scoreLimit)
          order.push_back(i);
      std::sort(order.begin(), order.end(),
                [&](int64_t x, int64_t y) { return scoreOf(x) != scoreOf(y) ? scoreOf(x) > scoreOf(y) : x < y; });
      for (int64_t candidate : order) {
        if (static_cast<int64_t>(kept.size()) >= perClass)
          break;
        bool suppressed = std::any_of(kept.begin(), kept.end(), [&](int64_t other) {
          return overlap(corners[candidate], corners[other]) > iouLimit;
        });
        if (suppressed)
          continue;
        kept.push_back(candidate);
        if (count >= capacity)
          return error(Code::RoutineFailed, "nms found more than the ", capacity, " boxes its buffer holds");
        result[count * 3] = b;
        result[count * 3 + 1] = c;
        result[count * 3 + 2] = candidate;
        ++count;
      }
    }
  }
  decideSize(args, 0, count);
  return {};
}

} // namespace graphc::cpu::routines
