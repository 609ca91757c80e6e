// Lengths are computed by one pass over the order in each direction. Merging
// two ops raises both to the longer lengths, and with them neighbours that have
// less.

#include "codegen/nests/needs.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

using namespace gradus;

/// More rulers distinguish more ops in graphs with long branches.
static constexpr unsigned kMostChains = 4;

Needs::Needs(std::vector<Makers> makers)
    : makers_(std::move(makers)), joinedTo_(makers_.size()),
      listed_(makers_.size()), seen_(makers_.size()) {
  std::iota(joinedTo_.begin(), joinedTo_.end(), 0);
  std::vector<Makers> users(makers_.size());
  for (unsigned op = 0; op < makers_.size(); ++op)
    for (unsigned maker : makers_[op])
      users[maker].push_back(op);
  std::vector<bool> isCovered(makers_.size());
  for (unsigned count = 0; count < kMostChains; ++count)
    if (auto chain = longestChain(isCovered); !chain.empty())
      rulers_.push_back(rulerOf(std::move(chain), users));
}

//===-- rulers ------------------------------------------------------------===//

/// The chain with the most ops that are not covered yet; covers them.
std::vector<unsigned> Needs::longestChain(std::vector<bool> &isCovered) const {
  struct Way {
    unsigned length = 0; // uncovered ops up to this one
    int before = -1;     // the op before it
  };
  std::vector<Way> ways(makers_.size());
  int end = -1;
  for (unsigned op = 0; op < makers_.size(); ++op) {
    for (unsigned maker : makers_[op])
      if (ways[maker].length > ways[op].length)
        ways[op] = {ways[maker].length, static_cast<int>(maker)};
    ways[op].length += !isCovered[op];
    if (end < 0 || ways[op].length > ways[end].length)
      end = op;
  }
  std::vector<unsigned> chain;
  if (end < 0 || ways[end].length == 0)
    return chain;
  for (int op = end; op >= 0; op = ways[op].before) {
    chain.push_back(op);
    isCovered[op] = true;
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

Needs::Ruler Needs::rulerOf(std::vector<unsigned> chain,
                            const std::vector<Makers> &users) const {
  Ruler ruler;
  std::vector<unsigned> &needed = ruler.needed.of, &needing = ruler.needing.of;
  needed.resize(makers_.size());
  needing.resize(makers_.size());
  for (unsigned number = 0; number < chain.size(); ++number) {
    needed[chain[number]] = number + 1;
    needing[chain[number]] = chain.size() - number;
  }
  for (unsigned op = 0; op < makers_.size(); ++op)
    for (unsigned maker : makers_[op])
      needed[op] = std::max(needed[op], needed[maker]);
  for (unsigned op = makers_.size(); op-- > 0;)
    for (unsigned maker : makers_[op])
      needing[maker] = std::max(needing[maker], needing[op]);
  ruler.needed.setNeighbours(users);
  ruler.needing.setNeighbours(makers_);
  ruler.chain = std::move(chain);
  return ruler;
}

void Needs::Lengths::setNeighbours(const std::vector<Makers> &neighbours) {
  beside.resize(of.size());
  for (unsigned op = 0; op < of.size(); ++op) {
    for (unsigned other : neighbours[op])
      beside[op].push_back({of[other], other});
    std::make_heap(beside[op].begin(), beside[op].end(), std::greater());
  }
}

//===-- joined ops --------------------------------------------------------===//

unsigned Needs::find(unsigned place) {
  while (joinedTo_[place] != place)
    place = joinedTo_[place] = joinedTo_[joinedTo_[place]];
  return place;
}

void Needs::join(unsigned a, unsigned b) {
  a = find(a);
  b = find(b);
  if (a == b)
    return;
  for (Ruler &ruler : rulers_)
    for (Lengths *lengths : {&ruler.needed, &ruler.needing}) {
      unsigned length = std::max(lengths->of[a], lengths->of[b]);
      raise(*lengths, a, length);
      raise(*lengths, b, length);
      lengths->join(a, b);
    }
  joinedTo_[b] = a;
  if (makers_[a].size() < makers_[b].size())
    std::swap(makers_[a], makers_[b]);
  llvm::append_range(makers_[a], makers_[b]);
}

/// Moves the smaller list of neighbours to the larger.
void Needs::Lengths::join(unsigned a, unsigned b) {
  if (beside[a].size() < beside[b].size())
    std::swap(beside[a], beside[b]);
  for (auto &neighbour : beside[b]) {
    beside[a].push_back(neighbour);
    std::push_heap(beside[a].begin(), beside[a].end(), std::greater());
  }
  beside[b].clear();
}

/// Raises the length of an op, and those of ops that depend on it, to at least
/// `length`.
void Needs::raise(Lengths &lengths, unsigned op, unsigned length) {
  llvm::SmallVector<unsigned> stack;
  auto raise = [&](unsigned at) {
    if (lengths.of[at] >= length)
      return;
    lengths.of[at] = length;
    stack.push_back(at);
  };
  raise(op);
  while (!stack.empty())
    raiseBeside(lengths, stack.pop_back_val(), raise);
}

/// Raises neighbours that may have less than an op.
void Needs::raiseBeside(Lengths &lengths, unsigned op,
                        llvm::function_ref<void(unsigned)> raise) {
  auto &heap = lengths.beside[op];
  ++listings_;
  while (!heap.empty() && heap.front().first < lengths.of[op]) {
    ++steps_;
    unsigned other = find(heap.front().second);
    std::pop_heap(heap.begin(), heap.end(), std::greater());
    heap.pop_back();
    if (other == op || !isNew(other))
      continue;
    raise(other);
    heap.push_back({lengths.of[other], other});
    std::push_heap(heap.begin(), heap.end(), std::greater());
  }
}

/// Lists the ops whose results an op reads, without duplicates.
llvm::ArrayRef<unsigned> Needs::makersOf(unsigned op) {
  ++listings_;
  listed_[op] = listings_;
  steps_ += makers_[op].size();
  llvm::erase_if(makers_[op], [&](unsigned &maker) {
    maker = find(maker);
    return !isNew(maker);
  });
  return makers_[op];
}

//===-- questions ---------------------------------------------------------===//

/// Answers by the rulers alone, which may be undecided.
Needs::Answer Needs::ask(unsigned op, unsigned by) const {
  auto answer = Answer::unknown;
  for (const auto &[chain, needed, needing] : rulers_) {
    if (needing.of[op] + needed.of[by] > chain.size())
      return Answer::yes;
    if (needed.of[op] > needed.of[by] || needing.of[op] < needing.of[by])
      answer = Answer::no;
  }
  return answer;
}

/// Whether the rulers show an op of a chain between the two.
bool Needs::isChainBetween(unsigned op, unsigned by) {
  return llvm::any_of(rulers_, [&](const Ruler &ruler) {
    const auto &[chain, needed, needing] = ruler;
    if (needing.of[op] + needed.of[by] <= chain.size())
      return false;
    unsigned first = find(chain[chain.size() - needing.of[op]]),
             last = find(chain[needed.of[by] - 1]);
    return (first != op && first != by) || (last != op && last != by);
  });
}

bool Needs::isNeeded(unsigned op, unsigned by) {
  op = find(op);
  by = find(by);
  Answer answer = ask(op, by);
  return answer == Answer::unknown ? walk(op, by, /*isBetween=*/false)
                                   : answer == Answer::yes;
}

bool Needs::isNeededBetween(unsigned op, unsigned by) {
  op = find(op);
  by = find(by);
  return isChainBetween(op, by) ||
         (ask(op, by) != Answer::no && walk(op, by, /*isBetween=*/true));
}

/// Walks from `by` to its producers as long as the rulers cannot decide whether
/// these depend on `op`. `isBetween`: direct uses of `op` by `by` do not count.
bool Needs::walk(unsigned op, unsigned by, bool isBetween) {
  ++walks_;
  llvm::SmallVector<unsigned> stack = {by};
  while (!stack.empty()) {
    unsigned at = stack.pop_back_val();
    for (unsigned maker : makersOf(at)) {
      if (maker == op && isBetween && at == by)
        continue;
      Answer answer = maker == op ? Answer::yes : ask(op, maker);
      if (answer == Answer::yes)
        return true;
      if (answer == Answer::unknown &&
          std::exchange(seen_[maker], walks_) != walks_)
        stack.push_back(maker);
    }
  }
  return false;
}
