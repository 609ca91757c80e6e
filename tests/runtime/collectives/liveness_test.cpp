#include "runtime/collectives/liveness.h"

#include "tests/runtime/collectives/ranks.h"

using namespace gradus::runtime;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

constexpr std::chrono::milliseconds kShort{20};

void sleepFor(std::chrono::milliseconds time) {
  std::this_thread::sleep_for(time);
}

/// A transport that does something where its rank would sleep.
class Driven final : public Passing {
public:
  using Passing::Passing;
  void pause(std::chrono::microseconds) override {
    if (meanwhile)
      meanwhile();
    sleepFor(std::chrono::milliseconds(1));
  }
  bool isGone(int rank) override { return rank == gone; }
  StatusOr<int> hear(std::vector<uint8_t> &message) override {
    return isDeaf ? -1 : Passing::hear(message);
  }
  Status tell(int to, std::span<const uint8_t> message, bool needed) override {
    if (to == unreachable)
      return failed("MPI_Isend: no route");
    if (needed && told)
      told();
    return isMute ? Status() : Passing::tell(to, message, needed);
  }
  std::function<void()> meanwhile;
  std::function<void()> told; // before what is needed is told
  int gone = -1, unreachable = -1;
  bool isDeaf = false, isMute = false;
};

/// Ranks of one thread: what a test does not make one do, it does not do.
struct Ranks {
  Ranks(int count, LivenessOptions options) {
    for (const OpenCommunicator &open : inProcess(count)) {
      transports.push_back(std::make_unique<Driven>(*open()));
      ranks.push_back(std::make_unique<Liveness>(*transports.back(), options));
    }
    sleepFor(std::chrono::milliseconds(2)); // After it all are attentive.
  }
  Liveness &operator[](size_t rank) { return *ranks[rank]; }
  /// Waits on one rank for a message of another that is not sent, or until the
  /// rank is made to fail.
  Status wait(size_t rank, int peer) {
    return ranks[rank]->wait(*transports[rank]->receive(peer, byte), peer);
  }
  /// Fails on a rank that has not heard of other failures yet.
  Status failAtOnce(size_t rank, const Status &status) {
    transports[rank]->isDeaf = true;
    ranks[rank]->fail(status);
    Status own = ranks[rank]->attend();
    transports[rank]->isDeaf = false;
    return own;
  }
  /// Settles on all ranks from this one on; what each of them returns.
  std::vector<std::string> settle(size_t from = 0) {
    std::vector<std::string> settled;
    bool isLast = from + 1 == ranks.size(), haveOthers = isLast;
    transports[from]->meanwhile = [&] {
      if (!std::exchange(haveOthers, true))
        settled = settle(from + 1);
    };
    Status own = ranks[from]->settle(ranks[from]->attend());
    transports[from]->meanwhile();
    settled.insert(settled.begin(), own.message());
    transports[from]->meanwhile = nullptr;
    return settled;
  }

  std::vector<std::unique_ptr<Driven>> transports;
  std::vector<std::unique_ptr<Liveness>> ranks;
  Bytes byte = Bytes(1);
};

LivenessOptions talkative(std::vector<std::string> &lines) {
  return {std::chrono::minutes(5), kShort,
          [&](const std::string &line) { lines.push_back(line); }};
}

} // namespace

TEST(Liveness, FindsARankThatIsSilent) {
  Ranks ranks(2, {kShort, std::chrono::minutes(5), {}});
  ranks[0].enter(7, [] { return "all-reduce of 5 f32"; });
  Status status = ranks.wait(0, 1);
  EXPECT_EQ(status.code(), StatusCode::failed);
  EXPECT_THAT(status.message(),
              StartsWith("rank 1 (this process) has given no sign of life"));
  EXPECT_THAT(status.message(), HasSubstr("rank 0 (this process) was in "
                                          "all-reduce of 5 f32 (number 7)"));
  // A rank that was stopped hears it when it goes on, and says nothing.
  EXPECT_EQ(ranks[1].attend().message(), status.message());
  EXPECT_EQ(ranks[1].settle(status).message(), status.message());
  EXPECT_FALSE(ranks[1].claimWords());
  EXPECT_TRUE(ranks[0].claimWords());
}

/// As over a network that carried nothing for a while: each takes the other for
/// dead, and hears of it afterwards.
TEST(Liveness, IsSaidByOneOfTwoThatLoseEachOther) {
  for (bool isHigherFirst : {false, true}) {
    Ranks ranks(2, {kShort * 5, std::chrono::minutes(5), {}});
    for (auto &transport : ranks.transports)
      transport->isDeaf = true;
    for (size_t i : {0, 1}) {
      size_t rank = isHigherFirst ? 1 - i : i;
      EXPECT_THAT(ranks.wait(rank, static_cast<int>(1 - rank)).message(),
                  StartsWith(inWords("rank ", 1 - rank,
                                     " (this process) has "
                                     "given no sign")));
    }
    for (auto &transport : ranks.transports)
      transport->isDeaf = false;
    std::vector<std::string> settled = ranks.settle();
    EXPECT_THAT(settled[0], StartsWith("rank 1 (this process) has given no"));
    EXPECT_EQ(settled[1], settled[0]);
    EXPECT_TRUE(ranks[0].claimWords());
    EXPECT_FALSE(ranks[1].claimWords());
    EXPECT_FALSE(ranks[1].part());
  }
}

/// It is stopped, and tells nothing.
TEST(Liveness, SettlesAfterAnIntervalWithoutARankThatIsSilent) {
  constexpr std::chrono::seconds kLimit{1}; // five intervals
  Ranks ranks(2, {kLimit, std::chrono::minutes(5), {}});
  Status status = ranks.wait(1, 0);
  auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(ranks[1].settle(status).message(), status.message());
  EXPECT_LT(std::chrono::steady_clock::now() - began, kLimit);
  EXPECT_TRUE(ranks[1].claimWords());
}

/// As where mpirun has seen it end, and soon kills the others.
TEST(Liveness, FindsARankAtOnceWhoseProcessIsGone) {
  Ranks ranks(3, patient());
  ranks.transports[2]->gone = 0;
  Status status = ranks.wait(2, 1);
  EXPECT_EQ(status.message(),
            "rank 0 (this process) is gone: it was killed, or it crashed");
  EXPECT_EQ(ranks[1].attend().message(), status.message());
  EXPECT_TRUE(ranks[1].claimWords());
}

/// A rank may be gone whose words have not been heard yet.
TEST(Liveness, BelievesTheLastWordsOfARankThatIsGone) {
  Ranks ranks(2, patient());
  ranks[0].fail(failed("the disk is full"));
  EXPECT_FALSE(ranks[0].attend().ok());
  ranks.transports[1]->gone = 0;
  EXPECT_EQ(ranks[1].attend().message(),
            "rank 0 (this process): the disk is full");
}

/// A rank that was stopped itself, or has had no core, has heard nobody.
TEST(Liveness, CountsNoTimeInWhichItSleptItself) {
  Ranks ranks(2, {kShort * 5, std::chrono::minutes(5), {}});
  sleepFor(kShort * 8);
  EXPECT_TRUE(ranks[0].attend().ok());
}

TEST(Liveness, TellsItsWordsToAll) {
  Ranks ranks(3, patient());
  ranks[1].fail(invalid("cat.png: no image"));
  ranks[1].fail(failed("a consequence"));
  for (size_t rank : {1, 0, 2}) {
    Status status = ranks[rank].attend();
    EXPECT_EQ(status.code(), StatusCode::invalid);
    EXPECT_EQ(status.message(), "rank 1 (this process): cat.png: no image");
  }
  EXPECT_FALSE(ranks.wait(0, 1).ok());
  EXPECT_FALSE(ranks[2].end().ok());
}

/// They say so within one beat, and neither has heard the other.
TEST(Liveness, SettlesOnTheFailureOfTheLowestRank) {
  for (bool isHigherFirst : {false, true}) {
    Ranks ranks(4, patient());
    for (size_t i : {0, 1}) {
      size_t rank = (i == 0) == isHigherFirst ? 3 : 1;
      Status own =
          rank == 3 ? invalid("cat.png: no image") : failed("the disk is full");
      EXPECT_EQ(ranks.failAtOnce(rank, own).code(), own.code());
    }
    EXPECT_EQ(
        ranks.settle(),
        std::vector<std::string>(4, "rank 1 (this process): the disk is full"));
    for (size_t rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(ranks[rank].attend().code(), StatusCode::failed);
      EXPECT_EQ(ranks[rank].claimWords(), rank == 0);
      EXPECT_EQ(ranks[rank].dead(), -1);
    }
  }
}

/// Those that find a rank dead say where each of them was.
TEST(Liveness, SettlesOnOneFinderOfTheDead) {
  Ranks ranks(4, patient());
  for (size_t rank : {3, 2, 1}) {
    ranks.transports[rank]->isDeaf = true;
    ranks.transports[rank]->gone = 0;
    ranks[rank].enter(rank, [] { return "all-reduce of 5 f32"; });
    EXPECT_FALSE(ranks[rank].attend().ok());
    ranks.transports[rank]->isDeaf = false;
  }
  EXPECT_EQ(ranks.settle(1),
            std::vector<std::string>(
                3, "rank 0 (this process) is gone: it was killed, or it "
                   "crashed; rank 1 (this process) was in all-reduce of 5 f32 "
                   "(number 1)"));
  for (size_t rank : {1, 2, 3}) {
    EXPECT_EQ(ranks[rank].dead(), 0);
    EXPECT_EQ(ranks[rank].claimWords(), rank == 1);
  }
}

/// A rank's own words tell more than that another is gone, and both more than
/// an error of the transport, which may be a consequence.
TEST(Liveness, SettlesOnTheMostTellingFailure) {
  for (size_t loses : {0, 2}) {
    size_t says = 2 - loses;
    Ranks ranks(4, patient());
    ranks.transports[loses]->gone = 3;
    EXPECT_FALSE(ranks[loses].attend().ok());
    for (size_t rank = 0; rank < 3; ++rank)
      ranks.transports[rank]->gone = 3;
    EXPECT_FALSE(ranks.failAtOnce(says, invalid("cat.png: no image")).ok());
    std::string words = ranks.settle().front();
    EXPECT_EQ(words,
              inWords("rank ", says, " (this process): cat.png: no image"));
  }
  Ranks ranks(3, patient());
  ranks.transports[1]->gone = ranks.transports[0]->gone = 2;
  EXPECT_FALSE(ranks[1].attend().ok());
  ranks.transports[0]->meanwhile = [&] { (void)ranks[1].keepInTouch(); };
  EXPECT_THAT(ranks[0].settle(failed("MPI_Isend: no route")).message(),
              StartsWith("rank 2 (this process) is gone"));
}

/// As where a dead one is on another host, and MPI knows of it.
TEST(Liveness, SettlesWithThoseThatCanBeReached) {
  Ranks ranks(3, patient());
  for (size_t rank : {0, 2}) {
    ranks.transports[rank]->unreachable = 1;
    ranks.transports[rank]->gone = 1;
  }
  EXPECT_FALSE(ranks.failAtOnce(2, invalid("cat.png: no image")).ok());
  EXPECT_EQ(ranks[0].attend().message(),
            "rank 2 (this process): cat.png: no image");
  ranks.transports[0]->meanwhile = [&] {
    EXPECT_EQ(ranks[2].settle({}).message(),
              "rank 2 (this process): cat.png: no image");
  };
  EXPECT_EQ(ranks[0].settle({}).code(), StatusCode::invalid);
  bool hasWaited = false;
  ranks.transports[0]->meanwhile = [&] {
    if (!std::exchange(hasWaited, true))
      ranks[2].part();
  };
  ranks[0].part();
  EXPECT_TRUE(hasWaited);
}

/// It lives, as it seems, and does not say what it knows.
TEST(Liveness, SettlesAfterTheLimit) {
  Ranks ranks(2, {kShort, std::chrono::minutes(5), {}});
  ranks[0].fail(failed("the disk is full"));
  EXPECT_FALSE(ranks[0].attend().ok());
  ranks.transports[1]->isDeaf = true;
  ranks.transports[0]->meanwhile = [&] {
    EXPECT_TRUE(ranks[1].keepInTouch().ok());
  };
  EXPECT_EQ(ranks[0].settle(ranks[0].attend()).message(),
            "rank 0 (this process): the disk is full");
}

/// A rank that waits for the end of all hears of a failure there, and is waited
/// for again until it has said so.
TEST(Liveness, SettlesWithThoseThatHaveEnded) {
  Ranks ranks(2, patient());
  bool isInside = false;
  ranks.transports[1]->meanwhile = [&] {
    if (!std::exchange(isInside, true))
      ranks[0].fail(failed("the disk is full"));
    EXPECT_FALSE(ranks[0].attend().ok());
  };
  EXPECT_FALSE(ranks[1].end().ok());
  EXPECT_EQ(ranks.settle(), std::vector<std::string>(
                                2, "rank 0 (this process): the disk is full"));
  bool hasWaited = false;
  ranks.transports[0]->meanwhile = [&] {
    if (!std::exchange(hasWaited, true))
      ranks[1].part();
  };
  ranks[0].part();
  EXPECT_TRUE(hasWaited);
}

TEST(Liveness, CutsLongWords) {
  Ranks ranks(2, patient());
  ranks[0].fail(failed(std::string(10000, 'x')));
  EXPECT_EQ(ranks[0].attend().message().size(), 10000 + 23u);
  EXPECT_THAT(ranks[1].attend().message(),
              StartsWith("rank 0 (this process): xxx"));
}

TEST(Liveness, SaysWhoIsWaitedForAndWhatItDoes) {
  std::vector<std::string> lines;
  Ranks ranks(2, talkative(lines));
  ranks[1].doing("reads data");
  EXPECT_TRUE(ranks[1].attend().ok());
  ranks[0].enter(3, [] { return "all-gather of 9 i8"; });
  ranks.transports[0]->meanwhile = [&] {
    EXPECT_TRUE(ranks[1].attend().ok());
    if (lines.size() == 2)
      ranks[0].fail(failed("enough"));
  };
  EXPECT_FALSE(ranks.wait(0, 1).ok());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0], StartsWith("rank 0 (this process) has waited for 0"));
  EXPECT_THAT(lines[0],
              HasSubstr(" s for rank 1 (this process) in all-gather of 9 i8 "
                        "(number 3), which reads data"));
}

/// Rank 0 waits for 1, which waits for 2. One line is enough, and it names 2.
TEST(Liveness, NamesTheRankThatAllWaitFor) {
  std::vector<std::string> lines;
  Ranks ranks(3, talkative(lines));
  ranks[2].doing("writes a checkpoint");
  EXPECT_TRUE(ranks[2].attend().ok());
  bool isInside = false;
  ranks.transports[0]->meanwhile = [&] {
    EXPECT_TRUE(ranks[1].attend().ok());
    if (lines.size() == 2)
      ranks[0].fail(failed("enough"));
  };
  // Rank 0 waits while rank 1 does; afterwards rank 1 hears of the failure.
  ranks.transports[1]->meanwhile = [&] {
    if (!std::exchange(isInside, true))
      EXPECT_FALSE(ranks.wait(0, 1).ok());
  };
  EXPECT_EQ(ranks.wait(1, 2).message(), "rank 0 (this process): enough");
  ASSERT_EQ(lines.size(), 2u);
  for (const std::string &line : lines) {
    EXPECT_THAT(line, StartsWith("rank 0 (this process) has waited for"));
    EXPECT_THAT(line, HasSubstr("for rank 2 (this process) in"));
    EXPECT_THAT(line, testing::EndsWith(", which writes a checkpoint"));
  }
}

/// Rank 2 was stopped while it waited for rank 1, which is what it said last.
TEST(Liveness, NamesTheRankThatWasStopped) {
  std::vector<std::string> lines;
  LivenessOptions options = talkative(lines);
  options.limit = std::chrono::milliseconds(500);
  Ranks ranks(3, options);
  ranks.transports[2]->isDeaf = true;
  ranks.transports[2]->meanwhile = [&] {
    ranks.transports[2]->isMute = true;
    ranks[2].fail(failed("stopped"));
  };
  EXPECT_FALSE(ranks.wait(2, 1).ok());
  bool isInside = false;
  ranks.transports[0]->meanwhile = [&] { (void)ranks[1].keepInTouch(); };
  ranks.transports[1]->meanwhile = [&] {
    if (!std::exchange(isInside, true))
      EXPECT_FALSE(ranks.wait(0, 1).ok());
  };
  EXPECT_THAT(ranks.wait(1, 2).message(),
              StartsWith("rank 2 (this process) has given no sign of life"));
  ASSERT_FALSE(lines.empty());
  for (const std::string &line : lines)
    EXPECT_THAT(line, HasSubstr(" s for rank 2 (this process) in "));
}

TEST(Liveness, EndsTogether) {
  Ranks ranks(2, patient());
  int paused = 0;
  ranks.transports[0]->meanwhile = [&] {
    if (++paused == 3) {
      ranks.transports[1]->meanwhile = [&] { ++paused; };
      EXPECT_TRUE(ranks[1].end().ok());
    }
  };
  EXPECT_TRUE(ranks[0].end().ok());
  EXPECT_GE(paused, 3);
}

/// It is not missed, unless a collective waits for it.
TEST(Liveness, DoesNotMissARankThatHasEnded) {
  Ranks ranks(2, {kShort, std::chrono::minutes(5), {}});
  bool isInside = false;
  ranks.transports[1]->meanwhile = [&] {
    if (std::exchange(isInside, true))
      return;
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(ranks[0].attend().ok());
      sleepFor(std::chrono::milliseconds(1));
    }
    ranks[0].enter(0, [] { return "broadcast of 1 f32"; });
    EXPECT_EQ(ranks.wait(0, 1).message(),
              "rank 1 (this process) has ended, and rank 0 (this process) "
              "waits for it in broadcast of 1 f32 (number 0)");
  };
  EXPECT_FALSE(ranks[1].end().ok());
}

/// After a failure the others are waited for, but not the dead.
TEST(Liveness, PartsFromAllThatLive) {
  Ranks ranks(3, patient());
  ranks[0].fail(failed("the disk is full"));
  EXPECT_FALSE(ranks[0].attend().ok());
  bool haveParted = false;
  ranks.transports[0]->meanwhile = [&] {
    if (std::exchange(haveParted, true))
      return;
    ranks.transports[1]->meanwhile = [&] { ranks[2].part(); };
    ranks[1].part();
  };
  ranks[0].part();
  EXPECT_TRUE(haveParted);
}

TEST(Liveness, PartsFromTheDeadAtOnce) {
  Ranks ranks(2, {kShort, std::chrono::minutes(5), {}});
  EXPECT_FALSE(ranks.wait(0, 1).ok());
  bool hasWaited = false;
  ranks.transports[0]->meanwhile = [&] { hasWaited = true; };
  ranks[0].part();
  EXPECT_FALSE(hasWaited);
}

/// A rank that lives and does not end is left after the limit.
TEST(Liveness, PartsAfterTheLimit) {
  Ranks ranks(2, {kShort, std::chrono::minutes(5), {}});
  ranks[0].fail(failed("the disk is full"));
  EXPECT_FALSE(ranks[0].attend().ok());
  ranks.transports[0]->meanwhile = [&] {
    EXPECT_TRUE(ranks[1].keepInTouch().ok());
  };
  ranks[0].part();
}

/// The program of the lowest rank is busy, and no other knows for how long. Of
/// those that see nothing printed one does so, and the busy one does not then.
TEST(Liveness, SpeaksForALowerRankThatPrintsNothing) {
  Ranks ranks(3, {kShort * 5, std::chrono::minutes(5), {}});
  EXPECT_FALSE(ranks.failAtOnce(1, invalid("no.npz: no such file")).ok());
  ranks.settle();
  EXPECT_FALSE(ranks[1].claimWords());
  bool speaksTwo = true, isInside = false;
  ranks.transports[1]->meanwhile = [&] { (void)ranks[0].keepInTouch(); };
  ranks.transports[2]->meanwhile = [&] {
    (void)ranks[0].keepInTouch();
    if (!std::exchange(isInside, true))
      EXPECT_TRUE(ranks[1].part());
  };
  speaksTwo = ranks[2].part();
  EXPECT_TRUE(isInside);
  EXPECT_FALSE(speaksTwo) << "rank 1 has said that it does";
  EXPECT_FALSE(ranks[0].claimWords()) << "it hears of that first";
}

/// The program of the lowest rank comes back at the very moment at which
/// another one speaks for it, so that neither has heard of the other's claim.
TEST(Liveness, OneSpeaksWhereClaimsCross) {
  Ranks ranks(2, {kShort, std::chrono::minutes(5), {}});
  EXPECT_FALSE(ranks.failAtOnce(1, invalid("no.npz: no such file")).ok());
  ranks.settle();
  int claims = 0;
  bool isInside = false, speaksZero = false;
  ranks.transports[1]->told = [&] {
    // The second thing that it tells is its claim, after the end.
    if (++claims != 2 || std::exchange(isInside, true))
      return;
    ranks.transports[0]->isDeaf = true;
    speaksZero = ranks[0].claimWords();
    ranks.transports[0]->isDeaf = false;
  };
  ranks.transports[1]->meanwhile = [&] { (void)ranks[0].keepInTouch(); };
  EXPECT_FALSE(ranks[1].part());
  EXPECT_TRUE(isInside);
  EXPECT_TRUE(speaksZero);
}

TEST(Liveness, SpeaksForALowerRankThatWasKilled) {
  Ranks ranks(2, patient());
  EXPECT_FALSE(ranks.failAtOnce(1, invalid("no.npz: no such file")).ok());
  ranks.settle();
  EXPECT_FALSE(ranks[1].claimWords());
  ranks.transports[1]->gone = 0;
  EXPECT_TRUE(ranks[1].part());
}

TEST(Liveness, LeavesItToALowerRankThatHasPrinted) {
  Ranks ranks(2, patient());
  EXPECT_FALSE(ranks.failAtOnce(1, invalid("no.npz: no such file")).ok());
  ranks.settle();
  bool isInside = false;
  ranks.transports[1]->meanwhile = [&] {
    if (std::exchange(isInside, true))
      return;
    EXPECT_TRUE(ranks[0].claimWords());
    EXPECT_TRUE(ranks[0].claimWords()) << "it is its own";
    EXPECT_FALSE(ranks[0].part());
  };
  EXPECT_FALSE(ranks[1].part());
  EXPECT_TRUE(isInside);
}

/// Both have ended, and the other one may have left: it says nothing any more.
TEST(Liveness, SettlesWithoutThoseThatMayHaveLeft) {
  Ranks ranks(2, {std::chrono::seconds(1), std::chrono::minutes(5), {}});
  bool isInside = false;
  ranks.transports[0]->meanwhile = [&] {
    ranks.transports[1]->meanwhile = nullptr;
    if (!std::exchange(isInside, true))
      EXPECT_TRUE(ranks[1].end().ok());
    ranks[0].fail(failed("the disk is full"));
  };
  EXPECT_FALSE(ranks[0].end().ok());
  auto start = std::chrono::steady_clock::now();
  ranks.transports[0]->meanwhile = nullptr;
  EXPECT_EQ(ranks[0].settle({}).message(),
            "rank 0 (this process): the disk is full");
  EXPECT_LT(std::chrono::steady_clock::now() - start,
            std::chrono::milliseconds(900));
}
