// The ranks that run a command together: processes that an MPI launcher has
// started, or threads of one process that simulate them.
//
// Rank 0 prints and writes files. What any rank throws ends all of them: one
// line is printed, and all exit with the same code.

#pragma once

#include "runtime/collectives/agreement.h"
#include "runtime/collectives/in_process.h"
#include "runtime/collectives/network.h"
#include "tool/failure.h"
#include "tool/session/rank_range.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>

namespace gradus::cli {

struct RankOptions {
  int64_t start = 0;        // processes to start by mpirun; 0: none
  int64_t simulate = 0;     // threads that act as ranks; 0: none
  runtime::Network network; // that these have
  double limit = 10;        // seconds of silence that are taken for death
};

/// Adds --ranks, --simulate-ranks, --network and --rank-timeout. With
/// `predicted` --ranks takes a range, too, and a network need not be simulated.
void addRankOptions(CLI::App &command, RankOptions &options,
                    RankRange *predicted = nullptr);

/// A failure that all ranks throw alike: they end together, and rank 0 prints
/// it.
struct SharedFailure : Failure {
  explicit SharedFailure(const Failure &failure) : Failure(failure) {}
};

/// A rank among others, or a process alone.
class Ranks {
public:
  Ranks() = default;
  Ranks(std::shared_ptr<runtime::CommunicationThread> thread, bool isSimulated)
      : thread_(std::move(thread)), isSimulated_(isSimulated) {}

  int rank() const { return thread_ ? thread_->rank() : 0; }
  int count() const { return thread_ ? thread_->ranks() : 1; }
  bool isFirst() const { return rank() == 0; }
  bool isAlone() const { return !thread_; }
  /// The ranks for people: "4 processes on 2 hosts"; empty for one alone.
  std::string text() const;
  /// Null if the process is alone.
  const std::shared_ptr<runtime::CommunicationThread> &thread() const {
    return thread_;
  }

  /// The ranks of the own host; only where there are several processes.
  int neighbours() const;
  /// The threads of a rank that asked for so many: for 0 its part of the cores
  /// of its host. Rank 0 warns where a launcher has bound ranks to fewer.
  int threads(int asked) const;
  /// Says what this rank does, to those that wait for it.
  void doing(const std::string &what) const;
  /// The text of rank 0.
  std::string fromFirst(const std::string &text) const;
  /// Throws a Failure on all ranks where a fact differs between them.
  void agree(const runtime::Facts &facts) const;
  /// From now on the line about a rank that has died ends in what `advice`
  /// returns, on the rank that prints it: "; the last checkpoint is ...". It
  /// may be called when the command has been left.
  void adviseWhenOneDies(std::function<std::string()> advice) const;
  /// The words about the failure that ended all ranks.
  std::string wordsOf(const runtime::Status &failure) const;

private:
  std::shared_ptr<runtime::CommunicationThread> thread_;
  bool isSimulated_ = false;
  std::shared_ptr<std::function<std::string()>> advice_ =
      std::make_shared<std::function<std::string()>>();
};

/// Runs a command on the ranks that the options and the launcher ask for; with
/// --ranks mpirun starts this program again.
void runOnRanks(const RankOptions &options,
                const std::function<void(const Ranks &)> &command);

} // namespace gradus::cli
