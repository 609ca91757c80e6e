#include "runtime/artifact/artifact_bytes.h"

#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

using namespace gradus::runtime;
using namespace gradus::test;

namespace {

constexpr size_t kMany = 100'000;

std::vector<uint8_t> counted() {
  std::vector<uint8_t> bytes(kMany);
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  return bytes;
}

bool isCounted(std::span<const uint8_t> bytes, size_t from) {
  for (size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != static_cast<uint8_t>(from + i))
      return false;
  return true;
}

} // namespace

TEST(ArtifactBytes, StayAsTheyWereLoaded) {
  std::string path = writeFile(counted(), "counted");
  auto bytes = ArtifactBytes::open(path);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  ASSERT_EQ(bytes->size(), kMany);
  ASSERT_TRUE(bytes->load(0, 10).ok());
  ASSERT_TRUE(bytes->load(50'001, 20'000).ok());
  std::filesystem::resize_file(path, 0);
  EXPECT_TRUE(isCounted(bytes->all().first(10), 0));
  EXPECT_TRUE(isCounted(bytes->all().subspan(50'001, 20'000), 50'001));
}

TEST(ArtifactBytes, AreReadFromAFileThatWasRemoved) {
  std::string path = writeFile(counted(), "counted");
  auto bytes = ArtifactBytes::open(path);
  std::filesystem::remove(path);
  std::vector<uint8_t> part(1000);
  ASSERT_TRUE(bytes->read(99'000, part).ok());
  EXPECT_TRUE(isCounted(part, 99'000));
}

TEST(ArtifactBytes, SayWhereAFileThatWasCutEnds) {
  std::string path = writeFile(counted(), "counted");
  auto bytes = ArtifactBytes::open(path);
  std::filesystem::resize_file(path, 60'000);
  EXPECT_EQ(bytes->load(0, kMany).message(),
            "is cut short: it had 100000 bytes when it was opened, and now "
            "ends at 60000");
}

TEST(ArtifactBytes, MayBeACopy) {
  auto bytes = counted();
  auto copy = ArtifactBytes::copyOf(std::span(bytes).subspan(1));
  bytes.clear();
  EXPECT_TRUE(copy->load(0, kMany - 1).ok());
  EXPECT_TRUE(isCounted(copy->all(), 1));
  std::vector<uint8_t> part(5);
  ASSERT_TRUE(copy->read(7, part).ok());
  EXPECT_TRUE(isCounted(part, 8));
  EXPECT_EQ(ArtifactBytes::copyOf({})->size(), 0u);
}

TEST(ArtifactBytes, AreOfAFile) {
  EXPECT_EQ(ArtifactBytes::open(temporaryPath("")).status().message(),
            temporaryPath("") + ": is not a file");
  EXPECT_EQ(ArtifactBytes::open("/nowhere").status().message(),
            "/nowhere: cannot open: No such file or directory");
}
