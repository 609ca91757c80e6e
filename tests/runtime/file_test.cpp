#include "runtime/file.h"

#include "test_artifact.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

using namespace gradus::runtime;
using namespace gradus::test;

static std::string contents(const std::string &path) {
  auto file = MappedFile::open(path);
  return file.ok() ? std::string(file->bytes().begin(), file->bytes().end())
                   : file.status().message();
}

TEST(MappedFile, ShowsAFile) {
  std::string path = writeFile({'a', 'b'}, "ab");
  EXPECT_EQ(contents(path), "ab");
  EXPECT_EQ(contents(writeFile({}, "nothing")), "");
  EXPECT_EQ(contents(temporaryPath("")), temporaryPath("") + ": is not a file");
}

TEST(MappedFile, CanBeReadAgainAfterItsPagesAreGivenBack) {
  std::vector<uint8_t> bytes(100000, 'x');
  auto file = MappedFile::open(writeFile(bytes, "pages"));
  MappedFile::release(file->bytes());
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), file->bytes().begin()));
}

TEST(AtomicFile, ReplacesTheOldOneWhenCommitted) {
  std::string path = writeFile({'o', 'l', 'd'}, "atomic");
  {
    auto file = AtomicFile::create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("new!", 4).ok());
    EXPECT_EQ(contents(path), "old");
    ASSERT_TRUE(file->commit().ok());
  }
  EXPECT_EQ(contents(path), "new!");
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
}

TEST(AtomicFile, LeavesNothingWithoutACommit) {
  std::string path = temporaryPath("never");
  {
    auto file = AtomicFile::create(path);
    ASSERT_TRUE(file->write("half", 4).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".partial"));
}

TEST(AtomicFile, TakesOverWhatAKilledProcessLeft) {
  std::string path = temporaryPath("again");
  std::ofstream(path + ".partial") << "a long half-written file";
  auto file = AtomicFile::create(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("x", 1).ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(contents(path), "x");
}

TEST(AtomicFile, RefusesTwoWriters) {
  std::string path = temporaryPath("twice");
  auto first = AtomicFile::create(path);
  EXPECT_EQ(AtomicFile::create(path).status().message(),
            path + ": another process is writing it");
}

TEST(AtomicFile, SaysWhyItCannotWrite) {
  EXPECT_EQ(AtomicFile::create("/nowhere/file").status().message(),
            "/nowhere/file: cannot write: No such file or directory");
}
