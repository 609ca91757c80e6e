// Norms and products along axes.

#include "tests/frontends/onnx/small_model.h"

#include <cmath>

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

static Values run(const char *type, Values values) {
  SmallModel model;
  model.input("x", {2, 2}).integers("axes", {1}, {1});
  HostTensor x = zeros({2, 2});
  x.floats = std::move(values);
  return evaluate(model.node(type, {"x", "axes"}, {"y"}).output("y"), {x})
      .floats;
}

TEST(Norms, CombineAlongAxes) {
  EXPECT_EQ(run("ReduceL1", {3, -4, 0, 1}), (Values{7, 1}));
  EXPECT_EQ(run("ReduceL2", {3, -4, 0, 1}), (Values{5, 1}));
  EXPECT_EQ(run("ReduceSumSquare", {3, -4, 0, 1}), (Values{25, 1}));
  EXPECT_EQ(run("ReduceProd", {3, -4, 0, 1}), (Values{-12, 0}));
  EXPECT_NEAR(run("ReduceLogSum", {3, 4, 1, 0})[0], std::log(7), 1e-12);
}

TEST(Norms, ExponentialsDoNotOverflow) {
  Values y = run("ReduceLogSumExp", {1000, 1000, -INFINITY, -INFINITY});
  EXPECT_NEAR(y[0], 1000 + std::log(2), 1e-9);
  EXPECT_EQ(y[1], -INFINITY);
}

TEST(Norms, DivideByThem) {
  SmallModel model;
  model.input("x", {2, 2}).node("LpNormalization", {"x"}, {"y"});
  HostTensor x = zeros({2, 2});
  x.floats = {3, 4, 0, 0};
  Values y = evaluate(SmallModel(model).output("y"), {x}).floats;
  EXPECT_NEAR(y[0], 0.6, 1e-12);
  EXPECT_EQ(y[2], 0);
  model.with("p", 3);
  EXPECT_NE(import(model.output("y"))
                .error.find("takes the norm of order 3, expected 1 or 2"),
            std::string::npos);
}

TEST(Norms, OfWholeChannels) {
  auto pooled = [](int64_t p) {
    SmallModel model;
    model.input("x", {1, 2, 2}).node("GlobalLpPool", {"x"}, {"y"});
    model.with("p", p).output("y");
    return evaluate(model, {tensor({1, 2, 2}, {3, -4, 0, 0})});
  };
  EXPECT_EQ(pooled(2).shape, (llvm::SmallVector<int64_t>{1, 2, 1}));
  EXPECT_EQ(pooled(1).floats, (Values{7, 0}));
  EXPECT_EQ(pooled(2).floats, (Values{5, 0}));
  EXPECT_NEAR(pooled(3).floats[0], std::cbrt(91), 1e-6);
  EXPECT_EQ(pooled(3).floats[1], 0);
}

/// Without axes nothing is summed, but each element is squared and the like.
TEST(Norms, OfSingleElements) {
  auto each = [](const char *type) {
    SmallModel model;
    model.input("x", {2}).node(type, {"x"}, {"y"});
    model.with("noop_with_empty_axes", 1).output("y");
    return evaluate(model, {tensor({2}, {-3, 4})}).floats;
  };
  EXPECT_EQ(each("ReduceL1"), (Values{3, 4}));
  EXPECT_EQ(each("ReduceL2"), (Values{3, 4}));
  EXPECT_EQ(each("ReduceSumSquare"), (Values{9, 16}));
  EXPECT_EQ(each("ReduceLogSum")[1], std::log(4.0));
  EXPECT_EQ(each("ReduceLogSumExp"), (Values{-3, 4}));
  EXPECT_EQ(each("ReduceProd"), (Values{-3, 4}));
}
