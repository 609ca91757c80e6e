// When the sums over ranks of a step were under way, and for how much of that
// time the step waited.

#pragma once

#include "runtime/collectives/communication_thread.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gradus::cli {

/// A collective, in nanoseconds of one clock.
struct MeasuredSum {
  std::string name;       // "all-reduce of 4096 f32"
  uint64_t bytesSent = 0; // by this rank
  int64_t begun = 0;      // by a command
  int64_t started = 0;    // by the thread that communicates
  int64_t ended = 0;
  int64_t waited = 0; // until then, by a command that did nothing else
};

/// The costs of sums for a step, in seconds.
struct SumCosts {
  uint64_t bytesSent = 0;
  double transferred = 0; // the time in which one was begun and had not ended
  double hidden = 0;      // the part of it in which commands ran
  double exposed = 0;     // the rest: what a step of one rank does not have

  /// The bytes, and the times in milliseconds.
  nlohmann::ordered_json toJson() const;
};
SumCosts costsOf(const std::vector<MeasuredSum> &sums);

/// Words for what SumCosts::toJson() tells: "rank 0 sends 120 MiB; 8.20 ms
/// under way, of them 5.10 ms hidden, 3.10 ms exposed".
std::string textOfSums(const nlohmann::ordered_json &sums);

/// Notes the times of what a plan begins and waits for. A session gets it as
/// its collectives; one thread uses it, that which runs steps.
class MeasuredSums final : public runtime::Collectives {
public:
  using Clock = runtime::CommunicationThread::Clock;

  /// Times are counted from the first moment.
  MeasuredSums(std::shared_ptr<runtime::CommunicationThread> thread,
               Clock::time_point first)
      : thread_(std::move(thread)), first_(first) {}

  int rank() const override { return thread_->rank(); }
  int ranks() const override { return thread_->ranks(); }
  uint64_t begin(const runtime::Collective &collective) override;
  runtime::Status finish(uint64_t number) override;
  runtime::Status fail(const runtime::Status &status) override {
    return thread_->fail(status);
  }
  void keep(std::shared_ptr<const void> memory) override {
    thread_->keep(std::move(memory));
  }

  /// The sums that have ended since the last call.
  std::vector<MeasuredSum> take() { return std::exchange(ended_, {}); }

private:
  struct Open {
    uint64_t number;
    MeasuredSum sum;
  };

  std::shared_ptr<runtime::CommunicationThread> thread_;
  Clock::time_point first_;
  std::vector<Open> open_;
  std::vector<MeasuredSum> ended_;
};

} // namespace gradus::cli
