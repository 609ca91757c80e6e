// gradus verify: the compiled step against the reference evaluator, node by
// node.

#include "frontends/cli/commands.h"
#include "frontends/cli/compiler_library.h"
#include "frontends/cli/failure.h"
#include "frontends/cli/session_options.h"
#include "frontends/cli/synthetic_inputs.h"
#include "frontends/cli/text.h"
#include "runtime/session.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

using namespace gradus::runtime;
using nlohmann::ordered_json;

namespace gradus::cli {
namespace {

struct VerifyOptions {
  compiler::Request request;
  std::string reference;           // another model file, whose values are right
  std::optional<double> tolerance; // by the precision where not given
  bool json = false;
};

constexpr const char *kFooter = R"(Examples:
  gradus verify lenet.onnx --recipe recipe.json
  gradus verify model.onnx --dim batch=4 --tolerance 1e-5
  gradus verify changed.onnx --reference model.onnx

Runs one training step twice, on the same made-up inputs: compiled, and by the
reference evaluator in f64. Compared are the last value of every model node, the
loss and every gradient, each by its largest deviation in parts of its largest
element; a gradient that is zero but for rounding in parts of the largest
gradient of all. Without --tolerance, what deviates may do so further where a
second evaluation finds that roundings to f32 alone carry that far. Names the
first node that deviates. The evaluator is slow: use a small batch.)";

/// The artifact with an output per node, run once on made-up inputs.
class CompiledStep {
public:
  explicit CompiledStep(const compiler::Request &request) {
    compiler::Result result = take(compilerLibrary().compile(request));
    for (const std::string &warning : result.warnings)
      std::fprintf(stderr, "warning: %s\n", warning.c_str());
    auto artifact = take(Artifact::fromBytes(
        {reinterpret_cast<const uint8_t *>(result.artifact.data()),
         result.artifact.size()},
        request.model));
    session_ = take(Session::create(artifact));
    graph_ = session_->findGraph("train");
    if (graph_ < 0)
      throw badInput(request.model, ": the recipe names no loss to train by");
    step();
  }

  /// What it was run on, for the evaluator.
  const std::vector<compiler::Weight> &inputs() const { return inputs_; }

  std::string precision() const {
    return recipeOf(*session_).value("precision", "f32");
  }

  bool has(const std::string &output) const { return find(output) >= 0; }

  std::vector<double> output(const std::string &name) const {
    int i = find(name);
    if (i < 0)
      throw failed("the compiled step has no output '", name, "'");
    auto *values =
        static_cast<const float *>(session_->outputBuffer(graph_, i));
    size_t bytes = session_->graphs()[graph_].outputs[i].bytes;
    return {values, values + bytes / sizeof(float)};
  }

private:
  int find(const std::string &output) const {
    const auto &outputs = session_->graphs()[graph_].outputs;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].name == output)
        return i;
    return -1;
  }

  void step() {
    const GraphInfo &graph = session_->graphs()[graph_];
    int64_t classes = session_->artifact().header().classes();
    std::vector<const void *> places;
    for (const TensorInfo &input : graph.inputs)
      bytes_.push_back(syntheticInput(input, classes, /*batch=*/1));
    for (size_t i = 0; i < bytes_.size(); ++i) {
      const TensorInfo &input = graph.inputs[i];
      inputs_.push_back(
          {input.name, nameOf(input.type.dtype), input.type.shape, bytes_[i]});
      places.push_back(bytes_[i].data());
    }
    check(session_->step(graph_, places));
  }

  std::unique_ptr<Session> session_;
  int graph_ = -1;
  std::vector<std::vector<uint8_t>> bytes_;
  std::vector<compiler::Weight> inputs_;
};

/// Of the finite ones.
double largestOf(const std::vector<double> &values) {
  double largest = 0;
  for (double value : values)
    if (std::isfinite(value))
      largest = std::max(largest, std::abs(value));
  return largest;
}

/// Largest deviation in parts of `whole`.
double deviationOf(const std::vector<double> &found,
                   const std::vector<double> &expected, double whole) {
  double deviation = 0;
  if (found.size() != expected.size())
    return INFINITY;
  for (size_t i = 0; i < expected.size(); ++i) {
    double distance = std::abs(found[i] - expected[i]);
    bool same = found[i] == expected[i] ||
                (std::isnan(found[i]) && std::isnan(expected[i]));
    if (!same)
      deviation =
          std::isnan(distance) ? INFINITY : std::max(deviation, distance);
  }
  return deviation == 0 ? 0 : deviation / std::max(whole, 1e-30);
}

/// "node "/conv1/Conv"", "gradient of conv1.weight", "the loss"
std::string placeOf(const std::string &output) {
  if (absl::StartsWith(output, "node."))
    return "node \"" + output.substr(5) + "\"";
  if (absl::StartsWith(output, "gradient."))
    return "the gradient of " + output.substr(9);
  return "the output " + output;
}

struct Deviation {
  std::string place;
  double value;
  const char *measure = kOwn;
  double carried = 0; // what roundings to f32 alone make of it

  static constexpr const char *kOwn = "its largest element",
                              *kAll = "a hundredth of the largest gradient";

  /// An ill-conditioned value may deviate further, but not by anything.
  double limit(double tolerance) const {
    constexpr double kTimes = 16, kMost = 0.1;
    double roundings = std::isfinite(carried) ? kTimes * carried : 0;
    return std::max(tolerance, std::min(tolerance + roundings, kMost));
  }
  bool isTooFar(double tolerance) const { return !(value <= limit(tolerance)); }
};

using References = std::vector<compiler::Reference>;

bool isGradient(const compiler::Reference &reference) {
  return absl::StartsWith(reference.output, "gradient.");
}

double largestGradient(const References &references) {
  double largest = 0;
  for (const compiler::Reference &reference : references)
    if (isGradient(reference))
      largest = std::max(largest, largestOf(reference.values));
  return largest;
}

/// A gradient that is zero by mathematics (that of a key's bias, say) is in f32
/// the rounding of much larger terms. The evaluator's f64 shows which are.
Deviation deviationOf(const std::vector<double> &found,
                      const compiler::Reference &reference,
                      double largestGradient) {
  constexpr double kRounding = 1e-9, kPart = 1e-2;
  double own = largestOf(reference.values);
  bool isZero = isGradient(reference) && own < kRounding * largestGradient;
  return {placeOf(reference.output),
          deviationOf(found, reference.values,
                      isZero ? kPart * largestGradient : own),
          isZero ? Deviation::kAll : Deviation::kOwn};
}

/// In the order of the references: nodes in the model's, then the rest.
std::vector<Deviation> deviations(const CompiledStep &step,
                                  const References &references) {
  std::vector<Deviation> all;
  double largest = largestGradient(references);
  for (const compiler::Reference &reference : references)
    all.push_back(
        deviationOf(step.output(reference.output), reference, largest));
  return all;
}

//===-- the reference -----------------------------------------------------===//

/// The step by the evaluator, nodes first. Of another model, what it shares
/// with the compiled one.
References evaluate(const VerifyOptions &options, const CompiledStep &step,
                    bool rounded) {
  compiler::Request request = options.request;
  if (!options.reference.empty())
    request.model = options.reference;
  References all =
      take(compilerLibrary().evaluate(request, step.inputs(), rounded));
  if (!options.reference.empty())
    std::erase_if(all, [&](auto &each) { return !step.has(each.output); });
  std::stable_partition(all.begin(), all.end(), [](auto &each) {
    return absl::StartsWith(each.output, "node.");
  });
  return all;
}

void addCarried(std::vector<Deviation> &deviations, const References &rounded,
                const References &exact) {
  double largest = largestGradient(exact);
  for (size_t i = 0; i < deviations.size(); ++i)
    deviations[i].carried =
        deviationOf(rounded[i].values, exact[i], largest).value;
}

/// The second evaluation only where something deviates; a tolerance that was
/// given is what it is.
std::vector<Deviation> compare(const VerifyOptions &options,
                               const CompiledStep &step, double tolerance) {
  References exact = evaluate(options, step, /*rounded=*/false);
  std::vector<Deviation> all = deviations(step, exact);
  auto isTooFar = [&](const Deviation &each) {
    return each.isTooFar(tolerance);
  };
  if (!options.tolerance && std::any_of(all.begin(), all.end(), isTooFar))
    addCarried(all, evaluate(options, step, /*rounded=*/true), exact);
  return all;
}

//===-- the command -------------------------------------------------------===//

/// What roundings that fall to the other side make of sums of many: both sides
/// round at the same places.
double toleranceOf(const std::string &precision) {
  return precision == "bf16" ? 5e-2 : precision == "f16" ? 1e-2 : 1e-4;
}

void printLines(const std::vector<Deviation> &all, double tolerance) {
  for (const Deviation &each : all)
    std::puts(ordered_json{{"place", each.place},
                           {"deviation", each.value},
                           {"limit", each.limit(tolerance)}}
                  .dump()
                  .c_str());
}

/// Those that the tolerance alone would not let pass.
std::string allowedMore(const std::vector<Deviation> &all, double tolerance) {
  auto isAbove = [&](const Deviation &each) { return each.value > tolerance; };
  auto count = std::count_if(all.begin(), all.end(), isAbove);
  return count ? absl::StrCat("; ", count, " of more than ",
                              number("%.3g", tolerance),
                              ", which rounding to f32 alone explains")
               : "";
}

void run(VerifyOptions &options) {
  options.request.nodeOutputs = options.request.gradientOutputs = true;
  CompiledStep step(options.request);
  double tolerance = options.tolerance.value_or(toleranceOf(step.precision()));
  std::vector<Deviation> all = compare(options, step, tolerance);
  auto tooFar = [&](const Deviation &each) { return each.isTooFar(tolerance); };
  auto first = std::find_if(all.begin(), all.end(), tooFar);
  if (options.json)
    printLines(all, tolerance);
  if (first != all.end())
    throw failed(options.request.model, ": ", first->place,
                 " is the first that deviates: by ",
                 number("%.3g", first->value), " of ", first->measure,
                 ", where ", number("%.3g", first->limit(tolerance)),
                 " is allowed (", std::count_if(all.begin(), all.end(), tooFar),
                 " of ", all.size(), " values deviate by more than they may)");
  auto largest = std::max_element(
      all.begin(), all.end(),
      [](const Deviation &a, const Deviation &b) { return a.value < b.value; });
  if (!options.json)
    std::printf("%zu values agree; the largest deviation is %.3g, of %s%s\n",
                all.size(), largest->value, largest->place.c_str(),
                allowedMore(all, tolerance).c_str());
}

} // namespace

void addVerify(CLI::App &app) {
  auto options = std::make_shared<VerifyOptions>();
  compiler::Request &request = options->request;
  CLI::App *command = app.add_subcommand(
      "verify", "Compares a compiled step with the reference evaluator");
  command->footer(kFooter);
  command->add_option("model", request.model, "A model: .onnx or .mlir")
      ->required();
  command->add_option("--recipe", request.recipe, "How to train it (JSON)");
  command
      ->add_option("--set", request.overrides, "Override: loss.output=logits")
      ->allow_extra_args(false);
  command
      ->add_option("--dim", request.dims,
                   "Size of a symbolic dimension: batch=32")
      ->allow_extra_args(false);
  command
      ->add_option("--plugin", request.plugins,
                   "A shared library with passes that the recipe names")
      ->allow_extra_args(false);
  command->add_option("--initialize", request.initialize,
                      "Rule for weights whose data file is missing");
  command->add_option("--reference", options->reference,
                      "Model file whose values are right, if not the model's "
                      "own: compared are the nodes of both");
  command
      ->add_option("--tolerance", options->tolerance,
                   "In parts of a value's largest element (1e-4; 0.05 in bf16, "
                   "0.01 in f16)")
      ->check(notNegative());
  command->add_flag("--json", options->json, "One JSON object per value");
  command->callback([options] { run(*options); });
}

} // namespace gradus::cli
