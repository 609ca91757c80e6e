// Compares gradients of ONNX models with finite differences, both taken in f64
// by the reference evaluator, for tests/onnx_own_gradients.py. Each line of
// stdin is "MODEL INPUTS PARAMETER OUTPUT": a file, the safetensors that it is
// given, its initializer to train and the output that goes into the loss. Each
// answer is a line: "ok", "none WHY" where no gradient reaches the parameter,
// or "failed WHY".

#include "codegen/compile.h"
#include "frontends/onnx/import.h"
#include "frontends/recipe/recipe.h"
#include "ir/evaluator/evaluator.h"
#include "messages/message.h"
#include "tool/check/recorded_case.h"

#include "mlir/IR/Diagnostics.h"

#include <algorithm>
#include <cmath>
#include <iostream>

using namespace gradus;

namespace {

constexpr size_t kMostElements = 16; // of a parameter, spread over it
constexpr double kStep = 1e-5, kTolerance = 1e-4;

struct Case {
  std::string model, inputs, parameter, output;
};

/// A model that trains one parameter with the mean squared error of an output.
class Trained {
public:
  /// Why there is no gradient; empty where there is one.
  std::string open(const Case &one) {
    mlir::ScopedDiagnosticHandler handler(&context_, [&](mlir::Diagnostic &d) {
      words_ += d.str() + "; ";
      return mlir::success();
    });
    std::string text =
        message(R"({"loss": {"type": "mse", "output": ")", one.output,
                R"("}, "trainable": [")", one.parameter,
                R"("], "optimizer": {"type": "sgd", "learning_rate": 1}})");
    auto recipe = recipe::read(text, "recipe");
    if (!recipe.ok())
      return std::string(recipe.status().message());
    ImportOptions options;
    options.trainable = recipe->trainable;
    options.recipe = recipe::toAttribute(*recipe, context_);
    auto module = importOnnx(one.model, options, context_);
    if (!module.ok())
      return std::string(module.status().message());
    module_ = std::move(*module);
    if (mlir::failed(runStages(*module_, "gradients")))
      return words_;
    return {};
  }

  GraphOp graph(llvm::StringRef name) { return program().getGraph(name); }

  StateMap states() {
    StateMap states;
    for (StateOp state : program().getOps<StateOp>())
      states[state.getSymName()] =
          state.getValue()
              ? *toHost(*state.getValue())
              : zeros(mlir::cast<mlir::RankedTensorType>(state.getType()));
    return states;
  }

private:
  ProgramOp program() { return *module_->getOps<ProgramOp>().begin(); }

  static mlir::DialectRegistry dialects() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  mlir::MLIRContext context_{dialects(),
                             mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::string words_;
};

HostTensor hostTensor(const runtime::NamedTensor &tensor, bool isFloat) {
  HostTensor result = zeros(tensor.type.shape, isFloat);
  std::vector<double> values = check::toDoubles(tensor);
  if (isFloat)
    result.floats = values;
  else
    result.integers.assign(values.begin(), values.end());
  return result;
}

/// The inputs of a graph by name, without the label.
std::vector<HostTensor> inputsOf(GraphOp graph, const std::string &path) {
  auto file = runtime::Safetensors::open(path);
  std::vector<HostTensor> inputs;
  for (auto [i, type] : llvm::enumerate(graph.getArgumentTypes()))
    if (const auto *found =
            file.ok() ? file->find(graph.getInputName(i).str()) : nullptr) {
      auto tensor = mlir::cast<mlir::RankedTensorType>(type);
      inputs.push_back(hostTensor(
          *found, mlir::isa<mlir::FloatType>(tensor.getElementType())));
    }
  return inputs;
}

/// A label that lies beside the output, in each element as far and to the side
/// as no neighbour's does: then no two slopes of the loss are the same.
HostTensor labelBeside(HostTensor output) {
  for (auto [i, value] : llvm::enumerate(output.floats))
    value += (i % 2 ? 1 : -1) * (0.5 + std::fmod(0.618 * double(i), 1));
  return output;
}

class Comparison {
public:
  Comparison(Trained &model, const Case &one) : model_(model), one_(one) {}

  std::string answer() {
    GraphOp predict = model_.graph("predict"), train = model_.graph("train");
    StateMap states = model_.states();
    auto outputs =
        evaluateGraph(predict, inputsOf(predict, one_.inputs), states);
    if (mlir::failed(outputs))
      return "failed @predict cannot be evaluated";
    size_t place = 0;
    while (predict.getOutputName(place) != one_.output)
      ++place;
    std::vector<HostTensor> given = inputsOf(train, one_.inputs);
    for (size_t i = 0; i < train.getArgumentTypes().size(); ++i)
      if (train.getInputName(i) == "label")
        given.insert(given.begin() + i, labelBeside((*outputs)[place]));
    return compared(train, given);
  }

private:
  /// With the gradient of the parameter, where that is asked for.
  double loss(GraphOp train, llvm::ArrayRef<HostTensor> given, StateMap states,
              StateMap &gradients) {
    auto outputs = evaluateGraph(train, given, states, &gradients);
    return mlir::succeeded(outputs) ? outputs->front().floats.at(0)
                                    : std::nan("");
  }

  std::string compared(GraphOp train, llvm::ArrayRef<HostTensor> given) {
    StateMap states = model_.states(), gradients, ignored;
    double here = loss(train, given, states, gradients);
    std::vector<double> &values = states[one_.parameter].floats;
    const std::vector<double> &found = gradients[one_.parameter].floats;
    if (!std::isfinite(here) || found.size() != values.size())
      return message("none the loss is ", here);
    double largest = 0;
    for (double slope : found)
      largest = std::max(largest, std::abs(slope));
    size_t stride = (values.size() + kMostElements - 1) / kMostElements;
    for (size_t i = 0; i < values.size(); i += stride) {
      double before = values[i];
      values[i] = before + kStep;
      double above = (loss(train, given, states, ignored) - here) / kStep;
      values[i] = before - kStep;
      double below = (here - loss(train, given, states, ignored)) / kStep;
      values[i] = before;
      // Where the function has a corner, any slope between its two is one.
      double off = kTolerance * std::max(largest, std::abs(above + below) / 2);
      double least = std::min(above, below), most = std::max(above, below);
      if (!(found[i] >= least - off && found[i] <= most + off))
        return message("failed element ", i, " has the gradient ", found[i],
                       ", finite differences are ", below, " and ", above);
    }
    return largest > 0 ? "ok" : "none all is zero";
  }

  Trained &model_;
  const Case &one_;
};

std::string answer(const Case &one) {
  try {
    Trained model;
    if (std::string why = model.open(one); !why.empty())
      return "none " + why;
    return Comparison(model, one).answer();
  } catch (const std::exception &error) {
    return std::string("failed ") + error.what();
  }
}

} // namespace

int main() {
  Case one;
  while (std::cin >> one.model >> one.inputs >> one.parameter >> one.output) {
    std::string words = answer(one);
    std::replace(words.begin(), words.end(), '\n', ' ');
    std::cout << words << std::endl;
  }
}
