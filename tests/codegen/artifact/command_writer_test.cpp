#include "codegen/artifact/command_writer.h"

#include "tests/codegen/program_text.h"

using namespace gradus;
namespace fb = gradus::artifact;

static const char *const kernels = R"(
gradus.program @p {
  plan.kernel @flat(%x: memref<?xf32>, %rate: memref<f32>, %y: memref<?xf64>) attributes {inputs = 2 : i64, split = #plan<split flat>, items = 0 : i64} {
    plan.end
  }
  plan.kernel @rows(%x: memref<8x4xf32>, %y: memref<8xi1>) attributes {inputs = 1 : i64, split = #plan<split rows>, items = 8 : i64} {
    plan.end
  }
})";

/// The signature of the n-th kernel, finished in its own buffer.
static flatbuffers::FlatBufferBuilder
signature(int number, const GpuKernel *gpu = nullptr) {
  ProgramText text(kernels);
  flatbuffers::FlatBufferBuilder builder;
  int seen = 0;
  text.program().walk([&](plan::KernelOp kernel) {
    if (seen++ == number)
      builder.Finish(kernelSignature(builder, kernel, 64, gpu));
  });
  return builder;
}

TEST(CommandWriter, AFlatKernelNeedsBytesPerItem) {
  auto builder = signature(0);
  auto found =
      flatbuffers::GetRoot<fb::KernelSignature>(builder.GetBufferPointer());
  EXPECT_EQ(found->entry(), 64u);
  EXPECT_EQ(found->bytes_per_item()->Get(0), 4u);
  EXPECT_EQ(found->fixed_bytes()->Get(1), 4u);
  EXPECT_EQ(found->bytes_per_item()->Get(2), 8u);
  EXPECT_EQ(found->max_items(), 0);
  EXPECT_EQ(found->outputs(), 1u);
}

TEST(CommandWriter, ARowsKernelNeedsItsWholeBuffers) {
  auto builder = signature(1);
  auto found =
      flatbuffers::GetRoot<fb::KernelSignature>(builder.GetBufferPointer());
  EXPECT_EQ(found->fixed_bytes()->Get(0), 128u);
  EXPECT_EQ(found->fixed_bytes()->Get(1), 8u); // A boolean takes a byte.
  EXPECT_EQ(found->max_items(), 8);
}

TEST(CommandWriter, ABufferIsListedOnce) {
  ProgramText text(kernels);
  BufferTable buffers;
  auto type = mlir::RankedTensorType::get(
      {4}, mlir::Builder(&text.context).getF32Type());
  EXPECT_EQ(buffers.add({MemoryRegion::arena, 0}, type), 0u);
  EXPECT_EQ(buffers.add({MemoryRegion::arena, 64}, type), 1u);
  EXPECT_EQ(buffers.add({MemoryRegion::arena, 0}, type), 0u);
}

TEST(CommandWriter, SaysHowAGpuLaunchesAKernel) {
  GpuKernel kernel{"rows", 128, 7, 0, {1024, 64}};
  auto builder = signature(1, &kernel);
  auto found =
      flatbuffers::GetRoot<fb::KernelSignature>(builder.GetBufferPointer());
  ASSERT_TRUE(found->gpu());
  EXPECT_EQ(found->gpu()->threads(), 128u);
  EXPECT_EQ(found->gpu()->most_blocks(), 7u);
  EXPECT_EQ(found->gpu()->piece(), 0u);
  ASSERT_EQ(found->gpu()->scratch()->size(), 2u);
  EXPECT_EQ(found->gpu()->scratch()->Get(0), 1024u);
}

/// A rank's part lies as many of its sizes further on as the rank's number
/// says.
TEST(CommandWriter, APartOfARankIsABufferOfItsOwn) {
  ProgramText text(kernels);
  BufferTable buffers;
  auto type = mlir::RankedTensorType::get(
      {16}, mlir::Builder(&text.context).getF32Type());
  EXPECT_EQ(buffers.add({MemoryRegion::arena, 64}, type), 0u);
  EXPECT_EQ(buffers.add({MemoryRegion::arena, 64}, type, /*parts=*/3), 1u);
  flatbuffers::FlatBufferBuilder builder;
  auto written = buffers.write(builder);
  builder.Finish(fb::CreatePlan(builder, 0, 0, 1, written));
  const auto *list =
      flatbuffers::GetRoot<fb::Plan>(builder.GetBufferPointer())->buffers();
  EXPECT_EQ(list->Get(0)->rank_stride(), 0u);
  EXPECT_EQ(list->Get(0)->parts(), 0u);
  EXPECT_EQ(list->Get(1)->rank_stride(), 64u);
  EXPECT_EQ(list->Get(1)->parts(), 3u);
  EXPECT_EQ(list->Get(1)->offset(), 64u);
}
