// The modules of nodes, from an exporter's note, a path or a parameter.

#include "frontends/onnx/module_names.h"
#include "tests/this_build.h"

#include "small_model.h"

using namespace gradus;
using Names = std::map<std::string, std::string>;

static Names modulesOf(const std::string &path) {
  auto modules = modulesOfOnnx(path);
  EXPECT_TRUE(modules.ok()) << modules.status();
  return modules.ok() ? *std::move(modules) : Names();
}

/// The module of a node with this name that reads parameters, with this note.
static std::string moduleOf(const std::string &name,
                            std::vector<std::string> parameters = {},
                            const std::string &note = "") {
  gradus::testing::SmallModel model;
  model.input("x", {2}).output("y");
  std::vector<std::string> inputs = {"x"};
  for (const std::string &parameter : parameters) {
    model.floats(parameter, {2}, {1, 2});
    inputs.push_back(parameter);
  }
  model.node("Sum", inputs, {"y"});
  auto *node = model.graph().mutable_node(0);
  node->set_name(name);
  if (!note.empty()) {
    auto *entry = node->add_metadata_props();
    entry->set_key("pkg.torch.onnx.name_scopes");
    entry->set_value(note);
  }
  return modulesOf(model.write("modules.onnx"))[name];
}

TEST(ModuleNames, AreThoseOfPaths) {
  EXPECT_EQ(moduleOf("/conv1/Conv"), "conv1");
  EXPECT_EQ(moduleOf("/layer1/layer1.0/conv1/Conv"), "layer1.0.conv1");
  EXPECT_EQ(moduleOf("/features/features.1/conv/conv.0/conv.0.0/Conv"),
            "features.1.conv.0.0");
  EXPECT_EQ(moduleOf("/transformer/h.11/attn/MatMul_1"),
            "transformer.h.11.attn");
  EXPECT_EQ(moduleOf("/conv_0/conv_0/conv/Conv"), "conv_0.conv_0.conv");
  EXPECT_EQ(moduleOf("/layer1/layer10/Relu"), "layer1.layer10");
  EXPECT_EQ(moduleOf("/Relu"), ""); // of the network itself
}

TEST(ModuleNames, AreThoseOfNotes) {
  EXPECT_EQ(moduleOf("node_conv2d_1", {},
                     "['', 'layer1', 'layer1.0', 'layer1.0.conv1', 'conv2d']"),
            "layer1.0.conv1");
  EXPECT_EQ(moduleOf("node_relu", {}, "['', 'relu']"), "");
  EXPECT_EQ(moduleOf("node_relu", {}, "no list"), "");
}

TEST(ModuleNames, AreThoseOfParameters) {
  EXPECT_EQ(moduleOf("node_linear", {"fc.weight", "fc.bias"}), "fc");
  EXPECT_EQ(moduleOf("node_sum", {"a.weight", "b.weight"}), "");
  EXPECT_EQ(moduleOf("node_add", {"position"}), "");
}

TEST(ModuleNames, NameTheFileThatCannotBeRead) {
  auto modules = modulesOfOnnx("/nowhere/model.onnx");
  ASSERT_FALSE(modules.ok());
  EXPECT_NE(modules.status().message().find("/nowhere/model.onnx"),
            std::string::npos);
}
