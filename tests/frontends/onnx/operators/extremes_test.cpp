// NaN is the largest and the least, as in PyTorch, beside infinity too.

#include "tests/frontends/onnx/small_model.h"

#include <cmath>

using namespace gradus;
using namespace gradus::testing;

static std::vector<int64_t> places(const char *type, bool last) {
  double nan = std::nan(""), inf = INFINITY;
  SmallModel model;
  model.input("x", {4, 3})
      .node(type, {"x"}, {"y"})
      .with("axis", 1)
      .with("select_last_index", int(last))
      .output("y");
  return evaluate(model, {tensor({4, 3}, {1, 3, 3,        //
                                          inf, nan, nan,  //
                                          -inf, nan, inf, //
                                          2, 2, 5})})
      .integers;
}

TEST(Extremes, StandInTheFirstPlaceOrTheLast) {
  using Numbers = std::vector<int64_t>;
  EXPECT_EQ(places("ArgMax", false), (Numbers{1, 1, 1, 2}));
  EXPECT_EQ(places("ArgMax", true), (Numbers{2, 2, 1, 2}));
  EXPECT_EQ(places("ArgMin", false), (Numbers{0, 1, 1, 0}));
  EXPECT_EQ(places("ArgMin", true), (Numbers{0, 2, 1, 1}));
}
