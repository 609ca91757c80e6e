// Where libraries are looked for, and what is said without them.

#include "runtime/cuda/libraries/vendor_library.h"

#include "tests/runtime/cuda/environment.h"
#include "tests/runtime/cuda/stub_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

using namespace gradus::runtime;
using namespace gradus::runtime::cuda;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

VendorLibrary wanted(std::vector<const char *> files) {
  return {"cuAny",         "cuany", "3.1", 30100, "GRADUS_ANY_LIBRARY",
          std::move(files)};
}

Status any(const SharedLibrary &) { return Status(); }
StatusOr<SharedLibrary> openLibrary(const VendorLibrary &wanted) {
  return cuda::openLibrary(wanted, any);
}

} // namespace

TEST(VendorLibrary, StandsBesideTheProgramThatOpensIt) {
  auto library = openLibrary(wanted({"no-such.so.2", "whole_driver.so"}));
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->file(), libraryOf("whole_driver"));
}

TEST(VendorLibrary, MayBeOneOfTheSystem) {
  auto library = openLibrary(wanted({"libm.so.6"}));
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->file(), "libm.so.6");
}

/// What the environment names comes first, and alone.
TEST(VendorLibrary, IsTheOneThatTheEnvironmentNames) {
  std::string file = libraryOf("old_driver");
  Environment environment("GRADUS_ANY_LIBRARY", file.c_str());
  auto library = openLibrary(wanted({"whole_driver.so"}));
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->file(), file);
  Environment wrong("GRADUS_ANY_LIBRARY", "/no/such.so");
  auto missing = openLibrary(wanted({"whole_driver.so"})).status();
  EXPECT_THAT(missing.message(), HasSubstr("/no/such.so"));
}

/// Another may be older, and start with the driver that is there.
TEST(VendorLibrary, IsTheFirstThatServes) {
  std::vector<std::string> tried;
  auto library = cuda::openLibrary(wanted({"old_driver.so", "whole_driver.so"}),
                                   [&](const SharedLibrary &found) {
                                     tried.push_back(found.file());
                                     return tried.size() == 1
                                                ? failed("does not start")
                                                : Status();
                                   });
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_THAT(tried,
              ElementsAre(libraryOf("old_driver"), libraryOf("whole_driver")));
  EXPECT_EQ(library->file(), libraryOf("whole_driver"));
}

TEST(VendorLibrary, SaysItsVersionAsItsPagesDo) {
  EXPECT_EQ(versionText(91900), "9.19.0");
  EXPECT_EQ(versionText(130101), "13.1.1");
  EXPECT_EQ(versionText(8907), "8.9.7");
}

/// What was not found is not told then: there is enough of it everywhere.
TEST(VendorLibrary, SaysWhyEachThatWasFoundDoesNotServe) {
  auto library =
      cuda::openLibrary(wanted({"old_driver.so", "whole_driver.so"}),
                        [](const SharedLibrary &) { return failed("is old"); });
  EXPECT_EQ(library.status().message(),
            "plans that call cuAny need version 3.1 or later, and " +
                libraryOf("old_driver") + " is old; " +
                libraryOf("whole_driver") +
                " is old (GRADUS_ANY_LIBRARY may name its file; a plan "
                "compiled with --libraries never needs none)");
}

/// A file that is damaged, or whose own libraries are not there.
TEST(VendorLibrary, SaysWhatIsThereAndDoesNotLoad) {
  std::string damaged = testing::TempDir() + "damaged.so";
  std::ofstream(damaged) << "no library";
  std::string words =
      cuda::openLibrary(wanted({"old_driver.so", damaged.c_str()}),
                        [](const SharedLibrary &) { return failed("is old"); })
          .status()
          .message();
  EXPECT_THAT(words, HasSubstr("or later, and " + libraryOf("old_driver") +
                               " is old; " + damaged + ": "));
  std::remove(damaged.c_str());
}

TEST(VendorLibrary, SaysWhatIsNeededAndWhereItWasLookedFor) {
  std::string words = openLibrary(wanted({"no-such.so.2"})).status().message();
  EXPECT_THAT(words, HasSubstr("plans that call cuAny need version 3.1 or "
                               "later, which cannot be loaded: "));
  EXPECT_THAT(words, HasSubstr(ownFolder() + "/no-such.so.2"));
  EXPECT_THAT(words, HasSubstr("/../lib/no-such.so.2"));
  EXPECT_THAT(words, HasSubstr("GRADUS_ANY_LIBRARY may name its file; a plan "
                               "compiled with --libraries never needs none"));
}
