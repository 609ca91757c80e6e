// What libgradus_cuda.so answers to a runtime.

#include "runtime/device/plug_in.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;

extern "C" Device *gradus_open_device(const char *version, const char *name,
                                      std::string *error);
extern "C" void gradus_tell_gpu_facts(const char *version, GpuFacts *facts);

TEST(CudaPlugIn, ServesRuntimesOfItsOwnVersion) {
  std::string error;
  EXPECT_FALSE(gradus_open_device("0.0.1", "cuda", &error));
  EXPECT_EQ(error, "libgradus_cuda.so is of Gradus " GRADUS_VERSION
                   ", and this is Gradus 0.0.1");
}

TEST(CudaPlugIn, ReadsNumbersOfCards) {
  std::string error;
  EXPECT_FALSE(gradus_open_device(GRADUS_VERSION, "cuda:99999999999", &error));
  EXPECT_EQ(error, "no machine has so many cards");
}

/// No machine has so many: with cards the error says how many it has, and
/// without one what is missing.
TEST(CudaPlugIn, SaysWhyThereIsNoSuchCard) {
  GpuFacts facts;
  gradus_tell_gpu_facts(GRADUS_VERSION, &facts);
  std::string error;
  EXPECT_FALSE(gradus_open_device(GRADUS_VERSION, "cuda:99", &error));
  std::string counted =
      inWords("this machine has ", facts.cards.size(), " GPU");
  EXPECT_NE(error.find(facts.cards.empty() ? facts.driver : counted),
            std::string::npos)
      << error;
}

TEST(CudaPlugIn, TellsWhatTheMachineHas) {
  GpuFacts facts;
  gradus_tell_gpu_facts("0.0.1", &facts);
  EXPECT_EQ(facts.driver, "libgradus_cuda.so is of Gradus " GRADUS_VERSION
                          ", and this is Gradus 0.0.1");
  EXPECT_TRUE(facts.libraries.empty());
  gradus_tell_gpu_facts(GRADUS_VERSION, &facts);
  EXPECT_TRUE(facts.driver.starts_with("CUDA ") == !facts.cards.empty())
      << facts.driver;
  EXPECT_EQ(facts.libraries.size(), 2u);
}
