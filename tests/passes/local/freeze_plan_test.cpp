// Which groups freezing makes, and which step runs which. What MindSpore gives
// is checked by tests/end_to_end/vectors too; here stand the tables that were
// worked out by hand, and ours where it differs.

#include "passes/local/freeze_plan.h"

#include <gtest/gtest.h>

#include <map>

using namespace gradus;

namespace {

using List = std::vector<int64_t>;

/// Three convolutions with their normalizations and a dense layer.
const std::vector<FrozenParameter> kToy = {
    {"conv1.weight", true}, {"bn1.gamma", false}, {"bn1.beta", false},
    {"conv2.weight", true}, {"bn2.gamma", false}, {"bn2.beta", false},
    {"conv3.weight", true}, {"bn3.gamma", false}, {"bn3.beta", false},
    {"fc.weight", true},    {"fc.bias", false}};

double noDraw() {
  ADD_FAILURE() << "nothing is to be drawn";
  return 0;
}

List sequence(FreezeSchedule schedule) {
  return freezeSequence(schedule, noDraw);
}

} // namespace

TEST(FreezeCuts, ShareOutLayersEvenly) {
  EXPECT_EQ(freezeCuts(kToy, 1), (List{0}));
  EXPECT_EQ(freezeCuts(kToy, 2), (List{0, 6}));
  EXPECT_EQ(freezeCuts(kToy, 3), (List{0, 3, 6}));
  EXPECT_EQ(freezeCuts(kToy, 4), (List{0, 3, 6, 9}));
}

TEST(FreezeCuts, AreNoMoreThanLayers) {
  EXPECT_EQ(freezeCuts(kToy, 8), (List{0, 3, 6, 9}));
  EXPECT_EQ(freezeCuts({{"bias", false}, {"w", true}}, 8), (List{0, 1}));
}

TEST(FreezeCuts, GoByNamesAsInMindSpore) {
  EXPECT_EQ(freezeCutsOfMindSpore(kToy, 2), (List{0, 6}));
  EXPECT_EQ(freezeCutsOfMindSpore(kToy, 3), (List{0, 3, 6}));
  EXPECT_EQ(freezeCutsOfMindSpore(kToy, 8), List(8, 0));
}

TEST(FreezeSequence, TakesCutsInTurn) {
  EXPECT_EQ(sequence({.groups = 4, .type = 0, .p = 0.5, .totalSteps = 10}),
            (List{0, 0, 0, 1, 2, 3, 0, 0, 0, 1, 2, 3}));
  EXPECT_EQ(sequence({.groups = 3, .type = 0, .p = 0, .totalSteps = 4}),
            (List{1, 2, 1, 2}));
}

/// Whole steps of a cycle: rounded, where MindSpore rounds down by way of
/// binary numbers.
TEST(FreezeSequence, RoundsWholeSteps) {
  struct {
    double p;
    int64_t groups, ours, mindSpore;
  } cases[] = {{.5, 4, 3, 3},    {.7, 10, 21, 20}, {.5, 10, 9, 9},
               {.75, 5, 12, 12}, {.8, 5, 16, 16},  {.9, 10, 81, 81},
               {0, 4, 0, 0},     {.3, 4, 1, 1},    {.6, 4, 4, 4},
               {.7, 4, 7, 6}};
  for (auto [p, groups, ours, mindSpore] : cases) {
    FreezeSchedule schedule{
        .groups = groups, .type = 0, .p = p, .totalSteps = 1};
    EXPECT_EQ(sequence(schedule).size(), size_t(ours + groups - 1)) << p;
    schedule.asMindSpore = true;
    EXPECT_EQ(sequence(schedule).size(), size_t(mindSpore + groups - 1)) << p;
  }
}

TEST(FreezeSequence, IsAHundredthLongerInMindSpore) {
  FreezeSchedule schedule{
      .groups = 10, .type = 0, .p = 0.7, .totalSteps = 65536};
  schedule.asMindSpore = true;
  EXPECT_EQ(sequence(schedule).size(), 66207u);
  schedule.groups = 1;
  EXPECT_EQ(sequence(schedule), List(66191, 0));
  schedule.asMindSpore = false;
  EXPECT_EQ(sequence(schedule), List(65536, 0));
}

/// Frozen steps stand where they are too few.
TEST(FreezeSequence, DrawsFrozenSteps) {
  for (auto [p, skeleton] : std::map<double, std::string>{
           {.5, "0F0F0F0F0F0F"},
           {.7, "0F00F00F00F000F00F00F000F00F00F000F00F00"},
           {.75, "0F000F000F00"},
           {.9, "0F000000000F000000000F"},
           {0, "0FFFFFFFF"},
           {.3, "0FFF0FF0FF0FFF0FF0FF0FFF0FF0FF0FFF0FF0FF"}}) {
    List steps = freezeSequence({.groups = 4,
                                 .type = 1,
                                 .p = p,
                                 .totalSteps = int64_t(skeleton.size())},
                                [] { return 0.99; });
    std::string found;
    for (int64_t step : steps)
      found += step ? 'F' : '0';
    EXPECT_EQ(found, skeleton) << p;
  }
}

TEST(FreezeSequence, DrawsLightCutsMoreOften) {
  std::map<int64_t, int> counts;
  double next = 0;
  for (int64_t step :
       freezeSequence({.groups = 10, .type = 1, .p = 0, .totalSteps = 45001},
                      [&] { return (next += 1) / 45001; }))
    ++counts[step];
  for (int64_t group = 1; group < 10; ++group)
    EXPECT_NEAR(counts[group], 1000 * (10 - group), 2) << group;
}
