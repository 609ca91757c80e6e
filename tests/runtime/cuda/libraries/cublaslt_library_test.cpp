// What is said of a cuBLASLt that does not serve: stubs stand for it.

#include "runtime/cuda/libraries/cublaslt_library.h"

#include "tests/runtime/cuda/environment.h"
#include "tests/runtime/cuda/stub_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using testing::HasSubstr;

namespace {

/// What is said when a session is opened with this library.
std::string wordsOf(const char *name) {
  Environment environment("GRADUS_CUBLASLT_LIBRARY", libraryOf(name).c_str());
  return cublaslt::openSession().status().message();
}

} // namespace

TEST(CublasLtLibrary, MustBeNewEnough) {
  EXPECT_THAT(wordsOf("old_cublaslt"),
              HasSubstr("plans that call cuBLASLt need version 12.0 or "
                        "later, and " +
                        libraryOf("old_cublaslt") + " is of version 11.8.0"));
}

TEST(CublasLtLibrary, MustHaveAllFunctions) {
  EXPECT_THAT(wordsOf("whole_driver"), HasSubstr("has no cublasLtGetVersion"));
}

TEST(CublasLtLibrary, NeedsAGpu) {
  EXPECT_THAT(wordsOf("cublaslt_without_gpu"),
              HasSubstr("and " + libraryOf("cublaslt_without_gpu") +
                        " does not start: it finds no GPU, or the driver is "
                        "older than it needs (CUBLAS_STATUS_NOT_INITIALIZED "
                        "1) (GRADUS_CUBLASLT_LIBRARY may name"));
}

TEST(CublasLtLibrary, HasItsOwnWordsForOtherCodes) {
  Environment environment("GRADUS_CUBLASLT_LIBRARY",
                          libraryOf("stub_cublaslt").c_str());
  auto library = cublaslt::load();
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_TRUE(check(*library, cublaslt::Code::success, "asking").ok());
  EXPECT_EQ(check(*library, cublaslt::Code::invalidValue, "asking").message(),
            "asking: the stub's words (CUBLAS_STATUS_INVALID_VALUE 7)");
}
