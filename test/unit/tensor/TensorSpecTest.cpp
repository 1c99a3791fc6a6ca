#include "frontend/tensor/Npy.h"
#include "frontend/tensor/PrintTensor.h"
#include "frontend/tensor/TensorSpec.h"

#include <gtest/gtest.h>

#include <filesystem>

using namespace graphc;

namespace {

std::string shown(std::string_view spec) {
  auto named = parseTensorSpec(spec);
  if (!named.ok())
    return named.status().message();
  return (named->name ? *named->name + ": " : "") + tensorText(named->tensor);
}

TEST(TensorSpec, OneValueForEveryElement) {
  EXPECT_EQ(shown("1x3xf32=0.5"), "1x3xf32=[[0.5 0.5 0.5]]");
  EXPECT_EQ(shown("f32=1e-3"), "f32=0.001");
  EXPECT_EQ(shown("2xbool=true"), "2xbool=[1 1]");
  EXPECT_EQ(shown("2xf16=nan"), "2xf16=[nan nan]");
  EXPECT_EQ(shown("1xf32=-inf"), "1xf32=[-inf]");
  EXPECT_EQ(shown("0x2xf32=7"), "0x2xf32=[]");
}

TEST(TensorSpec, Lists) {
  EXPECT_EQ(shown("4xi64=[1 2 3 4]"), "4xi64=[1 2 3 4]");
  EXPECT_EQ(shown("2x2xi32=[[1, -2], [3, 4]]"), "2x2xi32=[[1 -2][3 4]]");
  EXPECT_EQ(shown("1xi64=[9223372036854775807]"), "1xi64=[9223372036854775807]");
  EXPECT_EQ(shown("1xu64=[18446744073709551615]"), "1xu64=[18446744073709551615]");
  EXPECT_EQ(shown("2x2xf32=[1 2][3 4]"), "2x2xf32=[[1 2][3 4]]");
  EXPECT_EQ(shown("0xf32=[]"), "0xf32=[]");
}

TEST(TensorSpec, Names) {
  EXPECT_EQ(shown("input_ids=2xi64=ramp"), "input_ids: 2xi64=[0 1]");
  EXPECT_EQ(shown("a/b:0=f32=2"), "a/b:0: f32=2");
}

TEST(TensorSpec, RampIsKOverN) {
  EXPECT_EQ(shown("4xf32=ramp"), "4xf32=[0 0.25 0.5 0.75]");
  EXPECT_EQ(shown("2x2xf64=ramp"), "2x2xf64=[[0 0.25][0.5 0.75]]");
}

TEST(TensorSpec, RandomDependsOnTheSeedAndTheIndexOnly) {
  EXPECT_EQ(shown("8xf32=random:7"), shown("8xf32=random:7"));
  EXPECT_NE(shown("8xf32=random:7"), shown("8xf32=random:8"));
  auto small = parseTensorSpec("3xf32=random:7"), large = parseTensorSpec("1000xf32=random:7");
  ASSERT_TRUE(small.ok() && large.ok());
  double sum = 0;
  for (int k = 0; k < 1000; ++k) {
    float value = large->tensor.data<float>()[k];
    EXPECT_TRUE(value >= -1 && value < 1);
    sum += value;
  }
  EXPECT_LT(std::abs(sum), 60) << "uniform around 0: ten times sigma would be 180";
  for (int k = 0; k < 3; ++k)
    EXPECT_EQ(small->tensor.data<float>()[k], large->tensor.data<float>()[k]);
}

TEST(TensorSpec, Files) {
  std::string path = (std::filesystem::path(testing::TempDir()) / "spec.npy").string();
  ASSERT_TRUE(writeNpy(path, HostTensor::of<float>({2}, {1, 2})).ok());
  EXPECT_EQ(shown(path), "2xf32=[1 2]");
  EXPECT_EQ(shown("x=" + path), "x: 2xf32=[1 2]");
  EXPECT_EQ(shown("missing.npy"), "cannot open 'missing.npy': No such file or directory");
}

TEST(TensorSpec, EveryMistakeSaysWhatWouldHaveWorked) {
  EXPECT_EQ(shown("hello"), "tensor 'hello': expected FILE.npy, FILE.pb, 1x3xf32=0.5, 4xi64=[1 2 3 4], 4xf32=random:7 or 4xf32=ramp");
  EXPECT_EQ(shown("4xf32"), "tensor '4xf32': a value is missing; write 4xf32=0, =random or =ramp");
  EXPECT_EQ(shown("2xf32=[1 2 3]"), "tensor '2xf32=[1 2 3]': shape [2] needs 2 elements, the list has 3");
  EXPECT_EQ(shown("2xf32=[1 x]"), "tensor '2xf32=[1 x]': 'x' is not a number");
  EXPECT_EQ(shown("1xf32=[1"), "tensor '1xf32=[1': a '[' without its ']'");
  EXPECT_EQ(shown("1xu8=[300]"), "tensor '1xu8=[300]': element 0: 300 is outside u8's range 0 to 255");
  EXPECT_EQ(shown("1xi32=0.5"), "tensor '1xi32=0.5': 0.5 is not an integer");
  EXPECT_EQ(shown("1xf32=random:x"), "tensor '1xf32=random:x': 'x' is not a seed; write random:7");
  EXPECT_EQ(shown("99999999999x99999999999xf32=1"), "tensor '99999999999x99999999999xf32=1': too many elements");
}

TEST(PrintTensor, LeavesOutTheRest) {
  EXPECT_EQ(tensorText(HostTensor::of<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6}), 4), "2x3xi32=[[1 2 3][4…");
}

} // namespace
