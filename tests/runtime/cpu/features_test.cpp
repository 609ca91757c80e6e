#include "runtime/cpu/features.h"

#include "test_artifact.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

using namespace gradus::runtime;
using namespace gradus::test;

TEST(Features, AreSortedAndHaveTheBasics) {
  const auto &features = cpuFeatures();
  EXPECT_TRUE(std::is_sorted(features.begin(), features.end()));
  for (const char *basic : {"sse2", "64bit", "cmov", "x87"})
    EXPECT_TRUE(std::binary_search(features.begin(), features.end(), basic))
        << basic;
}

TEST(Features, AgreeWithTheCompilers) {
  auto has = [](const char *name) {
    return std::binary_search(cpuFeatures().begin(), cpuFeatures().end(), name);
  };
  __builtin_cpu_init();
  EXPECT_EQ(has("avx2"), !!__builtin_cpu_supports("avx2"));
  EXPECT_EQ(has("fma"), !!__builtin_cpu_supports("fma"));
  EXPECT_EQ(has("avx512f"), !!__builtin_cpu_supports("avx512f"));
  EXPECT_EQ(has("avx512vl"), !!__builtin_cpu_supports("avx512vl"));
  EXPECT_EQ(has("avx512bf16"), !!__builtin_cpu_supports("avx512bf16"));
  EXPECT_EQ(has("bmi2"), !!__builtin_cpu_supports("bmi2"));
}

TEST(Features, BelongToAModel) {
  EXPECT_TRUE(std::regex_match(cpuModel(), std::regex("\\S{12} [0-9a-f]{8}")))
      << cpuModel();
  EXPECT_EQ(cpuModel(), cpuModel());
}

TEST(Features, OfAPlanThatThisMachineLacks) {
  TestArtifact made;
  made.plan().features = {"sse2", "avx9000", "amx-quantum"};
  auto artifact = Artifact::fromBytes(made.bytes(), "adder");
  EXPECT_EQ(missingFeatures((*artifact)->header().plans()->Get(0)->features()),
            "avx9000, amx-quantum");
}
