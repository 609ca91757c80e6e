// Small networks trained by another framework: the same network, built and
// compiled, gives the same losses and weights.

#include "vector_file.h"

namespace gradus::vectors {
namespace {

/// Of which no scale makes finite gradients.
constexpr double kOverflowingTarget = INFINITY;

Tensor lenet(ProgramBuilder &net, Tensor x, const Json &channels) {
  for (int layer : {1, 2}) {
    x = net.convolution("conv" + std::to_string(layer), x,
                        channels.at(layer - 1),
                        {.size = {3, 3}, .pads = {1, 1}});
    x = net.maxPool(net.relu(x), {.size = {2, 2}});
  }
  x = net.relu(net.dense("fc1", net.flatten(x), channels.at(2)));
  return net.dense("fc2", x, 10);
}

/// fc3(tanh(fc2(tanh(fc1(x))))), of any depth.
Tensor perceptron(ProgramBuilder &net, Tensor x, const Json &dims) {
  for (size_t layer = 1; layer < dims.size(); ++layer) {
    x = net.dense("fc" + std::to_string(layer), layer == 1 ? x : net.tanh(x),
                  dims.at(layer));
  }
  return x;
}

/// The network of a file with its recipe, for batches of so many rows.
std::string programText(const VectorFile &file, int64_t rows,
                        const Json &recipe) {
  mlir::MLIRContext context;
  ProgramBuilder net(context, "network");
  Shape shape = shapeOf(file.inputs().at("x"));
  shape[0] = rows;
  Tensor x = net.input("x", shape);
  const Json &h = file.hyperparameters();
  net.output("output", h.contains("channels")
                           ? lenet(net, x, h.at("channels"))
                           : perceptron(net, x, h.at("dims")));
  return textOf(net, recipe);
}

/// A run of a compiled network over the rows of a file.
class Run {
public:
  Run(const VectorFile &file, int64_t rows, const Json &recipe)
      : file_(file), rows_(rows), compiled_(programText(file, rows, recipe)) {
    NamedTensors states = compiled_.states(); // A method may drop some.
    for (const auto &[name, tensor] : file.inputs().at("parameters").items())
      if (states.contains(name) || !recipe.contains("boost"))
        compiled_.setState(name, tensorOf(tensor, shapeOf(tensor)));
  }

  /// Trains with rows [step * rows, ...), counted around; gives the loss.
  double step(int64_t step, bool overflows = false) {
    HostTensor label = part("y", step);
    if (overflows)
      std::fill(label.floats.begin(), label.floats.end(), kOverflowingTarget);
    return compiled_.run("train", {{"x", part("x", step)}, {"label", label}})
        .at("loss")
        .floats[0];
  }

  /// Compares the parameters with those recorded after a step, or at the end.
  void checkParameters(const Json &recorded, int64_t step = -1) {
    NamedTensors states = compiled_.states();
    for (const auto &[name, tensor] : recorded.items()) {
      ASSERT_TRUE(states.contains(name)) << name;
      file_.expectNear(name, states[name].floats, tensor, step);
    }
  }

  NamedTensors states() const { return compiled_.states(); }

  double state(const std::string &name) {
    HostTensor value = compiled_.states().at(name);
    return value.isFloat ? value.floats[0] : value.integers[0];
  }

private:
  HostTensor part(const char *name, int64_t step) const {
    const Json &all = file_.inputs().at(name);
    Shape shape = shapeOf(all);
    HostTensor whole = tensorOf(all, shape);
    int64_t total = shape[0], size = whole.size() / total;
    shape[0] = rows_;
    HostTensor result = zeros(shape, whole.isFloat);
    for (int64_t i = 0; i < rows_ * size; ++i) {
      int64_t from = (step * rows_ * size + i) % (total * size);
      if (whole.isFloat)
        result.floats[i] = whole.floats[from];
      else
        result.integers[i] = whole.integers[from];
    }
    return result;
  }

  const VectorFile &file_;
  int64_t rows_;
  Compiled compiled_;
};

const std::vector<std::string> kOfTheRun = {"optimizer",
                                            "batch",
                                            "steps",
                                            "channels",
                                            "dims",
                                            "micro_batch",
                                            "grad_accumulation_step",
                                            "boost_level",
                                            "boost_config_dict",
                                            "centralized_flag",
                                            "param_groups",
                                            "group_sizes",
                                            "strategy",
                                            "init",
                                            "scale_factor",
                                            "scale_window",
                                            "overflow_steps"};

} // namespace

void checkTraining(const VectorFile &file) {
  const Json &h = file.hyperparameters();
  Json recipe = optimizerRecipe(file, optimizerOf(file), kOfTheRun);
  recipe["loss"] = "softmax_cross_entropy";
  if (h.contains("boost_level")) {
    recipe["boost"] = h.at("boost_config_dict");
    recipe["boost"]["level"] = h.at("boost_level");
  }
  Run run(file, h.at("batch"), recipe);
  for (int64_t step = 0; step < h.at("steps") && !testing::Test::HasFailure();
       ++step)
    file.expectLoss(step, run.step(step), file.expected().at("loss"));
  run.checkParameters(file.expected().at("parameters_after_last_step"));
}

/// The recipe of a file of accumulation, dynamic loss scale or both.
static Json guardedRecipe(const VectorFile &file) {
  Json recipe = optimizerRecipe(file, optimizerOf(file), kOfTheRun);
  const Json &h = file.hyperparameters();
  recipe["loss"] = "mse";
  if (h.contains("grad_accumulation_step"))
    recipe["accumulation"] = h.at("grad_accumulation_step");
  if (h.contains("init"))
    recipe["loss_scale"] = {{"type", "dynamic"},
                            {"initial", h.at("init")},
                            {"factor", h.at("scale_factor")},
                            {"growth_interval", h.at("scale_window")}};
  return recipe;
}

void checkGuardedTraining(const VectorFile &file) {
  const Json &h = file.hyperparameters(), &expected = file.expected();
  int64_t rows = h.contains("micro_batch")
                     ? h.at("micro_batch").get<int64_t>()
                     : shapeOf(file.inputs().at("x")).at(0);
  Run run(file, rows, guardedRecipe(file));
  std::vector<size_t> overflows =
      h.value("overflow_steps", std::vector<size_t>());
  const Json &losses = expected.at("loss");
  double skipped = 0;
  for (size_t step = 0;
       step < losses.at("data").size() && !testing::Test::HasFailure();
       ++step) {
    bool isOver = llvm::is_contained(overflows, step);
    file.expectLoss(step, run.step(step, isOver), losses);
    if (expected.contains("scale_after_step"))
      file.expectNear("scale", {run.state("loss_scale")},
                      expected.at("scale_after_step"), step);
    if (expected.contains("overflow")) {
      skipped += numbersOf(expected.at("overflow")).at(step);
      EXPECT_EQ(run.state("skipped_steps"), skipped) << "after step " << step;
    }
    run.checkParameters(expected.at("parameters_after_step"), step);
  }
}

/// A run of a given strategy.
static Run freezeRun(const VectorFile &file, const Json &freeze) {
  Json recipe = optimizerRecipe(file, "mindspore.nn.Momentum", kOfTheRun);
  recipe["loss"] = "mse";
  recipe["gradient_freeze"] = freeze;
  return Run(file, file.inputs()["x"]["shape"][0], recipe);
}

/// MindSpore's groups, of which the second one begins at the last layer, with a
/// momentum for each group that a parameter is in.
static Run runOfMindSpore(const VectorFile &file) {
  const Json &h = file.hyperparameters();
  return freezeRun(file, {{"groups", h["param_groups"]},
                          {"strategy", h["strategy"]},
                          {"compat", "mindspore"}});
}

/// The same with one momentum: ours are by layers, the last one is group 2.
static Run runOfOurs(const VectorFile &file) {
  Json strategy = Json::array();
  for (int64_t group : file.hyperparameters()["strategy"])
    strategy.push_back(2 * group);
  return freezeRun(
      file, {{"groups", 3}, {"strategy", strategy}, {"compat", "pytorch"}});
}

void checkFreezeRun(const VectorFile &file) {
  Run shared = runOfOurs(file), apart = runOfMindSpore(file);
  const Json &ours = file.expected()["shared_momentum"],
             &theirs = file.expected();
  for (size_t step = 0;
       step < ours["loss"]["data"].size() && !testing::Test::HasFailure();
       ++step) {
    file.expectLoss(step, shared.step(step), ours["loss"]);
    file.expectLoss(step, apart.step(step), theirs["loss"]);
    apart.checkParameters(theirs["parameters_after_step"], step);
  }
  shared.checkParameters(ours["parameters_after_last_step"]);
}

/// Of the parameters that a recording left as they were in a step, the first
/// one that changed; empty if none did.
static std::string changed(const VectorFile &file, const NamedTensors &before,
                           const NamedTensors &after, int64_t step) {
  for (const auto &[name, all] :
       file.expected().at("parameters_after_step").items()) {
    std::vector<double> was =
        step == 0 ? numbersOf(file.inputs().at("parameters").at(name))
                  : numbersOf(all, step - 1);
    if (numbersOf(all, step) == was &&
        before.at(name).floats != after.at(name).floats)
      return name;
  }
  return "";
}

void checkRestingRun(const VectorFile &file) {
  Run run(file, file.hyperparameters()["micro_batch"], file.recipe());
  const Json &expected = file.expected();
  for (size_t step = 0;
       step < expected["loss"]["data"].size() && !testing::Test::HasFailure();
       ++step) {
    NamedTensors before = run.states();
    file.expectLoss(step, run.step(step), expected["loss"]);
    run.checkParameters(expected["parameters_after_step"], step);
    EXPECT_EQ(changed(file, before, run.states(), step), "") << "step " << step;
  }
  NamedTensors states = run.states();
  if (expected.contains("averages_after_last_step"))
    for (const auto &[name, average] :
         expected["averages_after_last_step"].items())
      file.expectNear("average of " + name,
                      states.at("ema/average/" + name).floats, average);
}

} // namespace gradus::vectors
