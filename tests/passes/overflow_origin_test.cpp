// Whose overflow it was, by the reference evaluator: a scale that is too large
// for f64 stands for one that is too large for f16.

#include "passes/overflow_origin.h"

#include "passes/passes.h"
#include "program_text.h"

#include "mlir/Pass/PassManager.h"

#include <gmock/gmock.h>

using namespace gradus;
using gradus::testing::PassText;
using ::testing::ElementsAre;

namespace {

/// The loss is x u v w; each factor is a layer in a group of its own.
constexpr const char *kProgram = R"(
gradus.program @p attributes {recipe = {loss_scale = {type = "group", groups = [["u"], ["v"], ["w"]], initial = [8.0], growth = 1.25, reduction = 0.5, minimum = 4.0, maximum = 16.0}}} {
  gradus.state @u : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @v : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<f32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<f32>) -> (loss: tensor<f32>) {
    %u = gradus.read @u : tensor<f32>
    %v = gradus.read @v : tensor<f32>
    %w = gradus.read @w : tensor<f32>
    %0 = arith.mulf %x, %u : tensor<f32>
    %1 = arith.mulf %0, %v : tensor<f32>
    %loss = arith.mulf %1, %w : tensor<f32>
    gradus.return %loss : tensor<f32>
  }
}
)";

using Numbers = std::vector<double>;

/// What a step has made of a program.
struct Step {
  Numbers scales;
  bool isSkipped;
};

HostTensor scalar(double number) {
  HostTensor tensor = zeros(llvm::ArrayRef<int64_t>{});
  tensor.floats[0] = number;
  return tensor;
}

/// A step up to its guards from these scales, with x and u, v, w. What is
/// `frozen` has no update, as freezing leaves it.
class Training {
public:
  explicit Training(llvm::StringRef frozen = "") : text_(kProgram) {
    run({createLossScaleBorders, createAutodiff});
    mlir::Block &block = text_.program().getGraph("train").getBody().front();
    for (auto update : llvm::make_early_inc_range(block.getOps<UpdateOp>()))
      if (frozen.contains(update.getParameter()))
        update.erase();
    run({createLossScale});
  }

  Step step(const Numbers &scales, const Numbers &parameters, double x = 2) {
    StateMap states, gradients;
    for (auto state : text_.program().getBody().getOps<StateOp>())
      states[state.getSymName()] =
          zeros(mlir::cast<mlir::RankedTensorType>(state.getType()));
    for (int i : {0, 1, 2}) {
      states[groupScaleName(i)] = scalar(scales[i]);
      states[llvm::StringRef("uvw").substr(i, 1)] = scalar(parameters[i]);
    }
    EXPECT_TRUE(succeeded(evaluateGraph(text_.program().getGraph("train"),
                                        {scalar(x)}, states, &gradients)));
    Step result{{}, states["skipped_steps"].integers[0] == 1};
    for (int i : {0, 1, 2})
      result.scales.push_back(states[groupScaleName(i)].floats[0]);
    return result;
  }

private:
  using Create = std::unique_ptr<mlir::Pass> (*)();

  void run(llvm::ArrayRef<Create> passes) {
    mlir::PassManager manager(&text_.context);
    for (Create create : passes)
      manager.nest<ProgramOp>().addPass(create());
    EXPECT_TRUE(succeeded(manager.run(*text_.module))) << text_.messages;
  }

  PassText text_;
};

constexpr double kHuge = 1e308;

} // namespace

TEST(OverflowOrigin, IsNowhereWhereAllIsFinite) {
  Step step = Training().step({8, 8, 12}, {1, 1, 1});
  EXPECT_FALSE(step.isSkipped);
  EXPECT_THAT(step.scales, ElementsAre(10, 10, 15));
}

/// Whatever lies below gets an infinite gradient, and is not to blame. Scales
/// fall and rise between their bounds.
TEST(OverflowOrigin, IsTheGroupWhoseScaleIsTooLarge) {
  for (int group : {0, 1, 2}) {
    Numbers scales = {8, 8, 8}, expected = {10, 10, 10};
    scales[group] = kHuge;
    expected[group] = kHuge / 2;
    Step step = Training().step(scales, {8, 8, 8});
    EXPECT_TRUE(step.isSkipped) << group;
    EXPECT_EQ(step.scales, expected) << group;
  }
}

/// The gradient of v is x u dy and finite; what v passes on is v dy.
TEST(OverflowOrigin, IsTheGroupThatPassesOnTooMuch) {
  Step step = Training().step({8, kHuge, 8}, {0.125, 8, 1}, /*x=*/1);
  EXPECT_TRUE(step.isSkipped);
  EXPECT_THAT(step.scales, ElementsAre(10, kHuge / 2, 10));
}

/// Neither was given what is not finite: x is infinite, by which the gradients
/// of all are, and each but the last is given finite ones.
TEST(OverflowOrigin, MayBeInSeveralGroups) {
  Step step = Training().step({8, 8, 5}, {1, 1, 1}, /*x=*/INFINITY);
  EXPECT_TRUE(step.isSkipped);
  EXPECT_THAT(step.scales, ElementsAre(4, 4, 4));
}

TEST(OverflowOrigin, LeavesScalesBetweenTheirBounds) {
  Step up = Training().step({16, 15, 4}, {1, 1, 1});
  EXPECT_THAT(up.scales, ElementsAre(16, 16, 5));
  Step down = Training().step({4, 5, 16}, {1, 1, 1}, INFINITY);
  EXPECT_THAT(down.scales, ElementsAre(4, 4, 8));
}

/// What only frozen groups need is not looked at, and their scales stay.
TEST(OverflowOrigin, IsLookedForInWhatIsTrained) {
  Step last = Training("uv").step({kHuge, kHuge, 8}, {8, 8, 8});
  EXPECT_FALSE(last.isSkipped);
  EXPECT_THAT(last.scales, ElementsAre(kHuge, kHuge, 10));
  Step middle = Training("u").step({kHuge, 8, 8}, {8, 8, 8});
  EXPECT_FALSE(middle.isSkipped);
  EXPECT_THAT(middle.scales, ElementsAre(kHuge, 10, 10));
}

/// What passes a frozen group on its way to a lower one is still its doing.
TEST(OverflowOrigin, MayBeInAGroupThatOnlyPassesOn) {
  Step step = Training("v").step({8, kHuge, 8}, {8, 8, 8});
  EXPECT_TRUE(step.isSkipped);
  EXPECT_THAT(step.scales, ElementsAre(10, kHuge / 2, 10));
}
