// The transforms are exact: with them the algorithm is a convolution, forward
// and backward.

#include "codegen/kernels/winograd_transforms.h"

#include "tests/codegen/program_text.h"

#include "mlir/IR/Matchers.h"

#include <random>

using namespace gradus;

namespace {

using Numbers = std::vector<double>;

/// Transforms of numbers: the scalars are constants, which fold.
class Transforms : public ::testing::Test {
protected:
  using Transform =
      llvm::function_ref<WinogradSquare(const Arithmetic &, mlir::ValueRange)>;
  Numbers apply(Transform transform, const Numbers &numbers,
                const std::vector<size_t> &zeros = {}) {
    Arithmetic s{builder_, builder_.getUnknownLoc()};
    llvm::SmallVector<mlir::Value> values;
    for (double number : numbers)
      values.push_back(mlir::arith::ConstantOp::create(
          builder_, s.loc, builder_.getF64FloatAttr(number)));
    for (size_t zero : zeros)
      values[zero] = {};
    Numbers found;
    for (mlir::Value value : transform(s, values)) {
      mlir::FloatAttr constant;
      EXPECT_TRUE(!value || matchPattern(value, mlir::m_Constant(&constant)));
      found.push_back(constant ? constant.getValueAsDouble() : 0);
    }
    return found;
  }

  Numbers random(size_t count) {
    std::normal_distribution<double> normal;
    Numbers numbers(count);
    for (double &number : numbers)
      number = normal(bits_);
    return numbers;
  }

  static Numbers products(const Numbers &x, const Numbers &y) {
    Numbers all;
    for (size_t i = 0; i < x.size(); ++i)
      all.push_back(x[i] * y[i]);
    return all;
  }

  static void expectNear(const Numbers &found, const Numbers &wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], wanted[i], 1e-13) << i;
  }

private:
  ProgramText text_{"gradus.program @p {}"};
  mlir::OwningOpRef<mlir::ModuleOp> module_ =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&text_.context));
  mlir::OpBuilder builder_ = mlir::OpBuilder::atBlockEnd(module_->getBody());
  std::mt19937 bits_{7};
};

/// The sums over `inner`^2 products: a convolution's outputs of inputs and
/// weights, or its weights' gradients of inputs and outputs' gradients.
Numbers slide(const Numbers &d, const Numbers &g, size_t inner, size_t outer) {
  size_t side = inner + outer - 1;
  Numbers y;
  for (size_t i = 0; i < outer; ++i)
    for (size_t j = 0; j < outer; ++j) {
      double sum = 0;
      for (size_t p = 0; p < inner; ++p)
        for (size_t q = 0; q < inner; ++q)
          sum += d[(i + p) * side + j + q] * g[p * inner + q];
      y.push_back(sum);
    }
  return y;
}

} // namespace

TEST_F(Transforms, MakeOutputsOfInputsAndWeights) {
  for (size_t tile : {4, 2}) {
    auto weights = [&](const Arithmetic &s, mlir::ValueRange values) {
      return winogradWeights(s, values, int64_t(tile));
    };
    Numbers d = random((tile + 2) * (tile + 2)), g = random(9);
    Numbers m = products(apply(winogradInput, d), apply(weights, g));
    expectNear(apply(winogradOutput, m), slide(d, g, 3, tile));
  }
}

TEST_F(Transforms, MakeGradientsOfWeights) {
  for (size_t tile : {4, 2}) {
    Numbers d = random((tile + 2) * (tile + 2)), y = random(tile * tile);
    Numbers m = products(apply(winogradInput, d), apply(winogradGradient, y));
    expectNear(apply(winogradWeightGradient, m), slide(d, y, tile, 3));
  }
}

/// What lies in the padding is a null value.
TEST_F(Transforms, KnowZeros) {
  Numbers d = random(36), y = random(16);
  std::vector<size_t> zeros = {0, 1, 2, 3, 4, 5, 6, 12, 18, 24, 30};
  for (size_t zero : zeros)
    d[zero] = 0;
  expectNear(apply(winogradInput, d, zeros), apply(winogradInput, d));
  std::vector<size_t> last = {3, 7, 11, 12, 13, 14, 15};
  for (size_t zero : last)
    y[zero] = 0;
  expectNear(apply(winogradGradient, y, last), apply(winogradGradient, y));
  Numbers e = random(16), z = random(4);
  std::vector<size_t> first = {0, 1, 2, 3, 4, 8, 12}, behind = {1, 2, 3};
  for (size_t zero : first)
    e[zero] = 0;
  expectNear(apply(winogradInput, e, first), apply(winogradInput, e));
  for (size_t zero : behind)
    z[zero] = 0;
  expectNear(apply(winogradGradient, z, behind), apply(winogradGradient, z));
}
