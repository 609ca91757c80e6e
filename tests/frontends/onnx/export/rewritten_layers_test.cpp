// A file after what less_bn and fc_to_fn have done to its model. That it then
// computes the same, ONNX Runtime says: tests/end_to_end/export_test.py.

#include "frontends/onnx/export/rewritten_layers.h"

#include "frontends/onnx/file/onnx.pb.h"

#include <gmock/gmock.h>

#include <fstream>

using namespace gradus;
using namespace gradus::onnx;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

using Names = std::vector<std::string>;

void addNode(::onnx::GraphProto &graph, const std::string &op,
             const Names &inputs, const std::string &output) {
  auto &node = *graph.add_node();
  node.set_op_type(op);
  for (const std::string &input : inputs)
    node.add_input(input);
  node.add_output(output);
}

void addTensor(::onnx::GraphProto &graph, const std::string &name,
               const std::vector<int64_t> &shape) {
  auto &tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(::onnx::TensorProto::FLOAT);
  int64_t count = 1;
  for (int64_t extent : shape) {
    tensor.add_dims(extent);
    count *= extent;
  }
  tensor.set_raw_data(std::string(4 * count, 0));
}

/// y = relu(normalized x) W^T + b, the weight transposed on its way.
::onnx::ModelProto network(int64_t opset) {
  ::onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(opset);
  auto &graph = *model.mutable_graph();
  graph.add_input()->set_name("x");
  graph.add_output()->set_name("y");
  for (const char *part : {"weight", "bias", "mean", "variance"})
    addTensor(graph, std::string("bn.") + part, {4});
  addTensor(graph, "fc.weight", {3, 4});
  addTensor(graph, "fc.bias", {3});
  addNode(graph, "BatchNormalization",
          {"x", "bn.weight", "bn.bias", "bn.mean", "bn.variance"}, "n");
  addNode(graph, "Relu", {"n"}, "r");
  addNode(graph, "Transpose", {"fc.weight"}, "t");
  addNode(graph, "MatMul", {"r", "t"}, "p");
  addNode(graph, "Add", {"p", "fc.bias"}, "y");
  return model;
}

/// The ops of the network after what a checkpoint with these states says, or
/// the error. States are 1, and 0 where "=0" follows their name.
std::string rewritten(const Names &states, const ::onnx::ModelProto &model) {
  std::string path = ::testing::TempDir() + "rewritten_layers.onnx";
  {
    std::ofstream stream(path, std::ios::binary);
    model.SerializeToOstream(&stream);
  }
  auto file = ModelFile::open(path);
  EXPECT_TRUE(file.ok()) << file.status();
  auto tensorOf = [](const float &number) -> TrainedTensor {
    return {"", "f32", {}, {reinterpret_cast<const uint8_t *>(&number), 4}};
  };
  const float numbers[] = {0, 1};
  TrainedTensor zero = tensorOf(numbers[0]), one = tensorOf(numbers[1]);
  TrainedTensors trained;
  for (const std::string &state : states) {
    size_t end = state.find("=0");
    trained[state.substr(0, end)] = end == std::string::npos ? &one : &zero;
  }
  if (absl::Status status = rewriteLayers(**file, trained); !status.ok())
    return std::string(status.message());
  std::string text;
  for (const auto &node : (*file)->graph().node())
    text += node.op_type() + " ";
  text += "|";
  for (const auto &tensor : (*file)->graph().initializer())
    text += " " + tensor.name();
  return text;
}

std::string rewritten(const Names &states, int64_t opset = 17) {
  return rewritten(states, network(opset));
}

const Names kNorm = {"bn.weight", "bn.bias", "bn.mean", "bn.variance"};

Names operator+(Names names, const Names &more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

/// Of a head whose bias was dropped.
const Names kHead = {"fc.weight", "fc.multiplier", "fc_to_fn/bias=0"};

const std::string kHalf = "Mul ReduceSum Max Sqrt Div ";

} // namespace

TEST(RewrittenLayers, StayWhereNothingWasDone) {
  EXPECT_THAT(rewritten(kNorm + Names{"fc.weight", "fc.bias"}),
              HasSubstr("BatchNormalization Relu Transpose MatMul Add |"));
}

TEST(RewrittenLayers, LoseNormalizationsThatLessBnTookOut) {
  EXPECT_EQ(rewritten({"less_bn/removed", "fc.weight", "fc.bias"}),
            "Identity Relu Transpose MatMul Add | fc.weight fc.bias");
}

TEST(RewrittenLayers, AreThoseOfTheFileThatWasTrained) {
  EXPECT_THAT(rewritten(kNorm + Names{"less_bn/removed", "fc.weight"}),
              HasSubstr("was trained without 1 of its batch normalizations "
                        "(less_bn), but 0 of the file's have no trained "
                        "states"));
  EXPECT_THAT(rewritten(kNorm + Names{"head.multiplier", "fc.weight"}),
              HasSubstr("was trained with \"head.multiplier\" (fc_to_fn), "
                        "which needs one dense layer of that name; the file "
                        "has 0"));
}

TEST(RewrittenLayers, NormalizeTheHead) {
  EXPECT_EQ(
      rewritten(kNorm + Names{"fc.weight", "fc.multiplier", "fc_to_fn/bias=0",
                              "adam/first_moment/fc.multiplier"}),
      "BatchNormalization Relu Transpose " + kHalf + kHalf +
          "MatMul Mul | bn.weight bn.bias bn.mean bn.variance fc.weight "
          "fc.multiplier/epsilon fc.multiplier "
          "fc.multiplier/input/axis fc.multiplier/weight/axis");
}

/// It is added before the multiplier.
TEST(RewrittenLayers, KeepABiasThatWasKept) {
  EXPECT_THAT(rewritten(kNorm + Names{"fc.weight", "fc.bias", "fc.multiplier",
                                      "fc_to_fn/bias"}),
              HasSubstr("MatMul Add Mul | bn.weight bn.bias bn.mean "
                        "bn.variance fc.weight fc.bias"));
}

/// An older Gradus wrote no record of the bias; the checkpoint has it, or not.
TEST(RewrittenLayers, TellByTheCheckpointWhetherABiasWithoutARecordWasKept) {
  const Names dropped = kNorm + Names{"fc.weight", "fc.multiplier"},
              kept = dropped + Names{"fc.bias"};
  EXPECT_THAT(rewritten(kept), HasSubstr("MatMul Add Mul | "));
  EXPECT_THAT(rewritten(dropped), HasSubstr("MatMul Mul | "));
  ::onnx::ModelProto model = network(17);
  auto &graph = *model.mutable_graph();
  graph.mutable_node(3)->set_op_type("Gemm");
  graph.mutable_node(3)->add_input("fc.bias");
  graph.mutable_node(3)->set_output(0, "y");
  graph.mutable_node()->RemoveLast();
  EXPECT_THAT(rewritten(kept, model), HasSubstr("Gemm Mul | "));
  EXPECT_THAT(rewritten(kept, model), HasSubstr("fc.weight fc.bias"));
  EXPECT_THAT(rewritten(dropped, model), HasSubstr("Gemm Mul | "));
  EXPECT_THAT(rewritten(dropped, model), Not(HasSubstr("fc.bias")));
  addNode(graph, "Relu", {"fc.bias"}, "also");
  EXPECT_THAT(rewritten(kept, model),
              HasSubstr("without a record of the layer's bias, as by an older "
                        "Gradus; whether \"fc.bias\" is part of the layer "
                        "cannot be told"));
}

TEST(RewrittenLayers, NeedANewOperatorSet) {
  EXPECT_THAT(rewritten(kNorm + Names{"fc.weight", "fc.multiplier"}, 11),
              HasSubstr("(fc_to_fn), to export which the file needs an "
                        "operator set of 13 or newer"));
}

/// A bias that training dropped goes, wherever its Add stands.
TEST(RewrittenLayers, LoseABiasBehindIdentityAndBehindAGemm) {
  ::onnx::ModelProto model = network(17);
  auto &graph = *model.mutable_graph();
  graph.mutable_node(4)->set_input(0, "q");
  addNode(graph, "Identity", {"p"}, "q");
  graph.mutable_node()->SwapElements(4, 5);
  EXPECT_THAT(rewritten(kNorm + kHead, model),
              HasSubstr("MatMul Identity Mul | "));
  graph.mutable_node(3)->set_op_type("Gemm");
  EXPECT_THAT(rewritten(kNorm + kHead, model),
              HasSubstr("Gemm Identity Mul | "));
}

/// Another layer goes on training the bias that the head no longer has.
TEST(RewrittenLayers, LoseABiasThatAnotherLayerShares) {
  ::onnx::ModelProto model = network(17);
  addNode(*model.mutable_graph(), "Sub", {"y", "fc.bias"}, "z");
  model.mutable_graph()->mutable_output(0)->set_name("z");
  EXPECT_THAT(rewritten(kNorm + kHead + Names{"fc.bias"}, model),
              HasSubstr("MatMul Mul Sub | bn.weight bn.bias bn.mean "
                        "bn.variance fc.weight fc.bias"));
}

TEST(RewrittenLayers, NeedTheBiasThatTheHeadHad) {
  ::onnx::ModelProto model = network(17);
  model.mutable_graph()->mutable_node(4)->set_op_type("Sub");
  EXPECT_THAT(rewritten(kNorm + kHead, model),
              HasSubstr("was trained with \"fc.multiplier\" (fc_to_fn) in a "
                        "layer with a bias, but no Add of the file gives its "
                        "layer's product one"));
}

/// Nothing but the layer's own bias is taken out.
TEST(RewrittenLayers, KeepWhatIsAddedToAHeadWithoutBias) {
  ::onnx::ModelProto model = network(17);
  model.mutable_graph()->add_output()->set_name("p");
  EXPECT_THAT(rewritten(kNorm + Names{"fc.weight", "fc.multiplier"}, model),
              HasSubstr("MatMul Mul Add | "));
}

TEST(RewrittenLayers, TakeNoNodesForWhatTheyAreNot) {
  ::onnx::ModelProto model = network(17);
  auto &graph = *model.mutable_graph();
  addNode(graph, "Identity", {"ring"}, "ring");
  addNode(graph, "MatMul", {"r", "ring"}, "s");
  addNode(graph, "MatMul", {"fc.weight"}, "one");
  addNode(graph, "Transpose", {}, "none");
  addNode(graph, "MatMul", {"r", "none"}, "o");
  addNode(graph, "Add", {}, "sum");
  EXPECT_THAT(rewritten(kNorm + kHead, model),
              HasSubstr("MatMul Mul Identity MatMul MatMul Transpose MatMul "
                        "Add | "));
}
