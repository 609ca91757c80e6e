// Results of batches come back in the order of the batches.

#include "tests/runtime/collectives/ranks.h"
#include "training/dealt.h"

#include <gmock/gmock.h>

using namespace gradus::runtime;
using namespace gradus::training;

namespace {

/// The two results of each batch that a rank had, of `batches` ones.
std::vector<int> ownOf(const CommunicationThread &rank, int batches) {
  std::vector<int> own;
  for (int batch = rank.rank(); batch < batches; batch += rank.ranks())
    own.insert(own.end(), {10 * batch, 10 * batch + 1});
  return own;
}

} // namespace

TEST(Dealt, ComesBackInOrder) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (int batches = 0; batches < 7; ++batches)
      onRanks(inProcess(ranks), [&](CommunicationThread &rank) {
        std::vector<int> expected;
        for (int batch = 0; batch < batches && rank.rank() == 0; ++batch)
          expected.insert(expected.end(), {10 * batch, 10 * batch + 1});
        auto all = dealtBack(rank, ownOf(rank, batches), 2);
        ASSERT_TRUE(all.ok()) << all.status();
        EXPECT_EQ(*all, expected);
      });
}

TEST(Dealt, MayHaveNoResults) {
  onRanks(inProcess(2), [](CommunicationThread &rank) {
    auto all = dealtBack(rank, std::vector<int>(), 0);
    ASSERT_TRUE(all.ok());
    EXPECT_TRUE(all->empty());
  });
}

/// Ranks that read data of other sizes were not dealt one set of batches.
TEST(Dealt, IsRefusedWhereARankHadAnotherNumberOfBatches) {
  for (int wrong : {0, 3})
    onRanks(inProcess(2), [&](CommunicationThread &rank) {
      auto all = dealtBack(
          rank, std::vector<int>(static_cast<size_t>(rank.rank() ? wrong : 2)));
      if (rank.rank() == 0)
        EXPECT_EQ(all.status().message(),
                  inWords("rank 1 (this process) has results of ", wrong,
                          " batches, and rank 0 of 2"));
    });
}
