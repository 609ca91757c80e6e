// Inputs that travel while the step before still runs.

#include "runtime/cuda/staging.h"

#include "emulated_card.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;

namespace {

constexpr uint64_t kCount = 50;

struct CudaStaging : EmulatedCard {
  /// A step: takes its inputs, says so, doubles them, adds them to a sum.
  std::vector<Node> step(const Staging &staging) {
    Access block{staging.onCard(), staging.bytes(), 4, true};
    return {{"take", CopyNode{staging.onCard(), input_, kCount * 4}, {}},
            {"taken", RecordNode{staging.taken()}, {block}},
            twiceNode(input_, kCount),
            addNode(sum_, input_, sum_, kCount)};
  }

  /// Runs steps on 1, 2, 3, ...; the sum, and whether an upload ran before the
  /// end of the step before.
  void run(unsigned seed, int steps) {
    FakeOptions options;
    options.logs = true;
    options.seed = seed;
    open(options);
    input_ = allocate(kCount);
    sum_ = filled(std::vector<float>(kCount, 0));
    auto staging = Staging::create(*card_, kCount * 4);
    ASSERT_TRUE(staging.ok()) << staging.status();
    auto graph = StepGraph::build(*card_, step(*staging), Order::bytes);
    ASSERT_TRUE(graph.ok()) << graph.status();
    for (int i = 1; i <= steps; ++i) {
      auto slot = staging->slot();
      ASSERT_TRUE(slot.ok()) << slot.status();
      for (uint64_t k = 0; k < kCount; ++k)
        reinterpret_cast<float *>(*slot)[k] = float(i);
      Status status = staging->upload(stream_.get());
      ASSERT_TRUE(status.ok()) << status;
      status = graph->launch(stream_.get());
      ASSERT_TRUE(status.ok()) << status;
    }
    EXPECT_EQ(numbersAt(sum_, kCount),
              std::vector<float>(kCount, float(steps * (steps + 1))));
    std::string last;
    for (const std::string &each : fake_->log()) {
      overlapped_ |= has(each, "upload") && has(last, "twice");
      last = each;
    }
    ASSERT_TRUE(card_->synchronize().ok());
  }

  DevicePointer input_ = 0, sum_ = 0;
  bool overlapped_ = false;
};

} // namespace

TEST_F(CudaStaging, BringsEachStepItsInputsInAllOrders) {
  for (unsigned seed = 0; seed < 20; ++seed)
    run(seed, 6);
  EXPECT_TRUE(overlapped_) << "no upload ran beside a step";
}

/// Inputs that are on the card already, in the order of another stream, beside
/// a part of the host's. Their memory is written anew as soon as upload() is
/// back.
TEST_F(CudaStaging, CopiesInputsThatAreOnTheCard) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    FakeOptions options;
    options.seed = seed;
    open(options);
    input_ = allocate(kCount);
    sum_ = filled(std::vector<float>(kCount, 0));
    DevicePointer given = filled(std::vector<float>(kCount, 0));
    Owned<Stream> maker = *card_->createStream();
    ASSERT_TRUE(card_->synchronize().ok());
    auto staging = Staging::create(*card_, kCount * 4);
    ASSERT_TRUE(staging.ok()) << staging.status();
    auto graph = StepGraph::build(*card_, step(*staging), Order::bytes);
    ASSERT_TRUE(graph.ok()) << graph.status();
    for (int i = 1; i <= 4; ++i) {
      // The host gives the first number, unless all are on the card.
      bool hasHost = i % 2;
      auto slot = staging->slot();
      ASSERT_TRUE(slot.ok()) << slot.status();
      if (hasHost)
        std::memset(*slot, 0, kCount * 4);
      ASSERT_EQ(driver().fill(given, 0, kCount * 4, maker.get()),
                Result::success);
      float one = 1;
      ASSERT_EQ(driver().copyToDevice(given + 4, &one, 4, maker.get()),
                Result::success);
      size_t offset = hasHost ? 4 : 0;
      InputOnCard part{given + offset, offset, kCount * 4 - offset,
                       maker.get()};
      Status status =
          staging->upload(stream_.get(), std::span(&part, 1), hasHost);
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_EQ(driver().fill(given, 0xFF, kCount * 4, maker.get()),
                Result::success);
      status = graph->launch(stream_.get());
      ASSERT_TRUE(status.ok()) << status;
    }
    std::vector<float> expected(kCount, 0);
    expected[1] = 8; // twice one, in four steps
    EXPECT_EQ(numbersAt(sum_, kCount), expected) << "seed " << seed;
    ASSERT_TRUE(card_->synchronize().ok());
    maker = {};
  }
}

/// Without the record in the graph the next upload could come too early.
TEST_F(CudaStaging, NeedsStepsToSayWhenTheyHaveTakenInputs) {
  input_ = allocate(kCount);
  sum_ = filled(std::vector<float>(kCount, 0));
  auto staging = Staging::create(*card_, kCount * 4);
  ASSERT_TRUE(staging.ok()) << staging.status();
  auto nodes = step(*staging);
  std::swap(nodes[0], nodes[1]); // before the copy
  auto graph = StepGraph::build(*card_, nodes, Order::chain);
  ASSERT_TRUE(graph.ok()) << graph.status();
  std::string message;
  for (int i = 0; i < 2 && message.empty(); ++i) {
    std::memset(*staging->slot(), 0, kCount * 4);
    message = staging->upload(stream_.get()).message();
    if (message.empty())
      message = graph->launch(stream_.get()).message();
  }
  EXPECT_TRUE(has(message, "an upload of 200 bytes writes 200 bytes that node "
                           "1 (copy of 200 bytes) reads, and nothing orders"))
      << message;
  report();
}

TEST_F(CudaStaging, ServesStepsWithoutInputs) {
  auto staging = Staging::create(*card_, 0);
  ASSERT_TRUE(staging.ok()) << staging.status();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(staging->slot().ok());
    ASSERT_TRUE(staging->upload(stream_.get()).ok());
  }
}
