// The first command that wrote a number that is none.

#include "runtime/session/nonfinite.h"

#include "runtime/session/session.h"
#include "tests/runtime/fake_device.h"
#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace gradus::runtime;
using namespace gradus::test;

namespace {

struct Search : testing::TestWithParam<const char *> {
  void SetUp() override { start(TestArtifact()); }

  void start(const TestArtifact &made) {
    auto artifact = Artifact::fromBytes(made.bytes(), "adder");
    ASSERT_TRUE(artifact.ok()) << artifact.status().message();
    session = *Session::create(*artifact, deviceOf(GetParam()), {.threads = 1});
    session->searchNonfinite(true);
  }

  /// What a step finds that adds `x` to all elements.
  std::string found(float x) {
    float values[kSize];
    std::fill_n(values, kSize, x);
    const void *inputs[] = {values};
    EXPECT_TRUE(session->step(0, inputs).ok());
    return session->firstNonfinite();
  }

  std::unique_ptr<Session> session;
};

template <typename Bits> bool holds(DType dtype, Bits bits, bool infinity) {
  uint8_t data[2 * sizeof(Bits)] = {};
  std::memcpy(data + sizeof(Bits), &bits, sizeof(Bits));
  return holdsNonfinite(dtype, data, sizeof(data), infinity);
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Each, Search, testing::Values("cpu", "fake"),
                         [](const auto &info) { return info.param; });

TEST_P(Search, FindsNothingWhereAllIsFinite) {
  EXPECT_EQ(found(1), "");
  EXPECT_EQ(*session->stepCount(), 1);
}

TEST_P(Search, NamesTheCommandAndTheModelsNodes) {
  float large[kSize];
  std::fill_n(large, kSize, 3e38f);
  ASSERT_TRUE(session->writeState("total", large, sizeof(large)).ok());
  EXPECT_EQ(found(3e38f), "command 0 (total += x) of train, of the model's "
                          "/add, /more, wrote inf");
}

TEST_P(Search, TellsTheStateThatIsSpoiled) {
  found(1);
  EXPECT_EQ(session->spoiledState(), "");
  found(INFINITY);
  EXPECT_EQ(session->spoiledState(), "total");
}

TEST_P(Search, KeepsWhatAnEarlierTurnOfTheStepHasFound) {
  TestArtifact made;
  made.addTurns();
  start(made);
  EXPECT_EQ(found(NAN), "the input x has nan");
  EXPECT_EQ(session->spoiledState(), "") << "only a step's end counts";
  EXPECT_EQ(found(1), "the input x has nan");
  EXPECT_EQ(session->spoiledState(), "total");
  ASSERT_TRUE(session->resetStates().ok());
  EXPECT_EQ(found(1), "") << "another step";
}

TEST_P(Search, TellsNoStateThatWasSoBefore) {
  float mask[kSize] = {-INFINITY};
  ASSERT_TRUE(session->writeState("total", mask, sizeof(mask)).ok());
  found(1);
  EXPECT_EQ(session->spoiledState(), "");
  found(NAN);
  EXPECT_EQ(session->spoiledState(), "total");
}

TEST_P(Search, NamesTheInputOrTheState) {
  EXPECT_EQ(found(NAN), "the input x has nan");
  EXPECT_EQ(found(1), "the state total was nan before the step");
}

TEST_P(Search, TellsTheInfinityThatANaNCameFrom) {
  float infinite[kSize];
  std::fill_n(infinite, kSize, INFINITY);
  ASSERT_TRUE(session->writeState("total", infinite, sizeof(infinite)).ok());
  EXPECT_EQ(found(-INFINITY),
            "the input x has inf; then command 0 (total += x) of train, of the "
            "model's /add, /more, wrote nan");
}

TEST_P(Search, SaysThatWinogradSpreadsAnInfinity) {
  TestArtifact made;
  made.command(0).name = "convolution by winograd";
  start(made);
  EXPECT_EQ(found(NAN), "the input x has nan");
  float infinite[kSize];
  std::fill_n(infinite, kSize, INFINITY);
  ASSERT_TRUE(session->writeState("total", infinite, sizeof(infinite)).ok());
  EXPECT_EQ(found(-INFINITY),
            "the input x has inf; then command 0 (convolution by winograd) of "
            "train, of the model's /add, /more, wrote nan (Winograd's "
            "algorithm may have made it of an infinity or of numbers above "
            "1e37 among its inputs; with convolutions \"direct\" in the recipe "
            "an infinity stays one, in its place)");
  ASSERT_TRUE(session->resetStates().ok());
  std::fill_n(infinite, kSize, 3e38f);
  ASSERT_TRUE(session->writeState("total", infinite, sizeof(infinite)).ok());
  EXPECT_EQ(found(3e38f), "command 0 (convolution by winograd) of train, of "
                          "the model's /add, /more, wrote inf");
}

TEST_P(Search, NeedsNoKernels) {
  TestArtifact copies;
  std::vector<std::unique_ptr<gradus::artifact::CommandT>> only;
  only.push_back(std::move(copies.train().commands[1]));
  copies.train().commands = std::move(only);
  copies.kernels.kernels.clear();
  start(copies);
  EXPECT_EQ(found(1), "");
  EXPECT_EQ(found(NAN), "the input x has nan");
}

TEST_P(Search, IsOverWhenTurnedOff) {
  session->searchNonfinite(false);
  EXPECT_EQ(found(NAN), "");
}

TEST(HoldsNonfinite, KnowsEachKindOfFloat) {
  EXPECT_TRUE(holds<uint32_t>(DType::f32, 0xff800000, true));
  EXPECT_FALSE(holds<uint32_t>(DType::f32, 0xff800000, false));
  EXPECT_TRUE(holds<uint32_t>(DType::f32, 0x7fc00000, false));
  EXPECT_TRUE(holds<uint64_t>(DType::f64, 0x7ff0000000000001, false));
  EXPECT_TRUE(holds<uint16_t>(DType::f16, 0x7c00, true));
  EXPECT_FALSE(holds<uint16_t>(DType::f16, 0x7bff, true));
  EXPECT_TRUE(holds<uint16_t>(DType::bf16, 0x7f81, false));
  EXPECT_FALSE(holds<uint16_t>(DType::bf16, 0x7f7f, false));
  EXPECT_FALSE(holds<uint32_t>(DType::i32, 0x7f800000, true));
}
