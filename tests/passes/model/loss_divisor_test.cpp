#include "passes/model/loss_divisor.h"

#include "../program_text.h"

using namespace gradus;
using gradus::testing::PassText;

namespace {

/// The divisor of a loss of three labels, of which each sample has two.
double divisor(const std::string &loss, const std::string &labels,
               std::vector<int64_t> given) {
  std::string text = R"(
gradus.program @p attributes {recipe = {loss = {)" +
                     loss + R"(}}} {
  gradus.graph @predict(%x: tensor<3x4x2xf32>) -> (y: tensor<3x4x2xf32>) {
    gradus.return %x : tensor<3x4x2xf32>
  }
  gradus.graph @train(%x: tensor<3x4x2xf32>, %label: )" +
                     labels + R"() -> () {
    gradus.return
  }
})";
  PassText source(text);
  GraphOp train = source.program().getGraph("train");
  mlir::OpBuilder builder(train.getBody().front().getTerminator());
  auto found = divisorOfLoss(builder, train);
  EXPECT_TRUE(succeeded(found)) << source.messages;
  if (failed(found))
    return 0;
  train.addOutput("divisor", *found);
  StateMap states;
  HostTensor x = zeros(mlir::ArrayRef<int64_t>({3, 4, 2}));
  HostTensor label =
      zeros(llvm::cast<mlir::RankedTensorType>(train.getArgumentTypes()[1]));
  label.integers.assign(given.begin(), given.end());
  auto results = evaluateGraph(train, {x, label}, states);
  EXPECT_TRUE(succeeded(results)) << source.messages;
  return results->front().floats[0];
}

constexpr const char *kClasses = "tensor<3x2xi64>",
                     *kValues = "tensor<3x4x2xf32>";

} // namespace

TEST(LossDivisor, IsTheNumberOfLabelsThatCount) {
  EXPECT_EQ(divisor("type = \"softmax_cross_entropy\", class_axis = 1 : i64",
                    kClasses, {0, 1, -100, 3, 3, -100}),
            4);
  EXPECT_EQ(
      divisor("type = \"nll\", class_axis = 1 : i64, ignore_index = 3 : i64",
              kClasses, {0, 1, 2, 3, 3, 3}),
      3);
}

// The loss of such a batch is 0, and so are its gradients.
TEST(LossDivisor, IsOneWhereNoLabelCounts) {
  EXPECT_EQ(divisor("type = \"nll\", class_axis = 1 : i64", kClasses,
                    {-100, -100, -100, -100, -100, -100}),
            1);
}

TEST(LossDivisor, IsTheNumberOfSamplesWhereLabelsAreValues) {
  EXPECT_EQ(divisor("type = \"mse\"", kValues, {}), 3);
  EXPECT_EQ(
      divisor("type = \"kl_div\", reduction = \"batchmean\"", kValues, {}), 3);
}

TEST(LossDivisor, IsOneForASum) {
  EXPECT_EQ(divisor("type = \"l1\", reduction = \"sum\"", kValues, {}), 1);
  EXPECT_EQ(divisor("type = \"nll\", class_axis = 1 : i64, reduction = \"sum\"",
                    kClasses, {0, 1, -100, 3, 3, -100}),
            1);
}
