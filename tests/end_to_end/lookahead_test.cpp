// Parameters and their slow copies follow algorithm 1 of the paper
// (arXiv:1907.08610), step by step, with plain descent inside.

#include "compiled.h"
#include "runtime/gradus.h"

using namespace gradus;

namespace {

constexpr const char *kProgram =
    R"(gradus.program @p attributes {recipe = {lookahead = {steps = 3 : i64, rate = 0.25},
      optimizer = {type = "sgd", learning_rate = 0.5}}} {
  gradus.state @w : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0>}
  gradus.graph @train(%g: tensor<2xf32>) {
    gradus.update @w, %g : tensor<2xf32>
    gradus.return
  }
})";

float first(gradus_session *session, const char *name) {
  float values[2] = {};
  EXPECT_EQ(gradus_read_state(session, name, values, sizeof(values)),
            GRADUS_OK);
  return values[0];
}

/// `w` rests in the first three steps, of which the second is a meeting.
constexpr const char *kFrozen =
    R"(gradus.program @p attributes {recipe = {lookahead = {steps = 2 : i64, rate = 0.5},
      gradient_freeze = {until = {w = 3 : i64}}, optimizer = {type = "sgd", learning_rate = 0.5}}} {
  gradus.state @w : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 1.0>}
  gradus.state @b : tensor<2xf32> {role = #gradus.role<parameter>, init = #gradus.init<constant, 2.0>}
  gradus.graph @train(%g: tensor<2xf32>) -> (sum: tensor<2xf32>) {
    %w = gradus.read @w : tensor<2xf32>
    %b = gradus.read @b : tensor<2xf32>
    %sum = arith.addf %w, %b : tensor<2xf32>
    gradus.update @w, %g : tensor<2xf32>
    gradus.update @b, %g : tensor<2xf32>
    gradus.return %sum : tensor<2xf32>
  }
})";

TEST(Lookahead, KeepsWhatIsFrozenAsItIs) {
  Compiled compiled{kFrozen};
  gradus_session *session = nullptr;
  ASSERT_EQ(gradus_load_memory(compiled.bytes().data(), compiled.bytes().size(),
                               nullptr, &session),
            GRADUS_OK);
  const float expected[] = {1, 1, 1, 0.75};
  for (float value : expected) {
    const float gradient[] = {1, 1};
    float sum[2];
    const void *inputs[] = {gradient};
    void *outputs[] = {sum};
    ASSERT_EQ(gradus_step(session, 0, inputs, outputs), GRADUS_OK);
    EXPECT_FLOAT_EQ(first(session, "w"), value);
  }
  EXPECT_FLOAT_EQ(first(session, "lookahead/slow/w"), 0.75);
  gradus_free(session);
}

TEST(Lookahead, FollowsTheAlgorithmOfItsPaper) {
  Compiled compiled{kProgram};
  gradus_session *session = nullptr;
  ASSERT_EQ(gradus_load_memory(compiled.bytes().data(), compiled.bytes().size(),
                               nullptr, &session),
            GRADUS_OK);
  float fast = 1, slow = 1;
  for (int step = 1; step <= 9; ++step) {
    const float gradient[] = {float(step), 1};
    const void *inputs[] = {gradient};
    ASSERT_EQ(gradus_step(session, 0, inputs, nullptr), GRADUS_OK);
    fast -= 0.5f * float(step);
    if (step % 3 == 0)
      fast = slow += 0.25f * (fast - slow);
    EXPECT_FLOAT_EQ(first(session, "w"), fast) << step;
    EXPECT_FLOAT_EQ(first(session, "lookahead/slow/w"), slow) << step;
  }
  gradus_free(session);
}

} // namespace
