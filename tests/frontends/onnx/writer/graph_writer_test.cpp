// Names, constants and the nodes that are left.

#include "frontends/onnx/writer/graph_writer.h"

#include "../written.h"

using namespace gradus;
using namespace gradus::testing;

TEST(GraphWriter, NamesAreUsedOnce) {
  ::onnx::GraphProto graph;
  gradus::onnx::GraphWriter writer(graph, false);
  EXPECT_EQ(writer.fresh("a"), "a");
  EXPECT_EQ(writer.fresh("a"), "a_1");
  EXPECT_EQ(writer.fresh("a"), "a_2");
  EXPECT_EQ(writer.fresh(""), "value");
}

TEST(GraphWriter, EqualConstantsAreOne) {
  ::onnx::GraphProto graph;
  gradus::onnx::GraphWriter writer(graph, false);
  EXPECT_EQ(writer.integers({1, 2}), writer.integers({1, 2}));
  EXPECT_NE(writer.integers({1, 2}), writer.integers({2, 1}));
  EXPECT_EQ(graph.node_size(), 2);
}

TEST(GraphWriter, OutputsInputsAndStatesKeepTheirNames) {
  Imported model = parsed(
      {"%x: tensor<2xf32>",
       "%w = gradus.read @fc.weight : tensor<2xf32>\n%unused = math.exp %x : "
       "tensor<2xf32>\n%y = arith.mulf %x, %w : tensor<2xf32>",
       "tensor<2xf32>",
       "gradus.state @fc.weight : tensor<2xf32> {role = "
       "#gradus.role<parameter>, value = dense<[0.5, 2.0]> : "
       "tensor<2xf32>}\n"});
  auto written = gradus::onnx::writeProgram(model.program(), false);
  ASSERT_TRUE(written.ok());
  const ::onnx::GraphProto &graph = written->model.graph();
  ASSERT_EQ(graph.node_size(), 1);
  EXPECT_EQ(graph.node(0).op_type(), "Mul");
  EXPECT_EQ(graph.node(0).output(0), "y");
  EXPECT_EQ(graph.input(0).name(), "x");
  ASSERT_EQ(graph.initializer_size(), 1);
  EXPECT_EQ(graph.initializer(0).name(), "fc.weight");
  EXPECT_TRUE(written->unset.empty());
}

TEST(GraphWriter, AnInputThatIsAnOutputPassesAnIdentity) {
  Imported model = parsed({"%y: tensor<2xf32>", "", "tensor<2xf32>"});
  model.predict().setInputNamesAttr(
      mlir::Builder(model.context.get()).getStrArrayAttr({"x"}));
  auto written = gradus::onnx::writeProgram(model.program(), false);
  ASSERT_TRUE(written.ok());
  ASSERT_EQ(written->model.graph().node_size(), 1);
  EXPECT_EQ(written->model.graph().node(0).op_type(), "Identity");
}

TEST(GraphWriter, NodesHaveDifferentNames) {
  Imported model = parsed({"%x: tensor<2xf32>",
                           "%a = math.exp %x : tensor<2xf32> loc(\"n\")\n%y = "
                           "math.exp %a : tensor<2xf32> loc(\"n\")",
                           "tensor<2xf32>"});
  auto written = gradus::onnx::writeProgram(model.program(), false);
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(written->model.graph().node(0).name(), "n");
  EXPECT_EQ(written->model.graph().node(1).name(), "n_");
}
