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
