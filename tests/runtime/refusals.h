// For tests of what the reader refuses: change the test artifact, get the
// words.

#pragma once

#include "runtime/artifact/artifact.h"
#include "test_artifact.h"

#include <string>

namespace gradus::test {

/// What the reader says of an artifact; "ok" where it takes it.
inline std::string wordsFor(const TestArtifact &made) {
  auto artifact = runtime::Artifact::fromBytes(made.bytes(), "adder");
  return artifact.ok() ? "ok" : artifact.status().message();
}

/// What it says after `change` was made.
template <typename Change> std::string wordsAfter(Change change) {
  TestArtifact made;
  change(made);
  return wordsFor(made);
}

} // namespace gradus::test
