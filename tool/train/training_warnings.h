// Warnings about steps that did not do what one expects: skipped updates, and
// batches without an update.

#pragma once

#include "runtime/session/session.h"
#include "training/observer.h"

#include <cstdint>
#include <string>

namespace gradus::cli {

/// Counts the steps that a loss scale or `on_nonfinite` skipped.
class SkippedSteps {
public:
  /// The session must outlive this.
  explicit SkippedSteps(const runtime::Session &session);

  /// A sentence if all `steps` since the last call, or since the beginning,
  /// were skipped; else empty.
  std::string allOf(int64_t steps);

private:
  int64_t count() const;

  const runtime::Session &session_;
  int64_t before_;
};

/// A sentence if the last batches of a run, whose gradients are accumulated,
/// have made no update yet; else empty.
std::string unappliedBatches(const runtime::Session &session, int ranks = 1);

/// Warns of steps that did not do what one expects.
class StepWarnings : public training::Observer {
public:
  /// The session must outlive this.
  StepWarnings(const runtime::Session &session, int ranks)
      : session_(session), ranks_(ranks), skipped_(session) {}

  runtime::Status onEpoch(const training::EpochReport &report) override;
  runtime::Status onSave(const training::SaveReport &report) override;

private:
  const runtime::Session &session_;
  int ranks_;
  SkippedSteps skipped_;
};

} // namespace gradus::cli
