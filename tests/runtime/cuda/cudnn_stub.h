// A server by a stub of cuDNN, and what that was asked for.
#pragma once

#include "runtime/cuda/cudnn.h"

#include "tests/runtime/cuda/environment.h"
#include "tests/runtime/cuda/packed_command.h"
#include "tests/runtime/cuda/stub_library.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gradus::runtime::cuda::test {

constexpr const char *kCudnnVariable = "GRADUS_CUDNN_LIBRARY";

class CudnnStub : public testing::Test {
protected:
  explicit CudnnStub(const std::string &name = "stub_cudnn")
      : environment_(kCudnnVariable, libraryOf(name).c_str()) {
    void *stub = dlopen(libraryOf(name).c_str(), RTLD_NOW);
    written = reinterpret_cast<const char *(*)()>(dlsym(stub, "stubWritten"));
    written(); // of tests before
    auto session = cudnn::openSession();
    EXPECT_TRUE(session.ok()) << session.status();
    server = serveCudnn(*session);
    EXPECT_STREQ(written(), "create\n");
  }

  std::unique_ptr<LibraryCall> prepare(const artifact::LibraryCommandT &command,
                                       uint64_t scratch = 0) {
    auto call = server->prepare(*PackedCommand(command), scratch);
    EXPECT_TRUE(call.ok()) << call.status();
    return call.ok() ? *std::move(call) : nullptr;
  }

  std::string wordsOf(const artifact::LibraryCommandT &command) {
    return server->prepare(*PackedCommand(command), 0).status().message();
  }

  const char *(*written)() = nullptr;
  std::unique_ptr<LibraryServer> server;

private:
  Environment environment_;
};

} // namespace gradus::runtime::cuda::test
