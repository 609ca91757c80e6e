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
