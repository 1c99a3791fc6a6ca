// sort and topk along one axis.
#include "runtime/devices/cpu/routines/Elements.h"
#include "runtime/devices/cpu/routines/Routines.h"

#include <algorithm>
#include <numeric>

namespace graphc::cpu::routines {

namespace {

/// Whether a comes before b: NaN is the largest value, equal elements keep their order.
template <typename T>
bool before(T a, T b, int64_t positionA, int64_t positionB, bool descending) {
  if constexpr (isFloatElement<T>) {
    bool nanA = isNan(a), nanB = isNan(b);
    if (nanA || nanB) {
      if (nanA != nanB)
        return descending ? nanA : nanB;
      return positionA < positionB;
    }
  }
  auto valueA = comparable(a), valueB = comparable(b);
  if (valueA != valueB)
    return descending ? valueA > valueB : valueA < valueB;
  return positionA < positionB;
}

/// The first `k` positions of every line along `axis` in order.
template <typename T>
void selectLines(const RoutineArgs &args, int axis, int64_t k, bool descending, bool ordered) {
  const RoutineTensor &x = args.inputs[0], &values = args.outputs[0], &positions = args.outputs[1];
  int64_t length = x.dims[axis], lines = length ? x.elements() / length : 0;
  args.scratch->resize(std::max<size_t>(args.scratch->size(), static_cast<size_t>(length) * sizeof(int64_t)));
  auto *order = reinterpret_cast<int64_t *>(args.scratch->data());
  for (int64_t line = 0; line < lines; ++line) {
    int64_t in = lineStart(x, axis, line);
    const T *data = static_cast<const T *>(x.data) + in;
    int64_t step = x.strides[axis];
    std::iota(order, order + length, int64_t{0});
    auto less = [&](int64_t a, int64_t b) { return before(data[a * step], data[b * step], a, b, descending); };
    // The order is total, so an unstable sort gives the stable result.
    if (k < length)
      std::nth_element(order, order + k, order + length, less);
    if (ordered)
      std::sort(order, order + k, less);
    else
      std::sort(order, order + k);
    if (values.present()) {
      T *out = static_cast<T *>(values.data) + lineStart(values, axis, line);
      for (int64_t i = 0; i < k; ++i)
        out[i * values.strides[axis]] = data[order[i] * step];
    }
    if (positions.present()) {
      auto *out = static_cast<int64_t *>(positions.data) + lineStart(positions, axis, line);
      for (int64_t i = 0; i < k; ++i)
        out[i * positions.strides[axis]] = order[i];
    }
  }
}

Status select(const RoutineArgs &args, int64_t k, bool all, bool descending, bool ordered) {
  const RoutineTensor &x = args.inputs[0];
  if (x.rank() == 0)
    return error(Code::RoutineFailed, "a scalar has no axis to sort along");
  int axis = static_cast<int>(args.intAttribute("axis", -1));
  if (axis < 0)
    axis += x.rank();
  if (axis < 0 || axis >= x.rank())
    return error(Code::RoutineFailed, "axis ", args.intAttribute("axis", -1), " is out of range for rank ", x.rank());
  if (all)
    k = x.dims[axis];
  else if (k < 0)
    for (const RoutineTensor &out : args.outputs)
      if (out.present() && out.rank() == x.rank())
        k = out.dims[axis];
  if (k < 0 || k > x.dims[axis])
    return error(Code::RoutineFailed, "k = ", k, " elements were asked for, but dimension ", axis, " has ", x.dims[axis]);
  for (const RoutineTensor &out : args.outputs)
    if (out.present() && (out.rank() != x.rank() || out.dims[axis] != k))
      return error(Code::RoutineFailed, "the output has shape ", Shape(std::vector<int64_t>(out.dims.begin(), out.dims.end())),
                   ", but dimension ", axis, " must be k = ", k);
  if (args.outputs[1].present() && args.outputs[1].dtype != DType::I64)
    return error(Code::RoutineFailed, "positions are i64, not ", dtypeName(args.outputs[1].dtype));
  withElements(x.dtype, [&](auto *type) {
    selectLines<std::remove_pointer_t<decltype(type)>>(args, axis, k, descending, ordered);
  });
  return {};
}

} // namespace

Status sort(const RoutineArgs &args) { return select(args, 0, true, args.intAttribute("descending", 0) != 0, true); }

Status topk(const RoutineArgs &args) {
  return select(args, -1, false, args.intAttribute("largest", 1) != 0, args.intAttribute("sorted", 1) != 0);
}

} // namespace graphc::cpu::routines
