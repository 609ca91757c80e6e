// Recorded models train as PyTorch trains them: gradients, losses, final
// parameters and running statistics of every case, file and run, within the
// case's own tolerances. The cases are those of tests/data/models and of the
// folders that GRADUS_MODELS lists, with ':' between them; those of full size
// are for tests/full_size_test.py.

#include "tests/sanitized.h"
#include "tests/tool/check/named_run.h"
#include "tests/tool/check/roundings.h"
#include "tool/check/check_run.h"

#include "tool/check/trainer.h"

#include "absl/strings/str_join.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <unistd.h>

extern "C" gradus::compiler::Compiler *gradus_compiler();

namespace gradus::check {
namespace {

struct Named : NamedRun {
  bool first; // of the file's runs: the one that compares gradients
};

void addRuns(const std::filesystem::path &folder, std::vector<Named> &runs) {
  auto recorded = RecordedCase::open(folder);
  if (!recorded.ok())
    throw std::runtime_error(std::string(recorded.status().message()));
  for (const std::string &file : recorded->files()) {
    bool first = true;
    for (const Json &run : recorded->description().at("runs")) {
      runs.push_back({{folder, file, run.at("id")}, first});
      if (GRADUS_SANITIZE) // Further runs differ in the optimizer alone.
        break;
      first = false;
    }
  }
}

std::vector<Named> allRuns() {
  std::vector<Named> runs;
  for (const std::filesystem::path &folder : smallCases())
    addRuns(folder, runs);
  return runs;
}

/// Trains the compiled file, as often as that takes.
bool trainsByRoundings(const RecordedCase &recorded, const std::string &file,
                       const Json &run) {
  compiler::Request request;
  request.model = recorded.pathOf(file);
  request.recipe.text = recorded.recipe(file, run);
  request.plan.threads = 2;
  compiler::Result result = takeOrThrow(gradus_compiler()->compile(request));
  Trainer trainer(std::move(result.artifact), recorded, {.threads = 2});
  const Json &order = run.at("batch_order");
  return hangsOnRoundings(run, order.size(), [&](uint32_t seed) {
    trainer.restart(seed);
    std::vector<double> losses;
    trainer.train(
        order, [&](double) { losses.push_back(trainer.output("loss").at(0)); });
    return losses;
  });
}

class Recorded : public ::testing::TestWithParam<Named> {};

TEST_P(Recorded, TrainsAsItDidElsewhere) {
  auto recorded = RecordedCase::open(GetParam().folder);
  ASSERT_TRUE(recorded.ok()) << recorded.status();
  if (std::string missing = recorded->missing(GetParam().file);
      !missing.empty())
    GTEST_SKIP() << missing << " is not stored";
  Outcome outcome =
      checkRun(*gradus_compiler(), *recorded, GetParam().file, GetParam().run,
               {.threads = 2, .gradients = GetParam().first});
  if (!outcome.passed() && trainsByRoundings(*recorded, GetParam().file,
                                             recorded->run(GetParam().run)))
    GTEST_SKIP() << kHangsOnRoundings;
  EXPECT_TRUE(outcome.passed()) << absl::StrJoin(outcome.failures, "\n");
  EXPECT_TRUE(!outcome.passed() || outcome.comparisons > 0);
}

INSTANTIATE_TEST_SUITE_P(models, Recorded, ::testing::ValuesIn(allRuns()),
                         nameOf<Named>);

double distance(const std::vector<double> &a, const std::vector<double> &b) {
  double squares = 0;
  for (size_t i = 0; i < a.size(); ++i)
    squares += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(squares);
}

// ONNX's definition divides by N, which the recipe may ask for: what the file
// means is recorded beside what PyTorch does.
TEST(CheckRun, DividesRunningVariancesAsTheRecipeSays) {
  RecordedCase recorded = takeOrThrow(RecordedCase::open(
      GRADUS_SOURCE_DIR "/tests/data/models/resnet18-small"));
  const Json &run = recorded.run("sgd");
  compiler::Request request;
  request.model = recorded.pathOf("model.onnx");
  request.recipe.text = recorded.recipe("model.onnx", run);
  request.recipe.overrides = {"batch_norm_variance=onnx"};
  request.plan.threads = 2;
  compiler::Result result = takeOrThrow(gradus_compiler()->compile(request));
  Trainer trainer(std::move(result.artifact), recorded, {.threads = 2});
  trainer.train(run.at("batch_order"));
  std::vector<std::string> wrong;
  // Where the rules differ most: whether the one is nearer than the other.
  double furthest = 0;
  bool isNearer = false;
  for (const Json &norm : recorded.description().at("batch_norm")) {
    std::string name = norm.at("name").get<std::string>() + ".running_var";
    std::vector<double> found = trainer.state(name), zero(found.size());
    auto expected = toDoubles(*recorded.expected("sgd.onnx." + name)),
         other = toDoubles(*recorded.expected("sgd.torch." + name));
    double off = distance(found, expected), offOther = distance(found, other),
           tolerance = run.at("final_param_l2_rtol").get<double>() *
                       distance(expected, zero);
    if (off >= tolerance || offOther <= tolerance)
      wrong.push_back(name);
    double apart = distance(expected, other) / distance(expected, zero);
    if (apart > furthest)
      isNearer = off < offOther;
    furthest = std::max(furthest, apart);
  }
  EXPECT_TRUE(isNearer) << "roundings do not turn one rule into the other";
  if (!wrong.empty() && trainsByRoundings(recorded, "model.onnx", run))
    GTEST_SKIP() << kHangsOnRoundings;
  EXPECT_EQ(wrong, std::vector<std::string>());
}

// A tool that says "passed" of anything would be worse than none.
TEST(CheckRun, SeesALossThatIsALittleOff) {
  auto folder = std::filesystem::path(GRADUS_SOURCE_DIR "/tests/data/models") /
                "mlp_regression";
  auto copy = std::filesystem::temp_directory_path() /
              ("gradus_check_run_test." + std::to_string(getpid()));
  std::filesystem::remove_all(copy);
  std::filesystem::copy(folder, copy);
  Json description = Json::parse(std::ifstream(folder / "case.json"));
  double &loss =
      *description["runs"][0]["losses"][3].get_ptr<Json::number_float_t *>();
  loss *= 1.001;
  std::ofstream(copy / "case.json") << description;
  auto recorded = RecordedCase::open(copy);
  ASSERT_TRUE(recorded.ok());
  Outcome outcome =
      checkRun(*gradus_compiler(), *recorded, "model.onnx", "sgd", {});
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_EQ(outcome.failures[0].find("loss of step 3 is "), 0u)
      << outcome.failures[0];
  std::filesystem::remove_all(copy);
}

} // namespace
} // namespace gradus::check
