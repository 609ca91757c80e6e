// Compiling through the C API, with a compiler that answers what it was given
// (tests/runtime/stub_compiler.cpp). The real one is behind
// tests/frontends/compiler/c_entry_test.cpp.

#include "runtime/gradus.h"
#include "runtime/safetensors.h"

#include "tests/runtime/test_artifact.h"
#include "tests/this_build.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace gradus::test;

namespace {

constexpr const char *kVariable = "GRADUS_COMPILER_LIBRARY";

gradus_source textSource(const std::string &text, const char *path = nullptr) {
  return {path, text.data(), text.size()};
}

struct CApiCompile : testing::Test {
  void SetUp() override {
    setenv(kVariable, GRADUS_BINARY_DIR "/tests/bin/stub_compiler.so", 1);
    options.model.path = "model.onnx";
  }
  void TearDown() override {
    gradus_compiled_free(result);
    unsetenv(kVariable);
  }

  gradus_status compile() {
    gradus_compiled_free(result);
    return gradus_compile(&options, &result);
  }
  /// The words with which the options are refused.
  std::string refusal() {
    EXPECT_EQ(compile(), GRADUS_INVALID);
    return gradus_last_error(nullptr);
  }
  /// What the compiler was given.
  std::string echo() {
    options.stop_after = "model";
    EXPECT_EQ(compile(), GRADUS_OK) << gradus_last_error(nullptr);
    return gradus_compiled_ir(result);
  }
  gradus_diagnostic diagnostic(int number) {
    gradus_diagnostic told = {};
    EXPECT_EQ(gradus_compiled_diagnostic(result, number, &told), GRADUS_OK);
    return told;
  }

  gradus_compile_options options = gradus_default_compile_options();
  gradus_compiled *result = nullptr;
};

} // namespace

TEST_F(CApiCompile, GivesAnArtifactOfItsPieces) {
  ASSERT_EQ(compile(), GRADUS_OK) << gradus_last_error(nullptr);
  const void *bytes = nullptr;
  size_t size = 0;
  ASSERT_EQ(gradus_compiled_artifact(result, &bytes, &size), GRADUS_OK);
  EXPECT_EQ(std::string(static_cast<const char *>(bytes), size), "artifact");
  EXPECT_STREQ(gradus_compiled_ir(result), "");
}

TEST_F(CApiCompile, HasAnIdentityWhereThereIsACompiler) {
  const char *identity = gradus_compiler_identity();
  ASSERT_NE(identity, nullptr) << gradus_last_error(nullptr);
  EXPECT_NE(std::string(identity).find("\ncompiler: "), std::string::npos);
  setenv(kVariable, "/nowhere/compiler.so", 1);
  EXPECT_EQ(gradus_compiler_identity(), nullptr);
  EXPECT_NE(std::string(gradus_last_error(nullptr)).find("/nowhere"),
            std::string::npos);
}

TEST_F(CApiCompile, GivesDiagnosticsInTheirOrder) {
  ASSERT_EQ(compile(), GRADUS_OK);
  ASSERT_EQ(gradus_compiled_diagnostic_count(result), 2);
  EXPECT_EQ(diagnostic(0).severity, GRADUS_WARNING);
  EXPECT_STREQ(diagnostic(0).place, "line 3:5");
  EXPECT_STREQ(diagnostic(0).text, "is odd");
  EXPECT_EQ(diagnostic(1).severity, GRADUS_REMARK);
  EXPECT_STREQ(diagnostic(1).pass, "less-bn");
  EXPECT_STREQ(diagnostic(1).text, gradus_version());
}

TEST_F(CApiCompile, FailsWithWordsAndDiagnostics) {
  const char *fails[] = {"it is wrong", nullptr};
  options.plugins = fails;
  EXPECT_EQ(refusal(), "it is wrong");
  ASSERT_EQ(gradus_compiled_diagnostic_count(result), 1);
  EXPECT_EQ(diagnostic(0).severity, GRADUS_ERROR);
  EXPECT_STREQ(diagnostic(0).place, "node \"a\"");
  const void *bytes = this;
  size_t size = 1;
  EXPECT_EQ(gradus_compiled_artifact(result, &bytes, &size), GRADUS_INVALID);
  EXPECT_STREQ(gradus_last_error(nullptr),
               "there is no artifact: the compilation failed");
  EXPECT_EQ(bytes, nullptr);
  EXPECT_EQ(size, 0u);
  fails[0] = "broken";
  EXPECT_EQ(compile(), GRADUS_FAILED);
  EXPECT_STREQ(gradus_last_error(nullptr), "broken");
}

TEST_F(CApiCompile, HandsOnWhatItIsGiven) {
  const char *overrides[] = {"a=1", "b=2", nullptr},
             *dims[] = {"batch=4", nullptr}, *targets[] = {"emulated", nullptr};
  std::string recipe = "{}";
  options.recipe = textSource(recipe);
  options.overrides = overrides;
  options.dims = dims;
  options.targets = targets;
  options.threads = 3;
  EXPECT_EQ(echo(), "path model.onnx\nmodel at model.onnx folder\nrecipe {}\n"
                    "overrides a=1, b=2\ndims batch=4\ntargets emulated\n"
                    "threads 3\nweights");
}

TEST_F(CApiCompile, TellsAProgramFromOnnxByItsBeginning) {
  std::string program = "// A program.\ngradus.program @a {}";
  options.model = textSource(program);
  EXPECT_NE(echo().find("path the model\nmodel " + program + " text\n"),
            std::string::npos);
  std::string onnx = "\x08\x0a:";
  options.model = textSource(onnx, "folder/net");
  EXPECT_NE(echo().find("path folder/net\nmodel " + onnx + " folder\n"),
            std::string::npos);
}

TEST_F(CApiCompile, ReadsArtifactsFromFilesAndMemory) {
  TestArtifact made;
  made.header.recipe = "{\"a\": 1}";
  std::vector<uint8_t> bytes = made.bytes();
  options.model = {nullptr, bytes.data(), bytes.size()};
  EXPECT_NE(echo().find("model program of {\"a\": 1}"), std::string::npos);
  std::string path = writeFile(bytes, "c_api_compile.gradus");
  options.model = {path.c_str(), nullptr, 0};
  EXPECT_NE(echo().find("model program of {\"a\": 1} folder"),
            std::string::npos);

  bytes[bytes.size() / 2] ^= 1;
  options.model = {"changed.gradus", bytes.data(), bytes.size()};
  EXPECT_EQ(refusal().find("changed.gradus: "), 0u) << refusal();
  EXPECT_EQ(gradus_compiled_diagnostic_count(result), 1);
  EXPECT_EQ(diagnostic(0).severity, GRADUS_ERROR);
}

TEST_F(CApiCompile, ReadsWeightsFromMemoryWithoutCountsOfBatches) {
  using namespace gradus::runtime;
  float w[2] = {1, 2};
  int64_t count = 5;
  auto span = [](auto &value) {
    return std::span(reinterpret_cast<const uint8_t *>(&value), sizeof(value));
  };
  auto file = safetensorsBytes(
      {{"fc.weight", {DType::f32, {2}}, span(w)},
       {"bn.num_batches_tracked", {DType::i64, {}}, span(count)}});
  ASSERT_TRUE(file.ok());
  options.weights = {nullptr, file->data.get(), file->size};
  EXPECT_NE(echo().find("\nweights fc.weight f32 8"), std::string::npos);
  options.weights.size -= 1;
  EXPECT_EQ(refusal().find("the weights: is cut short"), 0u) << refusal();
  options.weights = {"nowhere.safetensors", nullptr, 0};
  EXPECT_EQ(refusal().find("nowhere.safetensors: cannot open"), 0u);
}

TEST_F(CApiCompile, RefusesOptionsThatSayNothingSound) {
  options.model.path = nullptr;
  EXPECT_EQ(refusal(), "gradus_compile_options: model: neither a path nor "
                       "bytes are given");
  EXPECT_EQ(result, nullptr);
  options.model = {"a.onnx", nullptr, 5};
  EXPECT_EQ(refusal(), "gradus_compile_options: model: its bytes are NULL, and "
                       "their number is 5");
  options.model = {nullptr, "", 0};
  EXPECT_EQ(refusal(), "gradus_compile_options: model: it has no bytes");
  options.model = {"a.onnx", nullptr, 0};
  options.recipe = {nullptr, "", 0};
  EXPECT_EQ(refusal(), "gradus_compile_options: recipe: it has no bytes");
  options.recipe = {};
  options.flags = 1 << 20;
  EXPECT_EQ(refusal().find("gradus_compile_options: flags: 1048576"), 0u);
  options.flags = 0;
  options.threads = -1;
  EXPECT_EQ(refusal(),
            "gradus_compile_options: threads: -1 are asked for; 0 to "
            "1024 are possible");
}

TEST_F(CApiCompile, TakesOptionsOfOtherVersions) {
  struct {
    gradus_compile_options options;
    uint64_t later;
  } other = {options, 0};
  gradus_status status = GRADUS_OK;
  auto compiles = [&] {
    status = gradus_compile(&other.options, &result);
    gradus_compiled_free(result);
    result = nullptr;
    return status == GRADUS_OK;
  };
  other.options.size = sizeof(other);
  EXPECT_TRUE(compiles()) << gradus_last_error(nullptr);
  other.later = 7;
  EXPECT_FALSE(compiles());
  // No version had fewer fields than this.
  for (size_t size : {offsetof(gradus_compile_options, extra), size_t(0)}) {
    other.options.size = size;
    EXPECT_FALSE(compiles());
  }
}

TEST_F(CApiCompile, GivesDefaultsForTheSizeOfAProgram) {
  gradus_compile_options small;
  std::memset(static_cast<void *>(&small), 0x55, sizeof(small));
  constexpr size_t kOld = offsetof(gradus_compile_options, threads);
  gradus_set_default_compile_options(&small, kOld);
  EXPECT_EQ(small.size, kOld);
  EXPECT_EQ(small.model.path, nullptr);
  EXPECT_EQ(small.stop_after, nullptr);
  EXPECT_EQ(small.threads, 0x55555555); // behind an older struct
  gradus_set_default_compile_options(nullptr, sizeof(small));
}

TEST_F(CApiCompile, RefusesInAChildWhatItsParentHadNotEnded) {
  int started[2], ended[2];
  ASSERT_EQ(pipe(started) | pipe(ended), 0);
  std::string path =
      "wait " + std::to_string(started[1]) + " " + std::to_string(ended[0]);
  options.model.path = path.c_str();
  gradus_status last = GRADUS_INVALID;
  std::thread other([&] { last = compile(); });
  char byte;
  ASSERT_EQ(read(started[0], &byte, 1), 1);
  pid_t child = fork();
  if (child == 0) {
    gradus_compile_options own = gradus_default_compile_options();
    own.model.path = "model.onnx";
    gradus_compiled *made = nullptr;
    bool isRight =
        gradus_compile(&own, &made) == GRADUS_INVALID && !made &&
        std::strstr(gradus_last_error(nullptr), "another thread compiled");
    _exit(isRight ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  close(ended[1]);
  other.join();
  EXPECT_EQ(last, GRADUS_OK);
  for (int descriptor : {started[0], started[1], ended[0]})
    close(descriptor);
}

TEST_F(CApiCompile, TakesNothingForAnAnswer) {
  EXPECT_EQ(gradus_compile(&options, nullptr), GRADUS_INVALID);
  result = reinterpret_cast<gradus_compiled *>(1);
  EXPECT_EQ(gradus_compile(nullptr, &result), GRADUS_INVALID);
  EXPECT_STREQ(gradus_last_error(nullptr), "the options are NULL");
  EXPECT_EQ(result, nullptr);
  const void *bytes;
  size_t size;
  gradus_diagnostic told;
  EXPECT_EQ(gradus_compiled_artifact(nullptr, &bytes, &size), GRADUS_INVALID);
  EXPECT_EQ(gradus_compiled_ir(nullptr), nullptr);
  EXPECT_EQ(gradus_compiled_diagnostic_count(nullptr), 0);
  EXPECT_EQ(gradus_compiled_diagnostic(nullptr, 0, &told), GRADUS_INVALID);
  gradus_compiled_free(nullptr);
  ASSERT_EQ(compile(), GRADUS_OK);
  EXPECT_EQ(gradus_compiled_artifact(result, nullptr, &size), GRADUS_INVALID);
  EXPECT_EQ(gradus_compiled_diagnostic(result, 2, &told), GRADUS_INVALID);
  EXPECT_STREQ(gradus_last_error(nullptr),
               "diagnostic 2 does not exist; there are 2");
  EXPECT_EQ(gradus_compiled_diagnostic(result, -1, &told), GRADUS_INVALID);
  EXPECT_EQ(gradus_compiled_diagnostic(result, 0, nullptr), GRADUS_INVALID);
}

TEST_F(CApiCompile, SaysWhyThereIsNoCompiler) {
  setenv(kVariable, "no-such-compiler.so", 1);
  EXPECT_EQ(compile(), GRADUS_FAILED);
  EXPECT_EQ(result, nullptr);
  std::string words = gradus_last_error(nullptr);
  EXPECT_EQ(
      words.find("compiling: needs libgradus_compiler.so, which cannot be "
                 "loaded: no-such-compiler.so"),
      0u)
      << words;
  setenv(kVariable, "libm.so.6", 1);
  EXPECT_EQ(compile(), GRADUS_FAILED);
  EXPECT_STREQ(gradus_last_error(nullptr),
               "compiling: libm.so.6 is no libgradus_compiler.so of Gradus");
}

TEST_F(CApiCompile, MayBeCalledBySeveralThreads) {
  std::vector<std::thread> threads;
  std::vector<int> failed(4);
  for (int &each : failed)
    threads.emplace_back([&each, this] {
      for (int i = 0; i < 50; ++i) {
        gradus_compiled *own = nullptr;
        each += gradus_compile(&options, &own) != GRADUS_OK;
        gradus_compiled_free(own);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(failed, std::vector<int>(4));
}

TEST_F(CApiCompile, MayBeCalledInAChildOfFork) {
  ASSERT_EQ(compile(), GRADUS_OK);
  pid_t child = fork();
  if (child == 0) {
    gradus_compiled *own = nullptr;
    bool isRight = gradus_compile(&options, &own) == GRADUS_OK &&
                   gradus_compiled_diagnostic_count(result) == 2;
    gradus_compiled_free(own);
    gradus_compiled_free(result);
    _exit(isRight ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
