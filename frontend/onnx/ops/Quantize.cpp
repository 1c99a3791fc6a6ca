// Quantisation. Integer products are exact in 32 bits; scaling is done in the floating-point type of the scales.
#include "frontend/onnx/GraphImport.h"
#include "frontend/onnx/ops/Products.h"

namespace graphc::onnx_import {

using namespace mlir;

namespace {

/// A scale or zero point as it broadcasts to x: one number, one per index along `axis`, or one per block of the axis.
Value spread(Node &n, Value v, Value x, int64_t axis, int64_t block) {
  Dims own = Build::dims(v), dims = Build::dims(x);
  if (own.empty() || (own.size() == 1 && graph::isSize(own[0], 1)))
    return n.reshape(v, {});
  axis = Build::axis(axis, Build::rank(x));
  if (own.size() == 1) {
    n.requireSame(own[0], dims[axis], "scale or zero point and axis " + std::to_string(axis));
    return n.alongAxis(v, axis, Build::rank(x));
  }
  if (own.size() != dims.size() || block < 1)
    fail(Code::ShapeMismatch, "scale or zero point of shape ", graph::toString(own), " does not fit ", graph::toString(dims), " with block_size ", block);
  Dims blocks = own, wide = own, flat = own;
  blocks.insert(blocks.begin() + axis + 1, n.size(1));
  wide.insert(wide.begin() + axis + 1, n.size(block));
  flat[axis] = graph::simplify(own[axis] * block);
  Value repeated = n.reshape(n.broadcast(n.reshape(v, blocks), wide), flat);
  return n.slice(repeated, axis, n.size(0), dims[axis]);
}

std::pair<double, double> rangeOf(Type type) {
  auto t = dyn_cast<IntegerType>(type);
  if (!t || t.getWidth() > 16 || t.getWidth() < 8)
    unsupported("quantisation to ", typeText(type));
  double span = static_cast<double>(int64_t(1) << t.getWidth());
  return t.isUnsigned() ? std::pair(0.0, span - 1) : std::pair(-span / 2, span / 2 - 1);
}
/// round(x) + zero point, saturated to `type`.
Value saturate(Node &n, Value scaled, Value zeroPoint, Type type) {
  auto [low, high] = rangeOf(type);
  Value y = n.round(scaled);
  if (zeroPoint)
    y = n.add(y, n.cast(zeroPoint, Build::elementType(y)));
  return n.cast(n.apply<graph::ClampOp>({y}, {n.attr("alpha", low), n.attr("beta", high)}), type);
}

void importQuantize(Node &n) {
  int64_t axis = n.i("axis", 1), block = n.i("block_size", 0);
  Type type = n.has(2) ? n.element(2) : n.hasAttr("output_dtype") && n.i("output_dtype", 0) ? elementTypeOf(static_cast<int32_t>(n.i("output_dtype", 0)), n.ctx()) : IntegerType::get(n.ctx(), 8, IntegerType::Unsigned);
  if (!type)
    unsupported("quantisation to ", elementTypeName(static_cast<int32_t>(n.i("output_dtype", 0))));
  rangeOf(type);
  Value x = n.x(0), scale = spread(n, n.x(1), x, axis, block);
  // Division in the wider of the two types, at least f32.
  Type work = n.element(0) == n.b.getF64Type() ? Type(n.b.getF64Type()) : n.f32();
  Value scaled = n.div(n.cast(x, work), n.cast(scale, work));
  n.out(saturate(n, scaled, n.has(2) ? spread(n, n.x(2), x, axis, block) : Value(), type));
}

void importDequantize(Node &n) {
  int64_t axis = n.i("axis", 1), block = n.i("block_size", 0);
  Type type = n.element(1);
  if (n.hasAttr("output_dtype") && n.i("output_dtype", 0))
    type = elementTypeOf(static_cast<int32_t>(n.i("output_dtype", 0)), n.ctx());
  if (!type)
    unsupported("dequantisation to ", elementTypeName(static_cast<int32_t>(n.i("output_dtype", 0))));
  Value x = n.x(0), scale = spread(n, n.x(1), x, axis, block);
  Value centred = n.cast(x, n.i32());
  if (n.has(2))
    centred = n.sub(centred, n.cast(spread(n, n.x(2), x, axis, block), n.i32()));
  Type work = type.isF64() ? type : n.f32();
  n.out(n.cast(n.mul(n.cast(centred, work), n.cast(scale, work)), type));
}

// Scale and zero point from the data: the range, widened to hold 0, over 255 steps.
void importDynamicQuantize(Node &n) {
  Value x = n.x(0);
  auto axes = axesFrom(0, n.rankOf(0));
  Type u8 = IntegerType::get(n.ctx(), 8, IntegerType::Unsigned);
  Value zero = n.like(x, 0), high = n.max(n.reduce("max", x, axes, false), zero), low = n.min(n.reduce("min", x, axes, false), zero);
  Value scale = n.div(n.sub(high, low), n.like(x, 255));
  Value point = saturate(n, n.div(n.sub(zero, low), scale), Value(), u8);
  n.out(0, saturate(n, n.div(x, scale), point, u8));
  n.out(1, scale);
  n.out(2, point);
}

/// x - zero point in i32.
Value centred(Node &n, Value x, Value zeroPoint) {
  Value wide = n.cast(x, n.i32());
  return zeroPoint ? n.sub(wide, n.cast(zeroPoint, n.i32())) : wide;
}
/// A zero point or scale of the left operand of a matmul: one per row.
Value perRow(Node &n, size_t i) {
  Value v = n.x(i);
  if (Build::rank(v) == 1)
    return graph::isSize(Build::dims(v)[0], 1) ? n.reshape(v, {}) : n.unsqueeze(v, 1);
  return v;
}
/// Of the right operand: one per column.
Value perColumn(Node &n, size_t i) {
  Value v = n.x(i);
  return Build::rank(v) == 1 && graph::isSize(Build::dims(v)[0], 1) ? n.reshape(v, {}) : v;
}

void importMatMulInteger(Node &n) {
  n.out(numpyMatmul(n, centred(n, n.x(0), n.has(2) ? perRow(n, 2) : Value()), centred(n, n.x(1), n.has(3) ? perColumn(n, 3) : Value())));
}
/// One zero point per output channel (dim 0 of the weight).
Value perFilter(Node &n, Value v, int64_t rank) {
  if (Build::rank(v) == 1 && !graph::isSize(Build::dims(v)[0], 1))
    return n.alongAxis(v, 0, rank);
  return n.reshape(v, {});
}
void importConvInteger(Node &n) {
  Value x = centred(n, n.x(0), n.has(2) ? n.reshape(n.x(2), {}) : Value());
  Value w = centred(n, n.x(1), n.has(3) ? perFilter(n, n.x(3), n.rankOf(1)) : Value());
  n.out(convolve(n, x, w));
}

void importQLinearMatMul(Node &n) {
  Value product = numpyMatmul(n, centred(n, n.x(0), perRow(n, 2)), centred(n, n.x(3), perColumn(n, 5)));
  Value scale = n.div(n.mul(n.cast(perRow(n, 1), n.f32()), n.cast(perColumn(n, 4), n.f32())), n.cast(perRow(n, 6), n.f32()));
  n.out(saturate(n, n.mul(n.cast(product, n.f32()), scale), perRow(n, 7), n.element(7)));
}
void importQLinearConv(Node &n) {
  Value x = centred(n, n.x(0), n.reshape(n.x(2), {})), w = centred(n, n.x(3), perFilter(n, n.x(5), n.rankOf(3)));
  Value y = convolve(n, x, w);
  if (n.has(8))
    y = addChannelBias(n, y, n.x(8));
  Value weightScale = n.x(4);
  weightScale = Build::rank(weightScale) == 1 && !graph::isSize(Build::dims(weightScale)[0], 1) ? n.alongAxis(weightScale, 1, Build::rank(y)) : n.reshape(weightScale, {});
  Value scale = n.div(n.mul(n.reshape(n.x(1), {}), weightScale), n.reshape(n.x(6), {}));
  n.out(saturate(n, n.mul(n.cast(y, Build::elementType(scale)), scale), n.reshape(n.x(7), {}), n.element(7)));
}

const Handler table[] = {
    {"QuantizeLinear", 10, importQuantize},
    {"DequantizeLinear", 10, importDequantize},
    {"DynamicQuantizeLinear", 11, importDynamicQuantize},
    {"MatMulInteger", 10, importMatMulInteger},
    {"ConvInteger", 10, importConvInteger},
    {"QLinearMatMul", 10, importQLinearMatMul},
    {"QLinearConv", 10, importQLinearConv},
};

} // namespace

ArrayRef<Handler> quantizeOps() { return table; }

} // namespace graphc::onnx_import
