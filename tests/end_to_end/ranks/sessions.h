// The ranks of a run as threads of this process, each with a session of its
// own, over collectives within the process. For tests.
#pragma once

#include "tests/end_to_end/compiled.h"

#include "tests/runtime/collectives/ranks.h"

namespace gradus {

/// The numbers of ranks to test: 2 and 3, or those that the environment's
/// GRADUS_RANKS lists, as "1,4,8".
std::vector<int> ranksToTest();

/// The part of a rank of a graph's inputs, which lie one after the other in
/// those of all; an input that has the rank's size already is the same for all.
NamedTensors partOf(const NamedTensors &inputs, const runtime::GraphInfo &graph,
                    int rank);

class RankSessions {
public:
  /// Loads an artifact on each rank of a group.
  RankSessions(const std::vector<char> &artifact,
               const std::vector<runtime::OpenCommunicator> &openers);
  RankSessions(const std::vector<char> &artifact, int ranks)
      : RankSessions(artifact, runtime::inProcess(ranks)) {}
  /// Ends the group, on all ranks together.
  ~RankSessions();

  int ranks() const { return static_cast<int>(sessions_.size()); }
  Compiled &on(int rank) { return *sessions_[static_cast<size_t>(rank)]; }
  runtime::CommunicationThread &thread(int rank) {
    return *threads_[static_cast<size_t>(rank)];
  }

  /// Runs a function for each rank, in a thread of its own.
  void onEach(const std::function<void(int rank)> &run);
  /// One step of all ranks, each with its part of the inputs; the outputs of
  /// each.
  std::vector<NamedTensors> run(const std::string &graph,
                                const NamedTensors &inputs);
  /// The bits of all states of a rank but its place among the others and sums
  /// of its own gradients that wait for an update.
  std::map<std::string, std::vector<uint8_t>> replicated(int rank);
  /// Expects that all ranks have the same bits in them.
  void expectReplicas();

private:
  std::vector<std::shared_ptr<runtime::CommunicationThread>> threads_;
  std::vector<std::unique_ptr<Compiled>> sessions_;
};

} // namespace gradus
