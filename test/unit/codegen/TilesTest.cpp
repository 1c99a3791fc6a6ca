// Sums of products in tiles of shared memory against plain loops: every remainder of rows, columns and depth, factors that lie along
// their lines or along the depth, padding, batches, types. Where packs are used, the harness runs buffers that start anywhere too.
#include "test/unit/codegen/Harness.h"

using namespace graphc;
using namespace graphc::test;

namespace {

struct Product {
  int64_t rows, columns, depth;
  bool rowsInner = false;    // the first factor is [depth, rows]
  bool columnsInner = true;  // the second is [depth, columns], else [columns, depth]
  int64_t batch = 1;
  bool symbolic = false;     // rows are known at run time alone
};

std::string textOf(const Product &p, const std::string &type, const std::string &zero, const std::string &mul, const std::string &add) {
  auto size = [](int64_t n) { return std::to_string(n); };
  std::string m = p.symbolic ? "?" : size(p.rows), n = size(p.columns), k = size(p.depth), b = size(p.batch);
  std::string left = "memref<" + b + "x" + (p.rowsInner ? k + "x" + m : m + "x" + k) + "x" + type + ">";
  std::string right = "memref<" + b + "x" + (p.columnsInner ? k + "x" + n : n + "x" + k) + "x" + type + ">";
  std::string result = "memref<" + b + "x" + m + "x" + n + "x" + type + ">";
  std::string dims = p.symbolic ? " attributes {arg_dims = [affine_map<()[s0] -> (" + b + ", " + (p.rowsInner ? k + ", s0" : "s0, " + k) + ")>, affine_map<()[s0] -> (" + b + ", " +
                                      (p.columnsInner ? k + ", " + n : n + ", " + k) + ")>, affine_map<()[s0] -> (" + n + ")>, affine_map<()[s0] -> (" + b + ", s0, " + n + ")>]}"
                                : "";
  return "kernel.func @product(%x: " + left + ", %w: " + right + ", %bias: memref<" + n + "x" + type + ">, %o: " + result +
         (p.symbolic ? ", %m: index" : "") + ")" + dims + " {\n  %zero = arith.constant " + zero + " : " + type + "\n  kernel.parallel (%b, %i, %j) to (" + b + ", " +
         (p.symbolic ? "symbol(%m)" : m) + ", " + n + ") {\n    %s = kernel.reduce (%k) to (" + k + ") init (%zero : " + type + ") {\n      %v = kernel.load %x[%b, " +
         (p.rowsInner ? "%k, %i" : "%i, %k") + "] : " + left + "\n      %u = kernel.load %w[%b, " + (p.columnsInner ? "%k, %j" : "%j, %k") + "] : " + right +
         "\n      %p = " + mul + " %v, %u : " + type + "\n      kernel.yield %p : " + type + "\n    } combine (%a, %c) {\n      %t = " + add + " %a, %c : " + type +
         "\n      kernel.yield %t : " + type + "\n    }\n    %y = kernel.load %bias[%j] : memref<" + n + "x" + type + ">\n    %r = " + add + " %s, %y : " + type +
         "\n    kernel.store %r, %o[%b, %i, %j] : " + result + "\n  }\n}";
}

template <typename T>
void check(const Product &p, const std::string &type, const std::string &zero, const std::string &mul, const std::string &add) {
  SimKernel kernel(textOf(p, type, zero, mul, add));
  ASSERT_NE(kernel.source.find("row_tile["), std::string::npos) << kernel.source;
  std::vector<T> x(p.batch * p.rows * p.depth), w(p.batch * p.depth * p.columns), bias(p.columns), out(p.batch * p.rows * p.columns);
  unsigned seed = 1;
  for (auto *values : {&x, &w, &bias})
    for (T &value : *values) {
      seed = seed * 1664525 + 1013904223;
      value = static_cast<T>(static_cast<int>(seed >> 24) - 128) / static_cast<T>(std::is_integral_v<T> ? 1 : 64);
    }
  kernel.run({x.data(), w.data(), bias.data(), out.data()}, p.symbolic ? std::vector<int64_t>{p.rows} : std::vector<int64_t>{});
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t i = 0; i < p.rows; ++i)
      for (int64_t j = 0; j < p.columns; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < p.depth; ++k)
          sum += static_cast<double>(x[b * p.rows * p.depth + (p.rowsInner ? k * p.rows + i : i * p.depth + k)]) *
                 static_cast<double>(w[b * p.depth * p.columns + (p.columnsInner ? k * p.columns + j : j * p.depth + k)]);
        sum += static_cast<double>(bias[j]);
        ASSERT_NEAR(static_cast<double>(out[(b * p.rows + i) * p.columns + j]), sum, 1e-4 + 1e-5 * std::abs(sum))
            << p.rows << " x " << p.columns << " x " << p.depth << " at " << b << ", " << i << ", " << j;
      }
}

TEST(Tiles, EveryRemainder) {
  for (auto [rows, columns, depth] : {std::array<int64_t, 3>{4, 4, 3}, {16, 16, 4}, {17, 30, 5}, {64, 64, 64}, {70, 90, 50}, {130, 68, 36}, {33, 20, 18}})
    check<float>({rows, columns, depth}, "f32", "0.0", "arith.mulf", "arith.addf");
}
TEST(Tiles, FactorsLieEitherWay) {
  for (bool rowsInner : {false, true})
    for (bool columnsInner : {false, true}) {
      check<float>({36, 44, 24, rowsInner, columnsInner}, "f32", "0.0", "arith.mulf", "arith.addf");
      check<float>({129, 70, 33, rowsInner, columnsInner}, "f32", "0.0", "arith.mulf", "arith.addf");
    }
}
TEST(Tiles, Batches) { check<float>({20, 24, 12, false, false, 3}, "f32", "0.0", "arith.mulf", "arith.addf"); }
TEST(Tiles, SymbolicRows) {
  for (int64_t rows : {1, 5, 64, 67})
    check<float>({rows, 32, 20, false, true, 2, true}, "f32", "0.0", "arith.mulf", "arith.addf");
}
TEST(Tiles, OtherTypes) {
  check<double>({37, 50, 20}, "f64", "0.0", "arith.mulf", "arith.addf");
  check<double>({64, 64, 16, true, false}, "f64", "0.0", "arith.mulf", "arith.addf");
  check<int32_t>({20, 36, 12}, "i32", "0", "arith.muli", "arith.addi");
}

TEST(Tiles, ConvolutionsPadAndStride) {
  // channels, filter size, stride, channels of the result: whole steps along the channels, or the filter taken apart with them.
  for (auto [c, f, stride, o] : {std::array<int64_t, 4>{16, 3, 1, 24}, {16, 3, 2, 20}, {3, 5, 2, 16}, {8, 1, 1, 64}, {20, 3, 1, 8}}) {
    int64_t size = 9, pad = f / 2, out = (size + 2 * pad - f) / stride + 1;
    auto n = [](int64_t v) { return std::to_string(v); };
    std::string image = "memref<2x" + n(size) + "x" + n(size) + "x" + n(c) + "xf32>", filter = "memref<" + n(o) + "x" + n(f) + "x" + n(f) + "x" + n(c) + "xf32>",
                result = "memref<2x" + n(out) + "x" + n(out) + "x" + n(o) + "xf32>";
    auto at = [&](const std::string &a, const std::string &b) { return a + " * " + n(stride) + " + " + b + " - " + n(pad); };
    SimKernel kernel("kernel.func @conv(%x: " + image + ", %w: " + filter + ", %y: " + result + ") {\n  %zero = arith.constant 0.0 : f32\n"
                     "  kernel.parallel (%n, %h, %v, %c) to (2, " + n(out) + ", " + n(out) + ", " + n(o) + ") {\n"
                     "    %s = kernel.reduce (%a, %b, %i) to (" + n(f) + ", " + n(f) + ", " + n(c) + ") init (%zero : f32) {\n"
                     "      %p = kernel.load %x[%n, " + at("%h", "%a") + ", " + at("%v", "%b") + ", %i] guard %zero : " + image + "\n"
                     "      %q = kernel.load %w[%c, %a, %b, %i] : " + filter + "\n      %m = arith.mulf %p, %q : f32\n      kernel.yield %m : f32\n"
                     "    } combine (%l, %r) {\n      %t = arith.addf %l, %r : f32\n      kernel.yield %t : f32\n    }\n"
                     "    kernel.store %s, %y[%n, %h, %v, %c] : " + result + "\n  }\n}");
    ASSERT_NE(kernel.source.find("row_tile["), std::string::npos);
    auto x = randomFloats(2 * size * size * c, -1, 1), w = randomFloats(o * f * f * c, -1, 1);
    std::vector<float> y(2 * out * out * o);
    kernel.run({x.data(), w.data(), y.data()});
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t h = 0; h < out; ++h)
        for (int64_t v = 0; v < out; ++v)
          for (int64_t k = 0; k < o; ++k) {
            double sum = 0;
            for (int64_t i = 0; i < f; ++i)
              for (int64_t j = 0; j < f; ++j) {
                int64_t row = h * stride + i - pad, column = v * stride + j - pad;
                if (row < 0 || column < 0 || row >= size || column >= size)
                  continue;
                for (int64_t e = 0; e < c; ++e)
                  sum += double(x[((b * size + row) * size + column) * c + e]) * w[((k * f + i) * f + j) * c + e];
              }
            ASSERT_NEAR(y[((b * out + h) * out + v) * o + k], sum, 1e-4) << c << " channels, filter " << f << ", stride " << stride;
          }
  }
}
} // namespace
