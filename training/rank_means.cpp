// Sums travel one state after the other; see rank_means.h.

#include "training/rank_means.h"

#include "runtime/float_conversion.h"
#include "runtime/session/session_facts.h"

using namespace gradus::runtime;

namespace gradus::training {

std::vector<int> ownStates(const Session &session, bool all) {
  std::vector<int> own;
  for (size_t i = 0; i < session.states().size(); ++i)
    if (const StateInfo &state = session.states()[i];
        isSaved(state) && !state.whole &&
        (isLasting(state) || (all && state.isPerRank)))
      own.push_back(static_cast<int>(i));
  return own;
}

/// Makes the mean over ranks of `bytes`, numbers of type `type`, of which there
/// are `count`, in type `Wide`.
template <typename Wide>
static Status toMean(CommunicationThread &ranks, DType wide, DType type,
                     size_t count, std::vector<uint8_t> &bytes) {
  std::vector<Wide> sum(count);
  convertFloats(nameOf(type), nameOf(wide), bytes.data(), sum.data(), count);
  GRADUS_TRY(ranks.finish(
      ranks.begin({.type = wide, .data = sum.data(), .count = count})));
  for (Wide &each : sum)
    each /= static_cast<Wide>(ranks.ranks());
  convertFloats(nameOf(wide), nameOf(type), sum.data(), bytes.data(), count);
  return {};
}

/// Sums of one type are cut in the same places on all ranks, so the bits do not
/// depend on who computes them.
Status RankMeans::take(std::vector<int> states) {
  own_.clear();
  taken_ = std::move(states);
  Status failure;
  auto note = [&](const Status &status, const StateInfo &state) {
    if (!status.ok() && failure.ok())
      failure = at(status, "state ", state.name);
  };
  for (int number : taken_) {
    const StateInfo &state = session_.states()[static_cast<size_t>(number)];
    std::vector<uint8_t> &own = own_.emplace_back(state.bytes);
    auto value = session_.stateBytes(number);
    note(value.status(), state);
    if (value.ok())
      own.assign(value->begin(), value->end());
    DType type = state.type.dtype;
    if (!areFloats(nameOf(type), nameOf(type)))
      continue;
    std::vector<uint8_t> mean = own;
    size_t count = state.bytes / runtime::bytesOf(type);
    GRADUS_TRY(type == DType::f64
                   ? toMean<double>(ranks_, type, type, count, mean)
                   : toMean<float>(ranks_, DType::f32, type, count, mean));
    note(session_.writeState(number, mean), state);
  }
  return failure;
}

Status RankMeans::giveBack() {
  std::vector<std::vector<uint8_t>> own = std::move(own_);
  own_.clear();
  for (size_t i = 0; i < own.size(); ++i)
    GRADUS_TRY(session_.writeState(taken_[i], own[i]));
  return {};
}

Tester testerOfMeans(Tester tester, RankMeans &means, std::vector<int> states) {
  return [tester = std::move(tester), &means, states = std::move(states)](
             bool *unreadable) -> StatusOr<std::vector<Metric>> {
    GRADUS_TRY(means.take(states));
    auto figures = tester(unreadable);
    GRADUS_TRY(means.giveBack());
    return figures;
  };
}

} // namespace gradus::training
