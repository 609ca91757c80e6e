// The life of a group of ranks: who is there, who has failed, who is waited
// for.
//
// Each rank tells each other a few times within the limit that it lives, what
// it does and for whom it waits, also while it computes: the thread that owns
// the communicator does so, and no other has to be fast. A rank that tells
// nothing for longer is dead: killed, stopped, or its host is gone. So is one
// at once whose process the transport knows to be no more. One that lives is
// waited for without end. A rank that fails tells its words to all,
// and then all functions on all ranks return these same words.
//
// One thread owns an object, but for doing() and fail(), which any may call.

#pragma once

#include "runtime/collectives/communicator.h"

#include <atomic>
#include <mutex>

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

  /// Hears the others and tells them what is due. Returns the failure of the
  /// group, if there is one.
  Status attend();
  /// Waits until a transfer with another rank has ended. After an error all
  /// transfers are given up.
  Status wait(Transfer transfer, int peer);
  /// Says what this rank does together with the others from now on, for errors
  /// and lines; `number` counts what it did.
  void enter(uint64_t number, std::function<std::string()> what);
  void leave();
  /// Waits until all ranks have called end(). None is missed after that.
  Status end();

  /// Hears and tells what is due after a failure too; the error is the
  /// transport's.
  Status keepInTouch();
  /// Waits after a failure until all others that live have called part(), at
  /// most for the limit. A launcher kills all ranks when the first one ends, so
  /// each says before what it has to say.
  void part();
  /// Whether this rank is the one to print the group's failure: the lowest that
  /// lives, as far as it knows.
  bool speaks();

  /// Says what this rank does besides, as "reads data": what the others hear
  /// if they wait for it.
  void doing(std::string what);
  /// Makes the group fail with this rank's words, at the next attend().
  void fail(const Status &status);

private:
  using Clock = std::chrono::steady_clock;
  enum class Kind : uint8_t { beat, failed, end };
  struct Peer {
    Clock::duration silence{}; // in time that this rank was awake
    bool hasEnded = false;
    int waitsFor = -1;
    std::string does;
  };
  struct Head; // of a message; a text follows

  Status hearAll();
  Status hear(int from, const std::vector<uint8_t> &message);
  Status tellAll(Kind kind, StatusCode code, std::string text);
  Status failNow(const Status &status);
  Status findDead();
  Status loses(int rank, const std::string &why);
  void sayWhoIsWaitedFor(Clock::duration waited);
  std::string named(int rank) const;
  std::string entered() const;
  bool haveAllEnded() const;

  Communicator &communicator_;
  LivenessOptions options_;
  std::chrono::milliseconds interval_;
  std::vector<Peer> peers_;
  struct {
    Clock::time_point attended, told, looked; // looked for who is gone
  } last_;
  int waitsFor_ = -1;
  uint64_t number_ = 0;
  std::function<std::string()> what_;
  Status failure_;
  int dead_ = -1; // the rank whose death is the failure; -1: none

  std::mutex mutex_; // of the two below
  std::string does_;
  Status own_;
  std::atomic<bool> hasFailed_{false};
};

} // namespace gradus::runtime
