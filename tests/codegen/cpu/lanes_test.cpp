// How accesses step from lane to lane.

#include "tests/codegen/parsed_nest.h"

#include "codegen/cpu/lanes.h"

using namespace gradus;
using namespace gradus::test;

TEST(CpuLanes, SeesHowTheyStep) {
  auto stepOf = [](std::vector<int64_t> from, std::string map) {
    ParsedNest read(copyText({4, 16}, from, map), "serial");
    return laneStep(read.nest, read.nest.inputs[0], 1, 16);
  };
  EXPECT_EQ(stepOf({4}, "(i, j) -> (i)").kind, LaneStep::same);
  EXPECT_EQ(stepOf({4, 17}, "(i, j) -> (i, j + 1)").kind, LaneStep::next);
  LaneStep strided = stepOf({4, 40}, "(i, j) -> (i, 2 * j)");
  EXPECT_EQ(strided.kind, LaneStep::strided);
  EXPECT_EQ(strided.by, 2);
  LaneStep repeated = stepOf({4, 8}, "(i, j) -> (i, j floordiv 2)");
  EXPECT_EQ(repeated.kind, LaneStep::repeated);
  EXPECT_EQ(repeated.by, 2);
  EXPECT_EQ(stepOf({4, 8}, "(i, j) -> (i, (i + j) floordiv 4)").kind,
            LaneStep::scattered);
  EXPECT_EQ(stepOf({16, 4}, "(i, j) -> (j, i)").kind, LaneStep::strided);
  EXPECT_EQ(stepOf({16, 9}, "(i, j) -> (j, i)").kind, LaneStep::scattered);
}
