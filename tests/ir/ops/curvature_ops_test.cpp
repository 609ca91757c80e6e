// What second moments and inverses say of their sums and their work.

#include "tests/ir/graphs.h"

#include "ir/gram_sizes.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

/// The last op of a graph of one statement, and the module that has it.
struct Parsed {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  explicit Parsed(const std::string &inputs, const std::string &op)
      : module(parseGraph(inputs, "%y = gradus." + op)) {}
  Summing summing() { return cast<Summing>(lastOp(graphOf(*module))); }
  GramSizes sizes() {
    return GramSizes(cast<GramOp>(lastOp(graphOf(*module))));
  }
};

} // namespace

TEST(Gram, SumsOverAllRows) {
  Parsed dense("%x: tensor<4x6x5xf32>",
               "gram %x axis 1 block 6 : tensor<4x6x5xf32> -> "
               "tensor<1x6x6xf32>");
  EXPECT_EQ(dense.summing().getSummedTerms(), 4 * 5);
  EXPECT_EQ(dense.summing().getFlops(), 2 * 4 * 5 * 6 * 6);
}

TEST(Gram, HasARowForEachPositionOfTheWindow) {
  Parsed patches("%x: tensor<2x3x9x8xf32>",
                 "gram %x window [3, 2] strides [2, 1] pads [1, 0] to [1, 0] "
                 "dilations [1, 1] block 10 : tensor<2x3x9x8xf32> -> "
                 "tensor<2x10x10xf32>");
  GramSizes sizes = patches.sizes();
  EXPECT_EQ(sizes.rows, (llvm::SmallVector<int64_t>{2, 5, 7}));
  EXPECT_EQ(sizes.columns, 3 * 3 * 2);
  EXPECT_EQ(sizes.blocks, 2);
  EXPECT_EQ(patches.summing().getSummedTerms(), 2 * 5 * 7);
}

/// The last block has 8 columns, and no work for the 2 that it lacks.
TEST(Gram, CountsTheWorkOfColumnsThatThereAre) {
  Parsed patches("%x: tensor<2x3x9x8xf32>",
                 "gram %x window [3, 2] strides [2, 1] pads [1, 0] to [1, 0] "
                 "dilations [1, 1] block 10 : tensor<2x3x9x8xf32> -> "
                 "tensor<2x10x10xf32>");
  EXPECT_EQ(patches.summing().getFlops(), 2 * 2 * 5 * 7 * (10 * 10 + 8 * 8));
}

TEST(Gram, CutsGroupsApartBeforeBlocks) {
  Parsed groups("%x: tensor<7x6xf32>",
                "gram %x axis 1 groups 2 block 2 : tensor<7x6xf32> -> "
                "tensor<4x2x2xf32>");
  GramSizes sizes = groups.sizes();
  EXPECT_EQ(sizes.columns, 3);
  EXPECT_EQ(sizes.blocks, 2);
  EXPECT_EQ(groups.summing().getFlops(), 2 * 7 * 2 * (4 + 1));
}

TEST(Inverse, TakesTheCubeOfItsRows) {
  Parsed inverse("%x: tensor<3x8x8xf32>", "inverse %x : tensor<3x8x8xf32>");
  EXPECT_EQ(inverse.summing().getSummedTerms(), 8);
  EXPECT_EQ(inverse.summing().getFlops(), 3 * 8 * 8 * 8);
}
