#include "runtime/artifact/command_kinds.h"
#include "runtime/cpu/command.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <tuple>

using namespace gradus::runtime;
namespace fb = gradus::artifact;

namespace {

using Blocks = std::multiset<std::tuple<void *, int64_t, int64_t>>;

std::mutex guard;
Blocks seen;

/// Stands for machine code: notes what it is called with.
void note(void **buffers, int64_t begin, int64_t end) {
  std::lock_guard lock(guard);
  seen.insert({buffers[0], begin, end});
}

struct Launch {
  fb::KernelCommandT command;
  std::vector<uint8_t> memory = std::vector<uint8_t>(8);

  void add(uint32_t buffer, int64_t items) {
    auto segment = std::make_unique<fb::SegmentT>();
    segment->buffers = {buffer};
    segment->items = items;
    command.segments.push_back(std::move(segment));
  }

  Blocks run(int threads) {
    fb::CodeHeaderT code;
    code.kernels.push_back(std::make_unique<fb::KernelSignatureT>());
    flatbuffers::FlatBufferBuilder plan, kernels, packed;
    plan.Finish(fb::CreatePlan(plan));
    kernels.Finish(fb::CodeHeader::Pack(kernels, &code));
    packed.Finish(fb::KernelCommand::Pack(packed, &command));
    std::vector<uint8_t *> buffers;
    for (uint8_t &byte : memory)
      buffers.push_back(&byte);
    ThreadPool pool(threads);
    CommandContext context{
        *flatbuffers::GetRoot<fb::Plan>(plan.GetBufferPointer()),
        flatbuffers::GetRoot<fb::CodeHeader>(kernels.GetBufferPointer()),
        reinterpret_cast<const uint8_t *>(&note),
        buffers,
        pool,
        false};
    auto kernel = prepareKind(context, *flatbuffers::GetRoot<fb::KernelCommand>(
                                           packed.GetBufferPointer()));
    EXPECT_TRUE(kernel.ok());
    seen.clear();
    EXPECT_TRUE((*kernel)->run().ok());
    return seen;
  }
};

} // namespace

TEST(Kernel, CutsItemsIntoBlocksOfGrain) {
  Launch launch;
  launch.command.grain = 4;
  launch.add(0, 10);
  void *buffer = &launch.memory[0];
  EXPECT_EQ(launch.run(1),
            (Blocks{{buffer, 0, 4}, {buffer, 4, 8}, {buffer, 8, 10}}));
}

TEST(Kernel, CutsTheSameForAnyNumberOfThreads) {
  Launch launch;
  launch.command.grain = 3;
  launch.add(0, 7);
  launch.add(1, 0); // nothing to do
  launch.add(2, 3);
  launch.add(3, 100);
  Blocks serial = launch.run(1);
  EXPECT_EQ(serial.size(), 3u + 1u + 34u);
  EXPECT_EQ(launch.run(2), serial);
  EXPECT_EQ(launch.run(5), serial);
}

TEST(Kernel, DoesNothingWithoutItems) {
  Launch launch;
  launch.command.grain = 1;
  EXPECT_TRUE(launch.run(2).empty());
}

TEST(Kernel, TakesAGrainLargerThanTheItems) {
  Launch launch;
  launch.command.grain = INT64_MAX;
  launch.add(5, 2);
  EXPECT_EQ(launch.run(2), (Blocks{{&launch.memory[5], 0, 2}}));
}
