// What the tests of the tensor API share.
#pragma once

#include "frontend/graphc/graphc.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cmath>

namespace graphc::test {

/// Elements in f64 within a tolerance, sizes exactly; NaN equals NaN.
inline void expectValues(const Tensor &tensor, std::vector<int64_t> sizes, std::vector<double> values, double tolerance = 1e-6) {
  EXPECT_EQ(std::vector<int64_t>(tensor.sizes().begin(), tensor.sizes().end()), sizes);
  std::vector<double> actual = tensor.toVector<double>();
  ASSERT_EQ(actual.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << "element " << i << " is " << actual[i];
      continue;
    }
    if (std::isinf(values[i])) {
      EXPECT_EQ(actual[i], values[i]) << "element " << i;
      continue;
    }
    EXPECT_NEAR(actual[i], values[i], tolerance * std::max(1.0, std::abs(values[i]))) << "element " << i << " of\n" << tensor;
  }
}

/// The whole sentence of the error that `run` throws, without its code.
template <typename Run>
std::string messageOf(Run &&run, Code code) {
  try {
    run();
  } catch (const Error &error) {
    EXPECT_EQ(codeName(error.code()), codeName(code)) << error.what();
    return error.message();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

/// (((i * a + 17) mod 97) - 48) / 64 at flat index i: numbers without a generator, of both signs, none repeated nearby.
inline Tensor filled(IntList sizes, int64_t a = 37, DType dtype = DType::F32) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  std::vector<double> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    values[static_cast<size_t>(i)] = static_cast<double>((i * a + 17) % 97 - 48) / 64;
  return fromVector(values, sizes, {.dtype = dtype});
}

} // namespace graphc::test
