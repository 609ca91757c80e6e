// What is left of a run whose rank has died.

#include "tool/train/last_checkpoint.h"

#include "runtime/safetensors.h"
#include "tests/training/data/files.h"

#include <gmock/gmock.h>

using namespace gradus;
using namespace gradus::cli;
using testing::StartsWith;
using training::SaveKind;

namespace {

const std::vector<training::Metric> kNone;

/// A run that keeps its state in a folder.
struct Saved {
  explicit Saved(bool goesOn = false)
      : path(folder.path("net.safetensors")),
        last(path, goesOn ? path : std::string()) {}

  void save(int64_t step, SaveKind kind = SaveKind::due) {
    EXPECT_TRUE(last.onSave({step, kind, {}}).ok());
  }
  void train(int64_t step) {
    EXPECT_TRUE(last.onPiece({step, 100, kNone, 1, 0}).ok());
  }
  void write(int64_t step) {
    EXPECT_TRUE(
        runtime::writeSafetensors(path, {}, {{"step", std::to_string(step)}})
            .ok());
  }
  std::string words(int64_t step) const {
    return runtime::inWords("; the last checkpoint is ", path, " of step ",
                            step, "; continue with: ");
  }

  data::Folder folder;
  std::string path;
  LastCheckpoint last;
};

} // namespace

TEST(LastCheckpoint, IsNamedWithItsStep) {
  Saved run;
  run.last.begin(0);
  run.train(20);
  EXPECT_EQ(run.last.advice(), "; nothing was saved yet");
  run.save(20);
  run.train(40);
  run.save(40, SaveKind::best);
  run.train(60);
  EXPECT_THAT(run.last.advice(), StartsWith(run.words(20)));
}

/// Rank 0 may have died before it had written the file, or behind that.
TEST(LastCheckpoint, AsksTheFile) {
  Saved run;
  run.save(20);
  EXPECT_EQ(run.last.advice(), "; nothing was saved yet");
  run.write(20);
  EXPECT_THAT(run.last.advice(), StartsWith(run.words(20)));
  run.train(40);
  run.save(40);
  EXPECT_THAT(run.last.advice(), StartsWith(run.words(20)));
  run.write(40);
  EXPECT_THAT(run.last.advice(), StartsWith(run.words(40)));
}

TEST(LastCheckpoint, IsNotThatOfAnotherRun) {
  Saved run;
  run.write(9);
  run.last.begin(0);
  run.train(20);
  EXPECT_EQ(run.last.advice(), "; nothing was saved yet");
  run.save(20);
  EXPECT_EQ(run.last.advice(), "; nothing was saved yet");
}

TEST(LastCheckpoint, IsTheOneThatTheRunGoesOnFrom) {
  Saved run(/*goesOn=*/true);
  run.write(12);
  EXPECT_THAT(run.last.advice(), StartsWith(run.words(12)))
      << "before it begins, too";
  run.last.begin(12);
  EXPECT_THAT(run.last.advice(), StartsWith(run.words(12)));
}

/// Rank 0 may be the only one that sees the file, and the run may not have
/// saved anything yet.
TEST(LastCheckpoint, IsTheResumedOneUntilTheRunSaves) {
  Saved run(/*goesOn=*/true);
  EXPECT_EQ(run.last.advice(), "; nothing was saved since " + run.path);
  run.last.begin(12);
  EXPECT_THAT(run.last.advice(), StartsWith(run.words(12)));
  Saved other;
  LastCheckpoint last(other.path, "former.safetensors");
  last.begin(12);
  EXPECT_EQ(last.advice(), "; nothing was saved since former.safetensors");
}

TEST(LastCheckpoint, IsMissedWhereNoneIsKept) {
  LastCheckpoint last("", "");
  EXPECT_FALSE(last.isKept());
  EXPECT_TRUE(last.onSave({5, SaveKind::end, {}}).ok());
  EXPECT_EQ(last.advice(),
            "; nothing was saved, since the run keeps no checkpoint");
}
