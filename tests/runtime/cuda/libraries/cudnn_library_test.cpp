// What is said of a cuDNN that does not serve: stubs stand for it.

#include "runtime/cuda/libraries/cudnn_library.h"

#include "tests/runtime/cuda/libraries/cudnn_stub.h"

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using namespace gradus::runtime::cuda::test;
using testing::HasSubstr;

namespace {

StatusOr<cudnn::Library> load(const char *name) {
  Environment environment(kCudnnVariable, libraryOf(name).c_str());
  return cudnn::load();
}

} // namespace

TEST(CudnnLibrary, MustBeNewEnough) {
  EXPECT_THAT(load("old_cudnn").status().message(),
              HasSubstr("plans that call cuDNN need version 9.0 or later, "
                        "and " +
                        libraryOf("old_cudnn") + " is of version 8.9.6"));
}

TEST(CudnnLibrary, MustHaveAllFunctions) {
  EXPECT_THAT(load("whole_driver").status().message(),
              HasSubstr("has no cudnnGetVersion"));
}

/// Ours first, where a code means something to who trains.
TEST(CudnnLibrary, SaysWhatCodesMean) {
  auto library = load("stub_cudnn");
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_TRUE(check(*library, cudnn::Code::success, "asking").ok());
  EXPECT_EQ(check(*library, cudnn::Code::badParameter, "asking").message(),
            "asking: the stub's words (CUDNN_STATUS_NOT_SUPPORTED 2000)");
  EXPECT_EQ(
      check(*library, cudnn::Code::prerequisiteMissing, "asking").message(),
      "asking: the library compiles this call when it is loaded, and found "
      "no libnvrtc to do so: the stub's words (CUDNN_STATUS_NOT_SUPPORTED "
      "3008)");
}
