// A value is a rank's own if it follows from inputs or own states without a
// sum.

#include "passes/distribution/own_values.h"

#include "passes/passes.h"
#include "tests/passes/program_text.h"

using namespace gradus;
using gradus::testing::PassText;

TEST(OwnValues, FollowFromSamplesUpToASum) {
  PassText text(R"(
gradus.program @p {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @kept : tensor<f32> {role = #gradus.role<slot>, init = #gradus.init<zeros>, differs_along = ["data"]}
  gradus.graph @train(%x: tensor<f32>) -> () {
    %shared = gradus.read @w : tensor<f32>
    %own = gradus.read @kept : tensor<f32>
    %a = arith.mulf %x, %shared : tensor<f32>
    %b = arith.addf %a, %own : tensor<f32>
    %sum = gradus.all_reduce %b : tensor<f32> -> tensor<f32>
    %after = arith.mulf %sum, %shared : tensor<f32>
    gradus.return
  }
})");
  GraphOp graph = text.program().getGraph("train");
  llvm::DenseSet<mlir::Value> own = ownValues(text.program(), graph);
  std::vector<bool> found;
  for (mlir::Operation &op : graph.getBody().front().without_terminator())
    found.push_back(own.contains(op.getResult(0)));
  EXPECT_EQ(found, (std::vector<bool>{false, true, true, true, false, false}));
  EXPECT_TRUE(own.contains(graph.getBody().getArgument(0)));
  EXPECT_TRUE(isOwnState(text.program(), "kept"));
  EXPECT_TRUE(isOwnState(text.program(), "distribution.rank"));
  EXPECT_FALSE(isOwnState(text.program(), "w"));
}

/// The decayed weight follows from no sample in this step, but from what
/// samples have made of it.
TEST(OwnValues, AreWrittenToStatesThatFollowFromEachOther) {
  PassText text(R"(
gradus.program @p {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @behind : tensor<f32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.state @farther : tensor<f32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.state @shared : tensor<f32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> () {
    %old = gradus.read @w : tensor<f32>
    %last = gradus.read @behind : tensor<f32>
    %sum = gradus.all_reduce %x : tensor<f32> -> tensor<f32>
    gradus.write @farther, %last : tensor<f32>
    gradus.write @behind, %old : tensor<f32>
    gradus.write @w, %x : tensor<f32>
    gradus.write @shared, %sum : tensor<f32>
    gradus.return
  }
})");
  GraphOp graph = text.program().getGraph("train");
  EXPECT_EQ(ownWrites(text.program(), graph).size(), 1u);
  EXPECT_EQ(markOwnWrites(text.program(), graph, {Role::parameter, Role::slot})
                .size(),
            3u);
  for (const char *own : {"w", "behind", "farther"})
    EXPECT_TRUE(isOwnState(text.program(), own)) << own;
  EXPECT_FALSE(isOwnState(text.program(), "shared"));
}

/// Statistics that nobody has shared are left to those who check.
TEST(OwnValues, AreMarkedOfSomeRoles) {
  PassText text(R"(
gradus.program @p {
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @mean : tensor<f32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.state @behind : tensor<f32> {role = #gradus.role<slot>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> () {
    %last = gradus.read @mean : tensor<f32>
    gradus.write @w, %x : tensor<f32>
    gradus.write @mean, %x : tensor<f32>
    gradus.write @behind, %last : tensor<f32>
    gradus.return
  }
})");
  GraphOp graph = text.program().getGraph("train");
  EXPECT_EQ(markOwnWrites(text.program(), graph, {Role::parameter, Role::slot})
                .size(),
            1u);
  EXPECT_TRUE(isOwnState(text.program(), "w"));
  EXPECT_FALSE(isOwnState(text.program(), "mean"));
  EXPECT_FALSE(isOwnState(text.program(), "behind"));
  EXPECT_EQ(markOwnWrites(text.program(), graph,
                          {Role::parameter, Role::slot, Role::buffer})
                .size(),
            3u);
}
