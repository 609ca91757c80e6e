// The checks and variants of refreshes, and what uses their factors.

#include "passes/refreshes.h"

#include "passes/train_graphs.h"
#include "program_text.h"

#include "mlir/IR/Verifier.h"

using namespace gradus;
using gradus::testing::PassText;

namespace {

constexpr const char *kProgram = R"(
gradus.program @p {
  gradus.state @v : tensor<3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.state @w : tensor<2x3xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%dv: tensor<3xf32>, %dw: tensor<2x3xf32>, %x: tensor<8x3xf32>) -> () {
    gradus.update @v, %dv : tensor<3xf32>
    gradus.update @w, %dw : tensor<2x3xf32>
    %a = gradus.gram %x axis 1 block 3 : tensor<8x3xf32> -> tensor<1x3x3xf32>
    gradus.factors @w inputs %a {axes = array<i64: 1>, kind = "dense"} : tensor<1x3x3xf32>
    gradus.return
  }
})";

std::vector<std::string> graphsOf(ProgramOp program) {
  std::vector<std::string> names;
  for (GraphOp graph : trainGraphs(program))
    names.push_back(graph.getSymName().str());
  llvm::sort(names);
  return names;
}

/// What is wrong with settings of an object `mine`.
std::string mistakeIn(const RefreshSettings &settings, bool averages) {
  PassText source("gradus.program @p {\n}\n");
  mlir::LogicalResult result =
      checkRefreshes(source.program(), "mine", settings, averages);
  EXPECT_EQ(failed(result), !source.messages.empty());
  return source.messages;
}

using Names = std::vector<std::string>;

} // namespace

TEST(Refreshes, HaveTheirDefaultsFromTheKey) {
  PassText source("gradus.program @p {\n}\n");
  auto settings =
      recipe::valueOf(source.program(), refreshKey()).as<RefreshSettings>();
  EXPECT_EQ(settings.every, 100);
  EXPECT_EQ(settings.spread, 1);
  EXPECT_FALSE(settings.measureEvery || settings.at || settings.isDealt);
  EXPECT_FALSE(settings.isInEach());
  EXPECT_TRUE(RefreshSettings{.every = 1}.isInEach());
}

TEST(Refreshes, AreRefusedUnderTheNameOfTheirOwner) {
  EXPECT_EQ(mistakeIn({.every = 4, .measureEvery = 2}, /*averages=*/true), "");
  EXPECT_EQ(mistakeIn({.every = 4, .measureEvery = 4}, true),
            "recipe: mine.refresh.measure_every is 4, expected less than "
            "refresh.every, which is 4\n");
  EXPECT_NE(mistakeIn({.every = 4, .measureEvery = 2}, /*averages=*/false)
                .find("mine.refresh.measure_every is for a mean over time"),
            std::string::npos);
  EXPECT_NE(mistakeIn({.every = 4, .spread = 5}, true)
                .find("mine.refresh.spread is 5, more than the updates"),
            std::string::npos);
  EXPECT_NE(mistakeIn({.every = 4, .at = std::vector<int64_t>{0, 7, 7}}, true)
                .find("mine.refresh.at has 7 after 7"),
            std::string::npos);
}

TEST(Refreshes, AreDealtToANumberOfRanksThatIsKnown) {
  auto said = [](const std::string &distribution) {
    PassText source("gradus.program @p attributes {recipe = {distribution = {" +
                    distribution + "}}} {\n}\n");
    bool fails = failed(checkRefreshes(source.program(), "mine",
                                       {.every = 4, .isDealt = true}, true));
    EXPECT_EQ(fails, !source.messages.empty());
    return source.messages;
  };
  EXPECT_EQ(said("mode = \"data_parallel\""),
            "recipe: mine.refresh.dealt is true, which needs the number of "
            "processes that invert a part each: set distribution.ranks\n");
  EXPECT_EQ(said("mode = \"data_parallel\", ranks = 3 : i64"), "");
  EXPECT_EQ(said("mode = \"none\""), "");
}

TEST(Refreshes, MarkTheGraphsWhoseInversesAreDealt) {
  for (int64_t every : {1, 4}) {
    PassText source(kProgram);
    ASSERT_TRUE(succeeded(addRefreshes(source.program().getGraph(kTrain),
                                       {.every = every, .isDealt = true})));
    for (GraphOp graph : trainGraphs(source.program()))
      EXPECT_TRUE(graph->hasAttr(kDealt)) << graph.getSymName().str();
  }
}

TEST(Refreshes, LeaveAStepAloneThatRefreshesEachTime) {
  PassText source(kProgram);
  GraphOp train = source.program().getGraph(kTrain);
  ASSERT_TRUE(succeeded(addRefreshes(train, {.every = 1})));
  EXPECT_EQ(graphsOf(source.program()), Names{"train"});
  EXPECT_FALSE(train.getBody().front().getOps<FactorsOp>().empty());
}

/// The step that measures nothing gets the form of another's factors.
TEST(Refreshes, GiveFactorsToEachUpdateOfTheirWeight) {
  PassText source(kProgram);
  ProgramOp program = source.program();
  ASSERT_TRUE(succeeded(
      addRefreshes(program.getGraph(kTrain), {.every = 4, .measureEvery = 2})));
  EXPECT_EQ(graphsOf(program),
            (Names{"train", "train_measure", "train_refresh"}));
  Names seen;
  auto use = [&](ParameterUpdate update, FactorsOp factors, bool areMeasured) {
    EXPECT_EQ(factors.getParameter(), "w");
    EXPECT_EQ(update.getParameterName(), "w");
    auto graph = update->getParentOfType<GraphOp>();
    EXPECT_EQ(areMeasured, factors->getParentOp() == graph);
    if (areMeasured)
      EXPECT_TRUE(factors->isBeforeInBlock(update));
    seen.push_back(graph.getSymName().str() + (areMeasured ? " measures" : "") +
                   (areMeasured && factors.getMeasuredOnly() ? " only" : ""));
    return mlir::success();
  };
  ASSERT_TRUE(succeeded(useFactors(program, use)));
  llvm::sort(seen);
  EXPECT_EQ(seen, (Names{"train", "train_measure measures only",
                         "train_refresh measures"}));
  program.walk([](FactorsOp factors) { ADD_FAILURE() << "factors are left"; });
  EXPECT_TRUE(succeeded(mlir::verify(program))) << source.messages;
}

TEST(Refreshes, AreUsedUntilACallFails) {
  PassText source(kProgram);
  int calls = 0;
  auto use = [&](ParameterUpdate, FactorsOp, bool) {
    ++calls;
    return mlir::failure();
  };
  ASSERT_TRUE(
      succeeded(addRefreshes(source.program().getGraph(kTrain), {.every = 2})));
  EXPECT_TRUE(failed(useFactors(source.program(), use)));
  EXPECT_EQ(calls, 1);
}
