// Results whose size the data decides: nonzero, compress, unique.
#include "runtime/devices/cpu/routines/Elements.h"
#include "runtime/devices/cpu/routines/Routines.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace graphc::cpu::routines {

namespace {

Status needsDense(const RoutineTensor &tensor, const char *what) {
  if (tensor.present() && !tensor.dense())
    return error(Code::RoutineFailed, what, " must be dense");
  return {};
}

Status noRoom(const char *what, int64_t needed, int64_t capacity) {
  return error(Code::RoutineFailed, what, " needs room for ", needed, " entries, but its buffer holds ", capacity);
}

template <typename T>
bool isZero(T value) {
  return comparable(value) == 0;
}

} // namespace

Status nonzero(const RoutineArgs &args) {
  const RoutineTensor &x = args.inputs[0], &out = args.outputs[0];
  GRAPHC_RETURN_IF_ERROR(needsDense(out, "the result of nonzero"));
  int rank = x.rank();
  int64_t count = 0, elements = x.elements();
  bool transposed = args.intAttribute("transposed", 0) != 0;
  Status status;
  withElements(x.dtype, [&](auto *type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const T *data = static_cast<const T *>(x.data);
    for (int64_t i = 0; i < elements; ++i)
      count += !isZero(data[elementOffset(x, i)]);
    if (count * rank > out.elements()) {
      status = noRoom("nonzero", count, rank ? out.elements() / rank : 0);
      return;
    }
    auto *result = static_cast<int64_t *>(out.data);
    int64_t at = 0;
    for (int64_t i = 0; i < elements; ++i) {
      if (isZero(data[elementOffset(x, i)]))
        continue;
      int64_t index = i;
      for (int d = rank; d-- > 0;) {
        result[transposed ? at * rank + d : d * count + at] = index % x.dims[d];
        index /= x.dims[d];
      }
      ++at;
    }
  });
  decideSize(args, 0, count);
  return status;
}

Status compress(const RoutineArgs &args) {
  const RoutineTensor &x = args.inputs[0], &condition = args.inputs[1], &out = args.outputs[0];
  GRAPHC_RETURN_IF_ERROR(needsDense(out, "the result of compress"));
  GRAPHC_RETURN_IF_ERROR(needsDense(condition, "the condition of compress"));
  int64_t axis = args.intAttribute("axis", INT64_MIN);
  bool flat = axis == INT64_MIN;
  if (!flat && axis < 0)
    axis += x.rank();
  if (!flat && (axis < 0 || axis >= x.rank()))
    return error(Code::RoutineFailed, "axis ", args.intAttribute("axis", 0), " is out of range for rank ", x.rank());
  int64_t outer = 1, length = flat ? x.elements() : x.dims[axis], inner = 1;
  if (!flat) {
    for (int64_t d = 0; d < axis; ++d)
      outer *= x.dims[d];
    for (int d = static_cast<int>(axis) + 1; d < x.rank(); ++d)
      inner *= x.dims[d];
  }
  const auto *keep = static_cast<const uint8_t *>(condition.data);
  int64_t considered = std::min(length, condition.elements()), count = 0;
  for (int64_t i = 0; i < considered; ++i)
    count += keep[i] != 0;
  decideSize(args, 0, count);
  if (outer * count * inner > out.elements())
    return noRoom("compress", outer * count * inner, out.elements());
  size_t size = sizeOf(x.dtype);
  const auto *from = static_cast<const char *>(x.data);
  auto *to = static_cast<char *>(out.data);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < considered; ++i)
      if (keep[i])
        for (int64_t j = 0; j < inner; ++j) {
          std::memcpy(to, from + elementOffset(x, (o * length + i) * inner + j) * static_cast<int64_t>(size), size);
          to += size;
        }
  return {};
}

Status unique(const RoutineArgs &args) {
  const RoutineTensor &x = args.inputs[0];
  for (const RoutineTensor &out : args.outputs)
    GRAPHC_RETURN_IF_ERROR(needsDense(out, "a result of unique"));
  bool sorted = args.intAttribute("sorted", 1) != 0;
  int64_t axis = args.intAttribute("axis", INT64_MIN);
  bool flat = axis == INT64_MIN;
  if (!flat && axis < 0)
    axis += x.rank();
  if (!flat && (axis < 0 || axis >= x.rank()))
    return error(Code::RoutineFailed, "axis ", args.intAttribute("axis", 0), " is out of range for rank ", x.rank());
  int64_t outer = 1, entries = flat ? x.elements() : x.dims[axis], inner = 1;
  if (!flat) {
    for (int64_t d = 0; d < axis; ++d)
      outer *= x.dims[d];
    for (int d = static_cast<int>(axis) + 1; d < x.rank(); ++d)
      inner *= x.dims[d];
  }
  Status status;
  withElements(x.dtype, [&](auto *type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const T *data = static_cast<const T *>(x.data);
    auto at = [&](int64_t entry, int64_t o, int64_t i) { return data[elementOffset(x, (o * entries + entry) * inner + i)]; };
    // -1, 0, 1 over whole entries; NaN is the largest and equal to itself for ordering, but unique as a value.
    auto compare = [&](int64_t a, int64_t b, bool &nan) {
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < inner; ++i) {
          T left = at(a, o, i), right = at(b, o, i);
          bool nanLeft = isNan(left), nanRight = isNan(right);
          nan = nan || nanLeft || nanRight;
          if (nanLeft != nanRight)
            return nanLeft ? 1 : -1;
          if (nanLeft)
            continue;
          if (comparable(left) != comparable(right))
            return comparable(left) < comparable(right) ? -1 : 1;
        }
      return 0;
    };
    std::vector<int64_t> order(static_cast<size_t>(entries)), group(static_cast<size_t>(entries)), first, counts;
    std::iota(order.begin(), order.end(), int64_t{0});
    bool unused = false;
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      int result = compare(a, b, unused);
      return result ? result < 0 : a < b;
    });
    for (int64_t k = 0; k < entries; ++k) {
      bool nan = false;
      bool same = k > 0 && compare(order[k - 1], order[k], nan) == 0 && !nan;
      if (!same) {
        first.push_back(order[k]);
        counts.push_back(0);
      }
      ++counts.back();
      group[order[k]] = static_cast<int64_t>(first.size()) - 1;
    }
    int64_t count = static_cast<int64_t>(first.size());
    // By first appearance when not sorted.
    std::vector<int64_t> rank(first.size()), sequence(first.size());
    std::iota(sequence.begin(), sequence.end(), int64_t{0});
    if (!sorted)
      std::sort(sequence.begin(), sequence.end(), [&](int64_t a, int64_t b) { return first[a] < first[b]; });
    for (int64_t k = 0; k < count; ++k)
      rank[sequence[k]] = k;

    const RoutineTensor &values = args.outputs[0], &positions = args.outputs[1], &inverse = args.outputs[2], &sizes = args.outputs[3];
    decideSize(args, 0, count);
    if (values.elements() < outer * count * inner || (positions.present() && positions.elements() < count) ||
        (inverse.present() && inverse.elements() < entries) || (sizes.present() && sizes.elements() < count)) {
      status = noRoom("unique", count, values.elements());
      return;
    }
    T *out = static_cast<T *>(values.data);
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t k = 0; k < count; ++k)
        for (int64_t i = 0; i < inner; ++i)
          *out++ = at(first[sequence[k]], o, i);
    for (int64_t k = 0; k < count; ++k) {
      if (positions.present())
        static_cast<int64_t *>(positions.data)[k] = first[sequence[k]];
      if (sizes.present())
        static_cast<int64_t *>(sizes.data)[k] = counts[sequence[k]];
    }
    if (inverse.present())
      for (int64_t k = 0; k < entries; ++k)
        static_cast<int64_t *>(inverse.data)[k] = rank[group[k]];
  });
  return status;
}

} // namespace graphc::cpu::routines
