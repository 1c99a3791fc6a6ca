// Fourier transforms as products with matrices of cosines and sines, and what belongs to them. The matrices depend on sizes
// alone, so they are there before the first call. (DFT, STFT, MelWeightMatrix)
#include "frontend/onnx/GraphImport.h"
#include "frontend/onnx/Node.h"

#include <cmath>
#include <onnx/onnx_pb.h>

namespace graphc::onnx_import {

using namespace mlir;

namespace {

/// Matrices up to this many elements are written down; larger ones are computed when the model is loaded, less exactly.
constexpr int64_t kMaxWritten = int64_t(1) << 20;

/// Cosines and sines of 2π·k·n/length, [terms, bins].
struct Waves {
  Value cosines, sines;
};
Waves waves(Node &n, int64_t terms, int64_t bins, int64_t length, Type type) {
  if (terms * bins <= kMaxWritten) {
    std::vector<double> cosines, sines;
    for (int64_t k = 0; k < terms; ++k)
      for (int64_t b = 0; b < bins; ++b) {
        double angle = 2 * M_PI * static_cast<double>(k * b % length) / static_cast<double>(length);
        cosines.push_back(std::cos(angle));
        sines.push_back(std::sin(angle));
      }
    auto matrix = [&](const char *name, const std::vector<double> &values) {
      Tensor t;
      t.name = n.proto.output(0) + name;
      t.type = RankedTensorType::get({terms, bins}, type);
      t.literal = literalOf(Known::ofFloats(values), t.type);
      return n.importer.materialize(t, n);
    };
    Value c = matrix(".cosines", cosines);
    return {c, matrix(".sines", sines)};
  }
  Dims rows{n.size(terms), n.size(1)}, columns{n.size(1), n.size(bins)};
  // The angle's whole turns go first: large angles lose digits.
  Value product = n.mul(n.iota(rows, 0, n.i64()), n.iota(columns, 1, n.i64()));
  Value part = n.apply<graph::ModOp>({product, n.scalarInt(length, n.i64())});
  Value angle = n.mul(n.cast(part, type), n.scalar(2 * M_PI / static_cast<double>(length), type));
  return {n.apply<graph::CosOp>({angle}), n.apply<graph::SinOp>({angle})};
}

/// The transform of x [..., terms] with imaginary part `imaginary` (null: none), over `length` points, to [..., bins, 2].
Value transform(Node &n, Value x, Value imaginary, int64_t terms, int64_t bins, int64_t length, bool inverse) {
  Waves w = waves(n, terms, bins, length, Build::elementType(x));
  Value re = n.matmul(x, w.cosines), im = n.matmul(x, w.sines);
  if (!inverse)
    im = n.neg(im);
  if (imaginary) {
    Value a = n.matmul(imaginary, w.sines), b = n.matmul(imaginary, w.cosines);
    re = inverse ? n.sub(re, a) : n.add(re, a);
    im = n.add(im, b);
  }
  int64_t last = Build::rank(re);
  Value both = n.concat({n.unsqueeze(re, last), n.unsqueeze(im, last)}, last);
  return inverse ? n.mul(both, n.like(both, 1.0 / static_cast<double>(length))) : both;
}

/// The real signal of `length` points whose first half of bins is given, [..., length, 1]: the other half is their conjugates.
Value realInverse(Node &n, Value re, Value im, int64_t terms, int64_t length) {
  Type type = Build::elementType(re);
  Waves w = waves(n, terms, length, length, type);
  std::vector<double> twice;
  for (int64_t k = 0; k < terms; ++k)
    twice.push_back((k == 0 || 2 * k == length ? 1.0 : 2.0) / static_cast<double>(length));
  Tensor weights;
  weights.name = n.proto.output(0) + ".weights";
  weights.type = RankedTensorType::get({terms}, type);
  weights.literal = literalOf(Known::ofFloats(twice), weights.type);
  Value scale = n.importer.materialize(weights, n);
  Value y = n.sub(n.matmul(n.mul(re, scale), w.cosines), n.matmul(n.mul(im, scale), w.sines));
  return n.unsqueeze(y, Build::rank(y));
}

/// Component 0 or 1 of a signal whose last dim holds them.
Value component(Node &n, Value x, int64_t which) {
  int64_t last = Build::rank(x) - 1;
  return n.squeeze(n.slice(x, last, n.size(which), n.size(1)), last);
}
bool isComplex(Node &n, Value x) {
  int64_t parts = Build::rank(x) < 2 ? 0 : n.staticDim(x, Build::rank(x) - 1, "the number of components");
  if (parts != 1 && parts != 2)
    fail(Code::ShapeMismatch, "the last dim must be 1 (real) or 2 (complex), got shape ", Build::shapeText(x));
  return parts == 2;
}

void importDft(Node &n) {
  Value x = n.x(0);
  bool complex = isComplex(n, x), inverse = n.i("inverse", 0) != 0, onesided = n.i("onesided", 0) != 0;
  if (onesided && inverse && !complex)
    fail(Code::ShapeMismatch, "the inverse of a one-sided transform needs complex numbers, got shape ", Build::shapeText(x));
  int64_t axis = n.opset >= 20 ? (n.has(2) ? n.intScalar(2, "the axis") : -2) : n.i("axis", 1);
  axis = Build::axis(axis, Build::rank(x));
  if (axis == Build::rank(x) - 1)
    fail(Code::ShapeMismatch, "the axis is the last one, which holds the components");
  int64_t size = n.staticDim(x, axis, "the transformed size");
  bool toReal = onesided && inverse;
  int64_t length = n.has(1) ? n.intScalar(1, "dft_length") : toReal ? 2 * (size - 1) : size;
  int64_t wanted = toReal ? length / 2 + 1 : length;
  if (length < 1)
    fail(Code::ShapeMismatch, "dft_length is ", length);
  if (wanted < size)
    x = n.slice(x, axis, n.size(0), n.size(wanted));
  int64_t terms = std::min(size, wanted); // zeros behind them add nothing
  llvm::SmallVector<int64_t> perm;
  for (int64_t d = 0; d < Build::rank(x) - 1; ++d)
    if (d != axis)
      perm.push_back(d);
  perm.push_back(axis);
  perm.push_back(Build::rank(x) - 1);
  x = n.transpose(x, perm);
  Value re = component(n, x, 0), im = complex ? component(n, x, 1) : Value();
  bool vector = Build::rank(re) < 2;
  if (vector) {
    re = n.unsqueeze(re, 0);
    im = im ? n.unsqueeze(im, 0) : im;
  }
  Value y = toReal ? realInverse(n, re, im, terms, length) : transform(n, re, im, terms, onesided ? length / 2 + 1 : length, length, inverse);
  if (vector)
    y = n.squeeze(y, 0);
  llvm::SmallVector<int64_t> back(perm.size());
  for (auto [to, from] : llvm::enumerate(perm))
    back[from] = static_cast<int64_t>(to);
  n.out(n.transpose(y, back));
}

void importStft(Node &n) {
  Value x = n.x(0);
  if (Build::rank(x) != 3)
    fail(Code::ShapeMismatch, "the signal must have shape [batch, length, components], got ", Build::shapeText(x));
  bool complex = isComplex(n, x), onesided = n.i("onesided", 1) != 0;
  int64_t step = n.intScalar(1, "frame_step");
  Value window = n.has(2) ? n.x(2) : Value();
  if (!window && !n.has(3))
    fail(Code::ModelMalformed, "needs a window or a frame_length");
  int64_t length = n.has(3) ? n.intScalar(3, "frame_length") : n.staticDim(window, 0, "the window's size");
  if (step < 1 || length < 1)
    fail(Code::ShapeMismatch, "frame_step is ", step, " and frame_length ", length);
  if (complex && onesided)
    fail(Code::ShapeMismatch, "a complex signal has no one-sided transform");
  AffineExpr size = Build::dims(x)[1];
  if (!n.facts.require(graph::simplify(size - length), 0))
    fail(Code::ShapeMismatch, "the signal has ", graph::toString(size), " samples, a frame ", length);
  AffineExpr frames = graph::simplify((size - length).floorDiv(step) + 1);
  Value starts = n.iota({frames, n.size(1)}, 0, n.i64(), 0, static_cast<double>(step));
  Value places = n.add(starts, n.iota({n.size(1), n.size(length)}, 1, n.i64()));
  auto framesOf = [&](int64_t which) {
    Value part = n.gather(component(n, x, which), places, 1);
    return window ? n.mul(part, window) : part;
  };
  Value re = framesOf(0), im = complex ? framesOf(1) : Value();
  n.out(transform(n, re, im, length, onesided ? length / 2 + 1 : length, length, false));
}

void importMelWeights(Node &n) {
  int64_t bands = n.intScalar(0, "num_mel_bins"), length = n.intScalar(1, "dft_length"), rate = n.intScalar(2, "sample_rate");
  double low = n.floatScalar(3, "lower_edge_hertz"), high = n.floatScalar(4, "upper_edge_hertz");
  Type type = elementTypeOf(static_cast<int32_t>(n.i("output_datatype", 1)), n.ctx());
  if (!type || !Build::isFloat(type))
    unsupported("output_datatype ", n.i("output_datatype", 1));
  if (bands < 1 || length < 1 || rate < 1 || !(low < high))
    fail(Code::ShapeMismatch, "bands ", bands, ", dft_length ", length, ", sample_rate ", rate, " and the edges ", low, " and ", high, " make no matrix");
  int64_t rows = length / 2 + 1;
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  double first = mel(low), width = (mel(high) - first) / static_cast<double>(bands + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bands + 2; ++i) {
    double hertz = 700 * (std::pow(10, (static_cast<double>(i) * width + first) / 2595) - 1);
    edges.push_back(static_cast<int64_t>(std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate))));
  }
  std::vector<double> weights(static_cast<size_t>(rows * bands));
  auto at = [&](int64_t row, int64_t band) -> double & { return weights[static_cast<size_t>(row * bands + band)]; };
  for (int64_t band = 0; band < bands; ++band) {
    int64_t lower = edges[static_cast<size_t>(band)], center = edges[static_cast<size_t>(band + 1)], upper = edges[static_cast<size_t>(band + 2)];
    if (lower < 0 || upper >= rows + 1)
      fail(Code::ShapeMismatch, "the upper edge, ", high, " Hz, lies above half of the sample rate");
    for (int64_t row = lower; row <= center && row < rows; ++row)
      at(row, band) = center == lower ? 1 : static_cast<double>(row - lower) / static_cast<double>(center - lower);
    for (int64_t row = center; row < upper && row < rows; ++row)
      if (upper != center)
        at(row, band) = static_cast<double>(upper - row) / static_cast<double>(upper - center);
  }
  auto matrix = RankedTensorType::get({rows, bands}, type);
  n.outLiteral(0, literalOf(Known::ofFloats(weights), matrix));
}

const Handler table[] = {
    {"DFT", 17, importDft},
    {"STFT", 17, importStft},
    {"MelWeightMatrix", 17, importMelWeights},
};

} // namespace

ArrayRef<Handler> signalOps() { return table; }

} // namespace graphc::onnx_import
