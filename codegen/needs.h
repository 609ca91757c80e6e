// Tells which ops of an order need which others while some of them are joined,
// mostly without a walk through what they need.
//
// A few long chains, of which each op needs the one before it, serve as rulers.
// Of each op it is known how much of a chain it needs, counted from the front,
// and how much needs it, counted to the end. Where these two pieces of an op
// and another overlap, the other needs it. Where the other needs less of the
// chain, or more needs the other, it does not. Ops that no chain tells apart
// stand beside the same piece of each, so a walk between them is short.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace gradus {

/// Ops are known by their places.
class Needs {
public:
  /// The places of what an op needs at first hand, all before its own.
  using Makers = llvm::SmallVector<unsigned, 4>;

  explicit Needs(std::vector<Makers> makers = {});

  /// Whether `by` needs `op`, at first hand or further.
  bool isNeeded(unsigned op, unsigned by);

  /// Whether something else needs `op` and is needed by `by`.
  bool isNeededBetween(unsigned op, unsigned by);

  /// Makes one op of two, neither of which needs the other through a third.
  void join(unsigned a, unsigned b);

  /// Steps taken so far from ops to what they need, or to what needs them.
  int64_t steps() const { return steps_; }

private:
  /// A length of each op, which is no less at the neighbours on one side of it.
  struct Lengths {
    /// Lists the neighbours, whose lengths are known.
    void setNeighbours(const std::vector<Makers> &neighbours);
    void join(unsigned a, unsigned b);

    std::vector<unsigned> of;
    /// The neighbours of each op as a heap, shortest first, each with a length
    /// that it had: it may have more now.
    std::vector<llvm::SmallVector<std::pair<unsigned, unsigned>, 4>> beside;
  };

  struct Ruler {
    std::vector<unsigned> chain; // places
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

  /// Whether an op is met for the first time since a new listing began.
  bool isNew(unsigned op) {
    return std::exchange(listed_[op], listings_) != listings_;
  }

  std::vector<Makers> makers_;
  std::vector<unsigned> joinedTo_; // another place of the same op, or its own
  std::vector<Ruler> rulers_;
  std::vector<unsigned> listed_; // the number of the last listing
  std::vector<unsigned> seen_;   // the number of the last walk that came here
  unsigned listings_ = 0, walks_ = 0;
  int64_t steps_ = 0;
};

} // namespace gradus
