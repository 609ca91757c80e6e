#include "passes/computation.h"

#include "program_text.h"

using namespace gradus;
using gradus::testing::PassText;
using mlir::OpBuilder;
using mlir::Value;

namespace {

constexpr const char *kProgram = R"(
gradus.program @p {
  gradus.state @w : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @fixed : tensor<2xf32> {role = #gradus.role<buffer>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<2xf32>, %other: tensor<2xf32>) -> (loss: tensor<f32>) {
    %w = gradus.read @w : tensor<2xf32>
    %fixed = gradus.read @fixed : tensor<2xf32>
    %mask = math.exp %fixed : tensor<2xf32>
    %product = arith.mulf %w, %x : tensor<2xf32>
    %again = gradus.read @w : tensor<2xf32>
    %sum = arith.addf %product, %again : tensor<2xf32>
    %masked = arith.mulf %sum, %mask : tensor<2xf32>
    %loss = gradus.reduce sum %masked axes [0] : tensor<2xf32> -> tensor<f32>
    %behind = math.tanh %loss : tensor<f32>
    gradus.write @w, %sum : tensor<2xf32>
    gradus.return %loss : tensor<f32>
  }
})";

struct Graph {
  Graph() : text(kProgram), train(text.program().getGraph("train")) {}

  Value loss() { return train.getReturned()[0]; }
  template <typename Op> size_t count() {
    auto ops = train.getBody().front().getOps<Op>();
    return std::distance(ops.begin(), ops.end());
  }

  PassText text;
  GraphOp train;
};

} // namespace

TEST(Computation, IsWhatAnOpDependsOn) {
  Graph graph;
  auto ops = computationOf(graph.loss().getDefiningOp());
  ASSERT_EQ(ops.size(), 8u) << "all but tanh, the write and the return";
  EXPECT_EQ(ops.front(), graph.loss().getDefiningOp());
  EXPECT_TRUE(mlir::isa<ReadOp>(ops.back()));
  EXPECT_TRUE(computationOf(nullptr).empty());
}

TEST(ValueAt, CopiesWhatDependsOnTheStatesAlone) {
  Graph graph;
  OpBuilder builder(graph.train.getBody().front().getTerminator());
  Value there = valueAt(builder, graph.loss(),
                        {{"w", graph.train.getBody().getArgument(1)}});
  EXPECT_NE(there, graph.loss());
  EXPECT_EQ(graph.count<ReadOp>(), 3u);
  EXPECT_EQ(graph.count<WriteOp>(), 1u);
  EXPECT_EQ(graph.count<mlir::math::ExpOp>(), 1u) << "the mask is shared";
  EXPECT_EQ(graph.count<mlir::math::TanhOp>(), 1u);
  EXPECT_EQ(graph.count<mlir::arith::AddFOp>(), 2u);
  // At x = (1, 2) and w = (3, 5) the loss is 3 * 2 + 5 * 3.
  auto evaluated = [&](Value value) {
    graph.train.getBody().front().getTerminator()->setOperands({value});
    HostTensor x = zeros(llvm::ArrayRef<int64_t>{2}), other = x, w = x;
    x.floats = {1, 2};
    other.floats = {3, 5};
    StateMap states = {{"w", w}, {"fixed", w}};
    auto outputs = evaluateGraph(graph.train, {x, other}, states);
    EXPECT_TRUE(succeeded(outputs));
    return outputs->front().floats.at(0);
  };
  Value here = graph.loss();
  EXPECT_EQ(evaluated(there), 21);
  EXPECT_EQ(evaluated(here), 0);
}

TEST(ValueAt, IsTheValueWhereNothingDependsOnTheStates) {
  Graph graph;
  OpBuilder builder(graph.train.getBody().front().getTerminator());
  EXPECT_EQ(valueAt(builder, graph.loss(), {{"v", graph.loss()}}),
            graph.loss());
}
