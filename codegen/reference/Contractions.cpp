#include "codegen/reference/Contractions.h"
#include "codegen/reference/Parallel.h"

using namespace mlir;

namespace graphc::reference {
namespace {

// Integers are summed as uint64_t, which wraps; `finish` brings the sum back into the type of the result.

/// Columns computed together: a panel holds kColumns values for each step of the sum.
constexpr int kColumns = 8, kRows = 4;

/// out[r][c] = sum over k of rows[r][k] * panel[k][c].
template <int rows, typename T>
inline void multiplyBody(const T *a, int64_t stride, int64_t depth, const T *panel, T (*out)[kColumns]) {
  T sum[rows][kColumns] = {};
  for (int64_t k = 0; k < depth; ++k)
    for (int r = 0; r < rows; ++r) {
      T factor = a[r * stride + k];
      for (int c = 0; c < kColumns; ++c)
        sum[r][c] += factor * panel[k * kColumns + c];
    }
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < kColumns; ++c)
      out[r][c] = sum[r][c];
}

#if defined(__x86_64__)
// Four doubles an instruction where the machine has them; nothing is contracted, so both versions give equal sums.
typedef double Four __attribute__((vector_size(32), aligned(8)));
__attribute__((target("avx2"))) void multiplyAvx2(const double *a, int64_t stride, int64_t depth, const double *panel,
                                                  double (*out)[kColumns]) {
  Four sum[kRows][2] = {};
  for (int64_t k = 0; k < depth; ++k) {
    Four b0 = *reinterpret_cast<const Four *>(panel + k * kColumns);
    Four b1 = *reinterpret_cast<const Four *>(panel + k * kColumns + 4);
    for (int r = 0; r < kRows; ++r) {
      double factor = a[r * stride + k];
      Four f = {factor, factor, factor, factor};
      sum[r][0] += f * b0;
      sum[r][1] += f * b1;
    }
  }
  for (int r = 0; r < kRows; ++r)
    for (int c = 0; c < kColumns; ++c)
      out[r][c] = sum[r][c / 4][c % 4];
}
#endif

template <typename T>
void multiplyFour(const T *a, int64_t stride, int64_t depth, const T *panel, T (*out)[kColumns]) {
#if defined(__x86_64__)
  if constexpr (std::is_same_v<T, double>)
    if (__builtin_cpu_supports("avx2"))
      return multiplyAvx2(a, stride, depth, panel, out);
#endif
  multiplyBody<kRows>(a, stride, depth, panel, out);
}

/// All rows against one panel; store(row, column, value).
template <typename T, typename Store>
void multiplyRows(const T *a, int64_t rows, int64_t depth, const T *panel, int columns, Store store) {
  T out[kRows][kColumns];
  for (int64_t m = 0; m < rows; m += kRows) {
    int64_t count = std::min<int64_t>(kRows, rows - m);
    if (count == kRows)
      multiplyFour(a + m * depth, depth, depth, panel, out);
    else
      for (int64_t r = 0; r < count; ++r)
        multiplyBody<1>(a + (m + r) * depth, depth, depth, panel, out + r);
    for (int64_t r = 0; r < count; ++r)
      for (int c = 0; c < columns; ++c)
        store(m + r, c, out[r][c]);
  }
}

template <typename T> T *dataOf(const WideTensor &tensor) {
  if constexpr (std::is_same_v<T, double>)
    return tensor.floats();
  else
    return reinterpret_cast<T *>(tensor.integers());
}
template <typename T> T finish(T value, ScalarType type) {
  if constexpr (std::is_same_v<T, double>)
    return value;
  else
    return static_cast<T>(wrap(static_cast<int64_t>(value), type));
}

/// Offsets of the matrices of `tensor` under the result's (broadcast) batch index.
std::vector<int64_t> batchOffsets(const WideTensor &tensor, llvm::ArrayRef<int64_t> batch) {
  int64_t batches = 1;
  for (int64_t size : batch)
    batches *= size;
  auto strides = tensor.strides();
  int64_t own = tensor.rank() - 2, missing = batch.size() - own;
  std::vector<int64_t> offsets(batches, 0);
  for (int64_t b = 0; b < batches; ++b) {
    int64_t rest = b;
    for (int64_t d = batch.size() - 1; d >= 0; --d) {
      int64_t at = rest % batch[d];
      rest /= batch[d];
      if (d >= missing && tensor.shape()[d - missing] != 1)
        offsets[b] += at * strides[d - missing];
    }
  }
  return offsets;
}

template <typename T>
void matmul(graph::MatmulOp op, const WideTensor &lhs, const WideTensor &rhs, WideTensor &result) {
  llvm::ArrayRef<int64_t> shape = result.shape();
  int64_t rows = shape[shape.size() - 2], columns = shape.back(), rank = lhs.rank();
  int64_t depth = lhs.shape()[op.getTransposeLhs() ? rank - 2 : rank - 1];
  std::vector<int64_t> left = batchOffsets(lhs, shape.drop_back(2)), right = batchOffsets(rhs, shape.drop_back(2));
  ScalarType type = result.scalarType();
  int64_t panels = (columns + kColumns - 1) / kColumns;
  T *out = dataOf<T>(result);

  for (size_t batch = 0; batch < left.size(); ++batch) {
    const T *a = dataOf<T>(lhs) + left[batch], *b = dataOf<T>(rhs) + right[batch];
    std::vector<T> transposed;
    if (op.getTransposeLhs()) {
      transposed.resize(rows * depth);
      for (int64_t k = 0; k < depth; ++k)
        for (int64_t m = 0; m < rows; ++m)
          transposed[m * depth + k] = a[k * rows + m];
      a = transposed.data();
    }
    int64_t grain = std::max<int64_t>(1, 400000 / std::max<int64_t>(1, rows * depth * kColumns));
    parallelFor(panels, grain, [&](int64_t begin, int64_t end) {
      std::vector<T> panel(depth * kColumns);
      for (int64_t p = begin; p < end; ++p) {
        int64_t first = p * kColumns;
        int used = std::min<int64_t>(kColumns, columns - first);
        for (int64_t k = 0; k < depth; ++k)
          for (int c = 0; c < kColumns; ++c)
            panel[k * kColumns + c] = c >= used               ? T(0)
                                      : op.getTransposeRhs() ? b[(first + c) * depth + k]
                                                             : b[k * columns + first + c];
        T *to = out + int64_t(batch) * rows * columns + first;
        multiplyRows(a, rows, depth, panel.data(), used,
                     [&](int64_t m, int c, T v) { to[m * columns + c] = finish(v, type); });
      }
    });
  }
}

/// Where the dims of an activation are: N, C, spatial… or N, spatial…, C.
struct ImageStrides {
  int64_t batch, channel;
  llvm::SmallVector<int64_t> spatial, sizes;
  ImageStrides(const WideTensor &image, bool channelsLast) {
    auto strides = image.strides();
    int64_t spatialRank = image.rank() - 2, first = channelsLast ? 1 : 2;
    batch = strides[0];
    channel = strides[channelsLast ? image.rank() - 1 : 1];
    spatial.assign(strides.begin() + first, strides.begin() + first + spatialRank);
    sizes.assign(image.shape().begin() + first, image.shape().begin() + first + spatialRank);
  }
};

/// One output position of a convolution: which taps of the window fall inside, and where they read.
struct WindowReader {
  const ImageStrides &in;
  llvm::ArrayRef<int64_t> strides, dilations, padsLow, window;
  int64_t taps = 1;

  /// Offsets of all taps for the output at `at`; -1 in the padding.
  void offsets(llvm::ArrayRef<int64_t> at, int64_t *out, int64_t stride) const {
    llvm::SmallVector<int64_t> tap(window.size(), 0);
    for (int64_t t = 0; t < taps; ++t) {
      int64_t offset = 0;
      bool inside = true;
      for (size_t d = 0; d < window.size(); ++d) {
        int64_t position = at[d] * strides[d] + tap[d] * dilations[d] - padsLow[d];
        inside &= position >= 0 && position < in.sizes[d];
        offset += position * in.spatial[d];
      }
      out[t * stride] = inside ? offset : -1;
      for (int64_t d = window.size() - 1; d >= 0 && ++tap[d] == window[d]; --d)
        tap[d] = 0;
    }
  }
};

template <typename T>
void conv(graph::ConvOp op, const WideTensor &x, const WideTensor &weight, WideTensor &result) {
  bool last = op.getChannelsLast();
  ImageStrides in(x, last), out(result, last);
  int64_t groups = op.getGroups(), outChannels = weight.shape()[0] / groups, inChannels = weight.shape()[1];
  WindowReader reader{in, op.getStrides(), op.getDilations(), op.getPadsLow(),
                      llvm::ArrayRef<int64_t>(weight.shape()).drop_front(2)};
  for (int64_t size : reader.window)
    reader.taps *= size;
  int64_t depth = inChannels * reader.taps, positions = 1;
  for (int64_t size : out.sizes)
    positions *= size;
  int64_t panels = (positions + kColumns - 1) / kColumns, batches = x.shape()[0];
  ScalarType type = result.scalarType();
  const T *image = dataOf<T>(x), *filters = dataOf<T>(weight);
  T *to = dataOf<T>(result);

  int64_t grain = std::max<int64_t>(1, 400000 / std::max<int64_t>(1, outChannels * depth * kColumns));
  parallelFor(batches * groups * panels, grain, [&](int64_t begin, int64_t end) {
    std::vector<T> panel(depth * kColumns);
    std::vector<int64_t> offsets(reader.taps * kColumns);
    for (int64_t task = begin; task < end; ++task) {
      int64_t p = task % panels, group = task / panels % groups, n = task / panels / groups;
      int used = std::min<int64_t>(kColumns, positions - p * kColumns);
      int64_t resultAt[kColumns] = {};
      std::fill(offsets.begin(), offsets.end(), -1);
      for (int c = 0; c < used; ++c) {
        llvm::SmallVector<int64_t> at(out.sizes.size());
        int64_t rest = p * kColumns + c;
        for (int64_t d = at.size() - 1; d >= 0; --d) {
          at[d] = rest % out.sizes[d];
          rest /= out.sizes[d];
          resultAt[c] += at[d] * out.spatial[d];
        }
        reader.offsets(at, offsets.data() + c, kColumns);
      }
      for (int64_t channel = 0; channel < inChannels; ++channel) {
        const T *from = image + n * in.batch + (group * inChannels + channel) * in.channel;
        T *fill = panel.data() + channel * reader.taps * kColumns;
        for (int64_t i = 0; i < reader.taps * kColumns; ++i)
          fill[i] = offsets[i] < 0 ? T(0) : from[offsets[i]];
      }
      T *base = to + n * out.batch + group * outChannels * out.channel;
      multiplyRows(filters + group * outChannels * depth, outChannels, depth, panel.data(), used,
                   [&](int64_t m, int c, T v) { base[m * out.channel + resultAt[c]] = finish(v, type); });
    }
  });
}

} // namespace

void runMatmul(graph::MatmulOp op, const WideTensor &lhs, const WideTensor &rhs, WideTensor &result) {
  lhs.isFloat() ? matmul<double>(op, lhs, rhs, result) : matmul<uint64_t>(op, lhs, rhs, result);
}

void runConv(graph::ConvOp op, const WideTensor &x, const WideTensor &weight, WideTensor &result) {
  x.isFloat() ? conv<double>(op, x, weight, result) : conv<uint64_t>(op, x, weight, result);
}

} // namespace graphc::reference
