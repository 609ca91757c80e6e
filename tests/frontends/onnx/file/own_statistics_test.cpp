// Running statistics that an exporter merged with scales and biases of the same
// values move by themselves, on files that PyTorch wrote (tests/data/exports).

#include "frontends/onnx/file/own_statistics.h"
#include "tests/this_build.h"

#include "tests/frontends/onnx/small_model.h"

#include "llvm/ADT/StringExtras.h"

using namespace gradus;
using namespace gradus::testing;

static std::string exported(const std::string &name) {
  return GRADUS_SOURCE_DIR "/tests/data/exports/" + name + ".onnx";
}

/// "parameter norm.weight" or "buffer norm.running_var" of every state of one
/// axis, sorted.
static std::vector<std::string> vectorsOf(Imported &model) {
  EXPECT_EQ(model.error, "");
  std::vector<std::string> states;
  if (model.module)
    for (StateOp state : model.program().getOps<StateOp>())
      if (mlir::cast<mlir::RankedTensorType>(state.getType()).getRank() == 1)
        states.push_back(
            (stringifyRole(state.getRole()) + " " + state.getSymName()).str());
  llvm::sort(states);
  return states;
}

TEST(OwnStatistics, LeaveScaleAndBiasToTrainingInFilesOfTorchScript) {
  Imported model = import(exported("fresh_norm_script"));
  EXPECT_EQ(vectorsOf(model),
            (std::vector<std::string>{
                "buffer norm.running_mean", "buffer norm.running_var",
                "parameter body.bias", "parameter head.bias",
                "parameter norm.bias", "parameter norm.weight"}));
  StateMap states = statesOf(model.program());
  EXPECT_EQ(states["norm.running_mean"].floats, std::vector<double>(4, 0));
  EXPECT_EQ(states["norm.running_var"].floats, std::vector<double>(4, 1));
}

TEST(OwnStatistics, AreOneForEachNormalizationOfTorchScript) {
  Imported model = import(exported("fresh_norms_script"));
  EXPECT_EQ(vectorsOf(model),
            (std::vector<std::string>{
                "buffer norm1.running_mean", "buffer norm1.running_var",
                "buffer norm2.running_mean", "buffer norm2.running_var",
                "parameter conv.bias", "parameter norm1.bias",
                "parameter norm1.weight"}));
}

TEST(OwnStatistics, AreNamedAfterTheScaleInFilesOfTorchExport) {
  Imported model = import(exported("fresh_norms_default"));
  EXPECT_EQ(vectorsOf(model),
            (std::vector<std::string>{
                "buffer norm1.running_mean", "buffer norm1.running_mean_2",
                "buffer norm1.running_var", "buffer norm1.running_var_2",
                "parameter conv.bias", "parameter norm1.bias",
                "parameter norm1.weight"}));
}

TEST(OwnStatistics, LeaveConstantScalesAlone) {
  Imported model = import(exported("plain_norms_default"));
  EXPECT_EQ(vectorsOf(model),
            (std::vector<std::string>{
                "buffer norm1.running_mean", "buffer norm1.running_mean_2",
                "buffer norm1.running_var", "buffer norm1.running_var_2",
                "parameter conv.bias"}));
}

static SmallModel twoNorms(const char *scale, const char *mean) {
  SmallModel model;
  model.input("x", {2, 1});
  for (const char *name : {"a", "b", "c", "m", "v", "w"})
    model.floats(name, {1}, {1});
  model.node("BatchNormalization", {"x", "a", "b", "m", "v"}, {"y"})
      .node("BatchNormalization", {"y", scale, "b", mean, "v"}, {"z"})
      .output("z");
  return model;
}

static std::string meanOfSecond(SmallModel model) {
  gradus::onnx::giveOwnStatistics(model.graph());
  return model.graph().node(1).input(3);
}

TEST(OwnStatistics, StaySharedWhereOneNormalizationRunsTwice) {
  EXPECT_EQ(meanOfSecond(twoNorms("a", "m")), "m");
  EXPECT_EQ(meanOfSecond(twoNorms("c", "w")), "w");
  EXPECT_EQ(meanOfSecond(twoNorms("c", "m")), "c.running_mean");
}

/// torch.export hands the first run's statistics on as `getitem_3`.
TEST(OwnStatistics, StaySharedBehindCopiesForTheNextRun) {
  SmallModel model;
  model.input("x", {2, 1}).output("z");
  for (const char *name :
       {"n.weight", "n.bias", "n.running_mean", "n.running_var"})
    model.floats(name, {1}, {1});
  model
      .node("BatchNormalization",
            {"x", "n.weight", "n.bias", "n.running_mean", "n.running_var"},
            {"y"})
      .node("Identity", {"n.running_mean"}, {"getitem_3"})
      .node("Identity", {"n.running_var"}, {"getitem_4"})
      .node("BatchNormalization",
            {"y", "n.weight", "n.bias", "getitem_3", "getitem_4"}, {"z"});
  Imported imported = import(model);
  EXPECT_EQ(
      vectorsOf(imported),
      (std::vector<std::string>{"buffer n.running_mean", "buffer n.running_var",
                                "parameter n.bias", "parameter n.weight"}));
}

TEST(OwnStatistics, FollowChainsOfIdentity) {
  SmallModel model;
  model.input("x", {2, 1}).floats("n.weight", {1}, {1}).floats("b", {1}, {0});
  model.node("Identity", {"n.weight"}, {"i"})
      .node("Identity", {"i"}, {"n.running_var"})
      .node("BatchNormalization", {"x", "n.weight", "b", "b", "n.running_var"},
            {"y"})
      .output("y");
  gradus::onnx::giveOwnStatistics(model.graph());
  EXPECT_EQ(model.graph().node_size(), 2);
  Imported imported = import(model);
  EXPECT_EQ(
      vectorsOf(imported),
      (std::vector<std::string>{"buffer n.running_mean", "buffer n.running_var",
                                "parameter b", "parameter n.weight"}));
}

TEST(OwnStatistics, EndAtARingOfIdentity) {
  SmallModel model = twoNorms("a", "p");
  model.node("Identity", {"q"}, {"p"}).node("Identity", {"p"}, {"q"});
  EXPECT_EQ(meanOfSecond(model).empty(), false);
}
