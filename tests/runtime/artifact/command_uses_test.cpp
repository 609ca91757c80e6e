#include "runtime/artifact/command_uses.h"

#include "runtime/artifact/artifact.h"
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

std::unique_ptr<artifact::LibraryTensorT> tensor(uint32_t buffer) {
  auto made = std::make_unique<artifact::LibraryTensorT>();
  made->buffer = buffer;
  made->dims = {2, 3};
  return made;
}

} // namespace

TEST(CommandUses, OfACopyAreWholeBuffers) {
  EXPECT_THAT(usesOf(TestArtifact(), 1), ElementsAre("r32 of 0", "w32 of 4"));
}

TEST(CommandUses, OfALibraryCallAreItsTensorsAndItsScratch) {
  TestArtifact made;
  artifact::LibraryCommandT reorder;
  reorder.op = opOf(artifact::LibraryOp::reorder);
  reorder.inputs.push_back(tensor(kX));
  reorder.outputs.push_back(tensor(kSum));
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
