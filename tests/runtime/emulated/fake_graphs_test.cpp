// Faults planted into graphs and kernels: the emulated card finds each, and
// names it.

#include "tests/runtime/cuda/emulated_card.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;

using FakeGraphs = EmulatedCard;

TEST_F(FakeGraphs, FindsAccessesThatNoEdgeOrders) {
  DevicePointer x = filled({1, 2}), y = allocate(2);
  std::vector<Node> nodes = {twiceNode(x, 2), {"copy", CopyNode{x, y, 8}, {}}};
  auto graph = StepGraph::build(*card_, nodes, Edges{{}, {}});
  EXPECT_EQ(graph.status().message(),
            "making a graph of 2 nodes: cuGraphInstantiateWithFlags: node 1 "
            "(copy of 8 bytes) reads 8 bytes that node 0 (kernel twice) "
            "writes, and nothing orders the two (CUDA_ERROR_INVALID_VALUE 1)");
  EXPECT_NE(report(), "");
}

TEST_F(FakeGraphs, FindsGraphsThatRunSideBySide) {
  auto other = *card_->createStream();
  DevicePointer x = filled({1, 2});
  ASSERT_TRUE(card_->synchronize().ok());
  std::vector<Node> nodes = {twiceNode(x, 2)};
  auto first = StepGraph::build(*card_, nodes, Order::bytes);
  auto second = StepGraph::build(*card_, nodes, Order::bytes);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(first->launch(stream_.get()).ok());
  EXPECT_EQ(second->launch(other.get()).message(),
            "launching a graph on the emulated GPU: node 0 (kernel twice) "
            "reads 8 bytes that node 0 (kernel twice) writes, and nothing "
            "orders the two (CUDA_ERROR_LAUNCH_FAILED 719)");
  report();
}

/// As on a card: an executable graph does not overtake itself.
TEST_F(FakeGraphs, RunsAGraphOnceAtATime) {
  auto other = *card_->createStream();
  DevicePointer x = filled({1, 2});
  ASSERT_TRUE(card_->synchronize().ok());
  std::vector<Node> nodes = {twiceNode(x, 2)};
  auto graph = StepGraph::build(*card_, nodes, Order::bytes);
  ASSERT_TRUE(graph.ok());
  EXPECT_TRUE(graph->launch(stream_.get()).ok());
  EXPECT_TRUE(graph->launch(other.get()).ok());
  EXPECT_EQ(card_->synchronize().message(), "");
  EXPECT_EQ(numbersAt(x, 2), (std::vector<float>{4, 8}));
}

TEST_F(FakeGraphs, FindsKernelsThatTouchMoreThanTheySay) {
  DevicePointer x = filled({1, 2, 3, 4});
  Node node = twiceNode(x, 4);
  for (Access &access : node.accesses)
    access.bytes = 8;
  std::vector<Node> nodes = {node};
  std::string message = run(nodes);
  EXPECT_TRUE(has(message, "kernel twice, block 0, thread 2: reads 4 bytes of "
                           "argument 0 outside of the device's memory"))
      << message;
  EXPECT_TRUE(has(message, "CUDA_ERROR_ILLEGAL_ADDRESS 700")) << message;
  report();
}

TEST_F(FakeGraphs, FindsKernelsThatReadWhatNothingWrote) {
  DevicePointer x = allocate(4);
  std::vector<Node> nodes = {twiceNode(x, 4)};
  EXPECT_TRUE(has(run(nodes), "element 0 of argument 0: reads what nothing has "
                              "written"));
  report();
}

TEST_F(FakeGraphs, FindsRangesOutsideBeforeAnythingRuns) {
  DevicePointer x = filled({1, 2, 3, 4});
  std::vector<Node> nodes = {twiceNode(x, 5)};
  std::string message = run(nodes);
  EXPECT_TRUE(has(message, "node 0 (kernel twice): memory that it reads ends 4 "
                           "bytes behind the allocation of 16 bytes"))
      << message;
  EXPECT_TRUE(has(message, "making a graph")) << message;
  report();
}

TEST_F(FakeGraphs, FindsMemoryFreedUnderAGraph) {
  auto memory = *card_->allocate({"test", 8});
  DevicePointer x = memory.get();
  ASSERT_EQ(driver().fill(x, 0, 8, stream_.get()), Result::success);
  std::vector<Node> nodes = {twiceNode(x, 2)};
  auto graph = StepGraph::build(*card_, nodes, Order::bytes);
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_TRUE(card_->synchronize().ok());
  memory = {};
  EXPECT_TRUE(graph->launch(stream_.get()).ok());
  EXPECT_TRUE(has(card_->synchronize().message(),
                  "node 0 (kernel twice): memory that it reads lies in the "
                  "allocation of 8 bytes that was freed"));
  report();
}

TEST_F(FakeGraphs, FindsCodeUnloadedUnderAGraph) {
  DevicePointer x = filled({1, 2});
  std::vector<Node> nodes = {twiceNode(x, 2)};
  auto graph = StepGraph::build(*card_, nodes, Order::bytes);
  ASSERT_TRUE(graph.ok()) << graph.status();
  module_ = {};
  EXPECT_TRUE(graph->launch(stream_.get()).ok());
  EXPECT_TRUE(has(card_->synchronize().message(), "its code was unloaded"));
  EXPECT_TRUE(has(run(nodes), "making a graph: ")); // lost by now
  report();
}

/// As on a card: what was launched runs, and nothing more.
TEST_F(FakeGraphs, FindsLaunchesOfDestroyedGraphs) {
  DevicePointer x = filled({1, 2});
  Graph graph;
  GraphNode node;
  GraphExec exec;
  FillParams params = {x, 8, 0, 1, 8, 1};
  ASSERT_EQ(driver().graphCreate(&graph, 0), Result::success);
  ASSERT_EQ(driver().graphAddFill(&node, graph, nullptr, 0, &params, nullptr),
            Result::success);
  ASSERT_EQ(driver().graphInstantiate(&exec, graph, 0), Result::success);
  ASSERT_EQ(driver().graphDestroy(graph), Result::success);
  ASSERT_EQ(driver().graphLaunch(exec, stream_.get()), Result::success);
  EXPECT_EQ(driver().execDestroy(exec), Result::success);
  EXPECT_EQ(numbersAt(x, 2), (std::vector<float>{0, 0}));
  EXPECT_EQ(driver().graphLaunch(exec, stream_.get()), Result::invalidHandle);
  EXPECT_EQ(report(), "cuGraphLaunch: there is no such executable graph");
}

TEST_F(FakeGraphs, RefusesNodesOfOtherGraphs) {
  DevicePointer x = allocate(1);
  Graph one, other;
  GraphNode node, added;
  FillParams params = {x, 4, 0, 1, 4, 1};
  ASSERT_EQ(driver().graphCreate(&one, 0), Result::success);
  ASSERT_EQ(driver().graphCreate(&other, 0), Result::success);
  ASSERT_EQ(driver().graphAddFill(&node, one, nullptr, 0, &params, nullptr),
            Result::success);
  EXPECT_EQ(driver().graphAddFill(&added, other, &node, 1, &params, nullptr),
            Result::invalidValue);
  EXPECT_EQ(driver().graphDestroy(one), Result::success);
  EXPECT_EQ(driver().graphDestroy(other), Result::success);
  EXPECT_EQ(report(),
            "cuGraphAddMemsetNode: comes after a node of another graph");
}
