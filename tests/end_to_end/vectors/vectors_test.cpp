// Every recorded vector, one test a file, through compiled graphs; those of
// second-order methods and of group loss scales on the emulated GPU, too. The
// folders in GRADUS_VECTORS hold more of them.

#include "tests/this_build.h"
#include "vector_file.h"

#include <filesystem>

using namespace gradus::vectors;

namespace {

struct Kind {
  std::string name;
  void (*check)(const VectorFile &);
  bool runsOnGpus = false;
};
const Kind kinds[] = {{"optimizer", checkOptimizer},
                      {"lr_schedule", checkSchedule},
                      {"trajectory", checkTrajectory},
                      {"train", checkTraining},
                      {"boost.grad_accumulation", checkGuardedTraining},
                      {"boost.loss_scale", checkLossScale},
                      {"boost.loss_scale_train", checkGuardedTraining},
                      {"boost.adasum", checkAdasum},
                      {"boost.dim_reduce", checkDimReduce},
                      {"boost.freeze_groups", checkFreezeGroups},
                      {"boost.freeze_run", checkFreezeRun},
                      {"boost.freeze_sequence", checkFreezeSequence},
                      {"freeze_run", checkRestingRun},
                      {"boost.grad_centralization", checkCentralization},
                      {"boost.group_loss_scale", checkGroupLossScale, true},
                      {"boost.less_bn", checkLessBn},
                      {"thor", checkThor, true}};

const Kind *kindOf(const VectorFile &file) {
  for (const Kind &kind : kinds)
    if (kind.name == file.kind())
      return &kind;
  return nullptr;
}

class Recorded : public testing::TestWithParam<Recording> {};
class RecordedForGpus : public testing::TestWithParam<Recording> {};

std::vector<Recording> recordingsForGpus() {
  std::vector<Recording> result;
  for (const Recording &recording : recordings())
    if (std::filesystem::is_regular_file(recording.path))
      if (const Kind *kind = kindOf(VectorFile(recording.path));
          kind && kind->runsOnGpus)
        result.push_back(recording);
  return result;
}

} // namespace

TEST_P(Recorded, Vector) {
  ASSERT_TRUE(std::filesystem::is_regular_file(GetParam().path))
      << GetParam().path << ": there is no such file or folder";
  VectorFile file(GetParam().path);
  const Kind *kind = kindOf(file);
  ASSERT_TRUE(kind) << GetParam().path << ": kind \"" << file.kind()
                    << "\" is not known to this test";
  SCOPED_TRACE(GetParam().path);
  kind->check(file);
}

TEST_P(RecordedForGpus, OnTheEmulatedGpu) {
  setenv("GRADUS_EMULATED_LIBRARY",
         GRADUS_BINARY_DIR "/lib/libgradus_emulated.so", 1);
  VectorFile file(GetParam().path, "emulated");
  SCOPED_TRACE(GetParam().path);
  kindOf(file)->check(file);
  unsetenv("GRADUS_EMULATED_LIBRARY");
}

INSTANTIATE_TEST_SUITE_P(Vectors, Recorded, testing::ValuesIn(recordings()),
                         [](const auto &info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Vectors, RecordedForGpus,
                         testing::ValuesIn(recordingsForGpus()),
                         [](const auto &info) { return info.param.name; });
