// The artifact's plan says where values are: commands name their nodes, and the
// command that writes a parameter reads its gradient.

#include "training/watch.h"

#include "runtime/artifact/command_uses.h"
#include "runtime/well_known.h"
#include "training/number_at.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

using namespace gradus::runtime;

namespace gradus::training {

//===-- numbers -----------------------------------------------------------===//

namespace {

bool isFloat(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 ||
         dtype == DType::bf16;
}

TensorType typeOf(const artifact::Buffer &buffer) {
  TensorType type{buffer.type()->dtype(), {}};
  if (buffer.type()->shape())
    type.shape.assign(buffer.type()->shape()->begin(),
                      buffer.type()->shape()->end());
  return type;
}

} // namespace

Statistics statisticsOf(const TensorType &type, const void *data) {
  size_t count = *bytesOf(type) / bytesOf(type.dtype);
  Statistics all;
  double sum = 0, squares = 0;
  all.min = std::numeric_limits<double>::infinity();
  all.max = -all.min;
  for (size_t i = 0; i < count; ++i) {
    double number = numberAt(type.dtype, data, i);
    if (!std::isfinite(number)) {
      ++all.nonfinite;
      continue;
    }
    sum += number;
    all.min = std::min(all.min, number);
    all.max = std::max(all.max, number);
  }
  size_t finite = count - all.nonfinite;
  all.mean = sum / finite;
  for (size_t i = 0; i < count; ++i)
    if (double number = numberAt(type.dtype, data, i); std::isfinite(number))
      squares += (number - all.mean) * (number - all.mean);
  all.std = std::sqrt(squares / finite);
  if (finite == 0)
    all.min = all.max = std::nan("");
  return all;
}

//===-- finding buffers ---------------------------------------------------===//

Watch::Watch(Session &session) : session_(session) {
  for (size_t i = 0; i < session.graphs().size(); ++i)
    if (session.graphs()[i].name.starts_with(well_known::kTrain))
      graphs_.push_back(i);
}

Watch::~Watch() { session_.setProbe({}); }

StatusOr<std::unique_ptr<Watch>>
Watch::create(Session &session, const std::vector<std::string> &names,
              const Advice &advice) {
  std::unique_ptr<Watch> watch(new Watch(session));
  for (const std::string &name : names)
    GRADUS_TRY(watch->find(name, advice));
  session.setProbe([watch = watch.get()](size_t graph, size_t command) {
    watch->look(graph, command);
  });
  return watch;
}

const artifact::GraphPlan &Watch::planOf(size_t graph) const {
  const auto &plans = *session_.plan().graphs();
  return **std::find_if(plans.begin(), plans.end(), [&](const auto *plan) {
    return plan->graph() == graph; // each graph has one
  });
}

Status Watch::find(const std::string &name, const Advice &advice) {
  int state = session_.findState(name);
  values_.push_back({name, state, state >= 0, {}});
  size_t value = values_.size() - 1;
  if (state >= 0) {
    values_.push_back({name + ".gradient", -1, false, {}});
    for (size_t graph : graphs_)
      if (!findOutput(graph, "gradient." + name, value + 1))
        findGradient(graph, state, value + 1);
    return {};
  }
  bool any = false;
  for (size_t graph : graphs_) {
    bool found = findOutput(graph, "node." + name, value);
    if (!found) {
      GRADUS_ASSIGN(found, findNode(graph, name, value));
    }
    any |= found;
  }
  if (any)
    return {};
  return invalid(name, ": ", session_.artifact().path(),
                 " has no state and no node of this name",
                 advice ? advice(name, knownNames()) : "");
}

std::vector<std::string> Watch::knownNames() const {
  std::set<std::string> names;
  for (const StateInfo &state : session_.states())
    names.insert(state.name);
  for (size_t graph : graphs_)
    for (const CommandInfo &command : session_.graphs()[graph].commands)
      names.insert(command.nodes.begin(), command.nodes.end());
  return {names.begin(), names.end()};
}

/// Finds an output that --node-outputs has made of the value.
bool Watch::findOutput(size_t graph, const std::string &name, size_t value) {
  const auto &outputs = session_.graphs()[graph].outputs;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].name == name) {
      places_.push_back({graph, session_.graphs()[graph].commands.size(),
                         planOf(graph).outputs()->Get(i), value});
      return true;
    }
  return false;
}

/// Finds the gradient: the one value of the parameter's size that the kernel
/// that writes the parameter reads from the arena. It is not available if there
/// are several or none.
void Watch::findGradient(size_t graph, int state, size_t value) {
  const auto &plan = session_.plan();
  uint64_t place = plan.state_offsets()->Get(state);
  auto at = [&](uint32_t number) -> const artifact::Buffer & {
    return *plan.buffers()->Get(number);
  };
  auto isParameter = [&](uint32_t number) {
    return at(number).region() == artifact::Region::state &&
           at(number).offset() == place;
  };
  auto mayBeGradient = [&](uint32_t number) {
    return at(number).region() == artifact::Region::arena &&
           typeOf(at(number)) == session_.states()[state].type;
  };
  const auto *commands = planOf(graph).commands();
  for (uint32_t i = 0; commands && i < commands->size(); ++i) {
    const auto *kernel = commands->Get(i)->kind_as_KernelCommand();
    auto written = buffersWritten(session_.plan(),
                                  session_.artifact().kernels(session_.plan()),
                                  *commands->Get(i));
    if (!kernel || std::none_of(written.begin(), written.end(), isParameter))
      continue;
    for (const artifact::Segment *segment : *kernel->segments()) {
      std::set<uint32_t> buffers(segment->buffers()->begin(),
                                 segment->buffers()->end());
      if (std::none_of(buffers.begin(), buffers.end(), isParameter))
        continue;
      std::erase_if(buffers, [&](uint32_t b) { return !mayBeGradient(b); });
      if (buffers.size() == 1)
        places_.push_back({graph, i, *buffers.begin(), value});
    }
  }
}

/// Finds the first command that computes the node: later ones are of the
/// backward pass.
StatusOr<bool> Watch::findNode(size_t graph, const std::string &name,
                               size_t value) {
  const auto &commands = session_.graphs()[graph].commands;
  for (size_t i = 0; i < commands.size(); ++i)
    if (std::ranges::find(commands[i].nodes, name) != commands[i].nodes.end()) {
      uint32_t buffer = 0;
      GRADUS_ASSIGN(buffer, resultOf(graph, i, name));
      places_.push_back({graph, i + 1, buffer, value});
      return true;
    }
  return false;
}

StatusOr<uint32_t> Watch::resultOf(size_t graph, size_t command,
                                   const std::string &node) {
  std::set<uint32_t> results;
  for (uint32_t number : buffersWritten(
           session_.plan(), session_.artifact().kernels(session_.plan()),
           *planOf(graph).commands()->Get(command))) {
    const artifact::Buffer &buffer = *session_.plan().buffers()->Get(number);
    if (buffer.region() == artifact::Region::arena &&
        isFloat(buffer.type()->dtype()))
      results.insert(number);
  }
  if (results.size() != 1)
    return invalid(
        node, ": command ", command, " of ", session_.graphs()[graph].name,
        " computes it with ",
        absl::StrJoin(session_.graphs()[graph].commands[command].nodes, ", "),
        " and writes ", results.size(),
        " values, which cannot be told apart; `gradus compile --node-outputs` "
        "keeps them all");
  return *results.begin();
}

//===-- steps -------------------------------------------------------------===//

void Watch::look(size_t graph, size_t command) {
  if (command == 0)
    for (Value &value : values_)
      value.seen = value.state >= 0;
  for (const Place &place : places_)
    if (place.graph == graph && place.command == command) {
      const auto *buffer = session_.plan().buffers()->Get(place.buffer);
      auto bytes = session_.bufferBytes(place.buffer);
      if (!bytes.ok())
        continue; // the device has failed, and the step says so
      values_[place.value].statistics =
          statisticsOf(typeOf(*buffer), bytes->data());
      values_[place.value].seen = true;
    }
}

Status Watch::onStep(StepReport &report) {
  std::vector<Metric> added;
  GRADUS_ASSIGN(added, figures());
  report.besides.insert(report.besides.end(), added.begin(), added.end());
  return {};
}

StatusOr<std::vector<Metric>> Watch::figures() const {
  std::vector<Metric> figures;
  for (const Value &value : values_) {
    if (!value.seen)
      continue;
    Statistics of = value.statistics;
    if (value.state >= 0) {
      auto bytes = session_.stateBytes(value.state);
      GRADUS_TRY(bytes.status());
      of = statisticsOf(session_.states()[value.state].type, bytes->data());
    }
    figures.push_back({value.name + ".mean", of.mean});
    figures.push_back({value.name + ".std", of.std});
    figures.push_back({value.name + ".min", of.min});
    figures.push_back({value.name + ".max", of.max});
    figures.push_back({value.name + ".nonfinite", double(of.nonfinite)});
  }
  return figures;
}

} // namespace gradus::training
