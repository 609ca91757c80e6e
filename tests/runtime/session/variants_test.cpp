// A schedule says which graph a step runs in place of another.

#include "runtime/session/variants.h"

#include <gtest/gtest.h>

using namespace gradus;
using namespace gradus::runtime;

namespace {

Variants readBack(const artifact::ScheduleT &schedule) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(CreateSchedule(builder, &schedule));
  return variantsOf(
      *flatbuffers::GetRoot<artifact::Schedule>(builder.GetBufferPointer()));
}

} // namespace

TEST(Variants, AreTheFirstWhoseTurnItIsOrTheLast) {
  Variants variants{{4, 5, 6}, {4, 2, 1}, {3, 1, 0}, "", -1};
  std::vector<size_t> graphs;
  for (int64_t step = 0; step < 5; ++step)
    graphs.push_back(variants.graphAt(step));
  EXPECT_EQ(graphs, (std::vector<size_t>{6, 5, 6, 4, 6}));
}

TEST(Variants, CountStepsUnlessTheScheduleNamesACounter) {
  artifact::ScheduleT schedule;
  schedule.graph = "train";
  schedule.variants = {1, 2};
  EXPECT_EQ(readBack(schedule).counterName, "step");
  EXPECT_EQ(readBack(schedule).graphAt(9), 1u) << "without `every`, the first";
  schedule.counter = "micro";
  EXPECT_EQ(readBack(schedule).counterName, "micro");
}
