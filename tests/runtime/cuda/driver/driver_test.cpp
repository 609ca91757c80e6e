// Finding a driver, and what its codes mean.

#include "runtime/cuda/driver/driver.h"

#include "runtime/emulated/fake_driver.h"
#include "tests/runtime/cuda/stub_library.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;

namespace {

bool has(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST(CudaDriver, SaysWhereThereIsNone) {
  auto driver = loadDriver("no-such-library.so.1");
  ASSERT_FALSE(driver.ok());
  EXPECT_TRUE(has(driver.status().message(),
                  "no NVIDIA driver on this machine: no-such-library.so.1"))
      << driver.status();
}

TEST(CudaDriver, TakesAllFunctionsOutOfALibrary) {
  auto driver = loadDriver(libraryOf("whole_driver"));
  ASSERT_TRUE(driver.ok()) << driver.status();
#define GRADUS_CUDA(needs, name, symbol, parameters)                           \
  EXPECT_TRUE(driver->name) << #symbol;
#include "runtime/cuda/driver/driver.def"
  EXPECT_EQ(driver->init(0), Result::noDevice);
  EXPECT_FALSE(driver->isEmulated());
}

TEST(CudaDriver, RefusesOneThatIsTooOld) {
  auto driver = loadDriver(libraryOf("old_driver"));
  ASSERT_FALSE(driver.ok());
  EXPECT_TRUE(has(driver.status().message(),
                  "is of CUDA 11.4 and has no cuInit; needs one of CUDA 12.0"))
      << driver.status();
}

/// Whether this machine has one or not.
TEST(CudaDriver, OpensThisMachinesOnce) {
  auto first = systemDriver(), second = systemDriver();
  ASSERT_EQ(first.ok(), second.ok());
  if (first.ok())
    EXPECT_EQ(*first, *second);
  else
    EXPECT_TRUE(has(first.status().message(), "NVIDIA driver"))
        << first.status();
}

TEST(CudaDriver, SaysWhatCodesMean) {
  FakeDriver fake;
  const Driver &driver = fake.driver();
  EXPECT_TRUE(check(driver, Result::success, "loading").ok());
  EXPECT_EQ(check(driver, Result::noBinaryForGpu, "loading").message(),
            "loading: there is no code for this GPU's architecture "
            "(CUDA_ERROR_NO_BINARY_FOR_GPU 209)");
  EXPECT_EQ(check(driver, Result::notReady, "asking").message(),
            "asking: CUDA_ERROR_NOT_READY (CUDA_ERROR_NOT_READY 600)");
}
