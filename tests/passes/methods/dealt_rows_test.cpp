// What ranks have of a matrix's rows, and of a number for each row.

#include "passes/methods/dealt_rows.h"

#include "passes/distribution.h"
#include "tests/passes/program_text.h"

#include "mlir/IR/Verifier.h"

using namespace gradus;
using gradus::testing::PassText;
using mlir::OpBuilder;
using mlir::Value;

namespace {

using Numbers = std::vector<double>;

HostTensor tensor(const Numbers &numbers) {
  HostTensor result = zeros({static_cast<int64_t>(numbers.size())});
  result.floats = numbers;
  return result;
}

/// The result of `make` for an input of numbers, on one rank: a sum over ranks
/// is what it brings.
template <typename Make>
Numbers onRank(const Numbers &input, int64_t rank, Make make) {
  std::string type = "tensor<" + std::to_string(input.size()) + "xf32>";
  PassText text("gradus.program @p {\n  gradus.graph @train(%x: " + type +
                ", %rank: tensor<i64>) -> (y: " + type +
                ") {\n    gradus.return %x : " + type + "\n  }\n}\n");
  GraphOp graph = text.program().getGraph("train");
  mlir::Block &block = graph.getBody().front();
  OpBuilder builder(block.getTerminator());
  Arithmetic math(builder, graph.getLoc());
  Value made = make(math, block.getArgument(0), block.getArgument(1));
  block.getTerminator()->setOperands({made});
  HostTensor own = zeros({}, /*isFloat=*/false);
  own.integers = {rank};
  StateMap states;
  auto outputs = evaluateGraph(graph, {tensor(input), own}, states);
  EXPECT_TRUE(succeeded(outputs));
  return (*outputs)[0].floats;
}

/// What a rank gets of numbers of all rows.
Numbers ownOf(const Numbers &all, int64_t ranks, int64_t rank) {
  DealtRows rows{static_cast<int64_t>(all.size()), ranks};
  return onRank(all, rank, [&](const Arithmetic &math, Value x, Value rank) {
    return rows.ofOwn(math, x, rank);
  });
}

/// What a rank brings to the numbers of all rows.
Numbers broughtBy(const Numbers &own, int64_t count, int64_t ranks,
                  int64_t rank) {
  DealtRows rows{count, ranks};
  return onRank(own, rank, [&](const Arithmetic &math, Value x, Value rank) {
    return rows.ofAll(math, x, rank);
  });
}

} // namespace

TEST(DealtRows, AreAsManyOnEachRank) {
  EXPECT_EQ((DealtRows{6, 3}.ofRank()), 2);
  EXPECT_EQ((DealtRows{7, 3}.ofRank()), 3);
  EXPECT_EQ((DealtRows{2, 3}.ofRank()), 1);
  EXPECT_EQ((DealtRows{2, 1}.ofRank()), 2);
  EXPECT_FALSE((DealtRows{2, 1}.areDealt()));
  EXPECT_TRUE((DealtRows{2, 3}.areDealt()));
}

TEST(DealtRows, GiveEachRankItsNumbersAndZerosBehindTheEnd) {
  Numbers all = {1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(ownOf(all, 3, 0), (Numbers{1, 2, 3}));
  EXPECT_EQ(ownOf(all, 3, 1), (Numbers{4, 5, 6}));
  EXPECT_EQ(ownOf(all, 3, 2), (Numbers{7, 0, 0}));
  EXPECT_EQ(ownOf({1, 2}, 2, 1), (Numbers{2}));
  EXPECT_EQ(ownOf({1, 2}, 4, 3), (Numbers{0}));
}

TEST(DealtRows, BringNumbersOfTheOwnRowsAlone) {
  EXPECT_EQ(broughtBy({1, 2}, 4, 2, 1), (Numbers{0, 0, 1, 2}));
  EXPECT_EQ(broughtBy({1, 2, 3}, 7, 3, 1), (Numbers{0, 0, 0, 1, 2, 3, 0}));
  // The last two are of no row.
  EXPECT_EQ(broughtBy({1, 2, 3}, 7, 3, 2), (Numbers{0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(broughtBy({5}, 2, 3, 2), (Numbers{0, 0}));
}

TEST(DealtRows, MakeAStateAPart) {
  PassText text(R"(
gradus.program @p {
  gradus.state @rows : tensor<3x2xf32> {fixed, role = #gradus.role<slot>, value = dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>}
})");
  StateOp state = text.program().getState("rows");
  mlir::Type whole = state.getType();
  DealtRows{3, 2}.deal(state);
  EXPECT_EQ(mlir::cast<mlir::RankedTensorType>(state.getType()).getShape(),
            (llvm::ArrayRef<int64_t>{2, 2}));
  EXPECT_EQ(state->getAttrOfType<mlir::TypeAttr>(kPartOf).getValue(), whole);
  EXPECT_TRUE(state.getDiffersAlong());
  EXPECT_EQ(state.getValueAttr().getShapedType(), whole);
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*text.module)));
}
