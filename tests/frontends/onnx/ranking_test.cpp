// Ops about the order of elements, with ties and from both ends.

#include "small_model.h"

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

static SmallModel cumulative() {
  SmallModel model;
  model.input("x", {3}).integers("axis", {}, {-1});
  return model.node("CumSum", {"x", "axis"}, {"y"});
}

TEST(Ranking, SumsUpToEachElement) {
  HostTensor x = tensor({3}, {1, 2, 4});
  EXPECT_EQ(run(cumulative(), x).floats, (Values{1, 3, 7}));
  EXPECT_EQ(run(cumulative().with("exclusive", 1), x).floats,
            (Values{0, 1, 3}));
  EXPECT_EQ(run(cumulative().with("reverse", 1), x).floats, (Values{7, 6, 4}));
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
