// Compiled kernels in a folder: found again, whole, by all who look; nothing is
// lost where the folder is not as it should be.

#include "codegen/gpu/kernel_cache.h"

#include "llvm/Support/FileSystem.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <thread>

using namespace gradus;
namespace fs = std::filesystem;

namespace {

struct KernelCacheTest : ::testing::Test {
  void SetUp() override {
    llvm::SmallString<64> path;
    ASSERT_FALSE(
        llvm::sys::fs::createUniqueDirectory("gradus-kernel-cache", path));
    folder = path.str().str();
  }
  void TearDown() override { fs::remove_all(folder); }

  static CacheKey keyOf(const std::string &text) {
    return CacheKey().add(text);
  }
  static std::string problemOf(llvm::Error error) {
    return llvm::toString(std::move(error));
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (auto &entry : fs::directory_iterator(folder))
      all.push_back(entry.path());
    return all;
  }
  /// As if it had been used so long ago.
  void age(const CacheKey &key, int hours) {
    fs::last_write_time(folder + "/" + key.hex() + ".kernels",
                        fs::file_time_type::clock::now() -
                            std::chrono::hours(hours));
  }

  std::string folder;
};

} // namespace

TEST_F(KernelCacheTest, FindsWhatWasStored) {
  KernelCache cache(folder + "/made/for/it"), other(folder + "/made/for/it");
  std::string code("\0\1 a cubin", 10);
  EXPECT_EQ(cache.find(keyOf("a")), std::nullopt);
  EXPECT_EQ(problemOf(cache.store(keyOf("a"), code)), "");
  EXPECT_EQ(other.find(keyOf("a")), code);
  EXPECT_EQ(other.find(keyOf("b")), std::nullopt);
}

TEST_F(KernelCacheTest, TellsKeysApartByTheirParts) {
  EXPECT_NE(CacheKey().add("ab").add("c").hex(),
            CacheKey().add("a").add("bc").hex());
  EXPECT_NE(CacheKey().add("a").hex(), CacheKey().add("a").add("").hex());
  EXPECT_EQ(keyOf("a").hex(), keyOf("a").hex());
}

TEST_F(KernelCacheTest, HasNothingWithoutAFolder) {
  KernelCache off;
  EXPECT_EQ(problemOf(off.store(keyOf("a"), "x")), "");
  EXPECT_EQ(off.find(keyOf("a")), std::nullopt);
}

/// Each byte changed, and each length: never something else than was stored.
TEST_F(KernelCacheTest, IgnoresWhatIsDamaged) {
  KernelCache cache(folder);
  ASSERT_EQ(problemOf(cache.store(keyOf("a"), "kernels")), "");
  fs::path path = files().at(0);
  std::string whole;
  {
    std::ifstream file(path, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(file), {});
  }
  auto write = [&](const std::string &text) {
    std::ofstream(path, std::ios::binary) << text;
  };
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string flipped = whole;
    flipped[i] ^= 1;
    write(flipped);
    EXPECT_EQ(cache.find(keyOf("a")), std::nullopt) << "byte " << i;
    write(whole.substr(0, i));
    EXPECT_EQ(cache.find(keyOf("a")), std::nullopt) << "length " << i;
  }
  write(whole + "x");
  EXPECT_EQ(cache.find(keyOf("a")), std::nullopt);
  // What is stored next takes its place.
  EXPECT_EQ(problemOf(cache.store(keyOf("a"), "kernels")), "");
  EXPECT_EQ(cache.find(keyOf("a")), "kernels");
}

/// A file under another key's name is not that key's.
TEST_F(KernelCacheTest, IgnoresWhatBelongsToAnotherKey) {
  KernelCache cache(folder);
  ASSERT_EQ(problemOf(cache.store(keyOf("a"), "kernels")), "");
  fs::copy(files().at(0), folder + "/" + keyOf("b").hex() + ".kernels");
  EXPECT_EQ(cache.find(keyOf("b")), std::nullopt);
}

TEST_F(KernelCacheTest, ForgetsWhatWasNotUsedForLongest) {
  std::string code(1000, 'x');
  KernelCache cache(folder, 3 * 1100);
  for (std::string name : {"a", "b", "c"}) {
    ASSERT_EQ(problemOf(cache.store(keyOf(name), code)), "");
    age(keyOf(name), name == "a" ? 3 : 2);
  }
  EXPECT_TRUE(cache.find(keyOf("a"))); // Used now, no longer the oldest.
  age(keyOf("b"), 3);
  ASSERT_EQ(problemOf(cache.store(keyOf("d"), code)), "");
  EXPECT_TRUE(cache.find(keyOf("a")));
  EXPECT_FALSE(cache.find(keyOf("b")));
  EXPECT_TRUE(cache.find(keyOf("c")));
  EXPECT_TRUE(cache.find(keyOf("d")));
}

/// What a process left that ended while it wrote; others' files stay.
TEST_F(KernelCacheTest, TakesAwayWhatNobodyFinished) {
  std::ofstream(folder + "/old.new") << "half";
  fs::last_write_time(folder + "/old.new",
                      fs::file_time_type::clock::now() - std::chrono::hours(2));
  std::ofstream(folder + "/fresh.new") << "half";
  std::ofstream(folder + "/letter.txt") << std::string(5000, 'x');
  KernelCache cache(folder, 1000);
  ASSERT_EQ(problemOf(cache.store(keyOf("a"), "kernels")), "");
  EXPECT_FALSE(fs::exists(folder + "/old.new"));
  EXPECT_TRUE(fs::exists(folder + "/fresh.new"));
  EXPECT_TRUE(fs::exists(folder + "/letter.txt"));
  EXPECT_TRUE(cache.find(keyOf("a")));
}

TEST_F(KernelCacheTest, SaysWhyItCannotStore) {
  std::ofstream(folder + "/file") << "not a folder";
  std::string problem =
      problemOf(KernelCache(folder + "/file").store(keyOf("a"), "x"));
  EXPECT_EQ(problem.rfind("kernel cache: cannot ", 0), 0u) << problem;
  EXPECT_NE(problem.find(folder + "/file"), std::string::npos) << problem;
  EXPECT_EQ(KernelCache(folder + "/file").find(keyOf("a")), std::nullopt);
}

/// Threads stand for processes: each opens and renames files of its own.
TEST_F(KernelCacheTest, IsSharedByManyAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      KernelCache cache(folder, 20'000);
      for (int i = 0; i < 40; ++i) {
        int n = (i + t) % 10;
        std::string code(1000 + n, char('a' + n));
        if (auto found = cache.find(keyOf(std::to_string(n))))
          wrong += *found != code;
        if (llvm::Error error = cache.store(keyOf(std::to_string(n)), code)) {
          llvm::consumeError(std::move(error));
          ++wrong;
        }
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(files().size(), 10u);
}

TEST(KernelCacheFolder, LiesWhereCachesDo) {
  auto with = [](const char *value) {
    const char *before = std::getenv("XDG_CACHE_HOME");
    std::string kept = before ? before : "";
    value ? setenv("XDG_CACHE_HOME", value, 1) : unsetenv("XDG_CACHE_HOME");
    std::string folder = kernelCacheFolder();
    before ? setenv("XDG_CACHE_HOME", kept.c_str(), 1)
           : unsetenv("XDG_CACHE_HOME");
    return folder;
  };
  EXPECT_EQ(with("/caches"), "/caches/gradus/kernels");
  std::string home = with(nullptr);
  EXPECT_EQ(home.substr(home.size() - 22), "/.cache/gradus/kernels");
  EXPECT_EQ(with("not/absolute"), home); // as the specification says
}
