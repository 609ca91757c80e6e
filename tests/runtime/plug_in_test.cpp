#include "runtime/plug_in.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace gradus::runtime;

namespace {

/// The words with which a file is refused that a variable names.
std::string refusalOf(const char *file) {
  setenv("GRADUS_TEST_LIBRARY", file, 1);
  auto library =
      loadPlugIn({"GRADUS_TEST_LIBRARY", "libgradus_test.so", "gradus_test"});
  unsetenv("GRADUS_TEST_LIBRARY");
  return library.status().message();
}

} // namespace

TEST(PlugIn, IsRefusedWithoutItsFunction) {
  EXPECT_EQ(refusalOf("libm.so.6"),
            "libm.so.6 is no libgradus_test.so of Gradus");
}

TEST(PlugIn, SaysWhyItIsNotThere) {
  std::string words = refusalOf("no-such-library.so");
  EXPECT_TRUE(words.starts_with("needs libgradus_test.so, which cannot be "
                                "loaded: no-such-library.so"))
      << words;
  EXPECT_TRUE(words.ends_with(" (GRADUS_TEST_LIBRARY may name it)")) << words;
}

TEST(PlugIn, IsOfOneVersionWithTheRuntime) {
  EXPECT_EQ(versionRefusal("libgradus_test.so", "0.2", "0.2"), "");
  EXPECT_EQ(versionRefusal("libgradus_test.so", "0.2", "0.3"),
            "libgradus_test.so is of Gradus 0.2, and this is Gradus 0.3");
}

TEST(PlugIn, HandsOverWhatItOpensOrTheError) {
  std::string error;
  std::unique_ptr<int> made(handOver(
      StatusOr<std::unique_ptr<int>>(std::make_unique<int>(3)), &error));
  EXPECT_EQ(*made, 3);
  EXPECT_EQ(handOver(StatusOr<std::unique_ptr<int>>(failed("none")), &error),
            nullptr);
  EXPECT_EQ(error, "none");
}
