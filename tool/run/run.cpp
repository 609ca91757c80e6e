// gradus run: runs any graph of an artifact any number of times on given
// inputs. Raw access, for checks and for graphs that no other command knows.

#include "messages/json_text.h"
#include "messages/printable.h"
#include "runtime/status.h"
#include "runtime/well_known.h"
#include "tool/commands.h"
#include "tool/failure.h"
#include "tool/interrupt.h"
#include "tool/number_options.h"
#include "tool/output_files.h"
#include "tool/run/tensor_file.h"
#include "tool/session/run_length.h"
#include "tool/session/session_options.h"
#include "tool/session/set_numbers.h"
#include "tool/text.h"
#include "tool/train/former_run.h"
#include "training/scalar_outputs.h"

#include <cstdio>
#include <cstring>

using namespace gradus::runtime;
using gradus::training::ScalarOutputs;

namespace gradus::cli {
namespace {

struct RunOptions {
  SessionOptions session;
  std::string graph;
  std::vector<std::string> inputs;
  int64_t steps = 1;
  std::string outputs, checkpoint;
  bool overwrite = false;
};

constexpr const char *kFooter =
    R"(Inputs: a tensor per graph input, of the input's shape, or with one more axis in
front that counts the steps (taken round and round). Scalars are printed for each
step; --outputs writes all outputs of the last one. A step of N logical ranks takes
an input for each of them, so that axis counts N for a step. Only what has no axes
of its own may be the same for all.

Example:
  gradus run lenet.gradus train --inputs batch.safetensors --steps 10 --json)";

/// Provides the bytes of an input for each call of the graph.
struct Source {
  const uint8_t *data = nullptr;
  size_t bytes = 0;
  int64_t calls = 1;
  int64_t count = 0; // if data is null: the value of the input `count`

  const void *at(int64_t call) const {
    return data ? data + call % calls * bytes
                : reinterpret_cast<const uint8_t *>(&count);
  }
};

/// The batch size: the first axis of the first input that has one.
int64_t batchOf(const GraphInfo &graph) {
  for (const TensorInfo &input : graph.inputs)
    if (!input.type.shape.empty())
      return input.type.shape[0];
  return 1;
}

Source sourceOf(const data::Dataset &inputs, const GraphInfo &graph,
                const TensorInfo &input) {
  const data::Column *column = inputs.find(input.name);
  if (!column && input.name == "count" && input.type.shape.empty())
    return {.count = batchOf(graph)};
  if (!column)
    throw badInput(inputs.source().empty() ? "--inputs" : inputs.source(),
                   ": has no tensor '", input.name, "' (", toString(input.type),
                   "); it has ", inputs.contents());
  TensorType perStep = column->type;
  int64_t calls = 1;
  if (perStep != input.type && !perStep.shape.empty()) {
    calls = perStep.shape[0];
    perStep.shape.erase(perStep.shape.begin());
  }
  if (perStep != input.type || calls == 0)
    throw badInput(inputs.source(), ": tensor '", input.name, "' is ",
                   toString(column->type), "; expected ", toString(input.type),
                   ", or that with one more axis in front, of steps");
  return {column->bytes.data(), input.bytes, calls};
}

/// Refuses an input that does not have values of its own for each turn of a
/// step: logical ranks with the same samples would be no step of a run.
void checkTurns(const data::Dataset &inputs, const TensorInfo &input,
                const Source &source, int64_t turns) {
  const data::Column *column = inputs.find(input.name);
  if (!column || input.type.shape.empty() || source.calls % turns == 0)
    return;
  TensorType ofStep = input.type;
  ofStep.shape.insert(ofStep.shape.begin(), turns);
  throw badInput(inputs.source(), ": tensor '", input.name, "' is ",
                 toString(column->type), "; expected ", toString(ofStep),
                 ", or a multiple of ", turns,
                 " in front: a step takes an input for each of its ", turns,
                 " logical ranks (distribution.logical_ranks)");
}

/// Checks the values of every call against the limits of the model.
void checkValues(const data::Dataset &inputs, const TensorInfo &input,
                 const Source &source, const data::LabelRules &labels,
                 int64_t turns) {
  const data::Column *column = inputs.find(input.name);
  for (int64_t call = 0; column && call < source.calls; ++call) {
    data::Column part = *column;
    part.type = input.type;
    part.bytes = column->bytes.subspan(call * input.bytes, input.bytes);
    std::string where = inputs.source();
    if (source.calls > 1)
      where += inWords(": step ", call / turns + 1);
    if (turns > 1)
      where += inWords(", turn ", call % turns + 1);
    check(at(data::checkIntegers(part, input, labels), where));
  }
}

std::vector<Source> sourcesOf(const data::Dataset &inputs,
                              const Session &session, int graph) {
  const GraphInfo &info = session.graphs()[graph];
  const data::LabelRules labels = labelRules(session);
  int64_t turns = callsPerStep(session, graph);
  std::vector<Source> sources;
  for (const TensorInfo &input : info.inputs) {
    sources.push_back(sourceOf(inputs, info, input));
    checkTurns(inputs, input, sources.back(), turns);
    checkValues(inputs, input, sources.back(), labels, turns);
  }
  return sources;
}

void printStep(const RunOptions &options, int64_t step,
               const ScalarOutputs &scalars) {
  nlohmann::ordered_json line = {{"step", step}};
  std::string text = "step " + std::to_string(step);
  for (size_t i = 0; i < scalars.names().size(); ++i) {
    line[scalars.names()[i]] = scalars.value(0, i);
    text +=
        "  " + scalars.names()[i] + " " + number("%.9g", scalars.value(0, i));
  }
  std::puts((options.session.json ? jsonText(line) : printable(text)).c_str());
}

void writeOutputs(const Session &session, int graph,
                  const std::vector<std::vector<uint8_t>> &bytes,
                  const std::string &path) {
  std::vector<OutputTensor> tensors;
  const auto &outputs = session.graphs()[graph].outputs;
  for (size_t i = 0; i < outputs.size(); ++i)
    tensors.push_back({outputs[i].name, outputs[i].type, bytes[i]});
  writeTensors(path, tensors);
}

/// The addresses of step outputs: scalars go to `scalars`, others to our
/// memory.
std::vector<void *> outputPlaces(const GraphInfo &graph,
                                 const ScalarOutputs &scalars,
                                 std::vector<std::vector<uint8_t>> &bytes) {
  auto places = scalars.places(1);
  std::vector<void *> all(places.begin(), places.end());
  bytes.resize(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    bytes[i].resize(graph.outputs[i].bytes);
    all[i] = all[i] ? all[i] : bytes[i].data();
  }
  return all;
}

void saveCheckpoint(const RunOptions &options, const Session &session) {
  if (!options.checkpoint.empty())
    check(session.saveCheckpoint(options.checkpoint));
}

[[noreturn]] void stopInterrupted(const RunOptions &options,
                                  const Session &session, int64_t done) {
  saveCheckpoint(options, session);
  throw interruptedAfter(done, options.steps, options.checkpoint);
}

void checkFiles(const RunOptions &options) {
  if (!options.outputs.empty())
    checkTensorPath(options.outputs);
  std::vector<UsedFile> inputs = initialFiles(options.session);
  for (UsedFile &file : dataFiles("--inputs", options.inputs))
    inputs.push_back(std::move(file));
  // The checkpoint may be the file of --resume, which has already been read.
  checkOutputFiles(
      {{"--outputs", options.outputs}, {"--checkpoint", options.checkpoint}},
      inputs);
  checkOutputFiles({{"--outputs", options.outputs}},
                   {{"--resume", options.session.resume}});
  checkHoldsNoState("--outputs", options.outputs);
  if (!options.overwrite)
    checkReplaces("--checkpoint", options.checkpoint, options.session.resume);
  checkPartialNames({{"--checkpoint", options.checkpoint}},
                    {{"--resume", options.session.resume}});
  checkWritable({options.outputs, options.checkpoint});
}

void runSteps(const RunOptions &options, Session &session, int graph,
              const std::vector<Source> &sources,
              std::vector<std::vector<uint8_t>> &bytes) {
  const GraphInfo &info = session.graphs()[graph];
  ScalarOutputs scalars(info, 1);
  std::vector<void *> outputs = outputPlaces(info, scalars, bytes);
  std::vector<const void *> inputs(sources.size());
  Interrupt interrupt(&session);
  int64_t turns = callsPerStep(session, graph);
  for (int64_t call = 0; call < options.steps * turns; ++call) {
    for (size_t i = 0; i < sources.size(); ++i)
      inputs[i] = sources[i].at(call);
    runtime::Status status = session.step(graph, inputs, outputs);
    if (status.code() == runtime::StatusCode::cancelled)
      stopInterrupted(options, session, call / turns);
    check(status);
    if ((call + 1) % turns == 0)
      printStep(options, (call + 1) / turns, scalars);
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    if (info.outputs[i].type.shape.empty())
      std::memcpy(bytes[i].data(), outputs[i], bytes[i].size());
}

/// The length of a run that was assumed must not be taken for that of one.
void assumeRun(Session &session, const std::string &checkpoint) {
  if (assumeRunLength(session) && !checkpoint.empty())
    throw badInput("--checkpoint ", checkpoint,
                   ": the schedule awaits the length of a run, which gradus "
                   "train knows; or compile with --set schedule.updates=N and "
                   "--set schedule.updates_per_epoch=N");
}

void run(const RunOptions &options) {
  checkFiles(options);
  data::Dataset inputs = take(data::Dataset::open(options.inputs));
  auto session = openSession(options.session);
  noteSetNumbers(*session);
  if (options.graph == well_known::kTrain)
    assumeRun(*session, options.checkpoint);
  int graph = findGraph(*session, options.graph);
  std::vector<Source> sources = sourcesOf(inputs, *session, graph);
  std::vector<std::vector<uint8_t>> bytes;
  runSteps(options, *session, graph, sources, bytes);
  if (!options.outputs.empty())
    writeOutputs(*session, graph, bytes, options.outputs);
  saveCheckpoint(options, *session);
}

} // namespace

void addRun(CLI::App &app) {
  auto options = std::make_shared<RunOptions>();
  CLI::App *command =
      app.add_subcommand("run", "Runs any graph on given inputs");
  command->footer(kFooter);
  addSessionOptions(*command, options->session);
  command->add_option("graph", options->graph, "train, evaluate, predict, ...")
      ->required();
  addStateOptions(*command, options->session);
  command
      ->add_option("--inputs", options->inputs,
                   "FILE or NAME=FILE, as for --data of train")
      ->allow_extra_args(false);
  command->add_option("--steps", options->steps, "How many times (1)")
      ->check(positive());
  command->add_option("--outputs", options->outputs,
                      "Write the last step's outputs here");
  command->add_option("--checkpoint", options->checkpoint,
                      "Write the state here afterwards");
  command->add_flag("--overwrite", options->overwrite,
                    "Replace what --checkpoint names, if it is there");
  command->callback([options] { run(*options); });
}

} // namespace gradus::cli
