// Memory, copies, streams and events that are used wrongly on the emulated
// card, and that are used well in all orders.

#include "runtime/emulated/fake_state.h"

#include "tests/runtime/cuda/emulated_card.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;

namespace {

struct FakeTransfers : EmulatedCard {
  Owned<Stream> stream() { return *card_->createStream(); }
  Owned<Event> event(bool timed = false) { return *card_->createEvent(timed); }
  Owned<void *> pinned(size_t bytes) {
    return *card_->allocatePinned({"test", bytes});
  }
  /// On the card, by a graph.
  std::string copy(DevicePointer to, DevicePointer from, uint64_t bytes,
                   const Owned<Stream> &stream) {
    std::vector<Node> nodes = {{"copy", CopyNode{from, to, bytes}, {}}};
    auto graph = StepGraph::build(*card_, nodes, Order::chain);
    EXPECT_TRUE(graph.ok()) << graph.status();
    return graph->launch(stream.get()).message();
  }
};

} // namespace

TEST_F(FakeTransfers, MovesBytesThroughPinnedMemory) {
  Owned<void *> in = pinned(8), out = pinned(8);
  DevicePointer there = allocate(2);
  std::memcpy(in.get(), "1234567", 8);
  EXPECT_EQ(driver().copyToDevice(there, in.get(), 8, stream_.get()),
            Result::success);
  EXPECT_EQ(driver().copyToHost(out.get(), there, 8, stream_.get()),
            Result::success);
  EXPECT_NE(std::memcmp(out.get(), "1234567", 8), 0); // not yet
  EXPECT_EQ(driver().streamSynchronize(stream_.get()), Result::success);
  EXPECT_EQ(std::memcmp(out.get(), "1234567", 8), 0);
}

TEST_F(FakeTransfers, FindsPinnedMemoryThatChangesTooEarly) {
  Owned<void *> in = pinned(8);
  DevicePointer there = allocate(2);
  std::memset(in.get(), 1, 8);
  EXPECT_EQ(driver().copyToDevice(there, in.get(), 8, stream_.get()),
            Result::success);
  std::memset(in.get(), 2, 8);
  EXPECT_EQ(driver().streamSynchronize(stream_.get()), Result::launchFailed);
  EXPECT_EQ(report(),
            "an upload of 8 bytes: the host changed it before it was done");
}

TEST_F(FakeTransfers, CopiesOnTheCard) {
  DevicePointer from = filled({1, 2, 3}), to = allocate(3);
  EXPECT_EQ(driver().copyOnDevice(to, from, 12, stream_.get()),
            Result::success);
  EXPECT_EQ(numbersAt(to, 3), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(driver().copyOnDevice(to, from, 16, stream_.get()),
            Result::success);
  EXPECT_EQ(driver().streamSynchronize(stream_.get()), Result::illegalAddress);
  EXPECT_TRUE(has(report(), "a copy of 16 bytes: memory that it"));
}

/// The null handle is a stream that nobody creates or destroys.
TEST_F(FakeTransfers, HasADefaultStream) {
  DevicePointer there = allocate(2);
  EXPECT_EQ(driver().fill(there, 0, 8, nullptr), Result::success);
  Owned<Event> filled = event();
  EXPECT_EQ(driver().eventRecord(filled.get(), nullptr), Result::success);
  EXPECT_EQ(driver().streamWait(stream_.get(), filled.get(), 0),
            Result::success);
  EXPECT_EQ(numbersAt(there, 2), (std::vector<float>{0, 0}));
  EXPECT_EQ(driver().streamSynchronize(nullptr), Result::success);
  EXPECT_EQ(driver().streamDestroy(nullptr), Result::invalidHandle);
  report();
}

TEST_F(FakeTransfers, FindsBytesOutside) {
  DevicePointer there = allocate(4);
  EXPECT_EQ(driver().fill(there + 8, 0, 16, stream_.get()), Result::success);
  EXPECT_EQ(driver().streamSynchronize(stream_.get()), Result::illegalAddress);
  EXPECT_EQ(report(), "a fill of 16 bytes: memory that it writes ends 8 bytes "
                      "behind the allocation of 16 bytes");
}

TEST_F(FakeTransfers, FindsReadsOfWhatNothingWrote) {
  DevicePointer there = allocate(4);
  ASSERT_EQ(driver().fill(there, 0, 12, stream_.get()), Result::success);
  float numbers[4];
  EXPECT_EQ(driver().copyToHost(numbers, there, 12, stream_.get()),
            Result::success);
  EXPECT_EQ(driver().copyToHost(numbers, there, 16, stream_.get()),
            Result::illegalAddress);
  EXPECT_EQ(report(), "a download of 16 bytes: memory that it reads holds what "
                      "nothing has written");
}

TEST_F(FakeTransfers, FindsReadsOfWhatWasDiscarded) {
  DevicePointer x = filled({1, 2}), y = allocate(2);
  EXPECT_EQ(driver().discard(x + 4, 4, stream_.get()), Result::success);
  EXPECT_EQ(copy(y, x, 4, stream_), "");
  EXPECT_EQ(copy(y, x, 8, stream_), "");
  EXPECT_EQ(driver().contextSynchronize(), Result::illegalAddress);
  EXPECT_EQ(report(), "node 0 (copy of 8 bytes): memory that it reads holds "
                      "what nothing has written");
}

TEST_F(FakeTransfers, FindsMemoryFreedTooEarly) {
  auto memory = *card_->allocate({"test", 64});
  ASSERT_EQ(driver().fill(memory.get(), 0, 64, stream_.get()), Result::success);
  EXPECT_EQ(driver().memoryFree(memory.get()), Result::invalidValue);
  EXPECT_EQ(report(), "cuMemFree_v2: frees the allocation of 64 bytes that a "
                      "fill of 64 bytes is yet to use");
  EXPECT_EQ(driver().contextSynchronize(), Result::success);
}

TEST_F(FakeTransfers, FindsMemoryUsedAfterItWasFreed) {
  DevicePointer freed = (*card_->allocate({"test", 64})).get();
  ASSERT_EQ(driver().fill(freed, 0, 64, stream_.get()), Result::success);
  EXPECT_EQ(driver().contextSynchronize(), Result::illegalAddress);
  EXPECT_EQ(report(), "a fill of 64 bytes: memory that it writes lies in the "
                      "allocation of 64 bytes that was freed");
}

TEST_F(FakeTransfers, FindsCopiesOntoThemselves) {
  DevicePointer x = filled({1, 2, 3, 4});
  ASSERT_EQ(copy(x + 4, x, 8, stream_), "");
  EXPECT_EQ(driver().contextSynchronize(), Result::illegalAddress);
  EXPECT_EQ(report(), "node 0 (copy of 8 bytes): the bytes that it writes are "
                      "those it reads");
}

//===-- streams and events ------------------------------------------------===//

TEST_F(FakeTransfers, FindsStreamsWithoutAnEventBetweenThem) {
  Owned<Stream> other = stream();
  DevicePointer x = filled({1, 2, 3, 4}), y = allocate(4);
  EXPECT_NE(copy(y, x, 16, other), "");
  EXPECT_EQ(report(), "node 0 (copy of 16 bytes) reads 16 bytes that an upload "
                      "of 16 bytes writes, and nothing orders the two");
}

TEST_F(FakeTransfers, EventsOrderStreamsInAllOrders) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    FakeOptions options;
    options.seed = seed;
    open(options);
    Owned<Stream> other = stream();
    Owned<Event> ready = event();
    DevicePointer x = filled({1, 2}), y = allocate(2);
    EXPECT_EQ(driver().eventRecord(ready.get(), stream_.get()),
              Result::success);
    EXPECT_EQ(driver().streamWait(other.get(), ready.get(), 0),
              Result::success);
    EXPECT_EQ(copy(y, x, 8, other), "");
    EXPECT_EQ(driver().streamSynchronize(other.get()), Result::success);
    EXPECT_EQ(numbersAt(y, 2), (std::vector<float>{1, 2}));
  }
}

TEST_F(FakeTransfers, AWaitOfTheHostOrdersStreamsToo) {
  Owned<Stream> other = stream();
  Owned<Event> ready = event();
  DevicePointer x = filled({1, 2}), y = allocate(2);
  EXPECT_EQ(driver().eventRecord(ready.get(), stream_.get()), Result::success);
  EXPECT_EQ(driver().eventSynchronize(ready.get()), Result::success);
  EXPECT_EQ(copy(y, x, 8, other), "");
  EXPECT_EQ(driver().contextSynchronize(), Result::success);
}

TEST_F(FakeTransfers, CallsTheHostWhenItsTurnHasCome) {
  int calls = 0;
  auto count = [](void *data) { ++*static_cast<int *>(data); };
  EXPECT_EQ(driver().streamCall(stream_.get(), count, &calls), Result::success);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(driver().streamSynchronize(stream_.get()), Result::success);
  EXPECT_EQ(calls, 1);
}

TEST_F(FakeTransfers, TellsTheTimeBetweenEvents) {
  Owned<Event> start = event(true), end = event(true), untimed = event();
  float milliseconds = -1;
  for (Owned<Event> *each : {&start, &end, &untimed})
    EXPECT_EQ(driver().eventRecord(each->get(), stream_.get()),
              Result::success);
  EXPECT_EQ(driver().eventElapsed(&milliseconds, start.get(), end.get()),
            Result::notReady);
  EXPECT_EQ(driver().contextSynchronize(), Result::success);
  EXPECT_EQ(driver().eventElapsed(&milliseconds, start.get(), end.get()),
            Result::success);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(driver().eventElapsed(&milliseconds, start.get(), untimed.get()),
            Result::invalidHandle);
  EXPECT_EQ(report(), "cuEventElapsedTime: the event keeps no time");
}

TEST_F(FakeTransfers, RefusesEventsThatWereNeverRecorded) {
  Owned<Event> never = event();
  EXPECT_EQ(driver().streamWait(stream_.get(), never.get(), 0),
            Result::invalidValue);
  EXPECT_EQ(driver().eventSynchronize(never.get()), Result::invalidValue);
  EXPECT_EQ(report(),
            "cuStreamWaitEvent: waits for an event that was never recorded");
}

TEST_F(FakeTransfers, RefusesHandlesThatAreGone) {
  Event gone = event().get();
  Stream closed = stream().get();
  EXPECT_EQ(driver().eventRecord(gone, stream_.get()), Result::invalidHandle);
  EXPECT_EQ(report(), "cuEventRecord: there is no such event");
  EXPECT_EQ(driver().streamSynchronize(closed), Result::invalidHandle);
  EXPECT_EQ(driver().streamDestroy(closed), Result::invalidHandle);
  EXPECT_EQ(driver().eventSynchronize(reinterpret_cast<Event>(stream_.get())),
            Result::invalidHandle);
  DevicePointer x = allocate(1);
  EXPECT_EQ(driver().fill(x, 0, 4, closed), Result::invalidHandle);
}
