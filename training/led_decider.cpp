// Rank 0's decisions travel as plain structs: all ranks run the same program.

#include "training/led_decider.h"

#include "training/dealt.h"

#include <algorithm>

using namespace gradus::runtime;

namespace gradus::training {

/// Returns rank 0's value on all ranks, or `otherwise` after a failure.
template <typename Value>
static Value fromFirst(CommunicationThread &ranks, const Value &own,
                       const Value &otherwise) {
  std::vector<Value> values = {own};
  return takeFromFirst(ranks, values).ok() ? values.front() : otherwise;
}

/// On rank 0, whether a rank was asked to break the run off.
bool LedDecider::doesOneWishTheEnd() {
  auto wishes = atRankZero(ranks_, wishesEnd_() ? "1" : "0");
  return wishes.ok() && std::ranges::count(*wishes, "1") > 0;
}

Decision LedDecider::atBorder(const Border &border) {
  // A test that was made counts: it is another border that breaks off.
  bool mayEnd = !border.isStart && !border.tested;
  bool ends = mayEnd && doesOneWishTheEnd();
  owesEnd_ |= ends;
  Decision own =
      ranks_.rank() == 0 ? decide(border, mayEnd && owesEnd_) : Decision{};
  return fromFirst(ranks_, own, Decision{});
}

/// Decides on rank 0. To end or to save waits until its states are whole.
Decision LedDecider::decide(const Border &border, bool ends) {
  bool isWhole = isWhole_();
  if (ends && isWhole)
    return {.then = Decision::Then::breakOff};
  Decision decision = own_.atBorder(border);
  owesSave_ |= decision.save;
  decision.save = owesSave_ && isWhole;
  owesSave_ &= !isWhole;
  return decision;
}

int64_t LedDecider::stepsToRun(int64_t done, int64_t most) {
  int64_t own = 1; // where something waits for the update
  if (ranks_.rank() == 0 && !owesEnd_ && !owesSave_)
    own = own_.stepsToRun(done, most);
  return fromFirst(ranks_, own, int64_t(1));
}

Status LedDecider::settle(Status &found) {
  GRADUS_TRY(runtime::settle(ranks_, found));
  if (!found.ok())
    settled_ = found;
  return {};
}

bool LedDecider::hasSettledOn(const Status &status) const {
  return status.isSameFailureAs(settled_);
}

} // namespace gradus::training
