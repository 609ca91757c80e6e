// What the commands of a plan become: blocks, arguments, tables, accesses.

#include "runtime/cuda/step_nodes.h"

#include "adder_on_card.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using namespace gradus::test;

namespace {

struct CudaStepNodes : AdderOnCard {
  void SetUp() override {
    AdderOnCard::SetUp();
    kernels_ = loadKernels(adderModule_);
    nodes_.emplace(*card_, plan(), *artifact_->kernels(plan()), kernels_,
                   nullptr);
    nodes_->place({0x1000, 0x2000, 0x3000, 0x4000, 0x5000});
  }
  void TearDown() override {
    adderModule_ = {};
    AdderOnCard::TearDown();
  }
  std::vector<Node> nodesOf(size_t command) {
    auto nodes = nodes_->nodesOf(*plan().graphs()->Get(0), command);
    EXPECT_TRUE(nodes.ok()) << nodes.status();
    return *std::move(nodes);
  }
  static std::vector<std::array<uint64_t, 4>> listOf(const Node &node) {
    std::vector<std::array<uint64_t, 4>> list;
    for (const Access &access : accessesOf(node))
      list.push_back({access.start, access.bytes, access.unit, access.writes});
    return list;
  }

  Owned<Module> adderModule_;
  std::vector<KernelFacts> kernels_;
  std::optional<StepNodes> nodes_;
};

using List = std::vector<std::array<uint64_t, 4>>;

} // namespace

TEST_F(CudaStepNodes, CountsWhatIsTakenBeyondThePlan) {
  StepExtras extras = nodes_->extras();
  EXPECT_EQ(extras.scratchBytes, 256u);
  EXPECT_EQ(extras.tableBytes, 3u * 5 * 8);
}

/// total += x: one row of 8 items, which are two pieces.
TEST_F(CudaStepNodes, FlatKernelsReadTheirSegmentsFromATable) {
  Node node = nodesOf(0)[0];
  const auto &work = std::get<KernelNode>(node.work);
  EXPECT_EQ(node.name, "command 0 (total += x)");
  EXPECT_EQ(work.threads, 32u);
  EXPECT_EQ(work.blocks, 2u);
  EXPECT_EQ(work.arguments, (std::vector<uint64_t>{0x5000, 1, 2}));
  EXPECT_EQ(nodes_->tables(),
            (std::vector<int64_t>{0, 8, 0x1000, 0x2000, 0x1000}));
  EXPECT_EQ(listOf(node), (List{{0x1000, 32, 4, 0},
                                {0x2000, 32, 4, 0},
                                {0x1000, 32, 4, 1},
                                {0x5000, 40, 8, 0}}));
}

/// Two segments of 8 and 5 items are 2 + 2 pieces.
TEST_F(CudaStepNodes, SegmentsShareALaunch) {
  Node node = nodesOf(2)[0];
  const auto &work = std::get<KernelNode>(node.work);
  EXPECT_EQ(work.arguments, (std::vector<uint64_t>{0x5000, 2, 4}));
  EXPECT_EQ(nodes_->tables(),
            (std::vector<int64_t>{0, 8, 0x1000, 0x3000, 0x2080, //
                                  2, 5, 0x2040, 0x3000, 0x20C0}));
  EXPECT_EQ(listOf(node).back(), (std::array<uint64_t, 4>{0x5000, 80, 8, 0}));
}

TEST_F(CudaStepNodes, OtherKernelsTakeAddressesAndScratch) {
  Node node = nodesOf(3)[0];
  const auto &work = std::get<KernelNode>(node.work);
  EXPECT_EQ(work.blocks, 1u);
  EXPECT_EQ(work.arguments, (std::vector<uint64_t>{0x1080, 0x4000}));
  EXPECT_EQ(listOf(node),
            (List{{0x1080, 8, 8, 0}, {0x1080, 8, 8, 1}, {0x4000, 8, 1, 1}}));
}

TEST_F(CudaStepNodes, RefuseKernelsOfOneSegmentOnMore) {
  for (size_t segments : {0, 2}) {
    TestArtifact made;
    auto &list = made.command(3).kind.AsKernelCommand()->segments;
    segments
        ? list.push_back(std::make_unique<gradus::artifact::SegmentT>(*list[0]))
        : list.clear();
    auto artifact = Artifact::fromBytes(made.bytes(), "adder");
    ASSERT_TRUE(artifact.ok()) << artifact.status();
    const auto &plan = *(*artifact)->header().plans()->Get(0);
    StepNodes nodes(*card_, plan, *(*artifact)->kernels(plan), kernels_,
                    nullptr);
    nodes.place({0x1000, 0x2000, 0x3000, 0x4000, 0x5000});
    EXPECT_EQ(nodes.nodesOf(*plan.graphs()->Get(0), 3).status().message(),
              "runs a kernel of one segment on " + std::to_string(segments));
  }
}

/// Its rows: none, and nothing is launched.
TEST_F(CudaStepNodes, LaunchNothingForSegmentsWithoutItems) {
  TestArtifact made;
  made.command(0).kind.AsKernelCommand()->segments[0]->items = 0;
  auto artifact = Artifact::fromBytes(made.bytes(), "adder");
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  const auto &plan = *(*artifact)->header().plans()->Get(0);
  StepNodes nodes(*card_, plan, *(*artifact)->kernels(plan), kernels_, nullptr);
  nodes.place({0x1000, 0x2000, 0x3000, 0x4000, 0x5000});
  auto found = nodes.nodesOf(*plan.graphs()->Get(0), 0);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->empty());
}

TEST_F(CudaStepNodes, CopiesAreNodesOfTheirOwn) {
  Node node = nodesOf(1)[0];
  EXPECT_EQ(listOf(node), (List{{0x1000, 32, 1, 0}, {0x2040, 32, 1, 1}}));
}

/// No more blocks than run at once.
TEST_F(CudaStepNodes, FillsTheCardOnce) {
  kernels_[0].piece = 1;
  kernels_[0].residentBlocks = 4;
  Node node = nodesOf(0)[0];
  const auto &work = std::get<KernelNode>(node.work);
  EXPECT_EQ(work.arguments[2], 8u);
  EXPECT_EQ(work.blocks, 4u);
}
