// Facts of an artifact in plain values; see session_facts.h.

#include "runtime/session/session_facts.h"

#include "runtime/artifact/command.h"
#include "runtime/flat.h"

#include <algorithm>
#include <cmath>

namespace gradus::runtime {

namespace {

TensorInfo infoOf(const flatbuffers::String *name,
                  const artifact::TensorType *type, int64_t indices = 0) {
  TensorInfo info{textOf(name), typeOf(type), 0, indices};
  info.bytes = *bytesOf(info.type);
  return info;
}

std::vector<TensorInfo>
infosOf(const flatbuffers::Vector<flatbuffers::Offset<artifact::Port>> *ports) {
  std::vector<TensorInfo> infos;
  infos.reserve(countOf(ports));
  for (size_t i = 0; i < countOf(ports); ++i)
    infos.push_back(infoOf(ports->Get(i)->name(), ports->Get(i)->type(),
                           ports->Get(i)->indices()));
  return infos;
}

CommandInfo infoOf(const artifact::Command &command) {
  CommandInfo info;
  info.name = textOf(command.name());
  info.kind = kindOf(command);
  for (size_t i = 0; i < countOf(command.nodes()); ++i)
    info.nodes.push_back(textOf(command.nodes()->Get(i)));
  info.flops = command.flops();
  info.bytes = command.bytes();
  return info;
}

} // namespace

GraphInfo infoOf(const artifact::Graph &graph,
                 const artifact::GraphPlan &plan) {
  GraphInfo info{textOf(graph.name()),
                 infosOf(graph.inputs()),
                 infosOf(graph.outputs()),
                 {},
                 plan.bound()};
  for (size_t i = 0; i < countOf(plan.commands()); ++i)
    info.commands.push_back(infoOf(*plan.commands()->Get(i)));
  return info;
}

std::vector<StateInfo> stateInfosOf(const artifact::Header &header) {
  std::vector<StateInfo> infos;
  for (size_t i = 0; i < countOf(header.states()); ++i) {
    const artifact::State *state = header.states()->Get(i);
    StateInfo info;
    static_cast<TensorInfo &>(info) = infoOf(state->name(), state->type());
    info.role = state->role();
    info.minimum = state->minimum();
    info.limit = state->limit();
    info.isPerRank = state->per_rank();
    if (state->whole())
      info.whole = typeOf(state->whole());
    infos.push_back(std::move(info));
  }
  return infos;
}

std::vector<const artifact::GraphPlan *>
graphPlansOf(const artifact::Header &header, const artifact::Plan &plan) {
  std::vector<const artifact::GraphPlan *> plans(countOf(header.graphs()));
  for (size_t i = 0; i < countOf(plan.graphs()); ++i)
    plans[plan.graphs()->Get(i)->graph()] = plan.graphs()->Get(i);
  return plans;
}

bool StateInfo::isNumber() const {
  return std::isfinite(minimum) && type.shape.empty() &&
         type.dtype == artifact::DType::f64;
}

MemoryInfo memoryOf(const Artifact &artifact, const artifact::Plan &plan,
                    std::span<const GraphInfo> graphs) {
  MemoryInfo memory;
  memory.state = plan.state_bytes();
  memory.arena = plan.arena_bytes();
  memory.constants = artifact.bytes(artifact.header().constants()).size();
  memory.code = artifact.codeBytes(plan);
  for (const GraphInfo &graph : graphs)
    memory.bound = std::max(memory.bound, graph.bound);
  return memory;
}

} // namespace gradus::runtime
