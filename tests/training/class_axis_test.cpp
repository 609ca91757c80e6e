#include "training/class_axis.h"

#include <gtest/gtest.h>

using gradus::training::classAxis;
using nlohmann::json;

TEST(ClassAxis, IsWhatTheRecipeSays) {
  EXPECT_EQ(classAxis({{"class_axis", 1}}, {2, 5, 7}, {2, 7}), 1);
  EXPECT_EQ(classAxis({{"class_axis", -1}}, {2, 5, 7}, {2, 5}), 2);
}

TEST(ClassAxis, IsWhatTheLabelsLackWhereTheRecipeSaysNone) {
  json unsaid = {{"class_axis", nullptr}};
  EXPECT_EQ(classAxis(unsaid, {2, 5}, {2}), 1);
  EXPECT_EQ(classAxis(unsaid, {2, 5, 7}, {2, 7}), 1);
  EXPECT_EQ(classAxis(unsaid, {2, 5, 7}, {2, 5}), 2);
  EXPECT_EQ(classAxis(json::object(), {2, 5, 4, 4}, {2, 4, 4}), 1);
}

TEST(ClassAxis, IsNoneThatTheOutputLacks) {
  EXPECT_FALSE(classAxis({{"class_axis", 3}}, {2, 5, 7}, {2, 7}));
  EXPECT_FALSE(classAxis({{"class_axis", -4}}, {2, 5, 7}, {2, 7}));
  EXPECT_FALSE(classAxis({{"class_axis", "last"}}, {2, 5, 7}, {9}));
}
