// Register tiles of convolutions and products against plain loops: every remainder of points and lanes, windows, groups.
#include "test/unit/codegen/Harness.h"

#include <sstream>

using namespace graphc::test;

namespace {

struct Conv {
  int64_t width, inputs, outputs, groups, filter, stride, pool; // pool 1: none
  int64_t height() const { return 5; }
  int64_t convRows() const { return (height() - filter) / stride + 1; }
  int64_t convColumns() const { return (width - filter) / stride + 1; }
  int64_t rows() const { return convRows() / pool; }
  int64_t columns() const { return convColumns() / pool; }
};

std::string numbers(std::initializer_list<int64_t> values, const char *separator) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : separator) + std::to_string(value);
  return text;
}

/// max over the window of relu(bias + convolution), channels last, the weight [filter, filter, inputs, groups * outputs].
std::string textOf(const Conv &c) {
  std::string x = "memref<" + numbers({2, c.height(), c.width, c.groups * c.inputs}, "x") + "xf32>";
  std::string w = "memref<" + numbers({c.filter, c.filter, c.inputs, c.groups * c.outputs}, "x") + "xf32>";
  std::string b = "memref<" + std::to_string(c.groups * c.outputs) + "xf32>";
  std::string y = "memref<" + numbers({2, c.rows(), c.columns(), c.groups * c.outputs}, "x") + "xf32>";
  std::string stride = std::to_string(c.stride), pool = std::to_string(c.pool);
  std::string channel = c.groups == 1 ? "%r" : "(%c floordiv " + std::to_string(c.outputs) + ") * " + std::to_string(c.inputs) + " + %r";
  std::string row = c.pool == 1 ? "%h" : "(%h * " + pool + " + %ph)", column = c.pool == 1 ? "%w" : "(%w * " + pool + " + %pw)";
  std::string sum = R"(
      %sum = kernel.reduce (%r, %i, %j) to ()" + numbers({c.inputs, c.filter, c.filter}, ", ") + R"() init (%zero : f32) {
        %v = kernel.load %x[%n, )" + row + " * " + stride + " + %i, " + column + " * " + stride + " + %j, " + channel + "] : " + x + R"(
        %f = kernel.load %k[%i, %j, %r, %c] : )" + w + R"(
        %m = arith.mulf %v, %f : f32
        kernel.yield %m : f32
      } combine (%a, %d) {
        %s = arith.addf %a, %d : f32
        kernel.yield %s : f32
      }
      %bias = kernel.load %b[%c] : )" + b + R"(
      %biased = arith.addf %sum, %bias : f32
      %relu = arith.maximumf %biased, %zero : f32)";
  if (c.pool > 1)
    sum = "%most = kernel.reduce (%ph, %pw) to (" + pool + ", " + pool + ") init (%lowest : f32) {" + sum + R"(
        kernel.yield %relu : f32
      } combine (%a, %d) {
        %s = arith.maximumf %a, %d : f32
        kernel.yield %s : f32
      })";
  return "kernel.func @conv(%x: " + x + ", %k: " + w + ", %b: " + b + ", %y: " + y + R"() {
    %zero = arith.constant 0.0 : f32
    %lowest = arith.constant 0xFF800000 : f32
    kernel.parallel (%n, %h, %w, %c) to ()" + numbers({2, c.rows(), c.columns(), c.groups * c.outputs}, ", ") + ") {" + sum + R"(
      kernel.store )" + (c.pool > 1 ? "%most" : "%relu") + ", %y[%n, %h, %w, %c] : " + y + "\n    }\n  }";
}

void check(const Conv &c) {
  SCOPED_TRACE(textOf(c));
  Kernel kernel(textOf(c));
  EXPECT_NE(kernel.scheduled().find("strategy = contract"), std::string::npos) << kernel.scheduled();
  int64_t channels = c.groups * c.outputs;
  auto x = randomFloats(2 * c.height() * c.width * c.groups * c.inputs), w = randomFloats(c.filter * c.filter * c.inputs * channels, -1, 1, 3),
       b = randomFloats(channels, -1, 1, 5);
  Guarded<float> y(2 * c.rows() * c.columns() * channels);
  kernel.run({x.data(), w.data(), b.data(), y.data()}, {}, 3);
  y.check();
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t h = 0; h < c.rows(); ++h)
      for (int64_t v = 0; v < c.columns(); ++v)
        for (int64_t o = 0; o < channels; ++o) {
          double most = 0; // relu
          for (int64_t ph = 0; ph < c.pool; ++ph)
            for (int64_t pw = 0; pw < c.pool; ++pw) {
              double sum = b[o];
              for (int64_t i = 0; i < c.filter; ++i)
                for (int64_t j = 0; j < c.filter; ++j)
                  for (int64_t r = 0; r < c.inputs; ++r)
                    sum += double(x[((n * c.height() + (h * c.pool + ph) * c.stride + i) * c.width + (v * c.pool + pw) * c.stride + j) * c.groups * c.inputs +
                                    o / c.outputs * c.inputs + r]) *
                           w[((i * c.filter + j) * c.inputs + r) * channels + o];
              most = std::max(most, sum);
            }
          ASSERT_NEAR(y[((n * c.rows() + h) * c.columns() + v) * channels + o], most, 1e-4) << n << " " << h << " " << v << " " << o;
        }
}

} // namespace

TEST(Contract, PointsAndLanesOfEveryRemainder) {
  for (int64_t width : {1, 12, 30})
    for (int64_t outputs : {4, 10, 16, 23, 40})
      check({width, 3, outputs, 1, 1, 1, 1});
}

TEST(Contract, Filters) {
  for (int64_t outputs : {8, 20})
    for (int64_t stride : {1, 2}) {
      check({17, 1, outputs, 1, 3, stride, 1});
      check({17, 4, outputs, 1, 3, stride, 1});
    }
}

TEST(Contract, PoolsInRegisters) {
  for (int64_t outputs : {8, 16, 20}) {
    check({18, 2, outputs, 1, 1, 1, 2});
    check({20, 2, outputs, 1, 2, 1, 2});
    check({13, 2, outputs, 1, 2, 1, 3});
  }
}

TEST(Contract, Groups) {
  check({14, 5, 8, 3, 1, 1, 1});
  check({14, 6, 20, 4, 1, 1, 1});
  check({11, 2, 16, 2, 3, 1, 1});
}

TEST(Contract, AddsByFusedMultiplication) {
  Kernel kernel(textOf({30, 3, 16, 1, 3, 1, 1}));
  EXPECT_NE(kernel.assembly.find("vfmadd"), std::string::npos);
  // Accumulators live in registers: nothing is spilled to the stack inside the loop.
  EXPECT_EQ(kernel.assembly.find("-byte Spill"), std::string::npos) << kernel.assembly;
}

TEST(Contract, DynamicPoints) {
  Kernel kernel(R"(
    kernel.func @product(%x: memref<?x9xf32>, %k: memref<9x16xf32>, %y: memref<?x16xf32>, %n: index)
        attributes {arg_dims = [affine_map<()[s0] -> (s0, 9)>, affine_map<()[s0] -> (9, 16)>, affine_map<()[s0] -> (s0, 16)>]} {
      %zero = arith.constant 0.0 : f32
      kernel.parallel (%i, %j) to (symbol(%n), 16) {
        %sum = kernel.reduce (%r) to (9) init (%zero : f32) {
          %a = kernel.load %x[%i, %r] : memref<?x9xf32>
          %b = kernel.load %k[%r, %j] : memref<9x16xf32>
          %m = arith.mulf %a, %b : f32
          kernel.yield %m : f32
        } combine (%c, %d) {
          %s = arith.addf %c, %d : f32
          kernel.yield %s : f32
        }
        kernel.store %sum, %y[%i, %j] : memref<?x16xf32>
      }
    })");
  EXPECT_NE(kernel.scheduled().find("strategy = contract"), std::string::npos) << kernel.scheduled();
  for (int64_t n : {0, 1, 5, 6, 7, 23}) {
    auto x = randomFloats(n * 9), w = randomFloats(9 * 16, -1, 1, 3);
    Guarded<float> y(n * 16);
    kernel.run({x.data(), w.data(), y.data()}, {n}, 2);
    y.check();
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < 16; ++j) {
        double sum = 0;
        for (int64_t r = 0; r < 9; ++r)
          sum += double(x[i * 9 + r]) * w[r * 16 + j];
        ASSERT_NEAR(y[i * 16 + j], sum, 1e-4);
      }
  }
}

// Loads that may fall outside, sums that are no products: the old ways.
TEST(Contract, LeavesOthersAlone) {
  Kernel kernel(R"(
    kernel.func @sums(%x: memref<8x9x16xf32>, %y: memref<8x16xf32>) {
      %zero = arith.constant 0.0 : f32
      kernel.parallel (%i, %j) to (8, 16) {
        %sum = kernel.reduce (%r) to (9) init (%zero : f32) {
          %a = kernel.load %x[%i, %r, %j] : memref<8x9x16xf32>
          kernel.yield %a : f32
        } combine (%c, %d) {
          %s = arith.addf %c, %d : f32
          kernel.yield %s : f32
        }
        kernel.store %sum, %y[%i, %j] : memref<8x16xf32>
      }
    })");
  EXPECT_EQ(kernel.scheduled().find("strategy = contract"), std::string::npos) << kernel.scheduled();
}

/// Lines of optimised LLVM IR that compute vectors.
static int64_t vectorLines(const Kernel &kernel) {
  std::istringstream lines(kernel.ir);
  int64_t count = 0;
  for (std::string line; std::getline(lines, line);)
    count += line.find(" x float>") != std::string::npos || line.find(" x i32>") != std::string::npos;
  return count;
}

// What a kernel costs to compile is bounded: by the work fuse puts into one (800 multiply-adds), and by smaller tiles where much follows
// a sum.
TEST(Contract, EmittedVectorOperationsAreBounded) {
  std::string chain, last = "%relu";
  for (int i = 0; i < 12; ++i) {
    std::string next = "%e" + std::to_string(i);
    chain += "\n      " + next + " = math.exp " + last + " : f32";
    last = next;
  }
  std::string text = textOf({30, 3, 16, 1, 3, 1, 1});
  text.replace(text.find("kernel.store %relu"), 18, chain + "\n      kernel.store " + last);
  Kernel contract(text);
  EXPECT_NE(contract.scheduled().find("strategy = contract"), std::string::npos);
  EXPECT_LT(vectorLines(contract), 2500);

  std::string body;
  last = "%v";
  for (int i = 0; i < 66; ++i) { // 66 exponentials of 12: what fuse allows at most
    std::string next = "%e" + std::to_string(i);
    body += "\n        " + next + " = math.exp " + last + " : f32";
    last = next;
  }
  Kernel elementwise(R"(
    kernel.func @chain(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) attributes {arg_dims = [affine_map<()[s0] -> (s0)>, affine_map<()[s0] -> (s0)>]} {
      kernel.parallel (%i) to (symbol(%n)) {
        %v = kernel.load %x[%i] : memref<?xf32>)" + body + R"(
        kernel.store )" + last + R"(, %y[%i] : memref<?xf32>
      }
    })");
  EXPECT_LT(vectorLines(elementwise), 2500);
}
