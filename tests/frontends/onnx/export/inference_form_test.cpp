// Outside of training nothing drops.

#include "frontends/onnx/export/inference_form.h"

#include "../written.h"
#include "tests/this_build.h"

using namespace gradus;
using namespace gradus::testing;

TEST(InferenceForm, DropoutGivesItsInput) {
  Imported model = parsed({"%x: tensor<4xf32>",
                           "%d = gradus.dropout %x ratio 0.5 : tensor<4xf32>\n"
                           "%y = math.exp %d : tensor<4xf32>",
                           "tensor<4xf32>"});
  gradus::onnx::makeInference(model.predict());
  EXPECT_TRUE(model.predict().getOps<DropoutOp>().empty());
  EXPECT_FALSE(model.predict().getOps<mlir::math::ExpOp>().empty());
}

/// The statement `%y`: a scan of so many steps, which stop a gradient.
std::string stoppingScan(int64_t steps) {
  return "%y = gradus.scan " + std::to_string(steps) +
         " carry(%x : tensor<4xf32>) body {\n^bb0(%a: tensor<4xf32>):\n"
         "%b = gradus.stop_gradient %a : tensor<4xf32>\n"
         "%c = math.exp %b : tensor<4xf32>\n"
         "gradus.yield %c : tensor<4xf32>\n} -> tensor<4xf32>";
}

TEST(InferenceForm, IsThatOfStepsToo) {
  Imported model =
      parsed({"%x: tensor<4xf32>", stoppingScan(3), "tensor<4xf32>"});
  auto written = gradus::onnx::writeProgram(model.program(), true);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->model.graph().node_size(), 3);
}

TEST(InferenceForm, HasNoEndlessFile) {
  Imported model =
      parsed({"%x: tensor<4xf32>", stoppingScan(5000), "tensor<4xf32>"});
  auto written = gradus::onnx::writeProgram(model.program(), true);
  EXPECT_EQ(written.status().message(),
            "has a loop of 5000 steps; at most 4096 can be exported, as each "
            "becomes nodes of its own");
}

/// The types of the nodes of an exported file.
std::vector<std::string> nodesOf(const std::string &file, bool forInference) {
  Imported model = import(GRADUS_SOURCE_DIR "/tests/data/exports/" + file);
  EXPECT_EQ(model.error, "");
  auto written = gradus::onnx::writeProgram(model.program(), forInference);
  EXPECT_TRUE(written.ok());
  std::vector<std::string> types;
  for (const auto &node : written->model.graph().node())
    types.push_back(node.op_type());
  return types;
}

bool draws(const std::string &file, bool forInference) {
  return llvm::is_contained(nodesOf(file, forInference), "RandomUniform");
}

TEST(InferenceForm, MasksOfKnownProbabilityAreThatProbability) {
  EXPECT_TRUE(draws("coins_whole.onnx", /*forInference=*/false));
  EXPECT_FALSE(draws("coins_whole.onnx", /*forInference=*/true));
}

TEST(InferenceForm, AlphaDropoutGivesItsInput) {
  EXPECT_TRUE(draws("alpha_whole.onnx", /*forInference=*/false));
  EXPECT_FALSE(draws("alpha_whole.onnx", /*forInference=*/true));
}

/// Returns the prediction of a file's program, or of what it is written as.
std::vector<double> predicted(const std::string &file, bool isWritten) {
  Imported model = import(GRADUS_SOURCE_DIR "/tests/data/exports/" + file);
  EXPECT_EQ(model.error, "");
  Imported again =
      isWritten ? importedAgain(model, /*forInference=*/true) : Imported();
  Imported &asked = isWritten ? again : model;
  StateMap states = statesOf(asked.program());
  states["step"] = {{}, false, {}, {0}}; // by which masks are drawn
  HostTensor image = counted({2, 3, 4, 4});
  for (double &value : image.floats)
    value = value / 96 - 0.5;
  auto outputs = evaluateGraph(asked.predict(), {image}, states);
  EXPECT_TRUE(mlir::succeeded(outputs));
  return mlir::succeeded(outputs) ? (*outputs)[0].floats
                                  : std::vector<double>();
}

TEST(InferenceForm, PredictsAsTheProgramDoes) {
  for (const char *file :
       {"coins_whole.onnx", "alpha_whole.onnx", "alpha_default.onnx"})
    EXPECT_EQ(predicted(file, /*isWritten=*/true),
              predicted(file, /*isWritten=*/false))
        << file;
}
