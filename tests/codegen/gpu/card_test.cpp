// Emitted kernels as a graph on the emulated card: chains of them in all
// orders, and faults planted into what the graph says of them.

#include "card.h"
#include "tests/codegen/kernel_text.h"

#include <set>

using namespace gradus;
using namespace gradus::test;

namespace {

constexpr int64_t kRows = 3, kColumns = 3000, kItems = kRows * kColumns;

/// Three times y = 2 x, flat, and s = the sum of each row of y; then t = the
/// sum of three such.
std::string kernels() {
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
  NestText joined{{kRows},
                  {},
                  {},
                  {},
                  {{"%t", buffer({kRows}), "(i) -> (i)"}},
                  {},
                  "",
                  "\n ^bb0(%a: f32, %b: f32, %c: f32):\n %d = arith.addf %a, "
                  "%b : f32\n %r = arith.addf %d, %c : f32\n plan.yield %r : "
                  "f32\n"};
  for (const char *part : {"%p", "%q", "%s"})
    joined.with.push_back({part, buffer({kRows}), "(i) -> (i)"});
  std::string text;
  for (std::string number : {"0", "1", "2"})
    text += kernelOf("doubled" + number, doubled, "flat", 0) +
            kernelOf("sums" + number, sums, "rows", kRows);
  return text + kernelOf("joined", joined, "rows", kRows);
}

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

struct GpuCard : ::testing::Test {
  void SetUp() override {
    module_ =
        mlir::parseSourceString<mlir::ModuleOp>(kernels(), &context_.context);
    kernels_ = llvm::to_vector(module_->getOps<plan::KernelOp>());
  }
  cuda::DevicePointer allocate(KernelsOnCard &card, int64_t count) {
    memory_.push_back(*card.card().allocate({"test", size_t(count * 4)}));
    return memory_.back().get();
  }
  /// Two kernels one after the other, on x = 0, 1, 2, ...; the last of the
  /// memory has the sums.
  std::vector<cuda::Node> chain(KernelsOnCard &card, size_t number = 0) {
    std::vector<float> x(kItems);
    for (int64_t i = 0; i < kItems; ++i)
      x[size_t(i)] = float(i % kColumns);
    cuda::DevicePointer in = card.send(x.data(), kItems * 4),
                        doubled = allocate(card, kItems),
                        sums = allocate(card, kRows);
    return {card.node(2 * number, {in, doubled}, kItems, 4),
            card.node(2 * number + 1, {doubled, sums}, 0, 4)};
  }
  /// Three chains and what joins their sums: the order in which they ran.
  std::vector<std::string> runJoined(unsigned seed) {
    cuda::FakeOptions options;
    options.seed = seed;
    options.logs = true;
    KernelsOnCard card(kernels_, options);
    std::vector<cuda::Node> nodes;
    std::vector<cuda::DevicePointer> sums;
    for (size_t number : {0, 1, 2}) {
      llvm::append_range(nodes, chain(card, number));
      sums.push_back(memory_.back().get());
    }
    sums.push_back(allocate(card, kRows));
    nodes.push_back(card.node(6, sums, 0, 4));
    EXPECT_EQ(card.run(nodes, cuda::Order::bytes), "");
    sums_.assign(kRows, 0);
    card.receive(sums_.data(), sums.back(), kRows * 4);
    memory_.clear();
    std::vector<std::string> order = card.fake().log();
    llvm::erase_if(order, [](const std::string &name) {
      return !has(name, "doubled") && !has(name, "sums") &&
             !has(name, "joined");
    });
    return order;
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

} // namespace

TEST_F(GpuCard, RunsEmittedKernelsInAllOrders) {
  std::set<std::vector<std::string>> orders;
  for (unsigned seed = 0; seed < 20; ++seed) {
    orders.insert(runJoined(seed));
    EXPECT_EQ(sums_, std::vector<float>(kRows, 3 * kColumns * (kColumns - 1)));
  }
  EXPECT_GT(orders.size(), 10u); // of 90
  for (const auto &order : orders)
    EXPECT_EQ(order.size(), 7u);
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
