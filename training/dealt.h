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
/// call it together.
template <typename Result>
runtime::StatusOr<std::vector<Result>>
dealtBack(runtime::CommunicationThread &ranks, const std::vector<Result> &own,
          size_t each = 1) {
  static_assert(std::is_trivially_copyable_v<Result>);
  GRADUS_ASSIGN(std::vector<std::string> texts,
                atRankZero(ranks, {reinterpret_cast<const char *>(own.data()),
                                   own.size() * sizeof(Result)}));
  std::vector<std::vector<Result>> ofRank;
  size_t count = 0;
  for (const std::string &text : texts) {
    auto &results = ofRank.emplace_back(text.size() / sizeof(Result));
    if (!results.empty())
      std::memcpy(results.data(), text.data(), text.size());
    count += results.size();
  }
  std::vector<Result> all;
  for (size_t batch = 0; each && all.size() < count; ++batch) {
    const auto &results = ofRank[batch % ofRank.size()];
    auto first = results.begin() + batch / ofRank.size() * each;
    all.insert(all.end(), first, first + each);
  }
  return all;
}

} // namespace gradus::training
