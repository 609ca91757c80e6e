// Library commands made ready: their scratch, what they touch, and what is said
// where nobody serves them.

#include "runtime/cuda/library_nodes.h"

#include "adder_on_card.h"
#include "test_library.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using namespace gradus::test;
using gradus::artifact::LibraryCommandT;

namespace {

using List = std::vector<std::array<uint64_t, 4>>;

struct CudaLibraryNodes : AdderOnCard {
  static constexpr StepMemory kMemory = {0x10000, 0x20000, 0x30000, 0x40000,
                                         0x50000, 0x60000, 0x70000, 0x80000};

  void SetUp() override {
    AdderOnCard::SetUp();
    library_.emplace(driver());
  }
  /// Adds a command with so many bytes of the plan's scratch.
  void add(uint64_t scratch) {
    adder_.add("negate", callOn(kTotal, kSum,
                                scratch ? adder_.addArena(int64_t(scratch / 4))
                                        : UINT32_MAX));
    read();
  }
  Status prepare() {
    nodes_.emplace(plan(), kernels(), &*library_);
    return nodes_->prepare();
  }
  const gradus::artifact::CodeHeader &kernels() const {
    return *artifact_->kernels(plan());
  }
  List accessesOf(uint32_t i) const {
    std::vector<Node> nodes = nodes_->nodesOf(command(i), kMemory);
    EXPECT_EQ(nodes.size(), 1u);
    return accessesOf(nodes[0]);
  }
  static List accessesOf(const Node &node) {
    List list;
    for (const Access &access : node.accesses)
      list.push_back({access.start, access.bytes, access.unit, access.writes});
    return list;
  }

  std::optional<TestLibrary> library_;
  std::optional<LibraryNodes> nodes_;
};

} // namespace

TEST_F(CudaLibraryNodes, TouchTheirTensors) {
  add(0);
  ASSERT_TRUE(prepare().ok());
  EXPECT_EQ(library_->offered, (std::vector<uint64_t>{0}));
  EXPECT_EQ(nodes_->scratchBytes(), 0u);
  EXPECT_EQ(
      accessesOf(4),
      (List{{0x10000, 32, 4, 0}, {0x30000, 4, 4, 0}, {0x20040, 32, 4, 1}}));
}

TEST_F(CudaLibraryNodes, TakeThePlansScratchWhereItSuffices) {
  library_->needs = 1000;
  add(1024);
  ASSERT_TRUE(prepare().ok());
  EXPECT_EQ(library_->offered, (std::vector<uint64_t>{1024}));
  EXPECT_EQ(nodes_->scratchBytes(), 0u);
  EXPECT_EQ(accessesOf(4).back(),
            (std::array<uint64_t, 4>{0x20100, 1000, 1, 1}));
}

/// It begins at a multiple of 64, and libraries want one of 256.
TEST_F(CudaLibraryNodes, AlignThePlansScratch) {
  adder_.addArena(16);
  library_->needs = 832;
  add(1024);
  ASSERT_TRUE(prepare().ok());
  EXPECT_EQ(library_->offered, (std::vector<uint64_t>{1024 - 192}));
  EXPECT_EQ(accessesOf(4).back(),
            (std::array<uint64_t, 4>{0x20200, 832, 1, 1}));
}

TEST_F(CudaLibraryNodes, ShareABlockWhereThePlansIsTooSmall) {
  add(64);
  add(512);
  add(4096);
  library_->needs = 1000;
  ASSERT_TRUE(prepare().ok());
  EXPECT_EQ(library_->offered, (std::vector<uint64_t>{64, 320, 4096 - 192}));
  EXPECT_EQ(nodes_->scratchBytes(), 1000u);
  EXPECT_EQ(nodes_->inWordsFor("card").front(),
            "3 different calls of libraries, 2 with scratch beside the plan's "
            "(1000 bytes)");
  for (uint32_t i : {4, 5})
    EXPECT_EQ(accessesOf(i).back(),
              (std::array<uint64_t, 4>{0x60000, 1000, 1, 1}));
  EXPECT_NE(accessesOf(6).back()[0], 0x60000u);
}

/// As layers of a model are: all but the buffers is the same.
TEST_F(CudaLibraryNodes, ShareACallWhereTheyAreAlike) {
  for (uint32_t from : {kTotal, kX, kTotal})
    adder_.add("negate", callOn(from, kSum, UINT32_MAX));
  activationOf(*adder_.command(6).kind.AsLibraryCommand()) =
      gradus::artifact::Activation::relu;
  read();
  library_->warms = true;
  ASSERT_TRUE(prepare().ok());
  EXPECT_EQ(library_->offered.size(), 2u);
  EXPECT_EQ(accessesOf(4)[0], (std::array<uint64_t, 4>{0x10000, 32, 4, 0}));
  EXPECT_EQ(accessesOf(5)[0], (std::array<uint64_t, 4>{0x20000, 32, 4, 0}));
  StepMemory memory;
  memory.state = allocate(64);
  memory.arena = allocate(64);
  ASSERT_TRUE(nodes_->warmUp(driver(), stream_.get(), memory).ok());
  EXPECT_EQ(library_->ran, 2);
}

TEST_F(CudaLibraryNodes, NameTheCommandThatNobodyServes) {
  add(0);
  library_->refusal = "has no such product";
  EXPECT_EQ(prepare().message(), "command 4 (negate): has no such product");
  EXPECT_EQ(LibraryNodes(plan(), kernels(), nullptr).prepare().message(),
            "command 4 (negate): this Gradus runs no library commands on a "
            "GPU");
  auto &tensor = *adder_.command(4).kind.AsLibraryCommand()->inputs[0];
  tensor.inner_blocks = {4};
  tensor.inner_axes = {0};
  read();
  library_->refusal = "";
  EXPECT_EQ(prepare().message(),
            "command 4 (negate): input 0: has axis 0 of size 8 in blocks of 4, "
            "which libraries of cards do not take");
}

TEST_F(CudaLibraryNodes, WarmUpWhereTheirServerWantsIt) {
  add(0);
  StepMemory memory;
  memory.state = allocate(64);
  memory.arena = allocate(64);
  for (bool warms : {false, true}) {
    library_->warms = warms;
    ASSERT_TRUE(prepare().ok());
    ASSERT_TRUE(nodes_->warmUp(driver(), stream_.get(), memory).ok());
    EXPECT_EQ(library_->ran, warms);
  }
}

TEST_F(CudaLibraryNodes, SumByOnesWhereTheLibraryLacksSums) {
  LibraryCommandT call = callOn(kTotal, kSum, UINT32_MAX);
  call.outputs.push_back(
      std::make_unique<gradus::artifact::LibraryTensorT>(*call.outputs[0]));
  call.outputs[1]->buffer = kShifted;
  PackedPlan plan("matmul+sum", call);
  library_->lack = "it has no algorithm with BGRADB";
  LibraryNodes nodes(*plan, kernels(), &*library_);
  Status status = nodes.prepare();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(nodes.onesBytes(), 256u);
  std::vector<Node> made = nodes.nodesOf(plan.command(), kMemory);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(accessesOf(made[0])[1],
            (std::array<uint64_t, 4>{0x70000, 4, 4, 0}));
  EXPECT_EQ(accessesOf(made[0])[2][0], 0x20080u);
  EXPECT_EQ(accessesOf(made[1])[1][0], 0x30000u);
  EXPECT_EQ(accessesOf(made[1])[2][0], 0x20040u);
  EXPECT_EQ(nodes.inWordsFor("card").back(),
            "matmul+sum: plain call and a product with ones, 1 call (it has no "
            "algorithm with BGRADB)");
  // The ones are there before anything runs.
  StepMemory memory;
  memory.ones = allocate(64);
  ASSERT_TRUE(nodes.warmUp(driver(), stream_.get(), memory).ok());
  EXPECT_EQ(numbersAt(memory.ones, 1), (std::vector<float>{1}));
}

/// In f32 the product is where the result will be; in 16 bits in a block that
/// all such products share.
TEST_F(CudaLibraryNodes, RunAKernelWhereTheLibraryLacksAnEpilogue) {
  using gradus::artifact::DType;
  library_->lack = "it has no algorithm with BIAS";
  auto kernel = std::make_unique<gradus::artifact::KernelSignatureT>();
  kernel->fixed_bytes = {48, 4, 32};
  kernel->bytes_per_item = {0, 0, 0};
  kernel->max_items = kernel->outputs = 1;
  adder_.kernels.kernels.push_back(std::move(kernel));
  read();
  for (auto [dtype, product, bytes] :
       {std::tuple(DType::f32, 0x20040, 0), {DType::bf16, 0x80000, 48}}) {
    LibraryCommandT call = callOn(kTotal, kSum, UINT32_MAX);
    call.inputs.push_back(
        std::make_unique<gradus::artifact::LibraryTensorT>(*call.inputs[1]));
    call.outputs[0]->dtype = dtype;
    call.op.Asmatmul()->epilogue = 2;
    PackedPlan plan("matmul+bias", call);
    LibraryNodes nodes(*plan, kernels(), &*library_);
    Status status = nodes.prepare();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(nodes.productBytes(), uint64_t(bytes));
    EXPECT_EQ(nodes.epilogueKernels(), (std::vector<uint32_t>{2}));
    std::vector<Node> made = nodes.nodesOf(plan.command(), kMemory);
    ASSERT_EQ(made.size(), 1u);
    EXPECT_EQ(accessesOf(made[0])[2],
              (std::array<uint64_t, 4>{uint64_t(product), 32, 4, 1}));
    auto launch = nodes.epilogueOf(plan.command(), kMemory);
    ASSERT_TRUE(launch);
    EXPECT_EQ(launch->kernel, 2u);
    EXPECT_EQ(launch->arguments,
              (std::vector<uint64_t>{uint64_t(product), 0x30000, 0x20040}));
    EXPECT_EQ(launch->elementBytes,
              (std::vector<uint32_t>{4, 4, dtype == DType::f32 ? 4u : 2u}));
    EXPECT_EQ(nodes.inWordsFor("card").back(),
              "matmul+bias: plain call and a kernel, 1 call (it has no "
              "algorithm with BIAS)");
  }
}

TEST_F(CudaLibraryNodes, RunNoKernelWhereTheLibraryHasAll) {
  LibraryCommandT call = callOn(kTotal, kSum, UINT32_MAX);
  activationOf(call) = gradus::artifact::Activation::relu;
  call.op.Asmatmul()->epilogue = 0;
  PackedPlan plan("matmul+relu", call);
  LibraryNodes nodes(*plan, kernels(), &*library_);
  ASSERT_TRUE(nodes.prepare().ok());
  EXPECT_FALSE(nodes.epilogueOf(plan.command(), kMemory));
  EXPECT_TRUE(nodes.epilogueKernels().empty());
  EXPECT_EQ(nodes.productBytes(), 0u);
  auto forms = nodes.forms();
  ASSERT_EQ(forms.size(), 1u);
  EXPECT_EQ(forms[0].call, "matmul+relu");
  EXPECT_EQ(forms[0].form, "whole");
  EXPECT_EQ(forms[0].why, "");
  EXPECT_EQ(forms[0].count, 1u);
}

/// As another compiler may have made it.
TEST_F(CudaLibraryNodes, SayWhatIsLackingWhereThereIsNoKernel) {
  LibraryCommandT call = callOn(kTotal, kSum, UINT32_MAX);
  activationOf(call) = gradus::artifact::Activation::relu;
  PackedPlan plan("matmul+relu", call);
  library_->lack = "it has no algorithm with RELU";
  EXPECT_EQ(LibraryNodes(*plan, kernels(), &*library_).prepare().message(),
            "command 0 (matmul+relu): it has no algorithm with RELU, and the "
            "artifact no kernel to take its place");
}

/// A call may be recorded on a stream that goes with the recording.
TEST_F(CudaLibraryNodes, LeaveTheStreamOnceItRecordsNoMore) {
  add(0);
  ASSERT_TRUE(prepare().ok());
  StepMemory memory;
  memory.state = allocate(64);
  memory.arena = allocate(64);
  memory.constants = allocate(1);
  auto nodes = nodes_->nodesOf(command(4), memory);
  ASSERT_TRUE(StepGraph::build(*card_, nodes, Order::chain).ok());
  EXPECT_EQ(library_->left, 1);
}
