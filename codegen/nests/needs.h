// Tells which ops depend on which others while some of them are merged, mostly
// without a walk through the graph.
//
// A few long chains, of which each op depends on the one before it, serve as
// rulers. For each op it is known how much of a chain the op depends on, from
// the front, and how much depends on the op, to the end. If these two parts for
// an op and another one overlap, the other depends on it. If the other depends
// on less of the chain than the op, or more depends on the other, it does not.
// Ops that no chain can tell apart are at similar positions of each, so a walk
// between them is short.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace gradus {

/// Ops are given by their numbers in the order.
class Needs {
public:
  /// The numbers of the ops that an op depends on directly, all before its own.
  using Makers = llvm::SmallVector<unsigned, 4>;

  explicit Needs(std::vector<Makers> makers = {});

  /// Whether `by` depends on `op`, directly or not.
  bool isNeeded(unsigned op, unsigned by);

  /// Whether some other op depends on `op` while `by` depends on that one.
  bool isNeededBetween(unsigned op, unsigned by);

  /// Merges two ops, neither of which depends on the other through a third.
  void join(unsigned a, unsigned b);

  /// The number of edges that were walked so far.
  int64_t steps() const { return steps_; }

private:
  /// A length for each op that never decreases from it to its neighbours on one
  /// side.
  struct Lengths {
    /// Sets the neighbours, whose lengths are known.
    void setNeighbours(const std::vector<Makers> &neighbours);
    void join(unsigned a, unsigned b);

    std::vector<unsigned> of;
    /// The neighbours of each op as a heap, shortest first, each with an
    /// earlier length of it: it may have grown since.
    std::vector<llvm::SmallVector<std::pair<unsigned, unsigned>, 4>> beside;
  };

  struct Ruler {
    std::vector<unsigned> chain; // ops in order
    Lengths needed, needing;     // how much of the chain
  };

  enum class Answer { yes, no, unknown };

  std::vector<unsigned> longestChain(std::vector<bool> &isCovered) const;
  Ruler rulerOf(std::vector<unsigned> chain,
                const std::vector<Makers> &users) const;
  unsigned find(unsigned place);
  void raise(Lengths &lengths, unsigned op, unsigned length);
  void raiseBeside(Lengths &lengths, unsigned op,
                   llvm::function_ref<void(unsigned)> raise);
  llvm::ArrayRef<unsigned> makersOf(unsigned op);
  Answer ask(unsigned op, unsigned by) const;
  bool isChainBetween(unsigned op, unsigned by);
  bool walk(unsigned op, unsigned by, bool isBetween);

  /// Whether an op is seen for the first time since the last listing began.
  bool isNew(unsigned op) {
    return std::exchange(listed_[op], listings_) != listings_;
  }

  std::vector<Makers> makers_;
  std::vector<unsigned> joinedTo_; // another number of the same op, or its own
  std::vector<Ruler> rulers_;
  std::vector<unsigned> listed_; // the number of the last listing
  std::vector<unsigned> seen_;   // the number of the last walk that visited it
  unsigned listings_ = 0, walks_ = 0;
  int64_t steps_ = 0;
};

} // namespace gradus
