// Reductions in groups on ranks that are threads.

#include "runtime/collectives/group_tree.h"

#include "runtime/collectives/rounds.h"
#include "tests/runtime/collectives/group_ranks.h"

#include <gmock/gmock.h>

#include <climits>

using namespace gradus::runtime;

namespace {

/// Vectors of a rank: normal numbers of one size.
template <typename Number>
std::vector<Tensors<Number>> drawn(int ranks, std::vector<size_t> lengths,
                                   double size) {
  std::mt19937 random(static_cast<unsigned>(ranks) * 31 +
                      static_cast<unsigned>(lengths[0]));
  std::normal_distribution<double> normal(0.3, 1);
  std::vector<Tensors<Number>> all(static_cast<size_t>(ranks));
  for (Tensors<Number> &tensors : all)
    for (size_t length : lengths) {
      tensors.emplace_back();
      for (size_t i = 0; i < length; ++i)
        tensors.back().push_back(static_cast<Number>(normal(random) * size));
    }
  return all;
}

/// The tensor of each rank.
template <typename Number>
std::vector<std::vector<double>>
vectorsOf(const std::vector<Tensors<Number>> &all, size_t tensor) {
  std::vector<std::vector<double>> vectors;
  for (const Tensors<Number> &tensors : all)
    vectors.emplace_back(tensors[tensor].begin(), tensors[tensor].end());
  return vectors;
}

double largestOf(const std::vector<double> &vector) {
  double largest = 0;
  for (double each : vector)
    largest = std::max(largest, std::abs(each));
  return largest;
}

/// Expects the formula's vector on each rank, and the same bits on all.
template <typename Number>
void expectFormula(const std::vector<Tensors<Number>> &found, size_t tensor,
                   const std::vector<double> &wanted, double tolerance) {
  for (const Tensors<Number> &tensors : found) {
    ASSERT_EQ(tensors[tensor].size(), wanted.size());
    bool isNear = true;
    double limit = tolerance * largestOf(wanted);
    for (size_t i = 0; i < wanted.size(); ++i)
      isNear &= std::abs(tensors[tensor][i] - wanted[i]) <= limit;
    EXPECT_TRUE(isNear) << "expected " << testing::PrintToString(wanted)
                        << ", found "
                        << testing::PrintToString(tensors[tensor]);
    EXPECT_EQ(std::memcmp(tensors[tensor].data(), found[0][tensor].data(),
                          wanted.size() * sizeof(Number)),
              0)
        << "ranks have other bits";
  }
}

Groups adasum(int within = 1) {
  return {.within = within,
          .averages = true,
          .across = Across::adasum,
          .members = {}};
}

} // namespace

TEST(GroupTree, GivesTheFormulaOfPairs) {
  std::vector<size_t> lengths = {1, 3, 5, 64, 1000};
  for (int ranks : {1, 2, 4, 8, 16, 3, 5, 6, 12, 7})
    for (double size : {1.0, 1e-20, 1e15}) {
      auto tensors = drawn<float>(ranks, lengths, size);
      auto found = afterGroups(inProcess(ranks), adasum(), tensors);
      for (size_t i = 0; i < lengths.size(); ++i) {
        SCOPED_TRACE(testing::Message() << ranks << " ranks, " << lengths[i]
                                        << " elements of " << size);
        expectFormula(found, i, adasumOfAll(vectorsOf(tensors, i)), 1e-6);
      }
    }
}

TEST(GroupTree, GivesTheFormulaInDoublePrecision) {
  for (int ranks : {2, 3, 6, 8}) {
    auto tensors = drawn<double>(ranks, {1, 3, 5, 1000}, 1);
    auto found = afterGroups(inProcess(ranks), adasum(), tensors);
    for (size_t i = 0; i < 4; ++i)
      expectFormula(found, i, adasumOfAll(vectorsOf(tensors, i)), 1e-14);
  }
}

/// Four ranks of boost.md 7.8: the first level is (1.25, .75, 0, 0) and
/// (0, .66667, 2.16667, .66667). Equal vectors stay, where MindSpore's way by
/// halves gives (5.5, 5.5).
TEST(GroupTree, GivesKnownNumbers) {
  std::vector<Tensors<float>> tensors = {{{1, 0, 0, 0}, {1, 10}},
                                         {{1, 1, 0, 0}, {1, 10}},
                                         {{0, 0, 2, 0}, {1, 10}},
                                         {{0, 1, 1, 1}, {1, 10}}};
  auto found = afterGroups(inProcess(4), adasum(), tensors);
  expectFormula(found, 0, {1.10294118, 1.29858063, 2.06965174, 0.63681592},
                1e-7);
  expectFormula(found, 1, {1, 10}, 0);
}

TEST(GroupTree, SumsOrthogonalAndAveragesParallelVectors) {
  for (int ranks : {2, 3, 5, 6, 8, 12, 16}) {
    std::vector<Tensors<float>> tensors;
    std::vector<double> all(static_cast<size_t>(ranks), 1e-20);
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<float> unit(static_cast<size_t>(ranks));
      unit[static_cast<size_t>(rank)] = 1e-20f;
      tensors.push_back({unit, {3e-20f, -4e-20f, 5e-20f}});
    }
    auto found = afterGroups(inProcess(ranks), adasum(), tensors);
    expectFormula(found, 0, all, 1e-6);
    expectFormula(found, 1, {3e-20, -4e-20, 5e-20}, 1e-6);
  }
}

TEST(GroupTree, AveragesWithinGroupsFirst) {
  for (auto [ranks, within] :
       {std::pair(4, 2), {6, 2}, {8, 2}, {12, 2}, {6, 3}, {9, 3}, {8, 4}}) {
    auto tensors = drawn<float>(ranks, {1, 3, 5, 700}, 1);
    auto found = afterGroups(inProcess(ranks), adasum(within), tensors);
    for (size_t i = 0; i < 4; ++i) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks by " << within);
      expectFormula(found, i,
                    adasumOfAll(meansOf(vectorsOf(tensors, i), size_t(within))),
                    1e-6);
    }
  }
}

/// Threads of one process are ranks of one host. A group that is larger than
/// all ranks has all of them.
TEST(GroupTree, AveragesAllRanksOfOneGroup) {
  for (int within : {0, 4, 8})
    for (int ranks : {3, 4}) {
      if (within == 4 && ranks == 3)
        continue;
      auto tensors = drawn<float>(ranks, {5, 300}, 1);
      auto found = afterGroups(inProcess(ranks), adasum(within), tensors);
      for (size_t i = 0; i < 2; ++i)
        expectFormula(found, i,
                      meansOf(vectorsOf(tensors, i), size_t(ranks))[0], 1e-6);
    }
}

/// The two halves of a sum: a rank's own part is that of a sum of all ranks, to
/// the bit, and gathering gives it to all.
TEST(GroupTree, ReducesToPartsAndGathersThem) {
  for (int ranks : {2, 3, 4}) {
    SCOPED_TRACE(ranks);
    auto own = drawn<float>(ranks, {100, 5, 0, 64}, 1);
    auto sums = own;
    onRanks(inProcess(ranks), [&](CommunicationThread &rank) {
      for (auto &tensor : sums[static_cast<size_t>(rank.rank())])
        EXPECT_TRUE(rank.finish(rank.begin({.type = DType::f32,
                                            .data = tensor.data(),
                                            .count = tensor.size()}))
                        .ok());
    });
    Groups halves;
    halves.within = INT_MAX;
    halves.unit = 16;
    halves.parts = Parts::reduce;
    auto parts = afterGroups(inProcess(ranks), halves, own);
    for (int rank = 0; rank < ranks; ++rank)
      for (size_t tensor = 0; tensor < own[0].size(); ++tensor) {
        auto &found = parts[static_cast<size_t>(rank)][tensor];
        Range part = partInUnits(found.size(), 16, ranks, rank);
        for (size_t i = 0; i < found.size(); ++i)
          if (i < part.begin || i >= part.end)
            found[i] = NAN; // It is undefined.
          else
            EXPECT_EQ(found[i], sums[0][tensor][i]) << tensor << " " << i;
      }
    halves.parts = Parts::gather;
    EXPECT_EQ(afterGroups(inProcess(ranks), halves, parts), sums);
  }
}

/// A half sends half of what a sum does.
TEST(GroupTree, SendsHalfAsMuchForHalfOfASum) {
  for (Parts half : {Parts::reduce, Parts::gather}) {
    Groups halves;
    halves.within = INT_MAX;
    halves.unit = 16;
    halves.parts = half;
    Tensors<float> tensors = {std::vector<float>(256)};
    EXPECT_EQ(bytesSent(inGroups(halves, tensors), 4, 1), 3u * 64 * 4);
  }
}

TEST(GroupTree, RefusesPartsOfRanksInSeveralGroups) {
  Groups halves;
  halves.parts = Parts::gather;
  halves.within = 2;
  Tensors<float> tensors = {std::vector<float>(256)};
  EXPECT_EQ(check(inGroups(halves, tensors), 2).message(), "");
  EXPECT_EQ(check(inGroups(halves, tensors), 4).message(),
            "gathering of 256 f32: expected parts of all ranks in one group");
}

TEST(GroupTree, GivesZerosForZeros) {
  std::vector<Tensors<float>> tensors(3, {{0, 0, 0}});
  auto found = afterGroups(inProcess(3), adasum(), tensors);
  for (const Tensors<float> &each : found)
    EXPECT_EQ(each[0], (std::vector<float>{0, 0, 0}));
}

TEST(GroupTree, LeavesGroupsApart) {
  auto tensors = drawn<float>(6, {5, 300}, 1);
  for (bool averages : {true, false}) {
    auto found = afterGroups(inProcess(6),
                             {.within = 2, .averages = averages, .members = {}},
                             tensors);
    for (size_t i = 0; i < 2; ++i) {
      auto means = meansOf(vectorsOf(tensors, i), 2);
      for (size_t rank = 0; rank < 6; ++rank)
        for (size_t j = 0; j < means[0].size(); ++j)
          EXPECT_NEAR(found[rank][i][j],
                      means[rank / 2][j] * (averages ? 1 : 2), 1e-6);
    }
  }
}

TEST(GroupTree, TakesAllTensorsAsOneVector) {
  for (int ranks : {2, 3, 8}) {
    auto tensors = drawn<float>(ranks, {1, 3, 500}, 1);
    auto found = afterGroups(
        inProcess(ranks),
        {.averages = true, .across = Across::adasumOfAll, .members = {}},
        tensors);
    std::vector<std::vector<double>> vectors;
    for (const Tensors<float> &each : tensors) {
      vectors.emplace_back();
      for (const auto &tensor : each)
        vectors.back().insert(vectors.back().end(), tensor.begin(),
                              tensor.end());
    }
    std::vector<double> wanted = adasumOfAll(vectors);
    size_t at = 0;
    for (size_t i = 0; i < 3; ++i) {
      size_t length = tensors[0][i].size();
      auto begin = wanted.begin() + static_cast<ptrdiff_t>(at);
      expectFormula(found, i, {begin, begin + static_cast<ptrdiff_t>(length)},
                    1e-5);
      at += length;
    }
  }
}

/// MindSpore's epsilon is in each of the three products, once for each group.
TEST(GroupTree, AddsAnEpsilonWhereItIsAsked) {
  for (int within : {1, 2}) {
    std::vector<Tensors<float>> tensors;
    for (int rank = 0; rank < 2 * within; ++rank)
      tensors.push_back(
          {rank < within ? std::vector{1e-6f, 0.f} : std::vector{0.f, 1e-6f}});
    Groups groups = adasum(within);
    groups.epsilon = 1e-12;
    auto found = afterGroups(inProcess(2 * within), groups, tensors);
    double factor = 1 - 2e-12 / (2 * (1e-12 + 2e-12));
    expectFormula(found, 0, {factor * 1e-6, factor * 1e-6}, 1e-6);
  }
}

/// More than one piece, and tensors that share pieces.
TEST(GroupTree, GivesTheSameBitsWhicheverTensorsTravelTogether) {
  std::vector<size_t> lengths = {70001, 3, 1, 200003, 17, 17, 30000, 5};
  for (int ranks : {2, 3, 4})
    for (int within : {1, 2}) {
      if (ranks % within)
        continue;
      auto tensors = drawn<float>(ranks, lengths, 1);
      auto together = afterGroups(inProcess(ranks), adasum(within), tensors);
      expectFormula(together, 3,
                    adasumOfAll(meansOf(vectorsOf(tensors, 3), size_t(within))),
                    1e-6);
      for (size_t i = 0; i < lengths.size(); ++i) {
        std::vector<Tensors<float>> alone;
        for (const Tensors<float> &each : tensors)
          alone.push_back({each[i]});
        auto found = afterGroups(inProcess(ranks), adasum(within), alone);
        for (size_t rank = 0; rank < found.size(); ++rank)
          EXPECT_TRUE(found[rank][0] == together[rank][i])
              << ranks << " ranks, tensor " << i;
      }
    }
}

TEST(GroupTree, GivesTheSameBitsWhateverIsLate) {
  std::vector<size_t> lengths = {3, 100000, 40};
  for (int ranks : {3, 4}) {
    auto tensors = drawn<float>(ranks, lengths, 1);
    auto wanted = afterGroups(inProcess(ranks), adasum(), tensors);
    for (unsigned seed = 1; seed <= 5; ++seed) {
      auto late = meddling(inProcess(ranks), {seed, 300});
      EXPECT_TRUE(afterGroups(late, adasum(), tensors) == wanted);
    }
  }
}

TEST(GroupTree, SendsAsManyBytesAsItSays) {
  for (auto [count, within] :
       {std::pair(2, 1), {3, 1}, {8, 1}, {5, 1}, {4, 2}, {6, 3}, {3, 0}}) {
    int ranks = count, size = within;
    auto tensors = drawn<float>(ranks, {1, 50001, 17}, 1);
    std::vector<std::thread> threads;
    for (const OpenCommunicator &open : inProcess(ranks))
      threads.emplace_back([&, open] {
        Meddling counting(*open(), {});
        Liveness liveness(counting, patient());
        GroupTree tree(liveness);
        Collective own = inGroups(
            adasum(size), tensors[static_cast<size_t>(counting.rank())]);
        EXPECT_TRUE(tree.run(own).ok());
        EXPECT_EQ(counting.sent(),
                  bytesSentInGroups(own, ranks, counting.rank()));
        EXPECT_TRUE(liveness.end().ok());
      });
    for (std::thread &thread : threads)
      thread.join();
  }
}

/// A NaN or an infinite number of one rank is a NaN of all.
TEST(GroupTree, GivesAllRanksTheSameNaN) {
  std::vector<Tensors<float>> tensors(3, {{1, 2, 3}, {4, 5}});
  tensors[1][0][1] = std::numeric_limits<float>::infinity();
  auto found = afterGroups(inProcess(3), adasum(), tensors);
  for (const Tensors<float> &each : found) {
    for (float number : each[0])
      EXPECT_EQ(std::bit_cast<uint32_t>(number), 0x7fc00000u);
    EXPECT_EQ(each[1], (std::vector<float>{4, 5})) << "another tensor";
  }
}

TEST(GroupTree, RefusesRanksThatFillNoGroups) {
  std::vector<std::thread> threads;
  for (const OpenCommunicator &open : inProcess(3))
    threads.emplace_back([open] {
      auto rank = CommunicationThread::start(open, patient());
      Tensors<float> tensors = {{1, 2}};
      uint64_t number = (*rank)->begin(inGroups(adasum(2), tensors));
      EXPECT_THAT((*rank)->finish(number).message(),
                  testing::HasSubstr("3 ranks are no groups of 2"));
    });
  for (std::thread &thread : threads)
    thread.join();
}

//===-- failures ----------------------------------------------------------===//

namespace {

/// Fails at one of the sends of rank 1.
class Failing final : public Passing {
public:
  Failing(std::unique_ptr<Communicator> below, int sends)
      : Passing(std::move(below)), left_(rank() == 1 ? sends : -1) {}

  StatusOr<Transfer> send(int to, std::span<const uint8_t> bytes) override {
    if (left_ >= 0 && left_-- == 0)
      return failed("the cable is out");
    return Passing::send(to, bytes);
  }

private:
  int left_; // sends that work; negative: all
};

/// Runs each rank in a thread of its own.
void onThreads(
    int ranks,
    const std::function<void(std::unique_ptr<CommunicationThread>)> &run,
    int sends = -1) {
  std::vector<std::thread> threads;
  for (const OpenCommunicator &open : inProcess(ranks))
    threads.emplace_back([&, open] {
      auto failing = [=]() -> StatusOr<std::unique_ptr<Communicator>> {
        GRADUS_ASSIGN(auto below, open());
        return std::unique_ptr<Communicator>(
            std::make_unique<Failing>(std::move(below), sends));
      };
      auto rank = CommunicationThread::start(failing, patient());
      ASSERT_TRUE(rank.ok()) << rank.status();
      run(*std::move(rank));
    });
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace

/// In each round: parts of groups, halves, products and the way back, with
/// several pieces of large tensors in the air.
TEST(GroupTree, FailsOnAllRanksWhereverOneFails) {
  const std::vector<size_t> lengths = {300000, 3, 70001};
  for (auto [ranks, within] : {std::pair(3, 1), {4, 2}})
    for (int sends : {0, 1, 2, 3, 4, 5, 6}) {
      SCOPED_TRACE(testing::Message() << ranks << " ranks, send " << sends);
      int size = within;
      auto tensors = drawn<float>(ranks, lengths, 1);
      onThreads(
          ranks,
          [&](std::unique_ptr<CommunicationThread> rank) {
            auto &own = tensors[static_cast<size_t>(rank->rank())];
            uint64_t first = rank->begin(inGroups(adasum(size), own));
            Status status = rank->finish(first);
            // What was begun behind it fails as well.
            uint64_t second = rank->begin(inGroups(adasum(size), own));
            EXPECT_FALSE(rank->finish(second).ok());
            EXPECT_THAT(rank->end().message(),
                        testing::HasSubstr("the cable is out"));
            if (!status.ok()) // Its own part may have been done by then.
              EXPECT_THAT(status.message(),
                          testing::HasSubstr("the cable is out"));
          },
          sends);
    }
}

TEST(GroupTree, NamesARankThatEndsInTheMiddle) {
  for (int within : {1, 3}) {
    auto tensors = drawn<float>(3, {100000, 5}, 1);
    onThreads(3, [&](std::unique_ptr<CommunicationThread> rank) {
      if (rank->rank() == 1)
        return; // destroyed without a word
      auto &own = tensors[static_cast<size_t>(rank->rank())];
      EXPECT_EQ(
          rank->finish(rank->begin(inGroups(adasum(within), own))).message(),
          "rank 1 (this process): has ended without a word");
      EXPECT_FALSE(rank->end().ok());
    });
  }
}

TEST(GroupTree, CombinesNoTensors) {
  std::vector<Tensors<float>> tensors(3);
  EXPECT_EQ(afterGroups(inProcess(3), adasum(), tensors), tensors);
}
