#include "messages/error_kind.h"

#include <gtest/gtest.h>

using namespace gradus;

TEST(ErrorKind, IsNoneOfAnErrorThatDoesNotSayIt) {
  absl::Status status = invalid("x is not supported");
  EXPECT_FALSE(isOfKind(status, ErrorKind::unsupported));
  EXPECT_FALSE(isOfKind(absl::OkStatus(), ErrorKind::unsupported));
}

TEST(ErrorKind, StaysWithAnErrorWhereverItHappened) {
  absl::Status status =
      at(withKind(invalid("needs a"), ErrorKind::unknownSizes), "m.onnx");
  EXPECT_EQ(status.message(), "m.onnx: needs a");
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_TRUE(isOfKind(status, ErrorKind::unknownSizes));
  EXPECT_FALSE(isOfKind(status, ErrorKind::unsupported));
  EXPECT_TRUE(at(absl::OkStatus(), "m.onnx").ok());
  EXPECT_TRUE(withKind(absl::OkStatus(), ErrorKind::weights).ok());
}

TEST(ErrorKind, TellsWordsFromTheirPlace) {
  absl::Status status = errorAt("node \"a\" (If): ", "has no branch");
  EXPECT_EQ(status.message(), "node \"a\" (If): has no branch");
  EXPECT_EQ(wordsBehind(status, "node \"a\" (If): "), "has no branch");
  EXPECT_EQ(wordsBehind(status, "node \"b\" (If): "), status.message());
  // The place of a further one is part of the words.
  EXPECT_EQ(wordsBehind(at(status, "m.onnx"), "node \"a\" (If): "),
            "m.onnx: node \"a\" (If): has no branch");
}
