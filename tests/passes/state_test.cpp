#include "passes/state.h"

#include "program_text.h"

using namespace gradus;
using gradus::testing::PassText;

TEST(State, IsAddedOnceBehindTheOthers) {
  PassText source(R"(
gradus.program @p {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @g() {
    gradus.return
  }
})");
  auto type = mlir::RankedTensorType::get(
      {}, mlir::Builder(&source.context).getI64Type());
  (void)ensureState(source.program(), "step", type, Role::counter);
  (void)ensureState(source.program(), "step", type, Role::counter);
  std::vector<std::string> names;
  for (auto state : source.program().getBody().getOps<StateOp>())
    names.push_back(state.getSymName().str());
  EXPECT_TRUE(failed(ensureState(source.program(), "w", type, Role::counter)));
  EXPECT_EQ(names, (std::vector<std::string>{"w", "step"}));
  EXPECT_EQ(source.program().getState("step").getRole(), Role::counter);
}
