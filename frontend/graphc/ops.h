// Ops as functions. Sizes broadcast as in NumPy; dtypes promote as in PyTorch: 0-d tensors and numbers only across kinds
// (bool < integer < float), integer / integer gives the default float, sums of integers give i64.
#pragma once

#include "frontend/graphc/tensor.h"

#include <array>

namespace graphc {

// ---- elementwise ----
Tensor add(const TensorArg &a, const Tensor &b, Scalar alpha = 1); // a + alpha * b
Tensor sub(const TensorArg &a, const Tensor &b, Scalar alpha = 1);
Tensor mul(const TensorArg &a, const Tensor &b);
Tensor div(const TensorArg &a, const Tensor &b);
enum class Rounding : uint8_t { Trunc, Floor };
Tensor div(const TensorArg &a, const Tensor &b, Rounding rounding);
Tensor remainder(const TensorArg &a, const Tensor &b); // sign of the divisor
Tensor fmod(const TensorArg &a, const Tensor &b);      // sign of the dividend
Tensor pow(const TensorArg &a, const Tensor &b);
Tensor maximum(const TensorArg &a, const Tensor &b);
Tensor minimum(const TensorArg &a, const Tensor &b);
Tensor atan2(const TensorArg &a, const Tensor &b);
Tensor add(const TensorArg &a, Scalar b);
Tensor sub(const TensorArg &a, Scalar b);
Tensor mul(const TensorArg &a, Scalar b);
Tensor div(const TensorArg &a, Scalar b);
Tensor rsub(const TensorArg &a, Scalar b); // b - a
Tensor rdiv(const TensorArg &a, Scalar b); // b / a
Tensor remainder(const TensorArg &a, Scalar b);
Tensor pow(const TensorArg &a, Scalar b);
Tensor pow(Scalar a, const TensorArg &b);
Tensor maximum(const TensorArg &a, Scalar b);
Tensor minimum(const TensorArg &a, Scalar b);
Tensor eq(const TensorArg &a, const Tensor &b);
Tensor ne(const TensorArg &a, const Tensor &b);
Tensor lt(const TensorArg &a, const Tensor &b);
Tensor le(const TensorArg &a, const Tensor &b);
Tensor gt(const TensorArg &a, const Tensor &b);
Tensor ge(const TensorArg &a, const Tensor &b);
Tensor eq(const TensorArg &a, Scalar b);
Tensor ne(const TensorArg &a, Scalar b);
Tensor lt(const TensorArg &a, Scalar b);
Tensor le(const TensorArg &a, Scalar b);
Tensor gt(const TensorArg &a, Scalar b);
Tensor ge(const TensorArg &a, Scalar b);
Tensor logicalAnd(const TensorArg &a, const Tensor &b);
Tensor logicalOr(const TensorArg &a, const Tensor &b);
Tensor logicalXor(const TensorArg &a, const Tensor &b);
Tensor logicalNot(const TensorArg &a);
Tensor bitwiseAnd(const TensorArg &a, const Tensor &b);
Tensor bitwiseOr(const TensorArg &a, const Tensor &b);
Tensor bitwiseXor(const TensorArg &a, const Tensor &b);
Tensor bitwiseNot(const TensorArg &a);
Tensor shiftLeft(const TensorArg &a, const Tensor &b);
Tensor shiftRight(const TensorArg &a, const Tensor &b);
Tensor where(const TensorArg &condition, const Tensor &a, const Tensor &b);
Tensor where(const TensorArg &condition, const Tensor &a, Scalar b);
Tensor where(const TensorArg &condition, Scalar a, const Tensor &b);
Tensor maskedFill(const TensorArg &a, const Tensor &mask, Scalar value);
Tensor lerp(const TensorArg &start, const Tensor &end, Scalar weight);
Tensor addcmul(const TensorArg &x, const Tensor &a, const Tensor &b, Scalar value = 1);
Tensor addcdiv(const TensorArg &x, const Tensor &a, const Tensor &b, Scalar value = 1);
Tensor clamp(const TensorArg &a, std::optional<Scalar> low, std::optional<Scalar> high = {});

Tensor neg(const TensorArg &a);
Tensor abs(const TensorArg &a);
Tensor sign(const TensorArg &a);
Tensor exp(const TensorArg &a);
Tensor exp2(const TensorArg &a);
Tensor expm1(const TensorArg &a);
Tensor log(const TensorArg &a);
Tensor log2(const TensorArg &a);
Tensor log10(const TensorArg &a);
Tensor log1p(const TensorArg &a);
Tensor sqrt(const TensorArg &a);
Tensor rsqrt(const TensorArg &a);
Tensor square(const TensorArg &a);
Tensor reciprocal(const TensorArg &a);
Tensor sin(const TensorArg &a);
Tensor cos(const TensorArg &a);
Tensor tan(const TensorArg &a);
Tensor asin(const TensorArg &a);
Tensor acos(const TensorArg &a);
Tensor atan(const TensorArg &a);
Tensor sinh(const TensorArg &a);
Tensor cosh(const TensorArg &a);
Tensor tanh(const TensorArg &a);
Tensor asinh(const TensorArg &a);
Tensor acosh(const TensorArg &a);
Tensor atanh(const TensorArg &a);
Tensor erf(const TensorArg &a);
Tensor erfc(const TensorArg &a);
Tensor floor(const TensorArg &a);
Tensor ceil(const TensorArg &a);
Tensor round(const TensorArg &a); // halves to even
Tensor trunc(const TensorArg &a);
Tensor frac(const TensorArg &a);
Tensor isnan(const TensorArg &a);
Tensor isinf(const TensorArg &a);
Tensor isfinite(const TensorArg &a);

// ---- activations ----
Tensor relu(const TensorArg &a);
Tensor relu6(const TensorArg &a);
Tensor leakyRelu(const TensorArg &a, double negativeSlope = 0.01);
Tensor prelu(const TensorArg &a, const Tensor &weight); // weight [1] or [channels]
Tensor elu(const TensorArg &a, double alpha = 1);
Tensor selu(const TensorArg &a);
Tensor celu(const TensorArg &a, double alpha = 1);
Tensor gelu(const TensorArg &a, bool tanh = false);
Tensor silu(const TensorArg &a);
Tensor mish(const TensorArg &a);
Tensor sigmoid(const TensorArg &a);
Tensor logSigmoid(const TensorArg &a);
Tensor softplus(const TensorArg &a, double beta = 1, double threshold = 20);
Tensor softsign(const TensorArg &a);
Tensor softshrink(const TensorArg &a, double lambda = 0.5);
Tensor hardshrink(const TensorArg &a, double lambda = 0.5);
Tensor hardtanh(const TensorArg &a, double low = -1, double high = 1);
Tensor hardsigmoid(const TensorArg &a);
Tensor hardswish(const TensorArg &a);
Tensor threshold(const TensorArg &a, double threshold, double value);
Tensor tanhshrink(const TensorArg &a);
Tensor glu(const TensorArg &a, int64_t dim = -1);
Tensor softmax(const TensorArg &a, int64_t dim, std::optional<DType> dtype = {});
Tensor logSoftmax(const TensorArg &a, int64_t dim, std::optional<DType> dtype = {});
/// Zeroes each element with probability p and scales the rest by 1 / (1 - p); the identity when not training.
Tensor dropout(const TensorArg &a, double p, bool training);

// ---- reductions: empty dims mean all ----
Tensor sum(const TensorArg &a, IntList dims = {}, bool keepdim = false);
Tensor mean(const TensorArg &a, IntList dims = {}, bool keepdim = false);
Tensor prod(const TensorArg &a);
Tensor prod(const TensorArg &a, int64_t dim, bool keepdim = false);
Tensor amax(const TensorArg &a, IntList dims = {}, bool keepdim = false);
Tensor amin(const TensorArg &a, IntList dims = {}, bool keepdim = false);
std::pair<Tensor, Tensor> max(const TensorArg &a, int64_t dim, bool keepdim = false);
std::pair<Tensor, Tensor> min(const TensorArg &a, int64_t dim, bool keepdim = false);
Tensor argmax(const TensorArg &a, std::optional<int64_t> dim = {}, bool keepdim = false);
Tensor argmin(const TensorArg &a, std::optional<int64_t> dim = {}, bool keepdim = false);
Tensor var(const TensorArg &a, IntList dims = {}, int64_t correction = 1, bool keepdim = false);
Tensor stdDev(const TensorArg &a, IntList dims = {}, int64_t correction = 1, bool keepdim = false);
Tensor norm(const TensorArg &a, double p = 2, IntList dims = {}, bool keepdim = false);
Tensor logsumexp(const TensorArg &a, IntList dims, bool keepdim = false);
Tensor all(const TensorArg &a, IntList dims = {}, bool keepdim = false);
Tensor any(const TensorArg &a, IntList dims = {}, bool keepdim = false);
Tensor median(const TensorArg &a);
Tensor cumsum(const TensorArg &a, int64_t dim);
Tensor cumprod(const TensorArg &a, int64_t dim);

// ---- products ----
Tensor matmul(const TensorArg &a, const Tensor &b);
Tensor mm(const TensorArg &a, const Tensor &b);
Tensor bmm(const TensorArg &a, const Tensor &b);
Tensor mv(const TensorArg &a, const Tensor &b);
Tensor dot(const TensorArg &a, const Tensor &b);
Tensor outer(const TensorArg &a, const Tensor &b);
Tensor addmm(const TensorArg &bias, const Tensor &a, const Tensor &b, Scalar beta = 1, Scalar alpha = 1);
/// x w^T + bias, weight [out, in].
Tensor linear(const TensorArg &x, const Tensor &weight, const Tensor &bias = {});
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
Tensor conv1d(const TensorArg &x, const Tensor &weight, const Tensor &bias = {}, const ConvOptions &options = {});
Tensor conv2d(const TensorArg &x, const Tensor &weight, const Tensor &bias = {}, const ConvOptions &options = {});
Tensor conv3d(const TensorArg &x, const Tensor &weight, const Tensor &bias = {}, const ConvOptions &options = {});
/// weight [in, out / groups, window…]
Tensor convTranspose1d(const TensorArg &x, const Tensor &weight, const Tensor &bias = {}, const ConvTransposeOptions &options = {});
Tensor convTranspose2d(const TensorArg &x, const Tensor &weight, const Tensor &bias = {}, const ConvTransposeOptions &options = {});
Tensor convTranspose3d(const TensorArg &x, const Tensor &weight, const Tensor &bias = {}, const ConvTransposeOptions &options = {});
struct PoolOptions {
  std::optional<Extents> stride; // default: the window
  Extents padding = 0, dilation = 1;
  bool ceilMode = false, countIncludePad = true; // dilation: max only; countIncludePad: average only
};
Tensor maxPool1d(const TensorArg &x, Extents window, const PoolOptions &options = {});
Tensor maxPool2d(const TensorArg &x, Extents window, const PoolOptions &options = {});
Tensor maxPool3d(const TensorArg &x, Extents window, const PoolOptions &options = {});
Tensor avgPool1d(const TensorArg &x, Extents window, const PoolOptions &options = {});
Tensor avgPool2d(const TensorArg &x, Extents window, const PoolOptions &options = {});
Tensor avgPool3d(const TensorArg &x, Extents window, const PoolOptions &options = {});
Tensor adaptiveAvgPool2d(const TensorArg &x, Extents outputSize);
enum class PadMode : uint8_t { Constant, Reflect, Replicate, Circular };
/// Pairs (low, high), the last dim's first, as in PyTorch.
Tensor pad(const TensorArg &x, IntList padding, PadMode mode = PadMode::Constant, double value = 0);
enum class InterpolateMode : uint8_t { Nearest, Bilinear, Bicubic };
Tensor interpolate(const TensorArg &x, IntList size, InterpolateMode mode = InterpolateMode::Nearest, bool alignCorners = false);

// ---- normalisation ----
Tensor layerNorm(const TensorArg &x, IntList normalizedShape, const Tensor &weight = {}, const Tensor &bias = {}, double epsilon = 1e-5);
Tensor rmsNorm(const TensorArg &x, IntList normalizedShape, const Tensor &weight = {}, std::optional<double> epsilon = {});
Tensor groupNorm(const TensorArg &x, int64_t groups, const Tensor &weight = {}, const Tensor &bias = {}, double epsilon = 1e-5);
Tensor instanceNorm(const TensorArg &x, const Tensor &weight = {}, const Tensor &bias = {}, double epsilon = 1e-5);
/// In training: normalises with the batch's biased variance and moves the running statistics (the variance with the
/// unbiased one) in place; else normalises with the running statistics.
Tensor batchNorm(const TensorArg &x, const Tensor &runningMean, const Tensor &runningVar, const Tensor &weight = {}, const Tensor &bias = {},
                 bool training = false, double momentum = 0.1, double epsilon = 1e-5);
Tensor normalize(const TensorArg &x, double p = 2, int64_t dim = 1, double epsilon = 1e-12);

// ---- attention and embedding ----
struct AttentionOptions {
  double dropout = 0;
  bool causal = false;
  std::optional<double> scale; // default: 1 / sqrt(head size)
};
/// softmax(q k^T * scale + mask) v; a boolean mask keeps what is true.
Tensor scaledDotProductAttention(const TensorArg &query, const Tensor &key, const Tensor &value, const Tensor &mask = {},
                                 const AttentionOptions &options = {});
/// Rows of weight; `paddingIndex`'s row gets no gradient.
Tensor embedding(const TensorArg &indices, const Tensor &weight, std::optional<int64_t> paddingIndex = {});
Tensor oneHot(const TensorArg &indices, int64_t classes);

// ---- losses ----
enum class Reduction : uint8_t { None, Mean, Sum };
struct CrossEntropyOptions {
  Reduction reduction = Reduction::Mean;
  int64_t ignoreIndex = -100;
  double labelSmoothing = 0;
};
/// `input` [N, C, …] scores; `target` [N, …] class indices, or probabilities of input's sizes. `weight` [C].
Tensor crossEntropy(const TensorArg &input, const Tensor &target, const Tensor &weight = {}, const CrossEntropyOptions &options = {});
struct NllLossOptions {
  Reduction reduction = Reduction::Mean;
  int64_t ignoreIndex = -100;
};
Tensor nllLoss(const TensorArg &logProbabilities, const Tensor &target, const Tensor &weight = {}, const NllLossOptions &options = {});
Tensor mseLoss(const TensorArg &input, const Tensor &target, Reduction reduction = Reduction::Mean);
Tensor l1Loss(const TensorArg &input, const Tensor &target, Reduction reduction = Reduction::Mean);
Tensor smoothL1Loss(const TensorArg &input, const Tensor &target, Reduction reduction = Reduction::Mean, double beta = 1);
Tensor huberLoss(const TensorArg &input, const Tensor &target, Reduction reduction = Reduction::Mean, double delta = 1);
Tensor binaryCrossEntropy(const TensorArg &input, const Tensor &target, const Tensor &weight = {}, Reduction reduction = Reduction::Mean);
Tensor binaryCrossEntropyWithLogits(const TensorArg &input, const Tensor &target, const Tensor &weight = {}, const Tensor &posWeight = {},
                                    Reduction reduction = Reduction::Mean);
enum class KlReduction : uint8_t { None, Mean, Sum, BatchMean };
Tensor klDiv(const TensorArg &input, const Tensor &target, KlReduction reduction = KlReduction::Mean, bool logTarget = false);

// ---- joining, indexing, sorting ----
Tensor cat(const std::vector<Tensor> &tensors, int64_t dim = 0);
Tensor stack(const std::vector<Tensor> &tensors, int64_t dim = 0);
Tensor gather(const TensorArg &a, int64_t dim, const Tensor &index);
Tensor scatter(const TensorArg &a, int64_t dim, const Tensor &index, const Tensor &source);
Tensor scatterAdd(const TensorArg &a, int64_t dim, const Tensor &index, const Tensor &source);
Tensor indexSelect(const TensorArg &a, int64_t dim, const Tensor &index);
Tensor indexAdd(const TensorArg &a, int64_t dim, const Tensor &index, const Tensor &source);
Tensor take(const TensorArg &a, const Tensor &index);
Tensor maskedSelect(const TensorArg &a, const Tensor &mask);
Tensor nonzero(const TensorArg &a);
std::pair<Tensor, Tensor> sort(const TensorArg &a, int64_t dim = -1, bool descending = false);
std::pair<Tensor, Tensor> topk(const TensorArg &a, int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true);
Tensor argsort(const TensorArg &a, int64_t dim = -1, bool descending = false);
Tensor tril(const TensorArg &a, int64_t diagonal = 0);
Tensor triu(const TensorArg &a, int64_t diagonal = 0);
Tensor flip(const TensorArg &a, IntList dims);
Tensor roll(const TensorArg &a, int64_t shift, int64_t dim);
Tensor repeat(const TensorArg &a, IntList repeats);
Tensor repeatInterleave(const TensorArg &a, int64_t repeats, int64_t dim);
std::vector<Tensor> meshgrid(const std::vector<Tensor> &axes); // "ij"
Tensor broadcastTo(const TensorArg &a, IntList sizes);

// ---- comparisons of whole tensors ----
/// Same sizes, dtype and elements; NaN differs from NaN.
bool equal(const TensorArg &a, const Tensor &b);
bool allclose(const TensorArg &a, const Tensor &b, double rtol = 1e-5, double atol = 1e-8, bool equalNan = false);

/// The dtype of an op on both.
DType promoteTypes(DType a, DType b);
DType resultType(const TensorArg &a, const Tensor &b);
DType resultType(const TensorArg &a, Scalar b);

// ---- operators ----
inline Tensor operator+(const TensorArg &a, const TensorArg &b) { return add(a, b); }
inline Tensor operator-(const TensorArg &a, const TensorArg &b) { return sub(a, b); }
inline Tensor operator*(const TensorArg &a, const TensorArg &b) { return mul(a, b); }
inline Tensor operator/(const TensorArg &a, const TensorArg &b) { return div(a, b); }
inline Tensor operator-(const TensorArg &a) { return neg(a); }
inline Tensor operator~(const TensorArg &a) { return bitwiseNot(a); }
inline Tensor operator!(const TensorArg &a) { return logicalNot(a); }
inline Tensor operator+(const TensorArg &a, Scalar b) { return add(a, b); }
inline Tensor operator-(const TensorArg &a, Scalar b) { return sub(a, b); }
inline Tensor operator*(const TensorArg &a, Scalar b) { return mul(a, b); }
inline Tensor operator/(const TensorArg &a, Scalar b) { return div(a, b); }
inline Tensor operator+(Scalar a, const TensorArg &b) { return add(b, a); }
inline Tensor operator-(Scalar a, const TensorArg &b) { return rsub(b, a); }
inline Tensor operator*(Scalar a, const TensorArg &b) { return mul(b, a); }
inline Tensor operator/(Scalar a, const TensorArg &b) { return rdiv(b, a); }
inline Tensor operator==(const TensorArg &a, const TensorArg &b) { return eq(a, b); }
inline Tensor operator!=(const TensorArg &a, const TensorArg &b) { return ne(a, b); }
inline Tensor operator<(const TensorArg &a, const TensorArg &b) { return lt(a, b); }
inline Tensor operator<=(const TensorArg &a, const TensorArg &b) { return le(a, b); }
inline Tensor operator>(const TensorArg &a, const TensorArg &b) { return gt(a, b); }
inline Tensor operator>=(const TensorArg &a, const TensorArg &b) { return ge(a, b); }
inline Tensor operator==(const TensorArg &a, Scalar b) { return eq(a, b); }
inline Tensor operator!=(const TensorArg &a, Scalar b) { return ne(a, b); }
inline Tensor operator<(const TensorArg &a, Scalar b) { return lt(a, b); }
inline Tensor operator<=(const TensorArg &a, Scalar b) { return le(a, b); }
inline Tensor operator>(const TensorArg &a, Scalar b) { return gt(a, b); }
inline Tensor operator>=(const TensorArg &a, Scalar b) { return ge(a, b); }
inline Tensor operator&(const TensorArg &a, const TensorArg &b) { return bitwiseAnd(a, b); }
inline Tensor operator|(const TensorArg &a, const TensorArg &b) { return bitwiseOr(a, b); }
inline Tensor operator^(const TensorArg &a, const TensorArg &b) { return bitwiseXor(a, b); }

} // namespace graphc
