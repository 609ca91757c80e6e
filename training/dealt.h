// Plain values that ranks tell each other: those of batches that they had one
// after the other, put in order again, and those of rank 0.

#pragma once

#include "runtime/collectives/agreement.h"

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace gradus::training {

/// The bytes of plain values, as a text to send.
template <typename Value>
std::string_view bytesOf(const std::vector<Value> &values) {
  static_assert(std::is_trivially_copyable_v<Value>);
  return {reinterpret_cast<const char *>(values.data()),
          values.size() * sizeof(Value)};
}

/// Gives all ranks rank 0's values, in the place of their own, of which each
/// has as many. All ranks call it together.
template <typename Value>
runtime::Status takeFromFirst(runtime::CommunicationThread &ranks,
                              std::vector<Value> &values) {
  GRADUS_ASSIGN(std::string told,
                fromRankZero(ranks, std::string(bytesOf(values))));
  if (told.size() != bytesOf(values).size())
    return runtime::failed("rank 0 (", ranks.host(0), ") tells ", told.size(),
                           " bytes, expected ", bytesOf(values).size());
  std::memcpy(values.data(), told.data(), told.size());
  return {};
}

/// The results of all ranks in the order of the batches, on rank 0; nothing on
/// others. Each batch has `each` results, which are plain values. All ranks
/// call it together. Fails on rank 0 where another one had more or fewer
/// batches than it was dealt.
template <typename Result>
runtime::StatusOr<std::vector<Result>>
dealtBack(runtime::CommunicationThread &ranks, const std::vector<Result> &own,
          size_t each = 1) {
  GRADUS_ASSIGN(std::vector<std::string> texts,
                atRankZero(ranks, bytesOf(own)));
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
