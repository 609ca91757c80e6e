// Which nodes wait for which.

#include "runtime/cuda/node_order.h"

#include <gtest/gtest.h>

#include <random>

using namespace gradus::runtime::cuda;

namespace {

Access reads(uint64_t start, uint64_t bytes) {
  return {start, bytes, 1, false};
}
Access writes(uint64_t start, uint64_t bytes) {
  return {start, bytes, 1, true};
}

using Accesses = std::vector<std::vector<Access>>;

/// Whether there is a path from each earlier node to each later one.
std::vector<std::vector<bool>> pathsOf(const Edges &edges) {
  std::vector<std::vector<bool>> paths(edges.size(),
                                       std::vector<bool>(edges.size()));
  for (size_t i = 0; i < edges.size(); ++i)
    for (uint32_t before : edges[i]) {
      paths[i][before] = true;
      for (size_t k = 0; k < before; ++k)
        paths[i][k] = paths[i][k] || paths[before][k];
    }
  return paths;
}

bool conflict(const std::vector<Access> &a, const std::vector<Access> &b) {
  for (const Access &x : a)
    for (const Access &y : b)
      if (x.conflictsWith(y))
        return true;
  return false;
}

} // namespace

TEST(NodeOrder, ChainsNodes) {
  EXPECT_EQ(chainOf(3), (Edges{{}, {0}, {1}}));
  EXPECT_EQ(chainOf(0), Edges{});
}

TEST(NodeOrder, LetsReadersRunSideBySide) {
  Accesses accesses = {{writes(0, 64)},
                       {reads(0, 64), writes(64, 64)},
                       {reads(0, 64), writes(128, 64)},
                       {reads(64, 64), reads(128, 64), writes(0, 64)}};
  EXPECT_EQ(orderByBytes(accesses), (Edges{{}, {0}, {0}, {1, 2}}));
}

TEST(NodeOrder, LeavesOutWhatAPathSaysAlready) {
  Accesses accesses = {
      {writes(0, 64)}, {reads(0, 64), writes(0, 64)}, {reads(0, 32)}};
  EXPECT_EQ(orderByBytes(accesses), (Edges{{}, {0}, {1}}));
}

TEST(NodeOrder, SeesPartsOfRanges) {
  Accesses accesses = {{writes(0, 64)},  {writes(64, 64)}, {reads(60, 4)},
                       {reads(60, 8)},   {reads(128, 8)},  {reads(0, 0)},
                       {writes(62, 100)}};
  EXPECT_EQ(orderByBytes(accesses),
            (Edges{{}, {}, {0}, {0, 1}, {}, {}, {2, 3, 4}}));
}

/// Of random nodes: a path for each conflict, and no edge that can be missed.
TEST(NodeOrder, HasAPathForEachConflictAndNoEdgeTooMany) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    Accesses accesses(20);
    for (auto &node : accesses)
      for (size_t i = 0; i < 3; ++i)
        node.push_back({random() % 200, random() % 40, 1, random() % 3 == 0});
    Edges edges = orderByBytes(accesses);
    auto paths = pathsOf(edges);
    for (size_t i = 0; i < accesses.size(); ++i)
      for (size_t k = 0; k < i; ++k)
        if (conflict(accesses[i], accesses[k]))
          ASSERT_TRUE(paths[i][k])
              << "round " << round << ": " << k << " " << i;
    for (size_t i = 0; i < edges.size(); ++i)
      for (size_t e = 0; e < edges[i].size(); ++e) {
        Edges fewer = edges;
        fewer[i].erase(fewer[i].begin() + ptrdiff_t(e));
        ASSERT_TRUE(conflict(accesses[i], accesses[edges[i][e]]));
        ASSERT_FALSE(pathsOf(fewer)[i][edges[i][e]]);
      }
  }
}
