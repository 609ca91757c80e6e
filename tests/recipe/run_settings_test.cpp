// The keys that all parts of the compiler have in common.

#include "recipe/run_settings.h"

#include "../passes/program_text.h"

using namespace gradus;
using gradus::testing::PassText;

TEST(RunSettings, AreTheRecipesOrTheDefaults) {
  PassText plain("gradus.program @p {}");
  EXPECT_EQ(runSettings(plain.program()).seed, 0);
  EXPECT_FALSE(runSettings(plain.program()).deterministic);
  EXPECT_FALSE(runSettings(plain.program()).memoryLimit);
  EXPECT_EQ(runSettings(plain.program()).convolutions, Convolutions::fastest);
  PassText text("gradus.program @p attributes {recipe = {seed = 7 : i64, "
                "deterministic = true, memory_limit = 4096 : i64, "
                "convolutions = \"direct\"}} {}");
  EXPECT_EQ(runSettings(text.program()).seed, 7);
  EXPECT_TRUE(runSettings(text.program()).deterministic);
  EXPECT_EQ(runSettings(text.program()).memoryLimit, 4096);
  EXPECT_EQ(runSettings(text.program()).convolutions, Convolutions::direct);
}
