// What default options of PyTorch's exporters take out of a model is named, on
// files that they wrote (tests/data/exports).

#include "frontends/onnx/export_losses.h"

#include <gtest/gtest.h>

#include <filesystem>

using gradus::onnx::exportLosses;
using gradus::onnx::ModelFile;
using Losses = std::vector<std::string>;

static Losses lossesOf(const std::string &path) {
  auto file = ModelFile::open(GRADUS_SOURCE_DIR "/tests/data/" + path);
  EXPECT_TRUE(file.ok()) << file.status();
  return exportLosses(**file);
}

static const std::string kExport =
    "; export with torch.onnx.export(..., dynamo=True, optimize=False)";

TEST(ExportLosses, AreNoneInWholeFiles) {
  for (const auto &entry : std::filesystem::recursive_directory_iterator(
           GRADUS_SOURCE_DIR "/tests/data/models"))
    if (std::string name = entry.path().filename();
        name == "model.onnx" || name == "model_dynamo.onnx" ||
        name == "model_dynshape.onnx") {
      std::string path = std::filesystem::relative(
          entry.path(), GRADUS_SOURCE_DIR "/tests/data");
      EXPECT_EQ(lossesOf(path), Losses()) << path;
    }
  for (const char *name : {"norm_whole", "tied_whole", "two_heads"})
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
             "parameters are gone and they cannot be trained; export with "
             "torch.onnx.export(..., dynamo=False, "
             "training=torch.onnx.TrainingMode.TRAINING, "
             "do_constant_folding=False)"});
}

TEST(ExportLosses, OfTiedComputedMergedAndRenamedParameters) {
  EXPECT_EQ(
      lossesOf("exports/tied_default.onnx"),
      (Losses{
          "2 initializers hold values computed of parameters, such as "
          "looked-up positions, in place of the parameters (\"embedding_1\", "
          "\"alias\"), so training them is training something else" +
              kExport,
          "2 weights are transposed or packed copies without the model's own "
          "name (\"val_7\", \"val_11\"): trained under that name, and "
          "`trainable`, `groups` and --weights cannot say the model's" +
              kExport,
          "2 parameters serve several normalizations (\"norm1.weight\", "
          "\"norm1.bias\"): parameters of equal initial values have been "
          "merged, and would be trained as one" +
              kExport,
          "\"head.weight\" and \"val_11\" hold the same values: a tied weight "
          "has become two copies, which training moves apart" +
              kExport}));
}
