// Compiled steps change rank and turn themselves; here is where they begin.

#include "runtime/session/place.h"

#include "runtime/artifact/joined_sums.h"
#include "runtime/collectives/collectives.h"
#include "runtime/flat.h"
#include "runtime/session/session_facts.h"
#include "runtime/well_known.h"

namespace gradus::runtime {

/// "1, 2, 4 or 8": the powers of two up to one of them.
static std::string powersUpTo(int64_t last) {
  std::string words;
  for (int64_t power = 1; power <= last; power *= 2)
    append(words, power == 1 ? "" : power == last ? " or " : ", ", power);
  return words;
}

int64_t Place::valueOf(const StateInfo &state) const {
  if (state.name == well_known::kRank)
    return rank * turns();
  return state.name == well_known::kTurn ? turns() - 1 : ranks;
}

Status verifyTrainsOn(const artifact::Header &header,
                      const artifact::Plan &plan, int64_t ranks) {
  if (header.ranks() && header.ranks() != ranks)
    return invalid(
        "is for ", header.ranks(), " ranks (distribution.ranks), and runs on ",
        ranks, "; run it on ", header.ranks(),
        ", or compile another with --set distribution.ranks=", ranks);
  for (const artifact::RankGroups *groups : groupsOf(plan))
    GRADUS_TRY(checkWithin(static_cast<int>(groups->within()),
                           static_cast<int>(ranks)));
  return checkGathered(plan, ranks);
}

StatusOr<Place> placeOf(const artifact::Header &header, int64_t rank,
                        int64_t ranks) {
  Place place;
  place.rank = rank;
  place.ranks = ranks;
  place.logicalRanks = header.logical_ranks();
  place.turn = findName(stateInfosOf(header), well_known::kTurn);
  if (place.logicalRanks && place.logicalRanks % place.ranks)
    return invalid("has ", place.logicalRanks,
                   " logical ranks "
                   "(distribution.logical_ranks), which ",
                   place.ranks, " processes cannot divide; run it on ",
                   powersUpTo(place.logicalRanks));
  return place;
}

StatusOr<Place> placeOf(const artifact::Header &header,
                        const Collectives *collectives) {
  return collectives
             ? placeOf(header, collectives->rank(), collectives->ranks())
             : placeOf(header, 0, 1);
}

} // namespace gradus::runtime
