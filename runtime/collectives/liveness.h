// The life of a group of ranks: who is there, who has failed, who is waited
// for.
//
// Each rank tells each other a few times within the limit that it lives, what
// it does and for whom it waits, also while it computes: the thread that owns
// the communicator does so, and no other has to be fast. A rank that tells
// nothing for longer is dead: killed, stopped, or its host is gone. So is one
// at once whose process the transport knows to be no more. One that lives is
// waited for without end.
//
// A rank that fails tells its words to all. Where several fail at once, all
// settle on one of these failures, by a rule and not by who was heard first.
//
// One thread owns an object, but for doing() and fail(), which any may call.

#pragma once

#include "runtime/collectives/communicator.h"
#include "runtime/collectives/late_rank.h"

#include <atomic>
#include <mutex>
#include <optional>

namespace gradus::runtime {

struct LivenessOptions {
  /// The silence that is taken for death.
  std::chrono::milliseconds limit{10000};
  /// The time after which a line says who is waited for; then twice that time,
  /// and so on.
  std::chrono::milliseconds patience{5000};
  /// Prints or logs such a line, in the thread that waits. Of the ranks that
  /// wait for one, the lowest says it.
  std::function<void(const std::string &line)> say;
};

class Liveness {
public:
  Liveness(Communicator &communicator, LivenessOptions options);

  Communicator &communicator() const { return communicator_; }
  /// The time after which attend() must be called again.
  std::chrono::milliseconds interval() const { return interval_; }

  /// Hears the others and tells them what is due. Returns a failure of the
  /// group, if there is one; settle() says which one counts.
  Status attend();
  /// Waits until a transfer with another rank has ended. After an error, which
  /// is as attend()'s, all transfers are given up.
  Status wait(Transfer transfer, int from);
  /// A transfer that is under way, and the other rank.
  struct Flight {
    Transfer transfer;
    int peer;
  };
  /// Waits for all of them in their order, and clears the list.
  Status waitForAll(std::vector<Flight> &flights);
  /// Says what this rank does together with the others from now on, for errors
  /// and lines; `number` counts what it did.
  void enter(uint64_t number, std::function<std::string()> what);
  void leave();
  /// Waits until all ranks have called end(). None is missed after that.
  Status end();

  /// Hears and tells what is due after a failure too; the error is the
  /// transport's.
  Status keepInTouch();
  /// Settles after a failure on one that all ranks return. Each tells which one
  /// it knows, or else that of the transport, `status`. What counts is what a
  /// rank says of itself, then that one was lost, then an error of the
  /// transport; of equal ones that of the lowest rank. Waits for all that live,
  /// at most for the limit, and for one interval() for those that this rank has
  /// lost by their silence.
  Status settle(const Status &status);
  /// Whether this rank is the one to print the failure that was settled: the
  /// lowest that lives, unless another one has claimed it. Tells the others of
  /// its claim, so it prints at once.
  bool claimWords();
  /// Waits until all that live have called part(), at most for the limit. A
  /// launcher kills all ranks when the first one ends. Returns whether this
  /// rank, which had no claim, is to print the failure after all, since none of
  /// the others has a claim: the program of the lowest may be busy, or it was
  /// killed.
  bool part();
  /// The rank whose death is the failure of the group; -1: none.
  int dead() const { return failure_ ? failure_->dead : -1; }

  /// Says what this rank does besides, as "reads data": what the others hear
  /// if they wait for it.
  void doing(std::string what);
  /// Makes the group fail with this rank's words, at the next attend().
  void fail(const Status &status);

private:
  using Clock = std::chrono::steady_clock;
  enum class Kind : uint8_t { beat, failed, claim, end };
  /// Failures are of one of these kinds, the most telling first.
  enum class Cause : uint8_t { own, lost, transport };
  struct Failure {
    Status status;
    Cause cause = Cause::own;
    int32_t by = -1;   // the rank that told it first
    int32_t dead = -1; // the rank that was lost

    /// Whether this one counts where ranks have told both.
    bool comesBefore(const Failure &other) const {
      return std::pair(cause, by) < std::pair(other.cause, other.by);
    }
  };
  struct Peer {
    bool hasEnded = false, isDead = false;
    bool isSilent = false;   // It was lost by its silence, and may live.
    bool hasClaimed = false; // It prints the failure.
    std::string does;
    std::optional<Failure> told;
  };
  struct Head; // of a message; a text follows

  Whereabouts &own() { return at(communicator_.rank()); }
  Whereabouts &at(int rank) { return where_[static_cast<size_t>(rank)]; }
  Peer &peer(int rank) { return peers_[static_cast<size_t>(rank)]; }
  Status hearAll();
  Status hear(int from, const std::vector<uint8_t> &message);
  void hearFailure(int from, const Head &head, std::string text);
  Status tellAll(Head head, std::string text);
  void announce();
  Status failNow(Cause cause, const Status &status, int dead = -1);
  Status findDead();
  Status loses(int rank, const std::string &why);
  bool isLost(int rank);
  void pauseUntil(Clock::duration limit,
                  const std::function<bool(Clock::duration)> &isTrue);
  bool haveAllTold(Clock::duration waited);
  bool haveAllEnded();
  bool haveAllParted();
  bool hasClaimed(int below) const;
  void tellClaim();
  void sayWhoIsWaitedFor(Clock::duration waited);
  std::string named(int rank) const;
  std::string entered();

  Communicator &communicator_;
  LivenessOptions options_;
  std::chrono::milliseconds interval_;
  std::vector<Peer> peers_;
  std::vector<Whereabouts> where_; // of all ranks, with the own
  struct {
    Clock::time_point attended, told, looked; // looked for who is gone
  } last_;
  std::function<std::string()> what_;
  std::optional<Failure> failure_; // of the group; one of several until settled
  bool isAnnounced_ = false;       // the failure, to all others
  bool hasEnded_ = false;          // this rank has called end()

  std::mutex mutex_; // of the two below
  std::string does_;
  Status words_; // of fail()
  std::atomic<bool> hasFailed_{false};
};

} // namespace gradus::runtime
