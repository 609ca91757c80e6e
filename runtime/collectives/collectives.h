// The interface of collectives to the commands of a plan: begin one, do other
// work, finish it.

#pragma once

#include "runtime/collectives/collective.h"

#include <memory>

namespace gradus::runtime {

class Collectives {
public:
  virtual ~Collectives() = default;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  /// Begins a collective, and seldom waits. All ranks begin the same ones in
  /// the same order, from one thread at a time. The buffer belongs to the
  /// collective until it is finished. Returns its number, counted from 0.
  virtual uint64_t begin(const Collective &collective) = 0;

  /// Waits until a collective has ended, at most once for each, and in any
  /// order. An error is the group's: every later collective on every rank
  /// returns it.
  virtual Status finish(uint64_t number) = 0;

  /// Tells the others that this rank has failed and why; all collectives then
  /// return these words. Returns the group's error, which is another's if that
  /// was first.
  virtual Status fail(const Status &status) = 0;
  /// Holds memory that collectives may still use, until none does: that of a
  /// plan which failed before it had waited for them.
  virtual void keep(std::shared_ptr<const void> memory) = 0;
};

} // namespace gradus::runtime
