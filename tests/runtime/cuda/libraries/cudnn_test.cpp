// Calls of cuDNN, by a stub of it.

#include "runtime/cuda/libraries/cudnn.h"

#include "tests/runtime/cuda/convolutions.h"
#include "tests/runtime/cuda/libraries/cudnn_stub.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using gradus::artifact::DType;
using gradus::artifact::LibraryOp;
using testing::HasSubstr;

struct Cudnn : CudnnStub {
  gradus::artifact::LibraryCommandT command =
      convolution(LibraryOp::convolution_backward_weights, {4, 6, 8, 3, 1, 1},
                  2, DType::f32, false);
};

TEST_F(Cudnn, RunsItsPlanOnTheTensorsOfACall) {
  auto call = prepare(command, 1000);
  written();
  CallAddresses addresses{{100, 200}, {300}, 400};
  ASSERT_TRUE(
      call->enqueue(reinterpret_cast<Stream>(uintptr_t{7}), addresses).ok());
  // x, w, y: the weights' gradient is the output.
  EXPECT_STREQ(written(), "16: 1000=1,2,3 1001=100,300,200 1003=400\n"
                          "stream 7\nexecute by engine 5\n");
  // Later, as the stream may be recording until then.
  call->leaveStream();
  EXPECT_STREQ(written(), "stream 0\n");
  EXPECT_TRUE(server->warmsUp());
}

TEST_F(Cudnn, LeavesWithTheLastThatHoldsIt) {
  auto call = prepare(command, 0);
  written();
  server = nullptr;
  EXPECT_STREQ(written(), "");
  call = nullptr;
  EXPECT_STREQ(written(), "destroy\n");
}

TEST_F(Cudnn, IsNotAskedForProducts) {
  EXPECT_EQ(wordsOf(commandOf(LibraryOp::matmul, {}, {})),
            "cuDNN is not asked for matmul");
}
