// Convolutions, and the window arithmetic they share with pooling.
#include "frontend/onnx/ops/Products.h"

namespace graphc::onnx_import {

using namespace mlir;

namespace {
constexpr int64_t kMaxWindow = int64_t(1) << 40; // products of these stay inside 64 bits

std::vector<int64_t> perSpatial(Node &n, StringRef name, size_t spatial, int64_t otherwise, int64_t least) {
  std::vector<int64_t> v = n.ints(name);
  if (!n.hasAttr(name) || v.empty())
    v.assign(spatial, otherwise);
  if (v.size() != spatial)
    fail(Code::ShapeMismatch, "attribute '", name.str(), "' has ", v.size(), " entries for ", spatial, " spatial dims");
  for (int64_t e : v)
    if (e < least || e > kMaxWindow)
      fail(Code::ShapeMismatch, "attribute '", name.str(), "' has the entry ", e);
  return v;
}

std::vector<int64_t> readPads(Node &n, size_t spatial) {
  std::vector<int64_t> pads = n.ints("pads");
  if (!n.hasAttr("pads") || pads.empty())
    pads.assign(2 * spatial, 0);
  if (pads.size() != 2 * spatial)
    fail(Code::ShapeMismatch, "attribute 'pads' has ", pads.size(), " entries for ", spatial, " spatial dims");
  for (int64_t p : pads)
    if (p < -kMaxWindow || p > kMaxWindow)
      fail(Code::ShapeMismatch, "attribute 'pads' has the entry ", p);
  return pads;
}

std::string readAutoPad(Node &n) {
  std::string mode = n.s("auto_pad", "NOTSET");
  if (mode.empty())
    mode = "NOTSET";
  if (!llvm::is_contained({"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}, mode))
    fail(Code::ModelMalformed, "auto_pad is '", mode, "'; NOTSET, VALID, SAME_UPPER and SAME_LOWER exist");
  return mode;
}
} // namespace

Windows readWindows(Node &n, const Dims &input, ArrayRef<int64_t> kernel, bool ceilMode) {
  size_t spatial = kernel.size();
  if (input.size() != spatial)
    fail(Code::ShapeMismatch, "window of rank ", spatial, " for ", input.size(), " spatial dims");
  Windows w;
  w.window.assign(kernel.begin(), kernel.end());
  for (int64_t k : kernel)
    if (k < 1 || k > kMaxWindow)
      fail(Code::ShapeMismatch, "the window has the size ", k);
  auto strides = perSpatial(n, "strides", spatial, 1, 1), dilations = perSpatial(n, "dilations", spatial, 1, 1), pads = readPads(n, spatial);
  w.strides.assign(strides.begin(), strides.end());
  w.dilations.assign(dilations.begin(), dilations.end());
  std::string mode = readAutoPad(n);
  for (size_t d = 0; d < spatial; ++d) {
    int64_t reach = (kernel[d] - 1) * w.dilations[d] + 1, stride = w.strides[d];
    if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      AffineExpr out = graph::simplify(input[d].ceilDiv(stride));
      int64_t total;
      if (auto size = graph::constantSize(input[d]))
        total = std::max<int64_t>(((*size + stride - 1) / stride - 1) * stride + reach - *size, 0);
      else if (stride == 1)
        total = reach - 1;
      else
        unsupported("auto_pad ", mode, " with stride ", stride, " over the symbolic size ", graph::toString(input[d]), ": the padding would depend on it");
      int64_t half = total / 2;
      w.low.push_back(mode == "SAME_UPPER" ? half : total - half);
      w.high.push_back(total - w.low.back());
      w.output.push_back(out);
      continue;
    }
    int64_t low = mode == "VALID" ? 0 : pads[d], high = mode == "VALID" ? 0 : pads[d + spatial];
    w.low.push_back(low);
    w.high.push_back(high);
    AffineExpr span = graph::simplify(input[d] + (low + high - reach));
    if (auto c = graph::constantSize(span); c && *c < 0)
      fail(Code::ShapeMismatch, "a window of ", reach, " does not fit the padded size ", *c + reach);
    else if (!c && !n.facts.require(span, 0))
      unsupported("whether a window of ", reach, " fits size ", graph::toString(input[d]), " cannot be decided");
    AffineExpr out = graph::simplify((ceilMode ? span.ceilDiv(stride) : span.floorDiv(stride)) + 1);
    // With ceil mode the last window must start inside the input or the low padding.
    if (ceilMode)
      if (auto c = graph::constantSize(out), size = graph::constantSize(input[d]); c && size && (*c - 1) * stride >= *size + low)
        out = n.size(*c - 1);
    w.output.push_back(out);
  }
  return w;
}

Value addChannelBias(Build &n, Value x, Value bias) {
  if (Build::rank(bias) != 1)
    fail(Code::ShapeMismatch, "the bias must be a vector, got shape ", Build::shapeText(bias));
  n.requireSame(Build::dims(bias)[0], Build::dims(x)[1], "bias and channels");
  return n.add(x, n.alongAxis(bias, 1, Build::rank(x)));
}

Value convolve(Node &n, Value x, Value w) {
  Dims dx = Build::dims(x), dw = Build::dims(w);
  if (dx.size() < 3 || dw.size() != dx.size())
    fail(Code::ShapeMismatch, "input ", graph::toString(dx), " and weight ", graph::toString(dw), " need the same rank of 3 or more");
  if (Build::elementType(x) != Build::elementType(w))
    fail(Code::TypeMismatch, "input and weight have element types ", typeText(Build::elementType(x)), " and ", typeText(Build::elementType(w)));
  int64_t group = n.i("group", 1);
  if (group < 1 || group > kMaxWindow)
    fail(Code::ShapeMismatch, "group is ", group);
  llvm::SmallVector<int64_t> kernel;
  for (size_t d = 2; d < dw.size(); ++d)
    kernel.push_back(n.staticDim(w, static_cast<int64_t>(d), "the window"));
  if (n.hasAttr("kernel_shape") && ArrayRef<int64_t>(n.ints("kernel_shape")) != ArrayRef<int64_t>(kernel))
    fail(Code::ShapeMismatch, "attribute 'kernel_shape' does not match the weight's shape ", graph::toString(dw));
  n.requireSame(dx[1], graph::simplify(dw[1] * group), "convolution of " + graph::toString(dx) + " with weight " + graph::toString(dw) + ": channels");
  if (auto m = graph::constantSize(dw[0]); m && *m % group != 0)
    fail(Code::ShapeMismatch, *m, " output channels are no multiple of group ", group);
  Windows win = readWindows(n, Dims(dx.begin() + 2, dx.end()), kernel);
  Dims result{dx[0], dw[0]};
  llvm::append_range(result, win.output);
  return graph::ConvOp::create(n.b, n.loc, graph::tensorType(result, Build::elementType(x)), x, w, n.b.getDenseI64ArrayAttr(win.strides),
                               n.b.getDenseI64ArrayAttr(win.dilations), n.b.getDenseI64ArrayAttr(win.low), n.b.getDenseI64ArrayAttr(win.high),
                               n.b.getI64IntegerAttr(group), UnitAttr());
}

namespace {

void importConv(Node &n) {
  Value y = convolve(n, n.x(0), n.x(1));
  n.out(n.has(2) ? addChannelBias(n, y, n.x(2)) : y);
}

void importConvTranspose(Node &n) {
  Value x = n.x(0), w = n.x(1);
  Dims dx = n.dimsOf(0), dw = n.dimsOf(1);
  if (dx.size() < 3 || dw.size() != dx.size())
    fail(Code::ShapeMismatch, "input ", graph::toString(dx), " and weight ", graph::toString(dw), " need the same rank of 3 or more");
  if (n.element(0) != n.element(1))
    fail(Code::TypeMismatch, "input and weight have element types ", typeText(n.element(0)), " and ", typeText(n.element(1)));
  size_t spatial = dx.size() - 2;
  int64_t group = n.i("group", 1);
  if (group < 1 || group > kMaxWindow)
    fail(Code::ShapeMismatch, "group is ", group);
  n.requireSame(dx[1], dw[0], "transposed convolution of " + graph::toString(dx) + " with weight " + graph::toString(dw) + ": channels");
  if (auto c = graph::constantSize(dx[1]); c && *c % group != 0)
    fail(Code::ShapeMismatch, *c, " channels are no multiple of group ", group);
  auto strides = perSpatial(n, "strides", spatial, 1, 1), dilations = perSpatial(n, "dilations", spatial, 1, 1);
  auto extra = perSpatial(n, "output_padding", spatial, 0, 0), pads = readPads(n, spatial);
  std::vector<int64_t> shape = n.ints("output_shape");
  if (shape.size() == dx.size()) // some exporters give batch and channels too
    shape.erase(shape.begin(), shape.begin() + 2);
  if (!shape.empty() && shape.size() != spatial)
    fail(Code::ShapeMismatch, "attribute 'output_shape' has ", shape.size(), " entries for ", spatial, " spatial dims");
  std::string mode = readAutoPad(n);
  llvm::SmallVector<int64_t> low, high;
  Dims result{dx[0], graph::simplify(dw[1] * group)};
  for (size_t d = 0; d < spatial; ++d) {
    int64_t reach = (n.staticDim(w, static_cast<int64_t>(d) + 2, "the window") - 1) * dilations[d] + 1;
    // Without padding: every input element reaches `reach` outputs, `stride` apart.
    AffineExpr full = graph::simplify((dx[d + 2] - 1) * strides[d] + (reach + extra[d]));
    AffineExpr out;
    if (!shape.empty())
      out = n.size(shape[d]);
    else if (mode == "SAME_UPPER" || mode == "SAME_LOWER")
      out = graph::simplify(dx[d + 2] * strides[d]);
    if (out) {
      auto total = graph::constantSize(graph::simplify(full - out));
      if (!total)
        unsupported("output_shape over the symbolic size ", graph::toString(dx[d + 2]), ": the padding would depend on it");
      int64_t padding = std::max<int64_t>(*total, 0), half = padding / 2;
      low.push_back(mode == "SAME_UPPER" ? half : padding - half);
      high.push_back(padding - low.back());
    } else {
      low.push_back(mode == "VALID" ? 0 : pads[d]);
      high.push_back(mode == "VALID" ? 0 : pads[d + spatial]);
      out = graph::simplify(full - low.back() - high.back());
    }
    if (auto c = graph::constantSize(out); c && *c < 0)
      fail(Code::ShapeMismatch, "the padding leaves a negative size on axis ", d + 2);
    result.push_back(out);
  }
  Value y = graph::ConvTransposeOp::create(n.b, n.loc, graph::tensorType(result, n.element(0)), x, w, n.b.getDenseI64ArrayAttr(strides),
                                           n.b.getDenseI64ArrayAttr(dilations), n.b.getDenseI64ArrayAttr(low), n.b.getDenseI64ArrayAttr(high),
                                           n.b.getI64IntegerAttr(group), UnitAttr());
  n.out(n.has(2) ? addChannelBias(n, y, n.x(2)) : y);
}

// Column blocks back to an image, overlaps added: a transposed convolution with a one-hot weight.
void importCol2Im(Node &n) {
  auto image = n.ints(1, "image_shape"), block = n.ints(2, "block_shape");
  size_t spatial = image.size();
  Dims dx = n.dimsOf(0); // [N, C * prod(block), L]
  if (dx.size() != 3 || block.size() != spatial || spatial == 0)
    fail(Code::ShapeMismatch, "input ", graph::toString(dx), ", image_shape and block_shape do not fit");
  auto strides = perSpatial(n, "strides", spatial, 1, 1), dilations = perSpatial(n, "dilations", spatial, 1, 1), pads = readPads(n, spatial);
  int64_t blockSize = 1, maxBlock = 1 << 16;
  Dims columns, result;
  llvm::SmallVector<int64_t> low, high;
  for (size_t d = 0; d < spatial; ++d) {
    if (block[d] < 1 || block[d] > maxBlock || image[d] < 1)
      fail(Code::ShapeMismatch, "image_shape or block_shape has an entry that is not positive");
    blockSize *= block[d];
    int64_t span = image[d] + pads[d] + pads[d + spatial] - ((block[d] - 1) * dilations[d] + 1);
    if (span < 0)
      fail(Code::ShapeMismatch, "a block of ", block[d], " does not fit the padded image of ", image[d]);
    columns.push_back(n.size(span / strides[d] + 1));
    low.push_back(pads[d]);
    high.push_back(pads[d + spatial]);
  }
  if (blockSize > maxBlock)
    unsupported("blocks of ", blockSize, " elements");
  AffineExpr channels = divideSizes({dx[1]}, {n.size(blockSize)}, n.ctx());
  if (!channels)
    fail(Code::ShapeMismatch, graph::toString(dx[1]), " rows are no multiple of the block's ", blockSize, " elements");
  // [N * C, block, columns...] with weight [block, 1, block...], one at its own place.
  Dims from{graph::simplify(dx[0] * channels), n.size(blockSize)};
  llvm::append_range(from, columns);
  Value rows = n.iota({n.size(blockSize), n.size(blockSize)}, 0, n.i64()), cols = n.iota({n.size(blockSize), n.size(blockSize)}, 1, n.i64());
  Dims weightDims{n.size(blockSize), n.size(1)};
  for (int64_t b : block)
    weightDims.push_back(n.size(b));
  Value weight = n.reshape(n.cast(n.equal(rows, cols), n.element(0)), weightDims);
  Dims out{from[0], n.size(1)};
  for (int64_t i : image)
    out.push_back(n.size(i));
  Value y = graph::ConvTransposeOp::create(n.b, n.loc, graph::tensorType(out, n.element(0)), n.reshape(n.x(0), from), weight,
                                           n.b.getDenseI64ArrayAttr(strides), n.b.getDenseI64ArrayAttr(dilations), n.b.getDenseI64ArrayAttr(low),
                                           n.b.getDenseI64ArrayAttr(high), n.b.getI64IntegerAttr(1), UnitAttr());
  result = {dx[0], channels};
  for (int64_t i : image)
    result.push_back(n.size(i));
  n.out(n.reshape(y, result));
}

const Handler table[] = {
    {"Conv", 1, importConv},
    {"ConvTranspose", 1, importConvTranspose},
    {"Col2Im", 18, importCol2Im},
};

} // namespace

ArrayRef<Handler> convolutionOps() { return table; }

} // namespace graphc::onnx_import
