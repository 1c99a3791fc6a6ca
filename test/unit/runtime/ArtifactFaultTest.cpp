// Every fault an artifact can have is one named error, found before any of its kernels could run.
//
// Damage that the checksums see is tried at every byte; damage that they cannot see (someone wrote the file so) is planted with
// fresh checksums.
#include "TestModel.h"

#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/ZipFile.h"

#include <nlohmann/json.hpp>

#include <map>
#include <random>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace graphc;
using namespace graphc::test;
using testing::AnyOf;
using testing::HasSubstr;
using json = nlohmann::json;

namespace {

std::string temporary(const std::string &name) { return testing::TempDir() + "graphc-fault-" + name; }

/// y[8] = (x + x) · 3 with a temporary of fixed offset: a static plan, as most models have.
struct StaticModel : PlanBuilder {
  StaticModel() {
    plan->producer = "test 1";
    int n = constant(8);
    int x = input("x", DType::F32, {n}), y = output("y", DType::F32, {n});
    int sum = temp(DType::F32, {n}, "sum");
    plan->buffers[sum]->arena_offset = 0;
    plan->arena_bytes = 64;
    dispatch("sum", kernel("add", addKernel), {x, x}, sum, n);
    dispatch("scale", kernel("scale", scaleKernel), {sum}, y, n, {constant(3)});
  }
};

class ArtifactFault : public testing::Test {
protected:
  void SetUp() override {
    if (!cpu::hostLevel())
      GTEST_SKIP() << "the machine is below CPU level v3";
  }

  template <typename Builder>
  static std::vector<std::byte> written(const std::string &name) {
    Builder model;
    auto executable = model.load();
    EXPECT_TRUE(executable.ok()) << executable.status().str();
    if constexpr (std::is_same_v<Builder, TestModel>) {
      // One call, so that packed weights are among the sections.
      HostTensor x = ones(2);
      std::vector<HostTensor> outputs(1);
      EXPECT_TRUE((*executable)->run({&x, 1}, outputs).ok());
    }
    Status status = writeArtifact(temporary(name), **executable, {{cpu::Level::V3, readFile(TEST_KERNELS)}}, cpu::Level::V3);
    EXPECT_TRUE(status.ok()) << status.str();
    return readFile(temporary(name));
  }

  /// The sections of `bytes`, changed by `change`, in an artifact whose checksums are right again.
  static std::vector<std::byte> rewritten(const std::vector<std::byte> &bytes,
                                          const std::function<void(std::map<std::string, std::string> &sections, json &manifest)> &change) {
    std::map<std::string, std::string> sections;
    std::vector<std::string> order;
    auto entries = readZip(bytes);
    EXPECT_TRUE(entries.ok());
    for (const ZipEntry &entry : *entries) {
      sections[entry.name].assign(reinterpret_cast<const char *>(bytes.data() + entry.offset), entry.bytes);
      order.push_back(entry.name);
    }
    json manifest = json::parse(sections["manifest.json"]);
    change(sections, manifest);
    for (json &section : manifest["sections"]) {
      const std::string &data = sections[section["name"]];
      char hash[20];
      std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(XXH3_64bits(data.data(), data.size())));
      section["bytes"] = data.size();
      section["xxh3"] = hash;
    }
    sections["manifest.json"] = manifest.dump();
    std::string path = temporary("rewritten.gcx");
    auto zip = ZipWriter::create(path);
    EXPECT_TRUE(zip.ok());
    for (const std::string &name : order)
      if (sections.count(name))
        EXPECT_TRUE((*zip).add(name, std::as_bytes(std::span(sections[name].data(), sections[name].size()))).ok());
    EXPECT_TRUE((*zip).finish().ok());
    return readFile(path);
  }

  static std::vector<std::byte> withPlan(const std::vector<std::byte> &bytes, const std::function<void(gp::PlanT &)> &change) {
    return rewritten(bytes, [&](auto &sections, json &) {
      std::string &section = sections["plan.bin"];
      auto plan = *gp::fromBytes({reinterpret_cast<const uint8_t *>(section.data()), section.size()});
      change(*plan);
      auto changed = gp::toBytes(*plan);
      section.assign(changed.begin(), changed.end());
    });
  }

  static void fails(const std::vector<std::byte> &bytes, Code code, const std::string &words) {
    auto result = loadArtifact(bytes, nullptr, {});
    ASSERT_FALSE(result.ok()) << words;
    EXPECT_EQ(result.status().code(), code) << result.status().str();
    EXPECT_THAT(result.status().message(), HasSubstr(words));
  }
};

TEST_F(ArtifactFault, EveryByteOfEverySectionIsGuarded) {
  auto bytes = written<TestModel>("flip.gcx");
  auto entries = readZip(bytes);
  ASSERT_TRUE(entries.ok());
  ASSERT_GE(entries->size(), 5u);
  std::mt19937 random(1);
  int64_t tried = 0;
  for (const ZipEntry &entry : *entries)
    for (uint64_t at = entry.offset; at < entry.offset + entry.bytes; ++at, ++tried) {
      auto bit = static_cast<std::byte>(1 << random() % 8);
      bytes[at] ^= bit;
      auto result = loadArtifact(bytes, nullptr, {});
      bytes[at] ^= bit;
      ASSERT_FALSE(result.ok()) << entry.name << " at " << at;
      ASSERT_EQ(result.status().code(), Code::ArtifactCorrupt) << result.status().str();
      ASSERT_THAT(result.status().message(), HasSubstr("'" + entry.name + "'"));
    }
  EXPECT_GT(tried, 10000);
  EXPECT_TRUE(loadArtifact(bytes, nullptr, {}).ok());
}

TEST_F(ArtifactFault, BytesBetweenTheSectionsNeverChangeAnAnswer) {
  auto bytes = written<TestModel>("between.gcx");
  auto entries = readZip(bytes);
  ASSERT_TRUE(entries.ok());
  std::vector<bool> inSection(bytes.size());
  for (const ZipEntry &entry : *entries)
    std::fill_n(inSection.begin() + static_cast<int64_t>(entry.offset), entry.bytes, true);
  for (size_t at = 0; at < bytes.size(); ++at)
    for (int bit = 0; !inSection[at] && bit < 8; ++bit) {
      bytes[at] ^= static_cast<std::byte>(1 << bit);
      auto result = loadArtifact(bytes, nullptr, {});
      if (result.ok()) { // a date, padding
        HostTensor x = ones(2);
        std::vector<HostTensor> outputs(1);
        ASSERT_TRUE((*result)->run({&x, 1}, outputs).ok()) << at;
        ASSERT_EQ(outputs[0].values<float>()[0], 49.0f) << at;
      } else {
        ASSERT_THAT(result.status().code(), AnyOf(Code::ArtifactCorrupt, Code::ArtifactTruncated)) << result.status().str();
      }
      bytes[at] ^= static_cast<std::byte>(1 << bit);
    }
}

TEST_F(ArtifactFault, EveryLengthIsTruncated) {
  auto bytes = written<TestModel>("cut.gcx");
  for (size_t length = 0; length < bytes.size(); ++length) {
    auto result = loadArtifact(std::span(bytes).first(length), nullptr, {});
    ASSERT_FALSE(result.ok()) << length;
    ASSERT_EQ(result.status().code(), Code::ArtifactTruncated) << length << ": " << result.status().str();
  }
}

TEST_F(ArtifactFault, SectionsMissingOrOfAnotherSize) {
  auto bytes = written<TestModel>("sections.gcx");
  for (std::string name : {"plan.bin", "weights.bin", "kernels/v3.so"}) {
    // Gone with its entry in the manifest, then without.
    fails(rewritten(bytes,
                    [&](auto &sections, json &manifest) {
                      sections.erase(name);
                      for (size_t i = 0; i < manifest["sections"].size(); ++i)
                        if (manifest["sections"][i]["name"] == name)
                          manifest["sections"].erase(i);
                    }),
          Code::ArtifactCorrupt, "has no section '" + name + "'");
  }
  fails(rewritten(bytes, [](auto &sections, json &) { sections["weights.bin"].resize(100); }), Code::WeightFile, "weight file 'weights.bin' has 100 bytes");
  fails(rewritten(bytes, [](auto &sections, json &) { sections["kernels/v3.so"].resize(100); }), Code::ArtifactCorrupt, "cannot be loaded");
  fails(rewritten(bytes, [](auto &, json &manifest) { manifest.erase("levels"); }), Code::ArtifactCorrupt, "'manifest.json' is damaged");
  fails(rewritten(bytes, [](auto &, json &manifest) { manifest["packed"]["entries"][0]["offset"] = uint64_t{1} << 40; }), Code::ArtifactCorrupt,
        "outside its section");
}

TEST_F(ArtifactFault, VersionsThisRuntimeDoesNotRead) {
  auto bytes = written<StaticModel>("version.gcx");
  for (int version : {0, 2, 1000})
    fails(rewritten(bytes, [&](auto &, json &manifest) { manifest["format"] = version; }), Code::ArtifactVersion, text("has format ", version));
  fails(withPlan(bytes, [](gp::PlanT &plan) { plan.version = 99; }), Code::ArtifactVersion, "version 99");
}

TEST_F(ArtifactFault, LevelsThatAreMissing) {
  auto bytes = written<StaticModel>("level.gcx");
  fails(rewritten(bytes,
                  [](auto &, json &manifest) {
                    manifest["levels"] = json::array({"v9"}); // of a later graphc
                  }),
        Code::ArtifactTarget, "has kernels for v9, this machine is v");
  fails(rewritten(bytes, [](auto &, json &manifest) { manifest["levels"] = json::array(); }), Code::ArtifactTarget, "has kernels for no CPU level");
  ArtifactOptions options;
  options.level = cpu::Level::V4Amx;
  auto result = loadArtifact(bytes, nullptr, options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::ArtifactTarget);
  EXPECT_THAT(result.status().message(), HasSubstr("v4-amx was asked for"));
  fails(withPlan(bytes, [](gp::PlanT &plan) { plan.kernels[0]->symbol = "no_such_kernel"; }), Code::KernelMissing, "lacks the kernel 'no_such_kernel'");
}

TEST_F(ArtifactFault, PlansThatLeaveTheirMemory) {
  auto bytes = written<StaticModel>("plan.gcx");
  auto temp = [](gp::PlanT &plan) -> gp::BufferT & {
    for (auto &buffer : plan.buffers)
      if (buffer->kind == gp::BufferKind::Temp)
        return *buffer;
    throw std::runtime_error("no temporary");
  };
  // Outside the arena: behind it, across its end, before it, by overflow.
  for (int64_t offset : {int64_t{64}, int64_t{40}, int64_t{1} << 40, INT64_MAX - 4})
    fails(withPlan(bytes, [&](gp::PlanT &plan) { temp(plan).arena_offset = offset; }), Code::PlanInvalid, "outside the arena of 64");
  fails(withPlan(bytes, [&](gp::PlanT &plan) { plan.arena_bytes = 16; }), Code::PlanInvalid, "outside the arena of 16");
  // Commands that name what is not there.
  fails(withPlan(bytes, [](gp::PlanT &plan) { plan.main[0]->action.AsDispatch()->buffers[1] = 99; }), Code::PlanInvalid, "buffer index is out of range");
  fails(withPlan(bytes, [](gp::PlanT &plan) { plan.main[0]->action.AsDispatch()->buffers[0] = -7; }), Code::PlanInvalid, "out of range");
  fails(withPlan(bytes, [](gp::PlanT &plan) { plan.main[0]->action.AsDispatch()->kernel = 2; }), Code::PlanInvalid, "calls kernel 2 of 2");
  fails(withPlan(bytes, [](gp::PlanT &plan) { plan.main[1]->action.AsDispatch()->scalars[0] = 77; }), Code::PlanInvalid, "scalar");
  fails(withPlan(bytes, [](gp::PlanT &plan) { plan.buffers[0]->dims[0] = 55; }), Code::PlanInvalid, "");
  // A view that starts outside what it looks into, or needs more than that has.
  auto withAlias = [&](int64_t offset, int64_t elements) {
    return withPlan(bytes, [&](gp::PlanT &plan) {
      int sum = -1;
      for (size_t i = 0; i < plan.buffers.size(); ++i)
        if (plan.buffers[i]->kind == gp::BufferKind::Input)
          sum = static_cast<int>(i);
      plan.exprs.push_back(gp::Expr(gp::ExprOp::Const, 0, 0, offset));
      plan.exprs.push_back(gp::Expr(gp::ExprOp::Const, 0, 0, elements));
      auto view = std::make_unique<gp::BufferT>();
      view->kind = gp::BufferKind::Alias;
      view->name = "view";
      view->alias_of = sum;
      view->alias_offset = static_cast<int>(plan.exprs.size()) - 2;
      view->dims = {static_cast<int>(plan.exprs.size()) - 1};
      plan.buffers.push_back(std::move(view));
      int index = static_cast<int>(plan.buffers.size()) - 1;
      plan.main[0]->action.AsDispatch()->buffers[0] = index;
      plan.main[0]->reads = {index};
    });
  };
  for (auto [offset, elements] : {std::pair<int64_t, int64_t>{-4, 8}, {4, 8}, {0, 9}, {INT64_MAX, 8}}) {
    fails(withAlias(offset, elements), Code::PlanInvalid, "'view'");
  }
}

TEST_F(ArtifactFault, AnyPlanIsRefusedOrLoadsAndNothingElse) {
  // Bytes of the plan at random, checksums right: what a hostile file would do. Loading must answer, whatever it says.
  for (bool isStatic : {true, false}) {
    auto bytes = isStatic ? written<StaticModel>("random.gcx") : written<TestModel>("random.gcx");
    std::mt19937 random(3);
    int refused = 0;
    constexpr int kRounds = 400;
    for (int round = 0; round < kRounds; ++round) {
      auto damaged = rewritten(bytes, [&](auto &sections, json &) {
        std::string &plan = sections["plan.bin"];
        for (int flips = 1 + static_cast<int>(random() % 3); flips > 0; --flips)
          plan[8 + random() % (plan.size() - 8)] ^= static_cast<char>(1 << random() % 8);
      });
      auto result = loadArtifact(damaged, nullptr, {});
      refused += !result.ok();
      if (!result.ok()) {
        EXPECT_THAT(result.status().code(), AnyOf(Code::PlanInvalid, Code::ArtifactVersion, Code::ArtifactCorrupt, Code::KernelMissing, Code::WeightFile,
                                                  Code::OutOfMemory, Code::UnsupportedByLibrary, Code::SymbolRange, Code::LibraryFailed))
            << result.status().str();
      }
    }
    EXPECT_GT(refused, kRounds / 10);
  }
}

TEST_F(ArtifactFault, WhatWasLeftOutIsMissedByName) {
  TestModel model;
  auto executable = model.load();
  ASSERT_TRUE(executable.ok());
  // Sizes are symbolic, so every constant may be read: nothing is left out although it may be.
  ArtifactWriteOptions lean;
  lean.leaveOutPacked = true;
  ASSERT_OK(writeArtifact(temporary("lean.gcx"), **executable, {{cpu::Level::V3, readFile(TEST_KERNELS)}}, cpu::Level::V3, lean));
  auto bytes = readFile(temporary("lean.gcx"));
  EXPECT_TRUE(loadArtifact(bytes, nullptr, {}).ok());
  // Absent all the same: an error at load, not a call that reads nothing.
  auto absent = [&](int buffer) { return rewritten(bytes, [&](auto &, json &manifest) { manifest["absent"] = json::array({buffer}); }); };
  for (int buffer : {-1, 0, 1000})
    fails(absent(buffer), Code::PlanInvalid, "is said to be absent");
  auto plan = *gp::fromBytes(gp::toBytes((*executable)->plan()));
  int tripled = -1;
  for (size_t i = 0; i < plan->buffers.size(); ++i)
    if (plan->buffers[i]->name == "tripled")
      tripled = static_cast<int>(i);
  auto marked = rewritten(withPlan(bytes,
                                   [&](gp::PlanT &changed) {
                                     changed.buffers[tripled]->kind = gp::BufferKind::Prepared;
                                     changed.buffers[tripled]->weight.reset();
                                   }),
                          [&](auto &, json &manifest) { manifest["absent"] = json::array({tripled}); });
  fails(marked, Code::ArtifactTarget, "compile the model again");
  // Weights in a file outside: only for whoever brings that file.
  fails(withPlan(bytes,
                 [](gp::PlanT &changed) {
                   auto file = std::make_unique<gp::WeightFileT>();
                   file->path = "/etc/passwd";
                   changed.files.push_back(std::move(file));
                 }),
        Code::WeightFile, "leaves its weights in '/etc/passwd'");
}

} // namespace
