// Sequences are filled, counted and read when the model is compiled.

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

TEST(Sequences, AreFilled) {
  SmallModel model;
  model.input("x", {1})
      .integers("first", {}, {0})
      .node("Neg", {"x"}, {"n"})
      .node("SequenceEmpty", {}, {"a"})
      .node("SequenceInsert", {"a", "x"}, {"b"})
      .node("SequenceInsert", {"b", "n", "first"}, {"c"})
      .node("SequenceInsert", {"c", "x"}, {"d"})
      .node("SequenceErase", {"d"}, {"e"})
      .node("ConcatFromSequence", {"e"}, {"y"})
      .with("axis", 0)
      .output("y");
  EXPECT_EQ(evaluate(model, {tensor({1}, {3})}).floats, (Values{-3, 3}));
}

TEST(Sequences, GiveTheirPartsAndTheirLength) {
  SmallModel model;
  model.input("x", {2})
      .integers("last", {}, {-1})
      .integers("beyond", {}, {2})
      .node("Neg", {"x"}, {"n"})
      .node("SequenceConstruct", {"x", "n"}, {"s"});
  SmallModel good = model, bad = model;
  good.node("SequenceAt", {"s", "last"}, {"a"})
      .node("SequenceLength", {"s"}, {"length"})
      .node("Cast", {"length"}, {"two"})
      .with("to", int(::onnx::TensorProto::FLOAT))
      .node("Mul", {"a", "two"}, {"y"})
      .output("y");
  EXPECT_EQ(evaluate(good, {tensor({2}, {1, 3})}).floats, (Values{-2, -6}));
  bad.node("SequenceAt", {"s", "beyond"}, {"y"}).output("y");
  EXPECT_EQ(import(bad).error,
            "node \"the SequenceAt\" (SequenceAt): position 2 is out of range "
            "for a sequence of 2");
}
