// Determinants of small matrices.

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

static Values determinants(const Shape &shape, const Values &elements) {
  SmallModel model;
  model.input("x", shape).node("Det", {"x"}, {"y"}).output("y");
  return evaluate(model, {tensor(shape, elements)}).floats;
}

TEST(Determinant, OfMatricesOfAnySize) {
  expectEqual(determinants({1, 1}, {-3}), {-3});
  expectEqual(determinants({2, 2, 2}, {1, 2, 3, 4, 0, 1, 1, 0}), {-2, -1});
  expectEqual(determinants({4, 4}, {2, -1, 3, 0.5, 0, 4, 1, -2, 1, 1, -1, 3, 5,
                                    0, 2, 1}),
              {148.5});
}

/// Rows in another order: the signs of permutations.
TEST(Determinant, CountsExchanges) {
  expectEqual(determinants({2, 3, 3}, {0, 1, 0, 0, 0, 1, 1, 0, 0, //
                                       0, 1, 0, 1, 0, 0, 0, 0, 1}),
              {1, -1});
}

TEST(Determinant, OfSingularMatricesIsZero) {
  expectEqual(determinants({3, 3, 3}, {1, 2, 3, 2, 4, 6, 1, 0, 1, //
                                       0, 1, 2, 0, 3, 1, 0, 5, 4, //
                                       0, 0, 0, 0, 0, 0, 0, 0, 0}),
              {0, 0, 0});
}

TEST(Determinant, RefusesWhatIsNotSquareOrVeryLarge) {
  auto error = [](const Shape &shape) {
    return errorOf(SmallModel().input("x", shape).node("Det", {"x"}, {"y"}));
  };
  EXPECT_EQ(error({2, 3}), "node \"the Det\" (Det): its input has shape [2, "
                           "3], expected square matrices");
  EXPECT_EQ(error({3}), "node \"the Det\" (Det): its input has shape [3], "
                        "expected square matrices");
  EXPECT_EQ(error({65, 65}), "node \"the Det\" (Det): its matrices have 65 "
                             "rows; more than 64 are not supported");
}
