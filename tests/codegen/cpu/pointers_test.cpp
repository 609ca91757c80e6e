// What loops carry: pointers where they would multiply, and none where the
// processor's addressing does as well. That sums stay right is what the nests
// of cpu/random_nests_test.cpp show, which all pass through here.

#include "codegen/cpu/pointers.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"

#include <gtest/gtest.h>

using namespace llvm;

namespace {

/// A loop that adds to a sum what `address`, some lines, finds for counter %i.
class Carried {
public:
  explicit Carried(const std::string &address, const std::string &step = "2") {
    SMDiagnostic diagnostic;
    module = parseAssemblyString(R"(
define float @f(ptr %x, i64 %row, i64 %begin, i64 %end) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %sum = phi float [ 0.0, %entry ], [ %more, %loop ]
)" + address + R"(
  %element = load float, ptr %p
  %more = fadd float %sum, %element
  %next = add i64 %i, )" + step + R"(
  %again = icmp slt i64 %next, %end
  br i1 %again, label %loop, label %done
done:
  ret float %more
})",
                                 diagnostic, context);
    EXPECT_TRUE(module) << diagnostic.getMessage().str();
    PassBuilder builder;
    FunctionAnalysisManager analyses;
    builder.registerFunctionAnalyses(analyses);
    Function &function = *module->getFunction("f");
    gradus::CarryPointers().run(function, analyses);
    EXPECT_FALSE(verifyFunction(function, &errs()));
  }

  /// Instructions of an opcode in a block.
  int count(unsigned opcode, StringRef block = "loop") const {
    int found = 0;
    for (Instruction &op : instructions(*module->getFunction("f")))
      found += op.getParent()->getName() == block && op.getOpcode() == opcode;
    return found;
  }

  /// By how many bytes the pointer that the loop carries moves in a round.
  int64_t bytesARound() const {
    for (PHINode &phi :
         module->getFunction("f")->begin()->getNextNode()->phis())
      if (phi.getType()->isPointerTy()) {
        auto *next = cast<GetElementPtrInst>(phi.getIncomingValue(1));
        APInt offset(64, 0);
        EXPECT_TRUE(
            next->accumulateConstantOffset(module->getDataLayout(), offset));
        return offset.getSExtValue();
      }
    return 0;
  }

private:
  LLVMContext context;
  std::unique_ptr<Module> module;
};

} // namespace

TEST(CarryPointers, TakesMultiplicationsOutOfALoop) {
  Carried loop(R"(
  %far = mul nsw i64 %i, 30
  %index = add nsw i64 %row, %far
  %p = getelementptr float, ptr %x, i64 %index)");
  EXPECT_EQ(loop.count(Instruction::Mul), 0);
  EXPECT_EQ(loop.count(Instruction::Mul, "entry"), 1);
  EXPECT_EQ(loop.count(Instruction::PHI), 3);
  EXPECT_EQ(loop.bytesARound(), 2 * 30 * 4);
}

TEST(CarryPointers, CountsWhatIsAddedMoreThanOnce) {
  Carried loop(R"(
  %far = mul nsw i64 %i, -3
  %index = add nsw i64 %i, %far
  %p = getelementptr float, ptr %x, i64 %index)");
  EXPECT_EQ(loop.bytesARound(), 2 * -2 * 4);
}

TEST(CarryPointers, LeavesTheCounterToTheProcessorsAddressing) {
  Carried loop("%p = getelementptr float, ptr %x, i64 %i");
  EXPECT_EQ(loop.count(Instruction::PHI), 2);
  EXPECT_EQ(loop.count(Instruction::GetElementPtr, "entry"), 0);
}

TEST(CarryPointers, AddsWhatTheLoopKeepsInFrontOfIt) {
  Carried loop(R"(
  %index = add nsw i64 %row, %i
  %p = getelementptr float, ptr %x, i64 %index)");
  EXPECT_EQ(loop.count(Instruction::PHI), 2);
  EXPECT_EQ(loop.count(Instruction::Add), 1); // the counter's
  EXPECT_EQ(loop.count(Instruction::GetElementPtr, "entry"), 1);
}

TEST(CarryPointers, LeavesWhatIsNoSumOfMultiples) {
  Carried loop(R"(
  %half = sdiv i64 %i, 2
  %far = mul nsw i64 %half, 30
  %p = getelementptr float, ptr %x, i64 %far)");
  EXPECT_EQ(loop.count(Instruction::Mul), 1);
  EXPECT_EQ(loop.count(Instruction::PHI), 2);
}

TEST(CarryPointers, LeavesLoopsOfMoreAddressesThanRegisters) {
  std::string many = "%far = mul nsw i64 %i, 30\n"
                     "%p = getelementptr float, ptr %x, i64 %far\n";
  for (int number = 0; number < 6; ++number) {
    std::string own = std::to_string(number);
    many += "%far" + own + " = mul nsw i64 %i, 5" + own + "\n%p" + own +
            " = getelementptr float, ptr %x, i64 %far" + own +
            "\nstore i8 0, ptr %p" + own + "\n";
  }
  EXPECT_EQ(Carried(many).count(Instruction::PHI), 2);
}

TEST(CarryPointers, NeedsAConstantStep) {
  Carried loop(R"(
  %far = mul nsw i64 %i, 30
  %p = getelementptr float, ptr %x, i64 %far)",
               "%row");
  EXPECT_EQ(loop.count(Instruction::Mul), 1);
}
