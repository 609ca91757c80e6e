// What a run of training has to say about its steps where they did not do what
// one expects: updates that were skipped, batches that made none.

#pragma once

#include "runtime/session.h"

#include <cstdint>
#include <string>

namespace gradus::cli {

/// Counts the steps that a loss scale or `on_nonfinite` skipped.
class SkippedSteps {
public:
  /// The session must outlive this.
  explicit SkippedSteps(const runtime::Session &session);

  /// A sentence where all `steps` since the last call, or since the beginning,
  /// were skipped; else empty.
  std::string allOf(int64_t steps);

private:
  int64_t count() const;

  const runtime::Session &session_;
  int64_t before_;
};

/// A sentence where the last batches of a run, whose gradients are gathered,
/// have made no update yet; else empty.
std::string unappliedBatches(const runtime::Session &session);

} // namespace gradus::cli
