// Options that programs give by their names on the command line.

#include "c_entry.h"

using namespace gradus::test;

namespace {

using ExtraOptions = CEntry;

} // namespace

TEST_F(ExtraOptions, RenamesTensorsOfWeights) {
  using namespace gradus::runtime;
  std::vector<float> numbers = {4, 5, 6};
  std::span<const uint8_t> data(
      reinterpret_cast<const uint8_t *>(numbers.data()), 12);
  TensorType type{DType::f32, {3}};
  auto file =
      safetensorsBytes({{"module.w", type, data}, {"head", type, data}});
  ASSERT_TRUE(file.ok()) << file.status();
  std::string text = kText;
  options.model = sourceOf(text);
  options.recipe = {};
  options.weights = {nullptr, file->data.get(), file->size};
  const char *rules[] = {"weights-map=module.*=*",
                         "weights-map=head=", nullptr};
  options.extra = rules;
  load();
  EXPECT_EQ(stateOf("w"), numbers);
  rules[0] = "weights-map=modul.*=*";
  EXPECT_EQ(refusal(), "weights-map modul.*=*: no tensor of the weights fits "
                       "modul.*; did you mean module.w?");
  rules[0] = "weights-map=module.w=head", rules[1] = "weights-map=head=head";
  EXPECT_TRUE(contains(refusal(), "the model has no state \"head\""));
  options.weights = {};
  EXPECT_EQ(refusal(), "weights-map module.w=head: needs weights, whose names "
                       "it maps");
}

TEST_F(ExtraOptions, TakesOptionsOfTheCommandLineByTheirNames) {
  std::string path =
      testing::TempDir() + "c_entry_tuning." + std::to_string(getpid());
  std::ofstream(path) << R"({"format": 1, "card": "a card", "choices": [{
      "call": "a call", "library": "cublaslt 1", "algorithm": "x"}]})";
  std::string tuning = "tuning=" + path;
  const char *targets[] = {"emulated", nullptr};
  const char *extra[] = {"epilogues=none", tuning.c_str(), "kernel-cache=off",
                         nullptr};
  options.targets = targets;
  options.libraries = "always";
  std::string whole = artifact();
  options.extra = extra;
  EXPECT_FALSE(artifact() == whole) << "epilogues are a kernel's then";
  std::ofstream(path) << "[]";
  EXPECT_EQ(refusal(), path + ": found array, expected an object, as `gradus "
                              "tune` writes it");
  for (const char *broken : {R"({"format":1)", R"({"format": 1e999})"}) {
    std::ofstream(path) << broken;
    EXPECT_TRUE(contains(refusal(), path.c_str())) << broken;
  }
  unlink(path.c_str());
  EXPECT_TRUE(contains(refusal(), "cannot be read"));
  extra[1] = nullptr;
  extra[0] = "epilogues=some";
  EXPECT_TRUE(contains(refusal(), "expected all, bias or none"));
  extra[1] = "epilogues=all";
  EXPECT_EQ(refusal(), "epilogues: is given 2 times, expected once");
  extra[1] = nullptr;
  extra[0] = "epilogue=none";
  EXPECT_EQ(
      refusal(),
      "extra: unknown option \"epilogue\"; did you mean epilogues?; "
      "there are epilogues, initialize, kernel-cache, tuning, weights-map");
  extra[0] = "epilogues";
  EXPECT_EQ(refusal(), "extra: epilogues: expected NAME=VALUE, such as "
                       "\"epilogues=bias\"");
  EXPECT_EQ(told(GRADUS_ERROR).size(), 1u);
}
