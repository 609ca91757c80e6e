// Recorded models train as PyTorch trains them: gradients, losses and final
// parameters of every case, file and run, within the case's own tolerances.
//
// Twice: by the reference evaluator in f64, which shows that the graph passes
// are right, and by the compiled artifact, which shows that the rest is, too.

#include "tests/recorded_case.h"

#include "codegen/compile.h"
#include "frontends/recipe/recipe.h"
#include "runtime/gradus.h"

#include "mlir/IR/Verifier.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

/// One run (an optimizer and its steps) of one file of a case.
struct Run {
  CaseFile file;
  std::string id;
};

std::ostream &operator<<(std::ostream &stream, const Run &run) {
  return stream << run.file << " " << run.id;
}

std::vector<Run> allRuns() {
  std::vector<Run> runs;
  for (const CaseFile &file : allCaseFiles()) {
    const Json description =
        Json::parse(std::ifstream(file.folder / "case.json"));
    for (const Json &run : description["runs"])
      runs.push_back({file, run["id"]});
  }
  return runs;
}

/// A run as a recipe: other names for the same things.
std::string recipeOf(const RecordedCase &recorded, const Json &run) {
  Json optimizer = run["optimizer"], loss = recorded.description["loss"];
  for (const auto &[theirs, ours] :
       {std::pair("lr", "learning_rate"), {"eps", "epsilon"}})
    if (optimizer.contains(theirs)) {
      optimizer[ours] = optimizer[theirs];
      optimizer.erase(theirs);
    }
  loss.erase("reduction"); // always the mean
  return Json{{"optimizer", optimizer},
              {"loss", loss},
              {"inputs", {{"dims", recorded.dims()}}}}
      .dump();
}

/// A program that trains a file of a case by the recipe of a run.
class RecordedRun : public ::testing::TestWithParam<Run> {
protected:
  void SetUp() override {
    if (!recorded_.isComplete())
      GTEST_SKIP() << "has no stored weights";
    for (const Json &run : recorded_.description["runs"])
      if (run["id"] == GetParam().id)
        run_ = run;
    auto recipe = recipe::read(recipeOf(recorded_, run_), "recipe");
    ASSERT_TRUE(recipe.ok()) << recipe.status();
    ImportOptions options;
    options.dims = recorded_.dims();
    options.recipe = recipe::toAttribute(*recipe, *context_);
    auto module = importOnnx(GetParam().file.path(), options, *context_);
    if (!module.ok() && isUnsupported(module.status().message()))
      GTEST_SKIP() << module.status();
    ASSERT_TRUE(module.ok()) << module.status();
    module_ = std::move(*module);
  }

  ProgramOp program() { return *module_->getOps<ProgramOp>().begin(); }

  /// Batch numbers of the steps, and the one whose loss is taken afterwards.
  std::vector<int> batches() const {
    std::vector<int> order = run_["batch_order"];
    order.push_back(0);
    return order;
  }

  double expectedLoss(size_t step) const {
    return step < run_["losses"].size() ? run_["losses"][step]
                                        : run_["loss_after_on_batch0"];
  }

  void expectLoss(size_t step, double loss) const {
    double tolerance = run_["loss_rtol"][step];
    EXPECT_NEAR(loss, expectedLoss(step),
                tolerance * std::abs(expectedLoss(step)))
        << "at step " << step;
  }

  /// Compares a gradient with PyTorch's; f32 runs differ from f64 by `dev`.
  void expectGradient(const Json &parameter,
                      const std::vector<double> &gradient) const {
    std::string name = parameter["name"];
    double tolerance = double(parameter["grad0_max_abs_dev_fp64"]) * 2 + 1e-9;
    EXPECT_NEAR(normOf(gradient), parameter["grad0_l2"],
                tolerance * std::sqrt(gradient.size()))
        << name;
    std::vector<double> expected = parameter["grad0_first8"];
    if (recorded_.expects("grad0." + name))
      expected = toHost(recorded_.expected("grad0." + name)).floats;
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(gradient[i], expected[i], tolerance)
          << name << "[" << i << "]";
  }

  /// The norm of every parameter, and the elements of those that are recorded.
  void expectFinal(const std::string &name,
                   const std::vector<double> &values) const {
    if (run_["final_param_l2_drift_without_rtol"].contains(name))
      return; // Its true gradient is zero: what remains is rounding.
    double expected = run_["final_param_l2"][name];
    double tolerance = double(run_["final_param_l2_rtol"]) * expected;
    EXPECT_NEAR(normOf(values), expected, tolerance) << name;
    std::string recorded = GetParam().id + ".final." + name;
    if (!recorded_.expects(recorded))
      return;
    std::vector<double> difference =
        toHost(recorded_.expected(recorded)).floats;
    for (size_t i = 0; i < values.size(); ++i)
      difference[i] -= values[i];
    EXPECT_LE(normOf(difference), tolerance) << name;
  }

  static double normOf(const std::vector<double> &values) {
    double squares = 0;
    for (double value : values)
      squares += value * value;
    return std::sqrt(squares);
  }

  mlir::DialectRegistry registry_ = [] {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }();
  std::unique_ptr<mlir::MLIRContext> context_ =
      std::make_unique<mlir::MLIRContext>(
          registry_, mlir::MLIRContext::Threading::DISABLED);
  RecordedCase recorded_{GetParam().file};
  Json run_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

//===-- by the reference evaluator ----------------------------------------===//

class EvaluatedModel : public RecordedRun {
protected:
  std::vector<HostTensor> inputs(GraphOp graph, int batch) {
    std::vector<HostTensor> result;
    for (mlir::Attribute attribute : graph.getInputNames()) {
      std::string name = mlir::cast<mlir::StringAttr>(attribute).str();
      result.push_back(toHost(name == "label" ? recorded_.labels(batch)
                                              : recorded_.input(name, batch)));
    }
    return result;
  }

  StateMap initialStates() {
    StateMap states;
    for (StateOp state : program().getOps<StateOp>())
      states[state.getSymName()] =
          state.getValue()
              ? *gradus::toHost(*state.getValue())
              : zeros(mlir::cast<mlir::RankedTensorType>(state.getType()));
    return states;
  }

  /// The evaluator is slow; of larger models it runs the first steps only.
  size_t stepsWorthwhile() const {
    return int(recorded_.description["parameters_total"]) < 20000 ? SIZE_MAX
                                                                  : 2;
  }
};

TEST_P(EvaluatedModel, HasTheRecordedGradients) {
  ASSERT_TRUE(mlir::succeeded(runStages(*module_, "methods")));
  StateMap states = initialStates(), gradients;
  GraphOp train = program().getGraph("train");
  ASSERT_TRUE(mlir::succeeded(
      evaluateGraph(train, inputs(train, 0), states, &gradients)));
  for (const Json &parameter : recorded_.description["parameters"])
    expectGradient(parameter,
                   gradients[parameter["name"].get<std::string>()].floats);
}

TEST_P(EvaluatedModel, FollowsTheRecordedRun) {
  ASSERT_TRUE(mlir::succeeded(runStages(*module_, "optimize")));
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*module_)));
  StateMap states = initialStates();
  GraphOp train = program().getGraph("train");
  std::vector<int> order = batches();
  for (size_t step = 0; step < order.size() && step < stepsWorthwhile();
       ++step) {
    if (step == run_["losses"].size())
      for (const auto &[name, norm] : run_["final_param_l2"].items())
        expectFinal(name, states[name].floats);
    auto outputs = evaluateGraph(train, inputs(train, order[step]), states);
    ASSERT_TRUE(mlir::succeeded(outputs));
    expectLoss(step, outputs->front().floats[0]);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, EvaluatedModel, ::testing::ValuesIn(allRuns()),
                         [](const auto &info) {
                           return testName(info.param.file) + "_" +
                                  info.param.id;
                         });

//===-- by the compiled artifact ------------------------------------------===//

struct FreeSession {
  void operator()(gradus_session *session) const { gradus_free(session); }
};
using Session = std::unique_ptr<gradus_session, FreeSession>;

class CompiledModel : public RecordedRun {
protected:
  /// Compiles what is in the module and loads it.
  void load() {
    CompileOptions options;
    auto artifact = compileProgram(*module_, options);
    ASSERT_TRUE(bool(artifact)) << llvm::toString(artifact.takeError());
    gradus_session *session = nullptr;
    ASSERT_EQ(gradus_load_memory(artifact->data(), artifact->size(), nullptr,
                                 &session),
              GRADUS_OK)
        << gradus_last_error(nullptr);
    session_.reset(session);
  }

  /// Runs @train on one batch; its outputs by name.
  std::map<std::string, std::vector<double>> step(int batch) {
    gradus_session *session = session_.get();
    int graph = gradus_find_graph(session, "train");
    std::vector<const void *> inputs;
    for (int i = 0; i < gradus_input_count(session, graph); ++i) {
      gradus_tensor input;
      gradus_input(session, graph, i, &input);
      std::string name = input.name;
      inputs.push_back((name == "label" ? recorded_.labels(batch)
                                        : recorded_.input(name, batch))
                           .data.data());
    }
    EXPECT_EQ(gradus_step(session, graph, inputs.data(), nullptr), GRADUS_OK)
        << gradus_last_error(session);
    std::map<std::string, std::vector<double>> outputs;
    for (int i = 0; i < gradus_output_count(session, graph); ++i) {
      gradus_tensor output;
      gradus_output(session, graph, i, &output);
      const float *values =
          static_cast<const float *>(gradus_output_buffer(session, graph, i));
      outputs[output.name].assign(values,
                                  values + output.bytes / sizeof(float));
    }
    return outputs;
  }

  std::vector<double> state(const std::string &name) {
    gradus_tensor tensor;
    int number = gradus_find_state(session_.get(), name.c_str());
    EXPECT_EQ(gradus_state(session_.get(), number, &tensor), GRADUS_OK) << name;
    std::vector<float> values(tensor.bytes / sizeof(float));
    EXPECT_EQ(gradus_read_state(session_.get(), name.c_str(), values.data(),
                                tensor.bytes),
              GRADUS_OK);
    return std::vector<double>(values.begin(), values.end());
  }

  Session session_;
};

/// The gradients become outputs, so that nothing rounds them.
TEST_P(CompiledModel, HasTheRecordedGradients) {
  ASSERT_TRUE(mlir::succeeded(runStages(*module_, "methods")));
  GraphOp train = program().getGraph("train");
  for (UpdateOp update : llvm::to_vector(train.getOps<UpdateOp>()))
    train.addOutput(("gradient." + update.getParameter()).str(),
                    update.getGradient());
  load();
  ASSERT_FALSE(HasFatalFailure());
  auto outputs = step(0);
  for (const Json &parameter : recorded_.description["parameters"])
    expectGradient(parameter,
                   outputs["gradient." + parameter["name"].get<std::string>()]);
}

TEST_P(CompiledModel, FollowsTheRecordedRun) {
  load();
  ASSERT_FALSE(HasFatalFailure());
  std::vector<int> order = batches();
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == run_["losses"].size())
      for (const auto &[name, norm] : run_["final_param_l2"].items())
        expectFinal(name, state(name));
    expectLoss(i, step(order[i])["loss"].at(0));
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CompiledModel, ::testing::ValuesIn(allRuns()),
                         [](const auto &info) {
                           return testName(info.param.file) + "_" +
                                  info.param.id;
                         });

} // namespace
