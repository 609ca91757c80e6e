// A plan with its memory, its threads and its commands, ready to run.

#pragma once

#include "runtime/artifact.h"
#include "runtime/command.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/memory.h"

#include "runtime/status.h"

#include <memory>
#include <span>
#include <vector>

namespace gradus::runtime {

/// Bytes of an input or an output, where a step keeps them.
struct PortMemory {
  uint8_t *data = nullptr;
  size_t bytes = 0;
};

struct LoadedGraph {
  std::vector<PortMemory> inputs;
  std::vector<PortMemory> outputs;
  std::vector<std::unique_ptr<Command>> commands;
  const artifact::GraphPlan *plan = nullptr;
};

class LoadedPlan {
public:
  /// Allocates everything that steps will need. State is zero.
  static StatusOr<std::unique_ptr<LoadedPlan>>
  load(std::shared_ptr<const Artifact> artifact, const artifact::Plan &plan,
       int threads, bool deterministic);

  const Artifact &artifact() const { return *artifact_; }
  const artifact::Plan &plan() const { return plan_; }
  int threads() const { return pool_.threads(); }
  MemoryBlock &state() { return state_; }
  /// Scratch that the library asked for beyond the plan's.
  size_t extraScratch() const { return extra_.size(); }
  /// Where each buffer of the plan lies; null where it has no bytes.
  std::vector<uint8_t *> bufferAddresses() const;
  /// As the header numbers them.
  std::vector<LoadedGraph> &graphs() { return graphs_; }

  /// Runs one command of a graph.
  Status runCommand(size_t graph, size_t command);
  /// Runs a graph's commands; `nanoseconds` gets each one's time unless empty.
  Status run(size_t graph, std::span<int64_t> nanoseconds);

private:
  LoadedPlan(std::shared_ptr<const Artifact> artifact,
             const artifact::Plan &plan, int threads)
      : artifact_(std::move(artifact)), plan_(plan), pool_(threads) {}

  Status allocate();
  Status prepare(bool deterministic);
  Status prepareGraph(const CommandContext &context,
                      const artifact::GraphPlan &graph);
  Status addExtraScratch();
  Status failure(size_t graph, size_t command, const Status &status) const;

  std::shared_ptr<const Artifact> artifact_;
  const artifact::Plan &plan_;
  ThreadPool pool_;
  MemoryBlock state_, arena_, code_, extra_;
  std::vector<LoadedGraph> graphs_;
};

} // namespace gradus::runtime
