// Convolution and pooling of ONNX: paddings, partial windows, groups.

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

/// Slides ones along 0, 1, 2, ..., so each result is the sum of a window.
static SmallModel line(const char *type, int64_t size, int64_t window) {
  SmallModel model;
  model.input("x", {1, 1, size});
  if (std::string(type) == "Conv")
    return model.floats("w", {1, 1, window}, std::vector<float>(window, 1))
        .node("Conv", {"x", "w"}, {"y"})
        .output("y");
  return model.node(type, {"x"}, {"y"})
      .with("kernel_shape", Shape{window})
      .output("y");
}

static Values slid(const SmallModel &model, int64_t size) {
  Values values(size);
  for (int64_t i = 0; i < size; ++i)
    values[i] = double(i);
  return evaluate(model, {tensor({1, 1, size}, values)}).floats;
}

TEST(Window, ConvolvesWithStridesPadsAndDilations) {
  EXPECT_EQ(slid(line("Conv", 4, 2), 4), (Values{1, 3, 5}));
  EXPECT_EQ(slid(line("Conv", 4, 2).with("strides", Shape{2}), 4),
            (Values{1, 5}));
  EXPECT_EQ(slid(line("Conv", 4, 2).with("pads", Shape{1, 0}), 4),
            (Values{0, 1, 3, 5}));
  EXPECT_EQ(slid(line("Conv", 4, 2).with("dilations", Shape{2}), 4),
            (Values{2, 4}));
}

TEST(Window, PadsByItself) {
  EXPECT_EQ(slid(line("Conv", 4, 2).with("auto_pad", "SAME_UPPER"), 4),
            (Values{1, 3, 5, 3}));
  EXPECT_EQ(slid(line("Conv", 4, 2).with("auto_pad", "SAME_LOWER"), 4),
            (Values{0, 1, 3, 5}));
  EXPECT_EQ(slid(line("Conv", 4, 2)
                     .with("auto_pad", "SAME_UPPER")
                     .with("pads", Shape{0, 0}),
                 4),
            slid(line("Conv", 4, 2).with("auto_pad", "SAME_UPPER"), 4));
  EXPECT_EQ(slid(line("Conv", 4, 2).with("auto_pad", "VALID"), 4),
            (Values{1, 3, 5}));
}

TEST(Window, ConvolvesInGroupsAndAddsABias) {
  SmallModel model;
  model.input("x", {1, 2, 1, 1})
      .floats("w", {2, 1, 1, 1}, {3, 5})
      .floats("b", {2}, {0.5, 0.25});
  model.node("Conv", {"x", "w", "b"}, {"y"}).with("group", 2).output("y");
  EXPECT_EQ(evaluate(model, {tensor({1, 2, 1, 1}, {1, 10})}).floats,
            (Values{3.5, 50.25}));
}

/// A transposed convolution of 1, 10 by the window 1, 2, 3.
static SmallModel spread() {
  SmallModel model;
  model.input("x", {1, 1, 2}).floats("w", {1, 1, 3}, {1, 2, 3});
  return model.node("ConvTranspose", {"x", "w"}, {"y"}).output("y");
}

static Values spreadBy(const SmallModel &model) {
  return evaluate(model, {tensor({1, 1, 2}, {1, 10})}).floats;
}

TEST(Window, SpreadsByATransposedConvolution) {
  EXPECT_EQ(spreadBy(spread()), (Values{1, 12, 23, 30}));
  EXPECT_EQ(spreadBy(spread().with("strides", Shape{2})),
            (Values{1, 2, 13, 20, 30}));
  EXPECT_EQ(
      spreadBy(spread().with("strides", Shape{2}).with("pads", Shape{1, 0})),
      (Values{2, 13, 20, 30}));
  EXPECT_EQ(
      spreadBy(
          spread().with("strides", Shape{2}).with("output_padding", Shape{1})),
      (Values{1, 2, 13, 20, 30, 0}));
  EXPECT_EQ(spreadBy(spread().with("dilations", Shape{2})),
            (Values{1, 10, 2, 20, 3, 30}));
}

TEST(Window, SpreadsToAShapeThatIsAskedFor) {
  SmallModel odd =
      spread().with("strides", Shape{2}).with("output_shape", Shape{4});
  EXPECT_EQ(spreadBy(odd), (Values{2, 13, 20, 30}));
  EXPECT_EQ(spreadBy(odd.with("auto_pad", "SAME_UPPER")),
            (Values{1, 2, 13, 20}));
  EXPECT_EQ(
      import(spread().with("output_shape", Shape{9})).error,
      "node \"the ConvTranspose\" (ConvTranspose): output_shape [9] is "
      "larger than the 4 elements that axis 2 has without padding, which is "
      "not supported");
}

TEST(Window, SpreadsInGroupsAndAddsABias) {
  SmallModel model;
  model.input("x", {1, 2, 1, 1})
      .floats("w", {2, 2, 1, 1}, {3, 5, 7, 9})
      .floats("b", {4}, {0.5, 0, 0, 0.25});
  model.node("ConvTranspose", {"x", "w", "b"}, {"y"})
      .with("group", 2)
      .output("y");
  EXPECT_EQ(evaluate(model, {tensor({1, 2, 1, 1}, {1, 10})}).floats,
            (Values{3.5, 5, 70, 90.25}));
}

/// As PyTorch's exporter gives 3-d convolutions.
TEST(Window, TakesZerosOfAnyShapeForNoBias) {
  SmallModel model;
  model.input("x", {1, 1, 2})
      .floats("w", {1, 1, 1}, {3})
      .integers("shape", {2}, {1, 2})
      .node("ConstantOfShape", {"shape"}, {"b"})
      .node("Conv", {"x", "w", "b"}, {"y"})
      .output("y");
  EXPECT_EQ(evaluate(model, {tensor({1, 1, 2}, {1, 10})}).floats,
            (Values{3, 30}));
}

TEST(Window, PoolsByMaximum) {
  EXPECT_EQ(slid(line("MaxPool", 5, 2).with("strides", Shape{2}), 5),
            (Values{1, 3}));
  EXPECT_EQ(slid(line("MaxPool", 3, 3).with("pads", Shape{1, 1}), 3),
            (Values{1, 2, 2}));
}

TEST(Window, KeepsPartialWindowsInCeilMode) {
  EXPECT_EQ(
      slid(line("MaxPool", 5, 2).with("strides", Shape{2}).with("ceil_mode", 1),
           5),
      (Values{1, 3, 4}));
  EXPECT_EQ(slid(line("AveragePool", 5, 2)
                     .with("strides", Shape{2})
                     .with("ceil_mode", 1),
                 5),
            (Values{0.5, 2.5, 4}));
}

/// A window that would start in the padding after the end is dropped.
TEST(Window, DropsWindowsThatHoldNothing) {
  SmallModel model =
      line("MaxPool", 2, 1).with("strides", Shape{2}).with("ceil_mode", 1);
  EXPECT_EQ(slid(model, 2), (Values{0}));
}

TEST(Window, CountsPaddingWhereTold) {
  EXPECT_EQ(slid(line("AveragePool", 2, 2).with("pads", Shape{1, 0}), 2),
            (Values{0, 0.5}));
  EXPECT_EQ(slid(line("AveragePool", 3, 2).with("pads", Shape{0, 1}), 3),
            (Values{0.5, 1.5, 2}));
  EXPECT_EQ(slid(line("AveragePool", 3, 2)
                     .with("pads", Shape{0, 1})
                     .with("count_include_pad", 1),
                 3),
            (Values{0.5, 1.5, 1}));
}

/// The node's own padding counts, what ceil_mode adds behind it does not.
TEST(Window, CountsNoPaddingOfPartialWindows) {
  EXPECT_EQ(slid(line("AveragePool", 4, 3)
                     .with("strides", Shape{2})
                     .with("pads", Shape{1, 1})
                     .with("ceil_mode", 1)
                     .with("count_include_pad", 1),
                 4),
            (Values{1 / 3., 2, 1.5}));
}

static std::string refusal(const SmallModel &model) {
  return import(model).error;
}

TEST(Window, SaysWhatDoesNotFit) {
  EXPECT_EQ(refusal(line("MaxPool", 2, 3)),
            "node \"the MaxPool\" (MaxPool): its window of 3 elements does not "
            "fit into 2 "
            "elements with pads 0 and 0");
  EXPECT_EQ(refusal(line("MaxPool", 4, 2).with("strides", Shape{0})),
            "node \"the MaxPool\" (MaxPool): strides is [0], expected 1 "
            "numbers of at least 1");
  EXPECT_EQ(refusal(line("Conv", 4, 2).with("group", 2)),
            "node \"the Conv\" (Conv): a weight of shape [1, 1, 2] in 2 groups "
            "does not fit an input of 1 channels");
  EXPECT_EQ(refusal(line("Conv", 4, 2).with("auto_pad", "SOME")),
            "node \"the Conv\" (Conv): auto_pad is \"SOME\", expected NOTSET, "
            "VALID, SAME_UPPER or SAME_LOWER");
  for (const char *type : {"Conv", "MaxPool", "AveragePool", "LpPool"})
    EXPECT_EQ(refusal(line(type, 4, 2)
                          .with("auto_pad", "SAME_UPPER")
                          .with("pads", Shape{0, 1})),
              message("node \"the ", type, "\" (", type,
                      "): has pads [0, 1] beside auto_pad \"SAME_UPPER\": ONNX "
                      "allows one of both; remove the one that the model does "
                      "not mean"));
  EXPECT_EQ(refusal(SmallModel()
                        .input("x", {2, 2})
                        .node("MaxPool", {"x"}, {"y"})
                        .with("kernel_shape", Shape{})
                        .output("y")),
            "node \"the MaxPool\" (MaxPool): its input \"x\" has rank 2, "
            "expected [N, C] and 1 to 3 spatial axes");
}

TEST(Window, HaveNorms) {
  SmallModel model;
  model.input("x", {1, 1, 3})
      .node("LpPool", {"x"}, {"y"})
      .with("kernel_shape", Shape{2})
      .with("p", 2)
      .output("y");
  EXPECT_EQ(evaluate(model, {tensor({1, 1, 3}, {3, -4, 0})}).floats,
            (std::vector<double>{5, 4}));
}

TEST(Window, AreSummedWhereTheyLieInImages) {
  SmallModel model;
  model.input("columns", {1, 2, 2})
      .integers("image", {1}, {3})
      .integers("block", {1}, {2})
      .node("Col2Im", {"columns", "image", "block"}, {"y"})
      .output("y");
  EXPECT_EQ(evaluate(model, {tensor({1, 2, 2}, {1, 2, 10, 20})}).floats,
            (std::vector<double>{1, 12, 20}));
}

TEST(Window, RefuseColumnsThatDoNotFit) {
  SmallModel model;
  model.input("columns", {1, 2, 3})
      .integers("image", {1}, {3})
      .integers("block", {1}, {2})
      .node("Col2Im", {"columns", "image", "block"}, {"y"})
      .output("y");
  EXPECT_EQ(import(model).error,
            "node \"the Col2Im\" (Col2Im): columns of shape [1, 2, 3] do not "
            "fit 2 windows of 2 elements");
}

TEST(Window, RefusesAKernelShapeThatIsNotTheWeights) {
  EXPECT_NE(
      import(spread().with("kernel_shape", Shape{5}))
          .error.find("kernel_shape is [5], but its weight has shape [1, 1, "),
      std::string::npos);
}

TEST(Window, RefusesTransposedConvolutionsBeyondMeasure) {
  for (bool same : {false, true}) {
    SmallModel model;
    model.input("x", {1, 1, int64_t(1) << 40})
        .floats("w", {1, 1, 1}, {1})
        .node("ConvTranspose", {"x", "w"}, {"y"})
        .with("strides", Shape{INT32_MAX})
        .output("y");
    if (same)
      model.with("auto_pad", "SAME_UPPER");
    EXPECT_NE(import(model).error.find("along axis 2"), std::string::npos)
        << import(model).error;
  }
}
