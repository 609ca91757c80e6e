#include "codegen/compile.h"

#include "program_text.h"
#include "runtime/session.h"

using namespace gradus;

static const char *const scale = R"(
gradus.program @scale attributes {recipe = {loss = {type = "mse", output = "y"}, metrics = [], trainable = ["*"], fixed = [], optimizer = {type = "sgd", learning_rate = 5.0e-1, momentum = 0.0, dampening = 0.0, nesterov = false, weight_decay = 0.0}}} {
  gradus.state @w : tensor<4xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 2.0 : f64>}
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    %w = gradus.read @w : tensor<4xf32>
    %y = arith.mulf %x, %w : tensor<4xf32> loc("scale1")
    gradus.return %y : tensor<4xf32>
  }
})";

static std::vector<char> compiled(CompileReport *report = nullptr) {
  ProgramText text(scale);
  auto bytes = compileProgram(*text.module, {}, report);
  EXPECT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
  return std::move(*bytes);
}

static std::unique_ptr<runtime::Session>
loaded(const std::vector<char> &bytes) {
  auto artifact = runtime::Artifact::fromBytes(
      {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}, "scale");
  EXPECT_TRUE(artifact.ok()) << artifact.status();
  auto session = runtime::Session::create(*artifact);
  EXPECT_TRUE(session.ok()) << session.status();
  return std::move(*session);
}

TEST(Compile, TrainsOneParameter) {
  auto session = loaded(compiled());
  int train = session->findGraph("train");
  float x[4] = {1, 2, 0, -1}, label[4] = {1, 1, 1, 1}, loss = 0;
  const void *inputs[] = {x, label};
  void *outputs[] = {&loss};
  ASSERT_TRUE(session->step(train, inputs, outputs).ok());
  // Errors 1, 3, -1, -3; the gradient is x times half the error.
  EXPECT_FLOAT_EQ(loss, 5);
  float w[4];
  ASSERT_TRUE(session->readState("w", w, sizeof(w)).ok());
  EXPECT_FLOAT_EQ(w[0], 1.75);
  EXPECT_FLOAT_EQ(w[1], 0.5);
  EXPECT_FLOAT_EQ(w[2], 2);
  EXPECT_FLOAT_EQ(w[3], 1.25);
  EXPECT_EQ(session->stepCount(), 1);
}

TEST(Compile, TheSameProgramGivesTheSameBytes) {
  EXPECT_EQ(compiled(), compiled());
}

TEST(Compile, KeepsTheArenaNearItsBound) {
  CompileReport report;
  compiled(&report);
  for (const auto &graph : report.graphs)
    EXPECT_LE(graph.arena, 1.05 * graph.bound) << graph.name;
  EXPECT_GT(report.code, 0);
  EXPECT_GT(report.predicted(), report.code);
}

TEST(Compile, CommandsCarryTheNodesOfTheModel) {
  auto session = loaded(compiled());
  const auto &commands =
      session->graphs()[session->findGraph("predict")].commands;
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0].nodes, (std::vector<std::string>{"scale1"}));
}

TEST(Compile, RefusesATargetItDoesNotKnow) {
  ProgramText text(scale);
  CompileOptions options;
  options.targets = {"cpu:z80"};
  auto bytes = compileProgram(*text.module, options);
  ASSERT_FALSE(bool(bytes));
  EXPECT_NE(llvm::toString(bytes.takeError()).find("z80"), std::string::npos);
}

TEST(Compile, WantsOneProgram) {
  ProgramText text("module {}");
  auto bytes = compileProgram(*text.module, {});
  ASSERT_FALSE(bool(bytes));
  EXPECT_EQ(llvm::toString(bytes.takeError()),
            "the module holds 0 programs, expected one");
}

TEST(Compile, HasStagesByName) {
  auto stages = compileStages();
  EXPECT_EQ(stages.front(), "model");
  EXPECT_EQ(stages.back(), "schedule");
}
