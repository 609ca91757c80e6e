#include "runtime/file.h"

#include "test_artifact.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

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

TEST(AtomicFile, KeepsALinkAndReplacesWhatItNames) {
  std::string path = writeFile({'o', 'l', 'd'}, "named");
  std::string link = temporaryPath("link"), second = temporaryPath("second");
  for (const std::string &each : {link, second})
    std::filesystem::remove(each);
  std::filesystem::create_symlink("named", link); // from the link's own folder
  std::filesystem::create_symlink(link, second);
  auto file = AtomicFile::create(second);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->write("new!", 4).ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::is_symlink(second));
  EXPECT_EQ(contents(path), "new!");
}

TEST(AtomicFile, MakesTheFileThatALinkNames) {
  std::string path = temporaryPath("unmade"), link = temporaryPath("dangling");
  for (const std::string &each : {path, link})
    std::filesystem::remove(each);
  std::filesystem::create_symlink(path, link);
  auto file = AtomicFile::create(link);
  ASSERT_TRUE(file.ok() && file->commit().ok());
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

TEST(AtomicFile, RefusesALinkToItself) {
  std::string link = temporaryPath("loop");
  std::filesystem::remove(link);
  std::filesystem::create_symlink(link, link);
  EXPECT_EQ(AtomicFile::create(link).status().message(),
            link + ": is a link that leads through more than 40 links");
}

TEST(AtomicFile, NeverReplacesWhatIsNoFile) {
  auto words = [](const std::string &path) {
    return AtomicFile::create(path).status().message();
  };
  EXPECT_EQ(words("/dev/null"),
            "/dev/null: cannot write: it is a device, not a file");
  std::string folder = temporaryPath("folder"), pipe = temporaryPath("pipe");
  std::filesystem::create_directory(folder);
  std::filesystem::remove(pipe);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(words(folder),
            folder + ": cannot write: it is a directory, not a file");
  EXPECT_EQ(words(pipe), pipe + ": cannot write: it is a pipe, not a file");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_FALSE(std::filesystem::exists(pipe + ".partial"));
}

TEST(LinkFile, GivesAFileAnotherName) {
  std::string path = writeFile({'a'}, "one"), other = temporaryPath("other");
  writeFile({'o'}, "other");
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(linkFile(path, other).ok());
    EXPECT_TRUE(std::filesystem::equivalent(path, other));
    EXPECT_FALSE(std::filesystem::exists(other + ".partial"));
  }
  auto file = AtomicFile::create(path); // the other name keeps the old one
  ASSERT_TRUE(file.ok() && file->write("b", 1).ok() && file->commit().ok());
  EXPECT_EQ(contents(other), "a");
  EXPECT_EQ(contents(path), "b");
}

TEST(LinkFile, SaysWhyItCannot) {
  EXPECT_EQ(linkFile(temporaryPath("nothing"), "/nowhere/x").message(),
            "/nowhere/x: cannot write: No such file or directory");
}
