// Metrics as text.

#include "tool/evaluate/metrics_text.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

TEST(MetricsText, NamesItsFigures) {
  EXPECT_EQ(metricsText({{"loss", 0.12345}, {"accuracy", 1}}, "test "),
            "test loss 0.1235  test accuracy 1.0000");
  EXPECT_EQ(metricsText({{"loss_scale/0", 65536}, {"loss_scale/1", 0.25}}),
            "loss_scale/0 65536  loss_scale/1 0.25");
  EXPECT_EQ(metricsText({{"learning_rate", 3e-5}, {"loss_scale", 65536}}),
            "learning_rate 3e-05  loss_scale 65536");
  EXPECT_EQ(metricsText({}), "");
}
