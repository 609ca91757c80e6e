// Emitted kernels as a graph on the emulated card: chains of them in all
// orders, and faults planted into what the graph says of them.

#include "gpu_card.h"
#include "kernel_text.h"

using namespace gradus;
using namespace gradus::test;

namespace {

constexpr int64_t kRows = 3, kColumns = 3000, kItems = kRows * kColumns;

/// y = 2 x, flat; s = the sum of each row of y.
std::string twoKernels() {
  NestText doubled{{mlir::ShapedType::kDynamic},
                   {},
                   {},
                   {{"%x", buffer({-1}), "(i) -> (i)"}},
                   {{"%y", buffer({-1}), "(i) -> (i)"}},
                   {},
                   "",
                   "\n ^bb0(%a: f32):\n %r = arith.addf %a, %a : f32\n "
                   "plan.yield %r : f32\n"};
  NestText sums{{kRows},
                {kColumns},
                {{"%x", buffer({kRows, kColumns}), "(i, j) -> (i, j)"}},
                {},
                {{"%y", buffer({kRows}), "(i) -> (i)"}},
                {"sum"},
                "\n ^bb0(%a: f32):\n plan.yield %a : f32\n",
                plainSum};
  return kernelOf("doubled", doubled, "flat", 0) +
         kernelOf("sums", sums, "rows", kRows);
}

struct GpuCard : ::testing::Test {
  void SetUp() override {
    module_ = mlir::parseSourceString<mlir::ModuleOp>(twoKernels(),
                                                      &context_.context);
    kernels_ = llvm::to_vector(module_->getOps<plan::KernelOp>());
  }
  /// The two kernels one after the other, on x = 0, 1, 2, ...
  std::vector<cuda::Node> chain(KernelsOnCard &card) {
    std::vector<float> x(kItems);
    for (int64_t i = 0; i < kItems; ++i)
      x[size_t(i)] = float(i % kColumns);
    memory_.clear();
    cuda::DevicePointer in = card.send(x.data(), kItems * 4);
    for (int64_t count : {kItems, kRows})
      memory_.push_back(*card.card().allocate({"test", size_t(count * 4)}));
    return {card.node(0, {in, memory_[0].get()}, kItems, 4),
            card.node(1, {memory_[0].get(), memory_[1].get()}, 0, 4)};
  }
  std::string run(unsigned seed,
                  llvm::function_ref<void(std::vector<cuda::Node> &)> change) {
    cuda::FakeOptions options;
    options.seed = seed;
    KernelsOnCard card(kernels_, options);
    auto nodes = chain(card);
    change(nodes);
    std::string wrong = card.run(nodes, cuda::Order::bytes);
    sums_.assign(kRows, 0);
    if (wrong.empty())
      card.receive(sums_.data(), memory_[1].get(), kRows * 4);
    memory_.clear();
    return wrong;
  }

  Context context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  llvm::SmallVector<plan::KernelOp> kernels_;
  std::vector<cuda::Owned<cuda::DevicePointer>> memory_;
  std::vector<float> sums_;
};

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_F(GpuCard, RunsEmittedKernelsInAllOrders) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(run(seed, [](auto &) {}), "");
    EXPECT_EQ(sums_, std::vector<float>(kRows, kColumns * (kColumns - 1)));
  }
}

/// The same buffers, and no word that the second kernel reads them.
TEST_F(GpuCard, FindsWhatACommandDoesNotSay) {
  std::string wrong = run(3, [](std::vector<cuda::Node> &nodes) {
    nodes[1].accesses.erase(nodes[1].accesses.begin());
  });
  EXPECT_TRUE(has(wrong, "kernel sums")) << wrong;
  EXPECT_TRUE(has(wrong, "outside of the device's memory")) << wrong;
}

TEST_F(GpuCard, FindsKernelsThatComeTooEarly) {
  std::string wrong = run(
      3, [](std::vector<cuda::Node> &nodes) { std::swap(nodes[0], nodes[1]); });
  EXPECT_TRUE(has(wrong, "reads what nothing has written")) << wrong;
}

TEST_F(GpuCard, FindsMisalignedBuffers) {
  std::string wrong = run(3, [](std::vector<cuda::Node> &nodes) {
    // The table says where a flat kernel's buffers lie; the row's kernel is
    // told by its arguments.
    auto &work = std::get<cuda::KernelNode>(nodes[1].work);
    work.arguments[1] += 2;
  });
  EXPECT_TRUE(has(wrong, "no multiple of")) << wrong;
}
