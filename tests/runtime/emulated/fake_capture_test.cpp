// Streams of the emulated card that record what they are told, used well and
// wrongly.

#include "runtime/emulated/fake_state.h"

#include "tests/runtime/cuda/emulated_card.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;

namespace {

struct FakeCaptures : EmulatedCard {
  Result begin() {
    return driver().captureBegin(stream_.get(), CaptureMode::threadLocal);
  }
  Result end() {
    Graph graph = nullptr;
    Result result = driver().captureEnd(stream_.get(), &graph);
    EXPECT_EQ(graph != nullptr, result == Result::success);
    if (graph)
      driver().graphDestroy(graph);
    return result;
  }
  /// A node that fills so many numbers, and says that of so many.
  Node fillNode(DevicePointer to, uint64_t numbers, uint64_t said) {
    return {"fills",
            CaptureNode{[=, this](Stream stream) {
              return check(driver(), driver().fill(to, 0, numbers * 4, stream),
                           "filling");
            }},
            {bytes(to, said, true)}};
  }
  /// A node that calls, and says that it touches these bytes.
  Node callNode(std::vector<Access> accesses) {
    return {"calls", CaptureNode{[this](Stream stream) {
              return check(driver(),
                           driver().streamCall(
                               stream, [](void *) {}, nullptr),
                           "calling");
            }},
            std::move(accesses)};
  }
};

} // namespace

TEST_F(FakeCaptures, DoNothingUntilTheyAreLaunched) {
  DevicePointer x = filled({1, 2});
  ASSERT_EQ(begin(), Result::success);
  EXPECT_EQ(driver().fill(x, 0, 8, stream_.get()), Result::success);
  EXPECT_EQ(end(), Result::success);
  EXPECT_EQ(numbersAt(x, 2), (std::vector<float>{1, 2}));
}

/// A fill, a call that reads it, and a fill of the same bytes.
TEST_F(FakeCaptures, KeepTheOrderOfTheStream) {
  struct Look {
    DevicePointer at;
    int wrong = 0;
  } look{0};
  auto isZero = [](void *data) {
    auto *look = static_cast<Look *>(data);
    look->wrong += *std::bit_cast<float *>(look->at) != 0;
  };
  for (unsigned seed = 0; seed < 20; ++seed) {
    FakeOptions options;
    options.seed = seed;
    open(options);
    look.at = filled({1, 2});
    std::vector<Node> nodes = {{"looks",
                                CaptureNode{[&](Stream stream) {
                                  (void)driver().fill(look.at, 0, 8, stream);
                                  (void)driver().streamCall(stream, isZero,
                                                            &look);
                                  (void)driver().fill(look.at, 1, 8, stream);
                                  return Status();
                                }},
                                {bytes(look.at, 2, true)}}};
    EXPECT_EQ(run(nodes), "");
    EXPECT_EQ(look.wrong, 0);
    EXPECT_NE(numbersAt(look.at, 1)[0], 0);
  }
}

TEST_F(FakeCaptures, BeginOnceAndEndWhatBegan) {
  EXPECT_EQ(end(), Result::illegalState);
  EXPECT_EQ(report(), "cuStreamEndCapture: the stream records nothing");
  ASSERT_EQ(begin(), Result::success);
  EXPECT_EQ(begin(), Result::illegalState);
  EXPECT_STREQ(driver().report(),
               "cuStreamBeginCapture_v2: the stream records already");
  std::thread([&] {
    ASSERT_TRUE(card_->makeCurrent().ok());
    EXPECT_EQ(end(), Result::captureWrongThread);
  }).join();
  EXPECT_EQ(end(), Result::success);
  Graph graph;
  EXPECT_EQ(driver().captureEnd(nullptr, &graph), Result::invalidHandle);
  EXPECT_EQ(driver().captureBegin(nullptr, CaptureMode::threadLocal),
            Result::invalidHandle);
}

/// Each also breaks the recording.
TEST_F(FakeCaptures, HoldNoWaitsNorAllocations) {
  DevicePointer x = filled({1});
  Owned<Event> event = *card_->createEvent(false);
  ASSERT_EQ(driver().eventRecord(event.get(), stream_.get()), Result::success);
  Owned<void *> taken = *card_->allocatePinned({"pinned memory", 8});
  float number = 0;
  DevicePointer memory;
  void *pinned;
  Module module;
  std::function<Result()> wrong[] = {
      [&] { return driver().streamSynchronize(stream_.get()); },
      [&] { return driver().contextSynchronize(); },
      [&] { return driver().memoryAllocate(&memory, 8); },
      [&] { return driver().pinnedAllocate(&pinned, 8, 0); },
      [&] { return driver().memoryFree(x); },
      [&] { return driver().pinnedFree(taken.get()); },
      [&] { return driver().moduleUnload(module_.get()); },
      [&] { return driver().eventSynchronize(event.get()); },
      [&] {
        return driver().moduleLoad(&module, image_.data(), 0, nullptr, nullptr);
      },
      [&] { return driver().copyToHost(&number, x, 4, stream_.get()); },
      [&] { return driver().copyToDevice(x, &number, 4, stream_.get()); },
      [&] { return driver().discard(x, 4, stream_.get()); },
      [&] { return driver().eventRecord(event.get(), stream_.get()); }};
  for (auto &each : wrong) {
    ASSERT_EQ(begin(), Result::success);
    EXPECT_EQ(each(), Result::captureUnsupported);
    EXPECT_EQ(end(), Result::captureInvalidated);
  }
  EXPECT_EQ(report(), "cuStreamSynchronize: waits for a stream that records");
}

TEST_F(FakeCaptures, LeaveOtherThreadsAlone) {
  ASSERT_EQ(begin(), Result::success);
  std::thread([&] {
    ASSERT_TRUE(card_->makeCurrent().ok());
    DevicePointer memory;
    EXPECT_EQ(driver().memoryAllocate(&memory, 8), Result::success);
    EXPECT_EQ(driver().memoryFree(memory), Result::success);
  }).join();
  EXPECT_EQ(end(), Result::success);
}

TEST_F(FakeCaptures, EndBeforeTheirStream) {
  Owned<Stream> other = *card_->createStream();
  ASSERT_EQ(driver().captureBegin(other.get(), CaptureMode::threadLocal),
            Result::success);
  EXPECT_EQ(driver().streamDestroy(other.get()), Result::illegalState);
  EXPECT_EQ(report(), "cuStreamDestroy_v2: the stream still records");
}

//===-- as nodes ----------------------------------------------------------===//

TEST_F(FakeCaptures, SayAllThatTheyTouch) {
  DevicePointer x = allocate(4);
  std::vector<Node> nodes = {fillNode(x, 4, 3)};
  EXPECT_EQ(run(nodes),
            "adding fills to a graph: declareAccesses: node 0 (a fill of 16 "
            "bytes) writes 16 bytes that the command does not say that it "
            "writes (CUDA_ERROR_INVALID_VALUE 1)");
  nodes = {fillNode(x, 3, 4)};
  EXPECT_EQ(run(nodes), "");
  // The last was said, and is not written all the same.
  nodes = {callNode({bytes(x, 4, false)})};
  EXPECT_TRUE(has(run(nodes), "node 0 (graph of 1 node) of calls: memory that "
                              "it reads holds what nothing has written"));
  report();
}

TEST_F(FakeCaptures, AreOrderedLikeOtherNodes) {
  DevicePointer x = filled({1, 2});
  std::vector<Node> nodes = {twiceNode(x, 2), callNode({bytes(x, 2, true)})};
  auto graph = StepGraph::build(*card_, nodes, Edges{{}, {}});
  EXPECT_TRUE(has(graph.status().message(),
                  "node 1 (graph of 1 node) of calls writes 8 bytes that node "
                  "0 (kernel twice) reads, and nothing orders the two"))
      << graph.status();
  report();
}

TEST_F(FakeCaptures, ReadWhatIsWritten) {
  DevicePointer x = allocate(2), y = allocate(2);
  std::vector<Node> nodes = {callNode({bytes(x, 2, false), bytes(y, 2, true)})};
  EXPECT_TRUE(has(run(nodes), "memory that it reads holds what nothing has "
                              "written"));
  report();
}

/// Rows of one number each, and another number between them.
TEST_F(FakeCaptures, TouchRowsAndNotWhatIsBetween) {
  DevicePointer x = allocate(5), y = allocate(5);
  auto rows = [&](DevicePointer start, uint64_t numbers, bool writes) {
    Access access = bytes(start, numbers, writes);
    access.row = 4;
    access.pitch = 8;
    return access;
  };
  auto fill = [&](DevicePointer at) { return fillNode(at, 1, 1); };
  std::vector<Node> nodes = {fill(x), fill(x + 8), fill(x + 16),
                             callNode({rows(x, 5, false), rows(y, 5, true)}),
                             callNode({rows(y, 5, false)})};
  EXPECT_EQ(run(nodes), "");
  nodes = {callNode({bytes(y, 5, false)})};
  EXPECT_TRUE(has(run(nodes), "memory that it reads holds what nothing has "
                              "written"));
  report();
  open({});
  x = allocate(5);
  nodes = {fill(x), fill(x + 8), callNode({rows(x, 5, false)})};
  EXPECT_TRUE(has(run(nodes), "memory that it reads holds what nothing has "
                              "written"));
  report();
}

TEST_F(FakeCaptures, WriteWhatTheySay) {
  DevicePointer x = filled({1, 2}), y = allocate(2);
  std::vector<Node> nodes = {callNode({bytes(x, 2, false), bytes(y, 2, true)}),
                             twiceNode(y, 2)};
  EXPECT_EQ(run(nodes), "");
}

TEST_F(FakeCaptures, StayWithinAllocations) {
  DevicePointer x = allocate(2);
  std::vector<Node> nodes = {callNode({bytes(x, 3, true)})};
  EXPECT_TRUE(has(run(nodes), "memory that it writes ends 4 bytes behind the "
                              "allocation of 8 bytes"));
  report();
}

TEST_F(FakeCaptures, AreNodesOfGraphsThatAreThere) {
  Graph graph;
  GraphNode node;
  ASSERT_EQ(driver().graphCreate(&graph, 0), Result::success);
  EXPECT_EQ(driver().graphAddChild(&node, graph, nullptr, 0, nullptr),
            Result::invalidHandle);
  EXPECT_EQ(driver().graphDestroy(graph), Result::success);
  EXPECT_EQ(report(), "cuGraphAddChildGraphNode: there is no such graph");
}
