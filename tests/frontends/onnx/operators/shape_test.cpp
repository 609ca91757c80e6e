// Shapes: computed from constants, applied to values.

#include "tests/this_build.h"

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;
using Extents = llvm::SmallVector<int64_t>;

/// The constant that a model of constants returns.
static HostTensor folded(SmallModel model) {
  return evaluate(model.output("y"), {});
}

static Extents shapeOf(SmallModel model) {
  Imported imported = import(model.output("y"));
  EXPECT_EQ(imported.error, "");
  if (!imported.module)
    return {};
  return Extents(
      mlir::cast<mlir::RankedTensorType>(imported.predict().getResultTypes()[0])
          .getShape());
}

/// Where a constant of bools, made of numbers, is true.
static HostTensor placesOf(const Shape &shape,
                           const std::vector<int64_t> &bits) {
  return folded(SmallModel()
                    .integers("x", shape, bits)
                    .node("Cast", {"x"}, {"mask"})
                    .with("to", int64_t(::onnx::TensorProto::BOOL))
                    .node("NonZero", {"mask"}, {"y"}));
}

TEST(Shape, KnowsThePlacesOfWhatIsNotZero) {
  HostTensor places = placesOf({2, 3}, {0, 1, 0, 5, 0, -2});
  EXPECT_EQ(places.shape, (Extents{2, 3}));
  EXPECT_EQ(places.integers, (std::vector<int64_t>{0, 1, 1, 1, 0, 2}));
  EXPECT_EQ(placesOf({2, 2}, {0, 0, 0, 0}).shape, (Extents{2, 0}));
  EXPECT_EQ(placesOf({}, {1}).shape, (Extents{0, 1}));
  EXPECT_EQ(import(SmallModel()
                       .input("x", {2})
                       .node("NonZero", {"x"}, {"y"})
                       .output("y"))
                .error,
            "node \"the NonZero\" (NonZero): is supported only on shapes and "
            "constants, but its inputs depend on the model's. Its size hangs "
            "on the data, as of x[mask] and torch.nonzero: keep all elements "
            "and choose with torch.where(mask, x, 0), or let every expert of a "
            "mixture compute all tokens and weight what they give");
}

/// x[:, mask] with the buffer [true, false, true, true], of both exporters.
TEST(Shape, KeepsColumnsThatABufferSays) {
  for (const char *name : {"masked_whole", "masked_script"}) {
    SCOPED_TRACE(name);
    Imported model = import(
        std::string(GRADUS_SOURCE_DIR "/tests/data/exports/") + name + ".onnx");
    HostTensor y = evaluate(model, {tensor({4, 6}, Values(24, 0))})[0];
    StateMap states = statesOf(model.program());
    const Values &bias = states["body.bias"].floats;
    ASSERT_EQ(y.shape, (Extents{4, 3}));
    EXPECT_EQ(Values(y.floats.begin(), y.floats.begin() + 3),
              (Values{bias[0], bias[2], bias[3]}));
  }
}

static SmallModel reshape(const Shape &from, const Shape &to) {
  return SmallModel()
      .input("x", from)
      .integers("to", {int64_t(to.size())}, to)
      .node("Reshape", {"x", "to"}, {"y"});
}

TEST(Shape, ReshapesWithCopiedAndOpenExtents) {
  EXPECT_EQ(shapeOf(reshape({2, 3, 4}, {0, -1})), (Extents{2, 12}));
  EXPECT_EQ(shapeOf(reshape({2, 3}, {6})), (Extents{6}));
  EXPECT_EQ(import(reshape({2, 3}, {4, -1}).output("y")).error,
            "node \"the Reshape\" (Reshape): cannot make shape [4, -1] of "
            "shape [2, 3]");
  EXPECT_EQ(import(reshape({2, 3}, {-1, -1}).output("y")).error,
            "node \"the Reshape\" (Reshape): cannot make shape [-1, -1] of "
            "shape [2, 3]");
}

TEST(Shape, FlattensAroundAnAxis) {
  EXPECT_EQ(
      shapeOf(SmallModel().input("x", {2, 3, 4}).node("Flatten", {"x"}, {"y"})),
      (Extents{2, 12}));
  EXPECT_EQ(shapeOf(SmallModel()
                        .input("x", {2, 3, 4})
                        .node("Flatten", {"x"}, {"y"})
                        .with("axis", -1)),
            (Extents{6, 4}));
}

TEST(Shape, AddsAndTakesUnitAxes) {
  SmallModel model;
  model.input("x", {2, 1})
      .integers("axes", {1}, {0})
      .node("Unsqueeze", {"x", "axes"}, {"y"});
  EXPECT_EQ(shapeOf(model), (Extents{1, 2, 1}));
  EXPECT_EQ(
      shapeOf(SmallModel().input("x", {2, 1, 1}).node("Squeeze", {"x"}, {"y"})),
      (Extents{2}));
  SmallModel older;
  older.setOpset(11)
      .input("x", {2, 1, 1})
      .node("Squeeze", {"x"}, {"y"})
      .with("axes", Shape{1});
  EXPECT_EQ(shapeOf(older), (Extents{2, 1}));
}

/// As the TorchScript exporter writes some of Mamba-2's.
TEST(Shape, TransposesAxesCountedFromTheEnd) {
  SmallModel model;
  model.input("x", {2, 3})
      .node("Transpose", {"x"}, {"y"})
      .with("perm", Shape{-1, 0})
      .output("y");
  EXPECT_EQ(evaluate(model, {tensor({2, 3}, {1, 2, 3, 4, 5, 6})}).floats,
            (Values{1, 4, 2, 5, 3, 6}));
}

TEST(Shape, Transposes) {
  SmallModel model;
  model.input("x", {2, 3}).node("Transpose", {"x"}, {"y"}).output("y");
  EXPECT_EQ(evaluate(model, {tensor({2, 3}, {1, 2, 3, 4, 5, 6})}).floats,
            (Values{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(
      import(SmallModel()
                 .input("x", {2, 3})
                 .node("Transpose", {"x"}, {"y"})
                 .with("perm", Shape{0, 0})
                 .output("y"))
          .error,
      "node \"the Transpose\" (Transpose): perm is [0, 0], no order of 2 axes");
}

TEST(Shape, Expands) {
  SmallModel model;
  model.input("x", {2, 1})
      .integers("to", {3}, {2, 1, 3})
      .node("Expand", {"x", "to"}, {"y"});
  EXPECT_EQ(shapeOf(model), (Extents{2, 2, 3}));
}

/// What the exporters write for x.view(x.shape[0], -1).
TEST(Shape, FoldsTheArithmeticOfExporters) {
  SmallModel model;
  model.input("x", {2, 3, 4})
      .integers("zero", {}, {0})
      .integers("front", {1}, {0})
      .integers("open", {1}, {-1});
  model.node("Shape", {"x"}, {"shape"})
      .node("Gather", {"shape", "zero"}, {"batch"});
  model.node("Unsqueeze", {"batch", "front"}, {"rows"})
      .node("Concat", {"rows", "open"}, {"to"})
      .with("axis", 0);
  EXPECT_EQ(shapeOf(model.node("Reshape", {"x", "to"}, {"y"})),
            (Extents{2, 12}));
}

TEST(Shape, AsksForPartsOfAShape) {
  SmallModel model;
  model.input("x", {2, 3, 4})
      .node("Shape", {"x"}, {"y"})
      .with("start", -2)
      .with("end", 5);
  Imported imported = import(model.output("y"));
  EXPECT_EQ(evaluate(imported, {tensor({2, 3, 4}, Values(24))})[0].integers,
            (std::vector<int64_t>{3, 4}));
}

TEST(Shape, MakesConstants) {
  EXPECT_EQ(folded(SmallModel()
                       .node("Constant", {}, {"y"})
                       .with("value_ints", Shape{3, 4}))
                .integers,
            (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(folded(SmallModel()
                       .node("Constant", {}, {"y"})
                       .withNumber("value_float", 0.5))
                .floats,
            (Values{0.5}));
  EXPECT_EQ(folded(SmallModel()
                       .integers("s", {1}, {2})
                       .node("ConstantOfShape", {"s"}, {"y"}))
                .floats,
            (Values{0, 0}));
  SmallModel range;
  range.integers("a", {}, {5})
      .integers("b", {}, {0})
      .integers("c", {}, {-2})
      .node("Range", {"a", "b", "c"}, {"y"});
  EXPECT_EQ(folded(range).integers, (std::vector<int64_t>{5, 3, 1}));
}

TEST(Shape, RefusesAbsurdConstants) {
  EXPECT_EQ(import(SmallModel()
                       .integers("s", {2}, {1 << 20, 1 << 20})
                       .node("ConstantOfShape", {"s"}, {"y"})
                       .output("y"))
                .error,
            "node \"the ConstantOfShape\" (ConstantOfShape): makes a constant "
            "of shape [1048576, 1048576]");
}

static std::vector<int64_t> sliced(const Shape &start, const Shape &end,
                                   const Shape &axes, const Shape &steps) {
  SmallModel model;
  model.integers("x", {2, 3}, {1, 2, 3, 4, 5, 6});
  int64_t count = start.size();
  model.integers("start", {count}, start)
      .integers("end", {count}, end)
      .integers("axes", {count}, axes)
      .integers("steps", {count}, steps);
  return folded(
             model.node("Slice", {"x", "start", "end", "axes", "steps"}, {"y"}))
      .integers;
}

TEST(Shape, SlicesLikePython) {
  EXPECT_EQ(sliced({1}, {INT64_MAX}, {1}, {1}),
            (std::vector<int64_t>{2, 3, 5, 6}));
  EXPECT_EQ(sliced({-1}, {INT64_MIN}, {1}, {-1}),
            (std::vector<int64_t>{3, 2, 1, 6, 5, 4}));
  EXPECT_EQ(sliced({0, 0}, {1, 3}, {0, 1}, {1, 2}),
            (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(sliced({2}, {1}, {1}, {1}), (std::vector<int64_t>{}));
}

TEST(Shape, GathersFromEitherEnd) {
  SmallModel model;
  model.integers("x", {2, 3}, {1, 2, 3, 4, 5, 6})
      .integers("at", {2}, {-1, 0})
      .node("Gather", {"x", "at"}, {"y"})
      .with("axis", 1);
  EXPECT_EQ(folded(model).integers, (std::vector<int64_t>{3, 1, 6, 4}));
}

/// An Expand to [2, 3] of these integers, with the note of an iota.
static SmallModel marked(const Shape &shape, const std::vector<int64_t> &values,
                         const char *axis) {
  SmallModel model;
  model.integers("x", shape, values)
      .integers("shape", {2}, {2, 3})
      .node("Expand", {"x", "shape"}, {"y"});
  auto &mark = *model.graph().mutable_node(0)->add_metadata_props();
  mark.set_key("gradus.iota");
  mark.set_value(axis);
  return model.output("y");
}

TEST(Shape, NumbersThatCountAreAnIotaWithTheNoteAlone) {
  auto isIota = [](const SmallModel &model) {
    Imported imported = import(model);
    EXPECT_EQ(imported.error, "");
    return imported.module && !imported.predict().getOps<IotaOp>().empty();
  };
  EXPECT_TRUE(isIota(marked({3}, {0, 1, 2}, "1")));
  EXPECT_TRUE(isIota(marked({2, 1}, {0, 1}, "0")));
  EXPECT_FALSE(isIota(marked({3}, {0, 1, 2}, "0")));
  EXPECT_FALSE(isIota(marked({3}, {0, 1, 2}, "-1")));
  EXPECT_FALSE(isIota(marked({3}, {0, 1, 2}, "2")));
  EXPECT_FALSE(isIota(marked({1}, {0}, "1")));
  SmallModel other = marked({3}, {5, 7, 9}, "1");
  EXPECT_FALSE(isIota(other));
  EXPECT_EQ(evaluate(other, {}).integers,
            (std::vector<int64_t>{5, 7, 9, 5, 7, 9}));
}

TEST(Shape, TheNoteOfAnIotaAtAComputedInputIsIgnored) {
  SmallModel model = marked({1}, {0}, "1");
  model.graph().clear_initializer();
  model.input("x", {3}, ::onnx::TensorProto::INT64)
      .integers("shape", {2}, {2, 3});
  HostTensor x{{3}, false, {}, {4, 4, 8}};
  EXPECT_EQ(evaluate(model, {x}).integers,
            (std::vector<int64_t>{4, 4, 8, 4, 4, 8}));
}
