// The interface of a rank's place among the others: what a transport does.
//
// A transport moves bytes between pairs of ranks, in order, and carries short
// control messages beside them. It knows nothing of sums or of faults:
// runtime/collectives/liveness.h waits, beats and finds the dead, and
// runtime/collectives/sum_tree.h adds. There are two: threads of one process
// (in_process.h) and MPI (mpi/mpi_communicator.h).
//
// One thread owns a communicator: it makes it, calls all of its functions and
// destroys it.

#pragma once

#include "runtime/status.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gradus::runtime {

/// A transfer that was begun. Its number is free when it has ended, and is
/// given to a later one.
using Transfer = uint32_t;

class Communicator {
public:
  /// The largest transfer and the largest control message, in bytes.
  static constexpr size_t kMostBytes = size_t{1} << 30;
  static constexpr size_t kMostControlBytes = 2048;

  virtual ~Communicator() = default;

  /// The own number, in [0, ranks()).
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// The name of the host that runs a rank, for people.
  virtual const std::string &host(int rank) const = 0;

  /// The build of Gradus that a rank runs, for people and to compare; the same
  /// for ranks that are one program.
  virtual std::string build(int) const { return ""; }

  /// Whether the process of a rank is known to be no more, as one of this host
  /// may be. Never waits.
  virtual bool isGone(int) { return false; }

  /// These begin to send bytes to another rank, or to receive them. The n-th
  /// send to a rank meets its n-th receive from here, which must have the same
  /// number of bytes: from 1 to kMostBytes. The memory belongs to the transfer
  /// until it has ended, or until leave().
  virtual StatusOr<Transfer> send(int to, std::span<const uint8_t> bytes) = 0;
  virtual StatusOr<Transfer> receive(int from, std::span<uint8_t> bytes) = 0;
  /// Whether a transfer has ended; never waits. Once it is true, the number is
  /// free.
  virtual StatusOr<bool> isDone(Transfer transfer) = 0;

  /// Sends a control message of at most kMostControlBytes; never waits, and
  /// copies the bytes. If the last one to that rank has not left yet, this one
  /// may be left out unless it is `needed`.
  virtual Status tell(int to, std::span<const uint8_t> message,
                      bool needed) = 0;
  /// Takes the next control message; never waits. Returns its sender, or -1 if
  /// there is none. Messages of one sender come in order.
  virtual StatusOr<int> hear(std::vector<uint8_t> &message) = 0;

  /// Gives up all transfers after a failure; control messages go on. Only one
  /// that was half done may touch its memory still, until leave().
  virtual void forget() = 0;

  /// Gives the core away for a moment while something is waited for, `waited`
  /// until now; at most for kLongestPause.
  virtual void pause(std::chrono::microseconds waited) = 0;
  static constexpr std::chrono::microseconds kLongestPause{1000};

  /// Ends the connection and all transfers; nothing but rank(), ranks(), host()
  /// and the destructor is called after it. `orderly`: all ranks do so now, and
  /// none has failed. Else the others may be dead: what was told to them gets a
  /// moment to leave, and nothing else waits for them.
  virtual void leave(bool orderly) = 0;
};

/// Makes a rank's communicator, in the thread that will own it.
using OpenCommunicator =
    std::function<StatusOr<std::unique_ptr<Communicator>>()>;

} // namespace gradus::runtime
