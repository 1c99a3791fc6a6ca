// Pooling.
#include "frontend/onnx/ops/Products.h"

namespace graphc::onnx_import {

using namespace mlir;

namespace {

Windows poolWindows(Node &n) {
  Dims d = n.dimsOf(0);
  if (d.size() < 3)
    fail(Code::ShapeMismatch, "needs rank 3 or more, got shape ", graph::toString(d));
  auto kernel = n.ints("kernel_shape");
  if (kernel.empty())
    fail(Code::ModelMalformed, "attribute 'kernel_shape' is missing");
  return readWindows(n, Dims(d.begin() + 2, d.end()), kernel, n.i("ceil_mode", 0) != 0);
}
template <typename Op, typename... Extra>
Value pool(Node &n, Value x, const Windows &w, Type element, Extra... extra) {
  Dims d = Build::dims(x), result{d[0], d[1]};
  llvm::append_range(result, w.output);
  return Op::create(n.b, n.loc, graph::tensorType(result, element), x, n.b.getDenseI64ArrayAttr(w.window), n.b.getDenseI64ArrayAttr(w.strides),
                    n.b.getDenseI64ArrayAttr(w.dilations), n.b.getDenseI64ArrayAttr(w.low), n.b.getDenseI64ArrayAttr(w.high), UnitAttr(), extra...);
}

void importMaxPool(Node &n) {
  Windows w = poolWindows(n);
  Value x = n.x(0);
  n.out(0, pool<graph::MaxPoolOp>(n, x, w, n.element(0)));
  if (n.wants(1))
    n.out(1, pool<graph::MaxPoolIndexOp>(n, x, w, n.i64(), n.i("storage_order", 0) ? n.b.getUnitAttr() : UnitAttr()));
}
void importAveragePool(Node &n) {
  Windows w = poolWindows(n);
  n.out(pool<graph::AvgPoolOp>(n, n.x(0), w, n.element(0), n.i("count_include_pad", 0) ? n.b.getUnitAttr() : UnitAttr()));
}
void importLpPool(Node &n) {
  Windows w = poolWindows(n);
  // Until opset 1 p is a float.
  int64_t p = n.opset < 2 ? static_cast<int64_t>(n.f("p", 2)) : n.i("p", 2);
  n.out(pool<graph::LpPoolOp>(n, n.x(0), w, n.element(0), n.b.getI64IntegerAttr(p)));
}

llvm::SmallVector<int64_t> spatialAxes(Node &n) {
  if (n.rankOf(0) < 3)
    fail(Code::ShapeMismatch, "needs rank 3 or more, got shape ", graph::toString(n.dimsOf(0)));
  return axesFrom(2, n.rankOf(0));
}
void importGlobalAverage(Node &n) { n.out(n.mean(n.x(0), spatialAxes(n))); }
void importGlobalMax(Node &n) { n.out(n.reduce("max", n.x(0), spatialAxes(n))); }
void importGlobalLp(Node &n) {
  double p = n.opset < 2 ? n.f("p", 2) : static_cast<double>(n.i("p", 2));
  Value x = n.abs(n.x(0));
  Value sum = n.reduce("sum", p == 1 ? x : p == 2 ? n.square(x) : n.apply<graph::PowOp>({x, n.like(x, p)}), spatialAxes(n));
  n.out(p == 1 ? sum : p == 2 ? n.sqrt(sum) : n.apply<graph::PowOp>({sum, n.like(sum, 1 / p)}));
}

// Values back to where MaxPool found them; zero elsewhere.
void importMaxUnpool(Node &n) {
  Dims d = n.dimsOf(0);
  auto kernel = n.ints("kernel_shape"), strides = n.ints("strides"), pads = n.ints("pads");
  size_t spatial = d.size() - 2;
  if (d.size() < 3 || kernel.size() != spatial || (!strides.empty() && strides.size() != spatial) || (!pads.empty() && pads.size() != 2 * spatial))
    fail(Code::ShapeMismatch, "kernel_shape, strides and pads do not fit shape ", graph::toString(d));
  Dims natural{d[0], d[1]};
  for (size_t i = 0; i < spatial; ++i)
    natural.push_back(graph::simplify((d[i + 2] - 1) * (strides.empty() ? 1 : strides[i]) + kernel[i] - (pads.empty() ? 0 : pads[i] + pads[i + spatial])));
  Dims result = natural;
  Value at = n.cast(n.x(1), n.i64());
  if (n.has(2)) {
    auto shape = n.sizes(2, "output_shape");
    result.assign(shape.begin(), shape.end());
    if (result.size() != d.size())
      fail(Code::ShapeMismatch, "output_shape has ", result.size(), " entries for rank ", d.size());
  }
  // Indices count in the natural shape; the larger result holds it at its start.
  Value empty = n.broadcast(n.scalar(0, n.element(0)), {graph::product(natural, n.ctx())});
  AffineExpr count = graph::product(d, n.ctx());
  Value flat = graph::ScatterElementsOp::create(n.b, n.loc, empty.getType(), empty, n.reshape(at, {count}), n.reshape(n.x(0), {count}),
                                                n.b.getI64IntegerAttr(0), n.b.getStringAttr("none"));
  Value y = n.reshape(flat, natural);
  if (result != natural) {
    llvm::SmallVector<int64_t> low(d.size(), 0), high;
    for (size_t i = 0; i < d.size(); ++i) {
      auto more = graph::constantSize(graph::simplify(result[i] - natural[i]));
      if (!more)
        unsupported("output_shape with symbolic sizes");
      high.push_back(*more);
    }
    y = n.pad(y, low, high);
  }
  n.out(y);
}

const Handler table[] = {
    {"MaxPool", 1, importMaxPool},
    {"AveragePool", 1, importAveragePool},
    {"LpPool", 1, importLpPool},
    {"GlobalAveragePool", 1, importGlobalAverage},
    {"GlobalMaxPool", 1, importGlobalMax},
    {"GlobalLpPool", 1, importGlobalLp},
    {"MaxUnpool", 9, importMaxUnpool},
};

} // namespace

ArrayRef<Handler> poolOps() { return table; }

} // namespace graphc::onnx_import
