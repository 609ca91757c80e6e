// What the commands of a plan become: blocks, arguments, tables, accesses.

#include "runtime/cuda/step_nodes.h"

#include "adder_on_card.h"
#include "test_library.h"

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

/// It reads the product, of which there is a block, and the bias.
TEST_F(CudaStepNodes, LaunchAKernelBehindAPlainProduct) {
  auto signature = std::make_unique<gradus::artifact::KernelSignatureT>();
  signature->fixed_bytes = {32, 4, 16};
  signature->bytes_per_item = {0, 0, 0};
  signature->max_items = signature->outputs = 1;
  adder_.kernels.kernels.push_back(std::move(signature));
  read();
  kernels_.push_back({kernels_[1].function, 64, 4, 0, {700}, 8});
  gradus::artifact::LibraryCommandT call = callOn(kTotal, kSum, UINT32_MAX);
  call.inputs.push_back(
      std::make_unique<gradus::artifact::LibraryTensorT>(*call.inputs[1]));
  call.outputs[0]->dtype = gradus::artifact::DType::bf16;
  call.op.Asmatmul()->epilogue = 2;
  PackedPlan packed("matmul+bias", call);
  TestLibrary library(driver());
  library.lack = "it has no algorithm with BIAS";
  StepNodes nodes(*card_, *packed, *artifact_->kernels(plan()), kernels_,
                  &library);
  ASSERT_TRUE(nodes.prepare().ok());
  EXPECT_EQ(nodes.extras().scratchBytes, 768u);
  EXPECT_EQ(nodes.extras().productBytes, 32u);
  nodes.place({.state = 0x1000,
               .arena = 0x2000,
               .constants = 0x3000,
               .scratch = 0x4000,
               .product = 0x5000});
  auto found = nodes.nodesOf(*(*packed).graphs()->Get(0), 0);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), 2u);
  const Node &node = (*found)[1];
  const auto &work = std::get<KernelNode>(node.work);
  EXPECT_EQ(node.name, "command 0 (matmul+bias)");
  EXPECT_EQ(work.function, kernels_[1].function);
  EXPECT_EQ(work.threads, 64u);
  EXPECT_EQ(work.blocks, 4u);
  EXPECT_EQ(work.arguments,
            (std::vector<uint64_t>{0x5000, 0x3000, 0x2040, 0x4000}));
  EXPECT_EQ(listOf(node), (List{{0x5000, 32, 4, 0},
                                {0x3000, 4, 4, 0},
                                {0x2040, 16, 2, 1},
                                {0x4000, 700, 1, 1}}));
}
