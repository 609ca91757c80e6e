// Einsum's equations: products, sums, orders, ellipses.

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

static SmallModel einsum(const char *equation,
                         const std::vector<Shape> &shapes) {
  SmallModel model;
  std::vector<std::string> names;
  for (const Shape &shape : shapes)
    model.input(names.emplace_back(1, char('a' + names.size())), shape);
  return model.node("Einsum", names, {"y"})
      .with("equation", equation)
      .output("y");
}

static Values run(const char *equation, const std::vector<Shape> &shapes) {
  std::vector<HostTensor> inputs;
  for (const Shape &shape : shapes)
    inputs.push_back(counted(shape));
  return evaluate(einsum(equation, shapes), inputs).floats;
}

TEST(Einsum, MultipliesMatrices) {
  EXPECT_EQ(run("ij,jk->ik", {{2, 2}, {2, 2}}), (Values{2, 3, 6, 11}));
  EXPECT_EQ(run("ij, kj", {{2, 2}, {2, 2}}), (Values{1, 3, 3, 13}));
  EXPECT_EQ(run("bij,bjk->bik", {{1, 2, 2}, {1, 2, 2}}), (Values{2, 3, 6, 11}));
}

TEST(Einsum, SumsAndTransposes) {
  EXPECT_EQ(run("ij->ji", {{2, 2}}), (Values{0, 2, 1, 3}));
  EXPECT_EQ(run("ij->", {{2, 2}}), (Values{6}));
  EXPECT_EQ(run("i,j->ji", {{2}, {2}}), (Values{0, 0, 0, 1}));
}

TEST(Einsum, RepeatsBehindAnEllipsis) {
  EXPECT_EQ(run("...i,i->...", {{2, 2}, {2}}), (Values{1, 3}));
  EXPECT_EQ(run("...ij,...jk->...ik", {{2, 1, 2}, {1, 2, 1}}), (Values{1, 3}));
}

TEST(Einsum, TakesDiagonals) {
  EXPECT_EQ(run("ii->i", {{3, 3}}), (Values{0, 4, 8}));
  EXPECT_EQ(run("ii", {{3, 3}}), (Values{12}));
  EXPECT_EQ(run("ibi->bi", {{2, 2, 2}}), (Values{0, 5, 2, 7}));
  EXPECT_EQ(run("iii->i", {{2, 2, 2}}), (Values{0, 7}));
  EXPECT_EQ(run("...ii->...i", {{2, 2, 2}}), (Values{0, 3, 4, 7}));
  EXPECT_EQ(run("ii,ij->j", {{2, 2}, {2, 2}}), (Values{6, 9}));
}

TEST(Einsum, TakesThreeInputs) {
  EXPECT_EQ(run("i,ij,j->", {{2}, {2, 2}, {2}}), (Values{3}));
}

TEST(Einsum, SaysWhatItCannotDo) {
  EXPECT_EQ(
      import(einsum("ii->i", {{2, 3}})).error,
      "node \"the Einsum\" (Einsum): dimension 'i' has the sizes 2 and 3");
  EXPECT_EQ(import(einsum("ij->ik", {{2, 2}})).error,
            "node \"the Einsum\" (Einsum): its result has the dimension 'k', "
            "which no input has");
  EXPECT_EQ(
      import(einsum("ij,jk->ik", {{2, 2}, {3, 2}})).error,
      "node \"the Einsum\" (Einsum): dimension 'j' has the sizes 2 and 3");
  EXPECT_EQ(
      import(einsum("ijk->i", {{2, 2}})).error,
      "node \"the Einsum\" (Einsum): \"ijk\" stands for a tensor of rank 2");
}
