#include "runtime/session/devices.h"
#include "tests/this_build.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace gradus::runtime;

static std::string refusal(const std::string &name) {
  auto device = openDevice(name);
  return device.ok() ? "opened" : device.status().message();
}

TEST(Devices, HaveTheProcessor) {
  auto device = openDevice("cpu");
  ASSERT_TRUE(device.ok());
  EXPECT_EQ((*device)->kind(), "cpu");
  EXPECT_EQ((*device)->name(), "this processor");
}

TEST(Devices, HaveTheEmulatedGpu) {
  setenv("GRADUS_EMULATED_LIBRARY",
         GRADUS_BINARY_DIR "/lib/libgradus_emulated.so", 1);
  auto device = openDevice("emulated");
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ((*device)->kind(), "cuda");
  EXPECT_EQ((*device)->name(), "the emulated GPU");
  unsetenv("GRADUS_EMULATED_LIBRARY");
}

TEST(Devices, ComeFromThePlugInForGpus) {
  setenv("GRADUS_CUDA_LIBRARY", GRADUS_BINARY_DIR "/lib/libgradus_cuda.so", 1);
  EXPECT_EQ(refusal("cuda:99").substr(0, 16), "device cuda:99: ");
  unsetenv("GRADUS_CUDA_LIBRARY");
}

TEST(Devices, SayWhereThePlugInIsNot) {
  setenv("GRADUS_EMULATED_LIBRARY", "no-such-library.so", 1);
  EXPECT_NE(refusal("emulated")
                .find("device emulated: needs "
                      "libgradus_emulated.so, which cannot be "
                      "loaded: no-such-library.so"),
            std::string::npos)
      << refusal("emulated");
  unsetenv("GRADUS_EMULATED_LIBRARY");
  setenv("GRADUS_CUDA_LIBRARY", "libm.so.6", 1);
  EXPECT_EQ(refusal("cuda"),
            "device cuda: libm.so.6 is no libgradus_cuda.so of Gradus");
  unsetenv("GRADUS_CUDA_LIBRARY");
}

TEST(Devices, SayWhichNamesThereAre) {
  for (std::string name : {"tpu", "", "CPU", "cpu:0", "cudas"})
    EXPECT_EQ(refusal(name), "device " + name +
                                 " is not one of: cpu, cuda, cuda:NUMBER, "
                                 "emulated");
  for (std::string name : {"cuda:", "cuda:x", "cuda:-1", "cuda:1a"})
    EXPECT_EQ(refusal(name), "device " + name +
                                 ": expected the number of a card behind "
                                 "cuda:");
}

TEST(Devices, TellWhatThereIsForGpus) {
  const char *file = GRADUS_BINARY_DIR "/lib/libgradus_cuda.so";
  setenv("GRADUS_CUDA_LIBRARY", file, 1);
  GpuFacts facts = gpuFacts();
  EXPECT_EQ(facts.plugIn, file);
  EXPECT_FALSE(facts.driver.empty());
  setenv("GRADUS_CUDA_LIBRARY", "no-such-library.so", 1);
  facts = gpuFacts();
  EXPECT_NE(facts.plugIn.find("cannot be loaded: no-such-library.so"),
            std::string::npos);
  EXPECT_EQ(facts.driver, "");
  unsetenv("GRADUS_CUDA_LIBRARY");
}
