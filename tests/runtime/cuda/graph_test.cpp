// Steps as graphs, on the emulated card, in many orders.

#include "emulated_card.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;

namespace {

struct CudaGraph : EmulatedCard {
  /// c = a + b; d = a + a; c = 2 c; e = c + d.
  std::vector<Node> program() {
    a_ = filled(std::vector<float>(100, 1));
    b_ = filled(std::vector<float>(100, 2));
    c_ = allocate(100);
    d_ = allocate(100);
    e_ = allocate(100);
    return {addNode(a_, b_, c_, 100), addNode(a_, a_, d_, 100),
            twiceNode(c_, 100), addNode(c_, d_, e_, 100)};
  }
  /// to = -from, of four numbers.
  struct Negation {
    DevicePointer from, to;
    int calls = 0;
  };
  static void negate(void *data) {
    auto *call = static_cast<Negation *>(data);
    ++call->calls;
    for (int i = 0; i < 4; ++i)
      std::bit_cast<float *>(call->to)[i] =
          -std::bit_cast<float *>(call->from)[i];
  }
  Node negationNode(Negation &call) {
    return {"negate",
            CaptureNode{[&](Stream stream) {
              return check(driver(), driver().streamCall(stream, negate, &call),
                           "negating");
            }},
            {bytes(call.from, 4, false), bytes(call.to, 4, true)}};
  }

  DevicePointer a_ = 0, b_ = 0, c_ = 0, d_ = 0, e_ = 0;
};

} // namespace

TEST_F(CudaGraph, GivesTheSameInAllOrders) {
  std::set<std::vector<std::string>> orders;
  for (unsigned seed = 0; seed < 20; ++seed) {
    FakeOptions options;
    options.logs = true;
    options.seed = seed;
    open(options);
    auto nodes = program();
    EXPECT_EQ(run(nodes), "");
    EXPECT_EQ(numbersAt(e_, 100), std::vector<float>(100, 8));
    orders.insert(fake_->log());
  }
  EXPECT_GT(orders.size(), 2u);
}

TEST_F(CudaGraph, HasAsManyEdgesAsBytesAskFor) {
  auto nodes = program();
  auto chained = StepGraph::build(*card_, nodes, Order::chain);
  auto free = StepGraph::build(*card_, nodes, Order::bytes);
  ASSERT_TRUE(chained.ok() && free.ok());
  EXPECT_EQ(chained->nodes(), 4u);
  EXPECT_EQ(chained->edges(), 3u);
  EXPECT_EQ(free->edges(), 3u); // 0 -> 2 -> 3, 1 -> 3
  ASSERT_TRUE(chained->upload(stream_.get()).ok());
  ASSERT_TRUE(chained->launch(stream_.get()).ok());
  ASSERT_TRUE(card_->synchronize().ok());
  EXPECT_EQ(numbersAt(e_, 100), std::vector<float>(100, 8));
}

TEST_F(CudaGraph, RunsAgainAndAgain) {
  DevicePointer x = filled({1, 2, 3});
  std::vector<Node> nodes = {twiceNode(x, 3)};
  auto graph = StepGraph::build(*card_, nodes, Order::bytes);
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (int step = 0; step < 5; ++step)
    ASSERT_TRUE(graph->launch(stream_.get()).ok());
  EXPECT_EQ(numbersAt(x, 3), (std::vector<float>{32, 64, 96}));
}

TEST_F(CudaGraph, CopiesFillsAndRecordedCallsAreNodes) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    FakeOptions options;
    options.seed = seed;
    open(options);
    DevicePointer x = filled({1, 2, 3, 4}), y = allocate(4), z = allocate(4),
                  w = allocate(4);
    Negation first{y, z}, second{z, w};
    std::vector<Node> nodes = {{"fill", FillNode{y, 16, 0}, {}},
                               {"copy", CopyNode{x, y, 12}, {}},
                               negationNode(first),
                               negationNode(second)};
    EXPECT_EQ(run(nodes), "");
    EXPECT_EQ(numbersAt(z, 4), (std::vector<float>{-1, -2, -3, -0.0f}));
    EXPECT_EQ(numbersAt(w, 4), (std::vector<float>{1, 2, 3, 0}));
  }
}

/// What it records it does at each launch, and nothing of it before.
TEST_F(CudaGraph, RunsWhatWasRecordedAgainAndAgain) {
  DevicePointer x = filled({1, 2, 3, 4}), y = allocate(4);
  Negation negation{x, y};
  std::vector<Node> nodes = {negationNode(negation), twiceNode(x, 4)};
  auto graph = StepGraph::build(*card_, nodes, Order::bytes);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->nodes(), 2u);
  EXPECT_EQ(negation.calls, 0);
  for (int step = 0; step < 3; ++step)
    ASSERT_TRUE(graph->launch(stream_.get()).ok());
  EXPECT_EQ(numbersAt(y, 4), (std::vector<float>{-4, -8, -12, -16}));
  EXPECT_EQ(negation.calls, 3);
}

/// A library may begin several kernels for a call.
TEST_F(CudaGraph, CountsAllThatWasRecorded) {
  DevicePointer x = filled({1, 2, 3, 4}), y = allocate(4);
  Negation negation{x, y};
  Node twiceRecorded = negationNode(negation);
  twiceRecorded.work = CaptureNode{[&](Stream stream) {
    for (int i = 0; i < 2; ++i)
      GRADUS_TRY(check(driver(), driver().streamCall(stream, negate, &negation),
                       "negating"));
    return Status();
  }};
  std::vector<Node> nodes = {twiceRecorded, twiceNode(x, 4)};
  auto graph = StepGraph::build(*card_, nodes, Order::bytes);
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_EQ(graph->nodes(), 3u);
}

TEST_F(CudaGraph, SaysWhatCannotBeRecorded) {
  std::vector<Node> nodes = {
      {"call", CaptureNode{[](Stream) { return failed("has no plan"); }}, {}}};
  EXPECT_EQ(run(nodes), "adding call to a graph: has no plan");
  nodes = {{"call",
            CaptureNode{[&](Stream stream) {
              return check(driver(), driver().streamSynchronize(stream),
                           "waiting");
            }},
            {}}};
  EXPECT_EQ(run(nodes),
            "adding call to a graph: waiting: cuStreamSynchronize: waits for a "
            "stream that records (CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED 900)");
  nodes = {{"call",
            CaptureNode{[&](Stream stream) {
              (void)driver().streamSynchronize(stream);
              return Status();
            }},
            {}}};
  EXPECT_EQ(run(nodes),
            "adding call to a graph: recording: cuStreamEndCapture: something "
            "came between that no graph can hold "
            "(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED 901)");
  report();
}

/// The graph has no edge that it could miss, and each that misses is found.
TEST_F(CudaGraph, EachMissingEdgeIsFound) {
  auto nodes = program();
  std::vector<std::vector<Access>> accesses;
  for (const Node &node : nodes)
    accesses.push_back(accessesOf(node));
  Edges edges = orderByBytes(accesses);
  for (size_t i = 0; i < edges.size(); ++i)
    for (size_t e = 0; e < edges[i].size(); ++e) {
      Edges fewer = edges;
      fewer[i].erase(fewer[i].begin() + ptrdiff_t(e));
      auto graph = StepGraph::build(*card_, nodes, fewer);
      ASSERT_FALSE(graph.ok());
      EXPECT_TRUE(has(graph.status().message(), "nothing orders the two"))
          << graph.status();
    }
  EXPECT_TRUE(has(report(), "kernel twice")) << report();
}

TEST_F(CudaGraph, NamesTheNodeThatCannotBeAdded) {
  DevicePointer x = filled({1});
  Node node = twiceNode(x, 1);
  std::get<KernelNode>(node.work).threads = 512;
  std::vector<Node> nodes = {node};
  EXPECT_EQ(run(nodes),
            "adding twice to a graph: cuGraphAddKernelNode_v2: kernel twice "
            "has 512 threads a block, and is made for 256 "
            "(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES 701)");
  report();
}
