// A step under a memory limit computes parts of the model twice, and the same.

#include "codegen/compile.h"
#include "codegen/memory/memory_limit.h"

#include "runtime/session/session.h"
#include "tests/codegen/program_text.h"

#include <cmath>
#include <map>

using namespace gradus;

namespace {

constexpr int layers = 12;

/// Dense layers of the width at which products are commands of their own.
/// `recipe` has more keys.
std::string deep(const std::string &limit, const std::string &recipe = "") {
  std::string states, body, x = "%x";
  for (int i = 0; i < layers; ++i) {
    std::string n = std::to_string(i);
    states += "gradus.state @w" + n +
              " : tensor<256x256xf32> {role = #gradus.role<parameter>, init = "
              "#gradus.init<kaiming_uniform>}\n";
    body += "%w" + n + " = gradus.read @w" + n + " : tensor<256x256xf32>\n%a" +
            n + " = gradus.matmul " + x + ", %w" + n +
            " : tensor<512x256xf32>, tensor<256x256xf32> -> "
            "tensor<512x256xf32>\n%h" +
            n + " = math.tanh %a" + n + " : tensor<512x256xf32>\n%y" + n +
            " = arith.addf %h" + n + ", " + x + " : tensor<512x256xf32>\n";
    x = "%y" + n;
  }
  return "gradus.program @deep attributes {recipe = {loss = {type = \"mse\", "
         "output = \"y\"}, optimizer = {type = \"sgd\", learning_rate = "
         "1.0e-1, momentum = 9.0e-1}" +
         recipe +
         (limit.empty() ? "" : ", memory_limit = " + limit + " : i64") +
         "}} {\n" + states +
         "gradus.graph @predict(%x: tensor<512x256xf32>) -> (y: "
         "tensor<512x256xf32>) {\n" +
         body + "gradus.return " + x + " : tensor<512x256xf32>\n}\n}\n";
}

struct Trained {
  CompileReport report;
  std::string error;
  std::vector<float> losses;
};

Trained train(const std::string &limit, const std::string &recipe = "") {
  Trained trained;
  ProgramText text(deep(limit, recipe));
  std::vector<CompileReport> reports;
  auto bytes = compileProgram(*text.module, {}, &reports);
  if (!bytes) {
    trained.error = llvm::toString(bytes.takeError());
    return trained;
  }
  trained.report = reports.front();
  auto artifact = runtime::Artifact::fromBytes(
      {reinterpret_cast<const uint8_t *>(bytes->data()), bytes->size()},
      "deep");
  EXPECT_TRUE(artifact.ok()) << artifact.status();
  auto session = *runtime::Session::create(*artifact);
  std::vector<float> x(512 * 256), label(512 * 256);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i % 37) / 37, label[i] = float(i % 11) / 11;
  for (int step = 0; step < 5; ++step) {
    float loss = 0;
    const void *inputs[] = {x.data(), label.data()};
    void *outputs[] = {&loss};
    EXPECT_TRUE(
        session->step(session->findGraph("train"), inputs, outputs).ok());
    trained.losses.push_back(loss);
  }
  return trained;
}

/// The training graphs of a report by their names.
std::map<std::string, CompileReport::Graph>
trainGraphs(const CompileReport &report) {
  std::map<std::string, CompileReport::Graph> graphs;
  for (const CompileReport::Graph &graph : report.graphs)
    if (llvm::StringRef(graph.name).starts_with("train"))
      graphs[graph.name] = graph;
  return graphs;
}

const std::string kThor =
    ", precondition = {type = \"thor\", refresh = {every = 3 : i64}}";
const std::string kSpread = ", precondition = {type = \"kfac\", refresh = "
                            "{every = 4 : i64, spread = 2 : i64}}";
const std::string kFrozen = ", gradient_freeze = {groups = 3 : i64, strategy = "
                            "[0 : i64, 1 : i64, 2 : i64]}";

TEST(MemoryLimit, TrainsTheSameInLess) {
  Trained free = train("");
  int64_t limit = free.report.predicted() - free.report.arena * 4 / 10;
  Trained tight = train(std::to_string(limit));
  ASSERT_EQ(tight.error, "");
  EXPECT_LE(tight.report.predicted(), limit);
  EXPECT_LE(tight.report.arena, free.report.arena * 6 / 10);
  EXPECT_EQ(tight.losses, free.losses) << "bit for bit";
  EXPECT_NE(free.losses.front(), free.losses.back());
}

/// In a process that has run a session oneDNN counts its threads as sessions
/// do, and asks for other scratch: so one runs before the two that are
/// compared.
TEST(MemoryLimit, ChangesNothingWhereThereIsRoom) {
  train("");
  Trained free = train(""),
          roomy = train(std::to_string(free.report.predicted()));
  EXPECT_EQ(roomy.report.arena, free.report.arena);
  EXPECT_EQ(roomy.report.graphs[1].commands, free.report.graphs[1].commands);
}

TEST(MemoryLimit, ComputesNoMoreTwiceThanItMust) {
  Trained free = train("");
  int64_t spare = free.report.arena / 10;
  Trained tight = train(std::to_string(free.report.predicted() - spare));
  ASSERT_EQ(tight.error, "");
  EXPECT_GT(tight.report.arena, free.report.arena / 2);
}

/// All variants share an arena, and five steps run each of these.
TEST(MemoryLimit, HoldsForEveryVariantOfTheStep) {
  for (const std::string &recipe : {kThor, kSpread, kFrozen}) {
    SCOPED_TRACE(recipe);
    Trained free = train("", recipe);
    int64_t limit = free.report.predicted() - free.report.arena * 15 / 100;
    Trained tight = train(std::to_string(limit), recipe);
    ASSERT_EQ(tight.error, "");
    EXPECT_LE(tight.report.predicted(), limit);
    auto graphs = trainGraphs(tight.report);
    EXPECT_GE(graphs.size(), 2u);
    for (const auto &[name, before] : trainGraphs(free.report)) {
      EXPECT_LE(graphs[name].arena, free.report.arena * 85 / 100) << name;
      bool isRecomputed = graphs[name].commands > before.commands;
      EXPECT_EQ(isRecomputed, before.arena > tight.report.arena) << name;
    }
    EXPECT_EQ(tight.losses, free.losses) << "bit for bit";
    EXPECT_NE(free.losses.front(), free.losses.back());
  }
}

/// The step that trains the last layers alone keeps little of the others.
TEST(MemoryLimit, ComputesTwiceInTheVariantsThatNeedIt) {
  Trained free = train("", kFrozen);
  auto before = trainGraphs(free.report);
  ASSERT_LT(before["train_cut2"].arena, before["train"].arena * 9 / 10);
  Trained tight =
      train(std::to_string(free.report.predicted() - free.report.arena / 10),
            kFrozen);
  ASSERT_EQ(tight.error, "");
  auto graphs = trainGraphs(tight.report);
  EXPECT_GT(graphs["train"].commands, before["train"].commands);
  EXPECT_EQ(graphs["train_cut2"].commands, before["train_cut2"].commands);
}

/// Reports what a program with a limit needs on a target whose gradients of
/// weights are the library's, which packs nothing in the arena; none if it does
/// not fit.
std::optional<CompileReport> onPlainTarget(const std::string &limit,
                                           const std::string &recipe) {
  ProgramText text(deep(limit, recipe));
  CompileOptions options;
  options.targets = {"cpu:x86-64-v3"};
  std::vector<CompileReport> reports;
  auto bytes = compileProgram(*text.module, options, &reports);
  if (bytes)
    return reports.front();
  llvm::consumeError(bytes.takeError());
  return std::nullopt;
}

/// Soon after the loss a refresh reads what it has measured of each layer: that
/// is kept, so that the layers' results are not computed again too soon.
TEST(MemoryLimit, KeepsTheLittleThatIsReadSoon) {
  auto free = onPlainTarget("", kThor);
  ASSERT_TRUE(free);
  int64_t limit = free->predicted() - free->arena * 4 / 10;
  EXPECT_TRUE(onPlainTarget(std::to_string(limit), kThor));
}

TEST(MemoryLimit, HoldsForEveryTarget) {
  int64_t limit = train("").report.predicted() * 9 / 10;
  ProgramText text(deep(std::to_string(limit)));
  CompileOptions options;
  options.targets = {"cpu:x86-64-v2", "cpu:x86-64-v3"};
  std::vector<CompileReport> reports;
  auto bytes = compileProgram(*text.module, options, &reports);
  ASSERT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
  ASSERT_EQ(reports.size(), 2u);
  for (const CompileReport &report : reports)
    EXPECT_LE(report.predicted(), limit) << report.target;
}

/// Compiles for several ranks; gradients of two layers are a bucket. With few
/// samples, gradients are what most of the arena holds.
CompileReport onRanks(const std::string &samples, const std::string &limit) {
  std::string program =
      deep(limit, ", distribution = {mode = \"data_parallel\", "
                  "bucket_bytes = 524288 : i64}");
  const std::string many = "<512x";
  for (size_t at; (at = program.find(many)) != std::string::npos;)
    program.replace(at, many.size(), "<" + samples + "x");
  ProgramText text(program);
  std::vector<CompileReport> reports;
  auto bytes = compileProgram(*text.module, {}, &reports);
  EXPECT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
  return reports.empty() ? CompileReport() : reports.front();
}

TEST(MemoryLimit, KeepsFewerBucketsInFlightBeforeItComputesTwice) {
  CompileReport free = onRanks("16", "");
  CompileReport tight = onRanks("16", std::to_string(free.predicted() - 64));
  EXPECT_LE(tight.arena, free.arena - 256 * 256 * 4) << "a gradient or more";
  EXPECT_EQ(tight.graphs[1].commands, free.graphs[1].commands);
}

TEST(MemoryLimit, ComputesTwiceWhereBucketsAreNotWhatIsTooMuch) {
  CompileReport free = onRanks("513", "");
  CompileReport tight = onRanks("513", std::to_string(free.predicted() - 64));
  EXPECT_LT(tight.arena, free.arena);
  EXPECT_GT(tight.graphs[1].commands, free.graphs[1].commands);
}

TEST(MemoryLimit, NamesTheSmallestPossible) {
  Trained refused = train("1000");
  const std::string words = "memory_limit: found 1000 bytes, expected at least "
                            "the smallest possible, ";
  ASSERT_EQ(refused.error.find(words), 0u) << refused.error;
  EXPECT_NE(refused.error.find("with recomputation"), std::string::npos);
  double mebibytes = std::stod(refused.error.substr(words.size()));
  auto bytes = int64_t(std::ceil(mebibytes * 1048576));
  EXPECT_EQ(train(std::to_string(bytes)).error, "");
  Trained less = train(std::to_string(bytes - 2 * 10486));
  EXPECT_NE(less.error.find(refused.error.substr(words.size())),
            std::string::npos)
      << less.error;
}

/// In a refresh the layers' inputs and factors are there at once.
TEST(MemoryLimit, NamesTheVariantThatNeedsMost) {
  auto words = [](const std::string &recipe) {
    std::string error = train("1000", recipe).error;
    size_t of = error.find(" of @");
    return of == std::string::npos ? error : error.substr(of);
  };
  EXPECT_EQ(words(""), " of @train with recomputation)");
  EXPECT_EQ(words(kThor), " of @train_refresh with recomputation)");
}

} // namespace
