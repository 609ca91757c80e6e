// Running statistics in files that do not say that they are none of the
// parameters.

#include "frontends/onnx/importer/trained_statistics.h"

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

static std::string wordsOf(const SmallModel &model,
                           std::vector<std::string> fixed = {}) {
  ImportOptions options;
  options.fixed = fixed;
  Imported imported = import(model, options);
  EXPECT_EQ(imported.error, "");
  return gradus::onnx::trainedStatistics(imported.program(), imported.predict(),
                                         fixed);
}

/// (x - mean) * variance * weight + bias, as detectors freeze normalizations.
static SmallModel &addFrozen(SmallModel &model, const std::string &module,
                             const std::string &x, const std::string &y) {
  for (const char *member : {"running_mean", "running_var", "weight", "bias"})
    model.floats(module + member, {2}, {1, 2});
  return model.node("Sub", {x, module + "running_mean"}, {module + "1"})
      .node("Mul", {module + "1", module + "running_var"}, {module + "2"})
      .node("Mul", {module + "2", module + "weight"}, {module + "3"})
      .node("Add", {module + "3", module + "bias"}, {y});
}

static SmallModel frozen() {
  SmallModel model;
  model.input("x", {2}).floats("head.weight", {2}, {3, 4});
  addFrozen(model, "layer1.0.bn1.", "x", "a");
  addFrozen(model, "layer1.1.bn1.", "a", "b");
  model.node("Mul", {"b", "head.weight"}, {"y"}).output("y");
  return model;
}

TEST(TrainedStatistics, AreNamedWithTheLinesThatKeepThem) {
  EXPECT_EQ(wordsOf(frozen()),
            "4 parameters stand for the mean or variance of a normalization "
            "(\"layer1.0.bn1.running_mean\", \"layer1.0.bn1.running_var\", "
            "\"layer1.1.bn1.running_mean\", \"layer1.1.bn1.running_var\") and "
            "would be trained; to keep them: \"fixed\": [\"*running_mean\", "
            "\"*running_var\"], or with scale and bias, as those of a frozen "
            "batch normalization are: \"fixed\": [\"layer*.*.bn*.*\"]");
}

TEST(TrainedStatistics, AreKeptByTheseLines) {
  EXPECT_EQ(wordsOf(frozen(), {"*running_mean", "*running_var"}), "");
  EXPECT_EQ(wordsOf(frozen(), {"layer*.*.bn*.*"}), "");
}

TEST(TrainedStatistics, KeepWhatTheRecipeHasFixed) {
  SmallModel model = frozen();
  EXPECT_NE(wordsOf(model, {"head.*", "*_var"})
                .find("2 parameters stand for the mean or variance of a "
                      "normalization (\"layer1.0.bn1.running_mean\", "
                      "\"layer1.1.bn1.running_mean\") and would be trained; to "
                      "keep them: \"fixed\": [\"head.*\", \"*_var\", "
                      "\"*running_mean\"]"),
            std::string::npos);
}

// A pattern without numbers would name this layer, too.
TEST(TrainedStatistics, AreNamedOneByOneBesideLikeNames) {
  SmallModel model;
  model.input("x", {2}).floats("n7.weight", {2}, {3, 4});
  addFrozen(model, "n1.", "x", "a");
  addFrozen(model, "n2.", "a", "b");
  model.node("Mul", {"b", "n7.weight"}, {"y"}).output("y");
  EXPECT_NE(wordsOf(model).find("\"fixed\": [\"n1.*\", \"n2.*\"]"),
            std::string::npos);
}

/// A normalization with variances that are made of "sigma" times `factor`.
static SmallModel computed(const std::string &factor) {
  SmallModel model;
  model.input("x", {2, 2}).input("f", {2}).floats("one", {2}, {1, 1});
  model.floats("sigma", {2}, {1, 2}).floats("mean", {2}, {0, 0});
  model.node("Mul", {"sigma", factor}, {"variance"});
  model.node("BatchNormalization", {"x", "one", "one", "mean", "variance"},
             {"y"});
  return model.output("y");
}

TEST(TrainedStatistics, AreWhatANormalizationTakesForThem) {
  EXPECT_EQ(wordsOf(computed("sigma")),
            "1 parameter stands for the mean or variance of a normalization "
            "(\"sigma\") and would be trained; to keep it: \"fixed\": "
            "[\"sigma\"]");
}

TEST(TrainedStatistics, AreNoneThatInputsDetermine) {
  EXPECT_EQ(wordsOf(computed("f")), "");
}

TEST(TrainedStatistics, AreAWarningOfTraining) {
  std::string path = frozen().write();
  EXPECT_NE(notes(path, R"({loss = {type = "mse"}})")
                .find("4 parameters stand for the mean or variance"),
            std::string::npos);
  EXPECT_EQ(notes(path, "{}"), "");
}
