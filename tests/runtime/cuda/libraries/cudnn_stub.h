// A server by a stub of cuDNN.
#pragma once

#include "runtime/cuda/libraries/cudnn.h"

#include "tests/runtime/cuda/library_stub.h"

namespace gradus::runtime::cuda::test {

constexpr const char *kCudnnVariable = "GRADUS_CUDNN_LIBRARY";

struct CudnnStub : LibraryStub {
  explicit CudnnStub(const std::string &name = "stub_cudnn")
      : LibraryStub(kCudnnVariable, name) {
    serve(cudnn::openSession(), serveCudnn);
  }
};

} // namespace gradus::runtime::cuda::test
