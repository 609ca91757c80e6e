// A node's attributes have defaults, and its errors say where.

#include "frontends/onnx/file/node.h"

#include "frontends/onnx/file/onnx.pb.h"

#include <gtest/gtest.h>

using gradus::onnx::Node;

TEST(Node, IsCalledByItsOpAndNumberWithoutAName) {
  ::onnx::NodeProto proto;
  proto.set_op_type("Gemm");
  EXPECT_EQ(Node(proto, 7, 20).name(), "Gemm_7");
  proto.set_name("layer1/fc");
  EXPECT_EQ(Node(proto, 7, 20).error("is ", 2, " wide").message(),
            "node \"layer1/fc\" (Gemm): is 2 wide");
}

TEST(Node, HasADomainInItsTypeWhereThatIsNotTheDefault) {
  ::onnx::NodeProto proto;
  proto.set_op_type("Gemm");
  proto.set_domain("ai.onnx");
  EXPECT_EQ(Node(proto, 0, 20).type(), "Gemm");
  proto.set_domain("com.acme");
  EXPECT_EQ(Node(proto, 0, 20).type(), "com.acme::Gemm");
}

TEST(Node, GivesDefaultsForWhatIsNotSaid) {
  ::onnx::NodeProto proto;
  auto &alpha = *proto.add_attribute();
  alpha.set_name("alpha");
  alpha.set_f(0.5);
  Node node(proto, 0, 20);
  EXPECT_EQ(node.number("alpha", 1), 0.5);
  EXPECT_EQ(node.number("beta", 1), 1);
  EXPECT_EQ(node.integer("axis", -1), -1);
  EXPECT_EQ(node.text("auto_pad", "NOTSET"), "NOTSET");
  EXPECT_EQ(node.integers("perm", {1, 0}).size(), 2u);
}

TEST(Node, KnowsWhatNothingRead) {
  ::onnx::NodeProto proto;
  for (const char *key : {"alpha", "beta", "axis"})
    proto.add_attribute()->set_name(key);
  Node node(proto, 0, 20);
  node.number("beta", 1);
  node.ignore("axis");
  ASSERT_EQ(node.unread().size(), 1u);
  EXPECT_EQ(node.unread()[0]->name(), "alpha");
}

TEST(Node, HasEmptyNamesForInputsThatAreLeftOut) {
  ::onnx::NodeProto proto;
  proto.add_input("x");
  proto.add_input("");
  Node node(proto, 0, 20);
  EXPECT_EQ(node.input(0), "x");
  EXPECT_EQ(node.input(1), "");
  EXPECT_EQ(node.input(5), "");
}
