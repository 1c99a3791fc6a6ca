#include "frontend/tensor/Npy.h"
#include "frontend/tensor/Npz.h"
#include "frontend/tensor/PrintTensor.h"
#include "frontend/tensor/ReadFile.h"
#include "frontend/tensor/TensorSpec.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

using namespace graphc;

namespace {

std::string file(std::string_view descr, std::string_view order, std::string_view shape, std::string_view data) {
  std::string header = text("{'descr': ", descr, ", 'fortran_order': ", order, ", 'shape': ", shape, "}\n");
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  return bytes + header + std::string(data);
}

std::string scratch(const char *name) { return (std::filesystem::path(testing::TempDir()) / name).string(); }

class NpyRoundTrip : public testing::TestWithParam<int> {};

TEST_P(NpyRoundTrip, EveryDTypeAndRank) {
  DType dtype = static_cast<DType>(GetParam());
  for (Shape shape : {Shape{}, Shape{0}, Shape{3}, Shape{2, 3}, Shape{2, 0, 2}, Shape{2, 1, 3, 2}}) {
    auto tensor = HostTensor::allocate(dtype, shape);
    ASSERT_TRUE(tensor.ok());
    fillRandom(*tensor, 3);
    std::string bytes = encodeNpy(*tensor);
    EXPECT_EQ((bytes.size() - tensor->sizeBytes()) % 64, 0u) << "data begins at a multiple of 64";
    auto back = decodeNpy(bytes, "memory");
    ASSERT_TRUE(back.ok()) << back.status().str();
    EXPECT_EQ(back->dtype(), dtype);
    EXPECT_EQ(back->shape(), shape);
    EXPECT_EQ(std::memcmp(back->raw(), tensor->raw(), tensor->sizeBytes()), 0);
  }
}
INSTANTIATE_TEST_SUITE_P(All, NpyRoundTrip, testing::Range(0, kNumDTypes),
                         [](auto &info) { return std::string(dtypeName(static_cast<DType>(info.param))); });

TEST(Npy, FortranOrderIsTransposed) {
  auto tensor = decodeNpy(file("'|u1'", "True", "(2, 3)", "\1\4\2\5\3\6"), "f");
  ASSERT_TRUE(tensor.ok()) << tensor.status().str();
  EXPECT_EQ(tensorText(*tensor), "2x3xu8=[[1 2 3][4 5 6]]");
}

TEST(Npy, BigEndianIsSwapped) {
  auto tensor = decodeNpy(file("'>i2'", "False", "(2,)", std::string_view("\1\0\0\2", 4)), "f");
  ASSERT_TRUE(tensor.ok()) << tensor.status().str();
  EXPECT_EQ(tensorText(*tensor), "2xi16=[256 2]");
}

TEST(Npy, EveryFaultIsNamed) {
  auto message = [](const std::string &bytes) { return decodeNpy(bytes, "x.npy").status().message(); };
  EXPECT_EQ(message("hello"), "'x.npy': not a .npy file (its first bytes are not \\x93NUMPY)");
  EXPECT_EQ(message(file("'<f4'", "False", "(2, 2)", "1234")),
            "'x.npy': truncated: shape [2, 2] of f32 needs 4 elements of 4 bytes, the file has 4 bytes of data");
  EXPECT_EQ(message(file("'<c8'", "False", "(1,)", "12345678")),
            "'x.npy': dtype '<c8' is not supported; use float64/32/16, int64/32/16/8, uint64/32/16/8 or bool");
  EXPECT_EQ(message(file("[('a', '<f4')]", "False", "(1,)", "1234")), "'x.npy': records (structured dtypes) are not supported");
  EXPECT_EQ(message(file("'<f4'", "False", "(-1,)", "1234")), "'x.npy': the header's shape is not a tuple of sizes");
  EXPECT_EQ(message(file("'<f4'", "False", "(4611686018427387904, 4)", "1234")), "'x.npy': the header's shape is not a tuple of sizes");
}

TEST(Npy, EveryTruncationIsAnError) {
  std::string whole = encodeNpy(HostTensor::of<float>({3}, {1, 2, 3}));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decodeNpy(std::string_view(whole).substr(0, size), "x").ok()) << size;
}

TEST(Npz, RoundTripKeepsOrderAndNames) {
  NamedTensors tensors;
  tensors.emplace_back("zeta", HostTensor::of<float>({2}, {1, 2}));
  tensors.emplace_back("net.0.weight", HostTensor::of<int64_t>({1, 1}, {7}));
  std::string path = scratch("round.npz");
  ASSERT_TRUE(writeNpz(path, tensors).ok());
  auto back = readNpz(path);
  ASSERT_TRUE(back.ok()) << back.status().str();
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ((*back)[0].first, "zeta");
  EXPECT_EQ((*back)[1].first, "net.0.weight");
  EXPECT_EQ(tensorText((*back)[1].second), "1x1xi64=[[7]]");
}

TEST(Npz, DamageIsFound) {
  NamedTensors tensors;
  tensors.emplace_back("a", HostTensor::of<float>({4}, {1, 2, 3, 4}));
  std::string path = scratch("damaged.npz");
  ASSERT_TRUE(writeNpz(path, tensors).ok());
  auto bytes = readFile(path);
  ASSERT_TRUE(bytes.ok());
  std::string flipped = *bytes;
  flipped[150] ^= 1; // in the data
  ASSERT_TRUE(writeFileAtomically(path, flipped).ok());
  EXPECT_EQ(readNpz(path).status().message(), text("'", path, ":a.npy': checksum differs, the file is damaged"));
  for (size_t size : {size_t{0}, size_t{10}, bytes->size() / 2, bytes->size() - 1}) {
    ASSERT_TRUE(writeFileAtomically(path, std::string_view(*bytes).substr(0, size)).ok());
    EXPECT_FALSE(readNpz(path).ok()) << size;
  }
}

TEST(ReadFile, SaysWhichFileAndWhy) {
  EXPECT_EQ(readFile("/nonexistent/x").status().message(), "cannot open '/nonexistent/x': No such file or directory");
  EXPECT_EQ(readFile("/").status().message(), "cannot read '/': it is not a regular file");
}

} // namespace
