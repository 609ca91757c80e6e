// Collects the buffers that each command uses.

#include "tool/inspect/memory_map.h"

#include "runtime/artifact/command_uses.h"

#include <algorithm>
#include <map>

using namespace gradus::artifact;

namespace gradus::cli {
namespace {

class Map {
public:
  Map(const Header &header, const Plan &plan) : header_(header), plan_(plan) {}

  void add(uint32_t buffer, int command, const std::string &use) {
    auto [found, isNew] = entries_.try_emplace(buffer);
    MapEntry &entry = found->second;
    if (isNew)
      describe(buffer, command, use, entry);
    entry.first = std::min(entry.first, command);
    entry.last = std::max(entry.last, command);
  }

  std::vector<MapEntry> sorted() const {
    std::vector<MapEntry> entries;
    for (const auto &[buffer, entry] : entries_)
      entries.push_back(entry);
    std::sort(entries.begin(), entries.end(),
              [](const MapEntry &a, const MapEntry &b) {
                return std::tuple(a.region, a.offset, a.first) <
                       std::tuple(b.region, b.offset, b.first);
              });
    return entries;
  }

private:
  void describe(uint32_t index, int command, const std::string &use,
                MapEntry &entry) {
    const Buffer &buffer = *plan_.buffers()->Get(index);
    entry = {index, buffer.region(), buffer.offset(), buffer.size(), "",
             use,   command,         command};
    entry.type = runtime::toString(runtime::typeOf(buffer.type()));
    if (buffer.region() == Region::state)
      entry.use = stateAt(buffer.offset());
  }

  std::string stateAt(uint64_t offset) const {
    for (unsigned i = 0; i < plan_.state_offsets()->size(); ++i)
      if (plan_.state_offsets()->Get(i) == offset)
        return header_.states()->Get(i)->name()->str();
    return "state";
  }

  const Header &header_;
  const Plan &plan_;
  std::map<uint32_t, MapEntry> entries_;
};

} // namespace

std::vector<MapEntry> memoryMap(const runtime::Artifact &artifact,
                                const Plan &plan, const GraphPlan &graph) {
  const Header &header = artifact.header();
  Map map(header, plan);
  const Graph &ports = *header.graphs()->Get(graph.graph());
  int commands = graph.commands() ? graph.commands()->size() : 0;
  for (unsigned i = 0; graph.inputs() && i < graph.inputs()->size(); ++i)
    map.add(graph.inputs()->Get(i), 0,
            "input " + ports.inputs()->Get(i)->name()->str());
  for (unsigned i = 0; graph.outputs() && i < graph.outputs()->size(); ++i)
    map.add(graph.outputs()->Get(i), commands,
            "output " + ports.outputs()->Get(i)->name()->str());
  for (int i = 0; i < commands; ++i) {
    const Command &command = *graph.commands()->Get(i);
    for (const runtime::BufferUse &use :
         runtime::usesOf(plan, artifact.kernels(plan), command))
      map.add(use.buffer, i, runtime::textOf(command.name()));
  }
  return map.sorted();
}

} // namespace gradus::cli
