#include "runtime/collectives/agreement.h"

#include "tests/runtime/collectives/ranks.h"

using namespace gradus::runtime;

namespace {

/// What each rank hears of the facts that `of` gives for it.
std::vector<std::string> verdicts(int ranks,
                                  const std::function<Facts(int rank)> &of) {
  std::vector<std::string> found(static_cast<size_t>(ranks));
  onRanks(inProcess(ranks), [&](CommunicationThread &rank) {
    found[static_cast<size_t>(rank.rank())] =
        agree(rank, of(rank.rank())).message();
  });
  return found;
}

} // namespace

TEST(Agreement, IsSilentWhereAllIsEqual) {
  for (int ranks : {1, 2, 4})
    EXPECT_EQ(verdicts(ranks,
                       [](int) {
                         return Facts{{"a name of 12 ", "3 words\n"}, {"", ""}};
                       }),
              std::vector<std::string>(static_cast<size_t>(ranks)));
}

TEST(Agreement, NamesRankAndDifferenceEverywhere) {
  auto found = verdicts(4, [](int rank) {
    Facts facts{{"artifact", "same"}, {"learning_rate", "0.1"}};
    if (rank >= 2)
      facts[1].second = inWords("0.", rank);
    return facts;
  });
  EXPECT_EQ(found, std::vector<std::string>(
                       4, "learning_rate is 0.1 on rank 0 (this process), and "
                          "0.2 on rank 2 (this process)"));
}

TEST(Agreement, NamesWhatOneDoesNotKnow) {
  auto found = verdicts(2, [](int rank) {
    return rank ? Facts{{"b", "2"}, {"c", "3"}} : Facts{{"a", "1"}, {"b", "2"}};
  });
  EXPECT_EQ(found[1], "a is 1 on rank 0 (this process), and not known on rank "
                      "1 (this process) (1 more fact differs)");
}

TEST(Agreement, SettlesOnTheFailureOfTheLowestRank) {
  for (int first : {0, 1, 3})
    onRanks(inProcess(4), [&](CommunicationThread &rank) {
      Status status = rank.rank() >= first
                          ? invalid("x", rank.rank(), ".png: no image\n")
                          : Status();
      EXPECT_TRUE(settle(rank, status).ok());
      EXPECT_EQ(status.code(), StatusCode::invalid);
      EXPECT_EQ(status.message(), inWords("rank ", first, " (this process): x",
                                          first, ".png: no image\n"));
      // The group lives on.
      status = {};
      EXPECT_TRUE(settle(rank, status).ok());
      EXPECT_TRUE(status.ok()) << status;
    });
}

TEST(Agreement, CarriesLongTexts) {
  std::string text(3'000'000, 'x');
  text += '\0';
  onRanks(inProcess(3), [&](CommunicationThread &rank) {
    auto all = atRankZero(rank, inWords("of ", rank.rank()));
    ASSERT_TRUE(all.ok());
    EXPECT_EQ(*all, rank.rank()
                        ? std::vector<std::string>{}
                        : (std::vector<std::string>{"of 0", "of 1", "of 2"}));
    auto decided = fromRankZero(rank, rank.rank() ? "mine" : text);
    ASSERT_TRUE(decided.ok());
    EXPECT_TRUE(*decided == text);
    EXPECT_EQ(*fromRankZero(rank, ""), "");
  });
}

/// The group goes on behind a refusal.
TEST(Agreement, LeavesTheGroupAlive) {
  onRanks(inProcess(2), [](CommunicationThread &rank) {
    EXPECT_FALSE(agree(rank, {{"n", inWords(rank.rank())}}).ok());
    EXPECT_TRUE(agree(rank, {{"n", "1"}}).ok());
  });
}
