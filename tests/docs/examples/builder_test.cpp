// The builder's examples are the models that they say they are: they have the
// parameters of the exported files, and LeNet-5 trains as its file does.

#include "docs/examples/builder/models.h"

#include "frontends/onnx/import.h"
#include "frontends/recipe/recipe.h"
#include "tests/end_to_end/compiled.h"

#include <fstream>

using namespace gradus;
using namespace gradus::examples;

namespace {

/// Name -> shape; with sizes in order, since some layers keep their weights
/// transposed.
using Parameters = std::map<std::string, Shape>;

Parameters parametersOf(mlir::ModuleOp module, llvm::StringRef prefix = "") {
  Parameters result;
  for (StateOp state :
       (*module.getOps<ProgramOp>().begin()).getOps<StateOp>()) {
    if (state.getRole() != Role::parameter)
      continue;
    llvm::StringRef name = state.getSymName();
    name.consume_front(prefix);
    auto sizes = mlir::cast<mlir::RankedTensorType>(state.getType()).getShape();
    Shape shape(sizes.begin(), sizes.end());
    std::sort(shape.begin(), shape.end());
    result[name.str()] = shape;
  }
  return result;
}

std::string textOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

class BuilderExamples : public ::testing::Test {
protected:
  template <typename Options>
  mlir::OwningOpRef<mlir::ModuleOp>
  built(void model(ProgramBuilder &, const Options &), const Options &options,
        mlir::DictionaryAttr recipe = {}) {
    ProgramBuilder net(context_, "net");
    model(net, options);
    auto module = net.finish(recipe);
    EXPECT_TRUE(module.ok()) << module.status();
    return *std::move(module);
  }

  mlir::OwningOpRef<mlir::ModuleOp> imported(const std::string &file,
                                             const ImportOptions &options) {
    auto module = importOnnx(GRADUS_SOURCE_DIR "/" + file, options, context_);
    EXPECT_TRUE(module.ok()) << module.status();
    return *std::move(module);
  }

  /// Of a full-size export, whose weights are not there.
  Parameters recorded(const std::string &name, llvm::StringRef prefix = "") {
    ImportOptions options;
    options.initialize = "zeros";
    auto module =
        imported("tests/data/models/" + name + "/model.onnx", options);
    return parametersOf(*module, prefix);
  }

  mlir::MLIRContext context_{registry(),
                             mlir::MLIRContext::Threading::DISABLED};

private:
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }
};

TEST_F(BuilderExamples, ResNet18HasTheParametersOfTheExport) {
  auto module = built(resnet18, {2, 32, 10, 64});
  EXPECT_EQ(parametersOf(*module), recorded("resnet18-cifar"));
}

TEST_F(BuilderExamples, ResNet50HasTheParametersOfTheExport) {
  auto module = built(resnet50, {2, 224, 1000, 64});
  EXPECT_EQ(parametersOf(*module), recorded("resnet50-224"));
}

TEST_F(BuilderExamples, BertHasTheParametersOfTheExport) {
  auto module = built(bert, {2, 16, 30522, 512, 768, 12, 12});
  EXPECT_EQ(parametersOf(*module), recorded("bert-base", "model."));
}

TEST_F(BuilderExamples, Gpt2HasTheParametersOfTheExport) {
  auto module = built(gpt2, {2, 16, 50257, 1024, 768, 12, 12});
  EXPECT_EQ(parametersOf(*module), recorded("gpt2-124M", "model."));
}

TEST_F(BuilderExamples, LeNetTrainsAsItsFile) {
  std::ifstream file(GRADUS_SOURCE_DIR "/docs/examples/digits/recipe.json");
  std::string text(std::istreambuf_iterator<char>(file), {});
  auto recipe = recipe::read(text, "recipe.json");
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  ImportOptions options;
  options.dims = recipe->dims;
  options.recipe = recipe::toAttribute(*recipe, context_);
  auto module = imported("docs/examples/digits/lenet.onnx", options);
  auto image = mlir::RankedTensorType::get({recipe->dims["batch"], 1, 28, 28},
                                           mlir::Float32Type::get(&context_));
  auto label = mlir::RankedTensorType::get(
      {image.getDimSize(0)}, mlir::IntegerType::get(&context_, 64));
  Compiled fromFile(textOf(*module)),
      fromBuilder(textOf(
          *built(lenet5, {image.getDimSize(0), 28, 10, 0}, options.recipe)));
  for (const auto &[name, value] : fromFile.states())
    fromBuilder.setState(name, value);
  for (int step = 0; step < 3; ++step) {
    NamedTensors inputs = {{"image", randomTensor(image, 2 * step)},
                           {"label", randomTensor(label, 2 * step + 1, 10)}};
    double loss = fromFile.run("train", inputs)["loss"].floats[0];
    EXPECT_EQ(fromBuilder.run("train", inputs)["loss"].floats[0], loss);
  }
}

} // namespace
