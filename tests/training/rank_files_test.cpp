// What each rank has of its own lies beside a checkpoint that names it.

#include "training/rank_files.h"

#include "tests/runtime/collectives/ranks.h"
#include "tests/training/adding.h"
#include "training/checkpoints.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

using namespace gradus::runtime;
using namespace gradus::training;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

/// A session whose state `total` is the rank's own, with a value in all of it.
struct Own {
  explicit Own(float value) : adding(artifact()) { set(value); }

  static gradus::test::TestArtifact artifact() {
    gradus::test::TestArtifact made;
    for (auto &state : made.header.states)
      state->per_rank = state->name == "total";
    return made;
  }
  void set(float value) {
    std::vector<float> values(8, value);
    EXPECT_TRUE(session().writeState("total", values.data(), 32).ok());
  }
  float value() {
    float values[8];
    EXPECT_TRUE(session().readState("total", values, sizeof(values)).ok());
    return values[0];
  }
  Session &session() { return *adding.session; }

  gradus::test::Adding adding;
};

CheckpointOptions optionsOf(const std::string &path, int64_t keep = 0) {
  CheckpointOptions options;
  options.path = path;
  options.keep = keep;
  return options;
}

class RankFilesTest : public testing::Test {
protected:
  RankFilesTest()
      : folder_(
            fs::path(testing::TempDir()) /
            (std::string("rank_files_") +
             testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  ~RankFilesTest() override { fs::remove_all(folder_); }

  std::string at(const std::string &name) const { return folder_ / name; }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto &entry : fs::directory_iterator(folder_))
      names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
  }

  /// Saves as a trainer does. The checkpoint is rank 0's.
  static Status save(RankFiles &files, Session &session,
                     CommunicationThread &rank, const std::string &path,
                     int64_t step, SaveKind kind = SaveKind::due) {
    SaveReport report{step, kind, {}};
    GRADUS_TRY(files.beforeSave(report));
    if (rank.rank() > 0)
      return {};
    return session.saveCheckpoint(
        kind == SaveKind::best ? siblingPath(path, "best") : path,
        report.notes);
  }

  /// Saves on so many ranks; rank r has 10 + r.
  void saveOnRanks(int ranks) {
    onRanks(inProcess(ranks), [&](CommunicationThread &rank) {
      Own own(10 + static_cast<float>(rank.rank()));
      RankFiles files(own.session(), rank, optionsOf(at("c.safetensors")),
                      [] { return false; });
      EXPECT_TRUE(
          save(files, own.session(), rank, at("c.safetensors"), 7).ok());
    });
  }

  /// What restoring says on each of so many ranks: an error, or a remark and
  /// the value that the rank has then.
  std::vector<std::string> restored(int ranks) {
    std::vector<std::string> said(static_cast<size_t>(ranks));
    onRanks(inProcess(ranks), [&](CommunicationThread &rank) {
      Own own(-1);
      auto restored = restoreRankStates(own.session(), rank,
                                        rank.rank() ? "" : at("c.safetensors"));
      std::string &words = said[static_cast<size_t>(rank.rank())];
      words = restored.ok()
                  ? restored->remark + "|" + std::to_string(int(own.value()))
                  : restored.status().message();
    });
    return said;
  }

private:
  fs::path folder_;
};

} // namespace

TEST_F(RankFilesTest, GiveEachRankItsOwn) {
  saveOnRanks(3);
  EXPECT_THAT(files(),
              ElementsAre("c.safetensors", "c.step7.rank1of3.safetensors",
                          "c.step7.rank2of3.safetensors"));
  // Rank 0's are in the checkpoint, which has been loaded before.
  EXPECT_THAT(restored(3), ElementsAre("|-1", "|11", "|12"));
}

TEST_F(RankFilesTest, AreLeftAloneByAnotherNumberOfRanks) {
  saveOnRanks(3);
  std::vector<std::string> said = restored(2);
  EXPECT_EQ(said[0], said[1]);
  EXPECT_THAT(said[1], HasSubstr("c.safetensors was written in the middle of "
                                 "an update by 3 ranks, and there are 2: each "
                                 "takes what rank 0 had gathered for it|-1"));
}

TEST_F(RankFilesTest, AreRefusedIfTheyAreOthers) {
  saveOnRanks(2);
  onRanks(inProcess(2), [&](CommunicationThread &rank) {
    Own own(rank.rank() ? 99 : 10);
    RankFiles files(own.session(), rank, optionsOf(at("other.safetensors")),
                    [] { return false; });
    EXPECT_TRUE(
        save(files, own.session(), rank, at("other.safetensors"), 7).ok());
  });
  fs::rename(at("other.step7.rank1of2.safetensors"),
             at("c.step7.rank1of2.safetensors"));
  EXPECT_THAT(restored(2)[1],
              HasSubstr("c.step7.rank1of2.safetensors: has other values than "
                        "when the checkpoint beside it was written"));
  fs::remove(at("c.step7.rank1of2.safetensors"));
  EXPECT_THAT(restored(2)[1],
              HasSubstr("c.step7.rank1of2.safetensors: cannot open"));
  std::ofstream(at("c.step7.rank1of2.safetensors")) << "no tensors";
  EXPECT_THAT(restored(2)[1], HasSubstr("c.step7.rank1of2.safetensors: "));
}

TEST_F(RankFilesTest, AreThoseOfTheLastCheckpointAlone) {
  std::string path = at("c.safetensors");
  onRanks(inProcess(2), [&](CommunicationThread &rank) {
    Own own(1);
    bool isWhole = false;
    RankFiles files(own.session(), rank, optionsOf(path),
                    [&] { return isWhole; });
    for (int64_t step : {1, 2, 3})
      EXPECT_TRUE(save(files, own.session(), rank, path, step).ok());
    EXPECT_TRUE(save(files, own.session(), rank, path, 3, SaveKind::best).ok());
    isWhole = true; // Nothing of a rank's own is left.
    EXPECT_TRUE(save(files, own.session(), rank, path, 4).ok());
    files.finish();
  });
  EXPECT_THAT(files(), ElementsAre("c.best.safetensors",
                                   "c.best.step3.rank1of2.safetensors",
                                   "c.safetensors"));
}

/// Until the next save it is not known whether the last one was settled.
TEST_F(RankFilesTest, KeepThoseOfTheCheckpointBefore) {
  std::string path = at("c.safetensors");
  onRanks(inProcess(2), [&](CommunicationThread &rank) {
    Own own(1);
    RankFiles files(own.session(), rank, optionsOf(path), [] { return false; });
    EXPECT_TRUE(save(files, own.session(), rank, path, 1).ok());
    SaveReport report{2, SaveKind::due, {}};
    EXPECT_TRUE(files.beforeSave(report).ok());
  });
  EXPECT_THAT(files(),
              ElementsAre("c.safetensors", "c.step1.rank1of2.safetensors",
                          "c.step2.rank1of2.safetensors"));
}

TEST_F(RankFilesTest, AreNoneWithoutACheckpoint) {
  onRanks(inProcess(2), [&](CommunicationThread &rank) {
    Own own(1);
    RankFiles files(own.session(), rank, optionsOf(""), [] { return false; });
    SaveReport report{1, SaveKind::due, {}};
    EXPECT_TRUE(files.beforeSave(report).ok());
    EXPECT_TRUE(report.notes.empty());
    EXPECT_EQ(restoreRankStates(own.session(), rank, "")->file, "");
  });
  EXPECT_THAT(files(), ElementsAre());
}

TEST_F(RankFilesTest, EndTheSaveWhereOneCannotBeWritten) {
  onRanks(inProcess(2), [&](CommunicationThread &rank) {
    Own own(1);
    RankFiles files(own.session(), rank, optionsOf(at("none/c.safetensors")),
                    [] { return false; });
    SaveReport report{1, SaveKind::due, {}};
    Status status = files.beforeSave(report);
    EXPECT_FALSE(status.ok());
    if (rank.rank() == 1)
      EXPECT_THAT(status.message(), HasSubstr("c.step1.rank1of2.safetensors"));
  });
}

TEST_F(RankFilesTest, LeaveThoseOfARunBeforeToWhatIsKept) {
  std::string path = at("c.safetensors");
  for (int64_t keep : {1, 0}) {
    saveOnRanks(2);
    onRanks(inProcess(2), [&](CommunicationThread &rank) {
      Own own(1);
      auto restored = restoreRankStates(own.session(), rank, path);
      ASSERT_TRUE(restored.ok()) << restored.status();
      EXPECT_EQ(restored->file.empty(), rank.rank() == 0);
      RankFiles files(own.session(), rank, optionsOf(path, keep),
                      [] { return true; });
      files.goOnFrom(restored->file);
      EXPECT_TRUE(save(files, own.session(), rank, path, 9).ok());
      files.finish();
    });
    if (keep)
      EXPECT_THAT(files(),
                  ElementsAre("c.safetensors", "c.step7.rank1of2.safetensors"));
    else
      EXPECT_THAT(files(), ElementsAre("c.safetensors"));
  }
}
