// Collectives of many kinds and sizes, for a comparison of transports.
#pragma once

#include "tests/runtime/collectives/group_ranks.h"

namespace gradus::runtime {

/// Runs them all, two at once, and returns a hash of what this rank has at the
/// end; where a result is undefined, of what it must have.
inline std::string hashOfMany(CommunicationThread &rank) {
  uint64_t hash = 0;
  for (CollectiveOp op : {CollectiveOp::allReduce, CollectiveOp::reduceScatter,
                          CollectiveOp::allGather, CollectiveOp::broadcast})
    for (DType type : {DType::f32, DType::f16, DType::bf16, DType::i64})
      for (uint64_t count : {7, 3001, 300007}) {
        Collective one{.op = op, .type = type, .count = count, .root = 1};
        Bytes first = valuesOf(type, count, rank.rank());
        Bytes second = valuesOf(DType::f64, 99, rank.rank());
        one.data = first.data();
        uint64_t number = rank.begin(one);
        uint64_t other = rank.begin(
            {.type = DType::f64, .data = second.data(), .count = 99});
        for (uint64_t each : {number, other})
          if (Status status = rank.finish(each); !status.ok())
            return status.message();
        if (op == CollectiveOp::reduceScatter) {
          Range part = partOf(count, type, rank.ranks(), rank.rank());
          auto at = static_cast<ptrdiff_t>(bytesOf(type));
          first = Bytes(first.begin() + at * static_cast<ptrdiff_t>(part.begin),
                        first.begin() + at * static_cast<ptrdiff_t>(part.end));
        }
        for (const Bytes &bytes : {first, second})
          for (uint8_t byte : bytes)
            hash = mixed(hash + byte + 1);
      }
  for (int within : {1, rank.ranks()}) {
    Groups groups{.within = within,
                  .averages = true,
                  .across = Across::adasum,
                  .members = {}};
    Tensors<float> tensors = {{1.5f + float(rank.rank()), -7}, {}};
    for (int i = 0; i < 100003; ++i)
      tensors[1].push_back(float((i + 3) * (rank.rank() + 2) % 101) - 50);
    uint64_t number = rank.begin(inGroups(groups, tensors));
    if (Status status = rank.finish(number); !status.ok())
      return status.message();
    for (const std::vector<float> &tensor : tensors)
      for (float each : tensor)
        hash = mixed(hash + std::bit_cast<uint32_t>(each) + 1);
  }
  return inHex(hash);
}

} // namespace gradus::runtime
