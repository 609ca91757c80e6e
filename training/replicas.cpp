// Whole states travel, one after the other; hashes are compared.

#include "training/replicas.h"

#include "runtime/artifact_hash.h"
#include "runtime/collectives/agreement.h"
#include "runtime/session/session_facts.h"

using namespace gradus::runtime;

namespace gradus::training {

Status copyFromRankZero(Session &session, CommunicationThread &ranks) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < session.states().size(); ++i) {
    const StateInfo &state = session.states()[i];
    if (!isSaved(state) || state.whole)
      continue;
    bytes.resize(state.bytes);
    if (ranks.rank() == 0) {
      GRADUS_ASSIGN(std::span<const uint8_t> value,
                    session.stateBytes(static_cast<int>(i)));
      bytes.assign(value.begin(), value.end());
    }
    GRADUS_TRY(ranks.finish(ranks.begin({.op = CollectiveOp::broadcast,
                                         .type = DType::u8,
                                         .data = bytes.data(),
                                         .count = bytes.size()})));
    if (ranks.rank() != 0)
      GRADUS_TRY(session.writeState(static_cast<int>(i), bytes));
  }
  return Status();
}

Status compareReplicas(const Session &session, CommunicationThread &ranks,
                       int64_t step, bool haveMet) {
  Facts facts;
  for (size_t i = 0; i < session.states().size(); ++i) {
    const StateInfo &state = session.states()[i];
    if (!isSaved(state) || state.whole || isLasting(state) ||
        (state.isPerRank && !haveMet))
      continue;
    GRADUS_ASSIGN(std::span<const uint8_t> value,
                  session.stateBytes(static_cast<int>(i)));
    facts.emplace_back(
        inWords("after step ", step, " the hash of the state ", state.name),
        std::to_string(artifact::hashBytes(value.data(), value.size())));
  }
  return agree(ranks, facts);
}

Status ReplicaCheck::onPiece(const PieceReport &report) {
  bool isDue = report.step % every_ == 0 || report.step == report.steps;
  return isDue ? compareReplicas(session_, ranks_, report.step, haveMet_)
               : Status();
}

} // namespace gradus::training
