// The builder's examples are the models that they say they are: they have the
// parameters of the exported files, LeNet-5 trains as its file does, and small
// ones train as PyTorch recorded it.

#include "docs/examples/builder/models.h"
#include "tests/this_build.h"

#include "frontends/onnx/import.h"
#include "frontends/recipe/recipe.h"
#include "tests/end_to_end/compiled.h"
#include "tests/tool/check/roundings.h"
#include "tool/check/recorded_case.h"

#include "llvm/Support/Regex.h"

#include <gmock/gmock.h>

#include <fstream>
#include <random>
#include <set>

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
  auto module = built(resnet18, {2, 32, 10});
  EXPECT_EQ(parametersOf(*module), recorded("resnet18-cifar"));
}

TEST_F(BuilderExamples, ResNet50HasTheParametersOfTheExport) {
  auto module =
      built(resnet50, {2, 224, 1000, {64, 128, 256, 512}, kLargeStem});
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
          *built(lenet5, {image.getDimSize(0), 28, 10}, options.recipe)));
  for (const auto &[name, value] : fromFile.states())
    fromBuilder.setState(name, value);
  for (int step = 0; step < 3; ++step) {
    NamedTensors inputs = {{"image", randomTensor(image, 2 * step)},
                           {"label", randomTensor(label, 2 * step + 1, 10)}};
    double loss = fromFile.run("train", inputs)["loss"].floats[0];
    EXPECT_EQ(fromBuilder.run("train", inputs)["loss"].floats[0], loss);
  }
}

//===-- recorded training -------------------------------------------------===//

using check::Json;
using check::RecordedCase;

constexpr int kSteps = 5;

/// An example, and how its names follow from the recorded ones.
struct Small {
  std::string name; // of the case
  std::function<void(ProgramBuilder &)> model;
  std::map<std::string, std::string> renamed = {};
  std::string transposed = "^$"; // parameters that the file has so
};

/// What a failure prints.
std::ostream &operator<<(std::ostream &stream, const Small &small) {
  return stream << small.name;
}

HostTensor transpose(const HostTensor &tensor) {
  int64_t rows = tensor.shape[0], columns = tensor.shape[1];
  HostTensor result = zeros({columns, rows});
  for (int64_t i = 0; i < rows * columns; ++i)
    result.floats[i % columns * rows + i / columns] = tensor.floats[i];
  return result;
}

HostTensor hostTensor(const runtime::NamedTensor &tensor) {
  HostTensor result =
      zeros(tensor.type.shape, tensor.type.dtype == runtime::DType::f32);
  std::vector<double> values = check::toDoubles(tensor);
  if (result.isFloat)
    result.floats = values;
  else
    result.integers.assign(values.begin(), values.end());
  return result;
}

class RecordedExamples : public BuilderExamples,
                         public ::testing::WithParamInterface<Small> {
protected:
  /// "model.bert.pooler.weight" is "bert.pooler.weight" here.
  std::string nameOf(llvm::StringRef recorded) const {
    recorded.consume_front("model.");
    for (const auto &[theirs, ours] : GetParam().renamed)
      if (recorded.consume_front(theirs + "."))
        return ours + "." + recorded.str();
    return recorded.str();
  }

  /// The example with a run's loss and optimizer, and the file's weights.
  std::unique_ptr<Compiled> trained(const RecordedCase &recorded,
                                    const Json &run) {
    Json recipe = Json::parse(recorded.recipe("model.onnx", run));
    recipe.erase("trainable"); // says the file's names
    recipe["loss"].erase("output");
    auto read = recipe::read(recipe.dump(), "recipe");
    EXPECT_TRUE(read.ok()) << read.status();
    ProgramBuilder net(context_, "net");
    GetParam().model(net);
    auto module = net.finish(recipe::toAttribute(*read, context_));
    EXPECT_TRUE(module.ok()) << module.status();
    auto result = std::make_unique<Compiled>(textOf(**module));
    setWeights(*result);
    return result;
  }

  /// Every parameter of the example is one of the file.
  void setWeights(Compiled &compiled) {
    auto file = imported("tests/data/models/" + GetParam().name + "/model.onnx",
                         ImportOptions());
    llvm::Regex transposed(GetParam().transposed);
    std::set<std::string> set;
    for (StateOp state :
         (*file->getOps<ProgramOp>().begin()).getOps<StateOp>()) {
      std::string name = nameOf(state.getSymName());
      if (state.getRole() != Role::parameter)
        continue;
      auto value = toHost(state.getValueAttr());
      ASSERT_TRUE(succeeded(value)) << name;
      set.insert(name);
      compiled.setState(name,
                        transposed.match(name) ? transpose(*value) : *value);
    }
    EXPECT_EQ(set, parameters());
  }

  std::set<std::string> parameters() {
    ProgramBuilder net(context_, "net");
    GetParam().model(net);
    auto module = net.finish();
    std::set<std::string> names;
    for (const auto &[name, shape] : parametersOf(**module))
      names.insert(name);
    return names;
  }

  /// Losses of the first steps from a program's first states, each parameter
  /// moved by up to two units in its last place, unless the seed is 0.
  std::vector<double> losses(Compiled &compiled, const NamedTensors &first,
                             const RecordedCase &recorded, const Json &run,
                             uint32_t seed) {
    std::mt19937 random(seed);
    std::set<std::string> moving =
        seed ? parameters() : std::set<std::string>();
    for (const auto &[name, value] : first)
      compiled.setState(name,
                        moving.contains(name) ? moved(value, random) : value);
    std::vector<double> losses;
    for (int step = 0; step < kSteps; ++step) {
      NamedTensors outputs = compiled.run(
          "train", inputs(recorded, run.at("batch_order").at(step)));
      losses.push_back(outputs["loss"].floats[0]);
    }
    return losses;
  }

  static HostTensor moved(HostTensor value, std::mt19937 &random) {
    for (auto &element : value.floats)
      element *= 1 + (int(random() % 5) - 2) * 0x1p-23;
    return value;
  }

  NamedTensors inputs(const RecordedCase &recorded, int batch) const {
    NamedTensors result = {
        {"label", hostTensor(recorded.input("label", batch))}};
    for (const Json &input : recorded.description().at("inputs")) {
      std::string name = input.at("name");
      auto ours = GetParam().renamed.find(name);
      result[ours == GetParam().renamed.end() ? name : ours->second] =
          hostTensor(recorded.input(name, batch));
    }
    return result;
  }
};

TEST_P(RecordedExamples, TrainAsInPyTorch) {
  auto recorded = RecordedCase::open(GRADUS_SOURCE_DIR "/tests/data/models/" +
                                     GetParam().name);
  ASSERT_TRUE(recorded.ok()) << recorded.status();
  bool hangs = false; // in one of the runs, of which the others still count
  for (const Json &run : recorded->description().at("runs")) {
    SCOPED_TRACE(run.at("id").get<std::string>());
    auto compiled = trained(*recorded, run);
    NamedTensors first = compiled->states();
    auto lossesOf = [&](uint32_t seed) {
      return losses(*compiled, first, *recorded, run, seed);
    };
    std::vector<double> found = lossesOf(0);
    bool same = true;
    for (int step = 0; step < kSteps; ++step) {
      double loss = run.at("losses").at(step);
      double tolerance = run.at("loss_rtol").at(step).get<double>();
      same &= std::abs(found[step] - loss) <= tolerance * std::abs(loss);
    }
    if (!same && check::hangsOnRoundings(run, kSteps, lossesOf)) {
      hangs = true;
      continue;
    }
    EXPECT_TRUE(same) << ::testing::PrintToString(found) << ", expected "
                      << run.at("losses").dump();
  }
  if (hangs)
    GTEST_SKIP() << check::kHangsOnRoundings;
}

template <typename Options>
std::function<void(ProgramBuilder &)>
with(void model(ProgramBuilder &, const Options &), const Options &options) {
  return [=](ProgramBuilder &net) { model(net, options); };
}

const Small kSmall[] = {
    {"lenet5",
     with(lenet5, {.batch = 16, .size = 28, .classes = 10, .smooth = true}),
     {{"input", "image"},
      {"0", "conv1"},
      {"3", "conv2"},
      {"7", "fc1"},
      {"9", "fc2"},
      {"11", "fc3"}}},
    {"resnet18-small",
     with(resnet18, {8, 32, 10, {8, 12, 20, 40}, {3, 1, true}})},
    {"resnet50-small",
     with(resnet50, {8, 32, 10, {8, 12, 16, 20}, {3, 1, true}})},
    {"bert-tiny", with(bert, {4, 24, 128, 32, 48, 2, 4, 96})},
    {"gpt2-tiny",
     with(gpt2, {4, 24, 128, 32, 48, 2, 4}),
     {},
     "\\.c_[a-z]+\\.weight$"},
};

INSTANTIATE_TEST_SUITE_P(Small, RecordedExamples, ::testing::ValuesIn(kSmall),
                         [](const auto &info) {
                           std::string name = info.param.name;
                           llvm::erase(name, '-');
                           return name;
                         });

} // namespace
