// What is wrong with many nodes is told once, in few lines.

#include "frontends/onnx/file/onnx.pb.h"
#include "frontends/onnx/file/problems.h"

#include <gtest/gtest.h>

using gradus::onnx::Node;
using gradus::onnx::Problems;

static ::onnx::NodeProto proto(const std::string &type,
                               const std::string &name) {
  ::onnx::NodeProto result;
  result.set_op_type(type);
  result.set_name(name);
  return result;
}

TEST(Problems, AreNoneAtFirst) { EXPECT_TRUE(Problems().status().ok()); }

TEST(Problems, KeepASingleErrorAsItIs) {
  Problems problems;
  ::onnx::NodeProto resize = proto("Resize", "up");
  Node node(resize, 0, 20);
  problems.addError(node, node.error("mode \"cubic\" is not supported"));
  EXPECT_EQ(problems.status().message(),
            "node \"up\" (Resize): mode \"cubic\" is not supported");
}

TEST(Problems, MeetWhereTheyAreEqual) {
  Problems problems;
  for (int i = 0; i < 9; ++i) {
    ::onnx::NodeProto resize = proto("Resize", "up" + std::to_string(i)),
                      magic = proto("Magic", "m");
    Node node(resize, i, 20);
    problems.addError(node, node.error("mode \"cubic\" is not supported"));
    if (i == 0)
      problems.addMissing(Node(magic, 9, 20));
  }
  EXPECT_EQ(problems.status().message(),
            "uses what is not supported:\n"
            "  Magic (opset 20); node \"m\"\n"
            "  Resize (opset 20): mode \"cubic\" is not supported; nodes "
            "\"up0\", \"up1\", \"up2\", \"up3\", \"up4\", \"up5\" and 3 more");
}
