// What every routine takes and gives. "exprs" and "symbols" are Routine.exprs and Routine.symbols of the plan, in order.
#pragma once

#include "runtime/devices/cpu/Routine.h"

namespace graphc::cpu::routines {

/// inputs: x. outputs: sorted values (or absent), i64 positions (or absent). Attributes: axis (-1), descending (0).
/// Stable: equal elements keep their order. NaN counts as larger than every number.
Status sort(const RoutineArgs &args);

/// inputs: x. outputs: values, i64 positions (either may be absent), whose size along the axis is k. Attributes: axis (-1),
/// largest (1), sorted (1).
/// Of equal elements the one with the lower position wins. NaN counts as larger than every number.
Status topk(const RoutineArgs &args);

/// inputs: x of rank r. outputs: i64 [r, capacity] in row-major element order, written densely as [r, n]. symbols: n.
/// attributes: transposed (0): write [n, r] instead.
Status nonzero(const RoutineArgs &args);

/// inputs: x, bool condition [length]. outputs: the chosen entries along `axis`, written densely. symbols: how many.
/// Attributes: axis; without it x is taken as flat.
Status compress(const RoutineArgs &args);

/// inputs: x. outputs: unique values, i64 first positions, i64 inverse, i64 counts (all but the first may be absent),
/// written densely. symbols: how many. Attributes: sorted (1), axis (without it x is taken as flat).
Status unique(const RoutineArgs &args);

/// inputs: boxes f32 [b, n, 4], scores f32 [b, c, n], max per class i64 scalar, IoU threshold f32 scalar, score threshold
/// f32 scalar (the last three may be absent). outputs: i64 [capacity, 3] {batch, class, box}. symbols: how many.
/// Attributes: center_boxes (0), and max_per_class, iou_threshold, score_threshold in place of the inputs.
Status nonMaxSuppression(const RoutineArgs &args);

/// inputs: x, i32 or i64 indices, updates of the same shape as the indices. outputs: x with updates written along `axis`.
/// Attributes: axis, reduction (none, add, mul, max, min). Updates apply in row-major order of their index.
Status scatterElements(const RoutineArgs &args);

/// inputs: x, i32 or i64 indices [batch…, depth], updates [batch…, x.dims[depth:]…]. outputs: x with slices written.
/// Attributes: reduction.
Status scatterNd(const RoutineArgs &args);

/// inputs: x. outputs: running sums or products along `axis`. Attributes: kind (sum, prod), axis, exclusive, reverse.
/// 16-bit floats accumulate in f32 and round once per result.
Status cumulative(const RoutineArgs &args);

} // namespace graphc::cpu::routines
