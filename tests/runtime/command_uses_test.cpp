#include "runtime/command_uses.h"

#include "runtime/artifact.h"
#include "tests/runtime/test_artifact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace gradus;
using namespace gradus::test;
using runtime::BufferUse;
using testing::ElementsAre;

namespace {

/// "r4 of 2": reads four bytes of buffer 2.
std::string inWords(const BufferUse &use) {
  return std::string(use.isRead ? "r" : "") + (use.isWritten ? "w" : "") +
         std::to_string(use.bytes) + " of " + std::to_string(use.buffer) +
         (use.isScratch ? " as scratch" : "");
}

/// The uses of a command of the graph `train`.
std::vector<std::string> usesOf(const TestArtifact &made, unsigned command) {
  auto artifact = runtime::Artifact::fromBytes(made.bytes(), "adder");
  EXPECT_TRUE(artifact.ok()) << artifact.status();
  const artifact::Plan &plan = *(*artifact)->header().plans()->Get(0);
  std::vector<std::string> words;
  for (const BufferUse &use :
       runtime::usesOf(plan, (*artifact)->kernels(plan),
                       *plan.graphs()->Get(0)->commands()->Get(command)))
    words.push_back(inWords(use));
  return words;
}

/// A table that is packed for as long as the object lives.
template <typename Table> class Packed {
public:
  explicit Packed(const typename Table::NativeTableType &table) {
    builder_.Finish(Table::Pack(builder_, &table));
  }
  const Table &operator*() const {
    return *flatbuffers::GetRoot<Table>(builder_.GetBufferPointer());
  }

private:
  flatbuffers::FlatBufferBuilder builder_;
};

/// The uses of three arguments of 4 bytes by a kernel with those outputs.
std::string usesOf(uint32_t outputs) {
  artifact::KernelSignatureT made;
  made.fixed_bytes = {4, 4, 4};
  made.outputs = outputs;
  Packed<artifact::KernelSignature> kernel(made);
  std::string uses;
  for (size_t i = 0; i < 3; ++i) {
    runtime::ArgumentUse use = runtime::useOf(*kernel, i);
    uses += i ? " " : "";
    uses += use.isRead ? "r" : "";
    uses += use.isWritten ? "w" : "";
  }
  return uses;
}

artifact::LibraryTensorT tensor(std::vector<int64_t> dims,
                                std::vector<int64_t> strides = {}) {
  artifact::LibraryTensorT made;
  made.dims = std::move(dims);
  made.strides = std::move(strides);
  return made;
}

uint64_t bytesOf(const artifact::LibraryTensorT &made) {
  Packed<artifact::LibraryTensor> packed(made);
  return runtime::useOf(*packed, false).bytes;
}

} // namespace

TEST(CommandUses, OfAKernelAreItsInputsAndThenItsOutputs) {
  EXPECT_EQ(usesOf(1), "r r w");
  EXPECT_EQ(usesOf(3), "w w w");
}

TEST(CommandUses, OfAKernelMayBeBothWhereNobodySays) {
  EXPECT_EQ(usesOf(0), "rw rw rw");
}

TEST(CommandUses, OfASegmentGrowWithItsItems) {
  artifact::KernelSignatureT signature;
  signature.fixed_bytes = {8};
  signature.bytes_per_item = {4};
  signature.outputs = 1;
  artifact::SegmentT segment;
  segment.buffers = {7};
  segment.items = 10;
  auto use = [&] {
    return inWords(runtime::useOf(*Packed<artifact::KernelSignature>(signature),
                                  *Packed<artifact::Segment>(segment), 0));
  };
  EXPECT_EQ(use(), "w48 of 7");
  signature.bytes_per_item = {UINT64_MAX / 2};
  EXPECT_EQ(use(), "w" + std::to_string(UINT64_MAX) + " of 7");
}

TEST(CommandUses, OfACopyAreWholeBuffers) {
  EXPECT_THAT(usesOf(TestArtifact(), 1), ElementsAre("r32 of 0", "w32 of 4"));
}

TEST(CommandUses, OfALibraryCallAreItsTensorsAndItsScratch) {
  TestArtifact made;
  artifact::LibraryCommandT reorder;
  reorder.op = artifact::LibraryOp::reorder;
  for (auto *list : {&reorder.inputs, &reorder.outputs})
    list->push_back(std::make_unique<artifact::LibraryTensorT>(tensor({2, 3})));
  reorder.inputs[0]->buffer = kX;
  reorder.outputs[0]->buffer = kSum;
  reorder.scratch = kScratch;
  made.add("reorder", std::move(reorder));
  unsigned last = unsigned(made.train().commands.size()) - 1;
  uint64_t scratch = made.plan().buffers[kScratch]->size;
  EXPECT_THAT(usesOf(made, last),
              ElementsAre("r24 of 3", "w24 of 4",
                          "rw" + std::to_string(scratch) + " of 7 as scratch"));

  auto artifact = runtime::Artifact::fromBytes(made.bytes(), "adder");
  ASSERT_TRUE(artifact.ok());
  const artifact::Plan &plan = *(*artifact)->header().plans()->Get(0);
  EXPECT_THAT(
      runtime::buffersWritten(plan, (*artifact)->kernels(plan),
                              *plan.graphs()->Get(0)->commands()->Get(last)),
      ElementsAre(kSum));
}

TEST(CommandUses, OfATensorReachToItsLastElement) {
  EXPECT_EQ(bytesOf(tensor({2, 3})), 24u);
  EXPECT_EQ(bytesOf(tensor({2, 3}, {1, 10})), 4 * (20u + 1 + 1));
  EXPECT_EQ(bytesOf(tensor({2, 3}, {0, 1})), 12u);
  artifact::LibraryTensorT blocked = tensor({2, 13});
  blocked.padded_dims = {2, 16};
  blocked.inner_blocks = {8};
  blocked.inner_axes = {1};
  EXPECT_EQ(bytesOf(blocked), 4 * 32u);
  blocked.inner_axes = {2};
  EXPECT_EQ(bytesOf(blocked), UINT64_MAX);
  EXPECT_EQ(bytesOf(tensor({int64_t{1} << 40, int64_t{1} << 40})), UINT64_MAX);
}
