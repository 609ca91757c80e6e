// Compiling through gradus.h with the compiler itself: what a program gets that
// has no tool.

#include "c_entry.h"

using namespace gradus::test;

TEST_F(CEntry, MakesTheSameArtifactOfAFileAndOfItsBytes) {
  std::string whole = artifact();
  EXPECT_TRUE(told(GRADUS_ERROR).empty());
  std::string model = fileText(kModel);
  options.model = sourceOf(model, "elsewhere/lenet.onnx");
  EXPECT_TRUE(artifact() == whole);
}

TEST_F(CEntry, GivesWhatLoadsAndSaysWhatItIs) {
  load();
  EXPECT_STREQ(gradus_metadata(session, "inputs.dims"), R"({"batch":8})");
  EXPECT_STREQ(gradus_metadata(session, "artifact.classes"), "10");
  EXPECT_STREQ(gradus_metadata(session, "metrics"), R"(["accuracy"])");
  EXPECT_STREQ(gradus_metadata(session, "optimizer.type"), R"("sgd")");
  EXPECT_STREQ(gradus_metadata(session, "artifact.program"), R"("lenet")");
  int weight = gradus_find_state(session, "conv1.weight");
  EXPECT_EQ(gradus_state_role(session, weight), GRADUS_PARAMETER);
  int rate = gradus_find_state(session, "optimizer.learning_rate");
  EXPECT_EQ(gradus_state_role(session, rate), GRADUS_NUMBER);
}

TEST_F(CEntry, TrainsAtTheRateThatIsSet) {
  load();
  std::vector<float> before = stateOf("conv1.bias");
  ASSERT_EQ(gradus_set_number(session, "optimizer.learning_rate", 0),
            GRADUS_OK);
  step();
  EXPECT_EQ(stateOf("conv1.bias"), before);
  ASSERT_EQ(gradus_set_number(session, "optimizer.learning_rate", 0.1),
            GRADUS_OK);
  step();
  EXPECT_NE(stateOf("conv1.bias"), before);
}

TEST_F(CEntry, ReadsOverridesDimsAndRecipesFromFiles) {
  std::string path = GRADUS_SOURCE_DIR "/docs/examples/digits/recipe.json";
  const char *overrides[] = {"optimizer.learning_rate=0.5", nullptr};
  const char *dims[] = {"batch=4", nullptr};
  options.recipe = {path.c_str(), nullptr, 0};
  options.overrides = overrides;
  options.dims = dims;
  load();
  double rate = 0;
  ASSERT_EQ(gradus_number(session, "optimizer.learning_rate", &rate),
            GRADUS_OK);
  EXPECT_EQ(rate, 0.5);
  EXPECT_STREQ(gradus_metadata(session, "inputs.dims"), R"({"batch":4})");
}

TEST_F(CEntry, ReadsAProgramAsText) {
  std::string text = kText;
  options.model = sourceOf(text);
  options.recipe = {};
  load();
  EXPECT_EQ(stateOf("w"), (std::vector<float>{1, 2, 3}));
  text.insert(text.find("arith.mulf %w"), "nonsense ");
  options.model = sourceOf(text, "squares.mlir");
  EXPECT_TRUE(contains(refusal(), "squares.mlir: line 6:"));
  ASSERT_EQ(told(GRADUS_ERROR).size(), 1u);
  EXPECT_EQ(told(GRADUS_ERROR)[0].find("line 6:"), 0u);
}

TEST_F(CEntry, CompilesAnArtifactAgainForAnotherTarget) {
  std::string whole = artifact();
  const char *targets[] = {"emulated", nullptr};
  options.model = sourceOf(whole);
  options.recipe = {};
  options.targets = targets;
  load("emulated");
  step();
  options.dims = targets;
  EXPECT_TRUE(contains(refusal(), "is an artifact, whose recipe and weights "
                                  "are settled"));
}

TEST_F(CEntry, LeavesTheProgramOutWhereItIsAsked) {
  options.flags = GRADUS_NO_PROGRAM;
  std::string whole = artifact();
  options.model = sourceOf(whole);
  options.recipe = {};
  EXPECT_TRUE(contains(refusal(), "carries no program to compile"));
}

TEST_F(CEntry, PrintsAStage) {
  options.stop_after = "gradients";
  ASSERT_EQ(compile(), GRADUS_OK);
  EXPECT_TRUE(
      contains(gradus_compiled_ir(result), "gradus.update @conv1.bias"));
  const void *bytes = nullptr;
  size_t size = 0;
  EXPECT_EQ(gradus_compiled_artifact(result, &bytes, &size), GRADUS_INVALID);
  EXPECT_TRUE(contains(gradus_last_error(nullptr), "stopped at the stage"));
  options.stop_after = "lunch";
  EXPECT_TRUE(contains(refusal(), "lunch: unknown stage"));
}

TEST_F(CEntry, TellsWarningsAndRemarks) {
  const char *overrides[] = {"dropout=0.5", "clip.type=global_norm",
                             "clip.value=1", nullptr};
  options.overrides = overrides;
  ASSERT_EQ(compile(), GRADUS_OK) << gradus_last_error(nullptr);
  auto warnings = told(GRADUS_WARNING);
  EXPECT_TRUE(std::ranges::any_of(warnings, [](const std::string &each) {
    return contains(each, "dropout");
  }));
  EXPECT_TRUE(told(GRADUS_REMARK).empty());
  options.flags = GRADUS_REMARKS;
  ASSERT_EQ(compile(), GRADUS_OK);
  EXPECT_EQ(told(GRADUS_WARNING), warnings);
  EXPECT_FALSE(told(GRADUS_REMARK).empty());
  bool clips = false;
  for (int i = 0; i < gradus_compiled_diagnostic_count(result); ++i) {
    gradus_diagnostic each;
    ASSERT_EQ(gradus_compiled_diagnostic(result, i, &each), GRADUS_OK);
    clips |= std::string(each.pass) == "clip-gradients";
  }
  EXPECT_TRUE(clips);
}

TEST_F(CEntry, SaysWhatIsWrongOnce) {
  const char *overrides[] = {"optimizer.learning_rte=1", nullptr};
  options.overrides = overrides;
  EXPECT_TRUE(contains(refusal(), "did you mean \"learning_rate\"?"));
  EXPECT_EQ(told(GRADUS_ERROR).size(), 1u);
  options.overrides = nullptr;
  const char *targets[] = {"gpu", nullptr};
  options.targets = targets;
  EXPECT_TRUE(contains(refusal(), "gpu"));
  options.targets = nullptr;
  options.libraries = "sometimes";
  EXPECT_TRUE(contains(refusal(), "sometimes"));
  options.libraries = nullptr;
  options.recipe.size /= 2;
  EXPECT_FALSE(refusal().empty());
  EXPECT_EQ(told(GRADUS_ERROR).size(), 1u);
}

TEST_F(CEntry, RefusesBytesThatAreNoModel) {
  std::string model = fileText(kModel), text(200, 'a'), zeros(200, '\0');
  for (const std::string &bytes :
       {model.substr(0, model.size() / 2), text, zeros, std::string("G"),
        std::string("\0\0\0\0\0\0\0\0GRDS", 12)}) {
    options.model = sourceOf(bytes);
    EXPECT_EQ(refusal().find("the model: "), 0u) << refusal();
    EXPECT_FALSE(told(GRADUS_ERROR).empty());
  }
}

/// What is made of a weight must follow it, wherever the weight lies.
TEST_F(CEntry, MakesRoundedWeightsAnewAfterTheirStatesChanged) {
  const char *overrides[] = {"precision=bf16", nullptr};
  options.overrides = overrides;
  for (const char *device : {"cpu", "emulated"}) {
    const char *targets[] = {device, nullptr};
    options.targets = targets;
    load(device);
    step();
    int copies = 0;
    for (int i = 0; i < gradus_state_count(session); ++i) {
      if (gradus_state_role(session, i) != GRADUS_PARAMETER)
        continue;
      gradus_tensor tensor;
      void *data = nullptr;
      ASSERT_EQ(gradus_state(session, i, &tensor), GRADUS_OK);
      ASSERT_EQ(gradus_state_data(session, i, &data), GRADUS_OK);
      std::fill_n(static_cast<float *>(data), tensor.bytes / sizeof(float),
                  2.f);
      ASSERT_EQ(gradus_state_changed(session, i), GRADUS_OK)
          << gradus_last_error(session);
    }
    for (int i = 0; i < gradus_state_count(session); ++i) {
      if (gradus_state_role(session, i) != GRADUS_COPY)
        continue;
      ++copies;
      gradus_tensor tensor;
      ASSERT_EQ(gradus_state(session, i, &tensor), GRADUS_OK);
      std::vector<uint16_t> rounded(tensor.bytes / sizeof(uint16_t));
      ASSERT_EQ(
          gradus_read_state(session, tensor.name, rounded.data(), tensor.bytes),
          GRADUS_OK);
      EXPECT_EQ(std::ranges::count(rounded, 0x4000), // 2 in bf16
                static_cast<ptrdiff_t>(rounded.size()))
          << tensor.name << " on " << device;
      void *data = nullptr;
      EXPECT_EQ(gradus_state_data(session, i, &data), GRADUS_INVALID);
    }
    EXPECT_GT(copies, 0) << device;
    gradus_free(session);
    session = nullptr;
  }
}

/// Parameters of the model, in a file of weights.
TEST_F(CEntry, StartsFromWeightsInMemory) {
  using namespace gradus::runtime;
  load();
  std::vector<NamedTensor> tensors;
  std::deque<std::vector<float>> values;
  for (int i = 0; i < gradus_state_count(session); ++i) {
    if (gradus_state_role(session, i) != GRADUS_PARAMETER)
      continue;
    gradus_tensor tensor;
    ASSERT_EQ(gradus_state(session, i, &tensor), GRADUS_OK);
    const auto &all = values.emplace_back(tensor.bytes / sizeof(float), 0.25f);
    tensors.push_back(
        {tensor.name,
         {DType::f32, {tensor.shape, tensor.shape + tensor.rank}},
         {reinterpret_cast<const uint8_t *>(all.data()), tensor.bytes}});
  }
  auto file = safetensorsBytes(tensors);
  ASSERT_TRUE(file.ok()) << file.status().message();
  gradus_free(session);
  session = nullptr;
  options.weights = {nullptr, file->data.get(), file->size};
  load();
  std::vector<float> bias = stateOf("conv1.bias");
  EXPECT_EQ(bias, std::vector<float>(bias.size(), 0.25f));
}

TEST_F(CEntry, TakesNoCheckpointForWeights) {
  load();
  void *bytes = nullptr;
  size_t size = 0;
  ASSERT_EQ(gradus_save_checkpoint_memory(session, &bytes, &size), GRADUS_OK);
  options.weights = {nullptr, bytes, size};
  EXPECT_TRUE(contains(refusal(), "the weights: the model has no state "));
  gradus_free_bytes(bytes);
}

TEST_F(CEntry, CompilesInAChildOfForkToo) {
  ASSERT_EQ(compile(), GRADUS_OK);
  pid_t child = fork();
  if (child == 0) {
    gradus_compiled *own = nullptr;
    _exit(gradus_compile(&options, &own) == GRADUS_OK ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

/// The words with which the compiler refuses a caller of this layout.
static std::string refusalOf(const char *version, size_t changed) {
  void *library = dlopen(GRADUS_BINARY_DIR "/lib/libgradus_compiler.so",
                         RTLD_NOW | RTLD_LOCAL);
  auto *entry = reinterpret_cast<gradus_abi_compile *>(
      library ? dlsym(library, GRADUS_ABI_COMPILE) : nullptr);
  if (!entry)
    return dlerror();
  std::string words;
  gradus_abi_layout layout = {version, GRADUS_ABI_SIZES, &words,
                              [](void *context, const char *told) {
                                *static_cast<std::string *>(context) = told;
                              }};
  layout.sizes[changed] += 8;
  // The request is of an unknown layout, so nobody may read it.
  EXPECT_EQ(entry(&layout, nullptr), GRADUS_FAILED);
  return words;
}

TEST(CEntryLayout, OfAnotherBuildIsRefusedBeforeTheRequestIsRead) {
  for (size_t i = 0; i < std::size(gradus_abi_layout{}.sizes); ++i)
    EXPECT_NE(refusalOf(gradus_version(), i)
                  .find("of another build of Gradus 0.1.0, whose structs have "
                        "other sizes"),
              std::string::npos);
  EXPECT_EQ(
      refusalOf("0.0.9", 0),
      "libgradus_compiler.so is of Gradus 0.1.0, and this is Gradus 0.0.9");
}
