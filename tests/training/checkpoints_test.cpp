// When training saves, under which names, and what it says where it cannot.

#include "tests/training/adding.h"
#include "training/checkpoints.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

using namespace gradus::training;
using gradus::runtime::Status;
using gradus::runtime::StatusCode;
namespace fs = std::filesystem;

namespace {

struct CheckpointFiles : testing::Test {
  void SetUp() override {
    folder = fs::temp_directory_path() /
             ("gradus_checkpoints." + std::to_string(getpid()));
    fs::remove_all(folder);
    fs::create_directory(folder);
    options.path = (folder / "a.b.safetensors").string();
  }
  void TearDown() override { fs::remove_all(folder); }

  Checkpoints make(HeldCheckpoints held = {}) {
    auto tell = [this](Remark, const std::string &words) { told += words; };
    return *Checkpoints::create(*adding.session, options, 10, std::move(held),
                                tell);
  }
  static Status save(Checkpoints &checkpoints, int64_t step,
                     SaveKind kind = SaveKind::due) {
    return checkpoints.onSave({step, kind, {}});
  }
  std::string partial() const {
    return gradus::runtime::partialNameOf(options.path);
  }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto &entry : fs::directory_iterator(folder))
      names.insert(entry.path().filename().string());
    return names;
  }

  gradus::test::Adding adding;
  fs::path folder;
  std::string told;
  CheckpointOptions options;
};

} // namespace

TEST(Interval, IsANumberWithAUnit) {
  auto seconds = [](const std::string &text) {
    auto interval = Interval::parse(text);
    return interval && interval->unit == Interval::Unit::seconds
               ? interval->count
               : -1;
  };
  EXPECT_EQ(seconds("0"), 0);
  EXPECT_EQ(seconds("2.5s"), 2.5);
  EXPECT_EQ(seconds("2min"), 120);
  EXPECT_EQ(seconds("1h"), 3600);
  EXPECT_EQ(Interval::parse("500steps")->unit, Interval::Unit::steps);
  EXPECT_EQ(Interval::parse("1epoch")->unit, Interval::Unit::epochs);
  for (const char *text :
       {"", "s", "0steps", "1.5epochs", "-3", "3 days", "1e999", "."})
    EXPECT_FALSE(Interval::parse(text)) << text;
}

TEST(SiblingPath, KeepsFolderAndExtension) {
  EXPECT_EQ(siblingPath("a.d/x.safetensors", "best"), "a.d/x.best.safetensors");
  EXPECT_EQ(siblingPath("a.d/x", "step7"), "a.d/x.step7");
  EXPECT_EQ(siblingPath(".hidden", "best"), ".hidden.best");
}

TEST_F(CheckpointFiles, HaveNamesThatOtherFilesMustNotHave) {
  auto isKept = [&](const std::string &name) {
    return isKeptName((folder / name).string(), options.path);
  };
  EXPECT_TRUE(isKept("a.b.step12.safetensors"));
  EXPECT_TRUE(
      isKept("../" + folder.filename().string() + "/a.b.step12.safetensors"));
  EXPECT_FALSE(isKept("a.b.safetensors"));
  EXPECT_FALSE(isKept("a.b.stepx.safetensors"));
  EXPECT_FALSE(isKept("other/a.b.step12.safetensors"));
  std::ofstream(folder / "a.b.step12.safetensors") << "other";
  fs::create_symlink("a.b.step12.safetensors", folder / "link");
  EXPECT_TRUE(isKept("link"));
}

TEST_F(CheckpointFiles, AreDueByStepsOrEpochs) {
  options.every = "4steps";
  EXPECT_EQ(make().stepsUntilDue(5), 3);
  EXPECT_TRUE(make().isDue(8));
  EXPECT_FALSE(make().isDue(10));
  options.every = "2epochs";
  EXPECT_EQ(make().stepsUntilDue(0), 20);
  EXPECT_TRUE(make().isDue(40));
  EXPECT_FALSE(make().isDue(30));
  options.every = "1h";
  EXPECT_FALSE(make().isDue(40));
  options.every = "0";
  EXPECT_TRUE(make().isDue(41));
  options.path = "";
  EXPECT_FALSE(make().isDue(40));
}

TEST_F(CheckpointFiles, KeepTheLastOnesBesideTheNewest) {
  options.keep = 2;
  Checkpoints checkpoints = make();
  for (int64_t step : {9, 10, 11})
    EXPECT_TRUE(save(checkpoints, step).ok());
  EXPECT_THAT(names(),
              testing::ElementsAre("a.b.safetensors", "a.b.step10.safetensors",
                                   "a.b.step11.safetensors"));
  EXPECT_TRUE(fs::equivalent(options.path, folder / "a.b.step11.safetensors"));
  EXPECT_TRUE(save(checkpoints, 11).ok()); // again, as at the end
  EXPECT_EQ(names().size(), 3u);
}

TEST_F(CheckpointFiles, LeaveOtherFilesAndLaterStepsAlone) {
  options.keep = 1;
  for (const char *name : {"a.b.step99.safetensors", "a.b.stepx.safetensors",
                           "a.step1.safetensors", "a.b.step3.log"})
    std::ofstream(folder / name) << "other";
  Checkpoints checkpoints = make();
  EXPECT_TRUE(save(checkpoints, 5).ok());
  EXPECT_EQ(names().size(), 6u);
  EXPECT_TRUE(save(checkpoints, 100).ok());
  EXPECT_FALSE(names().contains("a.b.step99.safetensors"));
  EXPECT_EQ(names().size(), 5u);
}

TEST_F(CheckpointFiles, KeepTheBestUnderItsName) {
  Checkpoints checkpoints = make();
  EXPECT_TRUE(save(checkpoints, 1, SaveKind::best).ok());
  EXPECT_THAT(names(), testing::ElementsAre("a.b.best.safetensors"));
}

TEST_F(CheckpointFiles, AreNotSaidToBeThereWhereSomebodyRemovedThem) {
  Checkpoints checkpoints = make();
  EXPECT_TRUE(save(checkpoints, 5).ok());
  EXPECT_EQ(checkpoints.stillThere(),
            "; the checkpoint of step 5 is still there");
  fs::remove_all(folder);
  EXPECT_EQ(checkpoints.stillThere(), "");
  Status status = save(checkpoints, 6);
  EXPECT_EQ(status.code(), StatusCode::failed);
  EXPECT_THAT(status.message(), testing::Not(testing::HasSubstr("still")));
}

TEST_F(CheckpointFiles, SayAtTheEndThatTheBestWasNotKept) {
  options.goOn = true;
  Checkpoints checkpoints = make();
  EXPECT_TRUE(checkpoints.finish().ok());
  fs::path blocked = folder / "a.b.best.safetensors.gradus-partial";
  fs::create_directory(blocked);
  EXPECT_TRUE(save(checkpoints, 1, SaveKind::best).ok());
  EXPECT_THAT(told, testing::EndsWith("; training goes on"));
  EXPECT_THAT(
      checkpoints.finish().message(),
      testing::EndsWith(
          "and that is a directory; remove it; the best state was not kept"));
  fs::remove(blocked);
  EXPECT_TRUE(save(checkpoints, 1, SaveKind::best).ok());
  EXPECT_TRUE(checkpoints.finish().ok());
}

TEST_F(CheckpointFiles, SayWhatIsLeftWhereOneCannotBeWritten) {
  Checkpoints checkpoints = make();
  EXPECT_TRUE(save(checkpoints, 5).ok());
  fs::create_directory(partial());
  EXPECT_EQ(save(checkpoints, 6).message(),
            options.path + ": cannot write: it is made under the name " +
                partial() +
                ", and that is a directory; remove it; the checkpoint of step "
                "5 is still there");
  EXPECT_EQ(
      checkpoints.onFailedStep(gradus::runtime::failed("step 7")).message(),
      "step 7; the checkpoint of step 5 is still there");
}

TEST_F(CheckpointFiles, AreRefusedAtOnceWhereTheyCannotBeMade) {
  fs::create_directory(partial());
  options.advice = "; take another one";
  auto made = Checkpoints::create(*adding.session, options, 10);
  EXPECT_THAT(made.status().message(),
              testing::EndsWith("remove it; take another one"));
}

TEST_F(CheckpointFiles, SayThatTheOneItGoesOnFromIsLeft) {
  Checkpoints former = make();
  EXPECT_TRUE(save(former, 5).ok());
  Checkpoints checkpoints = make();
  checkpoints.goOnFrom((folder / "other.safetensors").string(), 5);
  EXPECT_EQ(checkpoints.stillThere(), "");
  checkpoints.goOnFrom(options.path, 5);
  EXPECT_EQ(checkpoints.stillThere(),
            "; the checkpoint of step 5 is still there");
}

TEST_F(CheckpointFiles, LetTrainingGoOnIfAsked) {
  options.goOn = true;
  Checkpoints checkpoints = make();
  fs::create_directory(partial());
  EXPECT_TRUE(save(checkpoints, 6).ok());
  EXPECT_EQ(told, options.path + ": cannot write: it is made under the name " +
                      partial() +
                      ", and that is a directory; remove it; training goes on");
  for (SaveKind last : {SaveKind::end, SaveKind::breakOff})
    EXPECT_FALSE(save(checkpoints, 7, last).ok());
}

TEST_F(CheckpointFiles, AreHeldFromBeforeTheFirstToTheLast) {
  auto words = [&] {
    return holdCheckpoints(options, /*best=*/true).status().message();
  };
  auto refusal = testing::EndsWith(" is writing it");
  {
    HeldCheckpoints held = *holdCheckpoints(options, /*best=*/true);
    EXPECT_THAT(words(), refusal);
    Checkpoints checkpoints = make(std::move(held));
    EXPECT_THAT(words(), refusal);
    EXPECT_TRUE(save(checkpoints, 1).ok());
    EXPECT_THAT(words(), refusal);
    EXPECT_TRUE(save(checkpoints, 1, SaveKind::best).ok());
    options.path = (folder / "a.b.best.safetensors").string();
    EXPECT_THAT(words(), refusal); // another run's checkpoint
  }
  EXPECT_EQ(words(), "");
  EXPECT_THAT(names(),
              testing::ElementsAre("a.b.best.safetensors", "a.b.safetensors"));
}

TEST_F(CheckpointFiles, AreNotTakenFromARunThatHasThemAsItsOwn) {
  options.keep = 1;
  Checkpoints checkpoints = make();
  EXPECT_TRUE(save(checkpoints, 1).ok());
  fs::copy(options.path, folder / "a.b.step0.safetensors");
  CheckpointOptions others = options;
  others.path = (folder / "a.b.step0.safetensors").string();
  HeldCheckpoints held = *holdCheckpoints(others, /*best=*/false);
  EXPECT_TRUE(save(checkpoints, 2).ok());
  EXPECT_TRUE(fs::exists(others.path));
  held = {};
  EXPECT_TRUE(save(checkpoints, 3).ok());
  EXPECT_FALSE(fs::exists(others.path));
}

TEST_F(CheckpointFiles, LeaveNothingWhereNoneWasSaved) {
  {
    Checkpoints checkpoints = make(*holdCheckpoints(options, /*best=*/true));
    EXPECT_THAT(names(), testing::Contains("a.b.safetensors.gradus-partial"));
  }
  EXPECT_TRUE(names().empty());
}
