#include "passes/methods/weight_blocks.h"

#include "../program_text.h"

#include <random>

using namespace gradus;
using gradus::testing::PassText;
using mlir::Value;

namespace {

using Shape = std::vector<int64_t>;

std::string typeOf(const Shape &shape) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + "f64>";
}

/// A graph of two tensors, to which a test adds ops, and its value.
class Formula {
public:
  Formula(const Shape &a, const Shape &b)
      : text_("gradus.program @p {\n  gradus.graph @f(%a: " + typeOf(a) +
              ", %b: " + typeOf(b) + ") -> () {\n    gradus.return\n  }\n}\n"),
        graph_(text_.program().getGraph("f")),
        builder_(graph_.getBody().front().getTerminator()),
        math(builder_, graph_.getLoc()) {}

  Value a() { return graph_.getBody().getArgument(0); }
  Value b() { return graph_.getBody().getArgument(1); }

  std::vector<double> evaluate(Value result, const std::vector<double> &a,
                               const std::vector<double> &b) {
    graph_.addOutput("y", result);
    StateMap states;
    auto results = evaluateGraph(
        graph_, {tensor(this->a(), a), tensor(this->b(), b)}, states);
    EXPECT_TRUE(succeeded(results)) << text_.messages;
    const HostTensor &found = results->front();
    return std::vector<double>(found.floats.begin(), found.floats.end());
  }

private:
  static HostTensor tensor(Value like, const std::vector<double> &numbers) {
    HostTensor result = zeros(tensorType(like));
    EXPECT_EQ(result.floats.size(), numbers.size());
    std::copy(numbers.begin(), numbers.end(), result.floats.begin());
    return result;
  }

  PassText text_;
  GraphOp graph_;
  mlir::OpBuilder builder_;

public:
  Arithmetic math;
};

std::vector<double> numbers(int64_t count, unsigned seed) {
  std::mt19937 bits(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> result(count);
  for (double &number : result)
    number = uniform(bits);
  return result;
}

void expectNear(const std::vector<double> &found,
                const std::vector<double> &expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-12) << "element " << i;
}

/// Element [group, row, column] of the matrix that has the blocks on its
/// diagonal.
double dense(const std::vector<double> &blocks, Blocks of, int64_t group,
             int64_t row, int64_t column) {
  if (row / of.size != column / of.size)
    return 0;
  int64_t block = group * of.count + row / of.size;
  return blocks[(block * of.size + row % of.size) * of.size + column % of.size];
}

/// Two groups, each of 5 features in blocks of 3.
constexpr Blocks kBlocks = {5, 2, 2, 3};

} // namespace

TEST(WeightBlocks, AreReadOffAFactor) {
  mlir::MLIRContext context;
  auto type =
      mlir::RankedTensorType::get({6, 3, 3}, mlir::Float32Type::get(&context));
  Blocks blocks = Blocks::of(type, /*features=*/8, /*groups=*/2);
  EXPECT_EQ(blocks.count, 3);
  EXPECT_EQ(blocks.size, 3);
  EXPECT_EQ(blocks.padded(), 9);
}

TEST(WeightBlocks, MultiplyRows) {
  Formula f({4, 3, 3}, {2, 5, 4});
  auto diagonal = numbers(36, 1), matrix = numbers(40, 2);
  std::vector<double> expected;
  for (int64_t g = 0; g < 2; ++g)
    for (int64_t i = 0; i < 5; ++i)
      for (int64_t j = 0; j < 4; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < 5; ++k)
          sum +=
              dense(diagonal, kBlocks, g, i, k) * matrix[(g * 5 + k) * 4 + j];
        expected.push_back(sum);
      }
  expectNear(
      f.evaluate(multiplyRows(f.math, kBlocks, f.a(), f.b()), diagonal, matrix),
      expected);
}

TEST(WeightBlocks, MultiplyColumns) {
  Formula f({4, 3, 3}, {2, 4, 5});
  auto diagonal = numbers(36, 3), matrix = numbers(40, 4);
  std::vector<double> expected;
  for (int64_t g = 0; g < 2; ++g)
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t j = 0; j < 5; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < 5; ++k)
          sum +=
              matrix[(g * 4 + i) * 5 + k] * dense(diagonal, kBlocks, g, k, j);
        expected.push_back(sum);
      }
  expectNear(f.evaluate(multiplyColumns(f.math, kBlocks, f.b(), f.a()),
                        diagonal, matrix),
             expected);
}

TEST(WeightBlocks, AreDampedOnTheirDiagonalAndOneOnPadding) {
  Formula f({4, 3, 3}, {});
  auto factor = numbers(36, 5);
  std::vector<double> expected = factor;
  for (int64_t block = 0; block < 4; ++block)
    for (int64_t i = 0; i < 3; ++i) {
      double &element = expected[(block * 3 + i) * 3 + i];
      element = block % 2 == 1 && i == 2 ? 1 : element + 0.25;
    }
  expectNear(f.evaluate(damped(f.math, kBlocks, f.a(), f.b()), factor, {0.25}),
             expected);
}

TEST(WeightBlocks, HaveAMeanOfTheirDiagonalWithoutPadding) {
  Formula f({4, 3, 3}, {});
  auto factor = numbers(36, 6);
  double sum = 0;
  for (int64_t g = 0; g < 2; ++g)
    for (int64_t i = 0; i < 5; ++i)
      sum += dense(factor, kBlocks, g, i, i);
  expectNear(f.evaluate(meanOfDiagonal(f.math, kBlocks, f.a()), factor, {0}),
             {sum / 10});
}

TEST(WeightBlocks, AreFiniteOneByOne) {
  Formula f({3, 2, 2}, {});
  auto blocks = numbers(12, 7);
  blocks[5] = std::nan("");
  blocks[11] = INFINITY;
  Value finite = areFinite(f.math, f.a());
  Value numbers =
      convert(f.math.builder, f.math.loc, finite, f.math.builder.getF64Type());
  expectNear(f.evaluate(numbers, blocks, {0}), {1, 0, 0});
}

/// The first block is inverted; the second is not positive definite and keeps
/// its old inverse; the third has none, and gets that of its mean eigenvalue.
TEST(WeightBlocks, AreInvertedOneByOneOrKept) {
  std::vector<double> factor = {2, 1, 1, 3, 1, 5, 5, 1, 1, 7, 7, 3},
                      old = {9, 9, 9, 9, 4, 1, 1, 5, 0, 0, 0, 0};
  constexpr Blocks blocks = {6, 1, 3, 2};
  for (double scale : {1.0, 0.5}) {
    Formula f({3, 2, 2}, {3, 2, 2});
    Value damping = splat(f.math.builder, f.math.loc,
                          tensorType(f.a()).clone(Shape{}), 0.5);
    BlockInverses found =
        inversesOf(f.math, blocks, f.a(), damping, f.b(), scale);
    // (2.5 * 3.5 - 1) = 7.75 is the determinant of the first.
    expectNear(f.evaluate(found.values, factor, old),
               {3.5 / 7.75 * scale, -1 / 7.75 * scale, -1 / 7.75 * scale,
                2.5 / 7.75 * scale, 4, 1, 1, 5, scale / 2.5, 0, 0,
                scale / 2.5});
    Formula own({3, 2, 2}, {3, 2, 2});
    damping = splat(own.math.builder, own.math.loc,
                    tensorType(own.a()).clone(Shape{}), 0.5);
    Value areOwn =
        inversesOf(own.math, blocks, own.a(), damping, own.b(), scale).areOwn;
    expectNear(own.evaluate(convert(own.math.builder, own.math.loc, areOwn,
                                    own.math.builder.getF64Type()),
                            factor, old),
               {1, 0, 0});
  }
}

/// Of weights that lie as outputs by inputs, and the other way around.
TEST(WeightBlocks, MultiplyTheirSideOfAGradient) {
  for (bool areRows : {false, true}) {
    std::string type = areRows ? "tensor<5x2xf64>" : "tensor<2x5xf64>";
    PassText text(
        "gradus.program @p {\n  gradus.state @w : " + type +
        R"( {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%g: )" +
        type + R"(, %a: tensor<2x3x3xf32>) -> () {
    gradus.update @w, %g : )" +
        type + R"(
    gradus.factors @w inputs %a {axes = array<i64: )" +
        (areRows ? "0" : "1") + R"(>, kind = "dense"} : tensor<2x3x3xf32>
    gradus.return
  }
}
)");
    GraphOp train = text.program().getGraph("train");
    mlir::Block &block = train.getBody().front();
    auto update = *block.getOps<ParameterUpdate>().begin();
    auto factors = *block.getOps<FactorsOp>().begin();
    EXPECT_EQ(WeightMatrix(factors).rowsAreInputs(), areRows);
    mlir::OpBuilder builder(update);
    multiplyGradient(Arithmetic(builder, update.getLoc()), update, factors,
                     /*isInputs=*/true, factors.getInputs());
    Value direction = update.getGradientUse().get();
    EXPECT_TRUE(tensorType(direction).getElementType().isF64());
    train.addOutput("d", direction);
    factors.erase();
    update->erase(); // which is no arithmetic yet
    auto gradient = numbers(10, 11), diagonal = numbers(18, 12);
    std::vector<HostTensor> inputs;
    for (Value input : train.getBody().getArguments())
      inputs.push_back(zeros(tensorType(input)));
    std::copy(gradient.begin(), gradient.end(), inputs[0].floats.begin());
    std::copy(diagonal.begin(), diagonal.end(), inputs[1].floats.begin());
    StateMap states;
    auto results = evaluateGraph(train, inputs, states);
    ASSERT_TRUE(succeeded(results)) << text.messages;
    for (int64_t o = 0; o < 2; ++o)
      for (int64_t i = 0; i < 5; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < 5; ++k)
          sum += gradient[areRows ? k * 2 + o : o * 5 + k] *
                 (areRows ? dense(diagonal, {5, 1, 2, 3}, 0, i, k)
                          : dense(diagonal, {5, 1, 2, 3}, 0, k, i));
        EXPECT_NEAR(results->front().floats[areRows ? i * 2 + o : o * 5 + i],
                    sum, 1e-6);
      }
  }
}

TEST(WeightMatrix, HasOutputsByInputs) {
  Formula f({2, 3, 2}, {});
  WeightMatrix matrix(tensorType(f.a()), {2, 1}, 1); // inputs in this order
  EXPECT_EQ(matrix.outputs(), 2);
  EXPECT_EQ(matrix.inputs(), 6);
  EXPECT_FALSE(matrix.rowsAreInputs());
  auto weight = numbers(12, 8);
  std::vector<double> expected;
  for (int64_t o = 0; o < 2; ++o)
    for (int64_t j = 0; j < 2; ++j)
      for (int64_t i = 0; i < 3; ++i)
        expected.push_back(weight[(o * 3 + i) * 2 + j]);
  expectNear(f.evaluate(matrix.ofWeight(f.math, f.a()), weight, {0}), expected);
}

/// A bias is the weight of the last input of each group; one that is not there
/// is 0, and both are taken apart again.
TEST(WeightMatrix, HasABiasThatJoinsBehindTheInputs) {
  Formula f({4, 3}, {4});
  WeightMatrix matrix(tensorType(f.a()), {1}, /*groups=*/2,
                      {.joinsBias = true});
  EXPECT_EQ(matrix.outputs(), 2);
  EXPECT_EQ(matrix.inputs(), 4);
  auto weight = numbers(12, 9), bias = numbers(4, 10);
  auto joined = [&](double ofWeight, double ofBias) {
    std::vector<double> expected;
    for (int64_t o = 0; o < 4; ++o) {
      for (int64_t i = 0; i < 3; ++i)
        expected.push_back(ofWeight * weight[o * 3 + i]);
      expected.push_back(ofBias * bias[o]);
    }
    return expected;
  };
  expectNear(f.evaluate(matrix.ofWeight(f.math, f.a(), f.b()), weight, bias),
             joined(1, 1));
  Formula alone({4, 3}, {4});
  expectNear(
      alone.evaluate(matrix.ofWeight(alone.math, {}, alone.b()), weight, bias),
      joined(0, 1));
  Formula back({2, 2, 4}, {});
  expectNear(
      back.evaluate(matrix.toWeight(back.math, back.a()), joined(1, 1), {0}),
      weight);
  Formula last({2, 2, 4}, {});
  expectNear(
      last.evaluate(matrix.toBias(last.math, last.a()), joined(1, 1), {0}),
      bias);
}

TEST(WeightMatrix, IsTheWeightAgain) {
  for (std::vector<int64_t> inputs :
       {std::vector<int64_t>{0}, {1}, {2}, {0, 1}, {2, 0}, {1, 2}}) {
    Formula f({2, 3, 4}, {});
    WeightMatrix matrix(tensorType(f.a()), inputs, 1);
    auto weight = numbers(24, 9);
    Value there = matrix.ofWeight(f.math, f.a());
    EXPECT_EQ(tensorType(there).getRank(), 3);
    expectNear(f.evaluate(matrix.toWeight(f.math, there), weight, {0}), weight);
  }
}

TEST(WeightMatrix, LiesAsTheWeightDoes) {
  Formula f({5, 3}, {});
  WeightMatrix matrix(tensorType(f.a()), {0}, 1);
  EXPECT_TRUE(matrix.rowsAreInputs());
  Value there = matrix.ofWeight(f.math, f.a());
  EXPECT_TRUE(mlir::isa<ReshapeOp>(there.getDefiningOp())) << "no transpose";
}

TEST(WeightMatrix, HasAMatrixForEachGroup) {
  Formula f({6, 2, 3}, {});
  WeightMatrix matrix(tensorType(f.a()), {1, 2}, 3);
  EXPECT_EQ(matrix.outputs(), 2);
  EXPECT_EQ(matrix.inputs(), 6);
  EXPECT_EQ(tensorType(matrix.ofWeight(f.math, f.a())).getShape(),
            llvm::ArrayRef<int64_t>({3, 2, 6}));
}

/// Of a transposed convolution, or of a weight that is cut along its inputs.
TEST(WeightMatrix, HasAMatrixForEachGroupOfInputs) {
  for (std::vector<int64_t> shape : {std::vector<int64_t>{6, 2, 3}, {2, 6}}) {
    Formula f(shape, {});
    int64_t axis = shape.size() == 3 ? 0 : 1,
            outputs = shape.size() == 3 ? 6 : 2;
    WeightMatrix matrix(tensorType(f.a()), {axis}, 3, {.groupsInputs = true});
    EXPECT_EQ(matrix.inputs(), 2);
    EXPECT_EQ(matrix.outputs(), outputs);
    EXPECT_TRUE(matrix.rowsAreInputs());
    Value there = matrix.ofWeight(f.math, f.a());
    EXPECT_EQ(tensorType(there).getShape(),
              llvm::ArrayRef<int64_t>({3, 2, outputs}));
    auto weight = numbers(6 * outputs, 9);
    expectNear(f.evaluate(matrix.toWeight(f.math, there), weight, {0}), weight);
  }
}
