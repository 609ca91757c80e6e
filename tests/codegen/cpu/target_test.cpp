// Names of CPU targets and the features that each asks of a machine.

#include "codegen/cpu/target.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

using namespace gradus;

static std::vector<std::string> featuresOf(llvm::StringRef name) {
  return requiredFeatures(llvm::cantFail(cpuTarget(name)));
}

TEST(CpuTarget, HigherLevelsAskForMore) {
  size_t before = 0;
  for (const char *name :
       {"cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:amx"}) {
    size_t count = featuresOf(name).size();
    EXPECT_GT(count, before) << name;
    before = count;
  }
  EXPECT_TRUE(llvm::is_contained(featuresOf("cpu:x86-64-v3"), "fma"));
  EXPECT_FALSE(llvm::is_contained(featuresOf("cpu:x86-64-v4"), "avx512bf16"));
}

TEST(CpuTarget, ThisMachineIsTunedFor) {
  CpuTarget here = llvm::cantFail(cpuTarget("cpu"));
  EXPECT_FALSE(here.tune.empty());
  EXPECT_FALSE(requiredFeatures(here).empty());
}

TEST(CpuTarget, ListsWhatExistsWhenAskedForSomethingElse) {
  for (const char *name : {"cpu:x86-64-v9", "gpu", "", "cpu:v4+bf16"}) {
    std::string message = llvm::toString(cpuTarget(name).takeError());
    EXPECT_NE(message.find("cpu:x86-64-v3"), std::string::npos) << message;
  }
}
