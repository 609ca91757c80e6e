#include "tool/compile/artifact_file.h"

#include "tests/tool/adder.h"

#include <gtest/gtest.h>

#include <fstream>

using namespace gradus;
using namespace gradus::cli;
namespace fs = std::filesystem;

namespace {

/// A folder of its own for each test.
struct Compiled : testing::Test {
  void SetUp() override {
    fs::remove_all(folder);
    fs::create_directory(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  /// All behind the first 64 bytes, then these.
  static absl::Status writeTo(ArtifactFile &file) {
    std::vector<uint8_t> bytes = test::TestArtifact().bytes();
    std::span<const char> all(reinterpret_cast<const char *>(bytes.data()),
                              bytes.size());
    absl::Status status = file.write(64, all.subspan(64));
    return status.ok() ? file.write(0, all.first(64)) : status;
  }

  std::string folder = fs::temp_directory_path() /
                       ("gradus_compiled." + std::to_string(getpid()));
  std::string path = folder + "/a.gradus";
};

} // namespace

TEST_F(Compiled, IsThereOnceItIsCommitted) {
  ArtifactFile file(path);
  EXPECT_TRUE(fs::is_empty(folder));
  ASSERT_TRUE(writeTo(file).ok());
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(file.open()->header().name()->str(), "adder");
  file.commit();
  EXPECT_TRUE(runtime::Artifact::open(path).ok());
}

TEST_F(Compiled, LeavesNothingUntilThen) {
  {
    ArtifactFile file(path);
    ASSERT_TRUE(writeTo(file).ok());
  }
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(Compiled, IsCheckedAsItIsWhenLoaded) {
  ArtifactFile file(path);
  ASSERT_TRUE(writeTo(file).ok());
  ASSERT_TRUE(file.write(0, std::string_view("no artifact")).ok());
  EXPECT_THROW(file.open(), Failure);
}

// As the file says, and not as if the model were to blame.
TEST_F(Compiled, SaysWhyItCannotBeWritten) {
  fs::remove_all(folder);
  ArtifactFile missing(path), full("/dev/full");
  EXPECT_EQ(missing.write(0, std::string_view("x")),
            absl::InvalidArgumentError(
                path + ": cannot write: No such file or directory"));
  EXPECT_EQ(full.write(0, std::string_view("x")).message(),
            "/dev/full: cannot write: it is a device, not a file");
}
