// Naive loops in double, to compare oneDNN calls with.
#pragma once

#include "PlanBuilder.h"

#include <cmath>
#include <random>

namespace graphc::test {

inline std::vector<float> randomFloats(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float &value : values)
    value = uniform(random);
  return values;
}

inline double applyPostOp(const gp::PostOpT &op, double x, double other) {
  double a = op.alpha, b = op.beta;
  switch (op.kind) {
  case gp::PostOpKind::Relu:
    return x > 0 ? x : a * x;
  case gp::PostOpKind::Clip:
    return std::min(std::max(x, a), b);
  case gp::PostOpKind::Linear:
    return a * x + b;
  case gp::PostOpKind::GeluErf:
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  case gp::PostOpKind::GeluTanh:
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  case gp::PostOpKind::Tanh:
    return std::tanh(x);
  case gp::PostOpKind::Logistic:
    return 1 / (1 + std::exp(-x));
  case gp::PostOpKind::Swish:
    return x / (1 + std::exp(-a * x));
  case gp::PostOpKind::HardSwish:
    return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0);
  case gp::PostOpKind::HardSigmoid:
    return std::min(std::max(a * x + b, 0.0), 1.0);
  case gp::PostOpKind::Elu:
    return x > 0 ? x : a * (std::exp(x) - 1);
  case gp::PostOpKind::Abs:
    return std::fabs(x);
  case gp::PostOpKind::Square:
    return x * x;
  case gp::PostOpKind::Exp:
    return std::exp(x);
  case gp::PostOpKind::SoftRelu:
    return std::log1p(std::exp(x));
  case gp::PostOpKind::BinaryAdd:
    return x + other;
  case gp::PostOpKind::BinaryMul:
    return x * other;
  case gp::PostOpKind::BinarySub:
    return x - other;
  case gp::PostOpKind::BinaryMax:
    return std::max(x, other);
  case gp::PostOpKind::BinaryMin:
    return std::min(x, other);
  default:
    ADD_FAILURE() << "post-op without a reference";
    return x;
  }
}

inline void expectClose(std::span<const float> actual, std::span<const double> expected, double tolerance = 2e-5) {
  ASSERT_EQ(actual.size(), expected.size());
  double largest = 0;
  for (double value : expected)
    largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance * (1 + largest)) << "element " << i;
}

} // namespace graphc::test
