// The runtime's hand-made artifact, loaded: `train` adds the input `x` (8
// floats) to the state `total`, which starts as 0, 1, ... 7, and gives `sum`.
#pragma once

#include "runtime/session/session.h"
#include "tests/runtime/fake_device.h"
#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace gradus::test {

struct Adding {
  explicit Adding(TestArtifact made = {}, const std::string &device = "cpu") {
    auto artifact = runtime::Artifact::fromBytes(made.bytes(), "adder.gradus");
    EXPECT_TRUE(artifact.ok()) << artifact.status();
    auto created =
        runtime::Session::create(*artifact, deviceOf(device), {.threads = 1});
    EXPECT_TRUE(created.ok()) << created.status();
    session = *std::move(created);
  }

  std::unique_ptr<runtime::Session> session;
};

} // namespace gradus::test
