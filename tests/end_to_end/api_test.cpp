// What a program in C can set between the steps of a compiled graph.

#include "compiled.h"
#include "runtime/gradus.h"
#include "runtime/safetensors.h"

#include <cmath>
#include <filesystem>
#include <unistd.h>

using namespace gradus;

namespace {

/// `@w` moves by plain descent at the rate that the API sets; 1 at first.
constexpr const char *kProgram =
    R"(gradus.program @p attributes {recipe = {metrics = ["learning_rate"], optimizer = {type = "sgd", learning_rate = 1.0}}} {
  gradus.state @w : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: tensor<2xf32>) {
    gradus.update @w, %g : tensor<2xf32>
    gradus.return
  }
})";

struct Api : testing::Test {
  void SetUp() override { session = load(); }
  void TearDown() override { gradus_free(session); }

  gradus_session *load() {
    gradus_session *loaded = nullptr;
    EXPECT_EQ(gradus_load_memory(compiled.bytes().data(),
                                 compiled.bytes().size(), nullptr, &loaded),
              GRADUS_OK)
        << gradus_last_error(nullptr);
    return loaded;
  }
  void setRate(double rate) {
    EXPECT_EQ(gradus_write_state(session, "optimizer.learning_rate", &rate,
                                 sizeof(rate)),
              GRADUS_OK)
        << gradus_last_error(session);
  }
  /// The rate that a step with gradient (1, 1) used.
  float step() {
    const float gradient[] = {1, 1};
    const void *inputs[] = {gradient};
    float rate = 0;
    void *outputs[] = {&rate};
    EXPECT_EQ(gradus_step(session, 0, inputs, outputs), GRADUS_OK)
        << gradus_last_error(session);
    return rate;
  }
  float parameter() {
    float values[2] = {};
    EXPECT_EQ(gradus_read_state(session, "w", values, sizeof(values)),
              GRADUS_OK);
    return values[0];
  }

  Compiled compiled{kProgram};
  gradus_session *session = nullptr;
};

} // namespace

TEST_F(Api, SetsTheLearningRateBetweenSteps) {
  EXPECT_EQ(step(), 1);
  setRate(0.25);
  EXPECT_EQ(step(), 0.25);
  EXPECT_EQ(step(), 0.25) << "until it is set again";
  EXPECT_EQ(parameter(), -1.5);
}

TEST_F(Api, KeepsTheRateThatWasSetInItsCheckpoints) {
  std::string path = testing::TempDir() + "gradus_rate." +
                     std::to_string(getpid()) + ".safetensors";
  setRate(0.125);
  ASSERT_EQ(gradus_save_checkpoint(session, path.c_str()), GRADUS_OK);
  gradus_free(session);
  session = load();
  ASSERT_EQ(gradus_load_checkpoint(session, path.c_str()), GRADUS_OK);
  EXPECT_EQ(step(), 0.125);
  std::filesystem::remove(path);
}

TEST_F(Api, RefusesNumbersOutsideTheRangeOfTheirKey) {
  for (double rate : {-1.0, 1e-50, 1e39, double(NAN), double(INFINITY)}) {
    EXPECT_EQ(gradus_write_state(session, "optimizer.learning_rate", &rate,
                                 sizeof(rate)),
              GRADUS_INVALID)
        << rate;
    EXPECT_NE(std::string(gradus_last_error(session))
                  .find("optimizer.learning_rate: expected a number of f32 "
                        "from 0, got "),
              std::string::npos)
        << gradus_last_error(session);
  }
  EXPECT_EQ(step(), 1);
}

/// A file without a hash, as another tool may write it.
TEST_F(Api, RefusesSuchNumbersInCheckpoints) {
  std::string path = testing::TempDir() + "gradus_rate." +
                     std::to_string(getpid()) + ".safetensors";
  ASSERT_EQ(gradus_save_checkpoint(session, path.c_str()), GRADUS_OK);
  auto saved = runtime::Safetensors::open(path);
  ASSERT_TRUE(saved.ok());
  const double rate = -1;
  std::vector<runtime::NamedTensor> tensors = saved->tensors();
  for (runtime::NamedTensor &tensor : tensors)
    if (tensor.name == "optimizer.learning_rate")
      tensor.data = {reinterpret_cast<const uint8_t *>(&rate), sizeof(rate)};
  std::string forged = path + ".forged";
  ASSERT_TRUE(runtime::writeSafetensors(forged, tensors, {}).ok());
  EXPECT_EQ(gradus_load_checkpoint(session, forged.c_str()), GRADUS_INVALID);
  EXPECT_EQ(step(), 1);
  std::filesystem::remove(path);
  std::filesystem::remove(forged);
}
