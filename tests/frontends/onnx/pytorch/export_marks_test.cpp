// What torch.export says of its initializers counts: the model below is what it
// writes, by default options, of a net with positions in a buffer.

#include "frontends/onnx/pytorch/export_marks.h"
#include "tests/this_build.h"

#include "frontends/onnx/inventory.h"

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;
using Names = std::set<std::string>;

constexpr const char *kSignature =
    "\n# inputs\np_w: PARAMETER target='w'\np_v: PARAMETER target='v.weight'\n"
    "b_pe: BUFFER target='m.pe' persistent=True\n"
    "c_t: CONSTANT_TENSOR target='lifted'\nx: USER_INPUT\n\n# outputs\n"
    "getitem: BUFFER_MUTATION target='w'\ny: USER_OUTPUT\n";
constexpr const char *kOldSignature =
    "ExportGraphSignature(input_specs=[InputSpec(kind=<InputKind.PARAMETER: 2>,"
    " arg=TensorArgument(name='p_w'), target='w', persistent=None), "
    "InputSpec(kind=<InputKind.PARAMETER: 2>, arg=TensorArgument(name='p_v'), "
    "target='v.weight', persistent=None), InputSpec(kind=<InputKind.BUFFER: 3>,"
    " arg=TensorArgument(name='b_pe'), target='m.pe', persistent=True), "
    "InputSpec(kind=<InputKind.CONSTANT_TENSOR: 4>, "
    "arg=TensorArgument(name='c_t'), target='lifted', persistent=None)])";

template <typename Proto>
static void mark(Proto &proto, const char *key, const char *value) {
  auto &entry = *proto.add_metadata_props();
  entry.set_key(key);
  entry.set_value(value);
}

static void markValue(SmallModel &model, const char *name, const char *key,
                      const char *value) {
  auto &info = *model.graph().add_value_info();
  info.set_name(name);
  mark(info, key, value);
}

/// x * w + m.pe * cos + val_3 + zeros * lifted, without marks.
static SmallModel positions() {
  SmallModel model;
  model.input("x", {2}).output("y");
  for (const char *name : {"w", "m.pe", "cos", "val_3", "lifted"})
    model.floats(name, {2}, {1, 2});
  model.floats("zeros", {2}, {0, 0});
  model.node("Mul", {"x", "w"}, {"a"})
      .node("Mul", {"m.pe", "cos"}, {"b"})
      .node("Mul", {"zeros", "lifted"}, {"c"})
      .node("Add", {"a", "b"}, {"d"})
      .node("Add", {"d", "val_3"}, {"e"})
      .node("Add", {"c", "e"}, {"y"});
  return model;
}

static SmallModel marked(const char *signature = kSignature) {
  constexpr const char *kFrom = "pkg.onnxscript.optimizer.folded_from";
  SmallModel model = positions();
  mark(model.graph(), "pkg.torch.export.ExportedProgram.graph_signature",
       signature);
  markValue(model, "cos", kFrom, "['arange', 'm.pe', 'val_0']");
  markValue(model, "val_3", kFrom, "['v.weight']");
  markValue(model, "zeros", kFrom, "['val_1']");
  return model;
}

static std::map<std::string, Role> rolesIn(const SmallModel &model,
                                           const ImportOptions &options = {}) {
  Imported imported = import(model, options);
  EXPECT_EQ(imported.error, "");
  std::map<std::string, Role> roles;
  if (imported.module)
    for (StateOp state : imported.program().getOps<StateOp>())
      roles[state.getSymName().str()] = state.getRole();
  return roles;
}

TEST(ExportMarks, AreReadFromTheSignature) {
  for (const char *signature : {kSignature, kOldSignature}) {
    auto file = gradus::onnx::ModelFile::open(marked(signature).write());
    ASSERT_TRUE(file.ok()) << file.status();
    auto marks = gradus::onnx::exportMarks(**file);
    EXPECT_EQ(marks.parameters, (Names{"w", "v.weight"}));
    EXPECT_EQ(marks.buffers, Names{"m.pe"});
    EXPECT_EQ(marks.constants, (Names{"cos", "lifted", "zeros"}));
    EXPECT_EQ(marks.madeOfParameters, Names{"val_3"});
    EXPECT_EQ(marks.missing, Names());
  }
}

TEST(ExportMarks, AreReadFromAnExport) {
  const std::string path =
      GRADUS_SOURCE_DIR "/tests/data/exports/positions_marked.onnx";
  auto file = gradus::onnx::ModelFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  auto marks = gradus::onnx::exportMarks(**file);
  EXPECT_EQ(marks.parameters,
            (Names{"body.bias", "body.weight", "head.bias", "head.weight"}));
  EXPECT_EQ(marks.buffers, Names{"pe"});
  EXPECT_TRUE(marks.hasSignature);
  EXPECT_EQ(marks.missing, Names());
  Imported model = import(path);
  ASSERT_EQ(model.error, "");
  EXPECT_EQ(model.program().getState("pe").getRole(), Role::buffer);
  EXPECT_EQ(model.program().getState("body.bias").getRole(), Role::parameter);
}

TEST(ExportMarks, KeepBuffersAndConstantsOutOfTraining) {
  EXPECT_EQ(rolesIn(marked()),
            (std::map<std::string, Role>{{"w", Role::parameter},
                                         {"val_3", Role::parameter},
                                         {"m.pe", Role::buffer}}));
  EXPECT_EQ(rolesIn(positions()).size(), 6u); // as nothing tells them apart
}

TEST(ExportMarks, GiveWayToFullNamesInTheRecipe) {
  ImportOptions options;
  options.trainable = {"w", "m.*"};
  EXPECT_EQ(rolesIn(marked(), options)["m.pe"], Role::buffer);
  options.trainable = {"w", "m.pe", "cos"};
  auto roles = rolesIn(marked(), options);
  EXPECT_EQ(roles["m.pe"], Role::parameter);
  EXPECT_EQ(roles["cos"], Role::parameter);
  EXPECT_EQ(roles["val_3"], Role::buffer);
}

TEST(ExportMarks, CountOfSingleValues) {
  SmallModel model = positions();
  markValue(model, "m.pe", "pkg.torch.export.graph_signature.InputSpec.kind",
            "BUFFER");
  auto roles = rolesIn(model);
  EXPECT_EQ(roles["m.pe"], Role::buffer);
  EXPECT_EQ(roles["cos"], Role::parameter);
}

/// Zeros may be a bias that the exporter has merged with a constant of code.
TEST(ExportMarks, AreDoubtedWhereAParameterIsMissing) {
  std::string signature =
      std::string("p_b: PARAMETER target='v.bias'\n") + kSignature;
  auto roles = rolesIn(marked(signature.c_str()));
  EXPECT_EQ(roles["zeros"], Role::parameter);
  EXPECT_EQ(roles.count("cos"), 0u);
}

/// In a branch, too, as its node's input or what it gives.
TEST(ExportMarks, AreDoubtedInBranches) {
  std::string signature =
      std::string("p_b: PARAMETER target='v.bias'\n") + kSignature;
  for (bool isGiven : {false, true}) {
    SmallModel model = marked(signature.c_str());
    ::onnx::NodeProto &node = *model.graph().mutable_node(2), inside = node;
    node.clear_input();
    node.set_op_type("If");
    node.add_input("condition");
    ::onnx::AttributeProto &branch = *node.add_attribute();
    branch.set_name("then_branch");
    branch.mutable_g()->add_output()->set_name(isGiven ? "zeros" : "c");
    if (!isGiven)
      *branch.mutable_g()->add_node() = inside;
    auto file = gradus::onnx::ModelFile::open(model.write());
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(gradus::onnx::exportMarks(**file).constants.count("zeros"), 0u)
        << isGiven;
  }
}

/// Attention's own bias of zeros is missing, but is not the zeros of its mask.
TEST(ExportMarks, KeepTheZerosUnderAMask) {
  const std::string path =
      GRADUS_SOURCE_DIR "/tests/data/exports/padded_marked.onnx";
  auto file = gradus::onnx::ModelFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  auto marks = gradus::onnx::exportMarks(**file);
  EXPECT_EQ(marks.missing, Names{"body.out_proj.bias"});
  EXPECT_EQ(marks.constants.count("zeros_like"), 1u);
  auto found = inventoryOfOnnx(path, {});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->parameters,
            (std::vector<std::string>{
                "body.in_proj_bias 12xf32", "body.out_proj.weight 4x4xf32",
                "head.weight 3x4xf32", "head.bias 3xf32", "val_5 4x12xf32"}));
}

/// Beside a tensor, zeros may be a bias.
TEST(ExportMarks, AreDoubtedInAWhereOfTensors) {
  std::string signature =
      std::string("p_b: PARAMETER target='v.bias'\n") + kSignature;
  for (bool isMask : {true, false}) {
    SmallModel model = marked(signature.c_str());
    model.floats("low", {1}, {-1})
        .input("mask", {2}, ::onnx::TensorProto::BOOL);
    auto &nodes = *model.graph().mutable_node();
    nodes[2].set_op_type("Where");
    nodes[2].clear_input();
    for (const char *name : {"mask", isMask ? "low" : "x", "zeros"})
      nodes[2].add_input(name);
    EXPECT_EQ(rolesIn(model).count("zeros"), isMask ? 0u : 1u);
  }
}

TEST(ExportMarks, MakeScalarsParametersOrNot) {
  SmallModel model;
  model.input("x", {2}).output("y").floats("scale", {}, {2});
  model.node("Mul", {"x", "scale"}, {"y"});
  model.proto().set_producer_name("pytorch");
  model.graph().mutable_node(0)->set_name("node_mul");
  EXPECT_EQ(rolesIn(model).size(), 0u);
  for (const char *signature :
       {"\np_scale: PARAMETER target='scale'\nx: USER_INPUT\n",
        "InputSpec(kind=<InputKind.PARAMETER: 2>, "
        "arg=TensorArgument(name='p_scale'), target='scale', "
        "persistent=None)"}) {
    SmallModel told = model;
    mark(told.graph(), "pkg.torch.export.ExportedProgram.graph_signature",
         signature);
    EXPECT_EQ(rolesIn(told)["scale"], Role::parameter) << signature;
  }
}

TEST(ExportMarks, AreToldInTheInventory) {
  auto found = inventoryOfOnnx(marked().write(), {});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->parameters,
            (std::vector<std::string>{"w 2xf32", "val_3 2xf32"}));
  EXPECT_EQ(found->fixed, (std::vector<std::string>{
                              "m.pe 2xf32 (a buffer, says the file)",
                              "cos 2xf32 (a constant, says the file)",
                              "lifted 2xf32 (a constant, says the file)",
                              "zeros 2xf32 (a constant, says the file)"}));
}
