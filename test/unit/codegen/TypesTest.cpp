// Every element type, conversions between them, and integer ops at their edges.
#include "test/unit/codegen/Harness.h"

#include "runtime/base/Float16.h"

using namespace graphc::test;

namespace {

const std::vector<int64_t> lengths = {0, 1, 3, 8, 17, 40, 100};

std::string unary(const std::string &in, const std::string &out, const std::string &body) {
  return "kernel.func @f(%x: memref<?x" + in + ">, %y: memref<?x" + out + ">, %n: index) attributes {arg_dims = [affine_map<()[s0] -> (s0)>, "
         "affine_map<()[s0] -> (s0)>]} {\n kernel.parallel (%i) to (symbol(%n)) {\n %v = kernel.load %x[%i] : memref<?x" + in + ">\n" + body +
         "\n kernel.store %r, %y[%i] : memref<?x" + out + ">\n } }";
}

std::string binaryOp(const std::string &type, const std::string &op) {
  return "kernel.func @f(%a: memref<?x" + type + ">, %b: memref<?x" + type + ">, %y: memref<?x" + type +
         ">, %n: index) attributes {arg_dims = [affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> (s0)>]} {\n"
         " kernel.parallel (%i) to (symbol(%n)) {\n %u = kernel.load %a[%i] : memref<?x" + type + ">\n %v = kernel.load %b[%i] : memref<?x" + type +
         ">\n %r = " + op + " %u, %v : " + type + "\n kernel.store %r, %y[%i] : memref<?x" + type + ">\n } }";
}

float fromBf16(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

uint16_t toBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (std::isnan(value))
    return uint16_t((bits >> 16) | 0x40);
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

template <typename T, typename F>
void checkBinary(const std::string &type, const std::string &op, std::vector<T> a, std::vector<T> b, F want) {
  Kernel kernel(binaryOp(type, op));
  std::vector<T> x, z;
  for (T u : a)
    for (T v : b)
      x.push_back(u), z.push_back(v);
  Guarded<T> y(x.size());
  kernel.run({x.data(), z.data(), y.data()}, {int64_t(x.size())}, 2);
  y.check();
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(y[i], want(x[i], z[i])) << op << " on " << type << ": " << +x[i] << ", " << +z[i];
}

template <typename T>
void checkInteger(const std::string &type) {
  using U = std::make_unsigned_t<T>;
  T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  std::vector<T> values = {0, 1, -1, 2, -2, 7, -7, low, T(low + 1), high, T(high - 1), 100, 33};
  auto check = [&](const char *op, auto f) { checkBinary<T>(type, op, values, values, f); };
  check("arith.addi", [](T a, T b) { return T(U(a) + U(b)); });
  check("arith.muli", [](T a, T b) { return T(U(a) * U(b)); });
  check("arith.divsi", [](T a, T b) { return b == 0 ? T(0) : b == -1 ? T(U(0) - U(a)) : T(a / b); });
  check("arith.remsi", [](T a, T b) { return b == 0 || b == -1 ? T(0) : T(a % b); });
  check("arith.divui", [](T a, T b) { return b == 0 ? T(0) : T(U(a) / U(b)); });
  check("arith.remui", [](T a, T b) { return b == 0 ? T(0) : T(U(a) % U(b)); });
  check("arith.maxsi", [](T a, T b) { return std::max(a, b); });
  check("arith.minui", [](T a, T b) { return T(std::min(U(a), U(b))); });
  constexpr int bits = sizeof(T) * 8;
  check("arith.shli", [](T a, T b) { return U(b) >= bits ? T(0) : T(U(a) << U(b)); });
  check("arith.shrui", [](T a, T b) { return U(b) >= bits ? T(0) : T(U(a) >> U(b)); });
  check("arith.shrsi", [](T a, T b) { return T(a >> std::min<U>(U(b), bits - 1)); });
}

} // namespace

TEST(Types, Integer8) { checkInteger<int8_t>("i8"); }
TEST(Types, Integer16) { checkInteger<int16_t>("i16"); }
TEST(Types, Integer32) { checkInteger<int32_t>("i32"); }
TEST(Types, Integer64) { checkInteger<int64_t>("i64"); }

TEST(Types, Bool) {
  checkBinary<uint8_t>("i1", "arith.andi", {0, 1}, {0, 1}, [](uint8_t a, uint8_t b) { return uint8_t(a & b); });
  checkBinary<uint8_t>("i1", "arith.xori", {0, 1}, {0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1}, [](uint8_t a, uint8_t b) { return uint8_t(a ^ b); });
}

TEST(Types, Half) {
  // Every f16 value, through f32.
  Kernel twice(unary("f16", "f16", "%w = arith.extf %v : f16 to f32\n %s = arith.addf %w, %w : f32\n %r = arith.truncf %s : f32 to f16"));
  std::vector<uint16_t> x(65536);
  std::iota(x.begin(), x.end(), 0);
  Guarded<uint16_t> y(x.size());
  twice.run({x.data(), y.data()}, {int64_t(x.size())}, 3);
  y.check();
  for (size_t i = 0; i < x.size(); ++i) {
    float value = graphc::halfToFloat(x[i]);
    uint16_t want = graphc::floatToHalf(value + value);
    if (std::isnan(value))
      ASSERT_TRUE(std::isnan(graphc::halfToFloat(y[i])));
    else
      ASSERT_EQ(y[i], want) << value;
  }
}

TEST(Types, BFloat) {
  Kernel round(unary("f32", "bf16", "%r = arith.truncf %v : f32 to bf16"));
  Kernel widen(unary("bf16", "f32", "%r = arith.extf %v : bf16 to f32"));
  auto x = randomFloats(1000, -1e3, 1e3);
  for (uint32_t bits : {0x3f808000u, 0x3f818000u, 0x3f807fffu, 0x3f808001u, 0x7f800000u, 0x7fc00000u, 0x7f800001u, 0xff800000u, 0x00000001u, 0x80000000u,
                        0x7f7fffffu}) {
    float v;
    std::memcpy(&v, &bits, 4);
    x.push_back(v);
  }
  Guarded<uint16_t> y(x.size());
  round.run({x.data(), y.data()}, {int64_t(x.size())}, 2);
  y.check();
  Guarded<float> z(x.size());
  widen.run({y.data(), z.data()}, {int64_t(x.size())}, 2);
  z.check();
  for (size_t i = 0; i < x.size(); ++i) {
    float back = fromBf16(y[i]);
    if (std::isnan(x[i]))
      ASSERT_TRUE(std::isnan(back));
    else
      ASSERT_EQ(y[i], toBf16(x[i])) << x[i];
    ASSERT_TRUE(z[i] == back || (std::isnan(z[i]) && std::isnan(back)));
  }
  // An op on bf16 itself rounds once.
  checkBinary<uint16_t>("bf16", "arith.mulf", {toBf16(1.5f), toBf16(-3.25f), toBf16(1e-38f)}, {toBf16(2.0f), toBf16(0.3f), toBf16(7.77f)},
                        [](uint16_t a, uint16_t b) { return toBf16(fromBf16(a) * fromBf16(b)); });
}

TEST(Types, DoubleToHalfRoundsOnce) {
  Kernel kernel(unary("f64", "f16", "%r = arith.truncf %v : f64 to f16"));
  // Just above a tie of two halves: rounding to f32 first would make it a tie and go down.
  std::vector<double> x = {1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40), 1.0 + std::ldexp(1.0, -11), 1.0, -2.5, 65504.0, 1e9, 1e-30, -0.0};
  std::vector<uint16_t> want = {0x3c01, 0x3c00, 0x3c00, 0xc100, 0x7bff, 0x7c00, 0x0000, 0x8000};
  Guarded<uint16_t> y(x.size());
  kernel.run({x.data(), y.data()}, {int64_t(x.size())});
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(y[i], want[i]) << x[i];
}

TEST(Types, FloatToIntegerSaturates) {
  Kernel toI32(unary("f32", "i32", "%r = arith.fptosi %v : f32 to i32"));
  Kernel toI8(unary("f32", "i8", "%r = arith.fptosi %v : f32 to i8"));
  Kernel toU8(unary("f32", "i8", "%r = arith.fptoui %v : f32 to i8"));
  Kernel toI64(unary("f32", "i64", "%r = arith.fptosi %v : f32 to i64"));
  std::vector<float> x = {0, 1.9f, -1.9f, 300.0f, -300.0f, 3e9f, -3e9f, INFINITY, -INFINITY, NAN, 127.5f, 255.9f, -0.5f};
  int64_t n = x.size();
  Guarded<int32_t> a(n);
  Guarded<int8_t> b(n);
  Guarded<uint8_t> c(n);
  Guarded<int64_t> d(n);
  toI32.run({x.data(), a.data()}, {n}), toI8.run({x.data(), b.data()}, {n}), toU8.run({x.data(), c.data()}, {n}), toI64.run({x.data(), d.data()}, {n});
  auto saturate = [](float v, double low, double high) { return std::isnan(v) ? 0.0 : std::clamp<double>(std::trunc(v), low, high); };
  for (int64_t i = 0; i < n; ++i) {
    EXPECT_EQ(a[i], int32_t(saturate(x[i], -2147483648.0, 2147483647.0))) << x[i];
    EXPECT_EQ(b[i], int8_t(saturate(x[i], -128, 127))) << x[i];
    EXPECT_EQ(c[i], uint8_t(saturate(x[i], 0, 255))) << x[i];
    int64_t want = std::isinf(x[i]) ? (x[i] > 0 ? INT64_MAX : INT64_MIN) : int64_t(saturate(x[i], -9e18, 9e18));
    EXPECT_EQ(d[i], want) << x[i];
  }
}

TEST(Types, BoolFromComparisonAndIota) {
  Kernel kernel(unary("f64", "i1", "%k = arith.index_cast %i : index to i64\n %f = arith.sitofp %k : i64 to f64\n %r = arith.cmpf olt, %v, %f : f64"));
  for (int64_t n : lengths) {
    std::vector<double> x(n);
    for (int64_t i = 0; i < n; ++i)
      x[i] = (i * 7) % 13;
    Guarded<uint8_t> y(n, 9);
    kernel.run({x.data(), y.data()}, {n}, 2);
    y.check();
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(y[i], x[i] < double(i) ? 1 : 0);
  }
}

TEST(Types, MixedWidths) {
  // uint8 to f32 and back, through i32: what quantised inputs do.
  Kernel kernel(unary("i8", "f32", "%w = arith.uitofp %v : i8 to f32\n %c = arith.constant 0.5 : f32\n %r = arith.mulf %w, %c : f32"));
  for (int64_t n : lengths) {
    std::vector<uint8_t> x(n);
    std::iota(x.begin(), x.end(), 200);
    Guarded<float> y(n);
    kernel.run({x.data(), y.data()}, {n}, 2);
    y.check();
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(y[i], x[i] * 0.5f);
  }
}

TEST(Types, BoolReduction) {
  Kernel kernel(R"(
    kernel.func @any(%x: memref<?x?xi1>, %y: memref<?xi1>, %n: index, %m: index)
        attributes {arg_dims = [affine_map<()[s0, s1] -> (s0, s1)>, affine_map<()[s0, s1] -> (s0)>]} {
      %false = arith.constant false
      kernel.parallel (%i) to (symbol(%n)) {
        %any = kernel.reduce (%k) to (symbol(%m)) init (%false : i1) {
          %v = kernel.load %x[%i, %k] : memref<?x?xi1>
          kernel.yield %v : i1
        } combine (%a, %b) {
          %o = arith.ori %a, %b : i1
          kernel.yield %o : i1
        }
        kernel.store %any, %y[%i] : memref<?xi1>
      }
    })");
  for (int64_t m : lengths) {
    std::vector<uint8_t> x(3 * m);
    if (m)
      x[m + m - 1] = 1, x[2 * m] = 1;
    Guarded<uint8_t> y(3, 7);
    kernel.run({x.data(), y.data()}, {3, m});
    y.check();
    EXPECT_EQ(y[0], 0);
    EXPECT_EQ(y[1], m ? 1 : 0);
    EXPECT_EQ(y[2], m ? 1 : 0);
  }
}

TEST(Types, HighHalfOfAProduct) {
  Kernel kernel(unary("i32", "i32", "%m = arith.constant -766435501 : i32\n %low, %high = arith.mului_extended %v, %m : i32\n %r = arith.xori %low, %high : i32"));
  for (int64_t n : lengths) {
    std::vector<uint32_t> x(n);
    for (int64_t i = 0; i < n; ++i)
      x[i] = uint32_t(i) * 2654435761u;
    Guarded<uint32_t> y(n);
    kernel.run({x.data(), y.data()}, {n}, 2);
    y.check();
    for (int64_t i = 0; i < n; ++i) {
      uint64_t product = uint64_t(x[i]) * 0xd2511f53u;
      ASSERT_EQ(y[i], uint32_t(product) ^ uint32_t(product >> 32));
    }
  }
}
