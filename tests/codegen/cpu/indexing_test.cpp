// Gathers and sums at indices, compiled: every place in a buffer, none outside,
// the same bits for any number of threads.

#include "tests/end_to_end/compiled.h"

#include <cmath>

using namespace gradus;

namespace {

const char *program = R"(gradus.program @p {
  gradus.graph @take(%x: tensor<7x37xf32>, %i: tensor<5xi32>) -> (y: tensor<5x37xf32>) {
    %y = gradus.gather %x at %i axis 0 : tensor<7x37xf32>, tensor<5xi32> -> tensor<5x37xf32>
    gradus.return %y : tensor<5x37xf32>
  }
  gradus.graph @add(%x: tensor<4096x37xf32>, %i: tensor<4096xi64>) -> (y: tensor<700x37xf32>) {
    %y = gradus.scatter_add %x at %i axis 0 : tensor<4096x37xf32>, tensor<4096xi64> -> tensor<700x37xf32>
    gradus.return %y : tensor<700x37xf32>
  }
})";

HostTensor indices(std::vector<int64_t> values) {
  HostTensor tensor = zeros({int64_t(values.size())}, false);
  tensor.integers = std::move(values);
  return tensor;
}

} // namespace

TEST(CpuIndexing, TouchesNothingOutside) {
  Compiled compiled(program);
  HostTensor x = zeros({7, 37});
  for (size_t i = 0; i < x.floats.size(); ++i)
    x.floats[i] = i;
  HostTensor y = compiled.run(
      "take",
      {{"x", x}, {"i", indices({6, -7, 7, INT32_MIN, INT32_MAX})}})["y"];
  EXPECT_EQ(y.floats[0], 6 * 37);
  EXPECT_EQ(y.floats[37 + 36], 36);
  for (int64_t i = 2 * 37; i < y.size(); ++i)
    EXPECT_TRUE(std::isnan(y.floats[i]));
}

TEST(CpuIndexing, SumsAlikeWithAnyNumberOfThreads) {
  ModuleText text(program);
  auto type = mlir::cast<mlir::RankedTensorType>(
      text.program().getGraph("add").getArgumentTypes()[0]);
  HostTensor x = randomTensor(type, 3), i = indices({});
  i.shape = {4096};
  for (int64_t n = 0; n < 4096; ++n)
    i.integers.push_back(n == 5   ? INT64_MIN
                         : n == 6 ? 700
                                  : n * n * 31 % 1400 - 700);
  NamedTensors inputs = {{"x", x}, {"i", i}};
  runtime::SessionOptions one, three;
  one.threads = 1;
  three.threads = 3;
  NamedTensors expected = Evaluated(program).run("add", inputs);
  NamedTensors found = Compiled(program, one).run("add", inputs);
  expectNear(found, expected, 1e-5, 1e-5);
  EXPECT_EQ(found["y"].floats,
            Compiled(program, three).run("add", inputs)["y"].floats);
}
