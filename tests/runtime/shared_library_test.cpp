// Libraries that are opened while the program runs.

#include "runtime/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace gradus::runtime;
using testing::HasSubstr;

namespace {

constexpr const char *kVariable = "GRADUS_SOME_LIBRARY";

/// A file that is no library, in a folder of its own that is the current one.
class SharedLibraryTest : public testing::Test {
protected:
  void SetUp() override {
    unsetenv(kVariable);
    std::string name = testing::TempDir() + "gradus.XXXXXX";
    folder_ = mkdtemp(name.data());
    std::ofstream(folder_ / "damaged.so") << "no library";
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(folder_);
  }
  void TearDown() override {
    unsetenv(kVariable);
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }
  std::string path(const char *name) const { return folder_ / name; }

private:
  std::filesystem::path folder_, before_;
};

} // namespace

TEST_F(SharedLibraryTest, HasFunctionsByTheNamesThatItExports) {
  auto library = SharedLibrary::open("libm.so.6");
  ASSERT_TRUE(library.ok()) << library.status();
  EXPECT_EQ(library->file(), "libm.so.6");
  auto *cosine = library->function<double(double)>("cos");
  ASSERT_TRUE(cosine);
  EXPECT_EQ(cosine(0.5), std::cos(0.5));
  EXPECT_FALSE(library->function<double(double)>("gradus_no_such_function"));
  library->close();
  EXPECT_FALSE(library->handle());
}

TEST_F(SharedLibraryTest, IsNoNameInTheCurrentFolder) {
  EXPECT_THAT(SharedLibrary::open("damaged.so").status().message(),
              HasSubstr("damaged.so: cannot open shared object file"));
  EXPECT_FALSE(SharedLibrary::open("").ok());
}

TEST_F(SharedLibraryTest, IsTheFirstThatServes) {
  LibrarySearch any = findLibrary({kVariable, {"libm.so.6", "libc.so.6"}});
  ASSERT_TRUE(any.found);
  EXPECT_EQ(any.found->file(), "libm.so.6");
  LibrarySearch chosen = findLibrary(
      {kVariable, {"libc.so.6", "libm.so.6"}}, [](const SharedLibrary &found) {
        return found.function<void()>("cos") ? Status() : failed("has no cos");
      });
  ASSERT_TRUE(chosen.found);
  EXPECT_EQ(chosen.found->file(), "libm.so.6");
}

TEST_F(SharedLibraryTest, SaysOfFilesThatAreThereFirstWhyTheyDoNotServe) {
  LibrarySearch missing = findLibrary({kVariable, {"no-such.so.2"}});
  EXPECT_FALSE(missing.found);
  EXPECT_THAT(missing.missing, HasSubstr("/../lib/no-such.so.2: "));
  EXPECT_EQ(missing.refused, "");
  EXPECT_EQ(missing.reasons(), missing.missing);

  setenv(kVariable, path("damaged.so").c_str(), 1);
  LibrarySearch damaged = findLibrary({kVariable, {"libm.so.6"}});
  EXPECT_FALSE(damaged.found);
  EXPECT_THAT(damaged.reasons(), HasSubstr(path("damaged.so") + ": "));
  EXPECT_EQ(damaged.missing, "");

  setenv(kVariable, "libm.so.6", 1);
  LibrarySearch old = findLibrary(
      {kVariable, {}}, [](const SharedLibrary &) { return failed("is old"); });
  EXPECT_EQ(old.reasons(), "libm.so.6 is old");
}
