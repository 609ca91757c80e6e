#include "runtime/devices.h"

#include <gtest/gtest.h>

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

TEST(Devices, SayWhatThisGradusDoesNotHave) {
  for (std::string name : {"cuda", "cuda:0", "cuda:12"})
    EXPECT_EQ(refusal(name),
              "device " + name + ": this Gradus has no CUDA executor");
  EXPECT_EQ(refusal("emulated"),
            "device emulated: this Gradus emulates no GPU");
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
