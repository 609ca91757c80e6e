#include "written_graph.h"

#include "runtime/artifact_generated.h"

using namespace gradus;
namespace fb = gradus::artifact;

TEST(WriteCollective, ASumHasItsBuffersAtBothEnds) {
  WrittenGraph written(R"(
gradus.program @p {
  plan.kernel @twice(%x: memref<?xf32>, %y: memref<?xf32>) attributes {inputs = 1 : i64, split = #plan<split flat>, items = 0 : i64} {
    plan.end
  }
  gradus.graph @train(%x: tensor<4xf32>, %y: tensor<8xf32>) -> (a: tensor<4xf32>, b: tensor<8xf32>) {
    %a, %b = plan.launch @twice(%x, %y) items [4, 8] grain 2 inplace [-1, -1] : (tensor<4xf32>, tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>)
    %token = plan.start %a, %b number 0 : tensor<4xf32>, tensor<8xf32> -> tensor<0xi8>
    %s, %t = plan.finish %token, %a, %b number 0 : tensor<0xi8>, tensor<4xf32>, tensor<8xf32> -> tensor<4xf32>, tensor<8xf32>
    %u, %v = plan.launch @twice(%s, %t) items [4, 8] grain 2 inplace [-1, -1] : (tensor<4xf32>, tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>)
    gradus.return %u, %v : tensor<4xf32>, tensor<8xf32>
  }
})");
  EXPECT_EQ(written.command(1).name()->str(), "start sum of 2");
  EXPECT_EQ(written.command(2).name()->str(), "finish sum of 2");
  EXPECT_EQ(written.command(1).flops(), 0u);
  const auto *start = written.command(1).kind_as_StartCommand();
  const auto *finish = written.command(2).kind_as_FinishCommand();
  ASSERT_TRUE(start && finish);
  EXPECT_EQ(start->number(), 0u);
  EXPECT_EQ(finish->number(), 0u);
  EXPECT_FALSE(start->groups());
  ASSERT_EQ(start->buffers()->size(), 2u);
  ASSERT_EQ(finish->buffers()->size(), 2u);
  ASSERT_EQ(finish->results()->size(), 2u);
  for (unsigned i = 0; i < 2; ++i) {
    EXPECT_EQ(start->buffers()->Get(i), finish->buffers()->Get(i));
    EXPECT_EQ(start->buffers()->Get(i), finish->results()->Get(i))
        << "the sums lie where they are made";
  }
}

TEST(WriteCollective, GroupsAreThoseOfTheOp) {
  WrittenGraph written(R"(
gradus.program @p {
  plan.kernel @twice(%x: memref<?xf32>) attributes {inputs = 0 : i64, split = #plan<split flat>, items = 0 : i64} {
    plan.end
  }
  gradus.graph @train() -> (b: tensor<4xf32>) {
    %a = plan.launch @twice() items [4] grain 2 inplace [-1] : () -> (tensor<4xf32>)
    %token = plan.start %a number 0 {groups = #gradus.groups<within 2 mean across adasum_of_all epsilon 0.5 : f64>} : tensor<4xf32> -> tensor<0xi8>
    %s = plan.finish %token, %a number 0 : tensor<0xi8>, tensor<4xf32> -> tensor<4xf32>
    gradus.return %s : tensor<4xf32>
  }
})");
  EXPECT_EQ(written.command(1).name()->str(), "start adasum of 1");
  EXPECT_EQ(written.command(2).name()->str(), "finish adasum of 1");
  const auto *start = written.command(1).kind_as_StartCommand();
  ASSERT_TRUE(start && start->groups());
  EXPECT_EQ(start->groups()->within(), 2u);
  EXPECT_TRUE(start->groups()->averages());
  EXPECT_EQ(start->groups()->across(), fb::Across::adasum_of_all);
  EXPECT_EQ(start->groups()->epsilon(), 0.5);
}
