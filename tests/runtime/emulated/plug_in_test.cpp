// What libgradus_emulated.so answers to a runtime.

#include "runtime/device/plug_in.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace gradus::runtime;

extern "C" Device *gradus_open_emulated_device(const char *version,
                                               const char *name,
                                               std::string *error);
extern "C" void *gradus_emulated_memory(const void *bytes, size_t size);

TEST(EmulatedPlugIn, OpensTheEmulatedCard) {
  std::string error;
  std::unique_ptr<Device> device(
      gradus_open_emulated_device(GRADUS_VERSION, "emulated", &error));
  ASSERT_TRUE(device) << error;
  EXPECT_EQ(device->name(), "the emulated GPU");
}

TEST(EmulatedPlugIn, GivesMemoryWhereTheCardIsOpen) {
  const int number = 7;
  EXPECT_EQ(gradus_emulated_memory(&number, sizeof(number)), nullptr);
  std::string error;
  std::unique_ptr<Device> device(
      gradus_open_emulated_device(GRADUS_VERSION, "emulated", &error));
  ASSERT_TRUE(device) << error;
  void *memory = gradus_emulated_memory(&number, sizeof(number));
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(*static_cast<int *>(memory), 7); // It is of this process.
  EXPECT_EQ(gradus_emulated_memory(nullptr, 4), nullptr);
  EXPECT_EQ(gradus_emulated_memory(&number, 0), nullptr);
}

TEST(EmulatedPlugIn, ServesRuntimesOfItsOwnVersion) {
  std::string error;
  EXPECT_FALSE(gradus_open_emulated_device("0.0.1", "emulated", &error));
  EXPECT_EQ(error, "libgradus_emulated.so is of Gradus " GRADUS_VERSION
                   ", and this is Gradus 0.0.1");
}

TEST(EmulatedPlugIn, TakesOptionsOfTheEmulatedCardFromTheEnvironment) {
  std::string error;
  setenv("GRADUS_EMULATED", "lost", 1);
  EXPECT_FALSE(gradus_open_emulated_device(GRADUS_VERSION, "emulated", &error));
  EXPECT_EQ(error, "GRADUS_EMULATED: 'lost' is not KEY=NUMBER");
  unsetenv("GRADUS_EMULATED");
}
