// Views: the same storage under other sizes. Each is one geometry and, when recorded, one node that knows the way back.
#pragma once

#include "frontend/eager/Dispatch.h"

namespace graphc::eager {

/// How a view is made from its operand's geometry, so that a gradient can take the way back.
struct ViewStep {
  enum Kind : uint8_t { Reshape, Permute, Slice, Expand, Strided } kind;
  const char *name;
  std::vector<int64_t> a, b, c; // Reshape: sizes. Permute: dims. Slice: {dim, start, length, step}. Expand: sizes.
                                // Strided: sizes, strides, {offset relative to the base's}
};

/// The view alone, without history.
Tensor viewRaw(const Tensor &of, const ViewStep &step);
/// The view, recorded when its operand needs a gradient.
Tensor viewRecorded(const Tensor &of, ViewStep step, ViewOrigin origin = ViewOrigin::Normal);
Tensor movedimRaw(const Tensor &of, int64_t from, int64_t to);
/// A dense copy, recorded.
Tensor copyNode(const Tensor &of);
/// A copy on another device; its gradient comes back to this one.
Tensor moveNode(const Tensor &of, Device device);

/// to = from, of the same sizes and dtype.
void write(const TensorImpl &from, const TensorImpl &to);
/// Every element of `to` becomes `value`.
void fill(const TensorImpl &to, Scalar value);
/// to += from, element by element in order; several elements of `to` may be one.
void accumulateElements(const Tensor &from, const Tensor &to);

/// Strides of `sizes` over the memory of a tensor of other sizes, when they need no copy.
bool viewStrides(const TensorImpl &tensor, std::span<const int64_t> sizes, int64_t *strides);
/// -1 replaced; checks the number of elements.
std::vector<int64_t> inferSizes(const char *op, IntList sizes, int64_t elements, const TensorImpl &tensor);

/// Before an in-place op: refused where PyTorch refuses it.
void checkInPlace(const Tensor &self, const char *op);
/// After one: the version rises, and what was computed (`result`, recorded) becomes the tensor's history, through its base if
/// it is a view.
void rebaseHistory(Tensor &self, const Tensor &result);
/// Whether a gradient is followed through the tensor, its base's history considered.
bool requiresGradNow(TensorImpl &tensor);
/// Brings the history of a view up to date with its base's.
void refreshView(TensorImpl &view);

} // namespace graphc::eager
