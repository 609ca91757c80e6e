// Finds the rank that is late, where ranks wait for each other.

#pragma once

#include <chrono>
#include <cstdint>
#include <span>

namespace gradus::runtime {

/// A rank says now and then what it does together with the others: this is the
/// last that was heard.
struct Whereabouts {
  int waitsFor = -1;   // a rank; -1: none
  uint64_t number = 0; // of collectives that it has done
  std::chrono::steady_clock::duration silence{}; // since it said so
};

/// The rank for which all wait that `waiting` waits for, directly or by way of
/// others: it waits for none itself. What a rank said last may be over: it may
/// be silent for longer than `stale`, as if stopped; or wait for one that has
/// done this collective, and so has sent it all.
int lateRank(std::span<const Whereabouts> ranks, int waiting,
             std::chrono::steady_clock::duration stale);

} // namespace gradus::runtime
