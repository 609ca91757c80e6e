// Whom cuDNN is asked for: stubs stand for the library.

#include "runtime/cuda/libraries/cudnn_session.h"

#include "tests/runtime/cuda/libraries/cudnn_stub.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using testing::HasSubstr;

struct CudnnSession : CudnnStub {};

TEST(CudnnWithoutGpu, IsSaid) {
  Environment environment(kCudnnVariable,
                          libraryOf("cudnn_without_gpu").c_str());
  EXPECT_THAT(cudnn::openSession().status().message(),
              HasSubstr("cudnn_without_gpu.so does not start: it finds no GPU, "
                        "or the driver is older than it needs: the stub's "
                        "words (CUDNN_STATUS_NOT_INITIALIZED 1001)"));
}

TEST_F(CudnnSession, IsCalledAfterTheVersion) {
  auto session = cudnn::openSession();
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ((*session)->name(), "cudnn 91800");
}

/// Without a handle: the descriptor of the card is passed on instead.
TEST_F(CudnnSession, MayBeForACardThatIsDescribed) {
  auto session = cudnn::describeCard("{}");
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ((*session)->handle, nullptr);
  EXPECT_THAT(written(), HasSubstr("38: 2702="));
}
