// The runtime's hand-made artifact on a case's data: its step adds the input
// `x` (8 floats) to the state `total`, which starts as 0, 1, ... 7.

#include "tests/runtime/test_artifact.h"
#include "tool/check/trainer.h"

#include <gmock/gmock.h>

#include <fstream>
#include <unistd.h>

namespace gradus::check {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

/// A case with batch 0: `x` of `elements` ones.
struct Ones {
  explicit Ones(int64_t elements = 8) : values(elements, 1) {
    fs::remove_all(folder);
    fs::create_directory(folder);
    std::ofstream(folder / "case.json") << "{}";
    EXPECT_TRUE(runtime::writeSafetensors(
                    folder / "data.safetensors",
                    {{"input.x.0",
                      {runtime::DType::f32, {elements}},
                      {reinterpret_cast<const uint8_t *>(values.data()),
                       values.size() * sizeof(float)}}})
                    .ok());
    recorded.emplace(*RecordedCase::open(folder));
  }
  ~Ones() { fs::remove_all(folder); }

  Trainer trainer(const std::string &command = "add") const {
    test::TestArtifact made;
    made.command(0).name = command;
    std::vector<uint8_t> bytes = made.bytes();
    return Trainer({bytes.begin(), bytes.end()}, *recorded, {.threads = 1});
  }

  std::vector<float> values;
  fs::path folder = fs::temp_directory_path() /
                    ("gradus_trainer_test." + std::to_string(getpid()));
  std::optional<RecordedCase> recorded;
};

} // namespace

TEST(Trainer, StepsThroughTheBatchesOfACase) {
  Ones ones;
  Trainer trainer = ones.trainer();
  trainer.step(0);
  trainer.step(0);
  EXPECT_THAT(trainer.state("total"), ElementsAre(2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(trainer.output("sum"), ElementsAre(2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THROW(trainer.step(1), std::runtime_error);
}

TEST(Trainer, KnowsCommandsByWinogradsAlgorithm) {
  Ones ones;
  EXPECT_FALSE(ones.trainer("convolution").convolvesByWinograd());
  EXPECT_TRUE(ones.trainer("winograd+relu").convolvesByWinograd());
}

TEST(Trainer, LooksAtEachStep) {
  Ones ones;
  Trainer trainer = ones.trainer();
  std::vector<double> firsts;
  trainer.train({0, 0, 0}, [&](double seconds) {
    EXPECT_GE(seconds, 0);
    firsts.push_back(trainer.state("total")[0]);
  });
  EXPECT_THAT(firsts, ElementsAre(1, 2, 3));
  trainer.train({}, [](double) { FAIL() << "there is no step"; });
  EXPECT_THROW(trainer.train({0}, [](double) { throw Refusal("no"); }),
               Refusal);
}

TEST(Trainer, TimesEachCommandOfAStep) {
  Ones ones;
  Trainer trainer = ones.trainer();
  trainer.timedStep(0);
  EXPECT_THAT(trainer.times(),
              testing::SizeIs(trainer.graph().commands.size()));
  EXPECT_THAT(trainer.times(), testing::Contains(testing::Gt(0)));
  trainer.step(0);
  EXPECT_THAT(trainer.state("total"), ElementsAre(2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(Trainer, StartsAgainWithWeightsThatDifferInTheirLastPlaces) {
  Ones ones;
  Trainer trainer = ones.trainer();
  trainer.step(0);
  trainer.restart(0);
  EXPECT_THAT(trainer.state("total"), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  trainer.restart(1);
  std::vector<double> moved = trainer.state("total");
  EXPECT_NE(moved, (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7}));
  for (int i = 0; i < 8; ++i)
    EXPECT_NEAR(moved[i], i, i * 0x1p-21);
}

TEST(Trainer, SaysWhatItLacks) {
  Ones ones;
  Trainer trainer = ones.trainer();
  EXPECT_FALSE(trainer.hasState("w"));
  EXPECT_THROW(trainer.state("w"), std::runtime_error);
  EXPECT_THROW(trainer.output("loss"), std::runtime_error);
  EXPECT_THROW(Ones(7).trainer().step(0), std::runtime_error);
}

} // namespace gradus::check
