// Makes the ranks of a run decide alike: rank 0 decides, and tells the others.
//
// Each decision is one message to and one from rank 0. Clocks, files and
// signals may differ between ranks; what they lead to does not.

#pragma once

#include "runtime/collectives/communication_thread.h"
#include "training/decider.h"

#include <functional>

namespace gradus::training {

class LedDecider : public Decider {
public:
  /// `own` decides on rank 0 and is not asked on others. `wishesEnd` says
  /// whether this rank was asked to break the run off, as by a signal. All must
  /// outlive this. `isWhole` says whether rank 0's states are those of the run:
  /// between the batches of one update each rank has gathered gradients of its
  /// own, so to save and to break off wait for the update.
  LedDecider(runtime::CommunicationThread &ranks, Decider &own,
             std::function<bool()> wishesEnd, std::function<bool()> isWhole)
      : ranks_(ranks), own_(own), wishesEnd_(std::move(wishesEnd)),
        isWhole_(std::move(isWhole)) {}

  /// After a failure of the group the run goes on, into a step that fails with
  /// its words.
  Decision atBorder(const Border &border) override;
  int64_t stepsToRun(int64_t done, int64_t most) override;
  /// All get the failure of the lowest rank that has one.
  runtime::Status settle(runtime::Status &found) override;
  /// Whether a failure is what all ranks have settled on, in settle()'s own
  /// Status: each ends with it by itself, and need not tell it to the others.
  bool hasSettledOn(const runtime::Status &status) const;

  void addTo(TrainingRecord &record) const override { own_.addTo(record); }
  void restore(const TrainingRecord &record) override { own_.restore(record); }

private:
  bool doesOneWishTheEnd();
  Decision decide(const Border &border, bool ends);

  runtime::CommunicationThread &ranks_;
  Decider &own_;
  std::function<bool()> wishesEnd_, isWhole_;
  bool owesEnd_ = false, owesSave_ = false; // on rank 0
  runtime::Status settled_;                 // a failure
};

} // namespace gradus::training
