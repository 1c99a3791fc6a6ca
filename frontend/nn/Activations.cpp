#include "frontend/graphc/layers.h"
#include "runtime/base/Text.h"

namespace graphc::nn {

Activation ReLU() { return {"ReLU", [](const Tensor &x) { return relu(x); }}; }
Activation ReLU6() { return {"ReLU6", [](const Tensor &x) { return relu6(x); }}; }
Activation LeakyReLU(double negativeSlope) {
  return {text("LeakyReLU(", negativeSlope, ")"), [=](const Tensor &x) { return leakyRelu(x, negativeSlope); }};
}
Activation ELU(double alpha) {
  return {text("ELU(", alpha, ")"), [=](const Tensor &x) { return elu(x, alpha); }};
}
Activation SELU() { return {"SELU", [](const Tensor &x) { return selu(x); }}; }
Activation CELU(double alpha) {
  return {text("CELU(", alpha, ")"), [=](const Tensor &x) { return celu(x, alpha); }};
}
Activation GELU(bool tanh) {
  return {tanh ? "GELU(tanh)" : "GELU", [=](const Tensor &x) { return gelu(x, tanh); }};
}
Activation SiLU() { return {"SiLU", [](const Tensor &x) { return silu(x); }}; }
Activation Mish() { return {"Mish", [](const Tensor &x) { return mish(x); }}; }
Activation Sigmoid() { return {"Sigmoid", [](const Tensor &x) { return sigmoid(x); }}; }
Activation LogSigmoid() { return {"LogSigmoid", [](const Tensor &x) { return logSigmoid(x); }}; }
Activation Tanh() { return {"Tanh", [](const Tensor &x) { return tanh(x); }}; }
Activation Softplus(double beta, double threshold) {
  return {text("Softplus(beta=", beta, ", threshold=", threshold, ")"), [=](const Tensor &x) { return softplus(x, beta, threshold); }};
}
Activation Softsign() { return {"Softsign", [](const Tensor &x) { return softsign(x); }}; }
Activation Softshrink(double lambda) {
  return {text("Softshrink(", lambda, ")"), [=](const Tensor &x) { return softshrink(x, lambda); }};
}
Activation Hardshrink(double lambda) {
  return {text("Hardshrink(", lambda, ")"), [=](const Tensor &x) { return hardshrink(x, lambda); }};
}
Activation Hardtanh(double low, double high) {
  return {text("Hardtanh(", low, ", ", high, ")"), [=](const Tensor &x) { return hardtanh(x, low, high); }};
}
Activation Hardsigmoid() { return {"Hardsigmoid", [](const Tensor &x) { return hardsigmoid(x); }}; }
Activation Hardswish() { return {"Hardswish", [](const Tensor &x) { return hardswish(x); }}; }
Activation Threshold(double threshold, double value) {
  return {text("Threshold(", threshold, ", ", value, ")"), [=](const Tensor &x) { return graphc::threshold(x, threshold, value); }};
}
Activation Tanhshrink() { return {"Tanhshrink", [](const Tensor &x) { return tanhshrink(x); }}; }
Activation GLU(int64_t dim) {
  return {text("GLU(dim=", dim, ")"), [=](const Tensor &x) { return glu(x, dim); }};
}
Activation Softmax(int64_t dim) {
  return {text("Softmax(dim=", dim, ")"), [=](const Tensor &x) { return softmax(x, dim); }};
}
Activation LogSoftmax(int64_t dim) {
  return {text("LogSoftmax(dim=", dim, ")"), [=](const Tensor &x) { return logSoftmax(x, dim); }};
}

} // namespace graphc::nn
