// Plans of buckets that SINGA and MindSpore would make.

#include "passes/passes.h"
#include "tests/passes/program_text.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"

#include <gmock/gmock.h>

using namespace gradus;
using gradus::testing::PassText;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::UnorderedElementsAreArray;

namespace {

/// One gradient's shape, as `3x4x`, and its parameter.
struct Gradient {
  std::string name, shape;
};

/// A graph that computes gradients one after the other, in this order.
/// Parameters are declared in the reverse order, as a model uses them.
std::string programOf(const std::vector<Gradient> &gradients,
                      const std::string &keys) {
  std::string states, inputs, ops;
  for (const auto &[name, shape] : gradients) {
    std::string type = "tensor<" + shape + "f32>";
    states = "gradus.state @" + name + " : " + type +
             " {role = #gradus.role<parameter>, init = #gradus.init<zeros>}\n" +
             states;
    inputs += (inputs.empty() ? "%" : ", %") + name + "_in: " + type;
    ops += "%" + name + " = gradus.softmax %" + name + "_in axis 0 : " + type +
           "\n%" + name + "_sum = gradus.all_reduce %" + name + " {of = [\"" +
           name + "\"]} : " + type + " -> " + type + "\ngradus.update @" +
           name + ", %" + name + "_sum : " + type + "\n";
  }
  return "gradus.program @p attributes {recipe = {distribution = {mode = "
         "\"data_parallel\", " +
         keys + "}}} {\n" + states + "gradus.graph @train(" + inputs + ") {\n" +
         ops + "gradus.return\n}\n}";
}

/// The number of elements of each collective, in the order in which they begin.
std::vector<int64_t> plan(const std::vector<Gradient> &gradients,
                          const std::string &keys) {
  PassText text(programOf(gradients, keys));
  // Updates come last, as behind a guard: else each would wait for its bucket.
  for (auto update : llvm::to_vector(
           text.program().getGraph("train").getBody().getOps<UpdateOp>()))
    update->moveBefore(update->getBlock()->getTerminator());
  mlir::PassManager passes(&text.context);
  passes.nest<ProgramOp>().addPass(createBucketCollectives());
  EXPECT_TRUE(mlir::succeeded(passes.run(*text.module))) << text.messages;
  std::vector<int64_t> sizes;
  text.program().walk([&](AllReduceOp sum) {
    int64_t elements = 0;
    for (mlir::Type type : sum.getOperandTypes())
      elements += mlir::cast<mlir::RankedTensorType>(type).getNumElements();
    sizes.push_back(elements);
  });
  return sizes;
}

std::vector<Gradient> vectors(std::initializer_list<int> sizes) {
  std::vector<Gradient> gradients;
  for (int size : sizes)
    gradients.push_back(
        {"g" + std::to_string(gradients.size()), std::to_string(size) + "x"});
  return gradients;
}

/// The gradients of ResNet-50 in the reverse order of their definition.
std::vector<Gradient> resNet50() {
  std::vector<Gradient> parameters;
  auto add = [&](std::initializer_list<int> shape) {
    std::string text;
    for (int size : shape)
      text += std::to_string(size) + "x";
    parameters.push_back({"p" + std::to_string(parameters.size()), text});
  };
  auto convolution = [&](int out, int in, int window) {
    add({out, in, window, window});
    add({out}); // scale and bias of the normalization
    add({out});
  };
  convolution(64, 3, 7);
  int channels = 64, width = 64;
  for (int blocks : {3, 4, 6, 3}) {
    for (int block = 0; block < blocks; ++block) {
      convolution(width, channels, 1);
      convolution(width, width, 3);
      convolution(4 * width, width, 1);
      if (block == 0)
        convolution(4 * width, channels, 1);
      channels = 4 * width;
    }
    width *= 2;
  }
  add({1000, 2048});
  add({1000});
  return {parameters.rbegin(), parameters.rend()};
}

} // namespace

// A gradient of more elements travels alone and leaves the bucket open; one of
// as many does not. https://github.com/apache/singa, opt.py, DistOpt.
TEST(Buckets, AreThoseOfSingaForAThresholdOfTen) {
  EXPECT_THAT(plan(vectors({4, 4, 4, 11, 10, 1, 3}), "bucket_elements = 10"),
              ElementsAre(12, 11, 11, 3));
  EXPECT_THAT(plan(vectors({4, 4, 11, 4, 3}), "bucket_elements = 10"),
              ElementsAre(11, 12, 3))
      << "the bucket goes on behind one that travels alone";
}

TEST(Buckets, AreElevenOfResNet50AsInSinga) {
  std::vector<Gradient> gradients = resNet50();
  ASSERT_EQ(gradients.size(), 161u);
  std::vector<int64_t> found = plan(gradients, "compat = \"singa\"");
  EXPECT_THAT(found, UnorderedElementsAreArray(
                         {3101672, 2103296, 3151872, 2433536, 2234368, 2234368,
                          2121728, 1098304, 2359296, 2359296, 2359296}));
  EXPECT_EQ(std::accumulate(found.begin(), found.end(), int64_t(0)), 25557032);
  EXPECT_EQ(found.back(), 1098304);
}

// 16 MiB are 4,194,304 elements; what comes last is an eighth at most.
TEST(Buckets, AreFewOfResNet50ByBytes) {
  std::vector<int64_t> found = plan(resNet50(), "mean = true");
  EXPECT_EQ(found.size(), 9u);
  for (int64_t elements : found)
    EXPECT_LE(elements, 4194304);
  EXPECT_LE(found.back(), 524288);
  EXPECT_EQ(std::accumulate(found.begin(), found.end(), int64_t(0)), 25557032);
}

// MindSpore's groups [0, 1], [2, 3, 4] and [5, 6] of parameters; gradients
// become final in the reverse order.
TEST(Buckets, AreTheGroupsOfTheRecipesSplits) {
  EXPECT_THAT(plan(vectors({1, 2, 4, 8, 16, 32, 64}),
                   "gradient_splits = [2 : i64, 5 : i64]"),
              ElementsAre(3, 28, 96));
  EXPECT_THAT(plan(vectors({1, 2, 4, 8, 16, 32}), "gradient_splits = []"),
              ElementsAre(7, 56))
      << "in the middle";
}

TEST(Buckets, StayApartWhereTheirTypesDiffer) {
  PassText text(R"(
gradus.program @p attributes {recipe = {distribution = {mode = "data_parallel"}}} {
  gradus.graph @train(%a: tensor<4xf16>, %b: tensor<f32>, %c: tensor<2xf16>) -> (x: tensor<4xf16>, y: tensor<f32>, z: tensor<2xf16>) {
    %x = gradus.all_reduce %a : tensor<4xf16> -> tensor<4xf16>
    %y = gradus.all_reduce %b : tensor<f32> -> tensor<f32>
    %z = gradus.all_reduce %c : tensor<2xf16> -> tensor<2xf16>
    gradus.return %x, %y, %z : tensor<4xf16>, tensor<f32>, tensor<2xf16>
  }
})");
  mlir::PassManager passes(&text.context);
  passes.nest<ProgramOp>().addPass(createBucketCollectives());
  ASSERT_TRUE(mlir::succeeded(passes.run(*text.module)));
  std::vector<unsigned> operands;
  text.program().walk(
      [&](AllReduceOp sum) { operands.push_back(sum.getNumOperands()); });
  EXPECT_THAT(operands, UnorderedElementsAreArray({2u, 1u}));
}
