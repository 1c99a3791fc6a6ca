// Resampling: Resize and Upsample; AffineGrid and GridSample.
#include "frontend/onnx/Node.h"

#include <cmath>

namespace graphc::onnx_import {

using namespace mlir;

namespace {

/// in * scale, rounded down; exact for fractions with a small denominator when the size is symbolic.
AffineExpr scaled(Node &n, AffineExpr in, double scale) {
  if (auto c = graph::constantSize(in)) {
    double out = std::floor(static_cast<double>(*c) * scale);
    if (!(out >= 0 && out < 1e15))
      fail(Code::ShapeMismatch, "scale ", scale, " of size ", *c, " is out of range");
    return n.size(static_cast<int64_t>(out));
  }
  for (int64_t denominator = 1; denominator <= 64; ++denominator) {
    double numerator = scale * static_cast<double>(denominator);
    if (numerator == std::floor(numerator) && numerator > 0 && numerator < 1e6)
      return graph::simplify((in * static_cast<int64_t>(numerator)).floorDiv(denominator));
  }
  unsupported("scale ", scale, " of the symbolic size ", graph::toString(in));
}

void emitResize(Node &n, ArrayRef<AffineExpr> result, ArrayRef<double> scales, StringRef mode, StringRef coordinates, StringRef nearest) {
  Value x = n.x(0);
  bool same = result == ArrayRef<AffineExpr>(n.dimsOf(0)) && llvm::all_of(scales, [](double s) { return s == 1; });
  if (same)
    return n.outSame(0, 0);
  auto op = graph::ResizeOp::create(n.b, n.loc, graph::tensorType(result, n.element(0)), x, n.b.getDenseF64ArrayAttr(scales), n.b.getStringAttr(mode),
                                    n.b.getStringAttr(coordinates), n.b.getStringAttr(nearest), n.b.getF64FloatAttr(n.f("cubic_coeff_a", -0.75)),
                                    n.i("exclude_outside", 0) ? n.b.getUnitAttr() : UnitAttr());
  n.out(op.getResult());
}

// Until opset 10: scales only, coordinates scaled without offset.
void importUpsample(Node &n) {
  std::vector<double> scales = n.hasAttr("scales") ? n.floats("scales") : n.opset < 7 ? std::vector<double>{1, 1, n.f("height_scale", 1), n.f("width_scale", 1)} : n.floatVector(1, "scales");
  Dims in = n.dimsOf(0), out;
  if (scales.size() != in.size())
    fail(Code::ShapeMismatch, "scales has ", scales.size(), " entries for rank ", in.size());
  for (size_t d = 0; d < in.size(); ++d)
    out.push_back(scaled(n, in[d], scales[d]));
  std::string mode = n.s("mode", "nearest");
  if (mode == "bilinear")
    mode = "linear";
  if (mode != "nearest" && mode != "linear")
    fail(Code::ModelMalformed, "mode is '", mode, "'; nearest and linear exist");
  emitResize(n, out, scales, mode, "asymmetric", "floor");
}

void importResize(Node &n) {
  if (n.opset < 11)
    return importUpsample(n);
  Dims in = n.dimsOf(0), out = in;
  std::vector<int64_t> axes = n.ints("axes");
  if (!n.hasAttr("axes"))
    for (size_t d = 0; d < in.size(); ++d)
      axes.push_back(static_cast<int64_t>(d));
  for (int64_t &a : axes)
    a = Build::axis(a, n.rankOf(0));
  std::string mode = n.s("mode", "nearest"), coordinates = n.s("coordinate_transformation_mode", "half_pixel");
  if (!llvm::is_contained({"nearest", "linear", "cubic"}, mode))
    fail(Code::ModelMalformed, "mode is '", mode, "'; nearest, linear and cubic exist");
  if (coordinates == "tf_crop_and_resize" || coordinates == "tf_half_pixel_for_nn")
    unsupported("coordinate_transformation_mode ", coordinates);
  if (!llvm::is_contained({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"}, coordinates))
    fail(Code::ModelMalformed, "coordinate_transformation_mode is '", coordinates, "'");
  if (n.i("antialias", 0))
    unsupported("antialias");
  std::vector<double> scales(in.size(), 1.0);
  // An empty tensor stands for an input left out.
  auto given = [&](size_t i) { return n.has(i) && !(n.type(i).hasStaticShape() && n.type(i).getNumElements() == 0); };
  if (given(3)) {
    auto sizes = n.sizes(3, "sizes");
    if (sizes.size() != axes.size())
      fail(Code::ShapeMismatch, "sizes has ", sizes.size(), " entries for ", axes.size(), " axes");
    std::string policy = n.s("keep_aspect_ratio_policy", "stretch");
    double common = 0;
    for (size_t i = 0; i < axes.size(); ++i) {
      AffineExpr from = in[axes[i]], to = graph::simplify(sizes[i]);
      auto a = graph::constantSize(from), b = graph::constantSize(to);
      if (a && b) {
        if (*b < 0)
          fail(Code::ShapeMismatch, "sizes has the negative entry ", *b);
        scales[axes[i]] = *a ? static_cast<double>(*b) / static_cast<double>(*a) : 1;
      } else if (AffineExpr ratio = divideSizes({to}, {from}, n.ctx()); ratio && graph::constantSize(ratio) && graph::simplify(from * *graph::constantSize(ratio)) == to) {
        scales[axes[i]] = static_cast<double>(*graph::constantSize(ratio));
      } else {
        unsupported("resizing axis ", axes[i], " from ", graph::toString(from), " to ", graph::toString(to), ": the scale would depend on the size");
      }
      out[axes[i]] = to;
      double s = scales[axes[i]];
      common = i == 0 ? s : policy == "not_larger" ? std::min(common, s) : std::max(common, s);
    }
    if (policy == "not_larger" || policy == "not_smaller") {
      for (int64_t a : axes) {
        int64_t size = n.staticDim(n.x(0), a, "a resized axis");
        scales[a] = common;
        out[a] = n.size(static_cast<int64_t>(std::floor(common * static_cast<double>(size) + 0.5)));
      }
    } else if (policy != "stretch") {
      fail(Code::ModelMalformed, "keep_aspect_ratio_policy is '", policy, "'; stretch, not_larger and not_smaller exist");
    }
  } else if (given(2)) {
    auto factors = n.floatVector(2, "scales");
    if (factors.size() != axes.size())
      fail(Code::ShapeMismatch, "scales has ", factors.size(), " entries for ", axes.size(), " axes");
    for (size_t i = 0; i < axes.size(); ++i) {
      if (!(factors[i] > 0))
        fail(Code::ShapeMismatch, "scales has the entry ", factors[i]);
      scales[axes[i]] = factors[i];
      out[axes[i]] = scaled(n, in[axes[i]], factors[i]);
    }
  } else {
    fail(Code::ModelMalformed, "needs scales or sizes");
  }
  emitResize(n, out, scales, mode, coordinates, n.s("nearest_mode", "round_prefer_floor"));
}

// Coordinates of an output image under an affine map: theta times the homogeneous coordinates in [-1, 1].
void importAffineGrid(Node &n) {
  auto size = n.sizes(1, "size");
  Dims theta = n.dimsOf(0);
  int64_t spatial = static_cast<int64_t>(size.size()) - 2;
  if (theta.size() != 3 || spatial < 2 || spatial > 3)
    fail(Code::ShapeMismatch, "theta ", graph::toString(theta), " and a size of ", size.size(), " entries do not fit");
  n.requireSame(theta[1], n.size(spatial), "rows of theta");
  n.requireSame(theta[2], n.size(spatial + 1), "columns of theta");
  Type type = n.element(0);
  bool corners = n.i("align_corners", 0) != 0;
  Dims outSizes(size.begin() + 2, size.end());
  // Coordinate j of theta is the last dim but j: x runs along the width.
  llvm::SmallVector<Value> coordinates;
  for (int64_t j = 0; j < spatial; ++j) {
    int64_t dim = spatial - 1 - j;
    Dims along(spatial, n.size(1));
    along[dim] = outSizes[dim];
    Value at = n.iota(along, dim, type), length = n.sizeScalar(outSizes[dim], type);
    Value step = n.div(n.scalar(2, type), corners ? n.sub(length, n.scalar(1, type)) : length);
    Value start = corners ? n.scalar(-1, type) : n.sub(n.div(step, n.scalar(2, type)), n.scalar(1, type));
    coordinates.push_back(n.add(n.mul(at, step), start));
  }
  Dims one{theta[0]};
  for (int64_t d = 0; d < spatial; ++d)
    one.push_back(n.size(1));
  auto entry = [&](int64_t row, int64_t column) {
    Value e = n.slice(n.slice(n.x(0), 1, n.size(row), n.size(1)), 2, n.size(column), n.size(1));
    return n.reshape(e, one);
  };
  Dims full{theta[0]};
  llvm::append_range(full, outSizes);
  llvm::SmallVector<Value> parts;
  for (int64_t row = 0; row < spatial; ++row) {
    Value sum = entry(row, spatial);
    for (int64_t j = 0; j < spatial; ++j)
      sum = n.add(sum, n.mul(entry(row, j), coordinates[j]));
    parts.push_back(n.unsqueeze(n.broadcast(sum, full), spatial + 1));
  }
  n.out(n.concat(parts, spatial + 1));
}

//===-- GridSample --------------------------------------------------------------------------------------------------===//
struct Tap {
  Value index;  // i64, inside the image
  Value weight; // none: 1
  Value inside; // none: surely
};

Value reflect(Node &n, Value x, double low, Value high) {
  // A triangle wave between low and high.
  Value range = n.sub(high, n.like(x, low)), period = n.mul(range, n.like(x, 2));
  Value t = n.apply<graph::ModOp>({n.sub(x, n.like(x, low)), n.select(n.less(n.like(x, 0), period), period, n.like(x, 1))});
  Value folded = n.select(n.less(range, t), n.sub(period, t), t);
  return n.add(n.select(n.less(n.like(x, 0), period), folded, n.like(x, 0)), n.like(x, low));
}

void importGridSample(Node &n) {
  Value x = n.x(0), grid = n.x(1);
  Dims dx = n.dimsOf(0), dg = n.dimsOf(1);
  int64_t spatial = static_cast<int64_t>(dx.size()) - 2;
  if (spatial < 1 || dg.size() != dx.size())
    fail(Code::ShapeMismatch, "input ", graph::toString(dx), " and grid ", graph::toString(dg), " do not fit");
  n.requireSame(dg.back(), n.size(spatial), "coordinates of the grid");
  std::string mode = n.s("mode", "linear"), padding = n.s("padding_mode", "zeros");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  if (!llvm::is_contained({"nearest", "linear", "cubic"}, mode) || !llvm::is_contained({"zeros", "border", "reflection"}, padding))
    fail(Code::ModelMalformed, "mode '", mode, "' with padding_mode '", padding, "' does not exist");
  bool corners = n.i("align_corners", 0) != 0;
  Type type = n.element(1);
  AffineExpr points = graph::product(refOf(dg).slice(1, spatial), n.ctx());

  std::vector<std::vector<Tap>> taps;
  std::vector<AffineExpr> strides;
  AffineExpr stride = n.size(1);
  for (int64_t d = spatial; d-- > 0;) {
    strides.insert(strides.begin(), stride);
    stride = graph::simplify(stride * dx[d + 2]);
  }
  for (int64_t d = 0; d < spatial; ++d) {
    // The grid lists x first: the last dim.
    Value g = n.reshape(n.slice(grid, spatial + 1, n.size(spatial - 1 - d), n.size(1)), {dg[0], points});
    Value length = n.sizeScalar(dx[d + 2], type), one = n.scalar(1, type), half = n.scalar(0.5, type);
    Value at = corners ? n.mul(n.mul(n.add(g, one), half), n.sub(length, one)) : n.mul(n.sub(n.mul(n.add(g, one), length), one), half);
    double low = corners ? 0 : -0.5;
    Value high = n.sub(length, corners ? one : half);
    if (mode == "nearest")
      at = n.round(at);
    if (padding == "border")
      at = n.min(n.max(at, n.scalar(0, type)), n.sub(length, one));
    else if (padding == "reflection")
      at = reflect(n, at, low, high);
    std::vector<Tap> own;
    auto addTap = [&](Value position, Value weight) {
      Tap tap;
      tap.weight = weight;
      Value last = n.sub(length, one), zero = n.scalar(0, type);
      if (padding == "zeros")
        tap.inside = n.logicalAnd(n.lessEqual(zero, position), n.lessEqual(position, last));
      else if (padding == "reflection" && mode != "nearest")
        position = n.apply<graph::FloorOp>({reflect(n, position, low, high)});
      tap.index = n.cast(n.min(n.max(position, zero), last), n.i64());
      own.push_back(tap);
    };
    if (mode == "nearest") {
      addTap(at, Value());
    } else {
      Value base = n.floor(at), t = n.sub(at, base), rest = n.sub(one, t);
      auto shifted = [&](double by) { return n.add(base, n.scalar(by, type)); };
      if (mode == "linear") {
        addTap(base, rest);
        addTap(shifted(1), t);
      } else {
        constexpr double a = -0.75;
        auto c = [&](double v) { return n.scalar(v, type); };
        auto near = [&](Value v) { return n.add(n.mul(n.mul(n.sub(n.mul(c(a + 2), v), c(a + 3)), v), v), one); };
        auto far = [&](Value v) { return n.sub(n.mul(n.add(n.mul(n.sub(n.mul(c(a), v), c(5 * a)), v), c(8 * a)), v), c(4 * a)); };
        addTap(shifted(-1), far(n.add(t, one)));
        addTap(base, near(t));
        addTap(shifted(1), near(rest));
        addTap(shifted(2), far(n.add(rest, one)));
      }
    }
    taps.push_back(std::move(own));
  }
  // Every combination of taps: one gather from the flattened image.
  Value image = n.reshape(x, {dx[0], dx[1], graph::product(refOf(dx).drop_front(2), n.ctx())});
  Dims sampled{dx[0], dx[1], points};
  Value sum;
  std::function<void(size_t, Value, Value, Value)> combine = [&](size_t d, Value index, Value weight, Value inside) {
    if (d == taps.size()) {
      Value value = n.gatherElements(image, n.broadcast(n.unsqueeze(index, 1), sampled), 2);
      if (inside)
        value = n.select(n.unsqueeze(inside, 1), value, n.like(value, 0));
      if (weight)
        value = n.mul(value, n.cast(n.unsqueeze(weight, 1), n.element(0)));
      sum = sum ? n.add(sum, value) : value;
      return;
    }
    for (const Tap &tap : taps[d]) {
      Value step = n.mul(tap.index, n.sizeScalar(strides[d], n.i64()));
      Value w = weight && tap.weight ? n.mul(weight, tap.weight) : tap.weight ? tap.weight : weight;
      Value in = inside && tap.inside ? n.logicalAnd(inside, tap.inside) : tap.inside ? tap.inside : inside;
      combine(d + 1, index ? n.add(index, step) : step, w, in);
    }
  };
  combine(0, Value(), Value(), Value());
  Dims result{dx[0], dx[1]};
  result.append(dg.begin() + 1, dg.end() - 1);
  n.out(n.reshape(sum, result));
}

const Handler table[] = {
    {"Upsample", 7, importUpsample},
    {"Resize", 10, importResize},
    {"AffineGrid", 20, importAffineGrid},
    {"GridSample", 16, importGridSample},
};

} // namespace

ArrayRef<Handler> resizeOps() { return table; }

} // namespace graphc::onnx_import
