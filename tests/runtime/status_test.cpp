#include "runtime/status.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;

namespace {

Status tried(const Status &status) {
  GRADUS_TRY(status);
  return failed("it went on");
}

Status triedInside(const Status &status) {
  GRADUS_TRY([&]() -> Status {
    GRADUS_TRY(at(status, "inside"));
    return {};
  }());
  return {};
}

} // namespace

/// A caller's variable may have any name, as `status`.
TEST(Status, IsTriedByAnyName) {
  EXPECT_EQ(tried(invalid("no image")).message(), "no image");
  EXPECT_EQ(tried({}).message(), "it went on");
  EXPECT_EQ(triedInside(invalid("no image")).message(), "inside: no image");
  EXPECT_TRUE(triedInside({}).ok());
}

TEST(Status, IsTheSameFailureAsItsCopies) {
  Status status = failed("the disk is full"), copy = status;
  EXPECT_TRUE(copy.isSameFailureAs(status));
  EXPECT_TRUE(tried(status).isSameFailureAs(status));
  EXPECT_FALSE(failed("the disk is full").isSameFailureAs(status));
  EXPECT_FALSE(at(status, "train").isSameFailureAs(status));
  EXPECT_FALSE(Status().isSameFailureAs(Status()));
}
