// What rank 0 decides travels as the bytes of plain structs: all ranks run the
// same program.

#include "training/led_decider.h"

#include "runtime/collectives/agreement.h"

#include <algorithm>
#include <cstring>

using namespace gradus::runtime;

namespace gradus::training {

/// Returns rank 0's value on all ranks, or `otherwise` after a failure.
template <typename Value>
static Value fromFirst(CommunicationThread &ranks, const Value &own,
                       const Value &otherwise) {
  std::string bytes(sizeof(Value), 0);
  std::memcpy(bytes.data(), &own, sizeof(Value));
  auto told = fromRankZero(ranks, std::move(bytes));
  if (!told.ok() || told->size() != sizeof(Value))
    return otherwise;
  Value value;
  std::memcpy(&value, told->data(), sizeof(Value));
  return value;
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
  Decision own;
  if (ends)
    own.then = Decision::Then::breakOff;
  else if (ranks_.rank() == 0)
    own = own_.atBorder(border);
  return fromFirst(ranks_, own, Decision{});
}

int64_t LedDecider::stepsToRun(int64_t done, int64_t most) {
  int64_t own = ranks_.rank() == 0 ? own_.stepsToRun(done, most) : 1;
  return fromFirst(ranks_, own, int64_t(1));
}

} // namespace gradus::training
