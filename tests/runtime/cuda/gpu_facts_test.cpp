// What is told of a driver, its cards and the vendor's libraries.

#include "runtime/cuda/gpu_facts.h"

#include "runtime/emulated/fake_driver.h"
#include "tests/runtime/cuda/environment.h"
#include "tests/runtime/cuda/stub_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using testing::HasSubstr;
using testing::StartsWith;

TEST(GpuFacts, TellOfTheDriverAndItsCards) {
  FakeOptions options;
  options.memoryBytes = 3 << 20;
  FakeDriver fake(options);
  GpuFacts facts;
  addDriverFacts(fake.driver(), facts);
  EXPECT_THAT(facts.driver, testing::MatchesRegex("CUDA [0-9]+.[0-9]"));
  ASSERT_EQ(facts.cards.size(), 1u);
  EXPECT_EQ(facts.cards[0].name, "the emulated GPU");
  EXPECT_THAT(facts.cards[0].architecture, StartsWith("sm_"));
  EXPECT_EQ(facts.cards[0].bytes, 3u << 20);
  EXPECT_EQ(fake.leaks(), "");
}

TEST(GpuFacts, SayThatThereIsNoCard) {
  auto driver = loadDriver(libraryOf("whole_driver"));
  ASSERT_TRUE(driver.ok()) << driver.status();
  GpuFacts facts;
  addDriverFacts(*driver, facts);
  EXPECT_THAT(facts.driver, HasSubstr("the NVIDIA driver finds no GPU"));
  EXPECT_TRUE(facts.cards.empty());
}

TEST(GpuFacts, TellOfTheVendorsLibraries) {
  std::string cublaslt = libraryOf("stub_cublaslt");
  Environment there("GRADUS_CUBLASLT_LIBRARY", cublaslt.c_str());
  Environment missing("GRADUS_CUDNN_LIBRARY", "no-such.so");
  GpuFacts facts;
  addLibraryFacts(facts);
  ASSERT_EQ(facts.libraries.size(), 2u);
  EXPECT_EQ(facts.libraries[0].first, "cublaslt");
  EXPECT_EQ(facts.libraries[0].second, "13.1.0, " + cublaslt);
  EXPECT_EQ(facts.libraries[1].first, "cudnn");
  EXPECT_THAT(facts.libraries[1].second, HasSubstr("no-such.so"));
}
