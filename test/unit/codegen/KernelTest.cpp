// Kernels of every shape against plain loops: maps, broadcasts, rows, columns, guards, gathers, scans, transposes.
#include "test/unit/codegen/Harness.h"

using namespace graphc::test;

namespace {
const std::vector<int64_t> lengths = {0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 77, 100, 129, 257, 1000};
constexpr float inf = std::numeric_limits<float>::infinity();
} // namespace

TEST(Kernel, ElementwiseDynamic) {
  Kernel kernel(R"(
    kernel.func @add(%x: memref<?x?xf32>, %b: memref<?xf32>, %y: memref<?x?xf32>, %n: index, %m: index)
        attributes {arg_dims = [affine_map<()[s0, s1] -> (s0, s1)>, affine_map<()[s0, s1] -> (s1)>, affine_map<()[s0, s1] -> (s0, s1)>]} {
      kernel.parallel (%i, %j) to (symbol(%n), symbol(%m)) {
        %v = kernel.load %x[%i, %j] : memref<?x?xf32>
        %c = kernel.load %b[%j] : memref<?xf32>
        %s = arith.addf %v, %c : f32
        kernel.store %s, %y[%i, %j] : memref<?x?xf32>
      }
    })");
  for (int64_t n : {0, 1, 3, 17})
    for (int64_t m : lengths)
      for (int64_t pieces : {1, 2, 5}) {
        auto x = randomFloats(n * m), b = randomFloats(m, -2, 2, 7);
        Guarded<float> y(n * m);
        kernel.run({x.data(), b.data(), y.data()}, {n, m}, pieces);
        y.check();
        for (int64_t i = 0; i < n * m; ++i)
          ASSERT_EQ(y[i], x[i] + b[i % m]) << n << "x" << m << " in " << pieces << " at " << i;
      }
}

TEST(Kernel, ElementwiseCollapsesToOneDim) {
  Kernel kernel(R"(
    kernel.func @mul(%x: memref<?x?x3xf32>, %y: memref<?x?x3xf32>, %n: index, %m: index)
        attributes {arg_dims = [affine_map<()[s0, s1] -> (s0, s1, 3)>, affine_map<()[s0, s1] -> (s0, s1, 3)>]} {
      %two = arith.constant 2.0 : f32
      kernel.parallel (%i, %j, %k) to (symbol(%n), symbol(%m), 3) {
        %v = kernel.load %x[%i, %j, %k] : memref<?x?x3xf32>
        %s = arith.mulf %v, %two : f32
        kernel.store %s, %y[%i, %j, %k] : memref<?x?x3xf32>
      }
    })");
  EXPECT_NE(kernel.scheduled().find("kernel.parallel (%i) to"), std::string::npos) << kernel.scheduled();
  for (int64_t n : {0, 1, 4, 33}) {
    auto x = randomFloats(n * 5 * 3);
    Guarded<float> y(n * 5 * 3);
    kernel.run({x.data(), y.data()}, {n, 5}, 3);
    y.check();
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(y[i], x[i] * 2.0f);
  }
}

static std::string softmaxText(const std::string &size, const std::string &type, const std::string &dims) {
  return R"(
    kernel.func @softmax(%x: )" + type + R"(, %y: )" + type + R"(, %n: index, %m: index)
        attributes {arg_dims = [affine_map<()[s0, s1] -> )" + dims + R"(>, affine_map<()[s0, s1] -> )" + dims + R"(>]} {
      %lowest = arith.constant 0xFF800000 : f32
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      kernel.parallel (%i) to (symbol(%n)) {
        %max = kernel.reduce (%k) to ()" + size + R"() init (%lowest : f32) {
          %v = kernel.load %x[%i, %k] : )" + type + R"(
          kernel.yield %v : f32
        } combine (%a, %b) {
          %m1 = arith.maximumf %a, %b : f32
          kernel.yield %m1 : f32
        }
        %sum = kernel.reduce (%k) to ()" + size + R"() init (%zero : f32) {
          %v = kernel.load %x[%i, %k] : )" + type + R"(
          %d = arith.subf %v, %max : f32
          %e = math.exp %d : f32
          kernel.yield %e : f32
        } combine (%a, %b) {
          %s = arith.addf %a, %b : f32
          kernel.yield %s : f32
        }
        kernel.map (%k) to ()" + size + R"() {
          %v = kernel.load %x[%i, %k] : )" + type + R"(
          %d = arith.subf %v, %max : f32
          %e = math.exp %d : f32
          %r = arith.divf %one, %sum : f32
          %p = arith.mulf %e, %r : f32
          kernel.store %p, %y[%i, %k] : )" + type + R"(
        }
      }
    })";
}

static void checkSoftmax(Kernel &kernel, int64_t n, int64_t m) {
#ifdef GRAPHC_TEST_ON_SIM
  constexpr double tolerance = 5e-6; // one instruction for e^x, of a rounded product
#else
  constexpr double tolerance = 2e-6;
#endif
  auto x = randomFloats(n * m, -9, 9);
  Guarded<float> y(n * m);
  kernel.run({x.data(), y.data()}, {n, m}, 3);
  y.check();
  for (int64_t i = 0; i < n; ++i) {
    double max = -INFINITY, sum = 0;
    for (int64_t k = 0; k < m; ++k)
      max = std::max<double>(max, x[i * m + k]);
    for (int64_t k = 0; k < m; ++k)
      sum += std::exp(x[i * m + k] - max);
    for (int64_t k = 0; k < m; ++k) {
      double want = std::exp(x[i * m + k] - max) / sum;
      ASSERT_NEAR(y[i * m + k], want, tolerance * want + 1e-12) << n << "x" << m << " row " << i << " col " << k;
    }
  }
}

TEST(Kernel, SoftmaxDynamicRows) {
  Kernel kernel(softmaxText("symbol(%m)", "memref<?x?xf32>", "(s0, s1)"));
  for (int64_t m : lengths)
    checkSoftmax(kernel, 5, m);
}

TEST(Kernel, SoftmaxStaticRows) {
  for (int64_t m : {1, 2, 3, 4, 7, 10, 77, 128})
    {
      std::string size = std::to_string(m), type = "memref<?x" + size + "xf32>";
      Kernel kernel(softmaxText(size, type, "(s0, " + size + ")"));
      checkSoftmax(kernel, 4, m);
    }
}

TEST(Kernel, MaximumKeepsNaN) {
  Kernel kernel(softmaxText("symbol(%m)", "memref<?x?xf32>", "(s0, s1)"));
  for (int64_t m : {5, 40, 100})
    for (int64_t at : {int64_t(0), m / 2, m - 1}) {
      std::vector<float> x(m, 1.0f), y(m);
      x[at] = NAN;
      kernel.run({x.data(), y.data()}, {1, m});
      for (float v : y)
        ASSERT_TRUE(std::isnan(v)) << m << " " << at;
    }
}

static std::string argmaxText(const std::string &parallel, const std::string &index, const std::string &dims) {
  return R"(
    kernel.func @argmax(%x: memref<?x?xf32>, %v: memref<?xf32>, %at: memref<?xi64>, %n: index, %m: index)
        attributes {arg_dims = [affine_map<()[s0, s1] -> )" + dims + R"(>, affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s0)>]} {
      %lowest = arith.constant 0xFF800000 : f32
      %none = arith.constant 9223372036854775807 : i64
      kernel.parallel (%i) to (symbol(%n)) {
        %best:2 = kernel.reduce (%k) to (symbol(%m)) init (%lowest, %none : f32, i64) {
          %e = kernel.load %x[)" + index + R"(] : memref<?x?xf32>
          %k64 = arith.index_cast %k : index to i64
          kernel.yield %e, %k64 : f32, i64
        } combine (%a, %ai, %b, %bi) {
          // NaN beats everything, then the larger, then the smaller index.
          %gt = arith.cmpf ogt, %b, %a : f32
          %bn = arith.cmpf uno, %b, %b : f32
          %an = arith.cmpf uno, %a, %a : f32
          %true = arith.constant true
          %ann = arith.xori %an, %true : i1
          %bnan = arith.andi %bn, %ann : i1
          %better = arith.ori %gt, %bnan : i1
          %eq = arith.cmpf oeq, %a, %b : f32
          %both = arith.andi %an, %bn : i1
          %same = arith.ori %eq, %both : i1
          %lt = arith.cmpi slt, %bi, %ai : i64
          %tie = arith.andi %same, %lt : i1
          %take = arith.ori %better, %tie : i1
          %m1 = arith.select %take, %b, %a : f32
          %mi = arith.select %take, %bi, %ai : i64
          kernel.yield %m1, %mi : f32, i64
        }
        kernel.store %best#0, %v[%i] : memref<?xf32>
        kernel.store %best#1, %at[%i] : memref<?xi64>
      }
    })";
}

static int64_t plainArgmax(const std::vector<float> &x, int64_t start, int64_t step, int64_t m) {
  int64_t best = 0;
  for (int64_t k = 1; k < m; ++k) {
    float a = x[start + best * step], b = x[start + k * step];
    if (b > a || (std::isnan(b) && !std::isnan(a)))
      best = k;
  }
  return best;
}

TEST(Kernel, ArgmaxRowsTiesAndNaN) {
  Kernel kernel(argmaxText("", "%i, %k", "(s0, s1)"));
  for (int64_t m : lengths) {
    if (m == 0)
      continue;
    auto x = randomFloats(6 * m);
    for (float &v : x)
      v = std::round(v * 3); // many ties
    if (m > 3) {
      x[2 * m + m / 2] = NAN;
      x[2 * m + m - 1] = NAN;
      for (int64_t k = 0; k < m; ++k)
        x[3 * m + k] = -inf;
    }
    Guarded<float> v(6);
    Guarded<int64_t> at(6);
    kernel.run({x.data(), v.data(), at.data()}, {6, m}, 2);
    v.check(), at.check();
    for (int64_t i = 0; i < 6; ++i)
      // A row of -inf ties with the identity; the smaller index wins either way.
      ASSERT_EQ(at[i], plainArgmax(x, i * m, 1, m)) << "length " << m << " row " << i;
  }
}

TEST(Kernel, ArgmaxColumns) {
  Kernel kernel(argmaxText("", "%k, %i", "(s1, s0)"));
#ifndef GRAPHC_TEST_ON_SIM
  EXPECT_NE(kernel.scheduled().find("strategy = columns"), std::string::npos) << kernel.scheduled();
#endif
  for (int64_t n : lengths) {
    int64_t m = 13;
    auto x = randomFloats(n * m);
    for (float &v : x)
      v = std::round(v * 2);
    Guarded<float> v(n);
    Guarded<int64_t> at(n);
    kernel.run({x.data(), v.data(), at.data()}, {n, m}, 3);
    v.check(), at.check();
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(at[i], plainArgmax(x, i, n, m)) << n << " column " << i;
  }
}

TEST(Kernel, ColumnSum) {
  Kernel kernel(R"(
    kernel.func @columns(%x: memref<?x?xf32>, %y: memref<?xf32>, %n: index, %m: index)
        attributes {arg_dims = [affine_map<()[s0, s1] -> (s0, s1)>, affine_map<()[s0, s1] -> (s1)>]} {
      %zero = arith.constant 0.0 : f32
      kernel.parallel (%j) to (symbol(%m)) {
        %sum = kernel.reduce (%k) to (symbol(%n)) init (%zero : f32) {
          %v = kernel.load %x[%k, %j] : memref<?x?xf32>
          kernel.yield %v : f32
        } combine (%a, %b) {
          %s = arith.addf %a, %b : f32
          kernel.yield %s : f32
        }
        kernel.store %sum, %y[%j] : memref<?xf32>
      }
    })");
  for (int64_t m : lengths)
    for (int64_t n : {0, 1, 50}) {
      auto x = randomFloats(n * m);
      Guarded<float> y(m, 99.0f);
      kernel.run({x.data(), y.data()}, {n, m}, 2);
      y.check();
      for (int64_t j = 0; j < m; ++j) {
        float want = 0;
        for (int64_t k = 0; k < n; ++k)
          want += x[k * m + j];
#ifdef GRAPHC_TEST_ON_SIM
        ASSERT_NEAR(y[j], want, 2e-5) << n << "x" << m << " column " << j; // a tree of partial sums
#else
        ASSERT_EQ(y[j], want) << n << "x" << m << " column " << j;
#endif
      }
    }
}

TEST(Kernel, WholeReductionOfTwoDims) {
  Kernel kernel(R"(
    kernel.func @all(%x: memref<?x?xi32>, %y: memref<1xi32>, %n: index, %m: index)
        attributes {arg_dims = [affine_map<()[s0, s1] -> (s0, s1)>, affine_map<()[s0, s1] -> (1)>]} {
      %zero = arith.constant 0 : i32
      kernel.parallel () to () {
        %sum = kernel.reduce (%i, %j) to (symbol(%n), symbol(%m)) init (%zero : i32) {
          %v = kernel.load %x[%i, %j] : memref<?x?xi32>
          kernel.yield %v : i32
        } combine (%a, %b) {
          %s = arith.addi %a, %b : i32
          kernel.yield %s : i32
        }
        kernel.store %sum, %y[0] : memref<1xi32>
      }
    })");
  for (int64_t n : {0, 1, 3})
    for (int64_t m : lengths) {
      std::vector<int32_t> x(n * m);
      std::iota(x.begin(), x.end(), -17);
      int32_t y = 5;
      kernel.run({x.data(), &y}, {n, m});
      ASSERT_EQ(y, std::accumulate(x.begin(), x.end(), 0)) << n << "x" << m;
    }
}

TEST(Kernel, PoolWithGuards) {
  // NHWC and NCHW, 3x3 window, stride 2, padding 1.
  for (bool channelsLast : {true, false}) {
    std::string dims = channelsLast ? "(2, s0, s1, s2)" : "(2, s2, s0, s1)";
    std::string out = channelsLast ? "(2, (s0 + 1) floordiv 2, (s1 + 1) floordiv 2, s2)" : "(2, s2, (s0 + 1) floordiv 2, (s1 + 1) floordiv 2)";
    std::string domain = channelsLast ? "(%n, %h, %w, %c) to (2, (symbol(%H) + 1) floordiv 2, (symbol(%W) + 1) floordiv 2, symbol(%C))"
                                      : "(%n, %c, %h, %w) to (2, symbol(%C), (symbol(%H) + 1) floordiv 2, (symbol(%W) + 1) floordiv 2)";
    std::string in = channelsLast ? "%n, %h * 2 + %i - 1, %w * 2 + %j - 1, %c" : "%n, %c, %h * 2 + %i - 1, %w * 2 + %j - 1";
    std::string at = channelsLast ? "%n, %h, %w, %c" : "%n, %c, %h, %w";
    Kernel kernel(R"(
      kernel.func @pool(%x: memref<2x?x?x?xf32>, %y: memref<2x?x?x?xf32>, %H: index, %W: index, %C: index)
          attributes {arg_dims = [affine_map<()[s0, s1, s2] -> )" + dims + R"(>, affine_map<()[s0, s1, s2] -> )" + out + R"(>]} {
        %lowest = arith.constant 0xFF800000 : f32
        kernel.parallel )" + domain + R"( {
          %max = kernel.reduce (%i, %j) to (3, 3) init (%lowest : f32) {
            %v = kernel.load %x[)" + in + R"(] guard %lowest : memref<2x?x?x?xf32>
            kernel.yield %v : f32
          } combine (%a, %b) {
            %m = arith.maximumf %a, %b : f32
            kernel.yield %m : f32
          }
          kernel.store %max, %y[)" + at + R"(] : memref<2x?x?x?xf32>
        }
      })");
    for (int64_t c : {1, 3, 16, 21})
      for (int64_t w : {1, 2, 9, 40}) {
        int64_t h = 7, oh = (h + 1) / 2, ow = (w + 1) / 2;
        auto x = randomFloats(2 * h * w * c);
        Guarded<float> y(2 * oh * ow * c);
        kernel.run({x.data(), y.data()}, {h, w, c}, 3);
        y.check();
        for (int64_t n = 0; n < 2; ++n)
          for (int64_t a = 0; a < oh; ++a)
            for (int64_t b = 0; b < ow; ++b)
              for (int64_t q = 0; q < c; ++q) {
                float want = -inf;
                for (int64_t i = -1; i < 2; ++i)
                  for (int64_t j = -1; j < 2; ++j) {
                    int64_t s = 2 * a + i, t = 2 * b + j;
                    if (s >= 0 && s < h && t >= 0 && t < w)
                      want = std::max(want, channelsLast ? x[((n * h + s) * w + t) * c + q] : x[((n * c + q) * h + s) * w + t]);
                  }
                float got = channelsLast ? y[((n * oh + a) * ow + b) * c + q] : y[((n * c + q) * oh + a) * ow + b];
                ASSERT_EQ(got, want) << (channelsLast ? "NHWC " : "NCHW ") << c << " " << w;
              }
      }
  }
}

TEST(Kernel, PadAndConcatAlongTheLanes) {
  Kernel kernel(R"(
    kernel.func @concat(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index, %p: index, %q: index)
        attributes {arg_dims = [affine_map<()[s0, s1, s2] -> (s0, s1)>, affine_map<()[s0, s1, s2] -> (s0, s2)>,
                                affine_map<()[s0, s1, s2] -> (s0, s1 + s2)>]} {
      %zero = arith.constant 0.0 : f32
      kernel.parallel (%i, %j) to (symbol(%n), symbol(%p) + symbol(%q)) {
        %u = kernel.load %a[%i, %j] guard %zero : memref<?x?xf32>
        %v = kernel.load %b[%i, %j - symbol(%p)] guard %zero : memref<?x?xf32>
        %first = arith.cmpi slt, %j, %p : index
        %r = arith.select %first, %u, %v : f32
        kernel.store %r, %y[%i, %j] : memref<?x?xf32>
      }
    })");
  for (int64_t p : lengths)
    for (int64_t q : {0, 1, 6, 50}) {
      int64_t n = 3;
      auto a = randomFloats(n * p + 1), b = randomFloats(n * q + 1, 3, 4);
      Guarded<float> y(n * (p + q));
      kernel.run({a.data(), b.data(), y.data()}, {n, p, q}, 2);
      y.check();
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < p + q; ++j)
          ASSERT_EQ(y[i * (p + q) + j], j < p ? a[i * p + j] : b[i * q + j - p]) << p << " " << q << " " << j;
    }
}

TEST(Kernel, StridedAndReversed) {
  for (int stride : {2, 3, 4, 5, -1, -2}) {
    std::string index = stride > 0 ? "%i * " + std::to_string(stride) : "symbol(%n) * " + std::to_string(-stride) + " - 1 - %i * " + std::to_string(-stride);
    std::string a = std::to_string(std::abs(stride));
    Kernel kernel(R"(
      kernel.func @slice(%x: memref<?xf32>, %y: memref<?xf32>, %n: index)
          attributes {arg_dims = [affine_map<()[s0] -> (s0 * )" + a + R"()>, affine_map<()[s0] -> (s0)>]} {
        kernel.parallel (%i) to (symbol(%n)) {
          %v = kernel.load %x[)" + index + R"(] : memref<?xf32>
          kernel.store %v, %y[%i] : memref<?xf32>
        }
      })");
    for (int64_t n : lengths) {
      auto x = randomFloats(n * std::abs(stride));
      Guarded<float> y(n);
      kernel.run({x.data(), y.data()}, {n}, 2);
      y.check();
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(y[i], x[stride > 0 ? i * stride : n * -stride - 1 + i * stride]) << "stride " << stride << " length " << n;
    }
  }
}

TEST(Kernel, GatherChecksAndWraps) {
  Kernel kernel(R"(
    kernel.func @gather(%table: memref<?x?xf32>, %at: memref<?xi64>, %y: memref<?x?xf32>, %n: index, %rows: index, %m: index)
        attributes {arg_dims = [affine_map<()[s0, s1, s2] -> (s1, s2)>, affine_map<()[s0, s1, s2] -> (s0)>, affine_map<()[s0, s1, s2] -> (s0, s2)>]} {
      kernel.parallel (%i, %j) to (symbol(%n), symbol(%m)) {
        %i64 = kernel.load %at[%i] : memref<?xi64>
        %index = arith.index_cast %i64 : i64 to index
        %safe = kernel.check_index %index to %rows wrap site 42
        %v = kernel.load %table[%safe, %j] : memref<?x?xf32>
        kernel.store %v, %y[%i, %j] : memref<?x?xf32>
      }
    })");
  for (int64_t m : {1, 5, 8, 40}) {
    int64_t rows = 10;
    auto table = randomFloats(rows * m);
    std::vector<int64_t> at = {0, 9, -1, -10, 5, 5, 3};
    Guarded<float> y(at.size() * m);
    kernel.error = {};
    kernel.run({table.data(), at.data(), y.data()}, {int64_t(at.size()), rows, m}, 2);
    y.check();
    EXPECT_EQ(kernel.error.flag, 0);
    for (size_t i = 0; i < at.size(); ++i)
      for (int64_t j = 0; j < m; ++j)
        ASSERT_EQ(y[i * m + j], table[(at[i] < 0 ? at[i] + rows : at[i]) * m + j]);
    at[4] = 10;
    kernel.run({table.data(), at.data(), y.data()}, {int64_t(at.size()), rows, m}, 2);
    y.check();
    EXPECT_EQ(kernel.error.flag, 1);
    EXPECT_EQ(kernel.error.site, 42);
    EXPECT_EQ(kernel.error.value, 10);
    EXPECT_EQ(kernel.error.lower, -10);
    EXPECT_EQ(kernel.error.upper, 9);
    EXPECT_EQ(y[4 * m], table[9 * m]);
  }
}

TEST(Kernel, GatherElementsInLanes) {
  Kernel kernel(R"(
    kernel.func @elements(%x: memref<?xf32>, %at: memref<?xi32>, %y: memref<?xf32>, %n: index, %size: index)
        attributes {arg_dims = [affine_map<()[s0, s1] -> (s1)>, affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s0)>]} {
      kernel.parallel (%i) to (symbol(%n)) {
        %i32 = kernel.load %at[%i] : memref<?xi32>
        %index = arith.index_cast %i32 : i32 to index
        %safe = kernel.check_index %index to %size site 3
        %v = kernel.load %x[%safe] : memref<?xf32>
        kernel.store %v, %y[%i] : memref<?xf32>
      }
    })");
  for (int64_t n : lengths) {
    auto x = randomFloats(100);
    std::vector<int32_t> at(n);
    for (int64_t i = 0; i < n; ++i)
      at[i] = (i * 37 + 5) % 100;
    Guarded<float> y(n);
    kernel.error = {};
    kernel.run({x.data(), at.data(), y.data()}, {n, 100}, 2);
    y.check();
    EXPECT_EQ(kernel.error.flag, 0);
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(y[i], x[at[i]]);
    for (int64_t bad = 0; bad < n; bad += 5) {
      int32_t keep = at[bad];
      at[bad] = -7;
      kernel.error = {};
      kernel.run({x.data(), at.data(), y.data()}, {n, 100});
      EXPECT_EQ(kernel.error.flag, 1);
      EXPECT_EQ(kernel.error.value, -7);
      EXPECT_EQ(kernel.error.lower, 0);
      EXPECT_EQ(kernel.error.upper, 99);
      EXPECT_EQ(y[bad], x[0]);
      at[bad] = keep;
    }
  }
}

TEST(Kernel, CumulativeSumAlongBothAxes) {
  for (bool alongRows : {true, false}) {
    std::string at = alongRows ? "%i, %k" : "%k, %i";
    Kernel kernel(R"(
      kernel.func @cumsum(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %n: index, %m: index)
          attributes {arg_dims = [affine_map<()[s0, s1] -> (s0, s1)>, affine_map<()[s0, s1] -> (s0, s1)>]} {
        %zero = arith.constant 0.0 : f32
        kernel.parallel (%i) to ()" + std::string(alongRows ? "symbol(%n)" : "symbol(%m)") + R"() {
          %last = kernel.scan (%k) to ()" + (alongRows ? "symbol(%m)" : "symbol(%n)") + R"() iter (%sum = %zero : f32) {
            %v = kernel.load %x[)" + at + R"(] : memref<?x?xf32>
            %s = arith.addf %sum, %v : f32
            kernel.store %s, %y[)" + at + R"(] : memref<?x?xf32>
            kernel.yield %s : f32
          }
        }
      })");
    for (int64_t m : lengths) {
      int64_t n = 9;
      auto x = randomFloats(n * m);
      Guarded<float> y(n * m);
      kernel.run({x.data(), y.data()}, {n, m}, 2);
      y.check();
      for (int64_t i = 0; i < n * m; ++i) {
        int64_t before = alongRows ? (i % m ? i - 1 : -1) : i - m;
        ASSERT_EQ(y[i], (before < 0 ? 0.0f : y[before]) + x[i]) << alongRows << " " << m << " at " << i;
      }
    }
  }
}

TEST(Kernel, OrderedAndAtomicStores) {
  Kernel scatter(R"(
    kernel.func @scatter(%v: memref<?xf32>, %at: memref<?xi64>, %y: memref<?xf32>, %n: index, %size: index)
        attributes {arg_dims = [affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s1)>]} {
      kernel.parallel () to () {
        kernel.scan (%k) to (symbol(%n)) {
          %i64 = kernel.load %at[%k] : memref<?xi64>
          %index = arith.index_cast %i64 : i64 to index
          %safe = kernel.check_index %index to %size site 1
          %e = kernel.load %v[%k] : memref<?xf32>
          kernel.store %e, %y[%safe] ordered addf : memref<?xf32>
        }
      }
    })");
  auto v = randomFloats(100);
  std::vector<int64_t> at(100);
  for (int64_t i = 0; i < 100; ++i)
    at[i] = i * i % 7;
  Guarded<float> y(7);
  std::vector<float> want(7);
  for (int64_t i = 0; i < 100; ++i)
    want[at[i]] += v[i];
  scatter.run({v.data(), at.data(), y.data()}, {100, 7});
  for (int64_t i = 0; i < 7; ++i)
    ASSERT_EQ(y[i], want[i]);

  Kernel histogram(R"(
    kernel.func @histogram(%at: memref<?xi32>, %y: memref<?xi32>, %n: index, %size: index)
        attributes {arg_dims = [affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (s1)>]} {
      %one = arith.constant 1 : i32
      kernel.parallel (%k) to (symbol(%n)) {
        %i32 = kernel.load %at[%k] : memref<?xi32>
        %index = arith.index_cast %i32 : i32 to index
        %safe = kernel.check_index %index to %size site 1
        kernel.store %one, %y[%safe] atomic addi : memref<?xi32>
      }
    })");
  std::vector<int32_t> at32(at.begin(), at.end());
  Guarded<int32_t> counts(7);
  histogram.run({at32.data(), counts.data()}, {100, 7}, 3);
  counts.check();
  for (int32_t i = 0; i < 7; ++i)
    ASSERT_EQ(counts[i], std::count(at32.begin(), at32.end(), i));
}

TEST(Kernel, ConditionalStore) {
  Kernel kernel(R"(
    kernel.func @keep(%x: memref<?xf32>, %y: memref<?xf32>, %n: index)
        attributes {arg_dims = [affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> (s0)>]} {
      %zero = arith.constant 0.0 : f32
      kernel.parallel (%i) to (symbol(%n)) {
        %v = kernel.load %x[%i] : memref<?xf32>
        %keep = arith.cmpf ogt, %v, %zero : f32
        kernel.store %v, %y[%i] if %keep : memref<?xf32>
      }
    })");
  for (int64_t n : lengths) {
    auto x = randomFloats(n);
    Guarded<float> y(n, 5.0f);
    kernel.run({x.data(), y.data()}, {n}, 2);
    y.check();
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(y[i], x[i] > 0 ? x[i] : 5.0f);
  }
}

TEST(Kernel, TransposeWithBias) {
  Kernel kernel(R"(
    kernel.func @transpose(%x: memref<2x?x?xf32>, %b: memref<?xf32>, %y: memref<2x?x?xf32>, %n: index, %m: index)
        attributes {arg_dims = [affine_map<()[s0, s1] -> (2, s0, s1)>, affine_map<()[s0, s1] -> (s0)>, affine_map<()[s0, s1] -> (2, s1, s0)>]} {
      kernel.parallel (%c, %i, %j) to (2, symbol(%m), symbol(%n)) {
        %v = kernel.load %x[%c, %j, %i] : memref<2x?x?xf32>
        %w = kernel.load %b[%j] : memref<?xf32>
        %s = arith.addf %v, %w : f32
        kernel.store %s, %y[%c, %i, %j] : memref<2x?x?xf32>
      }
    })");
  EXPECT_NE(kernel.scheduled().find("strategy = transpose"), std::string::npos) << kernel.scheduled();
  for (int64_t n : {0, 1, 7, 8, 31, 32, 33, 70})
    for (int64_t m : {1, 8, 9, 32, 40, 65}) {
      auto x = randomFloats(2 * n * m), b = randomFloats(n + 1);
      Guarded<float> y(2 * n * m);
      kernel.run({x.data(), b.data(), y.data()}, {n, m}, 3);
      y.check();
      for (int64_t c = 0; c < 2; ++c)
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = 0; j < m; ++j)
            ASSERT_EQ(y[(c * m + j) * n + i], x[(c * n + i) * m + j] + b[i]) << n << "x" << m << " at " << i << "," << j;
    }
}

TEST(Kernel, NestedReduceInMap) {
  // y[b, i] = sum over k of a[b, i, k] * w[k, i]; whatever gets the lanes, the answer is one.
  Kernel kernel(R"(
    kernel.func @nested(%a: memref<?x?x6xf32>, %w: memref<6x?xf32>, %y: memref<?x?xf32>, %n: index, %m: index)
        attributes {arg_dims = [affine_map<()[s0, s1] -> (s0, s1, 6)>, affine_map<()[s0, s1] -> (6, s1)>, affine_map<()[s0, s1] -> (s0, s1)>]} {
      %zero = arith.constant 0.0 : f32
      kernel.parallel (%b) to (symbol(%n)) {
        kernel.map (%i) to (symbol(%m)) {
          %s = kernel.reduce (%k) to (6) init (%zero : f32) {
            %u = kernel.load %a[%b, %i, %k] : memref<?x?x6xf32>
            %v = kernel.load %w[%k, %i] : memref<6x?xf32>
            %p = arith.mulf %u, %v : f32
            kernel.yield %p : f32
          } combine (%p, %q) {
            %t = arith.addf %p, %q : f32
            kernel.yield %t : f32
          }
          kernel.store %s, %y[%b, %i] : memref<?x?xf32>
        }
      }
    })");
  for (int64_t m : lengths) {
    int64_t n = 4;
    auto a = randomFloats(n * m * 6), w = randomFloats(6 * m, -1, 1, 5);
    Guarded<float> y(n * m);
    kernel.run({a.data(), w.data(), y.data()}, {n, m}, 2);
    y.check();
    for (int64_t b = 0; b < n; ++b)
      for (int64_t i = 0; i < m; ++i) {
        double want = 0;
        for (int64_t k = 0; k < 6; ++k)
          want += double(a[(b * m + i) * 6 + k]) * w[k * m + i];
        ASSERT_NEAR(y[b * m + i], want, 1e-5) << kernel.scheduled();
      }
  }
}

TEST(Kernel, SymbolicStrides) {
  // A strided view: the element distance is a scalar of the call.
  Kernel kernel(R"(
    kernel.func @view(%x: memref<?xf32>, %y: memref<?x?xf32>, %n: index, %m: index, %s0: index, %s1: index)
        attributes {arg_dims = [affine_map<()[s0, s1, s2, s3] -> (s0 * s2 + s1 * s3)>, affine_map<()[s0, s1, s2, s3] -> (s0, s1)>]} {
      kernel.parallel (%i, %j) to (symbol(%n), symbol(%m)) {
        %v = kernel.load %x[%i * symbol(%s0) + %j * symbol(%s1)] : memref<?xf32>
        kernel.store %v, %y[%i, %j] : memref<?x?xf32>
      }
    })");
  auto x = randomFloats(1000);
  for (int64_t m : {1, 7, 16, 23}) {
    Guarded<float> y(5 * m);
    kernel.run({x.data(), y.data()}, {5, m, 3, 17}, 2);
    y.check();
    for (int64_t i = 0; i < 5; ++i)
      for (int64_t j = 0; j < m; ++j)
        ASSERT_EQ(y[i * m + j], x[i * 3 + j * 17]);
  }
}

#ifndef GRAPHC_TEST_ON_SIM
TEST(Kernel, LevelsDifferInCode) {
  mlir::DialectRegistry registry;
  graphc::codegen::cpu::registerCpuCodegenDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(softmaxText("symbol(%m)", "memref<?x?xf32>", "(s0, s1)"), &context);
  auto assembly = [&](const char *level) {
    auto compiled = graphc::codegen::cpu::compileKernels(*module, *graphc::codegen::cpu::CpuTarget::parse(level), {1, true});
    EXPECT_TRUE(mlir::succeeded(compiled));
    EXPECT_NE(compiled->front().llvmIr.find("define void @softmax"), std::string::npos);
    return compiled->front().assembly;
  };
  std::string v3 = assembly("v3"), v4 = assembly("v4");
  EXPECT_NE(v3.find("ymm"), std::string::npos);
  EXPECT_EQ(v3.find("zmm"), std::string::npos);
  EXPECT_NE(v4.find("zmm"), std::string::npos);
  EXPECT_NE(v4.find("{%k"), std::string::npos) << "no mask registers";
  EXPECT_FALSE(graphc::codegen::cpu::CpuTarget::parse("v2").has_value());
}

TEST(Kernel, SeveralThreadsCompile) {
  std::string text;
  for (int i = 0; i < 7; ++i) {
    std::string one = softmaxText("symbol(%m)", "memref<?x?xf32>", "(s0, s1)");
    text += one.replace(one.find("@softmax"), 8, "@softmax" + std::to_string(i));
  }
  mlir::DialectRegistry registry;
  graphc::codegen::cpu::registerCpuCodegenDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  auto target = *graphc::codegen::cpu::CpuTarget::host();
  auto compiled = graphc::codegen::cpu::compileKernels(*module, target, {3, false});
  ASSERT_TRUE(mlir::succeeded(compiled));
  ASSERT_EQ(compiled->size(), 7u);
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ((*compiled)[i].name, "softmax" + std::to_string(i));
    // The name is all that differs.
    EXPECT_EQ((*compiled)[i].object.size(), (*compiled)[0].object.size());
  }
}
#endif

TEST(Kernel, InPlace) {
  Kernel kernel(softmaxText("symbol(%m)", "memref<?x?xf32>", "(s0, s1)"));
  for (int64_t m : lengths) {
    auto x = randomFloats(3 * m);
    std::vector<float> y(3 * m);
    kernel.run({x.data(), y.data()}, {3, m});
    kernel.run({x.data(), x.data()}, {3, m});
    ASSERT_EQ(x, y);
  }
}

TEST(Kernel, MaximumAndMinimumAgainstNumbers) {
  Kernel kernel(R"(
    kernel.func @clip(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>, %n: index)
        attributes {arg_dims = [affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> (s0)>]} {
      %zero = arith.constant 0.0 : f32
      %six = arith.constant 6.0 : f32
      kernel.parallel (%i) to (symbol(%n)) {
        %v = kernel.load %x[%i] : memref<?xf32>
        %a = arith.maximumf %v, %zero : f32
        %b = arith.minimumf %six, %a : f32
        kernel.store %b, %y[%i] : memref<?xf32>
        %w = arith.minimumf %v, %b : f32
        kernel.store %w, %z[%i] : memref<?xf32>
      }
    })");
  std::vector<float> x = {-1, 0, 3, 6, 7, inf, -inf, NAN, 1e-40f, 5};
  std::vector<float> y(x.size()), z(x.size());
  kernel.run({x.data(), y.data(), z.data()}, {int64_t(x.size())});
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i])) {
      EXPECT_TRUE(std::isnan(y[i]) && std::isnan(z[i]));
      continue;
    }
    EXPECT_EQ(y[i], std::min(6.0f, std::max(0.0f, x[i])));
    EXPECT_EQ(z[i], std::min(x[i], y[i]));
  }
}

TEST(Kernel, BigBodiesMaskEveryStep) {
  std::string body;
  for (int i = 0; i < 200; ++i)
    body += "%a" + std::to_string(i + 1) + " = arith.addf %a" + std::to_string(i) + ", %c : f32\n";
  Kernel map(R"(
    kernel.func @big(%x: memref<?xf32>, %y: memref<?xf32>, %n: index)
        attributes {arg_dims = [affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> (s0)>]} {
      %c = arith.constant 1.0 : f32
      kernel.parallel (%i) to (symbol(%n)) {
        %a0 = kernel.load %x[%i] : memref<?xf32>
        )" + body + R"(
        kernel.store %a200, %y[%i] : memref<?xf32>
      }
    })");
  Kernel reduce(R"(
    kernel.func @big(%x: memref<?xf32>, %y: memref<1xf32>, %n: index)
        attributes {arg_dims = [affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> (1)>]} {
      %c = arith.constant 1.0 : f32
      %lowest = arith.constant 0xFF800000 : f32
      kernel.parallel () to () {
        %max = kernel.reduce (%i) to (symbol(%n)) init (%lowest : f32) {
          %a0 = kernel.load %x[%i] : memref<?xf32>
          )" + body + R"(
          kernel.yield %a200 : f32
        } combine (%a, %b) {
          %m = arith.maximumf %a, %b : f32
          kernel.yield %m : f32
        }
        kernel.store %max, %y[0] : memref<1xf32>
      }
    })");
  for (int64_t n : lengths) {
    std::vector<float> x(n);
    std::iota(x.begin(), x.end(), -3000.0f);
    Guarded<float> y(n), m(1);
    map.run({x.data(), y.data()}, {n}, 2);
    reduce.run({x.data(), m.data()}, {n});
    y.check(), m.check();
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(y[i], x[i] + 200.0f);
    ASSERT_EQ(m[0], n ? x[n - 1] + 200.0f : -inf);
  }
}
