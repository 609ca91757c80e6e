// The list for people says what the table holds.

#include "frontends/onnx/supported_ops.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace gradus;

static SupportedOp find(const std::string &name) {
  std::vector<SupportedOp> all = supportedOps();
  auto found = std::find_if(all.begin(), all.end(),
                            [&](const auto &op) { return op.name == name; });
  EXPECT_NE(found, all.end()) << name;
  return found == all.end() ? SupportedOp() : *found;
}

TEST(SupportedOps, HaveVersionsAndGradients) {
  SupportedOp gelu = find("Gelu");
  EXPECT_EQ(gelu.since, 20);
  EXPECT_EQ(gelu.newest, 28);
  EXPECT_EQ(gelu.gradient, "X");
  EXPECT_EQ(gelu.devices, (std::vector<std::string>{"cpu", "cuda"}));
  EXPECT_EQ(find("Floor").gradient, "");
}

TEST(SupportedOps, SayWhichAttributesChangeNothing) {
  EXPECT_EQ(find("RandomUniform").ignored, "`seed` (the recipe's is taken)");
  EXPECT_EQ(find("Dropout").ignored,
            "`is_test` (training drops by the ratio in either form); `seed` "
            "(the recipe's is taken)");
  EXPECT_EQ(find("Gelu").ignored, "");
}

TEST(SupportedOps, SayWhatWorksOnConstantsAlone) {
  EXPECT_EQ(find("Range").refused,
            "computed inputs; `stash_type` but f32 for f16 and bf16");
}
