// Values travel as texts, one state after the other.

#include "training/rank_states.h"

#include "runtime/collectives/agreement.h"
#include "runtime/safetensors.h"
#include "runtime/session/checkpoint.h"
#include "runtime/session/session_facts.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

using namespace gradus::runtime;

namespace gradus::training {

/// The numbers of the states of which each rank has a part.
static std::vector<int> dealtStates(const Session &session) {
  std::vector<int> dealt;
  for (size_t i = 0; i < session.states().size(); ++i)
    if (isSaved(session.states()[i]) && session.states()[i].whole)
      dealt.push_back(static_cast<int>(i));
  return dealt;
}

//===-- saving ------------------------------------------------------------===//

Status RankStates::onSave(const SaveReport &) {
  values_.clear();
  return means_ ? means_->giveBack() : Status();
}

/// A rank that cannot read a state sends nothing, and goes on with the others:
/// all of them go through the same messages, and settle on its failure then.
StatusOr<std::vector<std::string>> RankStates::gather(int number, Status &own) {
  auto value = session_.stateBytes(number);
  if (!value.ok() && own.ok())
    own = at(value.status(), "state ",
             session_.states()[static_cast<size_t>(number)].name);
  std::string_view bytes;
  if (value.ok())
    bytes = {reinterpret_cast<const char *>(value->data()), value->size()};
  return atRankZero(ranks_, bytes);
}

/// The parts of all ranks, one after the other, are the whole, and may go on
/// behind its end.
Status RankStates::gatherDealt(Status &own, std::vector<NamedTensor> &others) {
  for (int number : dealtStates(session_)) {
    const StateInfo &state = session_.states()[static_cast<size_t>(number)];
    GRADUS_ASSIGN(std::vector<std::string> parts, gather(number, own));
    if (parts.empty())
      continue;
    std::string whole;
    for (const std::string &part : parts)
      whole += part;
    whole.resize(*bytesOf(*state.whole));
    values_.push_back(std::move(whole));
    others.push_back({state.name, *state.whole, {}});
  }
  return {};
}

Status RankStates::gatherOwn(bool all, Status &own,
                             std::vector<NamedTensor> &others) {
  for (int number : ownStates(session_, all)) {
    const StateInfo &state = session_.states()[static_cast<size_t>(number)];
    GRADUS_ASSIGN(std::vector<std::string> texts, gather(number, own));
    for (size_t rank = means_ ? 0 : 1; rank < texts.size(); ++rank) {
      values_.push_back(std::move(texts[rank]));
      others.push_back(
          {nameOnRank(static_cast<int>(rank), state.name), state.type, {}});
    }
  }
  return {};
}

Status RankStates::beforeSave(SaveReport &report) {
  values_.clear();
  std::string wanted;
  if (ranks_.rank() == 0 && writes_)
    wanted = means_ || isInside_() ? "all" : "lasting";
  GRADUS_ASSIGN(wanted, fromRankZero(ranks_, wanted));
  report.others.clear();
  if (wanted.empty())
    return {};
  Status own;
  std::vector<NamedTensor> others;
  GRADUS_TRY(gatherDealt(own, others));
  GRADUS_TRY(gatherOwn(wanted == "all", own, others));
  for (size_t i = 0; i < others.size(); ++i)
    others[i].data = {reinterpret_cast<const uint8_t *>(values_[i].data()),
                      values_[i].size()};
  report.others = std::move(others);
  if (means_)
    if (Status taken = means_->take(); own.ok())
      own = taken;
  return own;
}

//===-- going on ----------------------------------------------------------===//

namespace {

/// The values that ranks have of their own in a checkpoint.
struct OnRanks {
  Safetensors file;
  int ranks = 1;      // with the first
  bool lasts = false; // The file has a state of the session's that lasts.
  /// Whether the states themselves are means, and those of the first rank stand
  /// beside those of the others.
  bool areMeans = false;

  /// Null if there is none, or of another type.
  const NamedTensor *find(const Session &session, int rank, int state) const {
    const StateInfo &info = session.states()[static_cast<size_t>(state)];
    const NamedTensor *found = file.find(nameOnRank(rank, info.name));
    return found && found->type == info.type ? found : nullptr;
  }
};

/// Finds out how many ranks have values in a file. Each of them has one of each
/// state that lasts, and of each other of which one has one.
StatusOr<OnRanks> openOnRanks(const Session &session,
                              const std::string &checkpoint) {
  GRADUS_ASSIGN(Safetensors file, Safetensors::open(checkpoint));
  OnRanks found{std::move(file)};
  std::vector<int> own = ownStates(session);
  auto isThere = [&](int rank) {
    return std::ranges::any_of(own, [&](int state) {
      return found.find(session, rank, state) != nullptr;
    });
  };
  while (isThere(found.ranks))
    ++found.ranks;
  found.areMeans = isThere(0);
  for (int state : own) {
    const StateInfo &info = session.states()[static_cast<size_t>(state)];
    found.lasts |= isLasting(info) && found.file.find(info.name);
    int having = 1;
    for (int rank = 1; rank < found.ranks; ++rank)
      having += found.find(session, rank, state) != nullptr;
    if (having == 1 && !isLasting(info))
      continue;
    having -= found.areMeans && !found.find(session, 0, state);
    for (int rank = found.areMeans ? 0 : 1; having < found.ranks; ++rank)
      if (!found.find(session, rank, state))
        return invalid(checkpoint, ": lacks ", nameOnRank(rank, info.name));
  }
  return found;
}

/// A checkpoint says this of the ranks that have saved it.
struct Former {
  int ranks = 0; // that have own values; 0 where none count on others
  bool areMeans = false;

  /// Whether each of so many ranks goes on from its own states.
  bool areSame(int now) const { return ranks > 1 && ranks == now; }
};

Former formerOf(const OnRanks &found) {
  return {found.ranks == 1 && !found.lasts ? 0 : found.ranks, found.areMeans};
}

/// Empty where there are as many ranks as before. What lasts of ranks that are
/// no more would be lost in silence, and that of one would be that of all.
StatusOr<std::string> remarkOn(const Session &session,
                               const std::string &checkpoint, Former former,
                               int now) {
  int before = former.ranks;
  if (before == 0 || before == now)
    return std::string();
  if (former.areMeans)
    return absl::StrCat(checkpoint, ": was saved on ", before,
                        " ranks with parameters of their own, and there ",
                        now == 1 ? "is " : "are ", now,
                        " now: what each had is lost, and all go on from their "
                        "mean");
  if (std::vector<int> lasting = ownStates(session, /*all=*/false);
      !lasting.empty())
    return invalid(checkpoint, ": was saved on ", before,
                   before == 1 ? " rank, which has states of its own, such as "
                               : " ranks, each of which has states of its own, "
                                 "such as ",
                   session.states()[static_cast<size_t>(lasting.front())].name,
                   ", and there ", now == 1 ? "is " : "are ", now,
                   " now: go on with ", before,
                   ", or begin with its weights, without them (--init)");
  return absl::StrCat(checkpoint, ": was saved on ", before,
                      " ranks before they had shared what each had of its own, "
                      "and there ",
                      now == 1 ? "is " : "are ", now,
                      " now: what the first had goes on, and that of others is "
                      "lost");
}

/// Tells one rank its values; all call it together. A state of which ranks have
/// none is told as nothing.
Status give(Session &session, CommunicationThread &ranks, const OnRanks *from,
            int rank) {
  for (int state : ownStates(session)) {
    std::string value;
    if (const NamedTensor *found =
            from ? from->find(session, rank, state) : nullptr)
      value.assign(found->data.begin(), found->data.end());
    GRADUS_ASSIGN(value, fromRankZero(ranks, std::move(value)));
    if (ranks.rank() == rank && !value.empty())
      GRADUS_TRY(session.writeState(
          state,
          {reinterpret_cast<const uint8_t *>(value.data()), value.size()}));
  }
  return {};
}

/// Tells all ranks the wholes of states, of which each takes its part; all call
/// it together. `file` is there on rank 0.
Status deal(Session &session, CommunicationThread &ranks,
            const Safetensors *file) {
  for (int number : dealtStates(session)) {
    const StateInfo &state = session.states()[static_cast<size_t>(number)];
    std::string whole;
    if (file) {
      // The session has checked that the file has it.
      const NamedTensor *found = file->find(state.name);
      if (found)
        whole.assign(found->data.begin(), found->data.end());
    }
    GRADUS_ASSIGN(whole, fromRankZero(ranks, std::move(whole)));
    whole.resize(state.bytes * static_cast<size_t>(ranks.ranks()));
    GRADUS_TRY(session.writeState(
        number, {reinterpret_cast<const uint8_t *>(whole.data()) +
                     state.bytes * static_cast<size_t>(ranks.rank()),
                 state.bytes}));
  }
  return {};
}

} // namespace

StatusOr<std::string> restoreRankStates(Session &session,
                                        CommunicationThread &ranks,
                                        const std::string &checkpoint) {
  std::optional<OnRanks> found;
  std::string told = "0", means;
  if (ranks.rank() == 0 && !checkpoint.empty()) {
    GRADUS_ASSIGN(found, openOnRanks(session, checkpoint));
    Former former = formerOf(*found);
    told = std::to_string(former.ranks);
    means = former.areMeans ? "means" : "";
  }
  std::string isGiven = found ? "1" : "";
  GRADUS_ASSIGN(isGiven, fromRankZero(ranks, isGiven));
  if (!isGiven.empty())
    GRADUS_TRY(deal(session, ranks, found ? &found->file : nullptr));
  GRADUS_ASSIGN(told, fromRankZero(ranks, told));
  GRADUS_ASSIGN(means, fromRankZero(ranks, means));
  Former former{.areMeans = !means.empty()};
  if (!absl::SimpleAtoi(told, &former.ranks))
    return failed("rank 0 (", ranks.host(0), ") tells no number of ranks");
  GRADUS_ASSIGN(std::string remark,
                remarkOn(session, ranks.rank() ? "the checkpoint" : checkpoint,
                         former, ranks.ranks()));
  if (former.areSame(ranks.ranks()))
    for (int rank = former.areMeans ? 0 : 1; rank < former.ranks; ++rank)
      GRADUS_TRY(give(session, ranks, found ? &*found : nullptr, rank));
  return remark;
}

StatusOr<std::string> remarkAlone(const Session &session,
                                  const std::string &checkpoint) {
  if (checkpoint.empty())
    return std::string();
  GRADUS_ASSIGN(OnRanks found, openOnRanks(session, checkpoint));
  return remarkOn(session, checkpoint, formerOf(found), 1);
}

} // namespace gradus::training
