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

TEST(GraphWriter, AStateAndAnOutputOfOneNameAreAnError) {
  const std::string y =
      "gradus.state @y : tensor<2xf32> {role = #gradus.role<parameter>, value "
      "= dense<[0.5, 2.0]> : tensor<2xf32>}\n";
  EXPECT_EQ(errorOf({"%x: tensor<2xf32>",
                     "%w = gradus.read @y : tensor<2xf32>\n%y = arith.mulf "
                     "%x, %w : tensor<2xf32>",
                     "tensor<2xf32>", y}),
            "a state and an output have the name \"y\", which ONNX has for "
            "one value");
  EXPECT_EQ(errorOf({"%y: tensor<2xf32>", "", "tensor<2xf32>", y}),
            "an input and a state have the name \"y\", which ONNX has for one "
            "value");
  EXPECT_EQ(errorOf({"%x: tensor<2xf32>", "%y = gradus.read @y : tensor<2xf32>",
                     "tensor<2xf32>", y}),
            "");
  EXPECT_EQ(errorOf({"%y: tensor<2xf32>", "", "tensor<2xf32>"}), "");
}

TEST(GraphWriter, OfRefusedValuesTheFirstIsNamed) {
  std::string body = "%r0 = math.copysign %x, %x : tensor<2xf32> loc(\"n0\")\n";
  for (int i = 1; i < 8; ++i) {
    std::string now = std::to_string(i), before = std::to_string(i - 1);
    body += "%r" + now + " = math.copysign %r" + before +
            ", %x : tensor<2xf32> loc(\"n" + now + "\")\n%s" + now +
            " = arith.addf %r" + now + ", %r" + before + " : tensor<2xf32>\n";
  }
  // A program in which all of them are used.
  body += "%t2 = arith.addf %s1, %s2 : tensor<2xf32>\n";
  for (int i = 3; i < 8; ++i)
    body += "%t" + std::to_string(i) + " = arith.addf %t" +
            std::to_string(i - 1) + ", %s" + std::to_string(i) +
            " : tensor<2xf32>\n";
  body += "%y = arith.addf %t7, %r0 : tensor<2xf32>";
  EXPECT_EQ(errorOf({"%x: tensor<2xf32>", body, "tensor<2xf32>"}),
            "node \"n0\" (math.copysign): ONNX has no form of the op that "
            "Gradus knows");
}

TEST(GraphWriter, FilesAreOfAFormatWithNotes) {
  auto versions = [](const std::string &type) {
    return versionsOf({"%x: " + type, "%y = math.sin %x : " + type, type});
  };
  EXPECT_EQ(versions("tensor<2xf32>"), (std::pair<int64_t, int64_t>(18, 10)));
  EXPECT_EQ(versions("tensor<2xf16>"), (std::pair<int64_t, int64_t>(18, 10)));
  EXPECT_EQ(versions("tensor<2xbf16>"), (std::pair<int64_t, int64_t>(22, 10)));
}
