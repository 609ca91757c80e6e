#include "runtime/session/c_api.h"
#include "runtime/session/c_options.h"

#include "tests/runtime/fake_device.h"
#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

using namespace gradus::runtime;
using namespace gradus::test;

namespace {

struct CApi : testing::TestWithParam<const char *> {
  void SetUp() override {
    auto bytes = TestArtifact().bytes();
    if (std::string(GetParam()) == "cpu")
      ASSERT_EQ(
          gradus_load_memory(bytes.data(), bytes.size(), nullptr, &session),
          GRADUS_OK)
          << gradus_last_error(nullptr);
    else
      session = handleOf(
          *Session::create(*Artifact::fromBytes(bytes, "artifact in memory"),
                           deviceOf(GetParam())));
    for (int i = 0; i < kSize; ++i)
      x[i] = 1;
  }
  void TearDown() override { gradus_free(session); }

  std::string error() const { return gradus_last_error(session); }

  gradus_session *session = nullptr;
  float x[kSize], sum[kSize] = {}, shifted[kSize] = {};
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Each, CApi, testing::Values("cpu", "fake"),
                         [](const auto &info) { return info.param; });

TEST_P(CApi, Steps) {
  const void *inputs[] = {x};
  void *outputs[] = {sum, shifted};
  ASSERT_EQ(gradus_step(session, 0, inputs, outputs), GRADUS_OK) << error();
  EXPECT_EQ(sum[7], 8);
  EXPECT_EQ(shifted[7], 25);
}

TEST_P(CApi, StepsOverAQueue) {
  const void *inputs[] = {x, x, x};
  int64_t done = 0;
  ASSERT_EQ(gradus_steps(session, 0, 3, inputs, nullptr, &done), GRADUS_OK);
  EXPECT_EQ(done, 3);
  EXPECT_EQ(static_cast<const float *>(gradus_output_buffer(session, 0, 0))[0],
            3);
}

TEST_P(CApi, UsesBoundMemory) {
  ASSERT_EQ(gradus_bind_input(session, 0, "x", x), GRADUS_OK);
  ASSERT_EQ(gradus_bind_output(session, 0, "sum", sum), GRADUS_OK);
  ASSERT_EQ(gradus_step(session, 0, nullptr, nullptr), GRADUS_OK);
  ASSERT_EQ(gradus_step(session, 0, nullptr, nullptr), GRADUS_OK);
  EXPECT_EQ(sum[0], 2);
  EXPECT_EQ(gradus_bind_input(session, 0, "y", x), GRADUS_INVALID);
  EXPECT_EQ(error(), "there is no input y");
}

TEST_P(CApi, SaysWhatIsInside) {
  EXPECT_EQ(gradus_graph_count(session), 2);
  EXPECT_STREQ(gradus_graph_name(session, 1), "evaluate");
  EXPECT_EQ(gradus_graph_name(session, 2), nullptr);
  EXPECT_EQ(gradus_find_graph(session, "train"), 0);
  EXPECT_EQ(gradus_input_count(session, 0), 1);
  EXPECT_EQ(gradus_output_count(session, 0), 2);
  EXPECT_EQ(gradus_state_count(session), 3);
  EXPECT_EQ(gradus_find_output(session, 0, "shifted"), 1);
  EXPECT_EQ(gradus_find_state(session, "step"), 2);
  gradus_tensor tensor;
  ASSERT_EQ(gradus_state(session, 1, &tensor), GRADUS_OK);
  EXPECT_STREQ(tensor.name, "scale");
  EXPECT_EQ(tensor.dtype, GRADUS_BF16);
  EXPECT_EQ(tensor.rank, 2);
  EXPECT_EQ(tensor.shape[1], 2);
  EXPECT_EQ(tensor.bytes, 8u);
  EXPECT_EQ(gradus_input(session, 0, 1, &tensor), GRADUS_INVALID);
  gradus_memory memory;
  ASSERT_EQ(gradus_memory_of(session, &memory), GRADUS_OK);
  EXPECT_EQ(memory.predicted,
            memory.state + memory.arena + memory.constants + memory.code);
  EXPECT_EQ(gradus_bytes_at_load(session), 0u);
  EXPECT_EQ(gradus_bytes_at_load(nullptr), 0u);
}

TEST_P(CApi, ReadsAndWritesStates) {
  float total[kSize];
  ASSERT_EQ(gradus_write_state(session, "total", x, sizeof(x)), GRADUS_OK);
  ASSERT_EQ(gradus_read_state(session, "total", total, sizeof(total)),
            GRADUS_OK);
  EXPECT_EQ(total[5], 1);
  ASSERT_EQ(gradus_reset(session), GRADUS_OK);
  ASSERT_EQ(gradus_read_state(session, "total", total, sizeof(total)),
            GRADUS_OK);
  EXPECT_EQ(total[5], 5);
  EXPECT_EQ(gradus_read_state(session, "total", total, 1), GRADUS_INVALID);
  EXPECT_EQ(error(),
            "artifact in memory: state total has 32 bytes, and 1 were given");
}

TEST_P(CApi, SavesAndLoadsCheckpoints) {
  std::string path = temporaryPath("c_api.safetensors");
  const void *inputs[] = {x};
  ASSERT_EQ(gradus_step(session, 0, inputs, nullptr), GRADUS_OK);
  ASSERT_EQ(gradus_save_checkpoint(session, path.c_str()), GRADUS_OK)
      << error();
  ASSERT_EQ(gradus_reset(session), GRADUS_OK);
  ASSERT_EQ(gradus_load_checkpoint(session, path.c_str()), GRADUS_OK);
  int64_t step = 0;
  ASSERT_EQ(gradus_read_state(session, "step", &step, sizeof(step)), GRADUS_OK);
  EXPECT_EQ(step, 1);
  ASSERT_EQ(gradus_load_weights(session, path.c_str()), GRADUS_OK);
  EXPECT_EQ(gradus_load_checkpoint(session, "nowhere"), GRADUS_INVALID);
}

/// A rank's part of what is fixed is in no checkpoint, so nobody has to gather
/// it.
TEST(CApiLoading, SavesAndLoadsWhereFixedStatesAreInParts) {
  TestArtifact made;
  made.addFixed(2);
  made.header.ranks = 1;
  auto &state = *made.header.states.back();
  state.per_rank = true;
  state.whole = std::make_unique<gradus::artifact::TensorTypeT>(*state.type);
  auto bytes = made.bytes();
  gradus_session *session = nullptr;
  ASSERT_EQ(gradus_load_memory(bytes.data(), bytes.size(), nullptr, &session),
            GRADUS_OK)
      << gradus_last_error(nullptr);
  std::string path = temporaryPath("in_parts.safetensors");
  EXPECT_EQ(gradus_save_checkpoint(session, path.c_str()), GRADUS_OK)
      << gradus_last_error(session);
  EXPECT_EQ(gradus_load_checkpoint(session, path.c_str()), GRADUS_OK)
      << gradus_last_error(session);
  gradus_free(session);
}

TEST_P(CApi, Cancels) {
  gradus_cancel(session);
  EXPECT_EQ(gradus_step(session, 0, nullptr, nullptr), GRADUS_CANCELLED);
  EXPECT_EQ(gradus_step(session, 0, nullptr, nullptr), GRADUS_OK);
}

TEST_P(CApi, RefusesGraphsThatDoNotExist) {
  EXPECT_EQ(gradus_step(session, -1, nullptr, nullptr), GRADUS_INVALID);
  EXPECT_EQ(error(), "graph -1 does not exist");
  EXPECT_EQ(gradus_input_buffer(session, 5, 0), nullptr);
  EXPECT_EQ(gradus_input_buffer(session, 0, 5), nullptr);
}

TEST(CApiLoading, SaysWhyItFailed) {
  gradus_session *session = reinterpret_cast<gradus_session *>(1);
  EXPECT_EQ(gradus_load("nowhere.gradus", nullptr, &session), GRADUS_INVALID);
  EXPECT_EQ(session, nullptr);
  EXPECT_STREQ(gradus_last_error(nullptr),
               "nowhere.gradus: cannot open: No such file or directory");
  EXPECT_EQ(gradus_load(nullptr, nullptr, &session), GRADUS_INVALID);
  EXPECT_EQ(gradus_load("x", nullptr, nullptr), GRADUS_INVALID);
}

TEST(CApiLoading, ConnectsNothingUnasked) {
  auto bytes = TestArtifact().bytes();
  gradus_session *session = nullptr;
  ASSERT_EQ(gradus_load_memory(bytes.data(), bytes.size(), nullptr, &session),
            GRADUS_OK);
  EXPECT_EQ(gradus_rank(session), 0);
  EXPECT_EQ(gradus_ranks(session), 1);
  EXPECT_EQ(gradus_turns(session), 1);
  EXPECT_EQ(gradus_fail(session, "nobody hears it"), GRADUS_OK);
  EXPECT_EQ(gradus_fail(session, nullptr), GRADUS_INVALID);
  gradus_free(session);
  EXPECT_EQ(gradus_rank(nullptr), 0);
  EXPECT_EQ(gradus_ranks(nullptr), 1);
  EXPECT_EQ(gradus_turns(nullptr), 1);
}

TEST(CApiLoading, TellsTheTurnsOfAStep) {
  TestArtifact made;
  made.addTurns();
  auto bytes = made.bytes();
  gradus_session *session = nullptr;
  ASSERT_EQ(gradus_load_memory(bytes.data(), bytes.size(), nullptr, &session),
            GRADUS_OK);
  EXPECT_EQ(gradus_turns(session), 2);
  EXPECT_EQ(gradus_rank(session), 0);
  EXPECT_EQ(gradus_ranks(session), 1);
  gradus_free(session);
}

TEST(CApiLoading, RefusesCollectivesThatItDoesNotKnow) {
  auto bytes = TestArtifact().bytes();
  gradus_options options = gradus_default_options();
  options.collectives = "smoke";
  gradus_session *session = nullptr;
  EXPECT_EQ(gradus_load_memory(bytes.data(), bytes.size(), &options, &session),
            GRADUS_INVALID);
  EXPECT_EQ(std::string(gradus_last_error(nullptr)),
            "collectives 'smoke': expected NULL or 'mpi'");
  EXPECT_EQ(session, nullptr);
}

TEST(CApiLoading, LogsAndTakesOptions) {
  std::string path = writeFile(TestArtifact().bytes(), "c_api.gradus"), log;
  gradus_options options = gradus_default_options();
  options.threads = 2;
  options.log = [](void *context, const char *line) {
    *static_cast<std::string *>(context) += line;
  };
  options.log_context = &log;
  gradus_session *session = nullptr;
  ASSERT_EQ(gradus_load(path.c_str(), &options, &session), GRADUS_OK);
  EXPECT_EQ(log, path + ": plan cpu:x86-64-v2, 2 threads, 525 bytes");
  gradus_free(session);
  options.device = "tpu";
  EXPECT_EQ(gradus_load(path.c_str(), &options, &session), GRADUS_INVALID);
}

namespace {

/// A session of a file, after which something becomes of the file.
struct ChangedArtifact : testing::TestWithParam<const char *> {
  void SetUp() override {
    ASSERT_EQ(gradus_load(path.c_str(), nullptr, &session), GRADUS_OK);
    std::string what = GetParam();
    if (what == "removed")
      std::filesystem::remove(path);
    else if (what == "emptied")
      std::filesystem::resize_file(path, 0);
    else
      std::ofstream(path, std::ios::binary | std::ios::in)
          << std::string(bytes.size(), '\x55');
  }
  void TearDown() override { gradus_free(session); }

  float totalAt(int i) {
    float total[kSize] = {};
    EXPECT_EQ(gradus_read_state(session, "total", total, sizeof(total)),
              GRADUS_OK);
    return total[i];
  }

  std::vector<uint8_t> bytes = TestArtifact().bytes();
  std::string path = writeFile(bytes, "changed.gradus");
  gradus_session *session = nullptr;
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Each, ChangedArtifact,
                         testing::Values("removed", "emptied", "overwritten"),
                         [](const auto &info) { return info.param; });

TEST_P(ChangedArtifact, StepsAsBefore) {
  float x[kSize] = {1, 1, 1, 1, 1, 1, 1, 1}, sum[kSize], shifted[kSize];
  const void *inputs[] = {x};
  void *outputs[] = {sum, shifted};
  for (int step = 1; step <= 3; ++step) {
    ASSERT_EQ(gradus_step(session, 0, inputs, outputs), GRADUS_OK);
    EXPECT_EQ(sum[7], 7 + step);
    EXPECT_EQ(shifted[7], sum[7] + 17); // a constant
  }
  EXPECT_STREQ(gradus_graph_name(session, 1), "evaluate");
  EXPECT_EQ(gradus_find_state(session, "step"), 2);
}

TEST_P(ChangedArtifact, IsResetToItsWeightsOrSaysThatTheyAreGone) {
  ASSERT_EQ(gradus_step(session, 0, nullptr, nullptr), GRADUS_OK);
  float before = totalAt(5) + 1, x[kSize] = {1, 1, 1, 1, 1, before, 1, 1};
  ASSERT_EQ(gradus_write_state(session, "total", x, sizeof(x)), GRADUS_OK);
  bool isThere = std::string(GetParam()) == "removed";
  EXPECT_EQ(gradus_reset(session), isThere ? GRADUS_OK : GRADUS_INVALID);
  EXPECT_EQ(totalAt(5), isThere ? 5 : before);
  if (!isThere)
    EXPECT_EQ(
        std::string(gradus_last_error(session)).find(path + ": weights: "), 0u)
        << gradus_last_error(session);
}

TEST(CApiFork, LeavesAChildWhatNeedsNoThreads) {
  auto bytes = TestArtifact().bytes();
  gradus_options options = gradus_default_options();
  options.threads = 3;
  gradus_session *session = nullptr, *own = nullptr;
  auto load = [&](gradus_session **result) {
    return gradus_load_memory(bytes.data(), bytes.size(), &options, result);
  };
  ASSERT_EQ(load(&session), GRADUS_OK);
  ASSERT_EQ(gradus_step(session, 0, nullptr, nullptr), GRADUS_OK);
  auto isRefused = [&](gradus_status status) {
    return status == GRADUS_INVALID &&
           std::string(gradus_last_error(session)) ==
               "artifact in memory: this session was loaded by the parent "
               "process, before fork; load the artifact in this one";
  };
  pid_t child = fork();
  if (child == 0) {
    float total[kSize] = {};
    std::string path = temporaryPath("never.safetensors");
    bool isRight =
        isRefused(gradus_step(session, 0, nullptr, nullptr)) &&
        isRefused(gradus_read_state(session, "total", total, sizeof(total))) &&
        isRefused(gradus_write_state(session, "total", total, sizeof(total))) &&
        isRefused(gradus_reset(session)) &&
        isRefused(gradus_save_checkpoint(session, path.c_str())) &&
        isRefused(gradus_load_checkpoint(session, path.c_str())) &&
        isRefused(gradus_load_weights(session, path.c_str())) &&
        !gradus_input_buffer(session, 0, 0) &&
        gradus_graph_count(session) == 2 && load(&own) == GRADUS_OK &&
        gradus_step(own, 0, nullptr, nullptr) == GRADUS_OK;
    gradus_free(own);
    gradus_free(session);
    _exit(isRight ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(gradus_step(session, 0, nullptr, nullptr), GRADUS_OK);
  gradus_free(session);
}

TEST(CApiFloats, RaiseNoSignalsInAProgramThatWantsThem) {
  TestArtifact made;
  made.header.states[1]->fill = 1e300; // more than its type has
  auto bytes = made.bytes();
  float largest[kSize], sum[kSize];
  std::fill_n(largest, kSize, std::numeric_limits<float>::max());
  const void *inputs[] = {largest};
  void *outputs[] = {sum, nullptr};
  constexpr int kWanted = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;
  feclearexcept(FE_ALL_EXCEPT); // which a test before this may have raised
  feenableexcept(kWanted);
  gradus_session *session = nullptr;
  gradus_status loaded =
      gradus_load_memory(bytes.data(), bytes.size(), nullptr, &session);
  gradus_status wrote =
      gradus_write_state(session, "total", largest, sizeof(largest));
  gradus_status stepped = gradus_step(session, 0, inputs, outputs);
  gradus_status reset = gradus_reset(session);
  EXPECT_EQ(fegetexcept(), kWanted);
  EXPECT_EQ(fetestexcept(kWanted), 0);
  fedisableexcept(FE_ALL_EXCEPT);
  EXPECT_EQ(loaded, GRADUS_OK);
  EXPECT_EQ(wrote, GRADUS_OK);
  EXPECT_EQ(stepped, GRADUS_OK);
  EXPECT_EQ(reset, GRADUS_OK);
  EXPECT_EQ(sum[0], std::numeric_limits<float>::infinity());
  gradus_free(session);
}

TEST(CApiLoading, RunsSeveralArtifactsInOneProcess) {
  auto bytes = TestArtifact().bytes();
  gradus_session *one = nullptr, *two = nullptr;
  ASSERT_EQ(gradus_load_memory(bytes.data(), bytes.size(), nullptr, &one),
            GRADUS_OK);
  ASSERT_EQ(gradus_load_memory(bytes.data(), bytes.size(), nullptr, &two),
            GRADUS_OK);
  ASSERT_EQ(gradus_step(one, 0, nullptr, nullptr), GRADUS_OK);
  int64_t step = -1;
  ASSERT_EQ(gradus_read_state(two, "step", &step, sizeof(step)), GRADUS_OK);
  EXPECT_EQ(step, 0);
  gradus_free(one);
  gradus_free(two);
}

TEST(CApiLoading, TakesNoSessionForAnAnswer) {
  EXPECT_EQ(gradus_step(nullptr, 0, nullptr, nullptr), GRADUS_INVALID);
  EXPECT_STREQ(gradus_last_error(nullptr), "the session is NULL");
  EXPECT_EQ(gradus_graph_count(nullptr), 0);
  EXPECT_EQ(gradus_find_graph(nullptr, "train"), -1);
  EXPECT_EQ(gradus_save_checkpoint(nullptr, "x"), GRADUS_INVALID);
  gradus_cancel(nullptr);
  gradus_free(nullptr);
  EXPECT_STREQ(gradus_version(), "0.1.0");
}

namespace {

/// Options of a program that was compiled with another version.
struct OtherOptions {
  gradus_options options = gradus_default_options();
  uint64_t later[2] = {};
};

gradus_status loadsWith(const gradus_options &options) {
  auto bytes = TestArtifact().bytes();
  gradus_session *session = nullptr;
  gradus_status status =
      gradus_load_memory(bytes.data(), bytes.size(), &options, &session);
  EXPECT_EQ(session != nullptr, status == GRADUS_OK);
  gradus_free(session);
  return status;
}

} // namespace

TEST(CApiOptions, OfAnOldProgramKeepTheDefaultsOfLaterFields) {
  struct Options {
    size_t size;
    int old, later;
  } given = {offsetof(Options, later), 3, 4}; // 4: behind an older struct
  auto made = complete(&given, Options{sizeof(Options), 1, 2},
                       offsetof(Options, later), "options");
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->old, 3);
  EXPECT_EQ(made->later, 2);
  EXPECT_EQ(made->size, sizeof(Options));
}

TEST(CApiOptions, DefaultsFillWhatAProgramHas) {
  OtherOptions has;
  std::memset(static_cast<void *>(&has), 0x55, sizeof(has));
  constexpr size_t kOld = offsetof(gradus_options, trust);
  gradus_set_default_options(&has.options, kOld);
  EXPECT_EQ(has.options.size, kOld);
  EXPECT_STREQ(has.options.device, "cpu");
  EXPECT_EQ(has.options.log_context, nullptr);
  EXPECT_EQ(has.options.trust, 0x55555555); // behind an older struct
  gradus_set_default_options(&has.options, offsetof(OtherOptions, later[1]));
  EXPECT_EQ(has.options.size, offsetof(OtherOptions, later[1]));
  EXPECT_EQ(has.options.trust, 0);
  EXPECT_EQ(has.later[0], 0u);
  EXPECT_EQ(has.later[1], 0x5555555555555555u);
  gradus_set_default_options(&has.options, sizeof(size_t) - 1);
  EXPECT_EQ(has.options.size, offsetof(OtherOptions, later[1]));
  gradus_set_default_options(nullptr, sizeof(gradus_options));
}

TEST(CApiOptions, OfALaterProgramMayHaveMoreThatSaysNothing) {
  OtherOptions later;
  later.options.size = sizeof(OtherOptions);
  EXPECT_EQ(loadsWith(later.options), GRADUS_OK) << gradus_last_error(nullptr);
  later.later[1] = 1;
  EXPECT_EQ(loadsWith(later.options), GRADUS_INVALID);
  EXPECT_STREQ(
      gradus_last_error(nullptr),
      "gradus_options: it has 72 bytes, of which this version, 0.1.0, knows "
      "56: an option that is set needs a later version");
}

TEST(CApiOptions, MustSayTheirSize) {
  gradus_options forgotten = gradus_default_options();
  for (size_t size : {size_t(0), size_t(4097), ~size_t(0), size_t(7),
                      offsetof(gradus_options, collectives) + 4}) {
    forgotten.size = size;
    EXPECT_EQ(loadsWith(forgotten), GRADUS_INVALID);
  }
  EXPECT_STREQ(gradus_last_error(nullptr),
               "gradus_options: its field `size` is 52, expected 56, as its "
               "default has it");
}
