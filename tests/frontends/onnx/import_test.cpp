// Whole models: what PyTorch's exporters write gives PyTorch's logits.

#include "small_model.h"

#include "messages/message.h"
#include "tests/this_build.h"
#include "tool/check/recorded_case.h"

#include <set>

using namespace gradus;
using namespace gradus::testing;
using gradus::check::Json;
using gradus::check::RecordedCase;

//===-- recorded cases ----------------------------------------------------===//

struct CaseFile {
  std::filesystem::path folder;
  std::string file;
};

/// Those that the evaluator computes at once, without running statistics (its
/// logits are recorded in training mode).
std::vector<CaseFile> smallCaseFiles() {
  std::vector<CaseFile> files;
  for (const auto &folder :
       check::findCases(GRADUS_SOURCE_DIR "/tests/data/models"))
    if (auto recorded = RecordedCase::open(folder);
        recorded.ok() &&
        recorded->description().value("batch_norm", Json::array()).empty() &&
        recorded->description().at("parameters_total").get<int>() < 20000)
      for (const std::string &file : recorded->files())
        files.push_back({folder, file});
  return files;
}

HostTensor hostTensor(const runtime::NamedTensor &data) {
  std::vector<double> values = check::toDoubles(data);
  bool isFloat = data.type.dtype == runtime::DType::f32;
  HostTensor tensor = zeros(data.type.shape, isFloat);
  if (isFloat)
    tensor.floats.assign(values.begin(), values.end());
  else
    tensor.integers.assign(values.begin(), values.end());
  return tensor;
}

class RecordedModel : public ::testing::TestWithParam<CaseFile> {
protected:
  void SetUp() override {
    ImportOptions options;
    options.dims = recorded_.dims(GetParam().file);
    model_ = import(recorded_.pathOf(GetParam().file), options);
    ASSERT_EQ(model_.error, "");
  }

  RecordedCase recorded_ = *RecordedCase::open(GetParam().folder);
  Imported model_;
};

TEST_P(RecordedModel, GivesTheRecordedLogits) {
  std::vector<HostTensor> inputs;
  for (mlir::Attribute name : model_.predict().getInputNames()) {
    const auto &data =
        recorded_.input(mlir::cast<mlir::StringAttr>(name).str(), 0);
    inputs.push_back(hostTensor(data));
  }
  std::vector<HostTensor> outputs = evaluate(model_, inputs);
  ASSERT_EQ(outputs.size(), 1u);
  std::vector<double> logits = check::toDoubles(*recorded_.expected("logits0"));
  ASSERT_EQ(outputs[0].floats.size(), logits.size());
  for (size_t i = 0; i < logits.size(); ++i)
    ASSERT_NEAR(outputs[0].floats[i], logits[i],
                2e-6 * std::max(1.0, std::abs(logits[i])))
        << i;
}

TEST_P(RecordedModel, TrainsTheRecordedParameters) {
  // A file of the exporter's default options may have other names and buffers;
  // the MLP's has not.
  if (GetParam().file.find("default") != std::string::npos &&
      GetParam().folder.filename() != "mlp")
    GTEST_SKIP() << "the default options rename parameters";
  std::set<std::string> expected, found;
  for (const Json &parameter : recorded_.description()["parameters"])
    expected.insert(parameter["name"]);
  for (StateOp state : model_.program().getOps<StateOp>())
    if (!state.getSymName().ends_with(".inv_freq") && // buffers of rotary
        state.getSymName() != "windows.apart")        // and of windows
      found.insert(state.getSymName().str());
  EXPECT_EQ(found, expected);
}

INSTANTIATE_TEST_SUITE_P(
    Import, RecordedModel, ::testing::ValuesIn(smallCaseFiles()),
    [](const auto &info) {
      std::string name = info.param.folder.filename().string() + "_" +
                         std::filesystem::path(info.param.file).stem().string();
      std::replace_if(
          name.begin(), name.end(), [](char c) { return !std::isalnum(c); },
          '_');
      return name;
    });

//===-- inputs, states, locations -----------------------------------------===//

/// y = x W + b with a dynamic batch.
static SmallModel dense() {
  SmallModel model;
  model.input("x", {-1, 2})
      .floats("layer.weight", {2, 1}, {3, 4})
      .floats("layer.bias", {1}, {0.5});
  model.node("Gemm", {"x", "layer.weight", "layer.bias"}, {"y"}).output("y");
  return model;
}

static SmallModel fixedSizes() {
  SmallModel model;
  model.input("x", {2, 2}).node("Relu", {"x"}, {"y"}).output("y");
  return model;
}

static SmallModel namedBatch() {
  SmallModel model = dense();
  auto &shape = *model.graph()
                     .mutable_input(0)
                     ->mutable_type()
                     ->mutable_tensor_type()
                     ->mutable_shape();
  shape.mutable_dim(0)->set_dim_param("batch");
  return model;
}

TEST(Import, BindsDimensionsByName) {
  ImportOptions options;
  options.dims["batch"] = 3;
  Imported model = import(namedBatch(), options);
  ASSERT_EQ(model.error, "");
  EXPECT_EQ(
      mlir::cast<mlir::RankedTensorType>(model.predict().getArgumentTypes()[0])
          .getDimSize(0),
      3);
}

TEST(Import, BindsNamelessDimensionsByTheirPlace) {
  ImportOptions options;
  options.dims["x.0"] = 1;
  Imported model = import(dense(), options);
  EXPECT_EQ(evaluate(model, {tensor({1, 2}, {1, 10})})[0].floats,
            std::vector<double>{43.5});
}

TEST(Import, KeepsTheModelsNames) {
  ImportOptions options;
  options.dims["x.0"] = 1;
  Imported model = import(dense(), options);
  EXPECT_EQ(model.program().getSymName(), "model");
  EXPECT_EQ(model.predict().getInputName(0), "x");
  EXPECT_EQ(model.predict().getOutputName(0), "y");
  auto product = *model.predict().getBody().getOps<MatmulOp>().begin();
  EXPECT_EQ(mlir::cast<mlir::NameLoc>(product.getLoc()).getName(), "the Gemm");
}

TEST(Import, KeepsFixedWeightsOutOfTraining) {
  ImportOptions options;
  options.dims["x.0"] = 1;
  options.fixed = {"*.bias"};
  Imported model = import(dense(), options);
  EXPECT_EQ(model.program().getState("layer.weight").getRole(),
            Role::parameter);
  EXPECT_EQ(model.program().getState("layer.bias").getRole(), Role::buffer);
}

TEST(Import, GivesTheProgramItsRecipe) {
  mlir::MLIRContext context;
  mlir::Builder builder(&context);
  ImportOptions options;
  options.dims["x.0"] = 1;
  options.recipe = builder.getDictionaryAttr(
      builder.getNamedAttr("seed", builder.getI64IntegerAttr(3)));
  auto module = importOnnx(dense().write(), options, context);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*(*module)->getOps<ProgramOp>().begin()).getRecipeAttr(),
            options.recipe);
}

//===-- the project's example ---------------------------------------------===//

/// The net of `./dev demo`, as PyTorch exported it with a symbolic batch.
TEST(Import, TakesTheDigitsExample) {
  ImportOptions options;
  options.dims["batch"] = 32;
  Imported model = import(std::string(GRADUS_SOURCE_DIR) +
                              "/docs/examples/digits/lenet.onnx",
                          options);
  ASSERT_EQ(model.error, "");
  EXPECT_EQ(model.program().getSymName(), "lenet");
  EXPECT_EQ(model.predict().getInputName(0), "image");
  EXPECT_EQ(
      mlir::cast<mlir::RankedTensorType>(model.predict().getResultTypes()[0])
          .getShape(),
      llvm::ArrayRef<int64_t>({32, 10}));
  EXPECT_EQ(llvm::range_size(model.program().getOps<StateOp>()), 10);
}

//===-- weights beside the model ------------------------------------------===//

static SmallModel withExternalWeight(const std::string &location) {
  SmallModel model = dense();
  ::onnx::TensorProto &weight = *model.graph().mutable_initializer(0);
  weight.clear_float_data();
  weight.set_data_location(::onnx::TensorProto::EXTERNAL);
  auto &entry = *weight.add_external_data();
  entry.set_key("location");
  entry.set_value(location);
  return model;
}

static ImportOptions oneSample() {
  ImportOptions options;
  options.dims["x.0"] = 1;
  return options;
}

TEST(Import, ReadsWeightsFromTheFileBesideTheModel) {
  const float values[] = {5, 6};
  std::ofstream(temporaryFolder() + "beside.bin", std::ios::binary)
      .write(reinterpret_cast<const char *>(values), 8);
  Imported model = import(withExternalWeight("beside.bin"), oneSample());
  EXPECT_EQ(evaluate(model, {tensor({1, 2}, {1, 1})})[0].floats,
            std::vector<double>{11.5});
}

TEST(Import, StartsMissingWeightsByRule) {
  ImportOptions options = oneSample();
  options.initialize = "kaiming_uniform";
  Imported model = import(withExternalWeight("absent.bin"), options);
  ASSERT_EQ(model.error, "");
  StateOp weight = model.program().getState("layer.weight");
  EXPECT_EQ(weight.getInit()->getRule(), Initializer::uniform);
  EXPECT_FALSE(weight.getValue());
  EXPECT_TRUE(model.program()
                  .getState("layer.bias")
                  .getValue()); // It is there, so it stays.
}

TEST(Import, NamesTheMissingFileAndItsTensors) {
  EXPECT_EQ(import(withExternalWeight("absent.bin"), oneSample()).error,
            "its data file \"absent.bin\" is missing; it holds 1 tensor "
            "(layer.weight). Put it beside the model, or start anew with "
            "--initialize pytorch (each weight as PyTorch's layer of its kind) "
            "or another of kaiming_uniform, xavier_uniform, normal, zeros");
}

TEST(Import, NamesNoMoreThanAFewOfMany) {
  SmallModel model;
  model.input("x", {1});
  for (int i = 0; i < 9; ++i)
    model.node("Magic", {"x"}, {message("y", i)});
  EXPECT_NE(import(model.output("y0")).error.find("\"the Magic\" and 3 more"),
            std::string::npos);
}

TEST(Import, ReadsNoFileOutsideOfTheModelsFolder) {
  EXPECT_EQ(import(withExternalWeight("../secret"), oneSample()).error,
            "tensor \"layer.weight\": its data file \"../secret\" lies outside "
            "of the model's folder");
}

//===-- what is refused ---------------------------------------------------===//

struct Refusal {
  const char *name;
  std::function<SmallModel()> model;
  ImportOptions options;
  std::string words;
};

class RefusedModel : public ::testing::TestWithParam<Refusal> {};

TEST_P(RefusedModel, SaysWhy) {
  EXPECT_EQ(import(GetParam().model(), GetParam().options).error,
            GetParam().words);
}

static ImportOptions dims(std::map<std::string, int64_t> sizes) {
  ImportOptions options;
  options.dims = std::move(sizes);
  return options;
}

static ImportOptions fixing(const std::string &pattern) {
  ImportOptions options = oneSample();
  options.fixed = {pattern};
  return options;
}

static ImportOptions startingBy(const std::string &rule) {
  ImportOptions options = oneSample();
  options.initialize = rule;
  return options;
}

static SmallModel unsupportedOps() {
  SmallModel model;
  model.input("x", {1})
      .node("Relu", {"x"}, {"a"})
      .node("Magic", {"a"}, {"b"})
      .node("Magic", {"b"}, {"c"});
  model.graph().mutable_node(2)->clear_name();
  model.graph().mutable_node(2)->set_domain("com.acme");
  return model.output("c");
}

static SmallModel everythingAtOnce() {
  SmallModel model;
  model.input("x", {2, 3})
      .node("Softmax", {"x"}, {"a"})
      .with("axis", 7)
      .node("Softmax", {"x"}, {"b"})
      .with("axis", 7)
      .node("Add", {"a", "b"}, {"c"}) // only a consequence
      .node("Magic", {"c"}, {"d"});
  return model.output("d");
}

/// Three problems, each behind the other, and a node that has none of its own.
static SmallModel chainOfProblems() {
  return SmallModel()
      .input("x", {2, 3})
      .node("Magic", {"x"}, {"a"})
      .node("Relu", {"a"}, {"b"})
      .integers("pads", {4}, {0, 1, 0, 1})
      .node("Pad", {"b", "pads"}, {"c"})
      .with("mode", "magic")
      .node("Wizardry", {"c"}, {"d"})
      .output("d");
}

/// As exporters do, the file says what type a value has.
static SmallModel statedChain() {
  SmallModel model;
  model.input("x", {2, 3})
      .node("Magic", {"x"}, {"a"})
      .input("a", {2, 5})
      .floats("w", {4, 2}, std::vector<float>(8, 1))
      .node("MatMul", {"a", "w"}, {"b"})
      .output("b");
  auto *stated = model.graph().mutable_input();
  *model.graph().add_value_info() = stated->at(1);
  stated->RemoveLast();
  return model;
}

static SmallModel branchBehindAProblem() {
  SmallModel model, branch;
  branch.node("Magic", {"x"}, {"z"}).output("z");
  branch.graph().mutable_node(0)->set_name("inner");
  model.input("x", {1, 3})
      .node("Magic", {"x"}, {"condition"})
      .node("If", {"condition"}, {"y"})
      .output("y");
  auto &attribute = *model.graph().mutable_node(1)->add_attribute();
  attribute.set_name("then_branch");
  attribute.set_type(::onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = branch.graph();
  return model;
}

static SmallModel undefinedInput() {
  return SmallModel().input("x", {1}).node("Relu", {"z"}, {"y"}).output("y");
}

static SmallModel missingInput() {
  return SmallModel().input("x", {1}).node("Relu", {}, {"y"}).output("y");
}

static SmallModel undefinedOutput() {
  return SmallModel().input("x", {1}).node("Relu", {"x"}, {"y"}).output("z");
}

static SmallModel noOutput() {
  return SmallModel().input("x", {1}).node("Relu", {"x"}, {"y"});
}

static SmallModel unsupportedType() {
  return SmallModel().input("x", {1}, ::onnx::TensorProto::STRING).output("x");
}

static SmallModel shapeOfData() {
  return SmallModel()
      .input("x", {4})
      .input("shape", {2}, ::onnx::TensorProto::INT64)
      .node("Reshape", {"x", "shape"}, {"y"})
      .output("y");
}

static SmallModel maskUsed() {
  return SmallModel()
      .input("x", {1})
      .floats("ratio", {}, {0.5})
      .node("Dropout", {"x", "ratio"}, {"y", "mask"})
      .node("Relu", {"mask"}, {"z"})
      .output("z");
}

static SmallModel shortTensor() {
  return SmallModel()
      .input("x", {2})
      .floats("w", {2}, {1})
      .node("Add", {"x", "w"}, {"y"})
      .output("y");
}

static const Refusal refusals[] = {
    {"UnboundDimension",
     namedBatch,
     {},
     "has dimensions of unknown size: batch. Say, for example, --dim "
     "batch=32, or \"inputs\": {\"dims\": {\"batch\": "
     "32}} in the recipe"},
    {"UnknownDimension", namedBatch, dims({{"batch", 2}, {"seq", 3}}),
     "has no symbolic dimension \"seq\"; it has batch"},
    {"MisspelledDimension", namedBatch, dims({{"bacth", 2}}),
     "has no symbolic dimension \"bacth\"; it has batch"},
    {"FixedDimension", fixedSizes, dims({{"batch", 2}}),
     "has no symbolic dimension \"batch\"; all its sizes are fixed: leave it "
     "out of inputs.dims (--dim), or export the model with dynamic shapes"},
    {"ZeroDimension", namedBatch, dims({{"batch", 0}}),
     "--dim batch=0: expected at least 1"},
    {"UnsupportedOps",
     unsupportedOps,
     {},
     "uses what is not supported:\n"
     "  Magic (opset 20); node \"the Magic\"\n"
     "  com.acme::Magic (opset 20); node \"Magic_2\""},
    {"EverythingAtOnce",
     everythingAtOnce,
     {},
     "uses what is not supported:\n"
     "  Magic (opset 20); node \"the Magic\"\n"
     "  Softmax (opset 20): axis 7 is out of range for rank 2; nodes \"the "
     "Softmax\", \"the Softmax\""},
    {"AllOfAChain",
     chainOfProblems,
     {},
     "uses what is not supported:\n"
     "  Magic (opset 20); node \"the Magic\"\n"
     "  Pad (opset 20): mode is \"magic\", which is not supported; node \"the "
     "Pad\"\n"
     "  Wizardry (opset 20); node \"the Wizardry\""},
    {"AllOfAChainWhoseTypesAreStated",
     statedChain,
     {},
     "uses what is not supported:\n"
     "  Magic (opset 20); node \"the Magic\"\n"
     "  MatMul (opset 20): shapes [2, 5] and [4, 2] do not multiply; the "
     "file itself is invalid, whatever runs it: try the other exporter of "
     "PyTorch, dynamo=True or dynamo=False; node \"the MatMul\""},
    {"BranchesBehindAProblem",
     branchBehindAProblem,
     {},
     "uses what is not supported:\n"
     "  Magic (opset 20); nodes \"the Magic\", \"inner\""},
    {"UndefinedInput",
     undefinedInput,
     {},
     "node \"the Relu\" (Relu): nothing before it defines its input \"z\""},
    {"MissingInput",
     missingInput,
     {},
     "node \"the Relu\" (Relu): input 0 is missing"},
    {"UndefinedOutput",
     undefinedOutput,
     {},
     "nothing defines the output \"z\""},
    {"NoOutput", noOutput, {}, "has no outputs"},
    {"UnsupportedType",
     unsupportedType,
     {},
     "input \"x\" has elements of STRING, which is not supported"},
    {"ShapeOfData",
     shapeOfData,
     {},
     "node \"the Reshape\" (Reshape): its shape or axes \"shape\" depends on "
     "the model's inputs; only what is known "
     "beforehand is supported"},
    {"MaskUsed",
     maskUsed,
     {},
     "node \"the Relu\" (Relu): needs the mask of node \"the Dropout\" "
     "(Dropout), which is not supported"},
    {"ShortTensor",
     shortTensor,
     {},
     "tensor \"w\": has 4 bytes of data; its shape needs 8"},
    {"PatternWithoutParameter", dense, fixing("head.*"),
     "`fixed` of the recipe names \"head.*\", but no parameter of the model "
     "is called so; it has, nearest first: layer.bias, layer.weight"},
    {"PatternOfAnotherCase", dense, fixing("LAYER.WEIGHT"),
     "`fixed` of the recipe names \"LAYER.WEIGHT\", but no parameter of the "
     "model is called so; it has, nearest first: layer.weight, layer.bias"},
    {"UnknownRule", dense, startingBy("magic"),
     "--initialize magic: unknown rule; known: pytorch, kaiming_uniform, "
     "xavier_uniform, normal, zeros"},
};

INSTANTIATE_TEST_SUITE_P(Import, RefusedModel, ::testing::ValuesIn(refusals),
                         [](const auto &info) { return info.param.name; });

TEST(Import, RefusesWhatIsNoModel) {
  std::string path = temporaryFolder() + "noise.onnx";
  std::ofstream(path) << "certainly no protobuf";
  EXPECT_EQ(import(path).error,
            "is no ONNX model, is damaged, or has graphs more than 300 deep in "
            "one another: protobuf cannot parse it");
  EXPECT_EQ(import("/no/such/model.onnx").error,
            "cannot read this file: No such file or directory");
}

/// Any cut or flipped byte gives a model or an error, never a crash.
TEST(Import, SurvivesDamage) {
  const std::string whole = namedBatch().proto().SerializeAsString();
  std::string path = temporaryFolder() + "damaged.onnx";
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] ^= char(1 << (i % 8));
    std::ofstream(path, std::ios::binary) << damaged;
    import(path, dims({{"batch", 2}}));
    std::ofstream(path, std::ios::binary) << whole.substr(0, i);
    import(path, dims({{"batch", 2}}));
  }
}

/// What a node throws while it is computed beforehand is about it alone.
TEST(Import, BuildsOnAfterANodeThatThrows) {
  SmallModel model;
  model.input("x", {2})
      .integers("c", {1}, {5})
      .integers("pads", {2}, {0, 300000000})
      .node("Pad", {"c", "pads"}, {"p"})
      .with("mode", "edge")
      .node("Relu", {"x"}, {"y"})
      .output("y");
  EXPECT_NE(import(model).error.find("makes a constant of shape [300000001]"),
            std::string::npos)
      << import(model).error;
}

/// An op on two constants of one value, or of several.
static std::string errorOnConstants(const char *type, int inputs,
                                    const Shape &shape, bool floats,
                                    bool equal) {
  SmallModel model;
  std::vector<int64_t> values;
  for (int64_t i = 0; i < llvm::product_of(shape); ++i)
    values.push_back(equal ? 1 : i);
  model.integers("c", shape, values);
  model.node("Cast", {"c"}, {"d"})
      .with("to", int(floats ? ::onnx::TensorProto::FLOAT
                             : ::onnx::TensorProto::INT64));
  model.node(type, std::vector<std::string>(inputs, "d"), {"y"});
  if (std::string(type) == "AveragePool")
    model.with("kernel_shape", Shape{1, 1});
  if (std::string(type) == "Einsum")
    model.with("equation", "nchw,nchw->n");
  return import(model.output("y")).error;
}

/// The evaluator would take floats for integers, or integers for floats.
TEST(Import, RefusesConstantsOfTheWrongKind) {
  for (bool equal : {false, true}) {
    for (auto [type, inputs] : {std::pair("MatMul", 2),
                                {"Hardmax", 1},
                                {"LRN", 1},
                                {"MeanVarianceNormalization", 1},
                                {"Mean", 2},
                                {"Softmax", 1},
                                {"LogSoftmax", 1},
                                {"Conv", 2},
                                {"ConvTranspose", 2},
                                {"AveragePool", 1},
                                {"Einsum", 2}})
      EXPECT_NE(errorOnConstants(type, inputs, {2, 2, 2, 2}, false, equal)
                    .find("\"d\" holds no floats"),
                std::string::npos)
          << type << errorOnConstants(type, inputs, {2, 2, 2, 2}, false, equal);
    EXPECT_NE(errorOnConstants("Gemm", 3, {2, 2}, false, equal), "");
    EXPECT_NE(errorOnConstants("GlobalAveragePool", 1, {1, 2, 2}, false, equal),
              "");
    for (const char *type : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"})
      EXPECT_NE(errorOnConstants(type, 2, {2}, true, equal)
                    .find("\"d\" holds no integers"),
                std::string::npos)
          << type;
    EXPECT_NE(errorOnConstants("BitwiseNot", 1, {2}, true, equal), "");
  }
}

static std::string errorOnEmpty(const char *type, int inputs, Shape shape) {
  SmallModel model;
  model.integers("shape", {int64_t(shape.size())}, shape);
  model.input("x", {2}).node("ConstantOfShape", {"shape"}, {"c"});
  model.node(type, std::vector<std::string>(inputs, "c"), {"z"});
  model.node("Relu", {"x"}, {"y"});
  return import(model.output("y")).error;
}

/// What has no elements may be moved, but not computed with.
TEST(Import, RefusesToComputeWithNothing) {
  for (auto [type, inputs] : {std::pair("GridSample", 2),
                              {"DFT", 1},
                              {"BatchNormalization", 5},
                              {"Attention", 3},
                              {"LSTM", 3},
                              {"CenterCropPad", 2},
                              {"LRN", 1},
                              {"MaxPool", 1},
                              {"SpaceToDepth", 1},
                              {"LinearAttention", 3}})
    EXPECT_NE(errorOnEmpty(type, inputs, {0, 2, 0, 2})
                  .find("\"c\" of shape [0, 2, 0, 2] is empty, which is not "
                        "supported"),
              std::string::npos)
        << type << errorOnEmpty(type, inputs, {0, 2, 0, 2});
  EXPECT_NE(errorOnEmpty("Resize", 1, {0, 2}), "");
  EXPECT_EQ(errorOnEmpty("Concat", 3, {0, 2}), "");
  EXPECT_EQ(errorOnEmpty("Transpose", 1, {0, 2}), "");
  EXPECT_EQ(errorOnEmpty("Add", 2, {0}), "");
  EXPECT_EQ(errorOnEmpty("ReduceProd", 1, {0}), "");
}
