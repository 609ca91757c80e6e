#include "passes/step_variants.h"

#include "ir/arithmetic.h"
#include "passes/clock.h"
#include "program_text.h"

#include "mlir/IR/Verifier.h"

using namespace gradus;
using gradus::testing::PassText;
using mlir::OpBuilder;
using mlir::Value;

namespace {

constexpr const char *kProgram = R"(
gradus.program @p attributes {recipe = {%s}} {
  gradus.state @step : tensor<i64> {role = #gradus.role<counter>, init = #gradus.init<zeros>}
  gradus.graph @train() -> () {
    %step = gradus.read @step : tensor<i64>
    %one = arith.constant dense<1> : tensor<i64>
    %next = arith.addi %step, %one : tensor<i64>
    gradus.write @step, %next : tensor<i64>
    gradus.return
  }
})";

std::string programWith(const std::string &recipe) {
  std::string text = kProgram;
  return text.replace(text.find("%s"), 2, recipe);
}

/// 1 if the number of the update mod `every` is `at`, else 0.
Value isAt(OpBuilder &builder, Value update, int64_t every, int64_t at) {
  mlir::Location loc = update.getLoc();
  Value place = mlir::arith::RemSIOp::create(builder, loc, update,
                                             splatLike(builder, update, every));
  Value found =
      mlir::arith::CmpIOp::create(builder, loc, mlir::arith::CmpIPredicate::eq,
                                  place, splatLike(builder, update, at));
  return mlir::arith::SelectOp::create(builder, loc, found,
                                       splatLike(builder, update, 1),
                                       splatLike(builder, update, 0));
}

/// Adds a variant of @train for the updates whose number mod `every` is `at`.
void addEvery(ProgramOp program, const std::string &name, int64_t every,
              int64_t at) {
  cloneVariant(program.getGraph(kTrain), name, kUpdates);
  EXPECT_TRUE(succeeded(addChoices(program, {name}, at == 0,
                                   [&](OpBuilder &builder, Value update) {
                                     return isAt(builder, update, every, at);
                                   })));
}

std::string accumulating(llvm::StringRef train) { return "add_" + train.str(); }

void accumulate(ProgramOp program) {
  for (GraphOp graph : trainGraphs(program))
    cloneVariant(graph, accumulating(graph.getSymName()), kAccumulates);
  EXPECT_TRUE(succeeded(addAccumulation(program, accumulating)));
}

/// The graphs that run in the first steps.
std::vector<std::string> graphsOf(ProgramOp program, int steps) {
  EXPECT_TRUE(succeeded(mlir::verify(program)));
  StateMap states;
  for (auto state : program.getBody().getOps<StateOp>()) {
    HostTensor value =
        zeros(llvm::cast<mlir::RankedTensorType>(state.getType()));
    if (auto number = state.getInitAttr().getValue())
      value.integers.assign(1, int64_t(number.getValueAsDouble()));
    states[state.getSymName()] = value;
  }
  auto schedule = *program.getBody().getOps<ScheduleOp>().begin();
  std::vector<std::string> ran;
  for (int step = 0; step < steps; ++step) {
    int64_t count = states[*schedule.getCounter()].integers.at(0);
    std::string chosen;
    for (auto variant : schedule.getBody().getOps<VariantOp>())
      if (count % int64_t(variant.getEvery()) == int64_t(variant.getAt()))
        chosen = variant.getGraph().str();
    ran.push_back(chosen);
    EXPECT_TRUE(succeeded(evaluateGraph(program.getGraph(chosen), {}, states)));
  }
  return ran;
}

using Names = std::vector<std::string>;

} // namespace

TEST(StepVariants, RunForTheUpdatesThatAMethodChooses) {
  PassText text(programWith(""));
  addEvery(text.program(), "a", 3, 1);
  EXPECT_EQ(graphsOf(text.program(), 6),
            (Names{"train", "a", "train", "train", "a", "train"}));
}

TEST(StepVariants, MayBeginWithTheFirstUpdate) {
  PassText text(programWith(""));
  addEvery(text.program(), "a", 2, 0);
  EXPECT_EQ(graphsOf(text.program(), 4), (Names{"a", "train", "a", "train"}));
}

TEST(StepVariants, LeaveAlreadyChosenUpdatesAlone) {
  PassText text(programWith(""));
  addEvery(text.program(), "a", 3, 1);
  addEvery(text.program(), "b", 2, 1);
  addEvery(text.program(), "c", 4, 0);
  EXPECT_EQ(graphsOf(text.program(), 9),
            (Names{"c", "a", "train", "b", "a", "b", "train", "a", "c"}));
}

// The later method would choose the first update; so has the earlier one.
TEST(StepVariants, KeepTheEarlierChoiceOfTheFirstUpdate) {
  PassText text(programWith(""));
  addEvery(text.program(), "a", 3, 0);
  addEvery(text.program(), "b", 2, 0);
  EXPECT_EQ(graphsOf(text.program(), 4), (Names{"a", "train", "b", "a"}));
}

TEST(StepVariants, TakeTurnsByTheNumberOfTheUpdate) {
  for (std::string more : {"", "on_nonfinite = \"skip\""}) {
    PassText text(programWith(more));
    cloneVariant(text.program().getGraph(kTrain), "a", kUpdates);
    cloneVariant(text.program().getGraph(kTrain), "b", kUpdates);
    EXPECT_TRUE(succeeded(addTurns(text.program(), {"a", "b"})));
    EXPECT_FALSE(text.program().getState(kVariantState)) << "no step writes it";
    auto schedule = *text.program().getBody().getOps<ScheduleOp>().begin();
    EXPECT_EQ(schedule.getCounter(), more.empty() ? "step" : "accepted_steps");
    if (more.empty())
      EXPECT_EQ(graphsOf(text.program(), 5),
                (Names{"train", "a", "b", "train", "a"}));
  }
}

TEST(StepVariants, AddUpAllBatchesOfAnUpdateButTheLast) {
  PassText text(programWith("accumulation = 3 : i64"));
  accumulate(text.program());
  EXPECT_FALSE(text.program().getState(kVariantState)) << "the step tells it";
  EXPECT_EQ(graphsOf(text.program(), 6),
            (Names{"add_train", "add_train", "train", "add_train", "add_train",
                   "train"}));
}

TEST(StepVariants, AddUpInTheFormThatTheUpdateHas) {
  PassText text(programWith("accumulation = 2 : i64"));
  addEvery(text.program(), "a", 3, 1);
  addEvery(text.program(), "b", 2, 0);
  accumulate(text.program());
  EXPECT_EQ(
      graphsOf(text.program(), 8),
      (Names{"add_b", "b", "add_a", "a", "add_b", "b", "add_train", "train"}));
}

TEST(StepVariants, RefuseAStateOfTheModel) {
  std::string program = programWith("");
  program.insert(program.find("  gradus.graph"),
                 "  gradus.state @\"step/variant\" : tensor<2xf32> {role = "
                 "#gradus.role<parameter>, init = #gradus.init<zeros>}\n");
  PassText text(program);
  cloneVariant(text.program().getGraph(kTrain), "a", kUpdates);
  EXPECT_TRUE(
      failed(addChoices(text.program(), {std::string("a")}, 0,
                        [&](OpBuilder &, Value update) { return update; })));
  EXPECT_NE(text.messages.find("is the model's"), std::string::npos)
      << text.messages;
}

/// A program with a graph of its own.
std::string programWithGraph(const std::string &name,
                             const std::string &recipe) {
  std::string program = programWith(recipe);
  program.insert(program.rfind('}'), "  gradus.graph @" + name +
                                         "() -> () {\n    gradus.return\n  "
                                         "}\n");
  return program;
}

TEST(StepVariants, RefuseAGraphOfTheModel) {
  PassText chosen(programWithGraph("a", ""));
  cloneVariant(chosen.program().getGraph(kTrain), "a", kUpdates);
  EXPECT_TRUE(
      failed(addChoices(chosen.program(), {std::string("a")}, 0,
                        [&](OpBuilder &, Value update) { return update; })));
  PassText added(programWithGraph("add_train", "accumulation = 2 : i64"));
  cloneVariant(added.program().getGraph(kTrain), "add_train", kAccumulates);
  EXPECT_TRUE(failed(addAccumulation(added.program(), accumulating)));
  for (auto [text, name] :
       {std::pair(&chosen, "@a"), std::pair(&added, "@add_train")})
    EXPECT_NE(text->messages.find(std::string(name) +
                                  " is a graph of the model, but training "
                                  "derives a variant of that name from @train"),
              std::string::npos)
        << text->messages;
}

TEST(StepVariants, RefuseAScheduleOfTheProgram) {
  std::string program = programWith("");
  program.insert(program.rfind('}'), R"(  gradus.graph @slow() -> () {
    gradus.return
  }
  gradus.schedule @train {
    gradus.variant @train
    gradus.variant @slow every 3
  }
)");
  PassText text(program);
  cloneVariant(text.program().getGraph(kTrain), "a", kUpdates);
  EXPECT_TRUE(
      failed(addChoices(text.program(), {std::string("a")}, 0,
                        [&](OpBuilder &, Value update) { return update; })));
  EXPECT_NE(text.messages.find("is the program's own schedule of @train"),
            std::string::npos)
      << text.messages;
}
