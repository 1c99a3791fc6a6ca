#include "TestModel.h"

#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/ZipFile.h"

#include <cstdlib>

using namespace graphc;
using namespace graphc::test;
using testing::HasSubstr;

namespace {

std::string temporary(const std::string &name) { return testing::TempDir() + "graphc-" + name; }

/// Runs the model once with two rows of 1.5 (so that packing has happened) and writes it.
void writeModel(const std::string &path, const std::string &kernels = TEST_KERNELS, cpu::Level level = cpu::Level::V3) {
  TestModel model;
  auto executable = model.load();
  ASSERT_TRUE(executable.ok()) << executable.status().str();
  HostTensor x = ones(2);
  std::vector<HostTensor> outputs(1);
  ASSERT_OK((*executable)->run({&x, 1}, outputs));
  ASSERT_OK(writeArtifact(path, **executable, {{level, readFile(kernels)}}, level));
}

float firstOf(const Executable &executable, int64_t rows = 2) {
  HostTensor x = ones(rows);
  std::vector<HostTensor> outputs(1);
  Status status = executable.run({&x, 1}, outputs);
  EXPECT_TRUE(status.ok()) << status.str();
  return outputs[0].values<float>()[0];
}

class ArtifactFile : public testing::Test {
protected:
  void SetUp() override {
    if (!cpu::hostLevel())
      GTEST_SKIP() << "the machine is below CPU level v3";
  }
};

TEST_F(ArtifactFile, RunsFromAPathAndFromMemory) {
  std::string path = temporary("model.gcx");
  writeModel(path);
  auto fromPath = loadArtifact(path, {});
  ASSERT_TRUE(fromPath.ok()) << fromPath.status().str();
  EXPECT_EQ(firstOf(**fromPath), 49.0f);
  EXPECT_EQ(firstOf(**fromPath, 7), 49.0f);
  EXPECT_EQ((*fromPath)->statistics().preparedBytes, 0) << "prepared constants are weights of the artifact";
  EXPECT_TRUE((*fromPath)->plan().prepare.empty());
  auto bytes = readFile(path);
  auto fromMemory = loadArtifact(bytes, nullptr, {});
  ASSERT_TRUE(fromMemory.ok()) << fromMemory.status().str();
  EXPECT_EQ(firstOf(**fromMemory), 49.0f);
}

TEST_F(ArtifactFile, WeightsAreAlignedAndPackedOnesAreUsed) {
  std::string path = temporary("packed.gcx");
  writeModel(path);
  auto bytes = readFile(path);
  auto entries = readZip(bytes);
  ASSERT_TRUE(entries.ok());
  for (const ZipEntry &entry : *entries)
    EXPECT_EQ(entry.offset % 64, 0u) << entry.name;
  auto executable = loadArtifact(path, {});
  ASSERT_TRUE(executable.ok());
  firstOf(**executable);
  EXPECT_EQ((*executable)->statistics().packedBytes, 0) << "nothing had to be packed here";
}

TEST_F(ArtifactFile, LeavesOutWhatOnlyPreparingRead) {
  std::string path = temporary("lean.gcx");
  writeModel(path);
  auto summary = summarizeArtifact(readFile(path));
  ASSERT_TRUE(summary.ok()) << summary.status().str();
  for (const auto &[name, bytes] : summary->sections)
    if (name == "weights.bin")
      EXPECT_EQ(bytes, 32 * 16 * 4 + 64 * 16 * 4) << "the tripled weights and the ones";
}

TEST_F(ArtifactFile, UnzipListsItAndFindsItIntact) {
  std::string path = temporary("list.gcx");
  writeModel(path);
  if (std::system("command -v python3 > /dev/null") != 0)
    GTEST_SKIP() << "no python3 to read the zip with";
  EXPECT_EQ(std::system(("python3 -c \"import zipfile, sys; z = zipfile.ZipFile('" + path +
                         "'); sys.exit(z.testzip() is not None or 'plan.txt' not in z.namelist())\"").c_str()),
            0);
}

TEST_F(ArtifactFile, TwoArtifactsKeepTheirOwnKernels) {
  std::string one = temporary("one.gcx"), two = temporary("two.gcx");
  writeModel(one, TEST_KERNELS);
  writeModel(two, TEST_KERNELS2);
  auto first = loadArtifact(one, {});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(firstOf(**first), 49.0f);
  auto second = loadArtifact(two, {});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(firstOf(**second), 4900.0f);
  EXPECT_EQ(firstOf(**first), 49.0f);
  first->reset();
  auto third = loadArtifact(one, {});
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(firstOf(**third), 49.0f);
  EXPECT_EQ(firstOf(**second), 4900.0f);
}

TEST_F(ArtifactFile, AByteFlippedInAnySectionIsNamedBeforeAnythingRuns) {
  std::string path = temporary("flip.gcx");
  writeModel(path);
  auto bytes = readFile(path);
  auto entries = readZip(bytes);
  ASSERT_TRUE(entries.ok());
  for (const ZipEntry &entry : *entries)
    for (uint64_t at : {entry.offset, entry.offset + entry.bytes / 2, entry.offset + entry.bytes - 1}) {
      auto damaged = bytes;
      damaged[at] ^= std::byte{1};
      auto result = loadArtifact(damaged, nullptr, {});
      ASSERT_FALSE(result.ok()) << entry.name << " at " << at;
      EXPECT_EQ(result.status().code(), Code::ArtifactCorrupt);
      EXPECT_THAT(result.status().message(), HasSubstr("'" + entry.name + "'"));
    }
}

TEST_F(ArtifactFile, TruncationIsFoundAtEveryLength) {
  std::string path = temporary("cut.gcx");
  writeModel(path);
  auto bytes = readFile(path);
  for (size_t length = 0; length < bytes.size(); length += 997) {
    auto result = loadArtifact({bytes.data(), length}, nullptr, {});
    ASSERT_FALSE(result.ok()) << length;
    EXPECT_EQ(result.status().code(), Code::ArtifactTruncated) << result.status().str();
  }
  EXPECT_EQ(loadArtifact("/nowhere.gcx", {}).status().code(), Code::ArtifactUnreadable);
}

TEST_F(ArtifactFile, ADamagedDirectoryNeverCrashes) {
  std::string path = temporary("directory.gcx");
  writeModel(path);
  auto bytes = readFile(path);
  for (size_t at = bytes.size() - 400; at < bytes.size(); ++at)
    for (int bit : {0, 3, 7}) {
      auto damaged = bytes;
      damaged[at] ^= static_cast<std::byte>(1 << bit);
      (void)loadArtifact(damaged, nullptr, {});
    }
}

TEST_F(ArtifactFile, LevelsThisMachineLacksAreAnError) {
  std::string path = temporary("level.gcx");
  writeModel(path, TEST_KERNELS, cpu::Level::V4Amx);
  ArtifactOptions options;
  if (*cpu::hostLevel() == cpu::Level::V4Amx) // has every level: one is asked for that the file lacks
    options.level = cpu::Level::V3;
  auto result = loadArtifact(path, options);
  EXPECT_EQ(result.status().code(), Code::ArtifactTarget);
  EXPECT_THAT(result.status().message(), HasSubstr("has kernels for v4-amx, this machine is v"));
}

TEST_F(ArtifactFile, PackingOfOtherMachinesIsDoneAgainWithARemark) {
  std::string path = temporary("foreign.gcx");
  writeModel(path);
  auto summary = summarizeArtifact(readFile(path));
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->levels, std::vector<std::string>{"v3"});
  bool hasPacked = false;
  for (auto &[name, size] : summary->sections)
    hasPacked |= name == "packed/v3.bin";
  if (!hasPacked)
    GTEST_SKIP() << "the library packs nothing on this machine";
  // The version is part of the key: change it in the manifest, and give the manifest its checksum back.
  auto bytes = readFile(path);
  auto entries = *readZip(bytes);
  for (const ZipEntry &entry : entries) {
    if (entry.name != "manifest.json")
      continue;
    std::string manifest(reinterpret_cast<const char *>(bytes.data() + entry.offset), entry.bytes);
    size_t at;
    while ((at = manifest.find("oneDNN 2.")) != std::string::npos)
      manifest[at + 7] = '1';
    std::memcpy(bytes.data() + entry.offset, manifest.data(), manifest.size());
    uint32_t crc = crc32(std::span(bytes).subspan(entry.offset, entry.bytes));
    for (size_t i = 0; i + 4 <= bytes.size(); ++i)
      if (std::memcmp(bytes.data() + i, &entry.crc, 4) == 0)
        std::memcpy(bytes.data() + i, &crc, 4);
  }
  std::vector<std::string> lines;
  ArtifactOptions options;
  options.log = [&](LogLevel, const std::string &line) { lines.push_back(line); };
  auto result = loadArtifact(bytes, nullptr, options);
  ASSERT_TRUE(result.ok()) << result.status().str();
  EXPECT_EQ(firstOf(**result), 49.0f);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("packed for another machine"));
  EXPECT_GT((*result)->statistics().packedBytes, 0);
}

TEST(Zip, ChecksumIsTheStandardOne) {
  std::string text = "123456789";
  EXPECT_EQ(crc32(std::as_bytes(std::span(text.data(), text.size()))), 0xcbf43926u);
}

TEST(Zip, ChecksumIsTheSameInAnyPieces) {
  // Long stretches go another way than short ones: against a checksum bit by bit.
  std::vector<std::byte> bytes(2000);
  uint32_t state = 1;
  for (std::byte &byte : bytes)
    byte = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
  auto bitByBit = [](std::span<const std::byte> data) {
    uint32_t crc = ~0u;
    for (std::byte byte : data) {
      crc ^= static_cast<uint32_t>(byte);
      for (int bit = 0; bit < 8; ++bit)
        crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0u);
    }
    return ~crc;
  };
  for (size_t begin : {0, 1, 7})
    for (size_t length = 0; begin + length <= bytes.size(); length += length < 300 ? 1 : 97) {
      auto part = std::span(bytes).subspan(begin, length);
      ASSERT_EQ(crc32(part), bitByBit(part)) << begin << " " << length;
      ASSERT_EQ(crc32(part.subspan(length / 3), crc32(part.first(length / 3))), crc32(part));
    }
}

} // namespace
