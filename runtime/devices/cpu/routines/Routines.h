// What every routine takes and gives. "exprs" and "symbols" are Routine.exprs and Routine.symbols of the plan, in order.
#pragma once

#include "runtime/devices/cpu/Routine.h"

namespace graphc::cpu::routines {

/// inputs: x. outputs: sorted values (or absent), i64 positions (or absent). Attributes: axis (-1), descending (0).
/// Stable: equal elements keep their order. NaN counts as larger than every number.
Status sort(const RoutineArgs &args);

/// inputs: x. exprs: k. outputs: values, i64 positions (either may be absent). Attributes: axis (-1), largest (1), sorted (1).
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
/// Attributes: center_point_box (0).
Status nonMaxSuppression(const RoutineArgs &args);

} // namespace graphc::cpu::routines
