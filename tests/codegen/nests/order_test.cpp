// The order of ops after rewriting, against MLIR's own.

#include "codegen/nests/order.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

#include <random>

using namespace mlir;

namespace {

/// Ops "t.op" with a number each; some read what earlier ones made. Then they
/// are shuffled.
struct ShuffledBlock {
  explicit ShuffledBlock(MLIRContext &context, unsigned seed) {
    std::mt19937 random(seed);
    OpBuilder builder(&context);
    builder.setInsertionPointToEnd(&block);
    std::vector<Operation *> ops;
    for (int64_t i = 0; i < 60; ++i) {
      OperationState state(builder.getUnknownLoc(), "t.op");
      state.addTypes(builder.getI32Type());
      state.addAttribute("number", builder.getI64IntegerAttr(i));
      for (unsigned reads = random() % 3; i > 0 && reads > 0; --reads)
        state.addOperands(ops[random() % i]->getResult(0));
      ops.push_back(builder.create(state));
    }
    std::shuffle(ops.begin(), ops.end(), random);
    for (Operation *op : ops)
      op->moveBefore(&block, block.end());
  }
  ~ShuffledBlock() { block.dropAllReferences(); }

  std::vector<int64_t> numbers() {
    std::vector<int64_t> numbers;
    for (Operation &op : block)
      numbers.push_back(op.getAttrOfType<IntegerAttr>("number").getInt());
    return numbers;
  }

  Block block;
};

} // namespace

TEST(Order, IsThatOfMlir) {
  MLIRContext context;
  context.allowUnregisteredDialects();
  for (unsigned seed = 0; seed < 20; ++seed) {
    ShuffledBlock ours(context, seed), theirs(context, seed);
    ASSERT_EQ(ours.numbers(), theirs.numbers());
    gradus::sortByOperands(ours.block);
    ASSERT_TRUE(sortTopologically(&theirs.block));
    EXPECT_EQ(ours.numbers(), theirs.numbers()) << "seed " << seed;
  }
}
