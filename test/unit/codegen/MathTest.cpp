// Accuracy of the math expansions over dense sweeps, against double.
#include "test/unit/codegen/Harness.h"

using namespace graphc::test;

namespace {

double ulpOf(double value) {
  float f = std::fabs(static_cast<float>(value));
  if (!(f < std::numeric_limits<float>::max()))
    return std::ldexp(1.0, 104);
  return double(std::nextafter(f, INFINITY)) - f;
}

struct Case {
  const char *op;
  double (*want)(double);
  double ulps;
  float low, high; // sweep
};

std::string text(const std::string &op) {
  return "kernel.func @f(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) attributes {arg_dims = [affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> (s0)>]} {\n"
         " kernel.parallel (%i) to (symbol(%n)) {\n %v = kernel.load %x[%i] : memref<?xf32>\n %r = " + op + " %v : f32\n"
         " kernel.store %r, %y[%i] : memref<?xf32>\n } }";
}

std::vector<float> sweep(float low, float high) {
  std::vector<float> values;
  for (int64_t i = 0; i <= 200000; ++i)
    values.push_back(low + (high - low) * (float(i) / 200000));
  // Every exponent, with a few mantissas and both signs.
  for (uint32_t exponent = 0; exponent < 256; ++exponent)
    for (uint32_t mantissa : {0u, 1u, 0x2aaaaau, 0x400000u, 0x555555u, 0x7fffffu})
      for (uint32_t sign : {0u, 1u}) {
        uint32_t bits = sign << 31 | exponent << 23 | mantissa;
        float value;
        std::memcpy(&value, &bits, 4);
        if (value == value && (std::isinf(value) || (value >= low && value <= high) || std::fabs(value) < 1e-5f))
          values.push_back(value);
      }
  values.push_back(NAN);
  return values;
}

double rsqrt(double x) { return 1.0 / std::sqrt(x); }

class Accuracy : public testing::TestWithParam<Case> {};

TEST_P(Accuracy, AgainstDouble) {
  const Case &c = GetParam();
  Kernel kernel(text(c.op));
  auto x = sweep(c.low, c.high);
  Guarded<float> y(x.size());
  kernel.run({x.data(), y.data()}, {int64_t(x.size())}, 2);
  y.check();
  double worst = 0;
  float at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double want = c.want(x[i]);
    float rounded = static_cast<float>(want);
    if (std::isnan(rounded)) {
      ASSERT_TRUE(std::isnan(y[i])) << c.op << "(" << x[i] << ") = " << y[i];
      continue;
    }
    if (std::isinf(rounded) || rounded == 0.0f) {
      if (std::isinf(rounded))
        ASSERT_TRUE(y[i] == rounded || std::fabs(y[i]) > 3.4e38f) << c.op << "(" << x[i] << ") = " << y[i] << ", expected " << rounded;
      else
        ASSERT_LE(std::fabs(y[i]), 1.5e-45f) << c.op << "(" << x[i] << ") = " << y[i];
      ASSERT_EQ(std::signbit(y[i]), std::signbit(rounded)) << c.op << "(" << x[i] << ") has the wrong sign";
      continue;
    }
    double error = std::fabs(double(y[i]) - want) / ulpOf(want);
    if (error > worst)
      worst = error, at = x[i];
  }
  RecordProperty("ulp", std::to_string(worst));
  std::printf("%-12s %.2f ulp at %.9g\n", c.op, worst, at);
  EXPECT_LE(worst, c.ulps) << c.op << " at " << at;
}

#ifdef GRAPHC_TEST_ON_SIM
constexpr double kLibraryUlps = 2; // CUDA's library
#else
constexpr double kLibraryUlps = 1;
#endif

INSTANTIATE_TEST_SUITE_P(
    Math, Accuracy,
    testing::Values(Case{"math.exp", std::exp, 1.2, -106, 90}, Case{"math.exp2", std::exp2, 1.5, -152, 130},
                    Case{"math.expm1", std::expm1, 2.0, -25, 90}, Case{"math.log", std::log, 1.2, 0, 100}, Case{"math.log2", std::log2, 1.5, 0, 10},
                    Case{"math.log10", std::log10, 1.5, 0, 10}, Case{"math.log1p", std::log1p, 2.0, -1.5f, 10},
                    Case{"math.tanh", std::tanh, 3.0, -12, 12}, Case{"math.erf", std::erf, 6.0, -5, 5}, Case{"math.sin", std::sin, 2.0, -100, 100},
                    Case{"math.cos", std::cos, 2.0, -100, 100}, Case{"math.rsqrt", rsqrt, 1.5, 0, 100}, Case{"math.sqrt", std::sqrt, 0.5, -1, 100},
                    Case{"math.asin", std::asin, kLibraryUlps, -1.1f, 1.1f}, Case{"math.atan", std::atan, kLibraryUlps, -100, 100}),
    [](const auto &info) { return std::string(info.param.op).substr(5); });

TEST(Math, SineOfLargeArguments) {
  Kernel kernel(text("math.sin"));
  std::vector<float> x;
  for (int i = 0; i < 50; ++i)
    x.push_back(std::ldexp(1.2345f, i)), x.push_back(-std::ldexp(1.5f, i));
  std::vector<float> y(x.size());
  kernel.run({x.data(), y.data()}, {int64_t(x.size())});
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_NEAR(y[i], std::sin(double(x[i])), 2e-7) << x[i];
}

TEST(Math, PowersOfTwoAreExact) {
  Kernel log2(text("math.log2")), exp2(text("math.exp2"));
  std::vector<float> x, y(253);
  for (int i = -126; i < 127; ++i)
    x.push_back(std::ldexp(1.0f, i));
  log2.run({x.data(), y.data()}, {253});
  for (int i = 0; i < 253; ++i)
    ASSERT_EQ(y[i], float(i - 126));
  exp2.run({y.data(), y.data()}, {253});
  for (int i = 0; i < 253; ++i)
    ASSERT_EQ(y[i], x[i]);
}

TEST(Math, ConstantPowersAndLibraryPower) {
  auto power = [](const char *exponent) {
    return std::string("kernel.func @f(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) attributes {arg_dims = [affine_map<()[s0] -> (s0)>, "
                       "affine_map<()[s0] -> (s0)>]} {\n %e = arith.constant ") + exponent +
           " : f32\n kernel.parallel (%i) to (symbol(%n)) {\n %v = kernel.load %x[%i] : memref<?xf32>\n %r = math.powf %v, %e : f32\n"
           " kernel.store %r, %y[%i] : memref<?xf32>\n } }";
  };
  for (const char *exponent : {"0.0", "1.0", "2.0", "3.0", "-1.0", "-2.0", "0.5", "-0.5", "3.7"}) {
    Kernel kernel(power(exponent));
    std::vector<float> x = {0.0f, -0.0f, 1, 2, 3.5f, -2, INFINITY, -INFINITY, NAN, 1e-40f, 7};
    std::vector<float> y(x.size());
    kernel.run({x.data(), y.data()}, {int64_t(x.size())});
    for (size_t i = 0; i < x.size(); ++i) {
      float want = std::pow(x[i], std::stof(exponent));
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(y[i])) << x[i] << "^" << exponent << " = " << y[i];
        continue;
      }
      if (y[i] != want)
        EXPECT_NEAR(y[i], want, std::fabs(want) * 3e-7) << x[i] << "^" << exponent;
      EXPECT_EQ(std::signbit(y[i]), std::signbit(want)) << x[i] << "^" << exponent;
    }
  }
}

TEST(Math, DoubleGoesToTheLibrary) {
  Kernel kernel("kernel.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %n: index) attributes {arg_dims = [affine_map<()[s0] -> (s0)>, "
                "affine_map<()[s0] -> (s0)>]} {\n kernel.parallel (%i) to (symbol(%n)) {\n %v = kernel.load %x[%i] : memref<?xf64>\n"
                " %r = math.exp %v : f64\n kernel.store %r, %y[%i] : memref<?xf64>\n } }");
  std::vector<double> x(21), y(21);
  for (int i = 0; i < 21; ++i)
    x[i] = i - 10.25;
  kernel.run({x.data(), y.data()}, {21});
  for (int i = 0; i < 21; ++i)
#ifdef GRAPHC_TEST_ON_SIM
    ASSERT_NEAR(y[i], std::exp(x[i]), std::exp(x[i]) * 3e-16); // CUDA's library
#else
    ASSERT_EQ(y[i], std::exp(x[i]));
#endif
}

} // namespace
