// The places of maxima, and what is put back there.

#include "frontends/onnx/operators/max_places.h"

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Places = std::vector<int64_t>;

/// The second output of a pool over this input.
static Places places(const Shape &shape, std::vector<double> values,
                     const std::function<void(SmallModel &)> &attributes) {
  SmallModel model;
  model.input("x", shape).node("MaxPool", {"x"}, {"y", "places"});
  attributes(model);
  HostTensor result = evaluate(model.output("places"), {tensor(shape, values)});
  return {result.integers.begin(), result.integers.end()};
}

TEST(MaxPlaces, CountOverTheWholeTensor) {
  EXPECT_EQ(
      places({1, 2, 4}, {1, 5, 2, 3, 9, 8, 7, 6},
             [](SmallModel &model) {
               model.with("kernel_shape", Shape{2}).with("strides", Shape{2});
             }),
      (Places{1, 3, 4, 6}));
}

/// The largest stands in the second row and third column.
TEST(MaxPlaces, CountRowsOrColumns) {
  for (bool columns : {false, true})
    EXPECT_EQ(places({1, 1, 2, 3}, {0, 1, 2, 3, 4, 5},
                     [&](SmallModel &model) {
                       model.with("kernel_shape", Shape{2, 3})
                           .with("storage_order", int(columns));
                     }),
              Places{5});
  for (bool columns : {false, true})
    EXPECT_EQ(places({1, 1, 2, 3}, {0, 1, 9, 3, 4, 5},
                     [&](SmallModel &model) {
                       model.with("kernel_shape", Shape{2, 3})
                           .with("storage_order", int(columns));
                     }),
              Places{columns ? 4 : 2});
}

/// Windows [pad 1], [2 3], each with a gap of one.
TEST(MaxPlaces, LeavePaddingAndDilationOut) {
  EXPECT_EQ(places({1, 1, 4}, {1, 2, 3, 4},
                   [](SmallModel &model) {
                     model.with("kernel_shape", Shape{2})
                         .with("strides", Shape{2})
                         .with("dilations", Shape{2})
                         .with("pads", Shape{1, 1});
                   }),
            (Places{1, 3}));
}

static SmallModel unpool(const Shape &outputShape = {}) {
  SmallModel model;
  model.input("x", {1, 1, 2, 2})
      .integers("at", {1, 1, 2, 2}, {5, 7, 13, 15})
      .integers("shape", {int64_t(outputShape.size())}, outputShape)
      .node("MaxUnpool", {"x", "at", outputShape.empty() ? "" : "shape"}, {"y"})
      .with("kernel_shape", Shape{2, 2})
      .with("strides", Shape{2, 2});
  return model;
}

static const HostTensor kPooled = tensor({1, 1, 2, 2}, {1, 2, 3, 4});

TEST(MaxUnpool, PutsBack) {
  HostTensor y = evaluate(unpool().output("y"), {kPooled});
  EXPECT_EQ(y.floats, (std::vector<double>{0, 0, 0, 0, 0, 1, 0, 2, //
                                           0, 0, 0, 0, 0, 3, 0, 4}));
  HostTensor larger = evaluate(unpool({1, 1, 5, 5}).output("y"), {kPooled});
  EXPECT_EQ(larger.floats[5 + 1], 1);
  EXPECT_EQ(larger.floats[3 * 5 + 3], 4);
}

TEST(MaxUnpool, SaysWhatItLacks) {
  SmallModel model = unpool();
  model.graph().mutable_node(0)->clear_attribute();
  model.with("kernel_shape", Shape{2, 2});
  EXPECT_EQ(import(model.output("y")).error,
            "node \"the MaxUnpool\" (MaxUnpool): windows of [2, 2] with "
            "strides [1, 1] overlap, which is not supported");
  SmallModel padded = unpool();
  padded.with("pads", Shape{INT64_MIN, 0, 0, 0});
  EXPECT_NE(import(padded.output("y")).error.find("does not fit windows of"),
            std::string::npos);
  EXPECT_EQ(import(unpool({1, 1, 3, 4}).output("y")).error,
            "node \"the MaxUnpool\" (MaxUnpool): output_shape is [1, 1, 3, "
            "4], expected at least [1, 1, 4, 4]");
}
