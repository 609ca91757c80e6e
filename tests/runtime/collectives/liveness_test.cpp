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
  std::function<void()> meanwhile;
  int gone = -1;
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
  // A rank that was stopped hears it when it goes on.
  EXPECT_EQ(ranks[1].attend().message(), status.message());
}

/// As where mpirun has seen it end, and soon kills the others.
TEST(Liveness, FindsARankAtOnceWhoseProcessIsGone) {
  Ranks ranks(3, patient());
  ranks.transports[2]->gone = 0;
  Status status = ranks.wait(2, 1);
  EXPECT_EQ(status.message(),
            "rank 0 (this process) is gone: it was killed, or it crashed");
  EXPECT_EQ(ranks[1].attend().message(), status.message());
  EXPECT_TRUE(ranks[1].speaks());
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
