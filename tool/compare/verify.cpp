// gradus verify: compares the compiled step with the reference evaluator, node
// by node.

#include "messages/json_text.h"
#include "messages/printable.h"
#include "runtime/session/devices.h"
#include "runtime/session/session.h"
#include "runtime/well_known.h"
#include "tool/carried_program.h"
#include "tool/commands.h"
#include "tool/compiler_library.h"
#include "tool/failure.h"
#include "tool/foreign_file.h"
#include "tool/key_flags.h"
#include "tool/number_options.h"
#include "tool/session/run_length.h"
#include "tool/session/session_options.h"
#include "tool/session/synthetic_inputs.h"
#include "tool/text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

using namespace gradus::runtime;
using nlohmann::ordered_json;

namespace gradus::cli {
namespace {

struct VerifyOptions {
  compiler::Request request;
  std::string reference; // another model file, whose values are right
  std::string device = "cpu";
  std::optional<double> tolerance; // default: by roundings
  bool json = false;
};

constexpr const char *kFooter = R"(Examples:
  gradus verify lenet.onnx --recipe recipe.json
  gradus verify model.onnx --dim batch=4 --tolerance 1e-5
  gradus verify changed.onnx --reference model.onnx
  gradus verify lenet.gradus
  gradus verify lenet.onnx --recipe recipe.json --dim batch=2 --device emulated

Runs one training step compiled, on made-up inputs. Then the reference evaluator
computes in f64 each model node, the loss and every gradient anew from the
compiled values before it, so that only what the step itself did wrong counts.
The largest deviation of an element may be what roundings explain: of each op's
operands by the number of terms that it sums, of its result to its own type.
How far these carry, two more runs with roundings by chance find out. What
Winograd's algorithm rounds in convolutions, up to 4.5 times what direct sums do,
is within that. With --tolerance it is a part of the largest element instead.
Names the first node that deviates. The evaluator is slow: use a small batch.
Of an artifact the program that it carries is compiled anew for --device, with the
outputs that this needs; the artifact's own code does not run.)";

/// The artifact with an output for each node, run once on generated inputs.
class CompiledStep {
public:
  CompiledStep(compiler::Request request, const std::string &name) {
    auto device = take(openDevice(name));
    request.plan.targets = {device->target()};
    compiler::Result result = take(compilerLibrary().compile(request));
    for (const std::string &warning : result.warnings)
      warn(warning);
    auto artifact = take(Artifact::fromBytes(
        {reinterpret_cast<const uint8_t *>(result.artifact.data()),
         result.artifact.size()},
        request.model));
    session_ = take(Session::create(artifact, device, {.onAnyRanks = true}));
    graph_ = session_->findGraph(well_known::kTrain);
    if (graph_ < 0)
      throw badInput(request.model, ": the recipe names no loss to train by");
    if (int64_t ranks = session_->logicalRanks(); ranks > 1)
      throw badInput(request.model, ": has ", ranks,
                     " logical ranks, and the evaluator computes one; verify "
                     "the model with --set distribution.logical_ranks=null");
    if (int64_t ranks = session_->artifact().header().ranks(); ranks > 1)
      throw badInput(request.model, ": is for ", ranks,
                     " ranks (distribution.ranks), and the evaluator computes "
                     "one; verify the model with --set distribution.mode=none");
    assumeRunLength(*session_);
    step();
  }

  /// The inputs of the run, for the evaluator.
  const std::vector<compiler::Weight> &inputs() const { return inputs_; }

  /// The outputs of the run.
  std::vector<compiler::OutputValues> outputs() const {
    const auto &all = session_->graphs()[graph_].outputs;
    std::vector<compiler::OutputValues> outputs;
    for (size_t i = 0; i < all.size(); ++i)
      if (DType dtype = all[i].type.dtype; dtype == DType::f32)
        outputs.push_back({all[i].name, nameOf(dtype), valuesOf<float>(i)});
      else if (dtype == DType::f64)
        outputs.push_back({all[i].name, nameOf(dtype), valuesOf<double>(i)});
    return outputs;
  }

private:
  template <typename T> std::vector<double> valuesOf(size_t output) const {
    auto *values =
        static_cast<const T *>(session_->outputBuffer(graph_, output));
    size_t bytes = session_->graphs()[graph_].outputs[output].bytes;
    return {values, values + bytes / sizeof(T)};
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

/// The place of an output in words: "node "/conv1/Conv"", "gradient of
/// conv1.weight", "the loss".
std::string placeOf(const std::string &output) {
  if (absl::StartsWith(output, "node."))
    return "node \"" + output.substr(5) + "\"";
  if (absl::StartsWith(output, "gradient."))
    return "the gradient of " + output.substr(9);
  return "the output " + output;
}

using compiler::Comparison;

/// The tolerance of a value: the movement by roundings, or the given one.
struct Limits {
  std::optional<double> tolerance;

  double of(const Comparison &each) const {
    constexpr double kTimes = 4; // Random roundings seldom go to the limit.
    return tolerance ? *tolerance * each.largest
                     : std::max(each.usual(), kTimes * each.roundings);
  }
  bool isTooFar(const Comparison &each) const {
    return !(each.deviation <= of(each));
  }
};

/// A magnitude divided by the largest element.
double part(double magnitude, const Comparison &each) {
  return magnitude == 0 ? 0 : magnitude / std::max(each.largest, 1e-30);
}

/// Compares nodes in the model's order, then the rest. For another model, those
/// that it shares with the compiled one.
std::vector<Comparison> compare(const VerifyOptions &options,
                                const CompiledStep &step,
                                const Limits &limits) {
  compiler::Request request = options.request;
  std::optional<OpenedProgram> reference;
  if (!options.reference.empty()) {
    request.model = options.reference;
    if (std::optional<compiler::CarriedProgram> own =
            std::exchange(request.carried, std::nullopt))
      request.recipe.text = own->recipe;
    reference = openProgram(request);
  }
  std::vector<Comparison> all = take(compilerLibrary().compare(
      request, step.inputs(), step.outputs(), /*explains=*/!limits.tolerance));
  std::stable_partition(all.begin(), all.end(), [](auto &each) {
    return absl::StartsWith(each.output, "node.");
  });
  return all;
}

//===-- the command -------------------------------------------------------===//

void printLines(const std::vector<Comparison> &all, const Limits &limits) {
  for (const Comparison &each : all)
    printJson(ordered_json{{"place", placeOf(each.output)},
                           {"deviation", part(each.deviation, each)},
                           {"limit", part(limits.of(each), each)}});
}

/// Names the values of which an error could hide behind roundings.
std::string littleElse(const std::vector<Comparison> &all,
                       const Limits &limits) {
  constexpr double kMuch = 0.1;
  auto count = std::count_if(all.begin(), all.end(), [&](auto &each) {
    return limits.of(each) > kMuch * each.largest;
  });
  return count ? absl::StrCat("; ", count,
                              " may be off by a tenth or more, "
                              "since roundings alone carry that far")
               : "";
}

void printAgreement(const std::vector<Comparison> &all, const Limits &limits) {
  auto portion = [&](const Comparison &each) {
    return each.deviation == 0 ? 0 : each.deviation / limits.of(each);
  };
  auto largest =
      std::max_element(all.begin(), all.end(), [&](auto &a, auto &b) {
        return portion(a) < portion(b);
      });
  std::printf("%zu values agree; the largest deviation is %.3g of what is "
              "allowed, of %s%s\n",
              all.size(), portion(*largest),
              printable(placeOf(largest->output)).c_str(),
              littleElse(all, limits).c_str());
}

void run(VerifyOptions &options) {
  std::optional<OpenedProgram> carried = openProgram(options.request);
  if (!carried)
    refuseForeign(options.request.model, Wanted::model);
  compiler::WantedResult &wanted = options.request.wanted;
  // The values of all nodes stay until the step's end, which no training needs.
  wanted.nodeOutputs = wanted.gradientOutputs = wanted.mayExceedLimit = true;
  CompiledStep step(options.request, options.device);
  Limits limits{options.tolerance};
  std::vector<Comparison> all = compare(options, step, limits);
  if (all.empty())
    throw badInput(options.reference.empty()
                       ? options.request.model +
                             ": has no node, gradient or output to compare"
                       : options.reference +
                             ": shares no node, gradient or output of the "
                             "same type with " +
                             options.request.model);
  auto tooFar = [&](const Comparison &each) { return limits.isTooFar(each); };
  auto first = std::find_if(all.begin(), all.end(), tooFar);
  if (options.json)
    printLines(all, limits);
  if (first != all.end())
    throw failed(options.request.model, ": ", placeOf(first->output),
                 " is the first that deviates: by ",
                 number("%.3g", part(first->deviation, *first)),
                 " of its largest element, where ",
                 number("%.3g", part(limits.of(*first), *first)),
                 " is allowed (", std::count_if(all.begin(), all.end(), tooFar),
                 " of ", all.size(), " values deviate by more than they may)");
  if (!options.json)
    printAgreement(all, limits);
}

} // namespace

void addVerify(CLI::App &app) {
  auto options = std::make_shared<VerifyOptions>();
  compiler::Request &request = options->request;
  CLI::App *command = app.add_subcommand(
      "verify", "Compares a compiled step with the reference evaluator");
  command->footer(kFooter);
  command
      ->add_option("model", request.model,
                   "A model: .onnx or .mlir; or an artifact")
      ->required();
  command->add_option("--recipe", request.recipe.file,
                      "How to train it (JSON)");
  command
      ->add_option("--set", request.recipe.overrides,
                   "Override: loss.output=logits")
      ->allow_extra_args(false);
  command
      ->add_option("--dim", request.dims,
                   "Size of a symbolic dimension: batch=32")
      ->allow_extra_args(false);
  command
      ->add_option("--plugin", request.plugins,
                   "A shared library with passes that the recipe names")
      ->allow_extra_args(false);
  addKeyFlags(*command, request);
  command->add_option("--initialize", request.weights.rule,
                      "Rule for weights whose data file is missing");
  command->add_option("--reference", options->reference,
                      "Model file whose values are right, if not the model's "
                      "own: compared are the nodes of both");
  command
      ->add_option("--tolerance", options->tolerance,
                   "In parts of a value's largest element, instead of what "
                   "roundings explain")
      ->check(notNegative());
  command->add_option("--device", options->device,
                      "Where to run it: cpu, cuda, cuda:1, emulated");
  command->add_flag("--json", options->json, "One JSON object per value");
  command->callback([options] { run(*options); });
}

} // namespace gradus::cli
