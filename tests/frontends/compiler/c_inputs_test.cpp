// Tests what programs give to the C API besides files of the host (a basis in
// memory, and inputs in the memory of the device), and the file that it writes.

#include "c_entry.h"

#include <csignal>
#include <sys/resource.h>

using namespace gradus::test;

namespace {

/// The text with a basis of one direction.
struct CEntryBasis : CEntry {
  void SetUp() override {
    using namespace gradus::runtime;
    CEntry::SetUp();
    auto made = safetensorsBytes(
        {{"w",
          {DType::f32, {1, 3}},
          {reinterpret_cast<const uint8_t *>(direction), sizeof(direction)}}});
    ASSERT_TRUE(made.ok()) << made.status();
    file.assign(reinterpret_cast<const char *>(made->data.get()), made->size);
    path = testing::TempDir() + "c_entry_basis." + std::to_string(getpid());
    std::ofstream(path, std::ios::binary) << file;
    text = kText;
    options.model = sourceOf(text);
    name(path);
  }
  void TearDown() override {
    unlink(path.c_str());
    CEntry::TearDown();
  }
  void name(const std::string &basis) {
    recipe = R"({"optimizer": {"type": "sgd", "learning_rate": 0.1},
                 "dim_reduce": {"basis": ")" +
             basis + R"("}})";
    options.recipe = sourceOf(recipe);
  }

  const float direction[3] = {0.6f, 0, 0.8f};
  std::string file, path, text;
};

} // namespace

TEST_F(CEntryBasis, IsReadFromTheFileOfTheRecipe) {
  load();
  EXPECT_EQ(stateOf("dim_reduce/basis/w"),
            std::vector<float>(direction, direction + 3));
  int basis = gradus_find_state(session, "dim_reduce/basis/w");
  EXPECT_EQ(gradus_state_role(session, basis), GRADUS_FIXED);
  step();
  name("nowhere.safetensors");
  EXPECT_EQ(refusal(), "recipe: dim_reduce.basis nowhere.safetensors: "
                       "nowhere.safetensors: cannot open: No such file or "
                       "directory");
}

TEST_F(CEntryBasis, MayBeGivenInPlaceOfTheFile) {
  std::string whole = artifact();
  name("elsewhere");
  options.basis = {path.c_str(), nullptr, 0};
  std::string ofPath = artifact();
  unlink(path.c_str());
  options.basis = sourceOf(file);
  EXPECT_TRUE(artifact() == ofPath);
  EXPECT_EQ(ofPath.size() > file.size(), true);
  file.back() ^= 0x40; // of the last number
  EXPECT_TRUE(contains(refusal(), "its rows are not orthonormal"));
  EXPECT_EQ(told(GRADUS_ERROR).size(), 1u);
  file.resize(file.size() / 2);
  options.basis = sourceOf(file);
  std::string words = refusal();
  EXPECT_EQ(words.find("basis: its bytes: "), 0u) << words;
  EXPECT_FALSE(contains(words, "elsewhere"));
}

TEST_F(CEntryBasis, IsNamedAsItIsGiven) {
  name("elsewhere");
  options.basis = {"nowhere.safetensors", nullptr, 0};
  EXPECT_EQ(refusal(), "basis nowhere.safetensors: nowhere.safetensors: cannot "
                       "open: No such file or directory");
  file.back() ^= 0x40;
  options.basis = sourceOf(file);
  options.basis.path = "made.safetensors";
  std::string words = refusal();
  EXPECT_EQ(words.find("basis made.safetensors: its rows are not orthonormal"),
            0u)
      << words;
  file.back() ^= 0x40;
  EXPECT_EQ(compile(), GRADUS_OK) << gradus_last_error(nullptr);
  options.basis = {};
  EXPECT_EQ(refusal().find("recipe: dim_reduce.basis elsewhere: elsewhere: "),
            0u);
}

TEST_F(CEntryBasis, OfAnArtifactIsSettled) {
  std::string whole = artifact();
  options.model = sourceOf(whole);
  options.recipe = {};
  EXPECT_EQ(compile(), GRADUS_OK) << gradus_last_error(nullptr);
  options.basis = sourceOf(file);
  EXPECT_EQ(refusal(), "basis: the model is an artifact, whose recipe and "
                       "weights are settled; compile from the model");
  options.basis = {};
  options.recipe = sourceOf(recipe);
  EXPECT_EQ(refusal(), "the recipe: the model is an artifact, whose recipe and "
                       "weights are settled; compile from the model");
}

TEST_F(CEntryBasis, OfAProgramsTextIsItsOwnWithItsRecipe) {
  options.stop_after = "model";
  ASSERT_EQ(compile(), GRADUS_OK) << gradus_last_error(nullptr);
  std::string printed = gradus_compiled_ir(result);
  options.stop_after = nullptr;
  options.model = sourceOf(printed);
  options.recipe = {};
  EXPECT_EQ(compile(), GRADUS_OK) << gradus_last_error(nullptr);
  options.basis = sourceOf(file);
  EXPECT_EQ(refusal(), "basis: the model has a basis already, as "
                       "dim_reduce/basis/w, and no other recipe is given");
}

// Each compilation has the basis that it is given, whatever another one had.
TEST_F(CEntryBasis, IsOfOneCompilationAlone) {
  std::string first = artifact(), good = file;
  const float other[3] = {0, 1, 0};
  std::string second = good;
  std::memcpy(second.data() + second.size() - sizeof(other), other,
              sizeof(other));
  options.basis = sourceOf(second);
  std::string ofOther = artifact();
  EXPECT_FALSE(ofOther == first);
  std::string broken = good.substr(0, good.size() - 4);
  options.basis = sourceOf(broken);
  refusal();
  options.basis = {};
  EXPECT_TRUE(artifact() == first);
  unlink(path.c_str());
  EXPECT_TRUE(contains(refusal(), "cannot open"));
  options.basis = sourceOf(second);
  EXPECT_TRUE(artifact() == ofOther);
}

// A pipe would wait for its writer, and a device need not end: neither is
// compiled from.
TEST_F(CEntry, CompilesFromFilesAlone) {
  std::string pipe =
      testing::TempDir() + "c_entry_pipe." + std::to_string(getpid());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string &path :
       {pipe, std::string("/dev/zero"), std::string("/tmp")}) {
    std::string words = path + ": is not a file";
    options.recipe = {path.c_str(), nullptr, 0};
    EXPECT_EQ(refusal(), words);
    options.recipe = sourceOf(recipe);
    options.model.path = path.c_str();
    EXPECT_EQ(refusal(), words);
    options.model.path = kModel;
    options.weights = {path.c_str(), nullptr, 0};
    EXPECT_EQ(refusal(), words);
    options.weights = {};
    std::string tuning = "tuning=" + path;
    const char *extra[] = {tuning.c_str(), nullptr};
    options.extra = extra;
    EXPECT_EQ(refusal(), words);
    options.extra = kNoCache;
  }
  unlink(pipe.c_str());
}

TEST_F(CEntryBasis, IsRefusedWhereTheRecipeNamesNone) {
  options.basis = sourceOf(file);
  options.recipe = {};
  EXPECT_TRUE(contains(refusal(), "gradus_compile_options: basis: it is given, "
                                  "but the recipe's dim_reduce.basis names no "
                                  "file"));
  EXPECT_EQ(told(GRADUS_ERROR).size(), 1u);
  options.basis.size = 0;
  EXPECT_TRUE(contains(refusal(), "basis: it has no bytes"));
}

namespace {

using CInputs = CEntry;

} // namespace

/// Inputs that lie where the step runs.
TEST_F(CInputs, ReadsInputsInTheMemoryOfTheDevice) {
  std::string text = kText;
  const char *targets[] = {"emulated", "cpu", nullptr};
  options.model = sourceOf(text);
  options.recipe = {};
  options.targets = targets;
  load("emulated");
  void *library = dlopen(GRADUS_BINARY_DIR "/lib/libgradus_emulated.so",
                         RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(library) << dlerror();
  auto *memory = reinterpret_cast<void *(*)(const void *, size_t)>(
      dlsym(library, "gradus_emulated_memory"));
  ASSERT_TRUE(memory) << dlerror();
  int train = gradus_find_graph(session, "train");
  const float ones[3] = {1, 1, 1}, twos[3] = {2, 2, 2};
  ASSERT_EQ(gradus_set_number(session, "optimizer.learning_rate", 0),
            GRADUS_OK);
  const void *inputs[] = {memory(ones, sizeof(ones)), ones,
                          memory(twos, sizeof(twos))};
  const unsigned char onDevice[] = {1, 0, 1};
  float losses[3] = {};
  void *outputs[] = {&losses[0], &losses[1], &losses[2]};
  gradus_step_options how = gradus_default_step_options();
  EXPECT_EQ(how.size, sizeof(how));
  how.on_device = onDevice;
  int64_t done = 0;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(
        gradus_steps_with(session, train, 3, inputs, outputs, &done, &how),
        GRADUS_OK)
        << gradus_last_error(session);
    EXPECT_EQ(done, 3);
    EXPECT_EQ(losses[0], 14);
    EXPECT_EQ(losses[1], 14);
    EXPECT_EQ(losses[2], 28);
  }
  // What is bound is the host's, whatever is said of what is not given.
  ASSERT_EQ(gradus_bind_input(session, train, "coefficient", twos), GRADUS_OK);
  ASSERT_EQ(gradus_steps_with(session, train, 1, nullptr, outputs, &done, &how),
            GRADUS_OK)
      << gradus_last_error(session);
  EXPECT_EQ(losses[0], 28);
  gradus_step_options small = how;
  small.size = 8;
  EXPECT_EQ(
      gradus_steps_with(session, train, 1, inputs, outputs, &done, &small),
      GRADUS_INVALID);
  gradus_free(session);
  session = nullptr;
  load("cpu");
  EXPECT_EQ(gradus_steps_with(session, train, 1, inputs, outputs, &done, &how),
            GRADUS_INVALID);
  EXPECT_EQ(done, 0);
  EXPECT_TRUE(contains(gradus_last_error(session),
                       "an input is said to be in the memory of a GPU, and "
                       "this session runs on "));
}

/// A pointer of the host's is none of the device's: the driver says so.
TEST_F(CInputs, FailsWhereAnInputIsNotInTheMemoryOfTheDevice) {
  std::string text = kText;
  const char *targets[] = {"emulated", nullptr};
  options.model = sourceOf(text);
  options.recipe = {};
  options.targets = targets;
  load("emulated");
  const float ones[3] = {1, 1, 1};
  const void *inputs[] = {ones};
  const unsigned char onDevice[] = {1};
  gradus_step_options how = gradus_default_step_options();
  how.on_device = onDevice;
  EXPECT_EQ(gradus_steps_with(session, gradus_find_graph(session, "train"), 1,
                              inputs, nullptr, nullptr, &how),
            GRADUS_FAILED);
  EXPECT_TRUE(contains(gradus_last_error(session), "reading inputs on "))
      << gradus_last_error(session);
}

TEST_F(CEntry, DataFilesBelongToTheBytesOfAModel) {
  std::string without = artifact(), model = fileText(kModel);
  const float values[] = {1, 2};
  gradus_source file = {"w", values, sizeof(values)};
  auto refusal = [&](const gradus_source *files) {
    gradus_compiled_free(result);
    EXPECT_EQ(gradus_compile_with(&options, files, 1, nullptr, &result),
              GRADUS_INVALID);
    return std::string(gradus_last_error(nullptr));
  };
  EXPECT_TRUE(contains(refusal(&file), "data files are given, and the model's "
                                       "bytes are not"));
  options.model = sourceOf(model, kModel);
  EXPECT_TRUE(contains(refusal(nullptr), "the data files are NULL"));
  file.path = nullptr;
  EXPECT_TRUE(contains(refusal(&file), "data file 0 has no path, the model's "
                                       "name for it"));
  file = {"w", nullptr, sizeof(values)};
  EXPECT_TRUE(contains(refusal(&file), "data file 0 has no bytes"));
  file.bytes = values;
  EXPECT_TRUE(contains(refusal(&file), "names no data file \"w\", which is "
                                       "given"));
  EXPECT_EQ(told(GRADUS_ERROR).size(), 1u);
  options.model = sourceOf(without);
  EXPECT_TRUE(contains(refusal(&file), "the model is an artifact: only ONNX "
                                       "has data files"));
  std::string text = kText;
  options.model = sourceOf(text);
  EXPECT_TRUE(contains(refusal(&file), "the model is a program's text: only "
                                       "ONNX has data files"));
}

namespace {

/// Fields of a message of protobuf; a text's size takes two bytes.
std::string field(int number, const std::string &text) {
  std::string head = {static_cast<char>(number << 3 | 2),
                      static_cast<char>((text.size() & 0x7f) | 0x80),
                      static_cast<char>(text.size() >> 7)};
  return head + text;
}
std::string field(int number, char value) {
  return {static_cast<char>(number << 3), value};
}

/// A tensor of floats of that many rows and two columns.
std::string valueOf(const char *name, char rows) {
  std::string shape = field(1, field(1, rows)) + field(1, field(1, '\2'));
  return field(1, std::string(name)) +
         field(2, field(1, field(1, '\1') + field(2, shape)));
}

/// y = x * w in ONNX, where w is in the file "w.data".
std::string modelWithData() {
  std::string location =
      field(1, std::string("location")) + field(2, std::string("w.data"));
  std::string w = field(1, '\2') + field(1, '\2') + field(2, '\1') +
                  field(8, std::string("w")) + field(13, location) +
                  field(14, '\1');
  std::string node = field(1, std::string("x")) + field(1, std::string("w")) +
                     field(2, std::string("y")) +
                     field(4, std::string("MatMul"));
  std::string graph = field(1, node) + field(2, std::string("product")) +
                      field(5, w) + field(11, valueOf("x", 4)) +
                      field(12, valueOf("y", 4));
  return field(1, '\10') + field(7, graph) + field(8, field(2, '\21'));
}

} // namespace

TEST_F(CEntry, ReadsADataFileInMemory) {
  std::string model = modelWithData();
  options.model = sourceOf(model);
  recipe = R"({"loss": {"type": "softmax_cross_entropy", "output": "y"},
               "optimizer": {"type": "sgd", "learning_rate": 0.1}})";
  options.recipe = sourceOf(recipe);
  std::vector<float> w = {1, 2, 3, 4};
  const gradus_source files[] = {{"w.data", w.data(), 4 * sizeof(float)},
                                 {"w.data", w.data(), 4 * sizeof(float)}};
  ASSERT_EQ(gradus_compile_with(&options, files, 1, nullptr, &result),
            GRADUS_OK)
      << gradus_last_error(nullptr);
  const void *bytes = nullptr;
  size_t size = 0;
  ASSERT_EQ(gradus_compiled_artifact(result, &bytes, &size), GRADUS_OK);
  ASSERT_EQ(gradus_load_memory(bytes, size, nullptr, &session), GRADUS_OK);
  EXPECT_EQ(stateOf("w"), w);
  EXPECT_FALSE(refusal().empty()); // Without its file the model has no values.
  gradus_compiled_free(result);
  EXPECT_EQ(gradus_compile_with(&options, files, 2, nullptr, &result),
            GRADUS_INVALID);
  EXPECT_STREQ(gradus_last_error(nullptr),
               "gradus_compile_with: data file 1, \"w.data\", is given twice");
  EXPECT_EQ(result, nullptr);
}

namespace {

/// The artifact goes to a file, at whose path there is something else before.
struct CEntryFile : CEntry {
  void TearDown() override {
    unlink(path.c_str());
    CEntry::TearDown();
  }
  gradus_status write(const std::string &to) {
    gradus_compiled_free(result);
    return gradus_compile_with(&options, nullptr, 0, to.c_str(), &result);
  }
  void put(const std::string &text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  /// Reads what is at the path, and expects no partly written file beside it.
  std::string there() {
    EXPECT_NE(access((path + ".gradus-partial").c_str(), F_OK), 0);
    return fileText(path.c_str());
  }
  std::string whyNoBytes() {
    const void *bytes = this;
    size_t size = 1;
    EXPECT_EQ(gradus_compiled_artifact(result, &bytes, &size), GRADUS_INVALID);
    EXPECT_EQ(bytes, nullptr);
    EXPECT_EQ(size, 0u);
    return gradus_last_error(nullptr);
  }
  /// The failure is a diagnostic, once, and nothing claims to be written.
  void expectTold(const std::string &words) {
    EXPECT_EQ(gradus_last_error(nullptr), words);
    EXPECT_EQ(told(GRADUS_ERROR), std::vector<std::string>{"|" + words});
    EXPECT_EQ(whyNoBytes(), "there is no artifact: the compilation failed");
  }

  const std::string path = testing::TempDir() + "c_entry_file." +
                           std::to_string(getpid()) + ".gradus";
};

} // namespace

TEST_F(CEntryFile, HasTheArtifactsBytes) {
  std::string whole = artifact();
  put("before");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  ASSERT_EQ(write(path), GRADUS_OK) << gradus_last_error(nullptr);
  EXPECT_TRUE(there() == whole);
  EXPECT_TRUE(contains(whyNoBytes(), "was written to the file"));
  struct stat facts;
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0640u);
}

TEST_F(CEntryFile, MayBeTheModels) {
  std::string whole = artifact();
  put(whole);
  options.model = {path.c_str(), nullptr, 0};
  options.recipe = {};
  ASSERT_EQ(gradus_load(path.c_str(), nullptr, &session), GRADUS_OK);
  const char *targets[] = {"emulated", nullptr};
  options.targets = targets;
  ASSERT_EQ(write(path), GRADUS_OK) << gradus_last_error(nullptr);
  std::string other = there();
  EXPECT_FALSE(other.empty());
  EXPECT_FALSE(other == whole);
  // The session has the file that it was loaded from.
  EXPECT_EQ(gradus_reset(session), GRADUS_OK) << gradus_last_error(session);
  targets[0] = "gpu";
  EXPECT_EQ(write(path), GRADUS_INVALID);
  EXPECT_TRUE(there() == other);
}

TEST_F(CEntryFile, StaysAsItIsWhereTheCompilationFails) {
  put("before");
  const char *overrides[] = {"optimizer.learning_rte=1", nullptr};
  options.overrides = overrides;
  EXPECT_EQ(write(path), GRADUS_INVALID);
  EXPECT_EQ(there(), "before");
  EXPECT_EQ(whyNoBytes(), "there is no artifact: the compilation failed");
  options.overrides = nullptr;
  std::string none = "none.safetensors";
  options.weights.path = none.c_str();
  EXPECT_EQ(write(path), GRADUS_INVALID);
  expectTold("none.safetensors: cannot open: No such file or directory");
  options.weights = {};
  options.basis = sourceOf(none); // of which the recipe knows nothing
  EXPECT_EQ(write(path), GRADUS_INVALID);
  EXPECT_EQ(there(), "before");
  EXPECT_EQ(told(GRADUS_ERROR).size(), 1u);
  EXPECT_EQ(whyNoBytes(), "there is no artifact: the compilation failed");
}

TEST_F(CEntryFile, IsNotForAStage) {
  put("before");
  options.stop_after = "gradients";
  EXPECT_EQ(write(path), GRADUS_INVALID);
  EXPECT_EQ(gradus_last_error(nullptr),
            "gradus_compile_with: there is no artifact to write to \"" + path +
                "\": the options' stop_after is \"gradients\"");
  EXPECT_EQ(result, nullptr);
  EXPECT_EQ(there(), "before");
  options.stop_after = nullptr;
  EXPECT_EQ(write(""), GRADUS_INVALID);
  EXPECT_STREQ(gradus_last_error(nullptr),
               "gradus_compile_with: the artifact's path is empty");
}

TEST_F(CEntryFile, SaysWhereItCannotBeWritten) {
  EXPECT_EQ(write("/nowhere/a.gradus"), GRADUS_FAILED);
  expectTold("/nowhere/a.gradus: cannot write: No such file or directory");
  EXPECT_EQ(write("/dev/full"), GRADUS_FAILED);
  expectTold("/dev/full: cannot write: it is a device, not a file");
}

TEST_F(CEntryFile, SaysThatThereIsNoRoom) {
  put("before");
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto *handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit little = {4096, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  gradus_status status = write(path);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(status, GRADUS_FAILED);
  expectTold(path + ": cannot write: File too large");
  EXPECT_EQ(there(), "before");
}
