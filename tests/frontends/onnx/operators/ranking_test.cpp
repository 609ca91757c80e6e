// Ops about the order of elements, with ties and from both ends.

#include "tests/frontends/onnx/small_model.h"

#include <cmath>
#include <numeric>
#include <span>

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;
using Numbers = std::vector<int64_t>;

static HostTensor run(SmallModel model, const HostTensor &input) {
  return evaluate(model.output("y"), {input});
}

TEST(Ranking, FindsTheFirstOrTheLastExtreme) {
  SmallModel model;
  model.input("x", {4}).node("ArgMax", {"x"}, {"y"}).with("keepdims", 0);
  HostTensor x = tensor({4}, {1, 3, 3, 0});
  EXPECT_EQ(run(model, x).integers, (Numbers{1}));
  EXPECT_EQ(run(model.with("select_last_index", 1), x).integers, (Numbers{2}));
  SmallModel least;
  EXPECT_EQ(run(least.input("x", {4}).node("ArgMin", {"x"}, {"y"}), x).integers,
            (Numbers{3}));
}

static SmallModel topK(const char *values, const char *places, int64_t k) {
  SmallModel model;
  model.input("x", {2, 4}).integers("k", {1}, {k});
  return model.node("TopK", {"x", "k"}, {values, places});
}

TEST(Ranking, TakesTheLargestInOrder) {
  HostTensor x = tensor({2, 4}, {1, 3, 3, 0, -1, -2, -3, -4});
  EXPECT_EQ(run(topK("y", "i", 2), x).floats, (Values{3, 3, -1, -2}));
  EXPECT_EQ(run(topK("v", "y", 3), x).integers, (Numbers{1, 2, 0, 0, 1, 2}));
  EXPECT_EQ(run(topK("y", "i", 1).with("largest", 0), x).floats,
            (Values{0, -4}));
  EXPECT_EQ(import(topK("y", "i", 5).output("y")).error,
            "node \"the TopK\" (TopK): asks for the first [5] of 4");
}

TEST(Ranking, TakesNanForTheMostExtreme) {
  double nan = std::nan("");
  HostTensor x = tensor({2, 4}, {1, nan, 3, 0, -1, nan, -3, nan});
  EXPECT_EQ(run(topK("v", "y", 2), x).integers, (Numbers{1, 2, 1, 3}));
  SmallModel most, least;
  most.input("x", {2, 4}).node("ArgMax", {"x"}, {"y"}).with("axis", 1);
  EXPECT_EQ(run(most, x).integers, (Numbers{1, 1}));
  least.input("x", {2, 4}).node("ArgMin", {"x"}, {"y"}).with("axis", 1);
  EXPECT_EQ(run(least, x).integers, (Numbers{1, 1}));
}

/// Numbers without order, some of them equal.
static HostTensor mixed(const Shape &shape) {
  HostTensor x = zeros(shape);
  for (size_t i = 0; i < x.floats.size(); ++i)
    x.floats[i] = int64_t(i * 37 % 101) - 50;
  return x;
}

/// The places of a row's elements, first to last: by size, then as they stand.
static Numbers inOrder(std::span<const double> row, bool largest) {
  Numbers places(row.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](int64_t i, int64_t j) {
    return largest ? row[i] > row[j] : row[i] < row[j];
  });
  return places;
}

/// Rows of 200 and 5 of them: found one after the other.
static void expectFirstOfLongRows(bool largest, HostTensor x) {
  for (int output : {0, 1}) {
    SmallModel model;
    model.input("x", {2, 200}).integers("k", {1}, {5});
    model.node("TopK", {"x", "k"}, {output ? "v" : "y", output ? "y" : "i"});
    HostTensor y = run(model.with("largest", largest), x);
    for (size_t row : {0, 1}) {
      std::span all = std::span(x.floats).subspan(200 * row, 200);
      Numbers places = inOrder(all, largest);
      for (size_t i = 0; i < 5; ++i)
        if (output)
          EXPECT_EQ(y.integers[5 * row + i], places[i]);
        else
          EXPECT_EQ(y.floats[5 * row + i], all[places[i]]);
    }
  }
}

TEST(Ranking, TakesAFewOfManyInOrder) {
  HostTensor x = mixed({2, 200});
  expectFirstOfLongRows(true, x);
  expectFirstOfLongRows(false, x);
  // Rows that end in what stands for "found already".
  for (size_t i = 2; i < 200; ++i)
    x.floats[i] = -INFINITY;
  expectFirstOfLongRows(true, x);
  for (size_t i = 2; i < 200; ++i)
    x.floats[i] = INFINITY;
  expectFirstOfLongRows(false, x);
}

TEST(Ranking, TakesAFewOfManyIntegers) {
  SmallModel model;
  model.input("x", {40}, ::onnx::TensorProto::INT64).integers("k", {1}, {3});
  model.node("TopK", {"x", "k"}, {"v", "y"}).with("largest", 0);
  HostTensor x;
  x.shape = {40};
  x.isFloat = false;
  x.integers = Numbers(40, INT64_MAX);
  x.integers[17] = INT64_MIN;
  EXPECT_EQ(run(model, x).integers, (Numbers{17, 0, 1}));
}

/// Of constants, too: the evaluator would take very long, and memory for each
/// step.
TEST(Ranking, SortsManyConstantsInTheProgram) {
  SmallModel model;
  model.integers("zero", {}, {0}).integers("n", {}, {1 << 17});
  model.integers("one", {}, {1}).integers("k", {1}, {1 << 16});
  model.node("Range", {"zero", "n", "one"}, {"x"})
      .node("TopK", {"x", "k"}, {"y", "i"})
      .output("y");
  Imported imported = import(model);
  ASSERT_EQ(imported.error, "");
  int steps = 0;
  imported.predict().walk([&](SliceOp) { ++steps; });
  EXPECT_GT(steps, 100);
}

static SmallModel cumulative(const Shape &shape = {3}, int64_t axis = -1) {
  SmallModel model;
  model.input("x", shape).integers("axis", {}, {axis});
  return model.node("CumSum", {"x", "axis"}, {"y"});
}

TEST(Ranking, SumsUpToEachElement) {
  HostTensor x = tensor({3}, {1, 2, 4});
  EXPECT_EQ(run(cumulative(), x).floats, (Values{1, 3, 7}));
  EXPECT_EQ(run(cumulative().with("exclusive", 1), x).floats,
            (Values{0, 1, 3}));
  EXPECT_EQ(run(cumulative().with("reverse", 1), x).floats, (Values{7, 6, 4}));
}

/// Along the middle axis, as its definition says.
static Values sumsSoFar(const HostTensor &x, bool exclusive, bool reverse) {
  int64_t length = x.shape[1], inner = x.shape[2];
  Values sums(x.floats.size());
  for (int64_t outer = 0; outer < x.shape[0]; ++outer)
    for (int64_t i = 0; i < inner; ++i) {
      double sum = 0;
      for (int64_t step = 0; step < length; ++step) {
        int64_t place = reverse ? length - 1 - step : step;
        int64_t at = (outer * length + place) * inner + i;
        sums[at] = exclusive ? sum : sum + x.floats[at];
        sum += x.floats[at];
      }
    }
  return sums;
}

TEST(Ranking, SumsUpLongAxesByBlocks) {
  for (int64_t length : {64, 65, 96, 2500})
    for (bool exclusive : {false, true})
      for (bool reverse : {false, true}) {
        HostTensor x = mixed({2, length, 3});
        EXPECT_EQ(run(cumulative({2, length, 3}, 1)
                          .with("exclusive", exclusive)
                          .with("reverse", reverse),
                      x)
                      .floats,
                  sumsSoFar(x, exclusive, reverse))
            << length << (exclusive ? " exclusive" : "")
            << (reverse ? " reverse" : "");
      }
}

TEST(Ranking, KeepsATriangle) {
  SmallModel model;
  model.input("x", {2, 2}).node("Trilu", {"x"}, {"y"}).with("upper", 0);
  EXPECT_EQ(run(model, tensor({2, 2}, {1, 2, 3, 4})).floats,
            (Values{1, 0, 3, 4}));
  SmallModel shifted;
  shifted.input("x", {2, 2}).integers("k", {}, {1});
  EXPECT_EQ(run(shifted.node("Trilu", {"x", "k"}, {"y"}),
                tensor({2, 2}, {1, 2, 3, 4}))
                .floats,
            (Values{0, 2, 0, 0}));
}

TEST(Ranking, MakesOneHotRows) {
  SmallModel model;
  model.input("x", {2})
      .integers("depth", {}, {3})
      .integers("values", {2}, {5, 7})
      .node("OneHot", {"x", "depth", "values"}, {"y"});
  EXPECT_EQ(run(model, tensor({2}, {1, -1})).integers,
            (Numbers{5, 7, 5, 5, 5, 7}));
}
