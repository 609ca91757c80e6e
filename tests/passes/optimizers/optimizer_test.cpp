// Every optimizer against recorded runs of PyTorch's: one vector file, one
// test. GRADUS_VECTORS names a further folder of cases.

#include "passes/optimizers/optimizer.h"

#include "../program_text.h"
#include "passes/passes.h"

#include "mlir/Pass/PassManager.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace mlir;
using namespace gradus;
using Json = nlohmann::json;
using gradus::testing::PassText;

namespace {

/// The vectors of optimizers that exist, in a fixed order.
std::vector<std::string> vectorFiles() {
  std::vector<std::string> folders = {GRADUS_SOURCE_DIR "/tests/data/vectors"};
  if (const char *more = std::getenv("GRADUS_VECTORS"))
    folders.push_back(more);
  std::map<std::string, std::string> found;
  for (const std::string &folder : folders)
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
      std::string name = entry.path().stem();
      bool exists = name.find("opt_torch_sgd") == 0 ||
                    name == "opt_torch_adam" || name == "opt_torch_adamw";
      if (exists && entry.path().extension() == ".json")
        found.emplace(name, entry.path());
    }
  std::vector<std::string> files;
  for (const auto &[name, path] : found)
    files.push_back(path);
  return files;
}

/// A recorded hyperparameter under the recipe's name for it; empty where the
/// recipe has none.
std::string recipeName(const std::string &name) {
  static const std::map<std::string, std::string> names = {
      {"lr", "learning_rate"},          {"eps", "epsilon"},
      {"momentum", "momentum"},         {"dampening", "dampening"},
      {"nesterov", "nesterov"},         {"betas", "betas"},
      {"weight_decay", "weight_decay"}, {"maximize", "maximize"}};
  auto found = names.find(name);
  return found == names.end() ? "" : found->second;
}

std::string attributeText(const Json &value) {
  if (value.is_boolean())
    return value.get<bool>() ? "true" : "false";
  if (!value.is_array()) {
    char text[40];
    std::snprintf(text, sizeof(text), "%.17e : f64", value.get<double>());
    return text;
  }
  std::string list;
  for (const Json &element : value)
    list += (list.empty() ? "" : ", ") + attributeText(element);
  return "[" + list + "]";
}

std::string typeText(const Json &tensor) {
  std::string type = "tensor<";
  for (int64_t extent : tensor["shape"])
    type += std::to_string(extent) + "x";
  return type + "f32>";
}

/// A program whose graph @train takes a gradient for each parameter.
std::string programText(const Json &vector, const std::string &optimizer) {
  std::string recipe = "type = \"" + optimizer + "\"";
  for (const auto &[name, value] : vector["hyperparameters"].items())
    if (!recipeName(name).empty())
      recipe += ", " + recipeName(name) + " = " + attributeText(value);
  std::string states, inputs, updates;
  int number = 0;
  for (const auto &[name, tensor] : vector["inputs"]["parameters"].items()) {
    std::string type = typeText(tensor),
                input = "%g" + std::to_string(number++);
    states += "gradus.state @\"" + name + "\" : " + type +
              " {role = #gradus.role<parameter>, init = #gradus.init<zeros>}\n";
    inputs += (inputs.empty() ? "" : ", ") + input + ": " + type;
    updates +=
        "gradus.update @\"" + name + "\", " + input + " : " + type + "\n";
  }
  return "gradus.program @p attributes {recipe = {optimizer = {" + recipe +
         "}}} {\n" + states + "gradus.graph @train(" + inputs + ") {\n" +
         updates + "gradus.return\n}\n}";
}

/// Elements [begin, end) of a recorded tensor.
std::vector<double> slice(const Json &tensor, size_t begin, size_t count) {
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i)
    values.push_back(tensor["data"][begin + i]);
  return values;
}

class OptimizerVector : public ::testing::TestWithParam<std::string> {};

} // namespace

TEST_P(OptimizerVector, MovesEachParameterAsRecorded) {
  Json vector = Json::parse(std::ifstream(GetParam()));
  std::string name = vector["name"];
  std::string optimizer = name.find("sgd") != std::string::npos     ? "sgd"
                          : name.find("adamw") != std::string::npos ? "adamw"
                                                                    : "adam";
  PassText source(programText(vector, optimizer));
  PassManager manager(&source.context);
  manager.nest<ProgramOp>().addPass(createExpandOptimizer());
  ASSERT_TRUE(succeeded(manager.run(*source.module))) << source.messages;

  StateMap states;
  for (auto state : source.program().getBody().getOps<StateOp>())
    states[state.getSymName()] = zeros(cast<RankedTensorType>(state.getType()));
  const Json &parameters = vector["inputs"]["parameters"];
  for (const auto &[parameter, tensor] : parameters.items())
    states[parameter].floats = slice(tensor, 0, tensor["data"].size());

  const double relative = vector["tolerance"]["rtol"],
               absolute = vector["tolerance"]["atol"];
  GraphOp train = source.program().getGraph("train");
  size_t steps = vector["inputs"]["gradients"].begin().value()["shape"][0];
  ASSERT_GT(steps, 1u);
  for (size_t step = 0; step < steps; ++step) {
    SmallVector<HostTensor> gradients;
    for (const auto &[parameter, tensor] : parameters.items()) {
      gradients.push_back(states[parameter]);
      size_t size = gradients.back().size();
      gradients.back().floats =
          slice(vector["inputs"]["gradients"][parameter], step * size, size);
    }
    ASSERT_TRUE(succeeded(evaluateGraph(train, gradients, states)))
        << source.messages;
    for (const auto &[parameter, tensor] : parameters.items()) {
      const auto &found = states[parameter].floats;
      auto wanted =
          slice(vector["expected"]["parameters_after_step"][parameter],
                step * found.size(), found.size());
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], wanted[i],
                    relative * std::abs(wanted[i]) + absolute)
            << parameter << "[" << i << "] after step " << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Vectors, OptimizerVector, ::testing::ValuesIn(vectorFiles()),
    [](const auto &info) {
      return std::filesystem::path(info.param).stem().string();
    });
