// Runs the runtime's session on data.safetensors, by the names of a case.

#include "tool/check/trainer.h"

#include "runtime/artifact/winograd.h"
#include "runtime/status.h"
#include "runtime/well_known.h"
#include "training/trainer.h"

#include <algorithm>
#include <random>
#include <utility>

namespace gradus::check {

static void checkOrThrow(const runtime::Status &status) {
  if (!status.ok())
    throw Refusal(status.message());
}

Trainer::Trainer(std::vector<char> bytes, const RecordedCase &recorded,
                 const runtime::SessionOptions &options)
    : recorded_(recorded) {
  auto artifact = takeOrThrow(runtime::Artifact::fromBytes(
      {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()},
      recorded.name()));
  bytes = {};
  session_ = takeOrThrow(runtime::Session::create(artifact, options));
  graph_ = session_->findGraph(well_known::kTrain);
  if (graph_ < 0)
    throw Refusal("the artifact has no graph train");
}

bool Trainer::convolvesByWinograd() const {
  return std::ranges::any_of(graph().commands, [](const auto &command) {
    return runtime::isWinograd(command.name);
  });
}

//===-- steps -------------------------------------------------------------===//

namespace {

/// Ends each call of the runtime after one step; nothing is tested or saved.
struct EachStep : training::Decider {
  training::Decision atBorder(const training::Border &) override { return {}; }
  int64_t stepsToRun(int64_t, int64_t) override { return 1; }
};

struct Looks : training::Observer {
  explicit Looks(const Trainer::Look &look) : look(look) {}

  runtime::Status onStep(training::StepReport &) override {
    double before = std::exchange(seconds, trainer->secondsInSteps());
    if (look)
      look(seconds - before);
    return {};
  }

  const Trainer::Look &look;
  const training::Trainer *trainer = nullptr;
  double seconds = 0;
};

} // namespace

runtime::StatusOr<bool>
Trainer::inputsOf(int batch, std::vector<const void *> &inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto &all = graph().inputs; // each turn has the same
    const runtime::TensorInfo &input = all[i % all.size()];
    const runtime::NamedTensor &data = recorded_.input(input.name, batch);
    if (data.type != input.type)
      return runtime::invalid("data.safetensors: \"", data.name, "\" is ",
                              toString(data.type), ", expected ",
                              toString(input.type));
    inputs[i] = data.data.data();
  }
  return true;
}

void Trainer::train(const std::vector<int> &order, const Look &look) {
  if (order.empty())
    return;
  int64_t start = takeOrThrow(session_->stepCount());
  auto count = static_cast<int64_t>(order.size());
  training::CallerBatches batches(
      count, graph().inputs.size() * session_->turns(),
      [&](int64_t number, std::vector<const void *> &inputs) {
        return inputsOf(order[number - start], inputs);
      });
  EachStep decider;
  Looks looks(look);
  auto trainer = takeOrThrow(training::Trainer::create(
      *session_, batches, decider, {.steps = start + count}));
  looks.trainer = &trainer;
  trainer.add(looks);
  checkOrThrow(takeOrThrow(trainer.run()).why);
}

void Trainer::timedStep(int batch) {
  times_.assign(graph().commands.size(), 0);
  session_->timeCommands(graph_, times_);
  step(batch);
  session_->timeCommands(graph_, {});
}

static std::vector<double> values(const runtime::TensorInfo &tensor,
                                  const void *data) {
  return toDoubles({tensor.name,
                    tensor.type,
                    {static_cast<const uint8_t *>(data), tensor.bytes}});
}

std::vector<double> Trainer::output(const std::string &name) const {
  const auto &outputs = graph().outputs;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].name == name)
      return values(outputs[i], session_->outputBuffer(graph_, i));
  throw Refusal("there is no " + name);
}

bool Trainer::hasState(const std::string &name) const {
  return session_->findState(name) >= 0;
}

std::vector<double> Trainer::state(const std::string &name) const {
  int number = session_->findState(name);
  if (number < 0)
    throw Refusal("the model has no parameter \"" + name + "\"");
  return values(session_->states()[number],
                takeOrThrow(session_->stateBytes(number)).data());
}

void Trainer::restart(uint32_t seed) {
  checkOrThrow(session_->resetStates());
  std::mt19937 random(seed);
  for (size_t i = 0; seed && i < states().size(); ++i) {
    const runtime::StateInfo &state = states()[i];
    if (state.role != artifact::Role::parameter ||
        state.type.dtype != runtime::DType::f32)
      continue;
    std::vector<float> elements(state.bytes / sizeof(float));
    std::span bytes(reinterpret_cast<uint8_t *>(elements.data()), state.bytes);
    std::ranges::copy(takeOrThrow(session_->stateBytes(i)), bytes.begin());
    for (float &element : elements)
      element *= 1 + (int(random() % 5) - 2) * 0x1p-23f;
    checkOrThrow(session_->writeState(i, bytes));
  }
}

} // namespace gradus::check
