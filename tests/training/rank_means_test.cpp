// States that ranks have of their own, as their means, and back again.

#include "training/rank_means.h"

#include "runtime/float_conversion.h"
#include "tests/runtime/collectives/ranks.h"
#include "tests/training/adding.h"

#include <gmock/gmock.h>

#include <functional>

using namespace gradus::runtime;
using namespace gradus::training;
using testing::Each;
using testing::ElementsAre;

namespace {

/// A session whose states are all the rank's own, `number` in each.
struct Own {
  explicit Own(float number) : adding(artifact()) {
    std::vector<float> total(8, number);
    std::vector<Bf16> scale(4, Bf16(number));
    auto step = static_cast<int64_t>(number);
    EXPECT_TRUE(session().writeState("total", total.data(), 32).ok());
    EXPECT_TRUE(session().writeState("scale", scale.data(), 8).ok());
    EXPECT_TRUE(session().writeState("step", &step, 8).ok());
  }

  static gradus::test::TestArtifact artifact() {
    gradus::test::TestArtifact made;
    for (auto &state : made.header.states)
      state->per_rank = true;
    return made;
  }

  std::vector<float> total() {
    std::vector<float> values(8);
    EXPECT_TRUE(session().readState("total", values.data(), 32).ok());
    return values;
  }
  double scale() {
    Bf16 values[4];
    EXPECT_TRUE(session().readState("scale", values, 8).ok());
    return static_cast<double>(values[3]);
  }
  int64_t step() {
    int64_t value = 0;
    EXPECT_TRUE(session().readState("step", &value, 8).ok());
    return value;
  }
  Session &session() { return *adding.session; }

  gradus::test::Adding adding;
};

/// The number of collectives that a call begins.
uint64_t begunBy(CommunicationThread &rank, const std::function<void()> &call) {
  float one = 1;
  auto count = [&] {
    uint64_t number =
        rank.begin({.type = DType::f32, .data = &one, .count = 1});
    EXPECT_TRUE(rank.finish(number).ok());
    return number;
  };
  uint64_t before = count();
  call();
  return count() - before - 1;
}

} // namespace

TEST(RankMeans, AreThoseOfNumbersThatHaveAMean) {
  onRanks(inProcess(3), [](CommunicationThread &rank) {
    auto own = static_cast<float>(1 << rank.rank()); // 1, 2, 4
    Own state(own);
    RankMeans means(state.session(), rank);
    ASSERT_TRUE(means.take().ok());
    EXPECT_THAT(state.total(), Each(7.0F / 3.0F));
    EXPECT_EQ(state.scale(), 2.328125) << "7/3 in bf16";
    EXPECT_EQ(state.step(), static_cast<int64_t>(own)) << "a counter has none";
    ASSERT_TRUE(means.giveBack().ok());
    EXPECT_THAT(state.total(), Each(own));
    EXPECT_EQ(state.scale(), own);
  });
}

TEST(RankMeans, GiveBackOnce) {
  onRanks(inProcess(2), [](CommunicationThread &rank) {
    Own state(3);
    RankMeans means(state.session(), rank);
    EXPECT_TRUE(means.giveBack().ok()) << "nothing was taken";
    ASSERT_TRUE(means.take().ok());
    ASSERT_TRUE(means.giveBack().ok());
    float later[8] = {9};
    ASSERT_TRUE(state.session().writeState("total", later, 32).ok());
    ASSERT_TRUE(means.giveBack().ok());
    EXPECT_EQ(state.total()[0], 9);
  });
}

TEST(RankMeans, AreOfTheStatesThatAreAskedFor) {
  onRanks(inProcess(2), [](CommunicationThread &rank) {
    auto own = static_cast<float>(rank.rank());
    Own state(own);
    RankMeans means(state.session(), rank);
    EXPECT_EQ(begunBy(rank, [&] { ASSERT_TRUE(means.take().ok()); }), 2U)
        << "a counter has no mean";
    EXPECT_EQ(begunBy(rank, [&] { ASSERT_TRUE(means.giveBack().ok()); }), 0U);
    int scale = state.session().findState("scale");
    EXPECT_EQ(begunBy(rank, [&] { ASSERT_TRUE(means.take({scale}).ok()); }),
              1U);
    EXPECT_EQ(state.scale(), 0.5);
    EXPECT_THAT(state.total(), Each(own)) << "nobody asked for it";
    float later[8] = {9};
    ASSERT_TRUE(state.session().writeState("total", later, 32).ok());
    ASSERT_TRUE(means.giveBack().ok());
    EXPECT_EQ(state.scale(), own);
    EXPECT_EQ(state.total()[0], 9) << "what was not taken stays";
  });
}

/// Also where the test fails.
TEST(RankMeans, AreWhatIsTested) {
  onRanks(inProcess(2), [](CommunicationThread &rank) {
    Own state(static_cast<float>(rank.rank()));
    RankMeans means(state.session(), rank);
    auto tested = [&](Status status) {
      return testerOfMeans(
          [&, status](bool *unreadable) -> StatusOr<std::vector<Metric>> {
            *unreadable = !status.ok();
            EXPECT_THAT(state.total(), Each(0.5F));
            EXPECT_EQ(state.scale(), rank.rank()) << "no test reads it";
            if (!status.ok())
              return status;
            return std::vector<Metric>{{"loss", state.total()[0]}};
          },
          means, {state.session().findState("total")});
    };
    bool unreadable = false;
    auto figures = tested({})(&unreadable);
    ASSERT_TRUE(figures.ok());
    EXPECT_EQ(figures->at(0).value, 0.5);
    EXPECT_EQ(state.total()[0], rank.rank());
    EXPECT_EQ(tested(invalid("cut short"))(&unreadable).status().message(),
              "cut short");
    EXPECT_TRUE(unreadable);
    EXPECT_EQ(state.total()[0], rank.rank());
  });
}

TEST(RankMeans, ListTheStatesOfRanks) {
  gradus::test::TestArtifact made;
  made.addOwn("kept/rest", 5);
  for (auto &state : made.header.states)
    state->per_rank |= state->name == "total";
  gradus::test::Adding adding(made);
  EXPECT_THAT(ownStates(*adding.session), ElementsAre(0, 3));
  EXPECT_THAT(ownStates(*adding.session, /*all=*/false), ElementsAre(3));
}
