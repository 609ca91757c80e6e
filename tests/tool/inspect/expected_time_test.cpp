// A roofline: the longer of computing and moving.

#include "tests/tool/adder.h"
#include "tool/inspect/expected_time.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

/// The adder's command, which claims so many FLOPs and bytes.
static double expected(uint64_t flops, uint64_t bytes,
                       const DeviceRates &rates) {
  gradus::test::TestArtifact artifact;
  artifact.command(0).flops = flops;
  artifact.command(0).bytes = bytes;
  Adder adder(std::move(artifact));
  auto session = adder.open();
  return expectedSeconds(*session->plan().graphs()->Get(0)->commands()->Get(0),
                         rates);
}

/// A processor's threads, or of none a card.
static DeviceRates ratesOf(int threads, double flops, double bytes) {
  DeviceRates rates;
  rates.threads = threads;
  rates.flops = rates.productFlops = flops;
  rates.bytes = bytes;
  return rates;
}

TEST(ExpectedTime, IsTheLongerOfFlopsAndBytes) {
  DeviceRates rates = ratesOf(1, 1e9, 1e9);
  EXPECT_NEAR(expected(0, 1'000'000, rates), 1e-3, 1e-9);
  // Our own kernels reach 40 % of the rate.
  EXPECT_NEAR(expected(1'000'000, 1'000'000, rates), 2.5e-3, 1e-9);
}

/// Kernels of Winograd's algorithm reach more of the rate than others.
TEST(ExpectedTime, KnowsConvolutionsOfOurOwn) {
  namespace fb = gradus::artifact;
  fb::CommandT made;
  made.name = "winograd+bias+relu";
  made.flops = 6'000'000;
  made.kind.Set(fb::KernelCommandT());
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Command::Pack(builder, &made));
  const auto &command =
      *flatbuffers::GetRoot<fb::Command>(builder.GetBufferPointer());
  EXPECT_NEAR(expectedSeconds(command, ratesOf(1, 1e9, 1e9)), 1e-2, 1e-9);
}

TEST(ExpectedTime, IsTheLeastOnACard) {
  DeviceRates rates = ratesOf(0, 1e12, 1e11);
  EXPECT_NEAR(expected(4'000'000, 200'000, rates), 4e-6, 1e-12);
  EXPECT_NEAR(expected(4'000'000, 800'000, rates), 8e-6, 1e-12);
}

/// Only what the library multiplies runs on tensor cores.
TEST(ExpectedTime, HasARateOfNarrowProducts) {
  namespace fb = gradus::artifact;
  DeviceRates rates = ratesOf(0, 1e12, 1e15);
  rates.productFlops = 1e13;
  for (auto [dtype, most] :
       {std::pair(fb::DType::f32, 1e12), {fb::DType::bf16, 1e13}}) {
    fb::CommandT made;
    fb::LibraryCommandT library;
    library.inputs.push_back(std::make_unique<fb::LibraryTensorT>());
    library.inputs[0]->dtype = dtype;
    made.flops = 1'000'000'000;
    made.kind.Set(std::move(library));
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(fb::Command::Pack(builder, &made));
    const auto &command =
        *flatbuffers::GetRoot<fb::Command>(builder.GetBufferPointer());
    EXPECT_EQ(mostFlops(command, rates), most);
    EXPECT_NEAR(expectedSeconds(command, rates), 1e9 / most, 1e-12);
  }
}

TEST(ExpectedTime, SaysHowItIsMade) {
  std::string text = expectationText({ratesOf(2, 500e9, 30e9)});
  EXPECT_NE(text.find("500 GFLOP/s"), std::string::npos);
  EXPECT_NE(text.find("30 GB/s"), std::string::npos);
  EXPECT_NE(text.find("2 threads"), std::string::npos);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(expectationText({}), "");
  text = expectationText({*findCard("NVIDIA H200"), *findCard("NVIDIA B200")});
  EXPECT_NE(text.find("H200 67 TFLOP/s of f32, 989 in 16-bit products of "
                      "libraries, 4.8 TB/s; B200 75, 2250, 7.7"),
            std::string::npos)
      << text;
}
