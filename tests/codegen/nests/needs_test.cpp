// Rulers and walks tell what a search through everything tells, and take few
// steps where an order is long.

#include "codegen/nests/needs.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

using gradus::Needs;

namespace {

using Makers = std::vector<Needs::Makers>;

/// The same questions, answered by looking at everything.
class Search {
public:
  explicit Search(Makers makers) : makers_(std::move(makers)) {
    for (unsigned op = 0; op < makers_.size(); ++op)
      name_.push_back(op);
  }

  unsigned name(unsigned op) const { return name_[op]; }

  void join(unsigned a, unsigned b) {
    for (unsigned from = name_[b]; unsigned &name : name_)
      name = name == from ? name_[a] : name;
  }

  /// What `by` reads, and does not make itself.
  std::vector<unsigned> readBy(unsigned by) const {
    std::vector<unsigned> read;
    for (unsigned op = 0; op < makers_.size(); ++op)
      if (name_[op] == name_[by])
        for (unsigned maker : makers_[op])
          if (name_[maker] != name_[by])
            read.push_back(maker);
    return read;
  }

  bool isNeeded(unsigned op, unsigned by) const {
    std::vector<bool> seen(makers_.size());
    std::function<bool(unsigned)> reaches = [&](unsigned at) {
      if (name_[at] == name_[op])
        return true;
      if (seen[name_[at]])
        return false;
      seen[name_[at]] = true;
      auto read = readBy(at);
      return std::any_of(read.begin(), read.end(), reaches);
    };
    auto read = readBy(by);
    return std::any_of(read.begin(), read.end(), reaches);
  }

  bool isNeededBetween(unsigned op, unsigned by) const {
    auto read = readBy(by);
    return std::any_of(read.begin(), read.end(), [&](unsigned maker) {
      return name_[maker] != name_[op] && isNeeded(op, maker);
    });
  }

private:
  Makers makers_;
  std::vector<unsigned> name_;
};

unsigned drawn(std::mt19937 &random, unsigned end) { return random() % end; }

/// Ops that read up to three of the ten before them.
Makers randomOrder(std::mt19937 &random, unsigned size) {
  Makers makers(size);
  for (unsigned op = 1; op < size; ++op)
    for (unsigned count = drawn(random, 4); count > 0; --count)
      makers[op].push_back(op - 1 - drawn(random, std::min(op, 10u)));
  return makers;
}

/// Asks about a pair of different ops, and joins it sometimes where that may
/// be. Whether they were joined.
bool askAbout(unsigned a, unsigned b, Needs &needs, Search &search,
              std::mt19937 &random) {
  bool isBetween = search.isNeededBetween(a, b);
  EXPECT_EQ(needs.isNeeded(a, b), search.isNeeded(a, b)) << a << " by " << b;
  EXPECT_EQ(needs.isNeededBetween(a, b), isBetween) << a << " by " << b;
  if (isBetween || search.isNeeded(b, a) || drawn(random, 4) > 0)
    return false;
  needs.join(a, b);
  search.join(a, b);
  return true;
}

/// A long chain of layers; each has a branch beside it that is read again at
/// the way back, and a result of the way back that is read at the end.
Makers thereAndBack(unsigned layers) {
  Makers makers(1);
  std::vector<unsigned> kept;
  Needs::Makers ends;
  unsigned last = 0;
  auto add = [&](Needs::Makers read) {
    makers.push_back(std::move(read));
    return unsigned(makers.size() - 1);
  };
  for (unsigned layer = 0; layer < layers; ++layer) {
    kept.push_back(add({last}));
    last = add({add({last}), last});
  }
  for (unsigned layer = layers; layer-- > 0;) {
    last = add({last, kept[layer]});
    ends.push_back(add({last}));
  }
  add(ends);
  return makers;
}

/// Steps to ask of each two ops at most 40 places apart, and of each and the
/// one as far from the end.
int64_t stepsOf(unsigned layers) {
  Makers makers = thereAndBack(layers);
  Needs needs(makers);
  for (unsigned op = 0; op < makers.size(); ++op) {
    for (unsigned by = op + 1; by < std::min<size_t>(op + 40, makers.size());
         ++by)
      needs.isNeededBetween(op, by);
    if (unsigned other = makers.size() - 1 - op; other > op)
      needs.isNeeded(op, other);
  }
  return needs.steps();
}

} // namespace

TEST(Needs, AreThoseOfASearchThroughEverything) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    Makers makers = randomOrder(random, 60);
    Needs needs(makers);
    Search search(makers);
    int joined = 0;
    for (int question = 0; question < 300; ++question) {
      unsigned a = drawn(random, 60), b = drawn(random, 60);
      if (search.name(a) != search.name(b))
        joined += askAbout(a, b, needs, search, random);
    }
    EXPECT_GT(joined, 5);
  }
}

TEST(Needs, OfOpsBetweenLeaveOutWhatIsReadAtFirstHand) {
  Needs needs({{}, {0}, {0, 1}, {0}});
  EXPECT_TRUE(needs.isNeeded(0, 3));
  EXPECT_FALSE(needs.isNeededBetween(0, 3));
  EXPECT_TRUE(needs.isNeededBetween(0, 2));
}

TEST(Needs, OfJoinedOpsAreThoseOfBoth) {
  // 0 -> 1 -> 2, 3 -> 4
  Needs needs({{}, {0}, {1}, {}, {3}});
  EXPECT_FALSE(needs.isNeeded(0, 4));
  EXPECT_FALSE(needs.isNeeded(3, 2));
  needs.join(1, 3);
  EXPECT_TRUE(needs.isNeeded(0, 4));
  EXPECT_TRUE(needs.isNeeded(3, 2));
  EXPECT_FALSE(needs.isNeeded(2, 4));
}

TEST(Needs, AreKnownInStepsThatGrowWithTheOrder) {
  int64_t few = stepsOf(50), more = stepsOf(100), most = stepsOf(200);
  EXPECT_GT(few, 0);
  EXPECT_LT(most - more, 3 * (more - few));
}
