// How nests are read: strides, merged dimensions, steps of lanes.

#include "kernel_text.h"
#include "nest_reference.h"

#include "codegen/cpu_nest.h"

using namespace gradus;
using namespace gradus::test;

namespace {

/// A nest of a kernel's text, with what keeps it alive.
struct Read {
  Context context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Nest nest;

  Read(const NestText &text, std::string split) {
    module = mlir::parseSourceString<mlir::ModuleOp>(
        kernelOf("k", text, split, text.parallel[0]), &context.context);
    auto kernel = *module->getOps<plan::KernelOp>().begin();
    nest = readNest(*kernel.getBody().getOps<plan::NestOp>().begin(),
                    kernel.getSplit());
  }
};

NestText move(std::vector<int64_t> extents, std::vector<int64_t> from,
              std::string map) {
  std::string same =
      extents.size() == 2 ? "(i, j) -> (i, j)" : "(i, j, k) -> (i, j, k)";
  return {extents,
          {},
          {},
          {{"%x", buffer(from), map}},
          {{"%y", buffer(extents), same}},
          {},
          "",
          "\n ^bb0(%a: f32):\n plan.yield %a : f32\n"};
}

using Numbers = llvm::SmallVector<int64_t>;

} // namespace

TEST(CpuNest, MergesWhatIsContiguous) {
  Read all(move({2, 3, 4}, {2, 3, 4}, "(i, j, k) -> (i, j, k)"), "serial");
  EXPECT_EQ(all.nest.extents, Numbers({1, 1, 24}));
  Read rows(move({2, 3, 4}, {2, 3, 4}, "(i, j, k) -> (i, j, k)"), "rows");
  EXPECT_EQ(rows.nest.itemDim, 2);
  EXPECT_EQ(rows.nest.itemLength, 12);
  Read some(move({2, 3, 4}, {2}, "(i, j, k) -> (i)"), "serial");
  EXPECT_EQ(some.nest.extents, Numbers({2, 1, 12}));
}

TEST(CpuNest, KeepsApartWhatIsNot) {
  Read turned(move({3, 4}, {4, 3}, "(i, j) -> (j, i)"), "serial");
  EXPECT_EQ(turned.nest.extents, Numbers({3, 4}));
  EXPECT_EQ(turned.nest.inputs[0].place.strides, Numbers({1, 3}));
  Read shifted(move({3, 4}, {6, 9}, "(i, j) -> (2 * i, j + 5)"), "serial");
  EXPECT_EQ(shifted.nest.inputs[0].place.strides, Numbers({18, 1}));
  EXPECT_EQ(shifted.nest.inputs[0].place.offset, 5);
}

TEST(CpuNest, SeesHowLanesStep) {
  auto stepOf = [](std::vector<int64_t> from, std::string map) {
    Read read(move({4, 16}, from, map), "serial");
    return laneStep(read.nest, read.nest.inputs[0], 1, 16);
  };
  EXPECT_EQ(stepOf({4}, "(i, j) -> (i)").kind, LaneStep::same);
  EXPECT_EQ(stepOf({4, 17}, "(i, j) -> (i, j + 1)").kind, LaneStep::next);
  LaneStep strided = stepOf({4, 40}, "(i, j) -> (i, 2 * j)");
  EXPECT_EQ(strided.kind, LaneStep::strided);
  EXPECT_EQ(strided.by, 2);
  LaneStep repeated = stepOf({4, 8}, "(i, j) -> (i, j floordiv 2)");
  EXPECT_EQ(repeated.kind, LaneStep::repeated);
  EXPECT_EQ(repeated.by, 2);
  EXPECT_EQ(stepOf({4, 8}, "(i, j) -> (i, (i + j) floordiv 4)").kind,
            LaneStep::scattered);
  EXPECT_EQ(stepOf({16, 4}, "(i, j) -> (j, i)").kind, LaneStep::strided);
  EXPECT_EQ(stepOf({16, 9}, "(i, j) -> (j, i)").kind, LaneStep::scattered);
}
