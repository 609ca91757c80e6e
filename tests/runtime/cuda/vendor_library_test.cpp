// Where libraries are looked for, and what is said without them.

#include "runtime/cuda/vendor_library.h"

#include "tests/runtime/cuda/environment.h"
#include "tests/runtime/cuda/stub_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using testing::HasSubstr;

namespace {

VendorLibrary wanted(std::vector<const char *> files) {
  return {"cuAny", "3.1", "GRADUS_ANY_LIBRARY", std::move(files)};
}

} // namespace

TEST(VendorLibrary, StandsBesideTheProgramThatOpensIt) {
  auto library = openLibrary(wanted({"no-such.so.2", "whole_driver.so"}));
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->file, libraryOf("whole_driver"));
}

TEST(VendorLibrary, MayBeOneOfTheSystem) {
  auto library = openLibrary(wanted({"libm.so.6"}));
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->file, "libm.so.6");
}

/// What the environment names comes first, and alone.
TEST(VendorLibrary, IsTheOneThatTheEnvironmentNames) {
  std::string file = libraryOf("old_driver");
  Environment environment("GRADUS_ANY_LIBRARY", file.c_str());
  auto library = openLibrary(wanted({"whole_driver.so"}));
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->file, file);
  Environment wrong("GRADUS_ANY_LIBRARY", "/no/such.so");
  auto missing = openLibrary(wanted({"whole_driver.so"})).status();
  EXPECT_THAT(missing.message(), HasSubstr("/no/such.so"));
}

TEST(VendorLibrary, SaysWhatIsNeededAndWhereItWasLookedFor) {
  std::string words = openLibrary(wanted({"no-such.so.2"})).status().message();
  EXPECT_THAT(words,
              HasSubstr("this plan calls cuAny, and needs version 3.1 or "
                        "later, which cannot be loaded: "));
  EXPECT_THAT(words, HasSubstr(ownFolder() + "/no-such.so.2"));
  EXPECT_THAT(words, HasSubstr("/../lib/no-such.so.2"));
  EXPECT_THAT(words, HasSubstr("GRADUS_ANY_LIBRARY may name its file; a plan "
                               "compiled with --libraries never needs none"));
}
