// Convolution, pooling, padding, resampling: ops whose code depends on windows and spatial sizes.
#include "frontend/eager/State.h"
#include "frontend/graphc/factories.h"
#include "frontend/graphc/ops.h"

#include <algorithm>
#include <cstdlib>

namespace graphc {

using namespace eager;

namespace {

std::string array(const std::vector<int64_t> &values) { return text("array<i64", values.empty() ? "" : ": ", joined(values), ">"); }

/// Of windows, strides and paddings: sizes made of them stay far from overflow.
constexpr int64_t kLargest = int64_t{1} << 30;

std::vector<int64_t> spread(const char *op, const char *what, const Extents &given, int64_t n, int64_t least) {
  if (given.size() != 1 && static_cast<int64_t>(given.size()) != n)
    failWith(codes::InvalidArgument, op, ": ", what, " has ", given.size(), " entries for ", n, " spatial dims");
  std::vector<int64_t> values;
  for (int64_t d = 0; d < n; ++d) {
    values.push_back(given.at(static_cast<size_t>(d)));
    if (values.back() < least)
      failWith(codes::InvalidArgument, op, ": ", what, " ", values.back(), " is less than ", least);
    if (values.back() > kLargest)
      failWith(codes::InvalidArgument, op, ": ", what, " ", values.back(), " is more than ", kLargest);
  }
  return values;
}

void checkImage(const char *op, const Tensor &x, int64_t spatial) {
  if (!x.defined() || (x.dim() != spatial + 2 && x.dim() != spatial + 1))
    failWith(Code::ShapeMismatch, op, ": the input ", x.defined() ? nameOf(x) : "(undefined)", " is not [batch, channels", spatial == 1 ? ", length" : spatial == 2 ? ", height, width" : ", depth, height, width",
             "] or the same without a batch");
}

struct ConvShape {
  std::vector<int64_t> stride, padding, dilation;
};

Tensor convolve(const char *op, int64_t spatial, const Tensor &x, const Tensor &weight, const Tensor &bias, const ConvOptions &options) {
  OpScope scope(op);
  checkImage(op, x, spatial);
  if (x.dim() == spatial + 1)
    return convolve(op, spatial, x.unsqueeze(0), weight, bias, options).squeeze(0);
  checkDevices(op, {&x, &weight});
  if (weight.dim() != spatial + 2)
    failWith(Code::ShapeMismatch, op, ": the weight ", nameOf(weight), " does not have rank ", spatial + 2);
  if (weight.dtype() != x.dtype() || (bias.defined() && bias.dtype() != x.dtype()))
    failWith(Code::TypeMismatch, op, ": the input ", nameOf(x), " and the weight ", nameOf(weight), " must have one dtype; convert one with to()");
  int64_t groups = options.groups;
  if (groups < 1)
    failWith(codes::InvalidArgument, op, ": groups is ", groups, ", at least 1 is needed");
  if (weight.numel() == 0)
    failWith(Code::ShapeMismatch, op, ": the weight ", nameOf(weight), " has no elements");
  if (x.size(1) % groups || weight.size(0) % groups || x.size(1) != weight.size(1) * groups)
    failWith(Code::ShapeMismatch, op, ": the input ", nameOf(x), " with ", x.size(1), " channels does not fit the weight ", nameOf(weight), " in ", groups,
             groups == 1 ? " group: it needs " : " groups: it needs ", weight.size(1) * groups);
  if (bias.defined() && (bias.dim() != 1 || bias.size(0) != weight.size(0)))
    failWith(Code::ShapeMismatch, op, ": the bias ", nameOf(bias), " does not have the ", weight.size(0), " elements that the weight has outputs");
  auto stride = spread(op, "stride", options.stride, spatial, 1), padding = spread(op, "padding", options.padding, spatial, 0),
       dilation = spread(op, "dilation", options.dilation, spatial, 1);
  std::vector<std::string> out;
  for (int64_t d = 0; d < spatial; ++d) {
    int64_t reach = dilation[d] * (weight.size(d + 2) - 1) + 1, size = x.size(d + 2) + 2 * padding[d];
    if (size < reach)
      failWith(Code::ShapeMismatch, op, ": the window covers ", reach, " of axis ", d + 2, " of the input ", nameOf(x), ", which has ", size, " with its padding");
    out.push_back(text((size - reach) / stride[d] + 1));
  }
  Call call(op);
  call.attributes(stride).attributes(padding).attributes(dilation).attribute(groups).input(x).fixed(1).input(weight).fixed();
  if (bias.defined())
    call.input(bias).fixed();
  return call.run([&](GraphBuilder &g) {
    OpValueType type{g.dtype(0), {g.dim(0, 0), g.dim(1, 0)}};
    type.dims.insert(type.dims.end(), out.begin(), out.end());
    auto y = g.op("conv", {g.input(0), g.input(1)},
                  text("strides = ", array(stride), ", dilations = ", array(dilation), ", pads_low = ", array(padding), ", pads_high = ", array(padding),
                       ", groups = ", groups, " : i64"),
                  type);
    if (bias.defined()) {
      std::vector<std::string> dims(static_cast<size_t>(spatial + 1), "1");
      dims[0] = g.dim(2, 0);
      y = g.add(y, g.op("reshape", {g.input(2)}, "", OpValueType{g.dtype(0), dims}));
    }
    g.result(y);
  });
}

Tensor convolveTransposed(const char *op, int64_t spatial, const Tensor &x, const Tensor &weight, const Tensor &bias,
                          const ConvTransposeOptions &options) {
  OpScope scope(op);
  checkImage(op, x, spatial);
  if (x.dim() == spatial + 1)
    return convolveTransposed(op, spatial, x.unsqueeze(0), weight, bias, options).squeeze(0);
  checkDevices(op, {&x, &weight});
  int64_t groups = options.groups;
  if (groups < 1)
    failWith(codes::InvalidArgument, op, ": groups is ", groups, ", at least 1 is needed");
  if (weight.numel() == 0)
    failWith(Code::ShapeMismatch, op, ": the weight ", nameOf(weight), " has no elements");
  if (weight.dim() != spatial + 2 || x.size(1) != weight.size(0) || x.size(1) % groups)
    failWith(Code::ShapeMismatch, op, ": the input ", nameOf(x), " does not fit the weight ", nameOf(weight), " in ", groups, " groups");
  if (weight.dtype() != x.dtype() || (bias.defined() && bias.dtype() != x.dtype()))
    failWith(Code::TypeMismatch, op, ": the input ", nameOf(x), " and the weight ", nameOf(weight), " must have one dtype; convert one with to()");
  if (bias.defined() && (bias.dim() != 1 || bias.size(0) != weight.size(1) * groups))
    failWith(Code::ShapeMismatch, op, ": the bias ", nameOf(bias), " does not have ", weight.size(1) * groups, " elements");
  auto stride = spread(op, "stride", options.stride, spatial, 1), padding = spread(op, "padding", options.padding, spatial, 0),
       dilation = spread(op, "dilation", options.dilation, spatial, 1), extra = spread(op, "output padding", options.outputPadding, spatial, 0);
  std::vector<std::string> out;
  std::vector<int64_t> high;
  for (int64_t d = 0; d < spatial; ++d) {
    if (extra[d] >= std::max(stride[d], dilation[d]))
      failWith(codes::InvalidArgument, op, ": output padding ", extra[d], " must be smaller than the stride ", stride[d], " or the dilation ", dilation[d]);
    int64_t size = (x.size(d + 2) - 1) * stride[d] - 2 * padding[d] + dilation[d] * (weight.size(d + 2) - 1) + extra[d] + 1;
    if (size <= 0)
      failWith(Code::ShapeMismatch, op, ": the result of axis ", d + 2, " would have size ", size);
    out.push_back(text(size));
    high.push_back(padding[d] - extra[d]);
  }
  Call call(op);
  call.attributes(stride).attributes(padding).attributes(dilation).attributes(extra).attribute(groups).input(x).fixed(1).input(weight).fixed();
  if (bias.defined())
    call.input(bias).fixed();
  return call.run([&](GraphBuilder &g) {
    OpValueType type{g.dtype(0), {g.dim(0, 0), text(weight.size(1) * groups)}};
    type.dims.insert(type.dims.end(), out.begin(), out.end());
    auto y = g.op("conv_transpose", {g.input(0), g.input(1)},
                  text("strides = ", array(stride), ", dilations = ", array(dilation), ", pads_low = ", array(padding), ", pads_high = ", array(high),
                       ", groups = ", groups, " : i64"),
                  type);
    if (bias.defined()) {
      std::vector<std::string> dims(static_cast<size_t>(spatial + 1), "1");
      dims[0] = g.dim(2, 0);
      y = g.add(y, g.op("reshape", {g.input(2)}, "", OpValueType{g.dtype(0), dims}));
    }
    g.result(y);
  });
}

Tensor pool(const char *op, const char *graphOp, int64_t spatial, const Tensor &x, const Extents &window, const PoolOptions &options, bool average) {
  OpScope scope(op);
  checkImage(op, x, spatial);
  if (x.dim() == spatial + 1)
    return pool(op, graphOp, spatial, x.unsqueeze(0), window, options, average).squeeze(0);
  auto k = spread(op, "window", window, spatial, 1), stride = options.stride ? spread(op, "stride", *options.stride, spatial, 1) : k,
       padding = spread(op, "padding", options.padding, spatial, 0), dilation = spread(op, "dilation", options.dilation, spatial, 1);
  std::vector<std::string> out;
  std::vector<int64_t> high;
  for (int64_t d = 0; d < spatial; ++d) {
    if (2 * padding[d] > k[d])
      failWith(codes::InvalidArgument, op, ": padding ", padding[d], " is more than half the window ", k[d]);
    int64_t reach = dilation[d] * (k[d] - 1) + 1, size = x.size(d + 2), room = size + 2 * padding[d] - reach;
    if (room < 0)
      failWith(Code::ShapeMismatch, op, ": the window covers ", reach, " of axis ", d + 2, " of the input ", nameOf(x), ", which has ", size + 2 * padding[d], " with its padding");
    int64_t n = (options.ceilMode ? (room + stride[d] - 1) / stride[d] : room / stride[d]) + 1;
    // The last window starts inside the input or its left padding.
    if (options.ceilMode && (n - 1) * stride[d] >= size + padding[d])
      --n;
    out.push_back(text(n));
    high.push_back(padding[d]);
  }
  Call call(op);
  call.attributes(k).attributes(stride).attributes(padding).attributes(dilation).attribute(options.ceilMode).attribute(options.countIncludePad);
  call.input(x).fixed(2);
  return call.run([&](GraphBuilder &g) {
    OpValueType type{g.dtype(0), {g.dim(0, 0), g.dim(0, 1)}};
    type.dims.insert(type.dims.end(), out.begin(), out.end());
    g.result(g.op(graphOp, {g.input(0)},
                  text("window = ", array(k), ", strides = ", array(stride), ", dilations = ", array(dilation), ", pads_low = ", array(padding), ", pads_high = ",
                       array(high), average && options.countIncludePad ? ", count_pad" : ""),
                  type));
  });
}

} // namespace

Tensor conv1d(const TensorArg &x, const Tensor &w, const Tensor &b, const ConvOptions &o) { return convolve("conv1d", 1, x, w, b, o); }
Tensor conv2d(const TensorArg &x, const Tensor &w, const Tensor &b, const ConvOptions &o) { return convolve("conv2d", 2, x, w, b, o); }
Tensor conv3d(const TensorArg &x, const Tensor &w, const Tensor &b, const ConvOptions &o) { return convolve("conv3d", 3, x, w, b, o); }
Tensor convTranspose1d(const TensorArg &x, const Tensor &w, const Tensor &b, const ConvTransposeOptions &o) {
  OpScope scope("convTranspose1d");
  return convolveTransposed("convTranspose1d", 1, x, w, b, o);
}
Tensor convTranspose2d(const TensorArg &x, const Tensor &w, const Tensor &b, const ConvTransposeOptions &o) {
  OpScope scope("convTranspose2d");
  return convolveTransposed("convTranspose2d", 2, x, w, b, o);
}
Tensor convTranspose3d(const TensorArg &x, const Tensor &w, const Tensor &b, const ConvTransposeOptions &o) {
  OpScope scope("convTranspose3d");
  return convolveTransposed("convTranspose3d", 3, x, w, b, o);
}
Tensor maxPool1d(const TensorArg &x, Extents k, const PoolOptions &o) { return pool("maxPool1d", "max_pool", 1, x, k, o, false); }
Tensor maxPool2d(const TensorArg &x, Extents k, const PoolOptions &o) { return pool("maxPool2d", "max_pool", 2, x, k, o, false); }
Tensor maxPool3d(const TensorArg &x, Extents k, const PoolOptions &o) { return pool("maxPool3d", "max_pool", 3, x, k, o, false); }
Tensor avgPool1d(const TensorArg &x, Extents k, const PoolOptions &o) { return pool("avgPool1d", "avg_pool", 1, x, k, o, true); }
Tensor avgPool2d(const TensorArg &x, Extents k, const PoolOptions &o) { return pool("avgPool2d", "avg_pool", 2, x, k, o, true); }
Tensor avgPool3d(const TensorArg &x, Extents k, const PoolOptions &o) { return pool("avgPool3d", "avg_pool", 3, x, k, o, true); }

Tensor adaptiveAvgPool2d(const TensorArg &x, Extents outputSize) {
  OpScope scope("adaptiveAvgPool2d");
  const char *op = "adaptiveAvgPool2d";
  checkImage(op, x, 2);
  if (x.dim() == 3)
    return adaptiveAvgPool2d(x.unsqueeze(0), outputSize).squeeze(0);
  auto out = spread(op, "output size", outputSize, 2, 1);
  int64_t h = x.size(2), w = x.size(3);
  if (h % out[0] == 0 && w % out[1] == 0)
    return avgPool2d(x, {h / out[0], w / out[1]});
  // Windows of differing lengths: one averaging matrix per axis.
  auto averaging = [&](int64_t n, int64_t m) {
    std::vector<double> values(static_cast<size_t>(m * n));
    for (int64_t i = 0; i < m; ++i) {
      int64_t from = i * n / m, to = ((i + 1) * n + m - 1) / m;
      for (int64_t k = from; k < to; ++k)
        values[static_cast<size_t>(i * n + k)] = 1.0 / static_cast<double>(to - from);
    }
    return fromVector(values, {m, n}, {.device = x.device()}).to(x.dtype());
  };
  return matmul(matmul(averaging(h, out[0]), x), averaging(w, out[1]).t());
}

Tensor pad(const TensorArg &x, IntList padding, PadMode mode, double value) {
  OpScope scope("pad");
  if (padding.size() % 2 || static_cast<int64_t>(padding.size() / 2) > x.dim())
    failWith(codes::InvalidArgument, "pad: [", joined(padding), "] is not a pair for each of at most ", x.dim(), " last dims");
  size_t rank = static_cast<size_t>(x.dim());
  std::vector<int64_t> low(rank), high(rank);
  for (size_t i = 0; i < padding.size() / 2; ++i) {
    size_t d = rank - 1 - i;
    low[d] = padding[2 * i];
    high[d] = padding[2 * i + 1];
    int64_t n = x.size(static_cast<int64_t>(d));
    int64_t padded = 0;
    if (__builtin_add_overflow(n, low[d], &padded) || __builtin_add_overflow(padded, high[d], &padded) || padded < 0)
      failWith(Code::ShapeMismatch, "pad: size ", n, " of dim ", d, " cannot be padded by ", low[d], " and ", high[d]);
    if (mode != PadMode::Constant && n == 0 && (low[d] > 0 || high[d] > 0))
      failWith(codes::InvalidArgument, "pad: dim ", d, " of ", nameOf(x), " is empty, so it holds nothing to repeat; PadMode::Constant has a value of its own");
    int64_t most = mode == PadMode::Reflect ? std::max<int64_t>(0, n - 1) : n;
    if ((mode == PadMode::Reflect || mode == PadMode::Circular) && (low[d] > most || high[d] > most))
      failWith(codes::InvalidArgument, "pad: ", std::max(low[d], high[d]), " is more than dim ", d, " of ", nameOf(x), " allows, ", most);
  }
  const char *modes[] = {"constant", "reflect", "edge", "wrap"};
  const char *name = modes[static_cast<int>(mode)];
  Call call("pad");
  call.attributes(low).attributes(high).attribute(static_cast<int>(mode)).attribute(value).input(x);
  return call.run([&](GraphBuilder &g) {
    OpValueType type{g.dtype(0), {}};
    for (size_t d = 0; d < rank; ++d) {
      int64_t added = low[d] + high[d];
      const std::string &dim = g.dim(0, static_cast<int64_t>(d));
      type.dims.push_back(added == 0 ? dim : dim == "1" ? text(1 + added) : text(dim, added > 0 ? " + " : " - ", std::abs(added)));
    }
    g.result(g.op("pad", {g.input(0)}, text("low = ", array(low), ", mode = \"", name, "\", value = ", number(value), " : f64"), type));
  });
}

Tensor interpolate(const TensorArg &x, IntList size, InterpolateMode mode, bool alignCorners) {
  OpScope scope("interpolate");
  int64_t spatial = static_cast<int64_t>(size.size());
  if (x.dim() != spatial + 2)
    failWith(Code::ShapeMismatch, "interpolate: ", size.size(), " sizes for ", nameOf(x), ", which has ", x.dim() - 2, " spatial dims");
  for (int64_t d = 0; d < spatial; ++d)
    if (size[static_cast<size_t>(d)] <= 0 || x.size(d + 2) == 0)
      failWith(Code::ShapeMismatch, "interpolate: dim ", d + 2, " of ", nameOf(x), " cannot become ", size[static_cast<size_t>(d)], " from ", x.size(d + 2),
               "; both must be at least 1");
  Call call("interpolate");
  call.attributes(size.span()).attribute(static_cast<int>(mode)).attribute(alignCorners).input(x).fixed(2);
  return call.run([&](GraphBuilder &g) {
    OpValueType type{g.dtype(0), {g.dim(0, 0), g.dim(0, 1)}};
    std::string scales = "1.0, 1.0";
    for (int64_t d = 0; d < spatial; ++d) {
      type.dims.push_back(text(size[static_cast<size_t>(d)]));
      scales += ", " + number(static_cast<double>(size[static_cast<size_t>(d)]) / static_cast<double>(x.size(d + 2)));
    }
    const char *kind = mode == InterpolateMode::Nearest ? "nearest" : mode == InterpolateMode::Bilinear ? "linear" : "cubic";
    const char *place = mode == InterpolateMode::Nearest ? "asymmetric" : alignCorners ? "align_corners" : "half_pixel";
    g.result(g.op("resize", {g.input(0)}, text("scales = array<f64: ", scales, ">, mode = \"", kind, "\", coordinates = \"", place, "\", nearest = \"floor\""), type));
  });
}

} // namespace graphc
