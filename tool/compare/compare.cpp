// gradus compare: runs the plans of an artifact for two devices on generated
// inputs and compares the results.

#include "messages/json_text.h"
#include "messages/printable.h"
#include "runtime/well_known.h"
#include "tool/commands.h"
#include "tool/compare/deviation.h"
#include "tool/failure.h"
#include "tool/number_options.h"
#include "tool/session/run_length.h"
#include "tool/session/session_options.h"
#include "tool/session/synthetic_inputs.h"
#include "tool/text.h"

#include <algorithm>
#include <cstdio>

using namespace gradus::runtime;
using nlohmann::ordered_json;

namespace gradus::cli {
namespace {

struct CompareOptions {
  SessionOptions session;
  std::string reference = "cpu", graph = well_known::kTrain;
  int64_t steps = 3;
  double tolerance = 1e-2;
};

constexpr const char *kFooter =
    R"(Both devices start from the same state and run the same steps; inputs are made
up. Compared are all outputs of each step and all states after the last: the
largest difference of an element, in parts of the tensor's largest one. Sums are
made in other orders on other devices, and an optimizer like Adam may turn what
rounding left of a gradient of 0 into a step: hence a tolerance of 1 %.

Examples:
  gradus compile lenet.onnx --recipe recipe.json --target cpu --target cuda -o lenet.gradus
  gradus compare lenet.gradus --device cuda
  gradus compare lenet.gradus --device cuda:1 --reference cuda:0 --steps 10)";

/// One of the two devices: its session and the results of its last step.
class Side {
public:
  Side(const CompareOptions &options, const std::string &device)
      : session_(open(options.session, device)),
        graph_(findGraph(*session_, options.graph)) {
    for (const TensorInfo &output : info().outputs)
      bytes_.emplace_back(output.bytes);
    for (auto &each : bytes_)
      outputs_.push_back(each.data());
  }

  const GraphInfo &info() const { return session_->graphs()[graph_]; }
  Session &session() { return *session_; }
  int graph() const { return graph_; }
  void step(std::span<const void *const> inputs) {
    check(runStep(*session_, graph_, inputs, outputs_));
  }
  std::span<const uint8_t> output(size_t i) const { return bytes_[i]; }
  std::span<const uint8_t> state(size_t i) {
    return take(session_->stateBytes(int(i)));
  }

private:
  static std::unique_ptr<Session> open(SessionOptions options,
                                       const std::string &device) {
    options.device = device;
    options.onAnyRanks = true;
    auto session = openSession(options);
    assumeRunLength(*session);
    return session;
  }

  std::unique_ptr<Session> session_;
  int graph_;
  std::vector<std::vector<uint8_t>> bytes_;
  std::vector<void *> outputs_;
};

struct Compared {
  std::string what, name; // "output of step 2", "loss"
  Deviation deviation;
};

std::vector<Compared> compareSides(Side &one, Side &other, int64_t steps) {
  auto bytes = syntheticInputs(one.session(), one.graph());
  std::vector<const void *> inputs;
  for (const auto &each : bytes)
    inputs.push_back(each.data());
  std::vector<Compared> all;
  for (int64_t step = 1; step <= steps; ++step) {
    one.step(inputs);
    other.step(inputs);
    const auto &outputs = one.info().outputs;
    for (size_t i = 0; i < outputs.size(); ++i)
      all.push_back(
          {inWords("output of step ", step), outputs[i].name,
           deviationOf(outputs[i].type.dtype, one.output(i), other.output(i))});
  }
  const auto &states = one.session().states();
  for (size_t i = 0; i < states.size(); ++i)
    all.push_back(
        {"state", states[i].name,
         deviationOf(states[i].type.dtype, one.state(i), other.state(i))});
  return all;
}

std::string wordsOf(const Deviation &deviation) {
  if (deviation.nonfinite)
    return inWords(deviation.nonfinite, " not finite");
  return number("%.3g", deviation.relative);
}

ordered_json jsonOf(const CompareOptions &options,
                    const std::vector<Compared> &all, int failed) {
  ordered_json tensors = ordered_json::array();
  for (const Compared &each : all)
    tensors.push_back({{"what", each.what},
                       {"name", each.name},
                       {"deviation", each.deviation.relative},
                       {"nonfinite", each.deviation.nonfinite}});
  return {{"artifact", options.session.artifact},
          {"graph", options.graph},
          {"device", options.session.device},
          {"reference", options.reference},
          {"steps", options.steps},
          {"tolerance", options.tolerance},
          {"largest", all.empty() ? 0 : all.front().deviation.relative},
          {"failed", failed},
          {"tensors", std::move(tensors)}};
}

void print(const CompareOptions &options, const std::vector<Compared> &all,
           int failed) {
  std::printf("%s of %s, %lld steps, %s beside %s\n",
              printable(options.graph).c_str(),
              printable(options.session.artifact).c_str(),
              static_cast<long long>(options.steps),
              options.session.device.c_str(), options.reference.c_str());
  constexpr size_t kShown = 5;
  Table table({"", "deviation", ""});
  for (size_t i = 0; i < std::min(all.size(), std::max<size_t>(kShown, failed));
       ++i)
    table.row({all[i].what + " " + all[i].name, wordsOf(all[i].deviation),
               int(i) < failed ? "too large" : ""});
  std::fputs(table.text().c_str(), stdout);
}

void compare(const CompareOptions &options) {
  Side one(options, options.reference), other(options, options.session.device);
  std::vector<Compared> all = compareSides(one, other, options.steps);
  std::stable_sort(all.begin(), all.end(),
                   [](const Compared &x, const Compared &y) {
                     return y.deviation.isLess(x.deviation);
                   });
  int failed =
      int(std::count_if(all.begin(), all.end(), [&](const Compared &each) {
        return !each.deviation.isWithin(options.tolerance);
      }));
  if (options.session.json)
    printJson(jsonOf(options, all, failed));
  else
    print(options, all, failed);
  if (failed)
    throw cli::failed(options.session.artifact, ": ", failed, " of ",
                      all.size(), " tensors deviate by more than ",
                      options.tolerance);
  if (!options.session.json)
    std::printf("%zu tensors, none deviates by more than %g\n", all.size(),
                options.tolerance);
}

} // namespace

void addCompare(CLI::App &app) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App *command = app.add_subcommand(
      "compare", "Whether a device computes what another does");
  command->footer(kFooter);
  addSessionOptions(*command, options->session);
  command->get_option("--device")->required();
  addStateOptions(*command, options->session);
  command->add_option("--reference", options->reference,
                      "The device that it is compared with (cpu)");
  command->add_option("--graph", options->graph, "Which graph (train)");
  command->add_option("--steps", options->steps, "How many (3)")
      ->check(positive());
  command
      ->add_option("--tolerance", options->tolerance,
                   "In parts of a tensor's largest element (0.01)")
      ->check(notNegative());
  command->callback([options] { compare(*options); });
}

} // namespace gradus::cli
