// Results of batches that ranks had one after the other, put in order again.

#pragma once

#include "runtime/collectives/agreement.h"

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace gradus::training {

/// The results of all ranks in the order of the batches, on rank 0; nothing on
/// others. Each batch has `each` results, which are plain values. All ranks
/// call it together. Fails on rank 0 where another one had more or fewer
/// batches than it was dealt.
template <typename Result>
runtime::StatusOr<std::vector<Result>>
dealtBack(runtime::CommunicationThread &ranks, const std::vector<Result> &own,
          size_t each = 1) {
  static_assert(std::is_trivially_copyable_v<Result>);
  GRADUS_ASSIGN(std::vector<std::string> texts,
                atRankZero(ranks, {reinterpret_cast<const char *>(own.data()),
                                   own.size() * sizeof(Result)}));
  size_t bytes = each * sizeof(Result), batches = 0, first = 0, last = 0;
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    size_t count = bytes ? texts[rank].size() / bytes : 0;
    if (rank == 0)
      first = last = count;
    if (count > last || count + 1 < first)
      return runtime::failed(
          "rank ", rank, " (", ranks.host(static_cast<int>(rank)),
          ") has results of ", count, " batches, and rank 0 of ", first);
    batches += last = count;
  }
  std::vector<Result> all(batches * each);
  for (size_t batch = 0; batch < batches; ++batch)
    std::memcpy(&all[batch * each],
                texts[batch % texts.size()].data() +
                    batch / texts.size() * bytes,
                bytes);
  return all;
}

} // namespace gradus::training
