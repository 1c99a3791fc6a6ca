// Writes at computed places, in a defined order.
#include "runtime/devices/cpu/routines/Elements.h"
#include "runtime/devices/cpu/routines/Routines.h"

#include <algorithm>
#include <optional>

namespace graphc::cpu::routines {

namespace {

enum class Reduction { None, Add, Mul, Max, Min };

std::optional<Reduction> reductionOf(std::string_view name) {
  if (name == "none")
    return Reduction::None;
  if (name == "add")
    return Reduction::Add;
  if (name == "mul")
    return Reduction::Mul;
  if (name == "max")
    return Reduction::Max;
  if (name == "min")
    return Reduction::Min;
  return std::nullopt;
}

template <typename T>
T combine(Reduction reduction, T old, T update) {
  auto a = comparable(old), b = comparable(update);
  auto make = [](auto value) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>)
      return T::from(value);
    else
      return static_cast<T>(value);
  };
  switch (reduction) {
  case Reduction::None:
    return update;
  case Reduction::Add:
    if constexpr (std::is_integral_v<T>) // wraps
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
    else
      return make(a + b);
  case Reduction::Mul:
    if constexpr (std::is_integral_v<T>) // through 64 bits: 16-bit operands would promote to a signed int
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else
      return make(a * b);
  case Reduction::Max:
    return isNan(old) || (!isNan(update) && a >= b) ? old : update;
  case Reduction::Min:
    return isNan(old) || (!isNan(update) && a <= b) ? old : update;
  }
  return update;
}

int64_t indexAt(const RoutineTensor &indices, int64_t offset) {
  return indices.dtype == DType::I32 ? static_cast<const int32_t *>(indices.data)[offset]
                                     : static_cast<const int64_t *>(indices.data)[offset];
}

template <typename T>
void copyElements(const RoutineTensor &from, const RoutineTensor &to) {
  if (from.data == to.data)
    return; // computed in place
  const T *source = static_cast<const T *>(from.data);
  T *destination = static_cast<T *>(to.data);
  int64_t count = from.elements();
  if (from.dense() && to.dense()) {
    std::copy_n(source, count, destination);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    destination[elementOffset(to, i)] = source[elementOffset(from, i)];
}

Status checkCommon(const RoutineArgs &args) {
  const RoutineTensor &x = args.inputs[0], &indices = args.inputs[1], &updates = args.inputs[2], &out = args.outputs[0];
  if (indices.dtype != DType::I64 && indices.dtype != DType::I32)
    return error(Code::RoutineFailed, "indices must be i32 or i64, not ", dtypeName(indices.dtype));
  if (x.dtype != updates.dtype || x.dtype != out.dtype || !std::equal(x.dims.begin(), x.dims.end(), out.dims.begin(), out.dims.end()))
    return error(Code::RoutineFailed, "the data, the updates and the result must have one type, and data and result one shape");
  if (!reductionOf(args.stringAttribute("reduction", "none")))
    return error(Code::RoutineFailed, "there is no reduction '", args.stringAttribute("reduction", ""), "'; choose none, add, mul, max or min");
  return {};
}

Status outOfRange(int64_t index, int64_t size, int axis) {
  return error(Code::IndexOutOfRange, "index ", index, " is out of range [", -size, ", ", size - 1, "] of dimension ", axis);
}

} // namespace

Status scatterElements(const RoutineArgs &args) {
  const RoutineTensor &x = args.inputs[0], &indices = args.inputs[1], &updates = args.inputs[2], &out = args.outputs[0];
  GRAPHC_RETURN_IF_ERROR(checkCommon(args));
  int64_t axis = args.intAttribute("axis", 0);
  if (axis < 0)
    axis += x.rank();
  if (axis < 0 || axis >= x.rank() || indices.rank() != x.rank() ||
      !std::equal(indices.dims.begin(), indices.dims.end(), updates.dims.begin(), updates.dims.end()))
    return error(Code::RoutineFailed, "indices and updates need one shape of the data's rank ", x.rank(), ", and an axis below it");
  for (int d = 0; d < x.rank(); ++d)
    if (d != axis && indices.dims[d] > x.dims[d])
      return error(Code::RoutineFailed, "the indices have ", indices.dims[d], " entries in dimension ", d, ", the data only ", x.dims[d]);
  Reduction reduction = *reductionOf(args.stringAttribute("reduction", "none"));
  Status status;
  withElements(x.dtype, [&](auto *type) {
    using T = std::remove_pointer_t<decltype(type)>;
    copyElements<T>(x, out);
    const T *update = static_cast<const T *>(updates.data);
    T *result = static_cast<T *>(out.data);
    for (int64_t i = 0, count = indices.elements(); i < count; ++i) {
      int64_t index = indexAt(indices, elementOffset(indices, i));
      if (index < -x.dims[axis] || index >= x.dims[axis]) {
        status = outOfRange(index, x.dims[axis], static_cast<int>(axis));
        return;
      }
      int64_t to = (index < 0 ? index + x.dims[axis] : index) * out.strides[axis];
      int64_t rest = i;
      for (int d = x.rank(); d-- > 0;) {
        if (d != axis)
          to += rest % indices.dims[d] * out.strides[d];
        rest /= indices.dims[d];
      }
      result[to] = combine(reduction, result[to], update[elementOffset(updates, i)]);
    }
  });
  return status;
}

/// Whether elements lie row by row without gaps, so that their number is their offset.
bool isDense(const RoutineTensor &tensor) {
  int64_t dense = 1;
  for (int d = tensor.rank(); d-- > 0;) {
    if (tensor.dims[d] != 1 && tensor.strides[d] != dense)
      return false;
    dense *= tensor.dims[d];
  }
  return true;
}

Status scatterNd(const RoutineArgs &args) {
  const RoutineTensor &x = args.inputs[0], &indices = args.inputs[1], &updates = args.inputs[2], &out = args.outputs[0];
  GRAPHC_RETURN_IF_ERROR(checkCommon(args));
  if (indices.rank() < 1 || indices.dims.back() > x.rank())
    return error(Code::RoutineFailed, "indices of depth ", indices.rank() ? indices.dims.back() : 0, " do not fit data of rank ", x.rank());
  int depth = static_cast<int>(indices.dims.back()), batch = indices.rank() - 1;
  bool fits = updates.rank() == batch + x.rank() - depth;
  for (int d = 0; fits && d < updates.rank(); ++d)
    fits = updates.dims[d] == (d < batch ? indices.dims[d] : x.dims[depth + d - batch]);
  if (!fits)
    return error(Code::RoutineFailed, "the updates must have the indices' leading and the data's trailing dimensions");
  int64_t slices = 1, inner = 1;
  for (int d = 0; d < batch; ++d)
    slices *= indices.dims[d];
  for (int d = depth; d < x.rank(); ++d)
    inner *= x.dims[d];
  Reduction reduction = *reductionOf(args.stringAttribute("reduction", "none"));
  Status status;
  withElements(x.dtype, [&](auto *type) {
    using T = std::remove_pointer_t<decltype(type)>;
    copyElements<T>(x, out);
    const T *update = static_cast<const T *>(updates.data);
    T *result = static_cast<T *>(out.data);
    // Divisions by every size, for every index, would be all the time of it.
    bool denseIndices = isDense(indices), denseUpdates = isDense(updates);
    bool denseSlices = true;
    int64_t dense = 1;
    for (int d = x.rank(); d-- > depth; dense *= x.dims[d])
      denseSlices = denseSlices && (x.dims[d] == 1 || out.strides[d] == dense);
    for (int64_t s = 0; s < slices; ++s) {
      int64_t start = 0;
      for (int k = 0; k < depth; ++k) {
        int64_t at = s * depth + k, index = indexAt(indices, denseIndices ? at : elementOffset(indices, at));
        if (index < -x.dims[k] || index >= x.dims[k]) {
          status = outOfRange(index, x.dims[k], k);
          return;
        }
        start += (index < 0 ? index + x.dims[k] : index) * out.strides[k];
      }
      for (int64_t i = 0; i < inner; ++i) {
        int64_t to = start + (denseSlices ? i : 0), rest = i;
        for (int d = x.rank(); !denseSlices && d-- > depth;) {
          to += rest % x.dims[d] * out.strides[d];
          rest /= x.dims[d];
        }
        int64_t from = s * inner + i;
        result[to] = combine(reduction, result[to], update[denseUpdates ? from : elementOffset(updates, from)]);
      }
    }
  });
  return status;
}

Status cumulative(const RoutineArgs &args) {
  const RoutineTensor &x = args.inputs[0], &out = args.outputs[0];
  int64_t axis = args.intAttribute("axis", 0);
  if (axis < 0)
    axis += x.rank();
  if (axis < 0 || axis >= x.rank())
    return error(Code::RoutineFailed, "axis ", args.intAttribute("axis", 0), " is out of range for rank ", x.rank());
  std::string_view kind = args.stringAttribute("kind", "sum");
  if (kind != "sum" && kind != "prod")
    return error(Code::RoutineFailed, "there is no cumulative '", kind, "'; choose sum or prod");
  bool product = kind == "prod", exclusive = args.intAttribute("exclusive", 0) != 0, reverse = args.intAttribute("reverse", 0) != 0;
  int64_t length = x.dims[axis], lines = length ? x.elements() / length : 0;
  withElements(x.dtype, [&](auto *type) {
    using T = std::remove_pointer_t<decltype(type)>;
    using Wide = decltype(comparable(T{}));
    for (int64_t line = 0; line < lines; ++line) {
      const T *from = static_cast<const T *>(x.data) + lineStart(x, static_cast<int>(axis), line);
      T *to = static_cast<T *>(out.data) + lineStart(out, static_cast<int>(axis), line);
      Wide running = static_cast<Wide>(product ? 1 : 0);
      for (int64_t k = 0; k < length; ++k) {
        int64_t i = reverse ? length - 1 - k : k;
        Wide before = running, value = comparable(from[i * x.strides[axis]]);
        if constexpr (std::is_integral_v<Wide>)
          running = static_cast<Wide>(product ? static_cast<uint64_t>(running) * static_cast<uint64_t>(value)
                                              : static_cast<uint64_t>(running) + static_cast<uint64_t>(value));
        else
          running = product ? running * value : running + value;
        Wide result = exclusive ? before : running;
        if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat>)
          to[i * out.strides[axis]] = T::from(result);
        else
          to[i * out.strides[axis]] = result;
      }
    }
  });
  return {};
}

} // namespace graphc::cpu::routines
