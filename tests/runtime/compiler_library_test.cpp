// Where the compiler is looked for.

#include "runtime/compiler_library.h"

#include "tests/this_build.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace gradus::runtime;

namespace {

struct CompilerLibrary : testing::Test {
  void name(const char *file) { setenv("GRADUS_COMPILER_LIBRARY", file, 1); }
  void TearDown() override { unsetenv("GRADUS_COMPILER_LIBRARY"); }
};

} // namespace

TEST_F(CompilerLibrary, IsTheOneThatTheEnvironmentNames) {
  const char *stub = GRADUS_BINARY_DIR "/tests/bin/stub_compiler.so";
  name(stub);
  EXPECT_EQ(compilerFile(), stub);
  auto library = openCompiler("gradus_compiler_entry");
  ASSERT_TRUE(library.ok()) << library.status().message();
  EXPECT_EQ(library->file(), stub);
}

TEST_F(CompilerLibrary, IsRefusedWithoutTheFunctionThatIsWanted) {
  name(GRADUS_BINARY_DIR "/tests/bin/stub_compiler.so");
  EXPECT_NE(openCompiler("gradus_compiler")
                .status()
                .message()
                .find("is no libgradus_compiler.so of Gradus"),
            std::string::npos);
}

TEST_F(CompilerLibrary, IsNotThereWhereNothingIs) {
  name("/nowhere/libgradus_compiler.so");
  EXPECT_EQ(compilerFile(), "");
  EXPECT_FALSE(openCompiler("gradus_compiler").ok());
}
