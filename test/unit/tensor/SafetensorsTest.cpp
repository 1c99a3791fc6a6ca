// What safetensors files must hold, what is refused, and that writing leaves nothing half done.
#include "frontend/tensor/ReadFile.h"
#include "frontend/tensor/Safetensors.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>

using namespace graphc;
using testing::HasSubstr;

namespace {

namespace fs = std::filesystem;

std::string scratch(const std::string &name) { return (fs::path(testing::TempDir()) / name).string(); }

std::string withHeader(const std::string &json, const std::string &data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes += static_cast<char>(static_cast<uint64_t>(json.size()) >> (8 * i));
  return bytes + json + data;
}

std::string problemOf(const std::string &bytes) {
  std::string path = scratch("bad.safetensors");
  std::ofstream(path, std::ios::binary) << bytes;
  auto file = Safetensors::open(path);
  if (file.ok())
    return "accepted";
  EXPECT_EQ(file.status().code(), Code::WeightFile);
  return file.status().message();
}

TEST(Safetensors, EveryDTypeAndShapeComesBack) {
  std::vector<HostTensor> tensors;
  std::vector<SafetensorsWrite> writes;
  std::vector<Shape> shapes = {Shape{}, Shape{0}, Shape{3}, Shape{2, 3}};
  tensors.reserve(kNumDTypes * shapes.size());
  for (int dtype = 0; dtype < kNumDTypes; ++dtype)
    for (const Shape &shape : shapes) {
      tensors.push_back(*HostTensor::allocate(static_cast<DType>(dtype), shape));
      std::memset(tensors.back().raw(), dtype % 2, tensors.back().sizeBytes());
      writes.push_back({text("t", dtype, ".", shape.rank(), shape.elements()), &tensors.back()});
    }
  std::string path = scratch("all.safetensors");
  ASSERT_TRUE(writeSafetensors(path, writes, {{"format", "pt"}}).ok());
  auto file = Safetensors::open(path);
  ASSERT_TRUE(file.ok()) << file.status().str();
  EXPECT_EQ(file->entries().size(), writes.size());
  EXPECT_EQ(file->metadata().at("format"), "pt");
  for (const SafetensorsWrite &write : writes) {
    const Safetensors::Entry *entry = file->find(write.name);
    ASSERT_NE(entry, nullptr) << write.name;
    auto back = file->read(*entry);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->dtype(), write.tensor->dtype());
    EXPECT_EQ(back->shape(), write.tensor->shape());
    EXPECT_EQ(std::memcmp(back->raw(), write.tensor->raw(), back->sizeBytes()), 0);
    EXPECT_EQ(entry->begin % sizeOf(entry->dtype), 0u) << write.name << " is aligned to its element";
  }
}

TEST(Safetensors, TheSameTensorsGiveTheSameBytesInAnyOrder) {
  HostTensor a = HostTensor::of<float>({2}, {1, 2}), b = HostTensor::of<int64_t>({1}, {3});
  ASSERT_TRUE(writeSafetensors(scratch("1.safetensors"), {{"a", &a}, {"b", &b}}).ok());
  ASSERT_TRUE(writeSafetensors(scratch("2.safetensors"), {{"b", &b}, {"a", &a}}).ok());
  EXPECT_EQ(*readFile(scratch("1.safetensors")), *readFile(scratch("2.safetensors")));
}

// The bytes that Hugging Face's library (0.4) writes for {"a": f32[2], "b": i64[1]}.
TEST(Safetensors, ReadsWhatTheReferenceLibraryWrites) {
  std::string data(24, '\0');
  data[0] = 3;
  float values[] = {1.5f, -2.f};
  std::memcpy(data.data() + 8, values, 8);
  std::string json = R"({"b":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})";
  json.resize((json.size() + 7) / 8 * 8, ' ');
  std::ofstream(scratch("hf.safetensors"), std::ios::binary) << withHeader(json, data.substr(0, 16));
  auto file = Safetensors::open(scratch("hf.safetensors"));
  ASSERT_TRUE(file.ok()) << file.status().str();
  EXPECT_EQ(file->read(*file->find("a"))->values<float>()[1], -2.f);
  EXPECT_EQ(file->read(*file->find("b"))->values<int64_t>()[0], 3);
}

TEST(Safetensors, TiedTensorsAreStoredOnce) {
  HostTensor weight = HostTensor::of<float>({2, 2}, {1, 2, 3, 4});
  HostTensor alias = HostTensor::borrow(DType::F32, {2, 2}, weight.raw());
  HostTensor flat = HostTensor::borrow(DType::F32, {4}, weight.raw()); // another shape is another tensor
  std::string path = scratch("tied.safetensors");
  ASSERT_TRUE(writeSafetensors(path, {{"embed.weight", &weight}, {"head.weight", &alias}, {"flat", &flat}}).ok());
  auto file = Safetensors::open(path);
  ASSERT_TRUE(file.ok()) << file.status().str();
  EXPECT_EQ(file->entries().size(), 2u);
  EXPECT_EQ(file->aliases().at("head.weight"), "embed.weight");
  EXPECT_EQ(file->find("head.weight"), file->find("embed.weight"));
  EXPECT_EQ(file->find("nobody"), nullptr);
}

TEST(Safetensors, RefusesWhatIsNotWellFormed) {
  auto one = [](const std::string &fields) { return R"({"a":{)" + fields + "}}"; };
  const std::string good = R"("dtype":"F32","shape":[1],"data_offsets":[0,4])", four(4, '\0');
  EXPECT_EQ(problemOf(withHeader(one(good), four)), "accepted");
  EXPECT_THAT(problemOf("short"), HasSubstr("truncated: a safetensors file begins with 8 bytes that say how long its header is, this one has 5 bytes"));
  EXPECT_THAT(problemOf(std::string(8, '\xff')), HasSubstr("not a safetensors file: its header would have 18446744073709551615 bytes, at most 100000000 are allowed"));
  EXPECT_THAT(problemOf(withHeader(one(good), four).substr(0, 30)), HasSubstr("truncated: the header has 54 bytes, the file only 22 after the length"));
  EXPECT_THAT(problemOf(withHeader("[1]", "")), HasSubstr("not a safetensors file: the header must begin with '{'"));
  EXPECT_THAT(problemOf(withHeader("", "")), HasSubstr("must begin with '{'"));
  EXPECT_THAT(problemOf(withHeader(R"({"a":)", "")), HasSubstr("the header is not JSON"));
  EXPECT_THAT(problemOf(withHeader(R"({"a":{)" + good + R"(},"a":{)" + good + "}}", four)), HasSubstr("the header names 'a' twice"));
  EXPECT_THAT(problemOf(withHeader(one(R"("dtype":"F32","shape":[1])"), four)), HasSubstr("tensor 'a': needs dtype, shape and data_offsets"));
  EXPECT_THAT(problemOf(withHeader(one(R"("dtype":"Q4","shape":[1],"data_offsets":[0,4])"), four)), HasSubstr("tensor 'a': dtype Q4 is unknown"));
  EXPECT_THAT(problemOf(withHeader(one(R"("dtype":7,"shape":[1],"data_offsets":[0,4])"), four)), HasSubstr("dtype is not a string"));
  EXPECT_THAT(problemOf(withHeader(one(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"), four)), HasSubstr("shape is not a list of sizes"));
  EXPECT_THAT(problemOf(withHeader(one(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4])"), four)), HasSubstr("shape is not a list of sizes"));
  EXPECT_THAT(problemOf(withHeader(one(R"("dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4])"), four)), HasSubstr("does not fill its 4 bytes"));
  EXPECT_THAT(problemOf(withHeader(one(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"), four)), HasSubstr("data_offsets must be [begin, end]"));
  EXPECT_THAT(problemOf(withHeader(one(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), four)), HasSubstr("tensor 'a': f32[2] does not fill its 4 bytes"));
  EXPECT_THAT(problemOf(withHeader(one(good), "abc")), HasSubstr("truncated: tensor 'a' ends at byte 4 of the data, the file has 3"));
  EXPECT_THAT(problemOf(withHeader(one(good), "abcde")), HasSubstr("1 bytes after the last tensor belong to none"));
  EXPECT_THAT(problemOf(withHeader(R"({"a":{)" + good + R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})", "abcdef")), HasSubstr("tensors 'a' and 'b' overlap"));
  EXPECT_THAT(problemOf(withHeader(R"({"a":{)" + good + R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":[6,10]}})", "0123456789")), HasSubstr("a hole of 2 bytes before tensor 'b'"));
  EXPECT_THAT(problemOf(withHeader(R"({"__metadata__":{"x":1}})", "")), HasSubstr("__metadata__: 'x' is not a string"));
}

TEST(Safetensors, EveryTruncationIsFound) {
  HostTensor a = HostTensor::of<float>({3}, {1, 2, 3});
  std::string path = scratch("whole.safetensors");
  ASSERT_TRUE(writeSafetensors(path, {{"a", &a}}).ok());
  std::string bytes = *readFile(path);
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_NE(problemOf(bytes.substr(0, length)), "accepted") << "cut after " << length << " bytes";
}

TEST(Safetensors, WritingIsAllOrNothing) {
  HostTensor a = HostTensor::of<float>({1}, {1});
  fs::path folder = scratch("atomic");
  fs::remove_all(folder);
  fs::create_directory(folder);
  std::string path = (folder / "w.safetensors").string();
  ASSERT_TRUE(writeSafetensors(path, {{"a", &a}}).ok());
  std::string before = *readFile(path);
  // Refused before anything is written.
  EXPECT_THAT(writeSafetensors(path, {{"a", &a}, {"a", &a}}).message(), HasSubstr("two tensors are called 'a'"));
  EXPECT_THAT(writeSafetensors(path, {{"a", &a}}, {{"a", "b"}}).message(), HasSubstr("may not have the name of a tensor"));
  EXPECT_THAT(writeSafetensors(path, {{"\xff", &a}}).message(), HasSubstr("not UTF-8"));
  EXPECT_EQ(*readFile(path), before);
  Status missing = writeSafetensors((folder / "nowhere" / "w").string(), {{"a", &a}});
  EXPECT_EQ(missing.code(), Code::FileSystem);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1) << "no temporary file is left";
}

} // namespace
