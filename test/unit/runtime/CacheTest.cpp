#include "runtime/cache/CompileCache.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace graphc;
namespace fs = std::filesystem;

namespace {

class Cache : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "graphc-cache-" + testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder);
  }
  CompileCache open(int64_t limit = 1 << 20) {
    auto cache = CompileCache::open({folder, limit});
    EXPECT_TRUE(cache.ok()) << cache.status().str();
    return *std::move(cache);
  }
  static std::vector<std::byte> bytes(size_t count, int value) { return std::vector<std::byte>(count, static_cast<std::byte>(value)); }
  std::string folder;
};

TEST_F(Cache, KeysDependOnEveryPart) {
  CacheKey a, b, c, d;
  a.add("ab").add("c");
  b.add("a").add("bc");
  c.add("ab").add("c").add(int64_t{1});
  d.add("ab").add("c");
  EXPECT_NE(a.str(), b.str());
  EXPECT_NE(a.str(), c.str());
  EXPECT_EQ(a.str(), d.str());
  EXPECT_EQ(a.str().size(), 32u);
}

TEST_F(Cache, FindsWhatWasStored) {
  auto cache = open();
  EXPECT_FALSE(cache.find("kernel", "k1"));
  ASSERT_TRUE(cache.store("kernel", "k1", bytes(1000, 7)).ok());
  EXPECT_EQ(open().find("kernel", "k1"), bytes(1000, 7));
  EXPECT_FALSE(cache.find("model", "k1"));
  auto list = cache.list();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].kind, "kernel");
  EXPECT_EQ(list[0].key, "k1");
  EXPECT_EQ(list[0].bytes, 1064);
  ASSERT_TRUE(cache.clear().ok());
  EXPECT_TRUE(cache.list().empty());
}

TEST_F(Cache, DamagedEntriesAreMissingAndRemoved) {
  auto cache = open();
  for (int64_t at : {0, 9, 20, 64, 500}) {
    ASSERT_TRUE(cache.store("kernel", "k", bytes(1000, 7)).ok());
    std::string path = folder + "/kernel-k.entry";
    {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(at);
      file.put('\x55');
    }
    EXPECT_FALSE(cache.find("kernel", "k")) << at;
    EXPECT_FALSE(fs::exists(path));
  }
  ASSERT_TRUE(cache.store("kernel", "k", bytes(1000, 7)).ok());
  fs::resize_file(folder + "/kernel-k.entry", 300);
  EXPECT_FALSE(cache.find("kernel", "k"));
  EXPECT_EQ(cache.counters().damaged, 6);
}

TEST_F(Cache, OldEntriesGoWhenTheLimitIsReached) {
  auto cache = open(10 * 1064);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(cache.store("kernel", "k" + std::to_string(i), bytes(1000, i)).ok());
    // Ages must differ by more than the file system's clock.
    auto path = folder + "/kernel-k" + std::to_string(i) + ".entry";
    fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(100 - i));
  }
  EXPECT_TRUE(cache.find("kernel", "k0")); // used now
  ASSERT_TRUE(cache.store("kernel", "new", bytes(1000, 1)).ok());
  EXPECT_LE(cache.totalBytes(), 9 * 1064);
  EXPECT_TRUE(cache.find("kernel", "k0"));
  EXPECT_TRUE(cache.find("kernel", "new"));
  EXPECT_FALSE(cache.find("kernel", "k1"));
  EXPECT_TRUE(cache.find("kernel", "k9"));
}

TEST_F(Cache, ConcurrentProcessesNeverSeeHalfAnEntry) {
  open();
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    pid_t pid = ::fork();
    if (pid == 0) {
      auto cache = CompileCache::open({folder, 1 << 20});
      int wrong = 0;
      for (int round = 0; round < 200; ++round) {
        std::string key = "k" + std::to_string(round % 5);
        auto expected = bytes(20000, round % 5);
        if (auto found = (*cache).find("kernel", key); found && *found != expected)
          ++wrong;
        if (!(*cache).store("kernel", key, expected).ok())
          ++wrong;
      }
      ::_exit(wrong || (*cache).counters().damaged ? 1 : 0);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = 1;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (const auto &entry : fs::directory_iterator(folder))
    EXPECT_EQ(entry.path().extension(), ".entry");
}

TEST_F(Cache, AFullDiskIsOneErrorAndLeavesNothingBehind) {
  auto cache = open();
  pid_t pid = ::fork();
  if (pid == 0) {
    // A file-size limit fails the write as a full disk does.
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    Status status = cache.store("kernel", "big", bytes(100000, 1));
    ::_exit(status.code() == Code::CacheUnusable && status.message().find("100000 bytes") != std::string::npos ? 0 : 1);
  }
  int status = 1;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(Cache, UnusableFoldersAreExplained) {
  std::ofstream(folder) << "a file";
  auto cache = CompileCache::open({folder + "/x", 1000});
  ASSERT_FALSE(cache.ok());
  EXPECT_EQ(cache.status().code(), Code::CacheUnusable);
  fs::remove(folder);
}

} // namespace
