// The loop with batches of an iterator and decisions of somebody else.

#include "tests/runtime/collectives/ranks.h"
#include "tests/training/adding.h"
#include "training/checkpoints.h"
#include "training/led_decider.h"
#include "training/policy.h"
#include "training/trainer.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <functional>

using namespace gradus::runtime;
using namespace gradus::training;
using gradus::test::Adding;
using testing::ElementsAre;
using End = Outcome::End;
using Then = Decision::Then;

namespace {

/// Batches whose numbers depend on their position alone, as those of a
/// shuffled data set do.
struct Numbers {
  explicit Numbers(int64_t perEpoch, int64_t count = 1000)
      : batches(perEpoch, 1,
                [this, count](int64_t number, std::vector<const void *> &inputs)
                    -> StatusOr<bool> {
                  for (size_t i = 0; i < x.size(); ++i)
                    x[i] = std::sin(static_cast<float>(number * 8) +
                                    static_cast<float>(i));
                  inputs = {x.data()};
                  return number < count;
                }) {}

  std::vector<float> x = std::vector<float>(gradus::test::kSize);
  CallerBatches batches;
};

/// Decides what a function says.
struct Remote : Decider {
  using Answer = std::function<Decision(const Border &)>;
  explicit Remote(Answer answer) : answer(std::move(answer)) {}
  Decision atBorder(const Border &border) override { return answer(border); }
  int64_t stepsToRun(int64_t, int64_t) override { return 1; }
  Answer answer;
};

Remote alwaysOn() {
  return Remote([](const Border &) { return Decision(); });
}

/// Writes down what it is told: "step 1", "epoch 1 at 4", "save 3 due".
struct Diary : Observer {
  Status onStep(StepReport &report) override {
    if (steps)
      lines.push_back(
          inWords("step ", report.step, " of epoch ", report.epoch));
    return {};
  }
  Status onEpoch(const EpochReport &report) override {
    lines.push_back(inWords("epoch ", report.epoch, "/", report.epochs, " at ",
                            report.step, report.hasOwnTest ? " tested" : ""));
    return {};
  }
  Status onTest(const TestReport &report) override {
    lines.push_back(
        inWords("test ", report.step, report.isInside ? " inside" : ""));
    return {};
  }
  Status onSave(const SaveReport &report) override {
    const char *kinds[] = {"due", "best", "end", "break"};
    lines.push_back(inWords("save ", report.step, " ",
                            kinds[static_cast<int>(report.kind)]));
    return {};
  }
  bool steps = false;
  std::vector<std::string> lines;
};

std::vector<float> totalOf(const Session &session) {
  std::vector<float> total(gradus::test::kSize);
  EXPECT_TRUE(session.readState("total", total.data(), 32).ok());
  return total;
}

/// A trainer on a session, with a diary.
struct Trained {
  Trained(Session &session, Decider &decider, int64_t steps,
          int64_t perEpoch = 4, int64_t batches = 1000)
      : numbers(perEpoch, batches),
        trainer(*Trainer::create(session, numbers.batches, decider,
                                 {.steps = steps})) {
    trainer.add(diary);
  }
  End end() {
    auto outcome = trainer.run();
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? outcome->end : End::done;
  }
  /// Tests give `loss`.
  void testAs(double loss) {
    trainer.testBy([=](bool *) { return std::vector<Metric>{{"loss", loss}}; });
  }

  Numbers numbers;
  Trainer trainer;
  Diary diary;
};

} // namespace

TEST(Trainer, RunsItsStepsEpochByEpoch) {
  Adding adding;
  Remote decider = alwaysOn();
  Trained run(*adding.session, decider, 5, /*perEpoch=*/2);
  run.diary.steps = true;
  EXPECT_EQ(run.end(), End::done);
  EXPECT_THAT(run.diary.lines,
              ElementsAre("step 1 of epoch 1", "step 2 of epoch 1",
                          "epoch 1/3 at 2", "step 3 of epoch 2",
                          "step 4 of epoch 2", "epoch 2/3 at 4",
                          "step 5 of epoch 3", "epoch 3/3 at 5", "save 5 end"));
}

TEST(Trainer, TellsOfPiecesAndTheirTime) {
  struct Pieces : Observer {
    Status onPiece(const PieceReport &report) override {
      ran += report.ran;
      seconds += report.seconds;
      EXPECT_EQ(report.step, ran);
      return {};
    }
    int64_t ran = 0;
    double seconds = 0;
  } pieces;
  Adding adding;
  Remote decider = alwaysOn();
  Trained run(*adding.session, decider, 5, /*perEpoch=*/2);
  run.trainer.add(pieces);
  EXPECT_EQ(run.end(), End::done);
  EXPECT_EQ(pieces.ran, 5);
  EXPECT_DOUBLE_EQ(pieces.seconds, run.trainer.secondsInSteps());
}

TEST(Trainer, DoesWhatAnotherDecides) {
  Adding adding;
  Remote decider([](const Border &border) {
    Decision decision;
    decision.save = border.step == 1;
    if (border.step == 2 && !border.tested)
      decision.test = Decision::Test::due;
    decision.isBest = border.tested;
    if (border.step == 6)
      decision.then = Then::breakOff;
    return decision;
  });
  Trained run(*adding.session, decider, 100);
  run.testAs(0.5);
  EXPECT_EQ(run.end(), End::brokenOff);
  EXPECT_EQ(run.trainer.step(), 6);
  EXPECT_EQ(run.trainer.tested()[0].value, 0.5);
  EXPECT_THAT(run.diary.lines,
              ElementsAre("save 1 due", "test 2 inside", "save 2 best",
                          "epoch 1/25 at 4", "save 6 break"));
}

TEST(Trainer, FinishesAtABorderWithTheFiguresSoFar) {
  Adding adding;
  Policy policy(
      {.testEvery = 3, .best = *BestMetric::parse("loss"), .patience = 1},
      nullptr);
  Trained run(*adding.session, policy, 100);
  run.testAs(0.5);
  EXPECT_EQ(run.end(), End::finished);
  EXPECT_TRUE(policy.isStopped());
  EXPECT_THAT(run.diary.lines,
              ElementsAre("test 3 inside", "save 3 best", "epoch 1/25 at 4",
                          "test 6 inside", "epoch 2/25 at 6", "save 6 end"));
}

TEST(Trainer, TellsOfTheTestAtTheEndOnceMoreIfALongerRunHadIt) {
  for (int64_t every : {3, 5}) {
    Adding adding;
    Policy policy({.testEvery = every, .best = {}, .patience = 0}, nullptr);
    Trained run(*adding.session, policy, 6);
    run.testAs(0.5);
    EXPECT_EQ(run.end(), End::done);
    EXPECT_THAT(run.diary.lines,
                testing::Contains(every == 3 ? "epoch 2/2 at 6 tested"
                                             : "epoch 2/2 at 6"));
  }
}

TEST(Trainer, GoesOnBitwiseAsIfItHadNotStopped) {
  std::string path = gradus::test::temporaryPath("trainer.safetensors");
  std::filesystem::remove(path);
  Adding whole, first, second;
  Remote decider = alwaysOn();
  Trained straight(*whole.session, decider, 10);
  EXPECT_EQ(straight.end(), End::done);
  {
    Checkpoints checkpoints =
        *Checkpoints::create(*first.session, {.path = path}, 4);
    Trained broken(*first.session, decider, 6);
    broken.trainer.add(checkpoints);
    EXPECT_EQ(broken.end(), End::done);
  }
  ASSERT_TRUE(second.session->loadCheckpoint(path).ok());
  auto record = *TrainingRecord::ofCheckpoint(path);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->epoch["steps"], 2) << "of the epoch that goes on";
  Trained resumed(*second.session, decider, 10);
  resumed.trainer.resume(*record);
  EXPECT_EQ(resumed.end(), End::done);
  EXPECT_EQ(resumed.trainer.start(), 6);
  EXPECT_EQ(totalOf(*second.session), totalOf(*whole.session));
  EXPECT_EQ(resumed.trainer.record().text(), straight.trainer.record().text());
  std::filesystem::remove(path);
}

TEST(Trainer, CatchesUpOnWhatWasNotReported) {
  Adding adding;
  Remote decider = alwaysOn();
  Trained former(*adding.session, decider, 4);
  EXPECT_EQ(former.end(), End::done);
  TrainingRecord record = former.trainer.record();
  EXPECT_TRUE(record.reported);
  record.reported = false;
  record.epoch = {{"steps", 4}, {"sums", nlohmann::json::array()}};
  Trained resumed(*adding.session, decider, 8);
  resumed.trainer.resume(record);
  EXPECT_EQ(resumed.end(), End::done);
  EXPECT_EQ(resumed.diary.lines.front(), "epoch 1/2 at 4");
}

TEST(Trainer, SavesWhereTheBatchesEnd) {
  Adding adding;
  Remote decider = alwaysOn();
  Trained run(*adding.session, decider, 10, 4, /*batches=*/3);
  auto outcome = run.trainer.run();
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->end, End::unreadable);
  EXPECT_EQ(outcome->why.message(), "the batches end after step 3 of 10");
  EXPECT_THAT(run.diary.lines, ElementsAre("save 3 break"));
}

TEST(Trainer, SaysWhyItEndedWhereItCannotSaveEither) {
  struct Full : Observer {
    Status onSave(const SaveReport &) override {
      return failed("net: the disk is full");
    }
  } full;
  Adding adding;
  Remote decider = alwaysOn();
  Trained run(*adding.session, decider, 10, 4, /*batches=*/3);
  run.trainer.add(full);
  EXPECT_EQ(run.trainer.run().status().message(),
            "net: the disk is full; before that: the batches end after step 3 "
            "of 10");
}

TEST(Trainer, SavesWhereItIsCancelled) {
  Adding adding;
  Remote decider([&](const Border &border) {
    if (border.step == 3)
      adding.session->cancel();
    return Decision();
  });
  Trained run(*adding.session, decider, 10);
  EXPECT_EQ(run.end(), End::brokenOff);
  EXPECT_THAT(run.diary.lines, ElementsAre("save 3 break"));
}

TEST(Trainer, SavesNothingAfterAnError) {
  struct Refusal : Observer {
    Status checkStep(const StepReport &report) override {
      return report.step == 2 ? failed("step 2 is wrong") : Status();
    }
  } refusal;
  Adding adding;
  Remote decider = alwaysOn();
  Trained run(*adding.session, decider, 10);
  run.diary.steps = true;
  run.trainer.add(refusal);
  EXPECT_EQ(run.trainer.run().status().message(), "step 2 is wrong");
  EXPECT_THAT(run.diary.lines, ElementsAre("step 1 of epoch 1"))
      << "a step that is refused is not told";
}

/// One rank's batches end after three steps; all save and end there.
TEST(Trainer, EndsOnAllRanksWhereOneCannotRead) {
  for (int unlucky : {0, 1, 2})
    onRanks(inProcess(3), [&](CommunicationThread &rank) {
      Adding adding;
      Remote own = alwaysOn();
      LedDecider led(rank, own, [] { return false; }, [] { return true; });
      Trained run(*adding.session, led, 10, 4,
                  /*batches=*/rank.rank() == unlucky ? 3 : 100);
      auto outcome = run.trainer.run();
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      EXPECT_EQ(outcome->end, End::unreadable);
      EXPECT_EQ(outcome->why.message(),
                inWords("rank ", unlucky,
                        " (this process): the batches end after step 3 of 10"));
      EXPECT_EQ(run.trainer.step(), 3);
      EXPECT_THAT(run.diary.lines, ElementsAre("save 3 break"));
      EXPECT_TRUE(led.hasSettledOn(outcome->why));
    });
}

/// Each refuses in words of its own: a step, a test, a state to save.
TEST(Trainer, EndsOnAllRanksWithTheWordsOfOne) {
  struct Refusal : Observer {
    explicit Refusal(int rank, int at) : rank(rank), at(at) {}
    Status refuse(int place) const {
      return at == place && rank > 0 ? failed("mine of ", rank) : Status();
    }
    Status checkStep(const StepReport &report) override {
      return report.step == 2 ? refuse(0) : Status();
    }
    Status onTest(const TestReport &) override { return refuse(1); }
    Status onSave(const SaveReport &) override { return refuse(2); }
    int rank, at;
  };
  for (int place = 0; place < 3; ++place)
    onRanks(inProcess(3), [&](CommunicationThread &rank) {
      Adding adding;
      Remote own([](const Border &border) {
        Decision decision;
        decision.save = border.step == 3;
        if (border.step == 2 && !border.tested)
          decision.test = Decision::Test::due;
        return decision;
      });
      LedDecider led(rank, own, [] { return false; }, [] { return true; });
      Refusal refusal(rank.rank(), place);
      Trained run(*adding.session, led, 10);
      run.testAs(0.5);
      run.trainer.add(refusal);
      Status status = run.trainer.run().status();
      EXPECT_EQ(status.message(), "rank 1 (this process): mine of 1");
      EXPECT_TRUE(led.hasSettledOn(status));
    });
}

TEST(Trainer, LetsObserversSayWhatIsLeftOfAFailedRun) {
  struct Left : Observer {
    Status onFailedStep(const Status &why) override {
      return {why.code(), why.message() + "; there is a copy"};
    }
  } left;
  auto device = std::make_shared<gradus::test::FakeDevice>();
  device->lostAfter = 2;
  gradus::test::TestArtifact made;
  auto session =
      *Session::create(*Artifact::fromBytes(made.bytes(), "adder.gradus"),
                       device, {.threads = 1});
  Remote decider = alwaysOn();
  Trained run(*session, decider, 10);
  run.trainer.add(left);
  EXPECT_THAT(run.trainer.run().status().message(),
              testing::EndsWith("; there is a copy"));
}

TEST(Trainer, TestsAStateThatIsAtTheEndAlready) {
  Adding adding;
  Remote decider = alwaysOn();
  Trained former(*adding.session, decider, 4);
  EXPECT_EQ(former.end(), End::done);
  Trained late(*adding.session, decider, 4);
  late.trainer.resume(former.trainer.record());
  late.testAs(0.25);
  EXPECT_EQ(late.end(), End::done);
  EXPECT_EQ(late.trainer.tested()[0].value, 0.25);
  EXPECT_THAT(late.diary.lines, ElementsAre("save 4 end"));
}

TEST(Trainer, NeedsAnEpochOfBatches) {
  Adding adding;
  Remote decider = alwaysOn();
  CallerBatches none(0, 1, {});
  EXPECT_EQ(
      Trainer::create(*adding.session, none, decider, {}).status().message(),
      "an epoch has 0 batches, expected 1 or more");
}

/// Two turns make a step, and it alone is counted.
TEST(Trainer, CountsStepsOfSeveralTurns) {
  struct Inputs : Observer {
    Status checkStep(const StepReport &report) override {
      counts.push_back(report.inputs.size());
      return {};
    }
    std::vector<size_t> counts;
  } inputs;
  gradus::test::TestArtifact made;
  made.addTurns();
  Adding adding(made);
  ASSERT_EQ(adding.session->turns(), 2);
  std::vector<float> ones(8, 1), twos(8, 2);
  std::vector<int64_t> asked;
  CallerBatches batches(
      2, /*inputs=*/2,
      [&](int64_t number, std::vector<const void *> &of) -> StatusOr<bool> {
        asked.push_back(number);
        of = {ones.data(), twos.data()};
        return true;
      });
  Remote decider = alwaysOn();
  auto trainer =
      Trainer::create(*adding.session, batches, decider, {.steps = 3});
  ASSERT_TRUE(trainer.ok()) << trainer.status();
  Diary diary;
  trainer->add(diary);
  trainer->add(inputs);
  ASSERT_TRUE(trainer->run().ok());
  EXPECT_THAT(diary.lines,
              ElementsAre("epoch 1/2 at 2", "epoch 2/2 at 3", "save 3 end"));
  EXPECT_THAT(asked, ElementsAre(0, 1, 2));
  EXPECT_THAT(inputs.counts, ElementsAre(2, 2, 2));
  EXPECT_EQ(*adding.session->stepCount(), 3);
  EXPECT_EQ(totalOf(*adding.session)[0], 9);
}
