// The table of ops is found by name.

#include "frontends/onnx/operators.h"

#include <gtest/gtest.h>

using namespace gradus::onnx;

TEST(Operators, AreFoundByName) {
  ASSERT_TRUE(findOperator("Gemm"));
  EXPECT_STREQ(findOperator("Gemm")->name, "Gemm");
  EXPECT_FALSE(findOperator("gemm"));
  EXPECT_FALSE(findOperator("com.acme::Gemm"));
}

/// One that can neither build nor fold would stand there for nothing.
TEST(Operators, CanDoSomething) {
  for (auto family :
       {elementwiseOperators(), matrixOperators(), windowOperators(),
        shapeOperators(), reductionOperators()})
    for (const Operator &op : family) {
      EXPECT_TRUE(op.build || op.fold) << op.name;
      EXPECT_EQ(findOperator(op.name), &op) << op.name << " stands twice";
    }
}
