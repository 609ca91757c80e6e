// What is said of nodes without looking at their inputs.

#include "frontends/onnx/judge.h"

#include "small_model.h"

using namespace gradus::onnx;
using gradus::testing::SmallModel;

static ::onnx::NodeProto proto(const char *type) {
  ::onnx::NodeProto result;
  result.set_op_type(type);
  result.set_name("it");
  return result;
}

/// The table claims an opset for each op, and refuses the one before.
TEST(Judge, RefusesOpsetsThatLackTheOp) {
  for (const Operator *op : allOperators()) {
    EXPECT_GE(op->support.since, 1) << op->name;
    EXPECT_LE(op->support.since, kNewestOpset) << op->name;
    ::onnx::NodeProto node = proto(op->name);
    int64_t before = op->support.since - 1;
    if (before == 0)
      continue; // There is none.
    EXPECT_EQ(judge(*op, Node(node, 0, before)).message(),
              gradus::message("node \"it\" (", op->name,
                              "): is an op of opset ", op->support.since,
                              " and later; the model is of opset ", before,
                              ", in which it is not supported"));
  }
}

TEST(Judge, AsksTheTableAboutAttributes) {
  ::onnx::NodeProto cast = proto("Cast");
  auto &to = *cast.add_attribute();
  to.set_name("to");
  to.set_i(::onnx::TensorProto::STRING);
  EXPECT_EQ(judge(*findOperator("Cast"), Node(cast, 0, 20)).message(),
            "node \"it\" (Cast): casts to STRING, which is not supported");
  cast.mutable_attribute(0)->set_i(::onnx::TensorProto::FLOAT);
  EXPECT_TRUE(judge(*findOperator("Cast"), Node(cast, 0, 20)).ok());
}

TEST(Judge, LooksIntoBranches) {
  SmallModel model, branch;
  branch.node("Magic", {"x"}, {"z"});
  model.node("If", {"c"}, {"y"});
  auto &attribute = *model.graph().mutable_node(0)->add_attribute();
  attribute.set_name("else_branch");
  attribute.set_type(::onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = branch.graph();
  Problems problems;
  judgeNodes(model.graph(), 20, problems);
  EXPECT_EQ(problems.status().message(),
            "uses what is not supported:\n  Magic (opset 20); node \"the "
            "Magic\"");
}
