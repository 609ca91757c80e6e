// The table of ops is found by name.

#include "frontends/onnx/operators/operators.h"

#include <gtest/gtest.h>

using namespace gradus::onnx;

TEST(Operators, AreFoundByName) {
  ASSERT_TRUE(findOperator("Gemm"));
  EXPECT_STREQ(findOperator("Gemm")->name, "Gemm");
  EXPECT_FALSE(findOperator("gemm"));
  EXPECT_FALSE(findOperator("com.acme::Gemm"));
}

TEST(Operators, SayWhetherTheyTakeEmptyTensors) {
  EXPECT_TRUE(findOperator("Concat")->takesEmpty);
  EXPECT_FALSE(findOperator("Conv")->takesEmpty);
}

/// One that can neither build nor fold would stand there for nothing.
TEST(Operators, CanDoSomething) {
  for (auto family :
       {elementwiseOperators(), matrixOperators(), windowOperators(),
        shapeOperators(), reductionOperators()})
    for (const Operator &op : family) {
      EXPECT_TRUE(op.build || op.fold) << op.name;
      const Operator *found = findOperator(op.name);
      EXPECT_TRUE(found->build == op.build && found->fold == op.fold)
          << op.name << " stands twice";
    }
}

TEST(Operators, AreListedByName) {
  std::vector<const Operator *> all = allOperators();
  ASSERT_GT(all.size(), 150u);
  for (size_t i = 1; i < all.size(); ++i)
    EXPECT_LT(std::string(all[i - 1]->name), all[i]->name);
}
