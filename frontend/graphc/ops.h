// Ops as functions. Sizes broadcast as in NumPy; dtypes promote as in PyTorch: 0-d tensors and numbers only across kinds
// (bool < integer < float), integer / integer gives the default float, sums of integers give i64.
#pragma once

#include "frontend/graphc/tensor.h"

#include <array>

namespace graphc {

// ---- elementwise ----
Tensor add(const Tensor &a, const Tensor &b, Scalar alpha = 1); // a + alpha * b
Tensor sub(const Tensor &a, const Tensor &b, Scalar alpha = 1);
Tensor mul(const Tensor &a, const Tensor &b);
Tensor div(const Tensor &a, const Tensor &b);
enum class Rounding : uint8_t { Trunc, Floor };
Tensor div(const Tensor &a, const Tensor &b, Rounding rounding);
Tensor remainder(const Tensor &a, const Tensor &b); // sign of the divisor
Tensor fmod(const Tensor &a, const Tensor &b);      // sign of the dividend
Tensor pow(const Tensor &a, const Tensor &b);
Tensor maximum(const Tensor &a, const Tensor &b);
Tensor minimum(const Tensor &a, const Tensor &b);
Tensor atan2(const Tensor &a, const Tensor &b);
Tensor add(const Tensor &a, Scalar b);
Tensor sub(const Tensor &a, Scalar b);
Tensor mul(const Tensor &a, Scalar b);
Tensor div(const Tensor &a, Scalar b);
Tensor rsub(const Tensor &a, Scalar b); // b - a
Tensor rdiv(const Tensor &a, Scalar b); // b / a
Tensor remainder(const Tensor &a, Scalar b);
Tensor pow(const Tensor &a, Scalar b);
Tensor pow(Scalar a, const Tensor &b);
Tensor maximum(const Tensor &a, Scalar b);
Tensor minimum(const Tensor &a, Scalar b);
Tensor eq(const Tensor &a, const Tensor &b);
Tensor ne(const Tensor &a, const Tensor &b);
Tensor lt(const Tensor &a, const Tensor &b);
Tensor le(const Tensor &a, const Tensor &b);
Tensor gt(const Tensor &a, const Tensor &b);
Tensor ge(const Tensor &a, const Tensor &b);
Tensor eq(const Tensor &a, Scalar b);
Tensor ne(const Tensor &a, Scalar b);
Tensor lt(const Tensor &a, Scalar b);
Tensor le(const Tensor &a, Scalar b);
Tensor gt(const Tensor &a, Scalar b);
Tensor ge(const Tensor &a, Scalar b);
Tensor logicalAnd(const Tensor &a, const Tensor &b);
Tensor logicalOr(const Tensor &a, const Tensor &b);
Tensor logicalXor(const Tensor &a, const Tensor &b);
Tensor logicalNot(const Tensor &a);
Tensor bitwiseAnd(const Tensor &a, const Tensor &b);
Tensor bitwiseOr(const Tensor &a, const Tensor &b);
Tensor bitwiseXor(const Tensor &a, const Tensor &b);
Tensor bitwiseNot(const Tensor &a);
Tensor shiftLeft(const Tensor &a, const Tensor &b);
Tensor shiftRight(const Tensor &a, const Tensor &b);
Tensor where(const Tensor &condition, const Tensor &a, const Tensor &b);
Tensor where(const Tensor &condition, const Tensor &a, Scalar b);
Tensor where(const Tensor &condition, Scalar a, const Tensor &b);
Tensor maskedFill(const Tensor &a, const Tensor &mask, Scalar value);
Tensor lerp(const Tensor &start, const Tensor &end, Scalar weight);
Tensor addcmul(const Tensor &x, const Tensor &a, const Tensor &b, Scalar value = 1);
Tensor addcdiv(const Tensor &x, const Tensor &a, const Tensor &b, Scalar value = 1);
Tensor clamp(const Tensor &a, std::optional<Scalar> low, std::optional<Scalar> high = {});

Tensor neg(const Tensor &a);
Tensor abs(const Tensor &a);
Tensor sign(const Tensor &a);
Tensor exp(const Tensor &a);
Tensor exp2(const Tensor &a);
Tensor expm1(const Tensor &a);
Tensor log(const Tensor &a);
Tensor log2(const Tensor &a);
Tensor log10(const Tensor &a);
Tensor log1p(const Tensor &a);
Tensor sqrt(const Tensor &a);
Tensor rsqrt(const Tensor &a);
Tensor square(const Tensor &a);
Tensor reciprocal(const Tensor &a);
Tensor sin(const Tensor &a);
Tensor cos(const Tensor &a);
Tensor tan(const Tensor &a);
Tensor asin(const Tensor &a);
Tensor acos(const Tensor &a);
Tensor atan(const Tensor &a);
Tensor sinh(const Tensor &a);
Tensor cosh(const Tensor &a);
Tensor tanh(const Tensor &a);
Tensor asinh(const Tensor &a);
Tensor acosh(const Tensor &a);
Tensor atanh(const Tensor &a);
Tensor erf(const Tensor &a);
Tensor erfc(const Tensor &a);
Tensor floor(const Tensor &a);
Tensor ceil(const Tensor &a);
Tensor round(const Tensor &a); // halves to even
Tensor trunc(const Tensor &a);
Tensor frac(const Tensor &a);
Tensor isnan(const Tensor &a);
Tensor isinf(const Tensor &a);
Tensor isfinite(const Tensor &a);

// ---- activations ----
Tensor relu(const Tensor &a);
Tensor relu6(const Tensor &a);
Tensor leakyRelu(const Tensor &a, double negativeSlope = 0.01);
Tensor prelu(const Tensor &a, const Tensor &weight); // weight [1] or [channels]
Tensor elu(const Tensor &a, double alpha = 1);
Tensor selu(const Tensor &a);
Tensor celu(const Tensor &a, double alpha = 1);
Tensor gelu(const Tensor &a, bool tanh = false);
Tensor silu(const Tensor &a);
Tensor mish(const Tensor &a);
Tensor sigmoid(const Tensor &a);
Tensor logSigmoid(const Tensor &a);
Tensor softplus(const Tensor &a, double beta = 1, double threshold = 20);
Tensor softsign(const Tensor &a);
Tensor softshrink(const Tensor &a, double lambda = 0.5);
Tensor hardshrink(const Tensor &a, double lambda = 0.5);
Tensor hardtanh(const Tensor &a, double low = -1, double high = 1);
Tensor hardsigmoid(const Tensor &a);
Tensor hardswish(const Tensor &a);
Tensor threshold(const Tensor &a, double threshold, double value);
Tensor tanhshrink(const Tensor &a);
Tensor glu(const Tensor &a, int64_t dim = -1);
Tensor softmax(const Tensor &a, int64_t dim, std::optional<DType> dtype = {});
Tensor logSoftmax(const Tensor &a, int64_t dim, std::optional<DType> dtype = {});
/// Zeroes each element with probability p and scales the rest by 1 / (1 - p); the identity when not training.
Tensor dropout(const Tensor &a, double p, bool training);

// ---- reductions: empty dims mean all ----
Tensor sum(const Tensor &a, IntList dims = {}, bool keepdim = false);
Tensor mean(const Tensor &a, IntList dims = {}, bool keepdim = false);
Tensor prod(const Tensor &a);
Tensor prod(const Tensor &a, int64_t dim, bool keepdim = false);
Tensor amax(const Tensor &a, IntList dims = {}, bool keepdim = false);
Tensor amin(const Tensor &a, IntList dims = {}, bool keepdim = false);
std::pair<Tensor, Tensor> max(const Tensor &a, int64_t dim, bool keepdim = false);
std::pair<Tensor, Tensor> min(const Tensor &a, int64_t dim, bool keepdim = false);
Tensor argmax(const Tensor &a, std::optional<int64_t> dim = {}, bool keepdim = false);
Tensor argmin(const Tensor &a, std::optional<int64_t> dim = {}, bool keepdim = false);
Tensor var(const Tensor &a, IntList dims = {}, int64_t correction = 1, bool keepdim = false);
Tensor stdDev(const Tensor &a, IntList dims = {}, int64_t correction = 1, bool keepdim = false);
Tensor norm(const Tensor &a, double p = 2, IntList dims = {}, bool keepdim = false);
Tensor logsumexp(const Tensor &a, IntList dims, bool keepdim = false);
Tensor all(const Tensor &a, IntList dims = {}, bool keepdim = false);
Tensor any(const Tensor &a, IntList dims = {}, bool keepdim = false);
Tensor median(const Tensor &a);
Tensor cumsum(const Tensor &a, int64_t dim);
Tensor cumprod(const Tensor &a, int64_t dim);

// ---- products ----
Tensor matmul(const Tensor &a, const Tensor &b);
Tensor mm(const Tensor &a, const Tensor &b);
Tensor bmm(const Tensor &a, const Tensor &b);
Tensor mv(const Tensor &a, const Tensor &b);
Tensor dot(const Tensor &a, const Tensor &b);
Tensor outer(const Tensor &a, const Tensor &b);
Tensor addmm(const Tensor &bias, const Tensor &a, const Tensor &b, Scalar beta = 1, Scalar alpha = 1);
/// x w^T + bias, weight [out, in].
Tensor linear(const Tensor &x, const Tensor &weight, const Tensor &bias = {});
Tensor einsum(const std::string &equation, const std::vector<Tensor> &operands);

// ---- convolution and pooling: one entry per spatial dim, or one for all ----
struct ConvOptions {
  Extents stride = 1, padding = 0, dilation = 1;
  int64_t groups = 1;
};
struct ConvTransposeOptions {
  Extents stride = 1, padding = 0, outputPadding = 0, dilation = 1;
  int64_t groups = 1;
};
/// weight [out, in / groups, window…]
Tensor conv1d(const Tensor &x, const Tensor &weight, const Tensor &bias = {}, const ConvOptions &options = {});
Tensor conv2d(const Tensor &x, const Tensor &weight, const Tensor &bias = {}, const ConvOptions &options = {});
Tensor conv3d(const Tensor &x, const Tensor &weight, const Tensor &bias = {}, const ConvOptions &options = {});
/// weight [in, out / groups, window…]
Tensor convTranspose1d(const Tensor &x, const Tensor &weight, const Tensor &bias = {}, const ConvTransposeOptions &options = {});
Tensor convTranspose2d(const Tensor &x, const Tensor &weight, const Tensor &bias = {}, const ConvTransposeOptions &options = {});
Tensor convTranspose3d(const Tensor &x, const Tensor &weight, const Tensor &bias = {}, const ConvTransposeOptions &options = {});
struct PoolOptions {
  std::optional<Extents> stride; // default: the window
  Extents padding = 0, dilation = 1;
  bool ceilMode = false, countIncludePad = true; // dilation: max only; countIncludePad: average only
};
Tensor maxPool1d(const Tensor &x, Extents window, const PoolOptions &options = {});
Tensor maxPool2d(const Tensor &x, Extents window, const PoolOptions &options = {});
Tensor maxPool3d(const Tensor &x, Extents window, const PoolOptions &options = {});
Tensor avgPool1d(const Tensor &x, Extents window, const PoolOptions &options = {});
Tensor avgPool2d(const Tensor &x, Extents window, const PoolOptions &options = {});
Tensor avgPool3d(const Tensor &x, Extents window, const PoolOptions &options = {});
Tensor adaptiveAvgPool2d(const Tensor &x, Extents outputSize);
enum class PadMode : uint8_t { Constant, Reflect, Replicate, Circular };
/// Pairs (low, high), the last dim's first, as in PyTorch.
Tensor pad(const Tensor &x, IntList padding, PadMode mode = PadMode::Constant, double value = 0);
enum class InterpolateMode : uint8_t { Nearest, Bilinear, Bicubic };
Tensor interpolate(const Tensor &x, IntList size, InterpolateMode mode = InterpolateMode::Nearest, bool alignCorners = false);

// ---- normalisation ----
Tensor layerNorm(const Tensor &x, IntList normalizedShape, const Tensor &weight = {}, const Tensor &bias = {}, double epsilon = 1e-5);
Tensor rmsNorm(const Tensor &x, IntList normalizedShape, const Tensor &weight = {}, std::optional<double> epsilon = {});
Tensor groupNorm(const Tensor &x, int64_t groups, const Tensor &weight = {}, const Tensor &bias = {}, double epsilon = 1e-5);
Tensor instanceNorm(const Tensor &x, const Tensor &weight = {}, const Tensor &bias = {}, double epsilon = 1e-5);
/// In training: normalises with the batch's biased variance and moves the running statistics (the variance with the
/// unbiased one) in place; else normalises with the running statistics.
Tensor batchNorm(const Tensor &x, const Tensor &runningMean, const Tensor &runningVar, const Tensor &weight = {}, const Tensor &bias = {},
                 bool training = false, double momentum = 0.1, double epsilon = 1e-5);
Tensor normalize(const Tensor &x, double p = 2, int64_t dim = 1, double epsilon = 1e-12);

// ---- attention and embedding ----
struct AttentionOptions {
  double dropout = 0;
  bool causal = false;
  std::optional<double> scale; // default: 1 / sqrt(head size)
};
/// softmax(q k^T * scale + mask) v; a boolean mask keeps what is true.
Tensor scaledDotProductAttention(const Tensor &query, const Tensor &key, const Tensor &value, const Tensor &mask = {},
                                 const AttentionOptions &options = {});
/// Rows of weight; `paddingIndex`'s row gets no gradient.
Tensor embedding(const Tensor &indices, const Tensor &weight, std::optional<int64_t> paddingIndex = {});
Tensor oneHot(const Tensor &indices, int64_t classes);

// ---- losses ----
enum class Reduction : uint8_t { None, Mean, Sum };
struct CrossEntropyOptions {
  Reduction reduction = Reduction::Mean;
  int64_t ignoreIndex = -100;
  double labelSmoothing = 0;
};
/// `input` [N, C, …] scores; `target` [N, …] class indices, or probabilities of input's sizes. `weight` [C].
Tensor crossEntropy(const Tensor &input, const Tensor &target, const Tensor &weight = {}, const CrossEntropyOptions &options = {});
struct NllLossOptions {
  Reduction reduction = Reduction::Mean;
  int64_t ignoreIndex = -100;
};
Tensor nllLoss(const Tensor &logProbabilities, const Tensor &target, const Tensor &weight = {}, const NllLossOptions &options = {});
Tensor mseLoss(const Tensor &input, const Tensor &target, Reduction reduction = Reduction::Mean);
Tensor l1Loss(const Tensor &input, const Tensor &target, Reduction reduction = Reduction::Mean);
Tensor smoothL1Loss(const Tensor &input, const Tensor &target, Reduction reduction = Reduction::Mean, double beta = 1);
Tensor huberLoss(const Tensor &input, const Tensor &target, Reduction reduction = Reduction::Mean, double delta = 1);
Tensor binaryCrossEntropy(const Tensor &input, const Tensor &target, const Tensor &weight = {}, Reduction reduction = Reduction::Mean);
Tensor binaryCrossEntropyWithLogits(const Tensor &input, const Tensor &target, const Tensor &weight = {}, const Tensor &posWeight = {},
                                    Reduction reduction = Reduction::Mean);
enum class KlReduction : uint8_t { None, Mean, Sum, BatchMean };
Tensor klDiv(const Tensor &input, const Tensor &target, KlReduction reduction = KlReduction::Mean, bool logTarget = false);

// ---- joining, indexing, sorting ----
Tensor cat(const std::vector<Tensor> &tensors, int64_t dim = 0);
Tensor stack(const std::vector<Tensor> &tensors, int64_t dim = 0);
Tensor gather(const Tensor &a, int64_t dim, const Tensor &index);
Tensor scatter(const Tensor &a, int64_t dim, const Tensor &index, const Tensor &source);
Tensor scatterAdd(const Tensor &a, int64_t dim, const Tensor &index, const Tensor &source);
Tensor indexSelect(const Tensor &a, int64_t dim, const Tensor &index);
Tensor indexAdd(const Tensor &a, int64_t dim, const Tensor &index, const Tensor &source);
Tensor take(const Tensor &a, const Tensor &index);
Tensor maskedSelect(const Tensor &a, const Tensor &mask);
Tensor nonzero(const Tensor &a);
std::pair<Tensor, Tensor> sort(const Tensor &a, int64_t dim = -1, bool descending = false);
std::pair<Tensor, Tensor> topk(const Tensor &a, int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true);
Tensor argsort(const Tensor &a, int64_t dim = -1, bool descending = false);
Tensor tril(const Tensor &a, int64_t diagonal = 0);
Tensor triu(const Tensor &a, int64_t diagonal = 0);
Tensor flip(const Tensor &a, IntList dims);
Tensor roll(const Tensor &a, int64_t shift, int64_t dim);
Tensor repeat(const Tensor &a, IntList repeats);
Tensor repeatInterleave(const Tensor &a, int64_t repeats, int64_t dim);
std::vector<Tensor> meshgrid(const std::vector<Tensor> &axes); // "ij"
Tensor broadcastTo(const Tensor &a, IntList sizes);

// ---- comparisons of whole tensors ----
/// Same sizes, dtype and elements; NaN differs from NaN.
bool equal(const Tensor &a, const Tensor &b);
bool allclose(const Tensor &a, const Tensor &b, double rtol = 1e-5, double atol = 1e-8, bool equalNan = false);

/// The dtype of an op on both.
DType promoteTypes(DType a, DType b);
DType resultType(const Tensor &a, const Tensor &b);
DType resultType(const Tensor &a, Scalar b);

// ---- operators ----
inline Tensor operator+(const Tensor &a, const Tensor &b) { return add(a, b); }
inline Tensor operator-(const Tensor &a, const Tensor &b) { return sub(a, b); }
inline Tensor operator*(const Tensor &a, const Tensor &b) { return mul(a, b); }
inline Tensor operator/(const Tensor &a, const Tensor &b) { return div(a, b); }
inline Tensor operator-(const Tensor &a) { return neg(a); }
inline Tensor operator~(const Tensor &a) { return bitwiseNot(a); }
inline Tensor operator!(const Tensor &a) { return logicalNot(a); }
inline Tensor operator+(const Tensor &a, Scalar b) { return add(a, b); }
inline Tensor operator-(const Tensor &a, Scalar b) { return sub(a, b); }
inline Tensor operator*(const Tensor &a, Scalar b) { return mul(a, b); }
inline Tensor operator/(const Tensor &a, Scalar b) { return div(a, b); }
inline Tensor operator+(Scalar a, const Tensor &b) { return add(b, a); }
inline Tensor operator-(Scalar a, const Tensor &b) { return rsub(b, a); }
inline Tensor operator*(Scalar a, const Tensor &b) { return mul(b, a); }
inline Tensor operator/(Scalar a, const Tensor &b) { return rdiv(b, a); }
inline Tensor operator==(const Tensor &a, const Tensor &b) { return eq(a, b); }
inline Tensor operator!=(const Tensor &a, const Tensor &b) { return ne(a, b); }
inline Tensor operator<(const Tensor &a, const Tensor &b) { return lt(a, b); }
inline Tensor operator<=(const Tensor &a, const Tensor &b) { return le(a, b); }
inline Tensor operator>(const Tensor &a, const Tensor &b) { return gt(a, b); }
inline Tensor operator>=(const Tensor &a, const Tensor &b) { return ge(a, b); }
inline Tensor operator==(const Tensor &a, Scalar b) { return eq(a, b); }
inline Tensor operator!=(const Tensor &a, Scalar b) { return ne(a, b); }
inline Tensor operator<(const Tensor &a, Scalar b) { return lt(a, b); }
inline Tensor operator<=(const Tensor &a, Scalar b) { return le(a, b); }
inline Tensor operator>(const Tensor &a, Scalar b) { return gt(a, b); }
inline Tensor operator>=(const Tensor &a, Scalar b) { return ge(a, b); }
inline Tensor operator&(const Tensor &a, const Tensor &b) { return bitwiseAnd(a, b); }
inline Tensor operator|(const Tensor &a, const Tensor &b) { return bitwiseOr(a, b); }
inline Tensor operator^(const Tensor &a, const Tensor &b) { return bitwiseXor(a, b); }

} // namespace graphc
