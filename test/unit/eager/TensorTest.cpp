// Storage, views, factories, conversions, printing, files.
#include "test/unit/eager/Expect.h"

#include <filesystem>

using namespace graphc;
using namespace graphc::test;
using testing::ElementsAre;

TEST(Tensor, literalsHaveTheTypesOfPyTorch) {
  EXPECT_EQ(tensor({1, 2}).dtype(), DType::I64);
  EXPECT_EQ(tensor({1.0, 2.0}).dtype(), DType::F32);
  EXPECT_EQ(tensor({true, false}).dtype(), DType::Bool);
  expectValues(tensor({{1, 2, 3}, {4, 5, 6}}), {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(tensor(2.5).dim(), 0);
  EXPECT_EQ(fromVector(std::vector<double>{1, 2}, {2}).dtype(), DType::F64);
}

TEST(Tensor, factories) {
  expectValues(zeros({2, 2}), {2, 2}, {0, 0, 0, 0});
  expectValues(ones({3}, {.dtype = DType::I32}), {3}, {1, 1, 1});
  expectValues(full({2}, 2.5), {2}, {2.5, 2.5});
  EXPECT_EQ(full({2}, 3).dtype(), DType::I64);
  expectValues(arange(4), {4}, {0, 1, 2, 3});
  expectValues(arange(1, 2, 0.25), {4}, {1, 1.25, 1.5, 1.75});
  expectValues(arange(5, 0, -2), {3}, {5, 3, 1});
  expectValues(linspace(0, 1, 5), {5}, {0, .25, .5, .75, 1});
  expectValues(eye(2, 3), {2, 3}, {1, 0, 0, 0, 1, 0});
  EXPECT_EQ(zeros({2, 0, 3}).numel(), 0);
  EXPECT_EQ(zeros({}).numel(), 1);
}

TEST(Tensor, viewsShareTheStorage) {
  Tensor x = arange(12).view({3, 4});
  expectValues(x.t(), {4, 3}, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  expectValues(x[1], {4}, {4, 5, 6, 7});
  expectValues(x.slice(1, 1, -1), {3, 2}, {1, 2, 5, 6, 9, 10});
  expectValues(x.slice(1, {}, {}, 2), {3, 2}, {0, 2, 4, 6, 8, 10});
  expectValues(x.index({Slice(1), 2}), {2}, {6, 10});
  expectValues(x.unsqueeze(0).expand({2, 3, 4}).sum({0}), {3, 4}, {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22});
  expectValues(x.t().reshape({-1}), {12}, {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11});
  expectValues(x.diagonal(), {3}, {0, 5, 10});
  expectValues(x.unfold(1, 2, 2), {3, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  Tensor row = x[2];
  EXPECT_TRUE(row.sharesStorage(x));
  row.fill_(7);
  EXPECT_EQ(x[2][3].item<int64_t>(), 7);
  EXPECT_EQ(x.version(), row.version());
  EXPECT_EQ(x.version(), 1u);
  EXPECT_EQ(x.detach().version(), 1u);
}

TEST(Tensor, reshapeCopiesOnlyWhereItMust) {
  Tensor x = arange(6).view({2, 3});
  EXPECT_TRUE(x.reshape({3, 2}).sharesStorage(x));
  EXPECT_FALSE(x.t().reshape({6}).sharesStorage(x));
  EXPECT_TRUE(x.t().unsqueeze(1).view({3, 1, 2}).sharesStorage(x));
  EXPECT_THAT(x.flatten().sizes(), ElementsAre(6));
  EXPECT_THAT(zeros({2, 3, 4}).flatten(1).sizes(), ElementsAre(2, 12));
  EXPECT_THAT(zeros({2, 12}).unflatten(1, {3, -1}).sizes(), ElementsAre(2, 3, 4));
  EXPECT_THAT(zeros({1, 3, 1}).squeeze().sizes(), ElementsAre(3));
  EXPECT_THAT(zeros({1, 3, 1}).squeeze(0).sizes(), ElementsAre(3, 1));
  EXPECT_THAT(zeros({2, 3, 4}).movedim(0, 2).sizes(), ElementsAre(3, 4, 2));
}

TEST(Tensor, splitsAndChunks) {
  auto parts = arange(7).split(3);
  ASSERT_EQ(parts.size(), 3u);
  expectValues(parts[2], {1}, {6});
  EXPECT_EQ(arange(7).chunk(2)[0].numel(), 4);
  EXPECT_EQ(arange(6).view({2, 3}).unbind(1).size(), 3u);
}

TEST(Tensor, channelsLastKeepsSizes) {
  Tensor x = filled({2, 3, 4, 5});
  Tensor y = x.contiguous(MemoryFormat::ChannelsLast);
  EXPECT_TRUE(y.isContiguous(MemoryFormat::ChannelsLast));
  EXPECT_FALSE(y.isContiguous());
  EXPECT_EQ(y.stride(1), 1);
  EXPECT_TRUE(equal(x, y));
}

TEST(Tensor, conversions) {
  Tensor x = tensor({1.75, -1.75, 0.0});
  expectValues(x.to(DType::I32), {3}, {1, -1, 0});
  expectValues(x.to(DType::Bool), {3}, {1, 1, 0});
  for (DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32, DType::I16, DType::I8, DType::U8, DType::Bool}) {
    Tensor t = tensor({0, 1, 1}).to(dtype);
    EXPECT_EQ(t.dtype(), dtype);
    expectValues(t, {3}, {0, 1, 1});
    EXPECT_EQ(t[1].item<int>(), 1) << dtype;
  }
  EXPECT_EQ(x.to(DType::F32).impl(), x.impl());
}

TEST(Tensor, spanAndBlob) {
  float data[] = {1, 2, 3, 4};
  int freed = 0;
  {
    Tensor x = fromBlob(data, {2, 2}, DType::F32, [&] { ++freed; });
    Tensor row = x[1];
    row.add_(10);
    EXPECT_EQ(data[3], 14);
    EXPECT_EQ(x.span<float>()[2], 13);
  }
  EXPECT_EQ(freed, 1);
}

TEST(Tensor, printsAsPyTorchDoes) {
  EXPECT_EQ(toString(tensor({{1.0, 2.5}, {-3.0, 4.0}})), "tensor([[ 1.0000,  2.5000],\n        [-3.0000,  4.0000]])");
  EXPECT_EQ(toString(tensor({1.0, 2.0, 10.0})), "tensor([ 1.,  2., 10.])");
  EXPECT_EQ(toString(tensor({1, 22, 333})), "tensor([  1,  22, 333])");
  EXPECT_EQ(toString(tensor({true, false})), "tensor([ True, False])");
  EXPECT_EQ(toString(tensor(2.5)), "tensor(2.5000)");
  EXPECT_EQ(toString(tensor({1.0, HUGE_VAL, std::nan("")})), "tensor([1., inf, nan])");
  EXPECT_EQ(toString(tensor({1e-5, 1.0})), "tensor([1.0000e-05, 1.0000e+00])");
  EXPECT_EQ(toString(zeros({2, 0})), "tensor([], size=(2, 0))");
  EXPECT_EQ(toString(zeros({2}, {.dtype = DType::F64})), "tensor([0., 0.], dtype=f64)");
  EXPECT_EQ(toString(zeros({1}, {.requiresGrad = true})), "tensor([0.], requiresGrad=true)");
  EXPECT_EQ(toString(arange(2000)), "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])");
  EXPECT_EQ(toString(zeros({2, 1, 1})), "tensor([[[0.]],\n\n        [[0.]]])");
}

TEST(Tensor, filesAndDlpack) {
  std::string folder = testing::TempDir();
  Tensor x = filled({2, 3});
  saveNpy(folder + "/x.npy", x.t());
  EXPECT_TRUE(equal(loadNpy(folder + "/x.npy"), x.t().contiguous()));
  saveNpz(folder + "/x.npz", {{"a", x}, {"b", arange(3)}});
  auto back = loadNpz(folder + "/x.npz");
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[1].first, "b");
  EXPECT_TRUE(equal(back[0].second, x));
  Tensor shared = fromDlpack(toDlpack(x.t()));
  EXPECT_TRUE(equal(shared, x.t()));
  EXPECT_EQ(shared.dataPtr(), x.dataPtr());
  shared.zero_();
  EXPECT_EQ(x.abs().sum().item<float>(), 0);
}

TEST(Tensor, memoryIsCountedAndGivenBack) {
  int64_t before = memory::stats().allocated;
  {
    Tensor x = zeros({1000, 100});
    EXPECT_GE(memory::stats().allocated, before + 400'000);
  }
  EXPECT_EQ(memory::stats().allocated, before);
}

TEST(Device, names) {
  EXPECT_EQ(Device("cuda:1").index(), 1);
  EXPECT_EQ(Device("sim").str(), "sim:0");
  EXPECT_EQ(Device::best().str(), "cpu");
  EXPECT_THAT(messageOf([] { Device("tpu"); }, Code::DeviceUnavailable), testing::HasSubstr("valid are \"cpu\", \"cuda\", \"cuda:N\", \"sim\" and \"sim:N\""));
  EXPECT_THAT(messageOf([] { Device("mps"); }, Code::DeviceUnavailable), testing::HasSubstr("not available in this build"));
}
