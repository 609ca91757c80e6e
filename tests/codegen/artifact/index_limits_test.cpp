#include "codegen/artifact/index_limits.h"

#include "tests/codegen/program_text.h"

using namespace gradus;

namespace {

IndexLimits limitsOf(const std::string &body) {
  ProgramText text(
      "gradus.program @p { gradus.graph @g(%token: tensor<4xi64>, "
      "%long: tensor<100x8xf32>, %short: tensor<7x8xf32>) -> () {" +
      body + "gradus.return } }");
  return indexLimits(*text.module->getOps<ProgramOp>().begin());
}

const char *kLookUp = "%a = gradus.gather %long at %token axis 0 : "
                      "tensor<100x8xf32>, tensor<4xi64> -> tensor<4x8xf32>\n";

} // namespace

TEST(IndexLimits, AreThoseOfTheTableAnInputLooksUp) {
  EXPECT_EQ(limitsOf(kLookUp).lookup("token"), 100);
}

TEST(IndexLimits, AreTheSmallestOfSeveralTables) {
  auto limits =
      limitsOf(std::string(kLookUp) +
               "%r = gradus.reshape %token : tensor<4xi64> -> tensor<2x2xi64>\n"
               "%b = gradus.gather %short at %r axis 0 : tensor<7x8xf32>, "
               "tensor<2x2xi64> -> tensor<2x2x8xf32>\n");
  EXPECT_EQ(limits.lookup("token"), 7);
}

// What is looked up is then another number than the data set's.
TEST(IndexLimits, AreUnknownWhereTheModelComputesTheIndex) {
  EXPECT_TRUE(limitsOf("%i = arith.addi %token, %token : tensor<4xi64>\n"
                       "%a = gradus.gather %long at %i axis 0 : "
                       "tensor<100x8xf32>, tensor<4xi64> -> tensor<4x8xf32>\n")
                  .empty());
}

TEST(IndexLimits, AreNoneWithoutGathers) { EXPECT_TRUE(limitsOf("").empty()); }
