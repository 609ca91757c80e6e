// An open emulated card with kernels written by hand, for tests: memory that is
// filled from lists of numbers, and graphs of kernels on it.
#pragma once

#include "runtime/cuda/graph.h"
#include "runtime/emulated/abi.h"
#include "runtime/emulated/emulated_image.h"
#include "runtime/emulated/fake_driver.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

namespace gradus::runtime::cuda::test {

using emulated::Thread;

//===-- kernels -----------------------------------------------------------===//

/// Code that jumps to a function of this program.
inline std::vector<uint8_t> jumpTo(emulated::Entry entry) {
#if defined(__x86_64__)
  std::vector<uint8_t> code = {0x48, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, // mov rax
                               0xFF, 0xE0, 0, 0, 0, 0};            // jmp rax
  constexpr size_t at = 2;
#elif defined(__aarch64__)
  std::vector<uint8_t> code = {0x50, 0, 0,    0x58, // ldr x16, here + 8
                               0x00, 2, 0x1F, 0xD6, // br x16
                               0,    0, 0,    0,    0, 0, 0, 0};
  constexpr size_t at = 8;
#endif
  std::memcpy(code.data() + at, &entry, sizeof(entry));
  return code;
}

struct TestKernel {
  std::string name;
  emulated::Entry entry;
  uint64_t arguments;
};

inline std::vector<uint8_t> imageOf(std::span<const TestKernel> kernels) {
  std::vector<EmulatedFunction> functions;
  std::vector<uint8_t> code;
  for (const TestKernel &kernel : kernels) {
    functions.push_back({kernel.name, code.size(), 0, 256, kernel.arguments});
    auto jump = jumpTo(kernel.entry);
    code.insert(code.end(), jump.begin(), jump.end());
  }
  return packImage(functions, code);
}

/// Element i of an argument with `count` numbers.
inline float *at(Thread *t, int64_t argument, int64_t i, int64_t count,
                 bool writes) {
  auto *all = static_cast<float *>(t->arguments[argument]);
  t->services->access(t, argument, i, count, 4, 4, writes, all + i);
  return all + i;
}

/// out[i] = a[i] + b[i]: a, b, out, count.
inline void add(Thread *t) {
  auto count = reinterpret_cast<int64_t>(t->arguments[3]);
  for (int64_t i = t->block * t->threads + t->thread; i < count;
       i += t->blocks * t->threads)
    *at(t, 2, i, count, true) =
        *at(t, 0, i, count, false) + *at(t, 1, i, count, false);
}

/// x[i] = 2 x[i]: x, count.
inline void twice(Thread *t) {
  auto count = reinterpret_cast<int64_t>(t->arguments[1]);
  for (int64_t i = t->block * t->threads + t->thread; i < count;
       i += t->blocks * t->threads)
    *at(t, 0, i, count, true) = 2 * *at(t, 0, i, count, false);
}

//===-- the card ----------------------------------------------------------===//

class EmulatedCard : public ::testing::Test {
protected:
  void open(const FakeOptions &options = {}) {
    close();
    fake_ = std::make_unique<FakeDriver>(options);
    auto card = Card::open(fake_->driver(), 0);
    ASSERT_TRUE(card.ok()) << card.status();
    card_ = *std::move(card);
    TestKernel kernels[] = {{"add", add, 4}, {"twice", twice, 2}};
    image_ = imageOf(kernels);
    auto module = card_->load(image_.data(), "kernels");
    ASSERT_TRUE(module.ok()) << module.status();
    module_ = *std::move(module);
    auto stream = card_->createStream();
    ASSERT_TRUE(stream.ok()) << stream.status();
    stream_ = *std::move(stream);
  }
  void SetUp() override { open(options_); }
  void TearDown() override { close(); }

  /// What is left over is a failure, and so is what a test did not expect.
  void close() {
    if (!fake_)
      return;
    if (card_)
      (void)card_->synchronize(); // before memory goes
    memory_.clear();
    stream_ = {};
    module_ = {};
    card_.reset();
    EXPECT_EQ(fake_->leaks(), "");
    if (!faulty_)
      EXPECT_EQ(fake_->report(), "");
    fake_.reset();
  }

  /// What was wrong, as the test expects.
  std::string report() {
    faulty_ = true;
    return fake_->report();
  }

  const Driver &driver() const { return fake_->driver(); }

  DevicePointer allocate(size_t numbers) {
    auto memory = card_->allocate({"numbers", numbers * 4});
    EXPECT_TRUE(memory.ok()) << memory.status();
    memory_.push_back(*std::move(memory));
    return memory_.back().get();
  }
  DevicePointer filled(const std::vector<float> &numbers) {
    DevicePointer address = allocate(numbers.size());
    EXPECT_EQ(driver().copyToDevice(address, numbers.data(), numbers.size() * 4,
                                    stream_.get()),
              Result::success);
    return address;
  }
  std::vector<float> numbersAt(DevicePointer address, size_t count) {
    std::vector<float> numbers(count);
    EXPECT_EQ(
        driver().copyToHost(numbers.data(), address, count * 4, stream_.get()),
        Result::success);
    return numbers;
  }

  Function function(const std::string &name) {
    auto function = card_->function(module_.get(), name);
    EXPECT_TRUE(function.ok()) << function.status();
    return *function;
  }
  static Access bytes(DevicePointer start, uint64_t count, bool writes) {
    return {start, count * 4, 4, writes};
  }
  Node addNode(DevicePointer a, DevicePointer b, DevicePointer out,
               uint64_t count) {
    return {"add",
            KernelNode{function("add"), 2, 64, 0, {a, b, out, count}},
            {bytes(a, count, false), bytes(b, count, false),
             bytes(out, count, true)}};
  }
  Node twiceNode(DevicePointer x, uint64_t count) {
    return {"twice",
            KernelNode{function("twice"), 1, 32, 0, {x, count}},
            {bytes(x, count, false), bytes(x, count, true)}};
  }

  /// Runs nodes once; the words of what fails.
  std::string run(std::span<const Node> nodes, Order order = Order::bytes) {
    auto graph = StepGraph::build(*card_, nodes, order);
    if (!graph.ok())
      return graph.status().message();
    if (Status status = graph->launch(stream_.get()); !status.ok())
      return status.message();
    return card_->synchronize().message();
  }

  FakeOptions options_; // of the card that a test begins with
  std::unique_ptr<FakeDriver> fake_;
  std::unique_ptr<Card> card_;
  std::vector<uint8_t> image_;
  Owned<Module> module_;
  Owned<Stream> stream_;
  std::vector<Owned<DevicePointer>> memory_;
  bool faulty_ = false;
};

inline bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace gradus::runtime::cuda::test
