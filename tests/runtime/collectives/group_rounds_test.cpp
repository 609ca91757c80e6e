// Who exchanges what with whom in a reduction of groups.

#include "runtime/collectives/group_rounds.h"

#include "runtime/collectives/network.h"
#include "tests/runtime/collectives/group_ranks.h"

#include <gmock/gmock.h>

using namespace gradus::runtime;
using testing::ElementsAre;

namespace {

Collective adasumOf(std::vector<uint64_t> counts, int within = 1) {
  Groups groups{.within = within,
                .averages = true,
                .across = Across::adasum,
                .members = {}};
  Collective collective{.op = CollectiveOp::groupReduce};
  for (uint64_t count : counts) {
    groups.members.push_back({nullptr, count});
    collective.count += count;
  }
  collective.groups = std::make_shared<const Groups>(groups);
  return collective;
}

/// "halve 1", with the peers of a round.
std::vector<std::string> roundsOf(int within, int ranks, int rank) {
  const char *names[] = {"sum", "halve", "products", "combine", "place"};
  GroupRounds rounds;
  rounds.set(adasumOf({100}, within), within, ranks, rank);
  std::vector<std::string> words;
  for (const GroupRound &round : rounds.rounds()) {
    std::string line = names[round.kind];
    for (size_t i = round.first; i < round.last; ++i)
      line += " " + std::to_string(rounds.exchange(i).peer);
    words.push_back(line);
  }
  return words;
}

} // namespace

TEST(GroupRounds, ExchangeHalvesWithRanksThatDifferInOneBit) {
  EXPECT_THAT(roundsOf(1, 1, 0), ElementsAre());
  EXPECT_THAT(roundsOf(1, 4, 2),
              ElementsAre("halve 3", "products 3", "combine", "halve 0",
                          "products 3", "products 0", "combine", "place 0",
                          "place 3"));
}

/// Ranks 0 and 1 of three are a pair, of which 0 goes on.
TEST(GroupRounds, PairThoseThatAreTooManyFirst) {
  EXPECT_THAT(roundsOf(1, 3, 0), ElementsAre("halve 1", "products 1", "combine",
                                             "place 1", "halve 2", "products 2",
                                             "combine", "place 2", "place 1"));
  EXPECT_THAT(roundsOf(1, 3, 1), ElementsAre("halve 0", "products 0", "combine",
                                             "place 0", "place 0"));
  EXPECT_THAT(roundsOf(1, 3, 2),
              ElementsAre("halve 0", "products 0", "combine", "place 0"));
}

/// As rank 13 of 32 in servers of 8: partners 5 and 29 (boost.md 7.2).
TEST(GroupRounds, StayAtOnePlaceOfAllGroups) {
  std::vector<std::string> rounds = roundsOf(8, 32, 13);
  EXPECT_EQ(rounds[0], "sum 8 9 10 11 12 14 15");
  EXPECT_EQ(rounds[1], "halve 5");
  EXPECT_EQ(rounds[2], "products 8 9 10 11 12 14 15");
  EXPECT_EQ(rounds[3], "products 5");
  EXPECT_EQ(rounds[5], "halve 29");
}

TEST(GroupRounds, HaveTheHalvesOfEachTensor) {
  GroupRounds rounds;
  rounds.set(adasumOf({5, 1, 0, 8}), 1, 2, 0);
  GroupExchange lower = rounds.exchange(0);
  EXPECT_THAT(lower.receive,
              ElementsAre(Range{0, 2}, Range{0, 0}, Range{0, 0}, Range{0, 4}));
  EXPECT_THAT(lower.send,
              ElementsAre(Range{2, 5}, Range{0, 1}, Range{0, 0}, Range{4, 8}));
  std::vector<Range> received(lower.receive.begin(), lower.receive.end());
  rounds.set(adasumOf({5, 1, 0, 8}), 1, 2, 1); // The ranges of `lower` end.
  EXPECT_THAT(rounds.exchange(0).send, testing::ElementsAreArray(received));
}

TEST(GroupRounds, SendAsMuchAsASumAndTheProducts) {
  constexpr uint64_t kCount = 1 << 16;
  for (auto [ranks, within] : {std::pair(2, 1), {4, 1}, {8, 2}, {8, 8}}) {
    int rounds = std::countr_zero(unsigned(ranks / within));
    uint64_t products = 0; // messages
    for (int round = 0; round < rounds; ++round)
      products += static_cast<uint64_t>(within - 1 + round + 1);
    EXPECT_EQ(bytesSentInGroups(adasumOf({kCount}, within), ranks, 0),
              2 * 4 * kCount * uint64_t(ranks - 1) / uint64_t(ranks) +
                  24 * products)
        << ranks << " by " << within;
  }
}

/// The first of a pair sends half, at last everything, and what a power of two
/// sends; the second half, and the half that it has made.
TEST(GroupRounds, SendMoreInPairsThatAreTooMany) {
  constexpr uint64_t kCount = 1 << 16, kBytes = 4 * kCount;
  for (int ranks : {3, 5, 6, 12}) {
    uint64_t power = std::bit_floor(unsigned(ranks));
    uint64_t rounds = std::countr_zero(power), pairs = ranks - power;
    uint64_t products = 24 * rounds * (rounds + 1) / 2;
    uint64_t asPower = 2 * kBytes * (power - 1) / power + products, all = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      uint64_t sent = bytesSentInGroups(adasumOf({kCount}), ranks, rank);
      bool isPaired = rank < 2 * int(pairs), isSecond = rank % 2 == 1;
      EXPECT_EQ(sent, !isPaired  ? asPower
                      : isSecond ? kBytes + 24
                                 : asPower + kBytes * 3 / 2 + 24)
          << rank << " of " << ranks;
      EXPECT_LE(sent, bytesSentInGroups(adasumOf({kCount}), ranks, 0))
          << "rank 0 sends most";
      all += sent;
    }
    EXPECT_EQ(all, power * asPower + pairs * (kBytes * 5 / 2 + 48));
  }
}

TEST(RanksOfHosts, AreAsManyOnEach) {
  auto ranks = [](const std::vector<std::string> &hosts) {
    auto found = ranksOfHosts(hosts);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.ok() ? *found : 0;
  };
  EXPECT_EQ(ranks({"A"}), 1);
  EXPECT_EQ(ranks({"A", "A", "A"}), 3);
  EXPECT_EQ(ranks({"A", "B", "C"}), 1);
  EXPECT_EQ(ranks({"A", "A", "B", "B"}), 2);
}

TEST(RanksOfHosts, AreNeighbours) {
  auto words = [](const std::vector<std::string> &hosts) {
    auto found = ranksOfHosts(hosts);
    return found.ok() ? "ok" : found.status().message();
  };
  const std::string advice = "; start as many ranks on each host, one host "
                             "after the other";
  const std::string key = "adasum.within is \"host\", and ";
  EXPECT_EQ(words({"A", "B", "A", "B"}),
            key +
                "ranks 0 and 2 run on the host A, but rank 1 between them "
                "on B" +
                advice);
  EXPECT_EQ(words({"A", "A", "B", "B", "A", "A"}),
            key +
                "ranks 0 and 4 run on the host A, but rank 3 between them "
                "on B" +
                advice);
  EXPECT_EQ(words({"C", "A", "B", "A"}),
            key +
                "ranks 1 and 3 run on the host A, but rank 2 between them "
                "on B" +
                advice);
  EXPECT_EQ(words({"A", "A", "B"}),
            key + "the host A has 2 ranks, but B has 1" + advice);
  EXPECT_EQ(words({"A", "B", "B"}),
            key + "the host A has 1 rank, but B has 2" + advice);
}

TEST(GroupPieces, CutWhatTravelsAtOnce) {
  GroupRounds rounds;
  rounds.set(adasumOf({300000, 7, 9}), 1, 2, 0);
  GroupPieces pieces;
  pieces.set(rounds, rounds.rounds()[0], 3, 4);
  EXPECT_EQ(pieces.bytes(), uint64_t{1} << 18);
  ASSERT_EQ(pieces.count(), 3u);
  uint64_t sent = 0;
  for (size_t piece = 0; piece < pieces.count(); ++piece)
    sent += elementsOf(pieces.slices(piece), rounds.exchange(0).send);
  EXPECT_EQ(sent, 150000u + 4 + 5);
  EXPECT_EQ(pieces.slices(0).size(), 1u);
  EXPECT_EQ(pieces.slices(2).size(), 3u);
}

/// A latency for each round, and what rank 0 sends at the rate of its link.
TEST(GroupRounds, TakeTheTimeOfTheirMessages) {
  using namespace std::chrono_literals;
  auto time = [](int ranks, Network network) {
    std::chrono::duration<double, std::micro> all =
        allReduceTime(network, adasumOf({1 << 16}), ranks);
    return all.count();
  };
  EXPECT_EQ(time(1, {1e9, 5us}), 0);
  EXPECT_EQ(time(2, {0, 5us}), 3 * 5);
  EXPECT_EQ(time(4, {0, 5us}), 7 * 5);
  EXPECT_NEAR(time(2, {1e9, 0us}), (4 * (1 << 16) + 24) * 1e-3, 0.01);
}
