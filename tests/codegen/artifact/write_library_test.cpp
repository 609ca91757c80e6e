#include "written_graph.h"

#include "runtime/library_text.h"

using namespace gradus;
namespace fb = gradus::artifact;

/// A call of a library in a program with a kernel, which is its second.
static std::string programOf(const std::string &call) {
  return R"(
gradus.program @p {
  plan.kernel @first(%x: memref<4x4xf32>, %y: memref<4x4xf32>) attributes {inputs = 1 : i64, split = #plan<split serial>, items = 1 : i64} {
    plan.end
  }
  plan.kernel @second(%x: memref<4x4xf32>, %y: memref<4x4xf32>) attributes {inputs = 1 : i64, split = #plan<split serial>, items = 1 : i64} {
    plan.end
  }
  gradus.graph @train(%x: tensor<4x4xf32>) -> (y: tensor<4x4xf32>) {
    %y = plan.library )" +
         call + R"( : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    gradus.return %y : tensor<4x4xf32>
  }
})";
}

static const std::string kLayouts =
    " layouts [{dims = array<i64: 4, 4>}, {dims = array<i64: 4, 4>, strides = "
    "array<i64: 1, 4>}, {dims = array<i64: 4, 4>}] ";

/// Writes a program with a call, and gives `check` the call's table.
template <typename Check>
static void written(const std::string &call, Check check,
                    const Tuning &tuning = {}) {
  WrittenGraph graph(programOf(call).c_str(), tuning);
  const auto *library = graph.command(0).kind_as_LibraryCommand();
  ASSERT_TRUE(library);
  check(*library);
}

TEST(WriteLibrary, AMatmulHasAnActivationAndAKernelInItsPlace) {
  written("\"matmul\"(%x, %x) config {activation = \"relu\"}" + kLayouts +
              "{epilogue = @second}",
          [](const fb::LibraryCommand &call) {
            const fb::MatmulCall *matmul = call.op_as_matmul();
            ASSERT_TRUE(matmul);
            EXPECT_EQ(matmul->activation(), fb::Activation::relu);
            EXPECT_EQ(matmul->epilogue(), 1u);
            EXPECT_EQ(runtime::libraryText(call),
                      "matmul f32 4x4 x f32 4x4 strides 1x4 -> f32 4x4, relu");
            EXPECT_EQ(call.scratch(), UINT32_MAX);
          });
  written("\"matmul\"(%x, %x) config {}" + kLayouts,
          [](const fb::LibraryCommand &call) {
            EXPECT_EQ(call.op_as_matmul()->activation(), fb::Activation::none);
            EXPECT_EQ(call.op_as_matmul()->epilogue(), UINT32_MAX);
          });
}

TEST(WriteLibrary, AConvolutionHasWindowsWhicheverWayItGoes) {
  for (std::string name : {"convolution", "convolution_backward_data",
                           "convolution_backward_weights"})
    written("\"" + name +
                "\"(%x, %x) config {strides = array<i64: 2>, pads_end = "
                "array<i64: 1>}" +
                kLayouts,
            [&](const fb::LibraryCommand &call) {
              EXPECT_EQ(fb::EnumNameLibraryOp(call.op_type()), name);
              const fb::Windows *windows = runtime::windowsOf(call);
              ASSERT_TRUE(windows);
              EXPECT_EQ(windows->strides()->Get(0), 2);
              EXPECT_EQ(windows->pads_end()->Get(0), 1);
              EXPECT_EQ(windows->dilations(), nullptr);
            });
}

TEST(WriteLibrary, AttentionHasScoresInBothDirections) {
  for (std::string name : {"attention", "attention_backward"})
    written("\"" + name + "\"(%x, %x) config {scale = 0.5 : f64, causal}" +
                kLayouts,
            [](const fb::LibraryCommand &call) {
              const fb::Scores *scores = runtime::scoresOf(call);
              ASSERT_TRUE(scores);
              EXPECT_EQ(scores->scale(), 0.5);
              EXPECT_TRUE(scores->causal());
            });
}

TEST(WriteLibrary, AReorderHasNothingOfItsOwn) {
  written("\"reorder\"(%x, %x) config {}" + kLayouts,
          [](const fb::LibraryCommand &call) {
            EXPECT_TRUE(call.op_as_reorder());
          });
}

TEST(WriteLibrary, ACallHasTheAlgorithmsThatWereMeasuredForIt) {
  Tuning tuning;
  tuning["matmul f32 4x4 x f32 4x4 strides 1x4 -> f32 4x4"] = {
      {"some card", "cublaslt 1", "7"}};
  written(
      "\"matmul\"(%x, %x) config {}" + kLayouts,
      [](const fb::LibraryCommand &call) {
        ASSERT_EQ(call.choices()->size(), 1u);
        EXPECT_EQ(call.choices()->Get(0)->algorithm()->str(), "7");
      },
      tuning);
  written(
      "\"matmul\"(%x, %x) config {activation = \"relu\"}" + kLayouts,
      [](const fb::LibraryCommand &call) {
        EXPECT_EQ(call.choices(), nullptr);
      },
      tuning);
}
