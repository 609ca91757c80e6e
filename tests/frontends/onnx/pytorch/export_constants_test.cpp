// Numbers that an exporter made into tensors are told from parameters, on files
// that PyTorch wrote (tests/data/exports).

#include "frontends/onnx/pytorch/export_constants.h"
#include "tests/this_build.h"

#include "frontends/onnx/inventory.h"

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;
using Names = std::set<std::string>;

static std::string exported(const std::string &name) {
  return GRADUS_SOURCE_DIR "/tests/data/exports/" + name + ".onnx";
}

static Names constantsOf(const std::string &name) {
  auto file = gradus::onnx::ModelFile::open(exported(name));
  EXPECT_TRUE(file.ok()) << file.status();
  return gradus::onnx::exportConstants(**file,
                                       gradus::onnx::exportMarks(**file));
}

TEST(ExportConstants, AreScalesOfAttentionAndFirstStates) {
  EXPECT_EQ(constantsOf("attending_default"), Names{"val_68"});
  EXPECT_EQ(constantsOf("recurrent_default"), Names{"val_16"});
}

TEST(ExportConstants, AreNoSlopesAndNoScalesOfGroups) {
  EXPECT_EQ(constantsOf("scaled_default"), Names());
  // The scale of InstanceNormalization that groups pass by, and of LayerNorm.
  EXPECT_EQ(constantsOf("group_norms_default"),
            (Names{"val_8", "val_11", "val_26"}));
}

TEST(ExportConstants, AreNotTrained) {
  Imported model = import(exported("attending_default"));
  ASSERT_EQ(model.error, "");
  EXPECT_FALSE(model.program().getState("val_68"));
  EXPECT_TRUE(model.program().getState("val_0"));
  auto inventory = inventoryOfOnnx(exported("attending_default"), {});
  ASSERT_TRUE(inventory.ok());
  EXPECT_EQ(inventory->fixed, std::vector<std::string>{"val_68 1xf32"});
}

TEST(ExportConstants, AreTrainedWhereThePatternNamesThem) {
  ImportOptions options;
  options.trainable = {"*", "val_68"};
  Imported model = import(exported("attending_default"), options);
  ASSERT_EQ(model.error, "");
  EXPECT_EQ(model.program().getState("val_68").getRole(), Role::parameter);
  options = {};
  options.fixed = {"val_68"};
  EXPECT_EQ(import(exported("attending_default"), options).error, "");
}

/// Scalars of the module itself count where the file shows them as they were.
TEST(ExportConstants, AreNoScalarsOfModules) {
  auto parametersOf = [](const char *name) {
    auto found = inventoryOfOnnx(exported(name), {});
    EXPECT_TRUE(found.ok()) << found.status();
    return std::set<std::string>(found->parameters.begin(),
                                 found->parameters.end());
  };
  Names whole = {"logit_scale f32", "body.weight 4x6xf32", "body.bias 4xf32",
                 "body.gain f32", "act.weight 1xf32"};
  EXPECT_EQ(parametersOf("tempered_whole"), whole);
  EXPECT_EQ(parametersOf("tempered_script"), whole);
  EXPECT_EQ(parametersOf("tempered_default").count("exp f32"), 0u);
  for (const char *name : {"tempered_whole", "tempered_script"}) {
    Imported model = import(exported(name));
    ASSERT_EQ(model.error, "");
    EXPECT_TRUE(model.program().getState("logit_scale")) << name;
    EXPECT_TRUE(model.program().getState("body.gain")) << name;
    EXPECT_FALSE(model.program().getState("lifted_tensor_0")) << name;
  }
}
