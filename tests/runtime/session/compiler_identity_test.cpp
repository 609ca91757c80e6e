// What tells one compiler from another without opening it.

#include "runtime/session/compiler_identity.h"

#include "tests/this_build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sched.h>

using namespace gradus::runtime;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

constexpr const char *kStub = GRADUS_BINARY_DIR "/tests/bin/stub_compiler.so";

struct CompilerIdentity : testing::Test {
  void SetUp() override {
    setenv("GRADUS_COMPILER_LIBRARY", kStub, 1);
    unsetenv("ONEDNN_MAX_CPU_ISA");
    fs::create_directories(folder);
  }
  void TearDown() override {
    for (const char *name : {"GRADUS_COMPILER_LIBRARY", "ONEDNN_MAX_CPU_ISA",
                             "GRADUS_CUDA_TOOLKIT"})
      unsetenv(name);
    fs::remove_all(folder);
  }

  std::string identity() {
    auto text = compilerIdentity();
    EXPECT_TRUE(text.ok()) << text.status().message();
    return text.ok() ? *text : "";
  }
  std::string write(const char *name, const std::string &bytes) {
    std::string path = folder / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  static std::string read(const char *path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder = fs::path(testing::TempDir()) / "compiler_identity";
};

} // namespace

TEST_F(CompilerIdentity, IsTheSameForTheSame) {
  EXPECT_EQ(identity(), identity());
  EXPECT_THAT(identity(), HasSubstr("compiler: " + buildOf(kStub) + "\n"));
}

TEST_F(CompilerIdentity, BelongsToTheContentAndNotToTheFile) {
  std::string stub = read(kStub), before = identity();
  setenv("GRADUS_COMPILER_LIBRARY", write("copy.so", stub).c_str(), 1);
  EXPECT_EQ(identity(), before);
}

TEST_F(CompilerIdentity, IsAnotherOfAnotherBuild) {
  std::string before = identity();
  setenv("GRADUS_COMPILER_LIBRARY", GRADUS_BINARY_DIR "/bin/gradus", 1);
  EXPECT_NE(identity(), before);
}

TEST_F(CompilerIdentity, IsThatOfSizeAndTimeWhereTheLinkerWroteNone) {
  std::string file = write("plain", "a text"), before = buildOf(file);
  EXPECT_THAT(before, HasSubstr("6 bytes"));
  fs::last_write_time(file, fs::file_time_type());
  EXPECT_NE(buildOf(file), before);
  EXPECT_EQ(buildOf(folder / "nothing"), "none");
}

TEST_F(CompilerIdentity, OfAFileThatEndsTooEarlyIsItsSize) {
  std::string stub = read(kStub), whole = buildOf(kStub);
  ASSERT_THAT(whole, testing::Not(HasSubstr("bytes")));
  for (size_t size : {0, 3, 16, 63, 64, 65, 100, 200, 400, 500})
    EXPECT_THAT(buildOf(write("part", stub.substr(0, size))),
                HasSubstr(std::to_string(size) + " bytes"));
}

/// Where a program header says that its notes are: anywhere.
TEST_F(CompilerIdentity, OfAForgedFileReadsNothingOutsideOfIt) {
  std::string stub = read(kStub);
  for (size_t at = 0; at < std::min<size_t>(stub.size(), 1024); ++at) {
    std::string forged = stub;
    forged[at] = static_cast<char>(~forged[at]);
    EXPECT_NE(buildOf(write("forged", forged)), "none");
  }
}

TEST_F(CompilerIdentity, KnowsWhatTheEnvironmentTellsOneDnn) {
  std::string before = identity();
  setenv("ONEDNN_MAX_CPU_ISA", "SSE41", 1);
  EXPECT_NE(identity(), before);
}

TEST_F(CompilerIdentity, KnowsTheToolkit) {
  setenv("GRADUS_CUDA_TOOLKIT", folder.c_str(), 1);
  std::string before = identity();
  EXPECT_THAT(before, HasSubstr("CUDA toolkit: none, none\n"));
  fs::create_directories(folder / "bin");
  write("bin/ptxas", "assembles");
  EXPECT_NE(identity(), before);
}

TEST_F(CompilerIdentity, KnowsTheCores) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  if (CPU_COUNT(&all) < 2)
    GTEST_SKIP() << "there is one core alone";
  std::string before = identity();
  CPU_ZERO(&one);
  for (int core = 0; !CPU_COUNT(&one); ++core)
    if (CPU_ISSET(core, &all))
      CPU_SET(core, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_NE(identity(), before);
  ASSERT_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
}

TEST_F(CompilerIdentity, FailsWhereThereIsNoCompiler) {
  setenv("GRADUS_COMPILER_LIBRARY", "/nowhere/libgradus_compiler.so", 1);
  auto text = compilerIdentity();
  ASSERT_FALSE(text.ok());
  EXPECT_THAT(std::string(text.status().message()),
              HasSubstr("/nowhere/libgradus_compiler.so"));
}
