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

TEST_F(CudaGraph, CopiesFillsAndCallsAreNodes) {
  DevicePointer x = filled({1, 2, 3, 4}), y = allocate(4), z = allocate(4);
  struct Called {
    DevicePointer from, to;
  } called{y, z};
  auto negate = [](void *data) {
    auto *call = static_cast<Called *>(data);
    for (int i = 0; i < 4; ++i)
      std::bit_cast<float *>(call->to)[i] =
          -std::bit_cast<float *>(call->from)[i];
  };
  std::vector<Node> nodes = {{"fill", FillNode{y, 16, 0}, {}},
                             {"copy", CopyNode{x, y, 12}, {}},
                             {"negate",
                              CallNode{negate, &called},
                              {bytes(y, 4, false), bytes(z, 4, true)}}};
  EXPECT_EQ(run(nodes), "");
  EXPECT_EQ(numbersAt(z, 4), (std::vector<float>{-1, -2, -3, -0.0f}));
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
