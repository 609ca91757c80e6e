#include "runtime/collectives/rounds.h"

#include <gtest/gtest.h>

#include <map>

using namespace gradus::runtime;

namespace {

const CollectiveOp kOps[] = {CollectiveOp::allReduce,
                             CollectiveOp::reduceScatter,
                             CollectiveOp::allGather, CollectiveOp::broadcast};

} // namespace

/// Each message that is sent is received: the n-th from one rank to another is
/// as long on both sides and has the same elements.
TEST(Rounds, MatchOnAllRanks) {
  for (CollectiveOp op : kOps)
    for (int ranks = 1; ranks <= 17; ++ranks)
      for (uint64_t count : {1, 1024, 1025, 5000, 100000}) {
        Collective collective{.op = op, .count = count, .root = ranks / 2};
        std::map<std::pair<int, int>, std::vector<Range>> sent, received;
        for (int rank = 0; rank < ranks; ++rank) {
          Rounds rounds;
          rounds.set(collective, ranks, rank);
          for (const Exchange &exchange : rounds.exchanges) {
            if (exchange.send.count())
              sent[{rank, exchange.peer}].push_back(exchange.send);
            if (exchange.receive.count())
              received[{exchange.peer, rank}].push_back(exchange.receive);
          }
        }
        EXPECT_EQ(sent, received) << inWords(collective) << " " << ranks;
        EXPECT_EQ(sent.empty(), ranks == 1);
      }
}

/// 2 n (N - 1) / N and n (N - 1) / N, to within a cache line a rank.
TEST(Rounds, SendNoMoreThanTheyMust) {
  uint64_t bytes = 4 << 20;
  for (int ranks = 2; ranks <= 16; ++ranks)
    for (CollectiveOp op : kOps) {
      Collective collective{.op = op, .count = bytes / 4};
      uint64_t most = 0, all = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        uint64_t sent = bytesSent(collective, ranks, rank);
        most = std::max(most, sent);
        all += sent;
      }
      auto n = static_cast<uint64_t>(ranks);
      uint64_t share = bytes * (n - 1) / n, more = 2 * 64 * n;
      if (op == CollectiveOp::broadcast)
        EXPECT_EQ(all, bytes * (n - 1));
      else
        EXPECT_NEAR(most, op == CollectiveOp::allReduce ? 2 * share : share,
                    more);
    }
}

TEST(Rounds, SendSmallSumsWhole) {
  Collective sum{.count = kSmallBytes / 4};
  EXPECT_EQ(bytesSent(sum, 8, 5), 3 * kSmallBytes);
  EXPECT_EQ(bytesSent(sum, 3, 1), 2 * kSmallBytes);
  ++sum.count;
  EXPECT_LT(bytesSent(sum, 8, 5), 2 * kSmallBytes);
}

TEST(Rounds, ArePlannedBeyondFourGigabytes) {
  Collective sum{.count = uint64_t{1} << 32};
  EXPECT_EQ(bytesSent(sum, 128, 77), (uint64_t{2} << 34) / 128 * 127);
}
