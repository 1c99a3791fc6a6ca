#include "frontend/tensor/PrintTensor.h"
#include "frontend/tensor/TensorProtoFile.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace graphc;

namespace {

// The wire format by hand: field(number, wire type, payload).
std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string number(int field, uint64_t value) { return varint(field << 3) + varint(value); }
std::string bytes(int field, std::string_view payload) { return varint(field << 3 | 2) + varint(payload.size()) + std::string(payload); }
template <typename T>
std::string raw(std::initializer_list<T> values) {
  std::string out;
  for (T value : values)
    out.append(reinterpret_cast<const char *>(&value), sizeof value);
  return out;
}
std::string shown(const std::string &proto) {
  auto tensor = decodeTensorProto(proto, "t.pb");
  return tensor.ok() ? tensorText(*tensor) : tensor.status().message();
}

TEST(TensorProto, RawData) {
  EXPECT_EQ(shown(number(1, 2) + number(2, 1) + bytes(9, raw<float>({1.5, -2}))), "2xf32=[1.5 -2]");
  EXPECT_EQ(shown(number(2, 7) + bytes(9, raw<int64_t>({-9}))), "i64=-9");
  EXPECT_EQ(shown(bytes(1, varint(1) + varint(2)) + number(2, 9) + bytes(9, std::string_view("\0\2", 2))), "1x2xbool=[[0 1]]");
}

TEST(TensorProto, PackedAndUnpackedNumbers) {
  EXPECT_EQ(shown(number(1, 2) + number(2, 1) + bytes(4, raw<float>({1, 2}))), "2xf32=[1 2]");
  EXPECT_EQ(shown(number(1, 1) + number(2, 1) + varint(4 << 3 | 5) + raw<float>({3})), "1xf32=[3]");
  EXPECT_EQ(shown(number(1, 2) + number(2, 6) + number(5, 7) + number(5, static_cast<uint64_t>(-1))), "2xi32=[7 -1]");
  EXPECT_EQ(shown(number(1, 1) + number(2, 3) + bytes(5, varint(static_cast<uint64_t>(-128)))), "1xi8=[-128]");
  EXPECT_EQ(shown(number(1, 1) + number(2, 10) + number(5, 0x3c00)), "1xf16=[1]");
  EXPECT_EQ(shown(number(1, 1) + number(2, 16) + number(5, 0x3f80)), "1xbf16=[1]");
  EXPECT_EQ(shown(number(1, 1) + number(2, 13) + bytes(11, varint(~0ull))), "1xu64=[18446744073709551615]");
  EXPECT_EQ(shown(number(1, 1) + number(2, 11) + bytes(10, raw<double>({0.1}))), "1xf64=[0.1]");
}

TEST(TensorProto, NameAndUnknownFieldsArePassedOver) {
  std::string name;
  auto tensor = decodeTensorProto(bytes(12, "a doc string") + number(1, 0) + bytes(8, "logits") + number(2, 1), "t.pb", &name);
  ASSERT_TRUE(tensor.ok()) << tensor.status().str();
  EXPECT_EQ(name, "logits");
  EXPECT_EQ(tensorText(*tensor), "0xf32=[]");
}

TEST(TensorProto, EveryFaultIsNamed) {
  EXPECT_EQ(shown(number(1, 2) + number(2, 1) + bytes(9, raw<float>({1}))), "'t.pb': shape [2] of f32 needs 2 elements, the data has 4 bytes");
  EXPECT_EQ(shown(number(1, 2) + number(2, 1) + bytes(4, raw<float>({1}))), "'t.pb': shape [2] of f32 needs 2 elements, the data has 1");
  EXPECT_EQ(shown(number(1, 1) + number(2, 8)), "'t.pb': element type string is not supported");
  EXPECT_EQ(shown(number(1, static_cast<uint64_t>(-3)) + number(2, 1)), "'t.pb': its sizes are negative or too large");
  EXPECT_EQ(shown(number(1, 1) + number(2, 1) + number(14, 1)), "'t.pb': its data lies in another file, which a tensor file may not ask for");
  EXPECT_EQ(shown("\x0b garbage"), "'t.pb': not an ONNX TensorProto, or truncated (after 1 of 9 bytes)");
}

TEST(TensorProto, EveryTruncationIsAnErrorOrAskedFor) {
  std::string whole = number(1, 2) + number(2, 1) + bytes(9, raw<float>({1.5, -2}));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decodeTensorProto(std::string_view(whole).substr(0, size), "x").ok()) << size;
}

} // namespace
