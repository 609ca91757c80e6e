// The runtime's session, fed from data.safetensors by the names of a case.

#include "frontends/check/trainer.h"

#include "absl/strings/str_cat.h"

#include <random>
#include <stdexcept>
#include <utility>

namespace gradus::check {

Trainer::Trainer(std::vector<char> bytes, const RecordedCase &recorded,
                 int threads)
    : recorded_(recorded) {
  auto artifact = takeOrThrow(runtime::Artifact::fromBytes(
      {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()},
      recorded.name()));
  bytes = {};
  session_ =
      takeOrThrow(runtime::Session::create(artifact, {.threads = threads}));
  graph_ = session_->findGraph("train");
  if (graph_ < 0)
    throw std::runtime_error("the artifact has no graph train");
}

void Trainer::step(int batch) {
  std::vector<const void *> inputs;
  for (const runtime::TensorInfo &input : graph().inputs) {
    const runtime::NamedTensor &data = recorded_.input(input.name, batch);
    if (data.type != input.type)
      throw std::runtime_error(absl::StrCat(
          "data.safetensors: \"", data.name, "\" is ", toString(data.type),
          ", expected ", toString(input.type)));
    inputs.push_back(data.data.data());
  }
  runtime::Status status = session_->step(graph_, inputs);
  if (!status.ok())
    throw std::runtime_error(std::string(status.message()));
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
  throw std::runtime_error("there is no " + name);
}

bool Trainer::hasState(const std::string &name) const {
  return session_->findState(name) >= 0;
}

std::vector<double> Trainer::state(const std::string &name) const {
  int number = session_->findState(name);
  if (number < 0)
    throw std::runtime_error("the model has no parameter \"" + name + "\"");
  return values(session_->states()[number],
                std::as_const(*session_).stateBuffer(number));
}

void Trainer::restart(uint32_t seed) {
  session_->resetStates();
  std::mt19937 random(seed);
  for (size_t i = 0; seed && i < states().size(); ++i) {
    const runtime::StateInfo &state = states()[i];
    if (state.role != artifact::Role::parameter ||
        state.type.dtype != runtime::DType::f32)
      continue;
    auto *elements = static_cast<float *>(session_->stateBuffer(i));
    for (size_t at = 0; at < state.bytes / sizeof(float); ++at)
      elements[at] *= 1 + (int(random() % 5) - 2) * 0x1p-23f;
  }
}

} // namespace gradus::check
