// Recorded models, trained by the reference evaluator in f64: their gradients,
// losses and final parameters are the recorded ones, which shows that importer
// and graph passes are right. The compiled artifact is held against the same
// recordings in tests/tool/check.

#include "tests/end_to_end/compiled.h"
#include "tests/sanitized.h"
#include "tests/tool/check/named_run.h"
#include "tool/check/comparison.h"

#include "codegen/compile.h"
#include "frontends/onnx/import.h"
#include "frontends/recipe/recipe.h"
#include "ir/evaluator/evaluator.h"

#include "mlir/IR/Verifier.h"

#include <gtest/gtest.h>

using namespace gradus;
using namespace gradus::check;

namespace {

/// The evaluator is slow: small cases only.
bool isSmall(const RecordedCase &recorded) {
  return recorded.description().at("parameters_total").get<int>() < 20000;
}

/// The runs of each file; only the first of each where `first`.
std::vector<NamedRun> smallRuns(bool first) {
  std::vector<NamedRun> runs;
  for (const auto &folder : findCases(GRADUS_SOURCE_DIR "/tests/data/models"))
    if (auto recorded = RecordedCase::open(folder);
        recorded.ok() && isSmall(*recorded))
      for (const std::string &file : recorded->files())
        for (const Json &run : recorded->description().at("runs")) {
          runs.push_back({folder, file, run.at("id")});
          if (first)
            break;
        }
  return runs;
}

HostTensor hostTensor(const runtime::NamedTensor &tensor) {
  HostTensor result =
      zeros(tensor.type.shape, tensor.type.dtype == runtime::DType::f32);
  std::vector<double> values = toDoubles(tensor);
  if (result.isFloat)
    result.floats.assign(values.begin(), values.end());
  else
    result.integers.assign(values.begin(), values.end());
  return result;
}

/// A program that trains a file of a case by the recipe of a run.
class EvaluatedModel : public ::testing::TestWithParam<NamedRun> {
protected:
  void SetUp() override {
    auto recorded = RecordedCase::open(GetParam().folder);
    ASSERT_TRUE(recorded.ok()) << recorded.status();
    recorded_.emplace(*std::move(recorded));
    const Json &run = recorded_->run(GetParam().run);
    comparison_.emplace(*recorded_, GetParam().file, run);
    auto recipe =
        recipe::read(recorded_->recipe(GetParam().file, run), "recipe");
    ASSERT_TRUE(recipe.ok()) << recipe.status();
    import(*recipe);
  }

  void import(const recipe::Recipe &recipe) {
    ImportOptions options;
    options.dims = recipe.dims;
    options.trainable = recipe.trainable;
    options.recipe = recipe::toAttribute(recipe, *context_);
    auto module =
        importOnnx(recorded_->pathOf(GetParam().file), options, *context_);
    ASSERT_TRUE(module.ok()) << module.status();
    module_ = std::move(*module);
  }

  GraphOp train() {
    return (*module_->getOps<ProgramOp>().begin()).getGraph("train");
  }

  std::vector<HostTensor> inputs(int batch) {
    std::vector<HostTensor> result;
    for (mlir::Attribute name : train().getInputNames())
      result.push_back(hostTensor(
          recorded_->input(mlir::cast<mlir::StringAttr>(name).str(), batch)));
    return result;
  }

  StateMap initialStates() {
    StateMap states;
    for (StateOp state :
         (*module_->getOps<ProgramOp>().begin()).getOps<StateOp>())
      states[state.getSymName()] = state.getValue()
                                       ? *gradus::toHost(*state.getValue())
                                       : startOf(state);
    return states;
  }

  const std::vector<double> &floats(StateMap &values,
                                    const std::string &parameter) {
    auto alias = recorded_->aliasOf(GetParam().file, parameter);
    return values[alias->initializer].floats;
  }

  /// A case's first file is followed to its end. The other files hold the same
  /// model, so that a wrong import shows in the gradients and in the first
  /// losses; the sanitizers find nothing in the third run of a graph.
  size_t mostSteps() {
    bool isFirst = GetParam().file == recorded_->files().front();
    return isFirst && !GRADUS_SANITIZE ? SIZE_MAX : 2;
  }

  void expectNoFailures() {
    EXPECT_GT(comparison_->count(), 0u);
    for (const Deviation &failure : comparison_->failures())
      ADD_FAILURE() << failure.text();
  }

  mlir::DialectRegistry registry_ = [] {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }();
  std::unique_ptr<mlir::MLIRContext> context_ =
      std::make_unique<mlir::MLIRContext>(
          registry_, mlir::MLIRContext::Threading::DISABLED);
  std::optional<RecordedCase> recorded_;
  std::optional<Comparison> comparison_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

/// With the recipe of a file's first run: gradients are those before the
/// optimizer, which is all that tells runs apart.
class EvaluatedGradients : public EvaluatedModel {};

TEST_P(EvaluatedGradients, AreTheRecordedOnes) {
  ASSERT_TRUE(mlir::succeeded(runStages(*module_, "gradients")));
  StateMap states = initialStates(), gradients;
  int first = comparison_->batches().front();
  ASSERT_TRUE(mlir::succeeded(
      evaluateGraph(train(), inputs(first), states, &gradients)));
  for (const std::string &parameter : comparison_->parameters())
    comparison_->gradient(parameter, floats(gradients, parameter));
  expectNoFailures();
}

TEST_P(EvaluatedModel, FollowsTheRecordedRun) {
  ASSERT_TRUE(mlir::succeeded(runStages(*module_, "optimize")));
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*module_)));
  StateMap states = initialStates();
  std::vector<int> order = comparison_->batches();
  order.resize(std::min(order.size(), mostSteps()));
  for (size_t step = 0; step < order.size(); ++step) {
    if (step == comparison_->stepCount())
      for (const std::string &parameter : comparison_->parameters())
        comparison_->finalParameter(parameter, floats(states, parameter));
    auto outputs = evaluateGraph(train(), inputs(order[step]), states);
    ASSERT_TRUE(mlir::succeeded(outputs));
    comparison_->loss(step, outputs->front().floats[0]);
  }
  expectNoFailures();
}

INSTANTIATE_TEST_SUITE_P(models, EvaluatedGradients,
                         ::testing::ValuesIn(smallRuns(/*first=*/true)),
                         nameOf<NamedRun>);
INSTANTIATE_TEST_SUITE_P(models, EvaluatedModel,
                         ::testing::ValuesIn(smallRuns(/*first=*/false)),
                         nameOf<NamedRun>);

} // namespace
