// What the emulated library does not take, in words.

#include "runtime/emulated/emulated_ops.h"
#include "tests/runtime/library_ops.h"

#include "tests/runtime/cuda/run_op.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda::test;
namespace fb = gradus::artifact;

TEST(EmulatedOps, NameWhatTheyDoNotTake) {
  Operand a = operandOf(Array({2, 2})), b = a, c = a;
  fb::LibraryCommandT command;
  command.op = opOf(fb::LibraryOp::matmul);
  EXPECT_TRUE(runOp(command, {&a, &b}, {&c}).ok());
  b.tensor.dtype = fb::DType::i8;
  EXPECT_EQ(runOp(command, {&a, &b}, {&c}).message(),
            "input 1: has dtype i8, which the emulated library does not take");
  b = a;
  c.tensor.padded_dims = {2, 16};
  EXPECT_EQ(runOp(command, {&a, &b}, {&c}).message(),
            "output 0: pads axis 1 of size 2 to 16, which libraries of cards "
            "do not");
  c = a;
  command.op = opOf(fb::LibraryOp::reorder);
  EXPECT_EQ(runOp(command, {&a}, {&c}).message(),
            "asks for reorder, which the emulated library does not have");
}
