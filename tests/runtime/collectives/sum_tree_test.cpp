#include "runtime/collectives/sum_tree.h"

#include "tests/runtime/collectives/ranks.h"

using namespace gradus::runtime;

namespace {

/// What each rank has after a collective.
std::vector<Bytes> results(std::vector<OpenCommunicator> openers,
                           Collective collective) {
  std::vector<Bytes> found(openers.size());
  onRanks(openers, [&](CommunicationThread &rank) {
    Bytes bytes = valuesOf(collective.type, collective.count, rank.rank());
    Collective own = collective;
    own.data = bytes.data();
    EXPECT_TRUE(rank.finish(rank.begin(own)).ok());
    found[static_cast<size_t>(rank.rank())] = bytes;
  });
  return found;
}

void expectTree(const Collective &collective, const std::vector<Bytes> &found) {
  int ranks = static_cast<int>(found.size());
  std::vector<Bytes> values = valuesOfRanks(collective, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    const Bytes &bytes = found[static_cast<size_t>(rank)];
    EXPECT_TRUE(bytes == expected(collective, values, rank, bytes))
        << inWords(collective) << ", rank " << rank << " of " << ranks;
  }
}

} // namespace

TEST(SumTree, GivesTheBitsOfItsDefinition) {
  for (int ranks : {1, 2, 3, 4, 5, 7, 8})
    for (uint64_t count : {1, 1024, 1025, 100003})
      expectTree({.count = count}, results(inProcess(ranks), {.count = count}));
}

TEST(SumTree, ReducesEveryType) {
  for (DType type : gradus::artifact::EnumValuesDType())
    for (Reduction reduction :
         {Reduction::sum, Reduction::minimum, Reduction::maximum}) {
      Collective collective{
          .reduction = reduction, .type = type, .count = 20011};
      if (check(collective, 3).ok())
        expectTree(collective, results(inProcess(3), collective));
    }
}

TEST(SumTree, MovesParts) {
  for (CollectiveOp op : {CollectiveOp::reduceScatter, CollectiveOp::allGather,
                          CollectiveOp::broadcast})
    for (int ranks : {2, 3, 4, 6})
      for (uint64_t count : {5, 100003}) {
        Collective collective{
            .op = op, .count = count, .root = (ranks + 1) / 2};
        expectTree(collective, results(inProcess(ranks), collective));
      }
}

/// More than one transfer carries at once.
TEST(SumTree, MovesLargeBuffers) {
  constexpr uint64_t kCount = (uint64_t{1} << 26) + 12345;
  onRanks(inProcess(2), [&](CommunicationThread &rank) {
    Bytes bytes(kCount);
    if (rank.rank() == 1)
      for (uint64_t at = 0; at < kCount; at += 1 << 16)
        bytes[at] = static_cast<uint8_t>(at >> 16 | 1);
    Collective broadcast{.op = CollectiveOp::broadcast,
                         .type = DType::u8,
                         .data = bytes.data(),
                         .count = kCount,
                         .root = 1};
    EXPECT_TRUE(rank.finish(rank.begin(broadcast)).ok());
    for (uint64_t at = 0; at < kCount; at += 1 << 16)
      ASSERT_EQ(bytes[at], static_cast<uint8_t>(at >> 16 | 1));
  });
}

/// The way changes with the size: small buckets go whole, large ones by halves.
TEST(SumTree, GivesTheSameBitsHoweverABufferIsCut) {
  constexpr uint64_t kCount = 70001;
  for (int ranks : {3, 4, 6}) {
    auto whole = results(inProcess(ranks), {.count = kCount})[0];
    for (uint64_t bucket : {777, 16384, 69999}) {
      std::vector<Bytes> cut(static_cast<size_t>(ranks));
      onRanks(inProcess(ranks), [&](CommunicationThread &rank) {
        Bytes bytes = valuesOf(DType::f32, kCount, rank.rank());
        std::vector<uint64_t> numbers;
        for (uint64_t at = 0; at < kCount; at += bucket)
          numbers.push_back(
              rank.begin({.data = bytes.data() + at * 4,
                          .count = std::min(bucket, kCount - at)}));
        for (uint64_t number : numbers)
          EXPECT_TRUE(rank.finish(number).ok());
        cut[static_cast<size_t>(rank.rank())] = bytes;
      });
      for (const Bytes &bytes : cut)
        EXPECT_TRUE(bytes == whole) << ranks << " ranks, " << bucket;
    }
  }
}

TEST(SumTree, GivesTheSameBitsWhateverIsLate) {
  for (int ranks : {3, 4})
    for (uint64_t count : {600, 100000})
      for (unsigned seed = 1; seed <= 5; ++seed)
        expectTree(
            {.count = count},
            results(meddling(inProcess(ranks), {seed, 300}), {.count = count}));
}

TEST(SumTree, SendsAsManyBytesAsItSays) {
  for (CollectiveOp op : {CollectiveOp::allReduce, CollectiveOp::reduceScatter,
                          CollectiveOp::allGather, CollectiveOp::broadcast})
    for (int ranks : {2, 3, 8})
      for (uint64_t count : {100, 50001}) {
        Collective collective{.op = op, .count = count, .root = 1};
        std::vector<std::thread> threads;
        for (const OpenCommunicator &open : inProcess(ranks))
          threads.emplace_back([&, open] {
            Meddling counting(*open(), {});
            Liveness liveness(counting, patient());
            SumTree tree(liveness);
            Bytes bytes = valuesOf(DType::f32, count, counting.rank());
            Collective own = collective;
            own.data = bytes.data();
            EXPECT_TRUE(tree.run(own).ok());
            EXPECT_EQ(counting.sent(),
                      bytesSent(collective, ranks, counting.rank()));
            EXPECT_TRUE(liveness.end().ok());
          });
        for (std::thread &thread : threads)
          thread.join();
      }
}

/// The thread has the mode of kernels: what they would flush, it does.
TEST(SumTree, FlushesDenormals) {
  float denormal = std::numeric_limits<float>::denorm_min();
  onRanks(inProcess(2), [&](CommunicationThread &rank) {
    float value = denormal;
    EXPECT_TRUE(rank.finish(rank.begin({.data = &value, .count = 1})).ok());
    EXPECT_EQ(std::bit_cast<uint32_t>(value), 0u);
  });
}

TEST(SumTree, RefusesWhatMeansNothing) {
  std::vector<std::thread> threads;
  for (const OpenCommunicator &open : inProcess(2))
    threads.emplace_back([open] {
      auto rank = CommunicationThread::start(open, patient());
      uint8_t flag = 1;
      uint64_t number =
          (*rank)->begin({.type = DType::boolean, .data = &flag, .count = 1});
      EXPECT_THAT(
          (*rank)->finish(number).message(),
          testing::EndsWith("all-reduce of 1 bool: booleans have no sum"));
    });
  for (std::thread &thread : threads)
    thread.join();
}
