#include "runtime/artifact/command_kinds.h"
#include "runtime/cpu/command.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;
namespace fb = gradus::artifact;

TEST(Copy, MovesWholeBuffers) {
  uint8_t from[4] = {1, 2, 3, 4}, to[4] = {};
  fb::PlanT tables;
  for (int i = 0; i < 2; ++i) {
    tables.buffers.push_back(std::make_unique<fb::BufferT>());
    tables.buffers.back()->size = 4;
  }
  flatbuffers::FlatBufferBuilder plan, command;
  plan.Finish(fb::Plan::Pack(plan, &tables));
  command.Finish(
      fb::CreateCopyCommand(command, /*source=*/0, /*destination=*/1));
  ThreadPool pool(1);
  CommandContext context{
      *flatbuffers::GetRoot<fb::Plan>(plan.GetBufferPointer()),
      nullptr,
      nullptr,
      {from, to},
      pool,
      false};
  auto copy = prepareKind(context, *flatbuffers::GetRoot<fb::CopyCommand>(
                                       command.GetBufferPointer()));
  ASSERT_TRUE(copy.ok());
  ASSERT_TRUE((*copy)->run().ok());
  EXPECT_EQ(to[0], 1);
  EXPECT_EQ(to[3], 4);
}
