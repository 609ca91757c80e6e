// A basis of dim_reduce that programs give to the C API.

#include "c_entry.h"

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
  EXPECT_TRUE(contains(refusal(), "recipe: dim_reduce.basis elsewhere: its "
                                  "bytes"));
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
