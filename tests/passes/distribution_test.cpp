// The recipe's `distribution`, and what passes make of it.

#include "passes/distribution.h"

#include "program_text.h"

using namespace gradus;
using gradus::testing::PassText;

namespace {

DistributionSettings settingsOf(const std::string &recipe) {
  PassText source("gradus.program @p attributes {recipe = {" + recipe +
                  "}} {\n}");
  return distributionOf(source.program());
}

} // namespace

TEST(Distribution, HasDefaults) {
  DistributionSettings settings = settingsOf("");
  EXPECT_EQ(settings.mode, DistributionMode::none);
  EXPECT_TRUE(settings.mean);
  EXPECT_EQ(settings.bucketBytes, 16 << 20);
  EXPECT_EQ(settings.inFlight, 2);
  EXPECT_EQ(settings.zero, 0);
  EXPECT_EQ(settings.reduce, ReduceType::plain);
  EXPECT_FALSE(settings.cuts.elements || settings.own.halfScale ||
               settings.own.clip || settings.cuts.splits);
}

// Only the default of bucket_elements is another with SINGA.
TEST(Distribution, HasSingasThreshold) {
  for (const char *recipe :
       {"compat = \"singa\"", "distribution = {compat = \"singa\"}"})
    EXPECT_EQ(settingsOf(recipe).cuts.elements, 2097152) << recipe;
  EXPECT_EQ(settingsOf("distribution = {compat = \"singa\", bucket_elements = "
                       "10 : i64}")
                .cuts.elements,
            10);
  EXPECT_FALSE(settingsOf("compat = \"singa\", distribution = {compat = "
                          "\"pytorch\"}")
                   .cuts.elements);
}

TEST(Distribution, ReadsRanksFromStatesThatASessionSets) {
  PassText source(R"(
gradus.program @p {
  gradus.graph @train() {
    gradus.return
  }
})");
  ProgramOp program = source.program();
  mlir::OpBuilder builder(
      program.getGraph("train").getBody().front().getTerminator());
  EXPECT_TRUE(readRanks(builder, program.getLoc(), program));
  EXPECT_TRUE(readRank(builder, program.getLoc(), program));
  EXPECT_EQ(program.getState("distribution.ranks").getRole(), Role::place);
  EXPECT_EQ(program.getState("distribution.rank").getRole(), Role::place);
}

TEST(Distribution, RefusesAModelsStateOfThatName) {
  PassText source(R"(
gradus.program @p {
  gradus.state @distribution.ranks : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train() {
    gradus.return
  }
})");
  ProgramOp program = source.program();
  mlir::OpBuilder builder(
      program.getGraph("train").getBody().front().getTerminator());
  EXPECT_FALSE(readRanks(builder, program.getLoc(), program));
  EXPECT_NE(source.messages.find("is the model's"), std::string::npos)
      << source.messages;
}
