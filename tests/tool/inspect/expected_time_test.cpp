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

/// What a command of a kind is expected to take on some threads of together
/// 1 GFLOP/s, of pairs of bf16 two, and 1 GB/s.
static double expectedOf(gradus::artifact::CommandT made, int threads = 1) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(gradus::artifact::Command::Pack(builder, &made));
  DeviceRates rates = ratesOf(threads, 1e9, 1e9);
  rates.productFlops = 2e9;
  return expectedSeconds(*flatbuffers::GetRoot<gradus::artifact::Command>(
                             builder.GetBufferPointer()),
                         rates);
}

static gradus::artifact::CommandT
multiplying(uint64_t flops, uint64_t pairFlops, uint64_t operations) {
  gradus::artifact::KernelCommandT kernel;
  kernel.products = std::make_unique<gradus::artifact::ProductsT>();
  kernel.products->flops = flops;
  kernel.products->pair_flops = pairFlops;
  kernel.products->operations = operations;
  gradus::artifact::CommandT made;
  made.kind.Set(std::move(kernel));
  return made;
}

/// Kernels of matmuls, attention, recurrent steps and Winograd's algorithm
/// reach more of the rate than others, in pairs of bf16 of twice the rate. What
/// they do beside products, and what they read, comes on top.
TEST(ExpectedTime, KnowsKernelsThatMultiplyMatrices) {
  EXPECT_NEAR(expectedOf(multiplying(8'500'000, 0, 0)), 1e-2, 1e-9);
  EXPECT_NEAR(expectedOf(multiplying(0, 17'000'000, 0)), 1e-2, 1e-9);
  EXPECT_NEAR(expectedOf(multiplying(0, 0, 5'000'000)), 1e-2, 1e-9);
  gradus::artifact::CommandT made =
      multiplying(8'500'000, 17'000'000, 5'000'000);
  made.bytes = 1'000'000;
  EXPECT_NEAR(expectedOf(made), 3.1e-2, 1e-9);
}

/// The name of a kernel is for people.
TEST(ExpectedTime, DoesNotAskNames) {
  for (const char *name : {"winograd+bias+relu", "matmul_of_pairs", "scan"}) {
    gradus::artifact::CommandT made;
    made.name = name;
    made.flops = 4'000'000;
    made.kind.Set(gradus::artifact::KernelCommandT());
    EXPECT_NEAR(expectedOf(made), 1e-2, 1e-9);
  }
}

/// Of 3 items on 2 threads, one thread has two.
TEST(ExpectedTime, IsThatOfTheThreadWithTheMostItems) {
  gradus::artifact::CommandT made;
  made.flops = 3'000'000;
  gradus::artifact::KernelCommandT kernel;
  kernel.grain = 1;
  kernel.segments.push_back(std::make_unique<gradus::artifact::SegmentT>());
  kernel.segments[0]->items = 3;
  made.kind.Set(std::move(kernel));
  EXPECT_NEAR(expectedOf(made, 2), 4e-3 / 0.4 + 2e-6, 1e-9);
}

/// A convolution of the library, on 4x4 positions with padding.
static gradus::artifact::CommandT convolution(int64_t channels,
                                              gradus::artifact::DType dtype) {
  namespace fb = gradus::artifact;
  fb::LibraryCommandT library;
  for (std::vector<int64_t> dims :
       {std::vector<int64_t>{1, channels, 4, 4}, {channels, channels, 3, 3}}) {
    library.inputs.push_back(std::make_unique<fb::LibraryTensorT>());
    library.inputs.back()->dims = dims;
    library.inputs.back()->dtype = dtype;
  }
  library.outputs.push_back(std::make_unique<fb::LibraryTensorT>());
  library.outputs[0]->dims = {1, channels, 4, 4};
  fb::ConvolutionCallT call;
  call.windows = std::make_unique<fb::WindowsT>();
  call.windows->pads_begin = call.windows->pads_end = {1, 1};
  library.op.Set(std::move(call));
  fb::CommandT made;
  made.flops = 1'440'000;
  made.kind.Set(std::move(library));
  return made;
}

/// The library leaves out what is multiplied by padding.
TEST(ExpectedTime, OfAConvolutionIsWithoutPadding) {
  using enum gradus::artifact::DType;
  EXPECT_NEAR(expectedOf(convolution(32, f32)), 1e-3 / 0.95, 1e-9);
  EXPECT_NEAR(expectedOf(convolution(16, f32)), 1e-3 / 0.63, 1e-9);
  EXPECT_NEAR(expectedOf(convolution(32, bf16)), 0.5e-3 / 0.95, 1e-9);
  // Processors have no products of f16.
  EXPECT_NEAR(expectedOf(convolution(32, f16)), 1e-3 / 0.95, 1e-9);
}

/// Reorders move less than memory could.
TEST(ExpectedTime, OfAReorderIsByItsBytes) {
  gradus::artifact::LibraryCommandT library;
  library.op.Set(gradus::artifact::ReorderCallT());
  gradus::artifact::CommandT made;
  made.bytes = 200'000;
  made.kind.Set(std::move(library));
  EXPECT_NEAR(expectedOf(made), 1e-3, 1e-9);
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
  EXPECT_EQ(text.find("pairs"), std::string::npos);
  DeviceRates pairs = ratesOf(2, 500e9, 30e9);
  pairs.productFlops = 1e12;
  EXPECT_NE(expectationText({pairs}).find("1000 of pairs of bf16"),
            std::string::npos);
  EXPECT_EQ(expectationText({}), "");
  text = expectationText({*findCard("NVIDIA H200"), *findCard("NVIDIA B200")});
  EXPECT_NE(text.find("H200 67 TFLOP/s of f32, 989 in 16-bit products of "
                      "libraries, 4.8 TB/s; B200 75, 2250, 7.7"),
            std::string::npos)
      << text;
}
