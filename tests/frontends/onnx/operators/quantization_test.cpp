// Quantized tensors: integers that stand for real numbers.

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;
using Numbers = std::vector<int64_t>;

static SmallModel &bytes(SmallModel &model, const std::string &name,
                         const Shape &shape, const Numbers &values,
                         int type = ::onnx::TensorProto::UINT8) {
  ::onnx::TensorProto &tensor = *model.graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  tensor.mutable_dims()->Add(shape.begin(), shape.end());
  tensor.mutable_int32_data()->Add(values.begin(), values.end());
  return model;
}

static Numbers asBytes(const HostTensor &tensor) {
  Numbers result;
  for (int64_t value : tensor.integers)
    result.push_back(value & 255);
  return result;
}

TEST(Quantization, RoundsAndCuts) {
  SmallModel model;
  model.input("x", {6}).floats("scale", {}, {2});
  bytes(model, "zero", {}, {128})
      .node("QuantizeLinear", {"x", "scale", "zero"}, {"y"})
      .output("y");
  HostTensor x = tensor({6}, {0, 2, 3, 1000, -254, -1000});
  EXPECT_EQ(asBytes(evaluate(model, {x})), (Numbers{128, 129, 130, 255, 1, 0}));
}

TEST(Quantization, RefusesAnotherTypeThanItsZeroPoints) {
  SmallModel model;
  model.input("x", {6}).floats("scale", {}, {2});
  bytes(model, "zero", {}, {128})
      .node("QuantizeLinear", {"x", "scale", "zero"}, {"y"})
      .with("output_dtype", int(::onnx::TensorProto::INT8))
      .setOpset(21);
  EXPECT_EQ(errorOf(model),
            "node \"the QuantizeLinear\" (QuantizeLinear): its attribute "
            "\"output_dtype\" is INT8, expected UINT8, the type of its zero "
            "point");
}

TEST(Quantization, GivesNumbersBackByChannel) {
  SmallModel model;
  model.input("x", {2, 2}, ::onnx::TensorProto::INT8)
      .floats("scale", {2}, {2, 10});
  bytes(model, "zero", {2}, {1, -1}, ::onnx::TensorProto::INT8)
      .node("DequantizeLinear", {"x", "scale", "zero"}, {"y"})
      .with("axis", 0)
      .output("y");
  HostTensor x{{2, 2}, false, {}, {0, 3, -1, 4}};
  EXPECT_EQ(evaluate(model, {x}).floats, (Values{-2, 4, 0, 50}));
}

TEST(Quantization, HasScalesForBlocks) {
  SmallModel model;
  model.input("x", {1, 3}, ::onnx::TensorProto::INT8)
      .floats("scale", {1, 2}, {1, 10})
      .node("DequantizeLinear", {"x", "scale"}, {"y"})
      .with("axis", 1)
      .with("block_size", 2)
      .setOpset(21)
      .output("y");
  HostTensor x{{1, 3}, false, {}, {1, 2, 3}};
  EXPECT_EQ(evaluate(model, {x}).floats, (Values{1, 2, 30}));
}

TEST(Quantization, FindsTheScaleItself) {
  SmallModel model;
  model.input("x", {3})
      .node("DynamicQuantizeLinear", {"x"}, {"q", "scale", "zero"})
      .node("DequantizeLinear", {"q", "scale", "zero"}, {"y"})
      .output("y");
  Values y = evaluate(model, {tensor({3}, {-1, 0, 1.55})}).floats;
  EXPECT_NEAR(y[0], -1, 0.005);
  EXPECT_NEAR(y[1], 0, 1e-6);
  EXPECT_NEAR(y[2], 1.55, 0.005);
}

TEST(Quantization, MultipliesIntegers) {
  SmallModel model;
  model.input("a", {1, 2}, ::onnx::TensorProto::UINT8);
  bytes(model, "b", {2, 1}, {200, 3});
  bytes(model, "zero", {}, {100})
      .node("MatMulInteger", {"a", "b", "zero"}, {"y"})
      .output("y");
  HostTensor a{{1, 2}, false, {}, {255, 0}};
  EXPECT_EQ(evaluate(model, {a}).integers, (Numbers{155 * 200 - 100 * 3}));
}

TEST(Quantization, RefusesWhatDoesNotFit) {
  SmallModel model;
  model.input("x", {2, 3}, ::onnx::TensorProto::INT8)
      .floats("scale", {2}, {1, 1})
      .node("DequantizeLinear", {"x", "scale"}, {"y"})
      .output("y");
  EXPECT_EQ(import(model).error,
            "node \"the DequantizeLinear\" (DequantizeLinear): a scale or zero "
            "point of shape [2] does not fit a tensor of shape [2, 3]");
}
