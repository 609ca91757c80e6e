#include "codegen/compile.h"

#include "program_text.h"
#include "runtime/session/session.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/TargetParser/Host.h"

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

static std::vector<char>
compiled(std::vector<CompileReport> *reports = nullptr) {
  ProgramText text(scale);
  auto bytes = compileProgram(*text.module, {}, reports);
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
  EXPECT_EQ(*session->stepCount(), 1);
}

TEST(Compile, TheSameProgramGivesTheSameBytes) {
  EXPECT_EQ(compiled(), compiled());
}

TEST(Compile, KeepsTheArenaNearItsBound) {
  std::vector<CompileReport> reports;
  compiled(&reports);
  ASSERT_EQ(reports.size(), 1u);
  const CompileReport &report = reports.front();
  EXPECT_EQ(report.target, "cpu");
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

TEST(Compile, WantsATarget) {
  ProgramText text(scale);
  CompileOptions options;
  options.targets.clear();
  auto bytes = compileProgram(*text.module, options);
  ASSERT_FALSE(bool(bytes));
  EXPECT_EQ(llvm::toString(bytes.takeError()),
            "no target, expected at least one");
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

TEST(Compile, TellsPassesOfTheDevice) {
  for (int64_t mostWork : {512, 1}) {
    ProgramText text(R"(
gradus.program @p {
  gradus.graph @predict(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {
    %0 = math.exp %x : tensor<4xf32>
    %y = math.tanh %0 : tensor<4xf32>
    gradus.return %y : tensor<4xf32>
  }
})");
    DeviceModel model;
    model.fuse.mostWork = mostWork;
    ASSERT_TRUE(mlir::succeeded(runStages(*text.module, "fuse", model)));
    int nests = 0;
    text.module->walk([&](plan::NestOp) { ++nests; });
    EXPECT_EQ(nests, mostWork == 1 ? 2 : 1);
  }
}

//===-- several targets ---------------------------------------------------===//

static std::string product(const std::string &type,
                           const std::string &attributes = "") {
  std::string matrix = "tensor<512x512x" + type + ">";
  return "gradus.program @product " + attributes +
         " {\n  gradus.graph @predict(%x: " + matrix + ", %w: " + matrix +
         ") -> (y: " + matrix +
         ") {\n    %y = gradus.matmul %x, %w : " + matrix + ", " + matrix +
         " -> " + matrix + "\n    gradus.return %y : " + matrix + "\n  }\n}";
}

namespace {

/// Counts runs of pass managers, and takes down the names of stages.
struct CountingWatcher final : PassWatcher {
  int managers = 0;
  std::vector<std::string> stages;
  void stageAdded(llvm::StringRef stage, mlir::OpPassManager &) override {
    stages.push_back(stage.str());
  }
  void watch(mlir::PassManager &) override { ++managers; }
};

/// A program compiled for some targets.
struct Several {
  CountingWatcher watcher;
  std::vector<CompileReport> reports;
  std::shared_ptr<const runtime::Artifact> artifact;

  Several(const std::string &program, std::vector<std::string> targets) {
    ProgramText text(program);
    CompileOptions options;
    options.targets = std::move(targets);
    options.watcher = &watcher;
    auto bytes = compileProgram(*text.module, options, &reports);
    EXPECT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
    auto read = runtime::Artifact::fromBytes(
        {reinterpret_cast<const uint8_t *>(bytes->data()), bytes->size()},
        "several");
    EXPECT_TRUE(read.ok()) << read.status();
    artifact = *read;
  }

  /// Library calls of a plan.
  int calls(int plan) const {
    int calls = 0;
    for (const artifact::GraphPlan *graph :
         *artifact->header().plans()->Get(plan)->graphs())
      for (const artifact::Command *command : *graph->commands())
        calls += command->kind_type() == artifact::CommandKind::LibraryCommand;
    return calls;
  }

  const artifact::Plan &plan(int number) const {
    return *artifact->header().plans()->Get(number);
  }

  /// A plan's tables, but for where its sections lie in the file.
  std::vector<uint8_t> tables(int number) const {
    std::unique_ptr<artifact::PlanT> copy(plan(number).UnPack());
    copy->code.reset();
    copy->kernels.reset();
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(artifact::Plan::Pack(builder, copy.get()));
    return {builder.GetBufferPointer(),
            builder.GetBufferPointer() + builder.GetSize()};
  }

  std::vector<uint8_t> bytes(const artifact::Section *section) const {
    auto found = artifact->bytes(section);
    return {found.begin(), found.end()};
  }
};

bool hasHere(llvm::StringRef feature) {
  return llvm::sys::getHostCPUFeatures().lookup(feature);
}

} // namespace

// The library multiplies bf16 fast on one of them alone.
TEST(Compile, GivesEachTargetItsOwnCommands) {
  if (!hasHere("avx512bw"))
    GTEST_SKIP() << "oneDNN, asked on this machine, multiplies no bf16 without "
                    "AVX-512";
  Several both(product("bf16"), {"cpu:amx", "cpu:x86-64-v3"});
  EXPECT_EQ(both.calls(0), 1);
  EXPECT_EQ(both.calls(1), 0);
  EXPECT_EQ(both.watcher.managers, 4); // model, rest, codegen, codegen
  EXPECT_EQ(both.watcher.stages.back(), "schedule of cpu:x86-64-v3");
  ASSERT_EQ(both.reports.size(), 2u);
  EXPECT_EQ(both.reports[1].target, "cpu:x86-64-v3");
  EXPECT_GT(both.reports[1].code, both.reports[0].code);
}

TEST(Compile, RunsCodegenOnceForTargetsThatItDoesNotTellApart) {
  for (const char *other : {"cpu:x86-64-v2", "cpu:amx"}) {
    Several both(product("f32"), {"cpu:x86-64-v3", other});
    EXPECT_EQ(both.calls(0), 1);
    EXPECT_EQ(both.calls(1), 1);
    EXPECT_EQ(both.watcher.managers, 3);
    EXPECT_EQ(both.watcher.stages.back(), "schedule");
  }
}

TEST(Compile, PlansOfOneTargetAreThoseOfSeveral) {
  std::vector<std::string> names = {"cpu:amx", "cpu:x86-64-v3"};
  Several both(product("bf16"), names);
  EXPECT_FALSE(both.bytes(both.plan(1).code()).empty());
  for (int i : {0, 1}) {
    Several one(product("bf16"), {names[i]});
    EXPECT_EQ(one.bytes(one.plan(0).code()), both.bytes(both.plan(i).code()));
    EXPECT_EQ(one.bytes(one.plan(0).kernels()),
              both.bytes(both.plan(i).kernels()));
    EXPECT_EQ(one.tables(0), both.tables(i));
  }
}

// The best for this machine first: its commands are those of a copy of the
// program, which is gone when they run.
TEST(Compile, RunsWhatWasMadeOfACopy) {
  std::vector<std::string> names = {"cpu:amx", "cpu:x86-64-v3"};
  if (!hasHere("avx2"))
    GTEST_SKIP() << "this machine runs none of these targets";
  if (!hasHere("amx-bf16"))
    std::swap(names[0], names[1]);
  Several both(product("bf16"), names);
  auto session = *runtime::Session::create(both.artifact);
  ASSERT_EQ(session->plan().target()->str(), names[0]);
  const size_t size = 512;
  std::vector<uint16_t> x(size * size), half(size * size), y(size * size);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = 0x3f80 + i % 128; // 1 and above
  for (size_t i = 0; i < size; ++i)
    half[i * size + i] = 0x3f00; // 0.5
  const void *inputs[] = {x.data(), half.data()};
  void *outputs[] = {y.data()};
  ASSERT_TRUE(
      session->step(session->findGraph("predict"), inputs, outputs).ok());
  for (size_t i = 0; i < y.size(); ++i)
    ASSERT_EQ(y[i], x[i] - 0x80) << i;
}

// Whichever comes first: the error is of the one that needs most.
TEST(Compile, NamesTheTargetThatNeedsMostMemory) {
  for (std::vector<std::string> names :
       {std::vector<std::string>{"cpu:amx", "cpu:x86-64-v3"},
        std::vector<std::string>{"cpu:x86-64-v3", "cpu:amx"}}) {
    Several free(product("bf16"), names);
    const CompileReport &most = *llvm::max_element(
        free.reports, [](const CompileReport &a, const CompileReport &b) {
          return a.predicted() < b.predicted();
        });
    ProgramText text(
        product("bf16", "attributes {recipe = {memory_limit = 1000}}"));
    CompileOptions options;
    options.targets = names;
    auto refused = compileProgram(*text.module, options);
    ASSERT_FALSE(bool(refused));
    std::string error = llvm::toString(refused.takeError()),
                words = "the smallest possible, ";
    EXPECT_TRUE(llvm::StringRef(error).ends_with(
        " with recomputation) for target " + most.target))
        << error;
    double mebibytes =
        std::stod(error.substr(error.find(words) + words.size()));
    EXPECT_GE(mebibytes * 1048576, most.predicted());
  }
}

TEST(Compile, GivesGpusAPlanOfTheirOwn) {
  Several both(product("f32"), {"cpu:x86-64-v2", "emulated"});
  EXPECT_EQ(both.calls(0), 1);
  EXPECT_EQ(both.calls(1), 1);
  const artifact::Plan &plan = *both.artifact->header().plans()->Get(1);
  EXPECT_EQ(plan.target()->str(), "cuda");
  EXPECT_TRUE(both.artifact->bytes(plan.code()).empty());
  ASSERT_EQ(plan.images()->size(), 1u);
  const artifact::CodeImage &image = *plan.images()->Get(0);
  EXPECT_EQ(image.kind(), artifact::ImageKind::emulated);
  EXPECT_EQ(image.kernels()->size(),
            both.artifact->kernels(plan)->kernels()->size());
  EXPECT_EQ(both.reports[1].code,
            int64_t(both.artifact->bytes(image.code()).size()));
  EXPECT_TRUE(runtime::Session::create(both.artifact).ok()); // by the CPU's
}

TEST(Compile, APlanForGpusIsNoneForTheCpu) {
  Several alone(product("f32"), {"emulated"});
  auto session = runtime::Session::create(alone.artifact);
  ASSERT_FALSE(session.ok());
  EXPECT_NE(session.status().message().find(
                "has plans for cuda, and none for this processor"),
            std::string::npos)
      << session.status();
}

TEST(Compile, CountsOfATableTheSlicesThatAreTaken) {
  ProgramText text(R"(
gradus.program @lookup {
  gradus.graph @predict(%t: tensor<1000x16xf32>, %i: tensor<4xi64>) -> (y: tensor<4x16xf32>) {
    %y = gradus.gather %t at %i axis 0 : tensor<1000x16xf32>, tensor<4xi64> -> tensor<4x16xf32>
    gradus.return %y : tensor<4x16xf32>
  }
})");
  auto bytes = compileProgram(*text.module, {});
  ASSERT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
  auto session = loaded(*bytes);
  const auto *plan = session->artifact().header().plans()->Get(0);
  const auto *commands = plan->graphs()->Get(0)->commands();
  ASSERT_EQ(commands->size(), 1u);
  EXPECT_EQ(commands->Get(0)->bytes(), 4u * 8 + 2 * 4 * 16 * 4);
}
