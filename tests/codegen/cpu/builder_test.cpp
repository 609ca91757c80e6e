// Counted loops: no code for no rounds, no loop for one, one block for many.

#include "codegen/cpu/builder.h"

#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"

#include <gtest/gtest.h>

using namespace gradus;

namespace {

/// A function of one i64 that sums what loops do.
struct Scene {
  llvm::LLVMContext context;
  CpuTarget target = llvm::cantFail(cpuTarget("cpu:x86-64-v3"));
  llvm::Module module{"test", context};
  CpuBuilder b{context, target};
  llvm::Function *function;

  Scene() {
    auto *type =
        llvm::FunctionType::get(b.getInt64Ty(), {b.getInt64Ty()}, false);
    function = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                      "f", module);
    b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  }
  llvm::Value *sum(llvm::Value *begin, llvm::Value *end, int64_t step) {
    return b.loop(begin, end, step, {b.getInt64(0)},
                  [&](llvm::Value *iv, llvm::ArrayRef<llvm::Value *> carried) {
                    return Values{b.CreateAdd(carried[0], iv)};
                  })[0];
  }
  bool isValid(llvm::Value *result) {
    b.CreateRet(result);
    return !llvm::verifyFunction(*function, &llvm::errs());
  }
};

} // namespace

TEST(CpuBuilder, LeavesNoLoopForKnownFewRounds) {
  Scene scene;
  CpuBuilder &b = scene.b;
  llvm::Value *none = scene.sum(b.getInt64(3), b.getInt64(3), 1);
  llvm::Value *one = scene.sum(b.getInt64(4), b.getInt64(6), 2);
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(none)->getSExtValue(), 0);
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(one)->getSExtValue(), 4);
  EXPECT_EQ(scene.function->size(), 1u);
}

TEST(CpuBuilder, CarriesValuesThroughLoops) {
  Scene scene;
  llvm::Value *known = scene.sum(scene.b.getInt64(0), scene.b.getInt64(10), 1);
  llvm::Value *unknown = scene.sum(known, scene.function->getArg(0), 2);
  EXPECT_TRUE(scene.isValid(unknown));
}

TEST(CpuBuilder, GivesScalarsTheLanesOfVectors) {
  Scene scene;
  CpuBuilder &b = scene.b;
  llvm::Value *values[] = {b.getInt32(1), b.iota(8)};
  b.matchLanes(values);
  EXPECT_EQ(lanesOf(values[0]), 8u);
  EXPECT_EQ(lanesOf(b.splat(b.getInt32(1), 1)), 1u);
}
