// A server by a stub of a library, and what that was asked for.
#pragma once

#include "runtime/cuda/libraries/library_call.h"

#include "tests/runtime/cuda/environment.h"
#include "tests/runtime/cuda/packed_command.h"
#include "tests/runtime/cuda/stub_library.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gradus::runtime::cuda::test {

class LibraryStub : public testing::Test {
protected:
  /// The file that `variable` names is that of a stub.
  LibraryStub(const char *variable, const std::string &stub)
      : environment_(variable, libraryOf(stub).c_str()) {
    void *library = dlopen(libraryOf(stub).c_str(), RTLD_NOW);
    written =
        reinterpret_cast<const char *(*)()>(dlsym(library, "stubWritten"));
    written(); // of tests before
  }
  template <typename Session>
  void serve(const StatusOr<Session> &session,
             std::unique_ptr<LibraryServer> (*by)(Session)) {
    ASSERT_TRUE(session.ok()) << session.status();
    server = by(*session);
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
