// A plan of buffers in an arena, and the commands that sum them.
#pragma once

#include "runtime/artifact/command_kinds.h"
#include "runtime/cpu/command.h"
#include "tests/runtime/collectives/recorded_collectives.h"

#include <gtest/gtest.h>

namespace gradus::test {

class Summing {
public:
  /// Adds a buffer of one axis; its number.
  uint32_t add(artifact::DType type, int64_t elements, uint64_t offset) {
    auto buffer = std::make_unique<artifact::BufferT>();
    buffer->region = artifact::Region::arena;
    buffer->offset = offset;
    buffer->type = std::make_unique<artifact::TensorTypeT>();
    buffer->type->dtype = type;
    buffer->type->shape = {elements};
    buffer->size =
        *runtime::bytesOf({static_cast<runtime::DType>(type), {elements}});
    plan_.buffers.push_back(std::move(buffer));
    return static_cast<uint32_t>(plan_.buffers.size() - 1);
  }

  template <typename Table>
  std::unique_ptr<runtime::Command> prepare(const Table &command,
                                            runtime::OpenSums *sums) {
    flatbuffers::FlatBufferBuilder plan, table;
    plan.Finish(artifact::Plan::Pack(plan, &plan_));
    table.Finish(Table::TableType::Pack(table, &command));
    runtime::CommandContext context{
        *flatbuffers::GetRoot<artifact::Plan>(plan.GetBufferPointer()),
        nullptr,
        nullptr,
        {},
        pool_,
        false,
        sums};
    for (const auto &buffer : plan_.buffers)
      context.buffers.push_back(arena + buffer->offset);
    auto made =
        prepareKind(context, *flatbuffers::GetRoot<typename Table::TableType>(
                                 table.GetBufferPointer()));
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }

  alignas(64) uint8_t arena[1024] = {};

private:
  artifact::PlanT plan_;
  runtime::ThreadPool pool_{1};
};

} // namespace gradus::test
