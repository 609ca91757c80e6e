// Reductions in groups for tests: run on ranks, and as their definition says.
#pragma once

#include "tests/runtime/collectives/ranks.h"

namespace gradus::runtime {

/// The tensors of one rank.
template <typename Number> using Tensors = std::vector<std::vector<Number>>;

template <typename Number> constexpr DType typeOfNumber = DType::f32;
template <> inline constexpr DType typeOfNumber<double> = DType::f64;

/// The collective of a rank's tensors, in place.
template <typename Number>
Collective inGroups(Groups groups, Tensors<Number> &tensors) {
  Collective collective{.op = CollectiveOp::groupReduce,
                        .type = typeOfNumber<Number>};
  for (std::vector<Number> &tensor : tensors) {
    groups.members.push_back({tensor.data(), tensor.size()});
    collective.count += tensor.size();
  }
  collective.groups = std::make_shared<const Groups>(std::move(groups));
  return collective;
}

/// What each rank has after a reduction of `tensors`, which are by rank.
template <typename Number>
std::vector<Tensors<Number>>
afterGroups(const std::vector<OpenCommunicator> &openers, const Groups &groups,
            std::vector<Tensors<Number>> tensors) {
  onRanks(openers, [&](CommunicationThread &rank) {
    auto &own = tensors[static_cast<size_t>(rank.rank())];
    Status status = rank.finish(rank.begin(inGroups(groups, own)));
    EXPECT_TRUE(status.ok()) << status;
  });
  return tensors;
}

/// AdaSum of two vectors in f64, as its formula says.
inline std::vector<double> adasumOf(const std::vector<double> &a,
                                    const std::vector<double> &b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  std::vector<double> result;
  for (size_t i = 0; i < a.size(); ++i)
    result.push_back((aa == 0 ? 1 : 1 - ab / (2 * aa)) * a[i] +
                     (bb == 0 ? 1 : 1 - ab / (2 * bb)) * b[i]);
  return result;
}

/// AdaSum of any number: neighbours in pairs, from the first on, until there
/// is a power of two; then in pairs up to one.
inline std::vector<double>
adasumOfAll(std::vector<std::vector<double>> vectors) {
  while (vectors.size() > 1) {
    size_t power = std::bit_floor(vectors.size());
    size_t pairs = power == vectors.size() ? power / 2 : vectors.size() - power;
    std::vector<std::vector<double>> next;
    for (size_t i = 0; i < pairs; ++i)
      next.push_back(adasumOf(vectors[2 * i], vectors[2 * i + 1]));
    next.insert(next.end(), vectors.begin() + static_cast<ptrdiff_t>(2 * pairs),
                vectors.end());
    vectors = next;
  }
  return vectors[0];
}

/// The means of so many neighbours.
inline std::vector<std::vector<double>>
meansOf(const std::vector<std::vector<double>> &vectors, size_t within) {
  std::vector<std::vector<double>> means;
  for (size_t first = 0; first < vectors.size(); first += within) {
    std::vector<double> sum(vectors[first].size());
    for (size_t i = first; i < first + within; ++i)
      for (size_t j = 0; j < sum.size(); ++j)
        sum[j] += vectors[i][j] / static_cast<double>(within);
    means.push_back(sum);
  }
  return means;
}

} // namespace gradus::runtime
