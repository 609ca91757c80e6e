// What default options of PyTorch's exporters take out of a model is named, on
// files that they wrote (tests/data/exports).

#include "frontends/onnx/pytorch/export_losses.h"
#include "tests/this_build.h"

#include "tests/frontends/onnx/small_model.h"

using gradus::onnx::exportLosses;
using gradus::onnx::ModelFile;
using gradus::testing::SmallModel;
using Losses = std::vector<std::string>;

static Losses lossesAt(const std::string &path) {
  auto file = ModelFile::open(path);
  EXPECT_TRUE(file.ok()) << file.status();
  return exportLosses(**file, gradus::onnx::exportMarks(**file));
}

static Losses lossesOf(const std::string &path) {
  return lossesAt(GRADUS_SOURCE_DIR "/tests/data/" + path);
}

static const std::string kExport =
    "; export with torch.onnx.export(..., dynamo=True, optimize=False)";

static const std::string kScript =
    "; export with torch.onnx.export(..., dynamo=False, "
    "training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False)";

static std::string merged(const char *which, const std::string &advice) {
  return which +
         std::string(": unless the model shares them, the exporter has merged "
                     "parameters of equal initial values, which would be "
                     "trained as one") +
         advice + ", or after the first step of training";
}

static std::string missing(const char *which, const char *names) {
  return std::string(which) + " not in the file (" + names +
         "): unless the module ties them to others or never uses them, the "
         "exporter has merged them with parameters of equal values, or folded "
         "them away, and they cannot be trained" +
         kExport;
}

TEST(ExportLosses, AreNoneInWholeFiles) {
  for (const auto &entry : std::filesystem::recursive_directory_iterator(
           GRADUS_SOURCE_DIR "/tests/data/models"))
    if (std::string name = entry.path().filename();
        entry.path().extension() == ".onnx" && name != "model_default.onnx") {
      std::string path = std::filesystem::relative(
          entry.path(), GRADUS_SOURCE_DIR "/tests/data");
      EXPECT_EQ(lossesOf(path), Losses()) << path;
    }
  for (const char *name : {"norm_whole", "tied_whole", "two_heads",
                           "table_whole", "positions_marked"})
    EXPECT_EQ(lossesOf(std::string("exports/") + name + ".onnx"), Losses());
}

TEST(ExportLosses, OfBatchNormsFoldedByTorchExport) {
  EXPECT_EQ(lossesOf("exports/norm_default.onnx"),
            Losses{"2 batch normalizations have been folded into the "
                   "convolutions before them (nodes \"node_Conv_25\", "
                   "\"node_Conv_26\"), so their parameters are gone and they "
                   "cannot be trained" +
                   kExport});
}

TEST(ExportLosses, OfBatchNormsFoldedByTorchScript) {
  EXPECT_EQ(
      lossesOf("exports/norm_script.onnx"),
      Losses{"2 batch normalizations have been folded into the convolutions "
             "before them (nodes \"/conv1/Conv\", \"/conv2/Conv\"), so their "
             "parameters are gone and they cannot be trained" +
             kScript});
}

TEST(ExportLosses, OfTiedComputedMergedAndRenamedParameters) {
  EXPECT_EQ(
      lossesOf("exports/tied_default.onnx"),
      (Losses{
          "2 initializers hold values computed of parameters, such as "
          "looked-up positions or normalized weights, in place of the "
          "parameters (\"embedding_1\", \"alias\"), so training them is "
          "training something else" +
              kExport,
          "2 weights are transposed, reshaped or packed copies without the "
          "model's own name (\"val_7\", \"val_11\"): trained under that name, "
          "and "
          "`trainable`, `groups` and --weights cannot say the model's" +
              kExport,
          merged("2 parameters serve several layers (\"norm1.weight\", "
                 "\"norm1.bias\")",
                 kExport),
          "\"head.weight\" and \"val_11\" hold the same values: a tied weight "
          "has become two copies, which training moves apart" +
              kExport}));
}

TEST(ExportLosses, OfParametersMergedByTorchExport) {
  Losses found = lossesOf("exports/scaled_default.onnx");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].find("1 weight is a transposed, reshaped or packed copy "
                          "without the model's own name (\"val_7\")"),
            0u)
      << found[0];
  EXPECT_EQ(found[1], merged("3 parameters serve several layers (\"norm1\", "
                             "\"gain1\", \"val_7\")",
                             kExport));
}

TEST(ExportLosses, OfParametersMergedByTorchScript) {
  EXPECT_EQ(lossesOf("exports/scaled_script.onnx"),
            Losses{merged("4 parameters serve several layers (\"norm1\", "
                          "\"gain1\", \"body1.bias\", \"slope1.weight\")",
                          kScript)});
}

TEST(ExportLosses, OfBiasesOfAttentionsMergedIntoOne) {
  Losses found = lossesOf("exports/attending_default.onnx");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1],
            merged("1 parameter serves several layers (\"first.in_proj_bias\")",
                   kExport));
}

TEST(ExportLosses, OfScalesMergedBesideTheirStatistics) {
  for (auto [name, advice] : {std::pair("fresh_norms_default", kExport),
                              std::pair("fresh_norms_script", kScript)})
    EXPECT_EQ(lossesOf(std::string("exports/") + name + ".onnx"),
              Losses{merged("2 parameters serve several layers "
                            "(\"norm1.weight\", \"norm1.bias\")",
                            advice)});
  // What only a normalization's own statistics shared is not merged.
  EXPECT_EQ(lossesOf("exports/fresh_norm_script.onnx"), Losses());
  EXPECT_EQ(lossesOf("exports/plain_norms_default.onnx"), Losses());
}

TEST(ExportLosses, OfWeightsComputedOfParameters) {
  EXPECT_EQ(lossesOf("exports/reparametrized_default.onnx"),
            Losses{"2 initializers hold values computed of parameters, such as "
                   "looked-up positions or normalized weights, in place of the "
                   "parameters (\"div\", \"mul\"), so training them is "
                   "training something else" +
                   kExport});
}

//===-- with the file's own list of parameters ----------------------------===//

TEST(ExportLosses, OfCopiedLayersMergedIntoOne) {
  std::string serves = "2 parameters serve several layers (\"a.weight\", "
                       "\"a.bias\")";
  EXPECT_EQ(lossesOf("exports/clones_marked.onnx"),
            (Losses{missing("2 parameters of the module are",
                            "\"b.bias\", \"b.weight\""),
                    merged(serves.c_str(), kExport)}));
  // The list being gone, a layer that is applied twice looks the same.
  EXPECT_EQ(lossesOf("exports/clones_default.onnx"),
            Losses{merged(serves.c_str(), kExport)});
  EXPECT_EQ(lossesOf("exports/clones_script.onnx"),
            Losses{merged(serves.c_str(), kScript)});
  EXPECT_EQ(lossesOf("exports/shared_marked.onnx"), Losses());
}

TEST(ExportLosses, OfBatchNormsThatTheListHas) {
  EXPECT_EQ(lossesOf("exports/norm_marked.onnx"),
            (Losses{lossesOf("exports/norm_default.onnx").at(0),
                    missing("4 parameters of the module are",
                            "\"bn1.bias\", \"bn1.weight\", \"bn2.bias\", "
                            "\"bn2.weight\"")}));
}

TEST(ExportLosses, OfTiedComputedMergedAndRenamedParametersThatTheListHas) {
  Losses found = lossesOf("exports/tied_marked.onnx"),
         unlisted = lossesOf("exports/tied_default.onnx");
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[2], missing("3 parameters of the module are",
                              "\"embedding.weight\", \"norm2.bias\", "
                              "\"norm2.weight\""));
  found.erase(found.begin() + 2);
  EXPECT_EQ(found, unlisted);
}

TEST(ExportLosses, OfTiedWeightsOfAnyFloats) {
  for (const char *bits : {"float16", "bfloat16", "float64"}) {
    Losses found =
        lossesOf("exports/tied_" + std::string(bits) + "_default.onnx");
    ASSERT_EQ(found.size(), 2u) << bits;
    EXPECT_EQ(found[1], "\"head.weight\" and \"val_0\" hold the same values: "
                        "a tied weight has become two copies, which training "
                        "moves apart" +
                            kExport);
  }
}

/// A matrix whose sizes have a product beyond 64 bits is compared with none.
TEST(ExportLosses, AreNotLookedForInMatricesOfAbsurdSizes) {
  for (const std::string &loss : lossesOf("fuzz/model/sizes_of_tied.onnx"))
    EXPECT_EQ(loss.find("hold the same values"), loss.npos) << loss;
}

/// A layer without outputs is in no file that an exporter wrote.
TEST(ExportLosses, AreNotLookedForInLayersWithoutOutputs) {
  for (const std::string &loss :
       lossesOf("fuzz/model/layer_without_outputs.onnx"))
    EXPECT_EQ(loss.find("folded"), loss.npos) << loss;
}

//===-- what only looks like a loss ---------------------------------------===//

/// Copies of a layer that a module makes of one, each with its own name, beside
/// a matrix and what was tied to it once.
static SmallModel copies(const char *second) {
  std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  SmallModel model;
  model.input("x", {3, 3}).output("y");
  model.floats("layers.0.weight", {3, 3}, values)
      .floats(second, {3, 3}, values)
      .node("MatMul", {"x", "layers.0.weight"}, {"a"})
      .node("MatMul", {"a", second}, {"y"});
  return model;
}

TEST(ExportLosses, AreNotLayersThatStartEqual) {
  EXPECT_EQ(lossesAt(copies("layers.1.weight").write()), Losses());
  EXPECT_EQ(lossesAt(copies("onnx::MatMul_7").write()).back(),
            "\"layers.0.weight\" and \"onnx::MatMul_7\" hold the same "
            "values: a tied weight has become two copies, which training moves "
            "apart" +
                kScript);
}

/// Unless one is a table and the other a layer's, as in older exports.
TEST(ExportLosses, OfTiedWeightsWithNamesOfTheirOwn) {
  SmallModel model = copies("head.weight");
  model.integers("ids", {3}, {0, 2, 1});
  auto &first = *model.graph().mutable_node(0);
  first.set_op_type("Gather");
  first.set_input(0, "layers.0.weight");
  first.set_input(1, "ids");
  Losses found = lossesAt(model.write());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], "\"layers.0.weight\" and \"head.weight\" hold the same "
                      "values: a tied weight has become two copies, which "
                      "training moves apart" +
                          kScript);
}

/// Only torch.export calls what it has computed after the operation.
TEST(ExportLosses, AreNotTablesOfOtherToolsByTheirNames) {
  SmallModel model;
  model.input("ids", {3}, ::onnx::TensorProto::INT64).output("y");
  model.floats("t", {3, 2}, {1, 2, 3, 4, 5, 6})
      .node("Gather", {"t", "ids"}, {"y"});
  EXPECT_EQ(lossesAt(model.write()), Losses());
  model.graph().mutable_node(0)->set_name("node_embedding");
  EXPECT_EQ(lossesAt(model.write()),
            Losses{"1 initializer holds a value computed of parameters, such "
                   "as looked-up positions or normalized weights, in place of "
                   "the parameters (\"t\"), so training them is training "
                   "something else" +
                   kExport});
}
