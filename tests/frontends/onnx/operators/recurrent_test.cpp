// Recurrent layers of one unit, against their formulas written out.

#include "ir/scan_ops.h"
#include "tests/frontends/onnx/small_model.h"

#include <cmath>

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;
using Floats = std::vector<float>;

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// A layer on x [T, 1, 1] with gate weights w, r and biases b (of inputs, then
/// of the state), the same for each direction.
static SmallModel layer(const char *type, int64_t steps, Floats w, Floats r,
                        Floats b, int64_t directions = 1) {
  auto repeated = [&](Floats values) {
    Floats all = values;
    if (directions == 2)
      all.insert(all.end(), values.begin(), values.end());
    return all;
  };
  SmallModel model;
  model.input("x", {steps, 1, 1})
      .floats("w", {directions, int64_t(w.size()), 1}, repeated(w))
      .floats("r", {directions, int64_t(r.size()), 1}, repeated(r))
      .floats("b", {directions, int64_t(b.size())}, repeated(b))
      .node(type, {"x", "w", "r", "b"}, {"y", "h", "c"})
      .with("hidden_size", 1);
  if (std::string(type) != "LSTM")
    model.graph().mutable_node(0)->mutable_output()->RemoveLast();
  return model;
}

static Values run(SmallModel model, const char *output, Values x) {
  return evaluate(model.output(output), {tensor({int64_t(x.size()), 1, 1}, x)})
      .floats;
}

static const Floats lw = {.1f, .2f, .3f, .4f}, lr = {.5f, -.6f, .7f, .8f},
                    lb = {.1f, 0, .2f, 0, 0, .3f, 0, -.1f};

/// Outputs of the layer above and its last cell.
static std::pair<Values, double> lstm(const Values &x, double clip = 1e9) {
  double h = 0, c = 0;
  Values outputs;
  for (double input : x) {
    auto gate = [&](int g) {
      double sum = lw[g] * input + lr[g] * h + lb[g] + lb[4 + g];
      return std::clamp(sum, -clip, clip);
    };
    double i = sigmoid(gate(0)), o = sigmoid(gate(1)), f = sigmoid(gate(2));
    c = f * c + i * std::tanh(gate(3));
    h = o * std::tanh(std::clamp(c, -clip, clip));
    outputs.push_back(h);
  }
  return {outputs, c};
}

TEST(Recurrent, LstmRemembersInItsCell) {
  auto [outputs, cell] = lstm({1, -2, 3});
  expectEqual(run(layer("LSTM", 3, lw, lr, lb), "y", {1, -2, 3}), outputs);
  expectEqual(run(layer("LSTM", 3, lw, lr, lb), "h", {1, -2, 3}), {outputs[2]});
  expectEqual(run(layer("LSTM", 3, lw, lr, lb), "c", {1, -2, 3}), {cell});
}

TEST(Recurrent, BothDirectionsLieBesideEachOther) {
  SmallModel model = layer("LSTM", 2, lw, lr, lb, 2);
  model.with("direction", "bidirectional");
  Values there = lstm({1, -2}).first, back = lstm({-2, 1}).first;
  expectEqual(run(model, "y", {1, -2}), {there[0], back[1], there[1], back[0]});
}

TEST(Recurrent, RowsStopAtTheirLength) {
  SmallModel model = layer("LSTM", 3, lw, lr, lb);
  model.input("n", {1}, ::onnx::TensorProto::INT32);
  model.graph().mutable_node(0)->add_input("n");
  HostTensor length = zeros({1}, false);
  length.integers = {2};
  Values outputs = lstm({1, -2}).first;
  HostTensor x = tensor({3, 1, 1}, {1, -2, 3});
  expectEqual(evaluate(SmallModel(model).output("y"), {x, length}).floats,
              {outputs[0], outputs[1], 0});
  expectEqual(evaluate(SmallModel(model).output("h"), {x, length}).floats,
              {outputs[1]});
  model.with("direction", "reverse");
  expectEqual(evaluate(model.output("h"), {x, length}).floats,
              {lstm({-2, 1}).first[1]});
}

TEST(Recurrent, GruResetsBeforeOrBehindTheProduct) {
  const Floats w = {.1f, .2f, .3f}, r = {.4f, .5f, .6f},
               b = {0, .1f, 0, .2f, 0, .3f};
  for (bool behind : {false, true}) {
    double h = 0;
    for (double x : {1.0, -2.0}) {
      double z = sigmoid(w[0] * x + r[0] * h + b[0] + b[3]);
      double reset = sigmoid(w[1] * x + r[1] * h + b[1] + b[4]);
      double rest =
          behind ? reset * (r[2] * h + b[5]) : r[2] * reset * h + b[5];
      h = (1 - z) * std::tanh(w[2] * x + b[2] + rest) + z * h;
    }
    SmallModel model = layer("GRU", 2, w, r, b);
    model.with("linear_before_reset", int(behind));
    expectEqual(run(model, "h", {1, -2}), {h});
  }
}

TEST(Recurrent, RnnTakesItsActivation) {
  SmallModel model = layer("RNN", 2, {1}, {2}, {0, .5f});
  auto &attribute = *model.graph().mutable_node(0)->add_attribute();
  attribute.set_name("activations");
  attribute.add_strings("Relu");
  expectEqual(run(model, "y", {1, -2}), {1.5, 1.5});
  attribute.set_strings(0, "Softsign");
  EXPECT_EQ(import(model.output("y")).error,
            "node \"the RNN\" (RNN): activation \"Softsign\" is not supported; "
            "Sigmoid, Tanh and Relu are");
}

TEST(Recurrent, RnnTakesOnnxsDefaultForBothDirections) {
  SmallModel model = layer("RNN", 2, {1}, {2}, {0, .5f});
  Values expected = run(model, "y", {1, -2});
  auto &attribute = *model.graph().mutable_node(0)->add_attribute();
  attribute.set_name("activations");
  attribute.add_strings("Tanh");
  attribute.add_strings("Tanh");
  expectEqual(run(model, "y", {1, -2}), expected);
  attribute.set_strings(1, "Relu");
  EXPECT_EQ(import(model.output("y")).error,
            "node \"the RNN\" (RNN): has 2 activations, expected 1");
}

/// What goes into an activation, the cell's state included.
TEST(Recurrent, ClipsBeforeActivations) {
  SmallModel model = layer("LSTM", 3, lw, lr, lb);
  model.withNumber("clip", 0.25f);
  auto [outputs, cell] = lstm({1, -2, 3}, 0.25);
  expectEqual(run(model, "y", {1, -2, 3}), outputs);
  expectEqual(run(model, "c", {1, -2, 3}), {cell});
  SmallModel plain = layer("RNN", 2, {1}, {2}, {0, .5f});
  plain.withNumber("clip", 1);
  expectEqual(run(plain, "y", {1, -2}),
              {std::tanh(1), std::tanh(2 * std::tanh(1) - 1.5)});
}

/// However many steps there are.
TEST(Recurrent, IsOneScanForEachDirection) {
  SmallModel model = layer("LSTM", 500, lw, lr, lb, 2);
  model.with("direction", "bidirectional");
  Imported imported = import(model.output("y"));
  mlir::Block &block = imported.predict().getBody().front();
  auto scans = llvm::to_vector(block.getOps<ScanOp>());
  ASSERT_EQ(scans.size(), 2u);
  EXPECT_EQ(scans[0].getSteps(), 500u);
  EXPECT_FALSE(scans[0].getReverse());
  EXPECT_TRUE(scans[1].getReverse());
  EXPECT_LT(block.getOperations().size(), 100u);
}

TEST(Recurrent, SaysWhichShapeIsWrong) {
  EXPECT_EQ(import(layer("LSTM", 2, lw, lr, {1, 2}).output("y")).error,
            "node \"the LSTM\" (LSTM): its input \"b\" has shape [1, 2], "
            "expected [1, 8]");
}

TEST(Recurrent, SaysWhichSizeIsWrong) {
  EXPECT_EQ(import(layer("LSTM", 5000, lw, lr, lb).output("y")).error,
            "node \"the LSTM\" (LSTM): has 5000 steps; at most 4096 are "
            "supported");
  SmallModel model = layer("LSTM", 2, lw, lr, lb);
  model.graph().mutable_node(0)->mutable_attribute(0)->set_i(int64_t(1) << 31);
  EXPECT_EQ(import(model.output("y")).error,
            "node \"the LSTM\" (LSTM): has hidden_size 2147483648, expected 1 "
            "to 2147483647");
  model.graph().mutable_node(0)->mutable_attribute(0)->set_i(-3);
  EXPECT_EQ(import(model.output("y")).error,
            "node \"the LSTM\" (LSTM): has hidden_size -3, expected 1 to "
            "2147483647");
}

TEST(Recurrent, SaysWhichAttributeIsNotOnnxs) {
  auto refusal = [](auto set, int64_t opset = 20) {
    SmallModel model = layer("LSTM", 2, lw, lr, lb);
    set(model);
    return import(model.setOpset(opset).output("y")).error;
  };
  const std::string place = "node \"the LSTM\" (LSTM): ";
  EXPECT_EQ(refusal([](auto &m) { m.with("direction", "bidirectionel"); }),
            place + "its attribute \"direction\" is \"bidirectionel\", "
                    "expected forward, reverse or bidirectional");
  EXPECT_EQ(refusal([](auto &m) { m.with("layout", 2); }),
            place + "its attribute \"layout\" is 2, expected 0 or 1");
  EXPECT_EQ(refusal([](auto &m) { m.with("input_forget", 2); }),
            place + "its attribute \"input_forget\" is 2, expected 0 or 1");
  EXPECT_EQ(refusal([](auto &m) { m.with("layout", 1); }, 11),
            place + "its attribute \"layout\" is of opset 14 and later; the "
                    "model is of opset 11; ONNX's own checker refuses it, "
                    "too");
  EXPECT_EQ(refusal([](auto &m) { m.withNumber("clip", -1); }),
            place + "its attribute \"clip\" is -1, expected at least 0");
}

TEST(Recurrent, SaysWhichLengthIsNoneOfASequence) {
  auto refusal = [](const Shape &shape, std::vector<int64_t> lengths) {
    SmallModel model = layer("LSTM", 3, lw, lr, lb);
    model.integers("n", shape, lengths);
    model.graph().mutable_node(0)->add_input("n");
    return import(model.output("y")).error;
  };
  const std::string place = "node \"the LSTM\" (LSTM): its input \"n\" has ";
  EXPECT_EQ(refusal({2}, {1, 2}), place + "shape [2], expected [1], the batch");
  EXPECT_EQ(refusal({1}, {4}), place + "length 4 for sequence 0, expected 0 to "
                                       "3, the number of steps");
  EXPECT_EQ(refusal({1}, {-1}), place + "length -1 for sequence 0, expected 0 "
                                        "to 3, the number of steps");
  EXPECT_EQ(refusal({1}, {3}), "");
}

// ONNX's checker takes such a file.
TEST(Recurrent, HasNoProjections) {
  SmallModel model;
  model.input("x", {2, 1, 3})
      .floats("w", {1, 8, 3}, Floats(24, 0))
      .floats("r", {1, 8, 1}, Floats(8, 0))
      .node("LSTM", {"x", "w", "r"}, {"y"})
      .with("hidden_size", 2);
  EXPECT_EQ(errorOf(model),
            "node \"the LSTM\" (LSTM): its input \"r\" has shape [1, 8, 1], "
            "expected [1, 8, 2], as ONNX's LSTM has no projections "
            "(proj_size); export an LSTM without, and a Linear behind it");
}
