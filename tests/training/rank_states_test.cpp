// What each rank has of its own is in the checkpoint of rank 0.

#include "training/rank_states.h"

#include "runtime/session/checkpoint.h"
#include "tests/runtime/collectives/ranks.h"
#include "tests/training/adding.h"
#include "training/checkpoints.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>

using namespace gradus::runtime;
using namespace gradus::training;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

/// A session whose state `total` is the rank's own, with a value in all of it.
struct Own {
  explicit Own(float value, bool lasts = false) : adding(artifact(lasts)) {
    std::vector<float> values(8, value);
    EXPECT_TRUE(session().writeState("total", values.data(), 32).ok());
    if (lasts)
      EXPECT_TRUE(session().writeState("kept/rest", &value, 4).ok());
  }

  /// With `lasts` there is a second state that ranks have of their own for
  /// good.
  static gradus::test::TestArtifact artifact(bool lasts) {
    gradus::test::TestArtifact made;
    if (lasts)
      made.addOwn("kept/rest", 5);
    for (auto &state : made.header.states)
      state->per_rank = state->name == "total" || state->per_rank;
    return made;
  }
  int rest() {
    float value = 0;
    EXPECT_TRUE(session().readState("kept/rest", &value, 4).ok());
    return static_cast<int>(value);
  }
  int value() {
    float values[8];
    EXPECT_TRUE(session().readState("total", values, sizeof(values)).ok());
    return static_cast<int>(values[7]);
  }
  Session &session() { return *adding.session; }

  gradus::test::Adding adding;
};

class RankStatesTest : public testing::Test {
protected:
  RankStatesTest()
      : path_(testing::TempDir() + "rank_states_" +
              testing::UnitTest::GetInstance()->current_test_info()->name() +
              ".safetensors") {}
  ~RankStatesTest() override { fs::remove(path_); }

  /// Saves as a trainer does; rank r has 10 + r.
  void save(int ranks, bool isInside = true, bool lasts = false,
            bool withMeans = false) {
    onRanks(inProcess(ranks), [&](CommunicationThread &rank) {
      Own own(10 + static_cast<float>(rank.rank()), lasts);
      RankMeans means(own.session(), rank);
      RankStates states(
          own.session(), rank, /*writes=*/rank.rank() == 0,
          [&] { return isInside; }, withMeans ? &means : nullptr);
      SaveReport report{7, SaveKind::end, {}};
      EXPECT_TRUE(states.beforeSave(report).ok());
      if (rank.rank() == 0)
        EXPECT_TRUE(
            own.session()
                .saveCheckpoint(path_, report.notes, nullptr, report.others)
                .ok());
      else
        EXPECT_TRUE(report.others.empty());
      EXPECT_TRUE(states.onSave(report).ok());
      EXPECT_EQ(own.value(), 10 + rank.rank());
    });
  }

  /// What going on from the checkpoint says on each of so many ranks, with the
  /// value that the rank has then: "remark|11"; or an error.
  std::vector<std::string> restored(int ranks, bool lasts = false) {
    std::vector<std::string> said(static_cast<size_t>(ranks));
    onRanks(inProcess(ranks), [&](CommunicationThread &rank) {
      Own own(-1, lasts);
      if (rank.rank() == 0)
        EXPECT_TRUE(own.session().loadCheckpoint(path_).ok());
      auto remark = restoreRankStates(own.session(), rank,
                                      rank.rank() ? "not looked at" : path_);
      said[static_cast<size_t>(rank.rank())] =
          remark.ok() ? *remark + "|" + std::to_string(own.value()) +
                            (lasts ? "|" + std::to_string(own.rest()) : "")
                      : remark.status().message();
    });
    return said;
  }

  /// The checkpoint with other tensors than it has.
  void rewrite(const std::function<void(std::vector<NamedTensor> &)> &change) {
    auto file = Safetensors::open(path_);
    ASSERT_TRUE(file.ok()) << file.status();
    std::vector<NamedTensor> tensors = file->tensors();
    change(tensors);
    ASSERT_TRUE(writeSafetensors(path_, tensors, {{"step", "7"}}).ok());
  }

  std::string path_;
};

} // namespace

TEST_F(RankStatesTest, GiveEachRankItsOwn) {
  save(3);
  EXPECT_THAT(restored(3), ElementsAre("|10", "|11", "|12"));
}

TEST_F(RankStatesTest, AreNotSavedWhereTheyMeanNothing) {
  save(3, /*isInside=*/false);
  auto file = Safetensors::open(path_);
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file->find(nameOnRank(1, "total")));
  EXPECT_THAT(restored(3), ElementsAre("|10", "|-1", "|-1"));
}

/// What has not been sent yet is there between updates, too; what was gathered
/// means nothing then.
TEST_F(RankStatesTest, KeepWhatLasts) {
  save(3, /*isInside=*/false, /*lasts=*/true);
  auto file = Safetensors::open(path_);
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file->find(nameOnRank(1, "total")));
  EXPECT_TRUE(file->find(nameOnRank(2, "kept/rest")));
  EXPECT_THAT(restored(3, /*lasts=*/true),
              ElementsAre("|10|10", "|-1|11", "|-1|12"));
  save(3, /*isInside=*/true, /*lasts=*/true);
  EXPECT_THAT(restored(3, /*lasts=*/true),
              ElementsAre("|10|10", "|11|11", "|12|12"));
}

/// 10, 11 and 12: a file with their mean, and what the first had beside it.
TEST_F(RankStatesTest, AreBesideTheirMeans) {
  save(3, /*isInside=*/true, /*lasts=*/false, /*withMeans=*/true);
  auto file = Safetensors::open(path_);
  ASSERT_TRUE(file.ok());
  float mean = 0;
  std::memcpy(&mean, file->find("total")->data.data(), sizeof(mean));
  EXPECT_EQ(mean, 11);
  EXPECT_TRUE(file->find(nameOnRank(0, "total")));
  EXPECT_THAT(restored(3), ElementsAre("|10", "|11", "|12"));
}

/// Others than the first get their states from it (copyFromRankZero).
TEST_F(RankStatesTest, AreTheirMeansOnAnotherNumberOfRanks) {
  save(3, /*isInside=*/true, /*lasts=*/false, /*withMeans=*/true);
  EXPECT_THAT(restored(2),
              ElementsAre(AllOf(HasSubstr("was saved on 3 ranks with "
                                          "parameters of their own, and there "
                                          "are 2 now: what each had is lost, "
                                          "and all go on from their mean"),
                                testing::EndsWith("|11")),
                          testing::EndsWith("|-1")));
  Own own(-1);
  ASSERT_TRUE(own.session().loadCheckpoint(path_).ok());
  EXPECT_EQ(own.value(), 11);
  EXPECT_THAT(*remarkAlone(own.session(), path_), HasSubstr("there is 1 now"));
}

TEST_F(RankStatesTest, AreNoMeansWithoutACheckpoint) {
  onRanks(inProcess(2), [](CommunicationThread &rank) {
    Own own(10 + static_cast<float>(rank.rank()));
    RankMeans means(own.session(), rank);
    RankStates states(
        own.session(), rank, /*writes=*/false, [] { return true; }, &means);
    SaveReport report{7, SaveKind::end, {}};
    EXPECT_TRUE(states.beforeSave(report).ok());
    EXPECT_EQ(own.value(), 10 + rank.rank());
    EXPECT_TRUE(states.onSave(report).ok());
  });
}

TEST_F(RankStatesTest, OfTheFirstAreMissedToo) {
  save(3, /*isInside=*/true, /*lasts=*/true, /*withMeans=*/true);
  rewrite([](std::vector<NamedTensor> &tensors) {
    std::erase_if(tensors, [](const NamedTensor &tensor) {
      return tensor.name == nameOnRank(0, "total");
    });
  });
  Own own(-1, /*lasts=*/true);
  EXPECT_THAT(remarkAlone(own.session(), path_).status().message(),
              HasSubstr("lacks ranks/0/total"));
}

/// A run without a checkpoint comes to its end, too; others would be gathered
/// for nobody.
TEST_F(RankStatesTest, StayOnTheirRanksWithoutACheckpoint) {
  for (bool isInside : {false, true})
    onRanks(inProcess(3), [&](CommunicationThread &rank) {
      Own own(10, /*lasts=*/true);
      // The paths of other ranks do not count.
      RankStates states(own.session(), rank, /*writes=*/rank.rank() != 0,
                        [&] { return isInside; });
      SaveReport report{7, SaveKind::end, {}};
      EXPECT_TRUE(states.beforeSave(report).ok());
      EXPECT_TRUE(report.others.empty());
    });
}

TEST_F(RankStatesTest, AreRefusedOnAnotherNumberOfRanksIfTheyLast) {
  save(3, /*isInside=*/false, /*lasts=*/true);
  for (const std::string &said : restored(2, /*lasts=*/true))
    EXPECT_THAT(said, HasSubstr("was saved on 3 ranks, each of which has "
                                "states of its own, such as kept/rest, and "
                                "there are 2 now: go on with 3, or begin with "
                                "its weights, without them (--init)"));
  Own own(-1, /*lasts=*/true);
  EXPECT_THAT(remarkAlone(own.session(), path_).status().message(),
              HasSubstr("and there is 1 now"));
}

/// All ranks would have what the first had not sent, and send it.
TEST_F(RankStatesTest, OfOneRankAreRefusedOnSeveralIfTheyLast) {
  save(1, /*isInside=*/false, /*lasts=*/true);
  for (const std::string &said : restored(3, /*lasts=*/true))
    EXPECT_THAT(said, HasSubstr("was saved on 1 rank, which has states of its "
                                "own, such as kept/rest, and there are 3 now: "
                                "go on with 1, or begin with its weights"));
  Own own(-1, /*lasts=*/true);
  EXPECT_EQ(*remarkAlone(own.session(), path_), "");
  EXPECT_EQ(restored(1, /*lasts=*/true)[0], "|10|10");
}

/// A checkpoint of one process goes on, and so does a run that has none.
TEST_F(RankStatesTest, OfOneRankGoOnWhereNothingLasts) {
  save(1, /*isInside=*/false);
  EXPECT_THAT(restored(2), ElementsAre("|10", "|-1"));
  onRanks(inProcess(2), [&](CommunicationThread &rank) {
    Own own(-1, /*lasts=*/true);
    EXPECT_EQ(*restoreRankStates(own.session(), rank, ""), "");
  });
}

TEST_F(RankStatesTest, AreLostOnAnotherNumberOfRanks) {
  save(3);
  std::vector<std::string> said = restored(2);
  EXPECT_THAT(said[0],
              AllOf(HasSubstr(": was saved on 3 ranks before they had shared "
                              "what each had of its own, and there are 2 now"),
                    HasSubstr("|10")));
  EXPECT_THAT(said[1], HasSubstr("|-1"));
  Own own(-1);
  EXPECT_TRUE(own.session().loadCheckpoint(path_).ok());
  EXPECT_EQ(own.value(), 10);
  EXPECT_THAT(*remarkAlone(own.session(), path_),
              HasSubstr("and there is 1 now"));
  EXPECT_EQ(*remarkAlone(own.session(), ""), "");
}

TEST_F(RankStatesTest, ArePartOfTheHash) {
  save(2);
  auto file = Safetensors::open(path_);
  ASSERT_TRUE(file.ok());
  std::vector<float> other(8, 99);
  std::vector<NamedTensor> tensors = file->tensors();
  for (NamedTensor &tensor : tensors)
    if (tensor.name == nameOnRank(1, "total"))
      tensor.data = {reinterpret_cast<const uint8_t *>(other.data()), 32};
  ASSERT_TRUE(writeSafetensors(path_, tensors, file->metadata()).ok());
  Own own(-1);
  EXPECT_THAT(own.session().loadCheckpoint(path_).message(),
              HasSubstr("is damaged"));
}

/// What a file says of other ranks may be forged: only whole sets count.
TEST_F(RankStatesTest, AreRefusedInPart) {
  for (const char *name : {"ranks/1/none", "ranks//total", "ranks/x/total",
                           "ranks/1", "ranks/-1/total"}) {
    save(2);
    rewrite([&](std::vector<NamedTensor> &tensors) {
      tensors.push_back(tensors.back());
      tensors.back().name = name;
    });
    Own own(-1);
    EXPECT_THAT(own.session().loadCheckpoint(path_).message(),
                AllOf(HasSubstr(name), HasSubstr("does not know")));
  }
  save(2);
  std::vector<float> few(4, 1);
  rewrite([&](std::vector<NamedTensor> &tensors) {
    for (NamedTensor &tensor : tensors)
      if (tensor.name == nameOnRank(1, "total"))
        tensor = {tensor.name,
                  {DType::f32, {4}},
                  {reinterpret_cast<const uint8_t *>(few.data()), 16}};
  });
  // Of another type it is nobody's; the checkpoint is as one without it.
  EXPECT_THAT(restored(2), ElementsAre("|10", "|-1"));
}

//===-- parts of ranks ----------------------------------------------------===//

namespace {

/// A session whose state `total` is a rank's part of 15 elements.
struct Dealt {
  explicit Dealt(int ranks) : adding(artifact(ranks)) {}

  static gradus::test::TestArtifact artifact(int ranks) {
    gradus::test::TestArtifact made;
    made.header.ranks = ranks;
    made.weights.resize(15 * sizeof(float));
    for (auto &state : made.header.states)
      if (state->name == "total") {
        state->per_rank = true;
        state->role = gradus::artifact::Role::slot;
        state->whole = std::make_unique<gradus::artifact::TensorTypeT>();
        state->whole->shape = {3, 5};
      }
    return made;
  }
  std::vector<float> part() {
    std::vector<float> values(8);
    EXPECT_TRUE(session().readState("total", values.data(), 32).ok());
    return values;
  }
  Session &session() { return *adding.session; }

  gradus::test::Adding adding;
};

} // namespace

/// Two ranks put together what three are dealt out: the file knows no number.
TEST_F(RankStatesTest, OfPartsAreOneTensorForAnyNumberOfRanks) {
  onRanks(inProcess(2), [&](CommunicationThread &rank) {
    Dealt dealt(2);
    std::vector<float> part;
    for (int i = 0; i < 8; ++i)
      part.push_back(static_cast<float>(8 * rank.rank() + i));
    EXPECT_TRUE(dealt.session().writeState("total", part.data(), 32).ok());
    RankStates states(dealt.session(), rank, /*writes=*/rank.rank() == 0,
                      [] { return false; });
    SaveReport report{7, SaveKind::end, {}};
    EXPECT_TRUE(states.beforeSave(report).ok());
    if (rank.rank() == 0)
      EXPECT_TRUE(
          dealt.session()
              .saveCheckpoint(path_, report.notes, nullptr, report.others)
              .ok());
  });
  auto file = Safetensors::open(path_);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->find("total"));
  EXPECT_EQ(file->find("total")->type, (TensorType{DType::f32, {3, 5}}));
  for (int ranks : {2, 3})
    onRanks(inProcess(ranks), [&](CommunicationThread &rank) {
      Dealt dealt(ranks);
      if (rank.rank() == 0)
        EXPECT_TRUE(dealt.session().loadCheckpoint(path_).ok());
      auto remark = restoreRankStates(dealt.session(), rank, path_);
      ASSERT_TRUE(remark.ok()) << remark.status();
      EXPECT_EQ(*remark, "");
      std::vector<float> expected;
      for (int i = 8 * rank.rank(); i < 8 * rank.rank() + 8; ++i)
        expected.push_back(i < 15 ? static_cast<float>(i) : 0);
      EXPECT_EQ(dealt.part(), expected);
    });
}

/// A run that begins has what the artifact says.
TEST_F(RankStatesTest, OfPartsStayWithoutACheckpoint) {
  onRanks(inProcess(2), [&](CommunicationThread &rank) {
    Dealt dealt(2);
    std::vector<float> before = dealt.part();
    EXPECT_TRUE(restoreRankStates(dealt.session(), rank, "").ok());
    EXPECT_EQ(dealt.part(), before);
  });
}
