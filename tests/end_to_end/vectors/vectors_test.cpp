// Every recorded vector, one test a file, through compiled graphs. The folders
// in GRADUS_VECTORS hold more of them.

#include "vector_file.h"

#include <filesystem>

using namespace gradus::vectors;

namespace {

struct Kind {
  std::string name;
  void (*check)(const VectorFile &); // null: not built yet
};
const Kind kinds[] = {{"optimizer", checkOptimizer},
                      {"lr_schedule", checkSchedule},
                      {"trajectory", checkTrajectory},
                      {"train", checkTraining},
                      {"boost.grad_accumulation", checkGuardedTraining},
                      {"boost.loss_scale", checkLossScale},
                      {"boost.loss_scale_train", checkGuardedTraining},
                      {"boost.adasum", nullptr},
                      {"boost.dim_reduce", nullptr},
                      {"boost.freeze_groups", checkFreezeGroups},
                      {"boost.freeze_run", checkFreezeRun},
                      {"boost.freeze_sequence", checkFreezeSequence},
                      {"freeze_run", checkRestingRun},
                      {"boost.grad_centralization", checkCentralization},
                      {"boost.group_loss_scale", checkGroupLossScale},
                      {"boost.less_bn", checkLessBn},
                      {"thor", checkThor}};

class Recorded : public testing::TestWithParam<Recording> {};

} // namespace

TEST_P(Recorded, Vector) {
  ASSERT_TRUE(std::filesystem::is_regular_file(GetParam().path))
      << GetParam().path << ": there is no such file or folder";
  VectorFile file(GetParam().path);
  for (const Kind &kind : kinds) {
    if (kind.name != file.kind())
      continue;
    if (!kind.check)
      GTEST_SKIP() << "not built yet";
    SCOPED_TRACE(GetParam().path);
    return kind.check(file);
  }
  FAIL() << GetParam().path << ": kind \"" << file.kind()
         << "\" is not known to this test";
}

INSTANTIATE_TEST_SUITE_P(Vectors, Recorded, testing::ValuesIn(recordings()),
                         [](const auto &info) { return info.param.name; });
