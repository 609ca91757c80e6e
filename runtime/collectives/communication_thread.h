// The thread that communicates: it opens a communicator, runs what was begun
// in that order, keeps the group alive meanwhile and closes the communicator.
//
// No other thread touches the transport, which suits MPI
// (MPI_THREAD_FUNNELED). The thread sleeps while nothing is begun, but for a
// moment for each heartbeat, and handles no signals. It has the pool's
// floating-point mode (runtime/float_mode.h), so sums have the bits of kernels.
// A ring of fixed size holds what was begun: beginning allocates nothing.

#pragma once

#include "runtime/collectives/collectives.h"
#include "runtime/collectives/liveness.h"
#include "runtime/origin.h"

#include <condition_variable>
#include <pthread.h>

namespace gradus::runtime {

class CommunicationThread final : public Collectives {
public:
  using Clock = std::chrono::steady_clock;
  /// A task sends and receives in turn with collectives, in the thread that
  /// communicates.
  using Task = std::function<Status(Liveness &)>;
  /// The times when a collective was begun, when its turn came, when it ended.
  struct Times {
    Clock::time_point begun, started, ended;
  };
  /// The number of collectives that may be begun and not finished; begin()
  /// waits beyond.
  static constexpr uint64_t kMostBegun = 1024;

  /// Opens the communicator in the new thread. Ranks of different builds are
  /// refused on all of them in the same words, as an invalid call.
  static StatusOr<std::unique_ptr<CommunicationThread>>
  start(OpenCommunicator open, LivenessOptions options);

  /// Without end() before, all others fail: this rank has left them. The
  /// memory of what was begun must live until then, or be kept by keep().
  ~CommunicationThread() override;
  CommunicationThread(const CommunicationThread &) = delete;

  int rank() const override { return group_.rank; }
  int ranks() const override { return static_cast<int>(group_.hosts.size()); }
  /// The name of the host that runs a rank.
  const std::string &host(int rank) const {
    return group_.hosts[static_cast<size_t>(rank)];
  }

  uint64_t begin(const Collective &collective) override;
  Status finish(uint64_t number) override;
  /// The times of a finished collective that is among the last kMostBegun.
  Times timesOf(uint64_t number) const;

  /// Runs a task behind what was begun before, and waits for it.
  Status run(const Task &task);
  /// Says what this rank does outside of collectives, as "reads data", to those
  /// that wait for it.
  void doing(std::string what);
  Status fail(const Status &status) override;
  void keep(std::shared_ptr<const void> memory) override;
  /// The group's failure as far as it is known, with the words of any of those
  /// that failed; ok if there is none. Never waits.
  Status failure() const;
  /// Whether this rank is the one to print the group's error (as
  /// Liveness::claimWords()), which it does then at once. A rank that is not
  /// asks once more after end(): it may be the one then, as the other has
  /// printed nothing.
  bool claimWords();
  /// The rank whose death is the group's error; -1: none.
  int dead() const;
  /// Waits until all ranks have called this, and closes the communicator. After
  /// a failure it waits for those that live, at most for the limit: so a rank
  /// prints what it has to print before, and then none is killed by a launcher
  /// that sees another one end. Returns the group's error. Nothing but
  /// claimWords() and the destructor is called after it.
  Status end();

private:
  struct Start;
  struct Entry {
    Collective collective;
    const Task *task = nullptr;
    Times times;
  };

  CommunicationThread() = default;
  Status createThread(OpenCommunicator open, LivenessOptions options);
  uint64_t add(const Collective &collective, const Task *task);

  static void *enter(void *start);
  void live(OpenCommunicator open, LivenessOptions options);
  Status stay(Communicator &communicator, LivenessOptions options);
  Status takePart(Liveness &liveness, class SumTree &sums);
  Status part(Liveness &liveness, const Status &failure);
  void answerClaim(Liveness &liveness);
  bool isOver() const;
  bool isAtEnd() const;
  bool waitForWork(std::chrono::milliseconds time);
  Status runNext(Liveness &liveness, SumTree &sums);

  struct {
    pthread_t id{};
    Origin origin; // the process that has it
  } thread_;
  struct {
    int rank = 0;
    std::vector<std::string> hosts;
  } group_;

  mutable std::mutex mutex_; // of all below
  std::condition_variable changed_, ended_;
  std::unique_ptr<Entry[]> ring_{new Entry[kMostBegun]};
  std::vector<std::shared_ptr<const void>> kept_;
  uint64_t begunCount_ = 0, endedCount_ = 0;
  Status failure_;               // the group's
  Liveness *liveness_ = nullptr; // from the opening until it is left
  bool hasFailed_ = false;       // this rank
  struct {
    bool speaks = false;
    int dead = -1;
    bool isAsked = false; // The program waits to hear of its claim.
  } outcome_;             // of the failure
  enum { running, ending, left } state_ = running;
};

} // namespace gradus::runtime
