// Gradients of a convolution behind a max pool, from the elements that won
// alone, are what the evaluator computes of all elements. Numbers are quarters,
// so that sums are exact and often several elements of a window are the
// largest.

#include "tests/codegen/plan/plan_check.h"
#include "tests/end_to_end/compiled.h"

#include "codegen/targets/target.h"

#include "mlir/IR/Matchers.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

using Sizes = std::vector<int64_t>;

/// Windows that slide over each spatial dimension.
struct Windows {
  Sizes size, strides, dilations, before, behind;

  std::string attributes() const {
    return " strides " + listed(strides) + " pads " + listed(before) + " to " +
           listed(behind) + " dilations " + listed(dilations) + " ";
  }
  Sizes over(const Sizes &input) const {
    Sizes result;
    for (size_t d = 0; d < size.size(); ++d)
      result.push_back((input[d] + before[d] + behind[d] -
                        dilations[d] * (size[d] - 1) - 1) /
                           strides[d] +
                       1);
    return result;
  }
  static std::string listed(const Sizes &sizes) {
    std::string text;
    for (int64_t size : sizes)
      text += (text.empty() ? "[" : ", ") + std::to_string(size);
    return text + "]";
  }
};

/// Windows of a size without strides, padding or dilations.
Windows plain(const Sizes &size) {
  Sizes ones(size.size(), 1), zeros(size.size(), 0);
  return {size, ones, ones, zeros, zeros};
}

/// Windows of a size that stand side by side.
Windows beside(const Sizes &size) {
  Windows windows = plain(size);
  windows.strides = size;
  return windows;
}

struct Case {
  int64_t samples, channels, outputs;
  Sizes input;
  Windows window, pool;
  int64_t groups = 1;
  std::string element = "f32";
};

std::string typeOf(Sizes first, const Sizes &more, const std::string &element) {
  first.insert(first.end(), more.begin(), more.end());
  std::string text = "tensor<";
  for (int64_t size : first)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

/// A graph that computes both gradients of a convolution, given those of the
/// maxima of its results.
std::string programOf(const Case &c) {
  Sizes computed = c.window.over(c.input), won = c.pool.over(computed);
  std::string x = typeOf({c.samples, c.channels}, c.input, c.element),
              w = typeOf({c.outputs, c.channels / c.groups}, c.window.size,
                         c.element),
              y = typeOf({c.samples, c.outputs}, computed, c.element),
              p = typeOf({c.samples, c.outputs}, won, c.element),
              i = typeOf({c.samples, c.outputs}, won, "i32"),
              of = c.window.attributes() + "groups " +
                   std::to_string(c.groups) + " : ",
              by = " window " + Windows::listed(c.pool.size) +
                   c.pool.attributes() + ": ";
  return "gradus.program @p {\ngradus.graph @g(%x: " + x + ", %w: " + w +
         ", %dp: " + p + ") -> (dw: " + w + ", dx: " + x +
         ") {\n%y = gradus.convolution %x, %w" + of + x + ", " + w + " -> " +
         y + "\n%p, %i = gradus.max_pool %y" + by + y + " -> " + p + ", " + i +
         "\n%dy = gradus.max_pool_backward %dp, %i" + by + p + ", " + i +
         " -> " + y + "\n%dw = gradus.convolution_backward_weights %x, %dy" +
         of + x + ", " + y + " -> " + w +
         "\n%dx = gradus.convolution_backward_data %dy, %w" + of + y + ", " +
         w + " -> " + x + "\ngradus.return %dw, %dx : " + w + ", " + x +
         "\n}\n}\n";
}

/// The number of the gradients that become kernels which visit few elements.
int64_t kernelsOf(const Case &c) {
  ModuleText module(programOf(c));
  Target target = llvm::cantFail(findTarget("cpu", {"never"}));
  EXPECT_TRUE(
      mlir::succeeded(runStages(*module.module, "nests", target.model)));
  int64_t count = 0;
  module.module->walk([&](plan::LoopOp loop) { count += bool(loop.getAt()); });
  return count;
}

/// Quarters from -1 to 1.
HostTensor quarters(mlir::Type type, unsigned seed) {
  HostTensor tensor = zeros(mlir::cast<mlir::RankedTensorType>(type));
  std::mt19937 bits(seed);
  for (double &number : tensor.floats)
    number = int(bits() % 9) / 4.0 - 1;
  return tensor;
}

void expectExact(const Case &c, const std::string &target = "cpu") {
  std::string text = programOf(c);
  SCOPED_TRACE(text);
  ModuleText module(text);
  GraphOp graph = module.program().getGraph("g");
  llvm::SmallVector<HostTensor> inputs;
  for (mlir::Type type : graph.getArgumentTypes())
    inputs.push_back(quarters(type, inputs.size() + 3));
  StateMap states;
  auto expected = evaluateGraph(graph, inputs, states);
  ASSERT_TRUE(mlir::succeeded(expected));
  std::vector<char> bytes = artifactOf(text, target);
  for (int threads : {1, 3}) {
    runtime::SessionOptions options;
    options.threads = threads;
    NamedTensors found =
        Compiled(bytes, options)
            .run("g", {{"x", inputs[0]}, {"w", inputs[1]}, {"dp", inputs[2]}});
    EXPECT_EQ(found["dw"].floats, (*expected)[0].floats) << threads;
    EXPECT_EQ(found["dx"].floats, (*expected)[1].floats) << threads;
  }
}

/// The second convolution of LeNet-5, with a number of samples that has no
/// equal parts.
const Case lenet = {9, 6, 16, {14, 14}, plain({5, 5}), beside({2, 2})};

const Case cases[] = {
    lenet,
    // Padding of different sides, and positions that no pool reads.
    {11,
     3,
     40,
     {13, 11},
     {{3, 4}, {1, 1}, {1, 1}, {1, 0}, {2, 3}},
     beside({2, 3})},
    // Windows of a pool that overlap, and that have holes; blocks of lanes.
    {8,
     17,
     20,
     {12, 9},
     plain({3, 3}),
     {{3, 3}, {2, 2}, {1, 1}, {0, 0}, {0, 0}}},
    {8,
     7,
     20,
     {15, 14},
     plain({3, 2}),
     {{2, 2}, {3, 4}, {2, 3}, {0, 0}, {0, 0}}},
    // A convolution by strides, with holes.
    {8,
     5,
     60,
     {23, 21},
     {{3, 2}, {2, 1}, {2, 3}, {2, 1}, {0, 1}},
     beside({2, 2})},
    // Windows of one dimension, too long to be written out, and of three.
    {8, 5, 7, {61}, plain({29}), beside({4})},
    {8, 8, 3, {6, 7, 8}, plain({3, 3, 3}), beside({2, 2, 2})},
};

} // namespace

TEST(LowerPooled, VisitsTheElementsThatWonAlone) {
  for (const Case &c : cases) {
    EXPECT_EQ(kernelsOf(c), 2) << programOf(c);
    expectExact(c);
  }
}

// No number leads out of an image, whatever a pool says.
TEST(LowerPooled, BoundsEachPosition) {
  ModuleText module(programOf(lenet));
  Target target = llvm::cantFail(findTarget("cpu", {"never"}));
  ASSERT_TRUE(
      mlir::succeeded(runStages(*module.module, "nests", target.model)));
  llvm::SmallVector<mlir::Attribute> bounds;
  module.module->walk([&](mlir::arith::MinUIOp op) {
    mlir::Attribute bound;
    ASSERT_TRUE(mlir::matchPattern(op.getRhs(), mlir::m_Constant(&bound)));
    bounds.push_back(bound);
  });
  auto last = mlir::IntegerAttr::get(
      mlir::IntegerType::get(module.module->getContext(), 32), 3);
  EXPECT_EQ(bounds, (llvm::SmallVector<mlir::Attribute>{last, last}));
}

TEST(LowerPooled, HasCodeForEachLevel) {
  for (const char *level : {"cpu:x86-64-v2", "cpu:x86-64-v3"})
    expectExact(lenet, level);
}

// Zeros may win in padding, and few channels fill no vector.
TEST(LowerPooled, LeavesOtherConvolutions) {
  Case padded = lenet, grouped = lenet, thin = lenet, wide = lenet, few = lenet;
  padded.pool.before = padded.pool.behind = {1, 1};
  grouped.groups = 2;
  thin.channels = 1;
  wide.element = "f64";
  few.samples = 4;
  for (const Case &c : {padded, grouped, thin, wide, few}) {
    EXPECT_EQ(kernelsOf(c), 0) << programOf(c);
    expectExact(c);
  }
}

// Indices from elsewhere may name elements that are not there.
TEST(LowerPooled, LeavesIndicesOfNoPool) {
  std::string text = programOf(lenet), own = "%dp, %i window";
  text.replace(text.find(own), own.size(), "%dp, %j window");
  std::string inputs = ") -> (dw";
  text.replace(text.find(inputs), inputs.size(),
               ", %j: tensor<9x16x5x5xi32>) -> (dw");
  ModuleText module(text);
  Target target = llvm::cantFail(findTarget("cpu", {"never"}));
  ASSERT_TRUE(
      mlir::succeeded(runStages(*module.module, "nests", target.model)));
  module.module->walk([](plan::LoopOp loop) { EXPECT_FALSE(loop.getAt()); });
}
