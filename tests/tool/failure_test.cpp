// Which exit code stands for which error.

#include "tool/failure.h"

#include "absl/status/statusor.h"

#include <gtest/gtest.h>

using namespace gradus::cli;
using gradus::runtime::Status;
using gradus::runtime::StatusCode;

template <typename Status> static int codeOf(const Status &status) {
  try {
    check(status);
  } catch (const Failure &failure) {
    EXPECT_STREQ(failure.what(), "why");
    return failure.code;
  }
  return kDone;
}

TEST(Failure, OfSuccessIsNone) {
  EXPECT_EQ(codeOf(absl::OkStatus()), 0);
  EXPECT_EQ(codeOf(Status()), 0);
}

TEST(Failure, OfInputIsTwo) {
  EXPECT_EQ(codeOf(absl::InvalidArgumentError("why")), 2);
  EXPECT_EQ(codeOf(absl::NotFoundError("why")), 2);
  EXPECT_EQ(codeOf(Status(StatusCode::invalid, "why")), 2);
}

TEST(Failure, OfTheMachineIsOne) {
  EXPECT_EQ(codeOf(absl::InternalError("why")), 1);
  EXPECT_EQ(codeOf(Status(StatusCode::failed, "why")), 1);
}

TEST(Failure, OfASignalIs130) {
  EXPECT_EQ(codeOf(absl::CancelledError("why")), 130);
  EXPECT_EQ(codeOf(Status(StatusCode::cancelled, "why")), 130);
}

TEST(Failure, TakesValuesOrThrows) {
  EXPECT_EQ(take(absl::StatusOr<int>(3)), 3);
  EXPECT_THROW(take(absl::StatusOr<int>(absl::InternalError("why"))), Failure);
}

TEST(Failure, NamesTheOptionThatItIsAbout) {
  checkOf("--best", Status());
  try {
    checkOf("--best", Status(StatusCode::failed, "why"));
    FAIL();
  } catch (const Failure &failure) {
    EXPECT_STREQ(failure.what(), "--best why");
    EXPECT_EQ(failure.code, kFailedWhileRunning);
  }
}
