// Depthwise convolutions on blocked channels are those on plain ones.

#include "codegen/libraries/depthwise_blocks.h"

#include "codegen/libraries/blocked_tensor.h"
#include "tests/codegen/compiled_run.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

std::string tensor(llvm::ArrayRef<int64_t> shape, const char *element) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

/// A depthwise convolution of images of 9 x 7.
struct Case {
  int64_t channels, window, stride, pad, padEnd;
  int64_t dilation = 1, block = 16;
  bool isNarrow = false;

  int64_t sizeOf(int64_t input) const {
    return (input + pad + padEnd - dilation * (window - 1) - 1) / stride + 1;
  }
  std::vector<int64_t> input() const { return {2, channels, 9, 7}; }
  std::vector<int64_t> weights() const { return {channels, 1, window, window}; }
  std::vector<int64_t> output() const {
    return {2, channels, sizeOf(9), sizeOf(7)};
  }

  /// A program with `op` of two tensors, which are f32 outside.
  std::string program(const std::string &op, llvm::ArrayRef<int64_t> a,
                      llvm::ArrayRef<int64_t> b,
                      llvm::ArrayRef<int64_t> result) const {
    auto twice = [](int64_t number) {
      return "[" + std::to_string(number) + ", " + std::to_string(number) + "]";
    };
    const char *element = isNarrow ? "bf16" : "f32";
    std::string text, ofA = tensor(a, "f32"), ofB = tensor(b, "f32"),
                      to = tensor(result, "f32"), name = isNarrow ? "r" : "";
    if (isNarrow)
      text = "%ra = arith.truncf %a : " + ofA + " to " + tensor(a, "bf16") +
             "\n%rb = arith.truncf %b : " + ofB + " to " + tensor(b, "bf16") +
             "\n";
    return graphProgram(
        "%a: " + ofA + ", %b: " + ofB + ") -> (y: " + to,
        text + "%y = gradus." + op + " %" + name + "a, %" + name +
            "b strides " + twice(stride) + " pads " + twice(pad) + " to " +
            twice(padEnd) + " dilations " + twice(dilation) + " groups " +
            std::to_string(channels) + " : " + tensor(a, element) + ", " +
            tensor(b, element) + " -> " + to + "\ngradus.return %y : " + to);
  }
};

/// Replaces the convolution of a graph by nests between two changes of layout.
void moveToBlocks(GraphOp graph, int64_t block) {
  std::optional<Depthwise> of;
  graph.walk([&](mlir::Operation *op) { of = of ? of : depthwiseOf(op); });
  ASSERT_TRUE(of);
  mlir::Location location = of->op->getLoc();
  mlir::OpBuilder builder(of->op);
  llvm::SmallVector<mlir::Value> blocks;
  for (mlir::Value value : of->activations)
    blocks.push_back(blocked(builder, location, value, block));
  mlir::Value result = onBlocks(builder, *of, blocks, block);
  if (!of->givesWeights())
    result =
        unblocked(builder, location, result, shapeOf(of->op->getResult(0)));
  of->op->getResult(0).replaceAllUsesWith(result);
  of->op->erase();
}

void check(const Case &c, const std::string &program) {
  CompiledRun run(program);
  moveToBlocks(run.programOf().getGraph("g"), c.block);
  run.run("select{library=never}");
  EXPECT_EQ(callsOf(run, "convolution"), 0);
}

const Case cases[] = {{32, 3, 1, 1, 1},
                      {48, 3, 2, 1, 1},
                      {32, 3, 2, 0, 1}, // as "same" pads
                      {32, 5, 2, 2, 2},
                      {24, 3, 1, 1, 1, 1, 8},
                      {16, 3, 1, 2, 2, 2},
                      {16, 1, 2, 0, 0},
                      {32, 3, 2, 1, 1, 1, 16, true}};

TEST(DepthwiseBlocks, SlideOverTheirInputs) {
  for (const Case &c : cases)
    check(c, c.program("convolution", c.input(), c.weights(), c.output()));
}

TEST(DepthwiseBlocks, GiveTheGradientsOfInputs) {
  for (const Case &c : cases)
    check(c, c.program("convolution_backward_data", c.output(), c.weights(),
                       c.input()));
}

TEST(DepthwiseBlocks, GiveTheGradientsOfWeights) {
  for (const Case &c : cases)
    check(c, c.program("convolution_backward_weights", c.input(), c.output(),
                       c.weights()));
}

/// Whether the convolution of a program is one that may become nests.
bool isOne(const std::string &program) {
  auto context = makeContext();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(program, context.get());
  bool found = false;
  module->walk([&](mlir::Operation *op) { found |= !!depthwiseOf(op); });
  return found;
}

TEST(DepthwiseBlocks, AreOfOneInputForEachOutput) {
  Case c = {32, 3, 1, 1, 1};
  EXPECT_TRUE(
      isOne(c.program("convolution", c.input(), c.weights(), c.output())));
  std::vector<int64_t> twice = {64, 1, 3, 3}, more = {2, 64, 9, 7};
  EXPECT_FALSE(isOne(c.program("convolution", c.input(), twice, more)))
      << "two outputs of each channel";
  Case outside = {32, 3, 1, 3, 3};
  EXPECT_FALSE(isOne(outside.program("convolution", outside.input(),
                                     outside.weights(), outside.output())))
      << "windows in the padding alone";
}

} // namespace
