// Each op of the dialect says what passes may rely on, or is known to compute.

#include "ir/traits.h"

#include "graphs.h"

#include "llvm/ADT/StringSet.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

/// The ops of which no trait holds: the parts of programs, and what computes
/// its results from many elements.
const llvm::StringSet<> computing = {
    "gradus.program",
    "gradus.state",
    "gradus.graph",
    "gradus.write",
    "gradus.update",
    "gradus.factors",
    "gradus.return",
    "gradus.guard",
    "gradus.schedule",
    "gradus.variant",
    "gradus.reduce",
    "gradus.matmul",
    "gradus.convolution",
    "gradus.convolution_backward_data",
    "gradus.convolution_backward_weights",
    "gradus.softmax_cross_entropy",
    "gradus.softmax_cross_entropy_backward",
    "gradus.mean_squared_error",
    "gradus.accuracy",
    "gradus.scatter_add",
    "gradus.softmax",
    "gradus.layer_norm",
    "gradus.batch_norm_training",
    "gradus.batch_norm_backward",
    "gradus.attention",
    "gradus.attention_backward",
    "gradus.gram",
    "gradus.inverse",
    "gradus.random_bits",
    "gradus.all_reduce",
    "gradus.scan",
    "gradus.yield",
};

/// All ops of our dialect.
std::vector<mlir::RegisteredOperationName> ops() {
  std::vector<mlir::RegisteredOperationName> found;
  for (mlir::RegisteredOperationName op : context().getRegisteredOperations())
    if (op.getDialectNamespace() == "gradus")
      found.push_back(op);
  return found;
}

bool isClassified(mlir::RegisteredOperationName op) {
  return op.hasInterface<Elementwise>() || op.hasTrait<MovesElements>() ||
         op.hasTrait<KeepsAllElements>() ||
         op.hasTrait<ReturnsExactNumbers>() || op.hasTrait<Keeps16Bits>() ||
         op.hasTrait<ComputesOfFewElements>() || op.hasTrait<PoolsWindows>();
}

} // namespace

TEST(Traits, OfEachOpAreKnown) {
  for (mlir::RegisteredOperationName op : ops()) {
    std::string name = op.getStringRef().str();
    EXPECT_NE(isClassified(op), computing.contains(name))
        << name << (isClassified(op) ? " has traits" : " has no trait")
        << ": give it those of ir/traits.td that hold, so that mixed "
           "precision, freezing and rounding bounds know it; if none does, "
           "name it in tests/ir/traits_test.cpp, else not";
  }
  EXPECT_GT(ops().size(), computing.size());
}

// A pass that follows elements back to their tensor relies on these.
TEST(Traits, OfMovesHoldTogether) {
  for (mlir::RegisteredOperationName op : ops()) {
    std::string name = op.getStringRef().str();
    if (op.hasTrait<KeepsAllElements>()) {
      EXPECT_TRUE(op.hasTrait<MovesElements>()) << name;
      EXPECT_TRUE(op.hasTrait<mlir::OpTrait::OneOperand>()) << name;
    }
    if (op.hasTrait<MovesElements>()) {
      EXPECT_TRUE(op.hasTrait<ReturnsExactNumbers>()) << name;
      EXPECT_TRUE(op.hasTrait<mlir::OpTrait::OneResult>()) << name;
    }
  }
}

TEST(Traits, TellMovesOfOneOperand) {
  auto module = parseGraph("%x: tensor<4xf32>", R"(
    %y = gradus.relu %x : tensor<4xf32>
    %z = gradus.concatenate %x, %y axis 0 : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>
    %w = gradus.slice %z starts [0] steps [2] : tensor<8xf32> -> tensor<4xf32>)");
  mlir::Operation *slice = lastOp(graphOf(*module));
  EXPECT_TRUE(movesOneOperand(slice));
  EXPECT_FALSE(movesOneOperand(slice->getPrevNode()));
  EXPECT_FALSE(movesOneOperand(slice->getPrevNode()->getPrevNode()));
}
