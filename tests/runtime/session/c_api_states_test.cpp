// States, the recipe and checkpoints through the C API, on the processor and on
// a device whose memory the host cannot reach.

#include "runtime/session/c_api.h"

#include "tests/runtime/fake_device.h"
#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

using namespace gradus::runtime;
using namespace gradus::test;

namespace {

constexpr const char *kRate = "optimizer.learning_rate";

/// The adder with a number of the recipe.
TestArtifact madeWithRate() {
  TestArtifact made;
  made.addNumber(kRate, 0.5);
  made.header.recipe = R"({"optimizer": {"type": "sgd", "learning_rate": 0.5},)"
                       R"( "inputs": {"normalize": {"x": {"mean": [0.5]}}}})";
  return made;
}

gradus_session *sessionOf(const TestArtifact &made, const std::string &device) {
  return handleOf(
      *Session::create(*Artifact::fromBytes(made.bytes(), "artifact in memory"),
                       deviceOf(device)));
}

struct CApiStates : testing::TestWithParam<const char *> {
  void SetUp() override {
    session = sessionOf(madeWithRate(), GetParam());
    total = gradus_find_state(session, "total");
    step = gradus_find_graph(session, "train");
  }
  void TearDown() override { gradus_free(session); }

  std::string error() const { return gradus_last_error(session); }
  float *data() {
    void *found = nullptr;
    EXPECT_EQ(gradus_state_data(session, total, &found), GRADUS_OK) << error();
    return static_cast<float *>(found);
  }
  void run() {
    float x[kSize] = {1, 1, 1, 1, 1, 1, 1, 1};
    const void *inputs[] = {x};
    ASSERT_EQ(gradus_step(session, step, inputs, nullptr), GRADUS_OK);
  }
  float read(int i) {
    float values[kSize] = {};
    EXPECT_EQ(gradus_read_state(session, "total", values, sizeof(values)),
              GRADUS_OK);
    return values[i];
  }

  gradus_session *session = nullptr;
  int total = -1, step = -1;
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Each, CApiStates, testing::Values("cpu", "fake"),
                         [](const auto &info) { return info.param; });

TEST_P(CApiStates, HaveRoles) {
  EXPECT_EQ(gradus_state_role(session, total), GRADUS_PARAMETER);
  EXPECT_EQ(gradus_state_role(session, gradus_find_state(session, "step")),
            GRADUS_COUNTER);
  EXPECT_EQ(gradus_state_role(session, gradus_find_state(session, kRate)),
            GRADUS_NUMBER);
  EXPECT_EQ(gradus_state_role(session, -1), -1);
  EXPECT_EQ(gradus_state_role(session, 4), -1);
  EXPECT_EQ(gradus_state_role(nullptr, 0), -1);
}

TEST_P(CApiStates, AreReadWhereTheyLie) {
  EXPECT_EQ(data()[5], 5);
  run();
  EXPECT_EQ(data()[5], 6);
  ASSERT_EQ(gradus_reset(session), GRADUS_OK);
  EXPECT_EQ(data()[5], 5);
}

TEST_P(CApiStates, StayAtOneAddress) {
  float *first = data();
  run();
  EXPECT_EQ(data(), first);
  EXPECT_EQ(read(0), 1);
  EXPECT_EQ(data(), first);
}

TEST_P(CApiStates, CountAsTheyWereWritten) {
  std::fill_n(data(), kSize, 100.f);
  ASSERT_EQ(gradus_state_changed(session, total), GRADUS_OK) << error();
  EXPECT_EQ(read(5), 100);
  run();
  EXPECT_EQ(read(5), 101);
  EXPECT_EQ(data()[7], 101);
}

TEST(CApiState, ThatWasNotLentCannotHaveChanged) {
  gradus_session *session = sessionOf(madeWithRate(), "fake");
  EXPECT_EQ(gradus_state_changed(session, 0), GRADUS_INVALID);
  EXPECT_STREQ(gradus_last_error(session),
               "artifact in memory: state total: its data were not asked for, "
               "so nothing can have been written there");
  gradus_free(session);
}

TEST_P(CApiStates, AreNotLentWhereTheirValuesAreChecked) {
  void *found = this;
  int rate = gradus_find_state(session, kRate);
  EXPECT_EQ(gradus_state_data(session, rate, &found), GRADUS_INVALID);
  EXPECT_EQ(found, nullptr);
  EXPECT_EQ(error(), "artifact in memory: state optimizer.learning_rate is a "
                     "number of the recipe, which is set by its path");
  EXPECT_EQ(gradus_state_changed(session, rate), GRADUS_INVALID);
}

TEST(CApiState, ThatIsFixedIsNotLent) {
  TestArtifact made;
  made.addFixed(2);
  gradus_session *session = sessionOf(made, "cpu");
  void *found = nullptr;
  EXPECT_EQ(
      gradus_state_data(session, gradus_find_state(session, "rows"), &found),
      GRADUS_INVALID);
  EXPECT_STREQ(gradus_last_error(session),
               "artifact in memory: state rows is fixed in the artifact, and "
               "cannot be written");
  gradus_free(session);
}

TEST_P(CApiStates, AreRefusedWhereThereAreNone) {
  void *found = nullptr;
  EXPECT_EQ(gradus_state_data(session, 9, &found), GRADUS_INVALID);
  EXPECT_EQ(error(), "artifact in memory: state 9 does not exist; there are 4");
  EXPECT_EQ(gradus_state_data(session, -1, &found), GRADUS_INVALID);
  EXPECT_EQ(gradus_state_data(session, 0, nullptr), GRADUS_INVALID);
  EXPECT_EQ(error(), "the place for the pointer is NULL");
  EXPECT_EQ(gradus_state_changed(session, 9), GRADUS_INVALID);
  EXPECT_EQ(gradus_state_data(nullptr, 0, &found), GRADUS_INVALID);
  EXPECT_EQ(gradus_state_changed(nullptr, 0), GRADUS_INVALID);
}

TEST_P(CApiStates, NumbersAreReadAndSet) {
  double number = 0;
  ASSERT_EQ(gradus_number(session, kRate, &number), GRADUS_OK) << error();
  EXPECT_EQ(number, 0.5);
  ASSERT_EQ(gradus_set_number(session, kRate, 0.05), GRADUS_OK) << error();
  ASSERT_EQ(gradus_number(session, kRate, &number), GRADUS_OK);
  EXPECT_EQ(number, 0.05);
}

TEST_P(CApiStates, NumbersOutsideTheirRangeChangeNothing) {
  for (double wrong : {-1., 10., std::nan(""),
                       std::numeric_limits<double>::infinity(), 1e300}) {
    EXPECT_EQ(gradus_set_number(session, kRate, wrong), GRADUS_INVALID);
    EXPECT_NE(error().find("expected a number of f32 from 0 to below 10, got "),
              std::string::npos)
        << error();
  }
  double number = 0;
  ASSERT_EQ(gradus_number(session, kRate, &number), GRADUS_OK);
  EXPECT_EQ(number, 0.5);
}

TEST_P(CApiStates, NumbersThatAreNotThereAreNamed) {
  double number = 0;
  EXPECT_EQ(gradus_number(session, "optimizer.lr", &number), GRADUS_INVALID);
  EXPECT_EQ(error(), "artifact in memory: has no number optimizer.lr; it has "
                     "optimizer.learning_rate");
  EXPECT_EQ(gradus_set_number(session, "total", 1), GRADUS_INVALID);
  EXPECT_EQ(gradus_number(session, kRate, nullptr), GRADUS_INVALID);
  EXPECT_EQ(gradus_number(session, nullptr, &number), GRADUS_INVALID);
  EXPECT_EQ(gradus_set_number(session, nullptr, 1), GRADUS_INVALID);
  EXPECT_EQ(gradus_number(nullptr, kRate, &number), GRADUS_INVALID);
  EXPECT_EQ(gradus_set_number(nullptr, kRate, 1), GRADUS_INVALID);
}

TEST_P(CApiStates, GoThroughMemoryAsThroughAFile) {
  run();
  std::string path = temporaryPath("c_api_states.safetensors");
  ASSERT_EQ(gradus_save_checkpoint(session, path.c_str()), GRADUS_OK);
  void *bytes = nullptr;
  size_t size = 0;
  ASSERT_EQ(gradus_save_checkpoint_memory(session, &bytes, &size), GRADUS_OK)
      << error();
  std::ifstream file(path, std::ios::binary);
  std::string written(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(written, std::string(static_cast<char *>(bytes), size));

  run();
  ASSERT_EQ(gradus_load_checkpoint_memory(session, bytes, size), GRADUS_OK)
      << error();
  EXPECT_EQ(read(5), 6);
  int64_t steps = 0;
  ASSERT_EQ(gradus_read_state(session, "step", &steps, sizeof(steps)),
            GRADUS_OK);
  EXPECT_EQ(steps, 1);

  run();
  ASSERT_EQ(gradus_load_weights_memory(session, bytes, size), GRADUS_OK);
  EXPECT_EQ(read(5), 6);
  ASSERT_EQ(gradus_read_state(session, "step", &steps, sizeof(steps)),
            GRADUS_OK);
  EXPECT_EQ(steps, 2); // A counter is no weight.
  gradus_free_bytes(bytes);
}

TEST_P(CApiStates, StayAsTheyAreWhereBytesAreNoCheckpoint) {
  void *bytes = nullptr;
  size_t size = 0;
  ASSERT_EQ(gradus_save_checkpoint_memory(session, &bytes, &size), GRADUS_OK);
  run();
  for (size_t cut : {size_t(0), size_t(7), size / 2, size - 1})
    EXPECT_EQ(gradus_load_checkpoint_memory(session, bytes, cut),
              GRADUS_INVALID);
  EXPECT_EQ(error().find("checkpoint in memory: is cut short"), 0u) << error();
  static_cast<char *>(bytes)[size - 1] ^= 1;
  EXPECT_EQ(gradus_load_checkpoint_memory(session, bytes, size),
            GRADUS_INVALID);
  EXPECT_EQ(error().find("checkpoint in memory: is damaged"), 0u) << error();
  EXPECT_EQ(gradus_load_weights_memory(session, bytes, size), GRADUS_INVALID);
  EXPECT_EQ(error().find("weights in memory: is damaged"), 0u) << error();
  EXPECT_EQ(gradus_load_checkpoint_memory(session, nullptr, 8), GRADUS_INVALID);
  EXPECT_EQ(error(), "the bytes are NULL");
  EXPECT_EQ(gradus_load_weights_memory(nullptr, bytes, size), GRADUS_INVALID);
  EXPECT_EQ(read(5), 6);
  gradus_free_bytes(bytes);
  gradus_free_bytes(nullptr);
}

TEST_P(CApiStates, AreSavedToMemoryThatThereIs) {
  void *bytes = this;
  size_t size = 1;
  EXPECT_EQ(gradus_save_checkpoint_memory(session, nullptr, &size),
            GRADUS_INVALID);
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(gradus_save_checkpoint_memory(session, &bytes, nullptr),
            GRADUS_INVALID);
  EXPECT_EQ(bytes, nullptr);
  EXPECT_EQ(gradus_save_checkpoint_memory(nullptr, &bytes, &size),
            GRADUS_INVALID);
}

TEST_P(CApiStates, ComeWithTheRecipe) {
  EXPECT_STREQ(gradus_recipe(session),
               R"({"optimizer":{"type":"sgd","learning_rate":0.5},)"
               R"("inputs":{"normalize":{"x":{"mean":[0.5]}}}})");
  const char *type = gradus_metadata(session, "optimizer.type");
  EXPECT_STREQ(type, "\"sgd\"");
  EXPECT_STREQ(gradus_metadata(session, "inputs.normalize"),
               R"({"x":{"mean":[0.5]}})");
  EXPECT_EQ(type, gradus_metadata(session, "optimizer.type"));
  EXPECT_EQ(gradus_metadata(session, "optimizer.lr"), nullptr);
  EXPECT_EQ(gradus_metadata(session, nullptr), nullptr);
  EXPECT_EQ(gradus_metadata(nullptr, "metrics"), nullptr);
  EXPECT_EQ(gradus_recipe(nullptr), nullptr);
}

TEST(CApiStatesFork, LeaveAChildWhatItsParentWasTold) {
  gradus_session *session = sessionOf(madeWithRate(), "cpu");
  pid_t child = fork();
  if (child == 0) {
    void *found = nullptr;
    size_t size = 0;
    double number = 0;
    bool isRight =
        gradus_state_data(session, 0, &found) == GRADUS_INVALID &&
        gradus_state_changed(session, 0) == GRADUS_INVALID &&
        gradus_number(session, kRate, &number) == GRADUS_INVALID &&
        gradus_set_number(session, kRate, 1) == GRADUS_INVALID &&
        gradus_save_checkpoint_memory(session, &found, &size) ==
            GRADUS_INVALID &&
        std::string(gradus_last_error(session))
                .find("before fork; load the artifact in this one") !=
            std::string::npos &&
        gradus_state_role(session, 0) == GRADUS_PARAMETER &&
        std::string(gradus_metadata(session, "optimizer.type")) == "\"sgd\"";
    gradus_free(session);
    _exit(isRight ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  gradus_free(session);
}
