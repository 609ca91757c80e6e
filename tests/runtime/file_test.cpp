#include "runtime/file.h"

#include "test_artifact.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace gradus::runtime;
using namespace gradus::test;
namespace fs = std::filesystem;

static std::string contents(const std::string &path) {
  auto file = MappedFile::open(path);
  return file.ok() ? std::string(file->bytes().begin(), file->bytes().end())
                   : file.status().message();
}

/// As the owner of a lock that this process has.
static std::string self() {
  std::string name;
  std::getline(std::ifstream("/proc/self/comm"), name);
  return "process " + std::to_string(getpid()) + " (" + name + ")";
}

static void writeWhole(const std::string &path, const std::string &text,
                       FileHold *hold = nullptr) {
  auto file = AtomicFile::create(path, hold);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->write(text.data(), text.size()).ok());
  ASSERT_TRUE(file->commit().ok());
}

/// A folder of its own for each test.
struct Written : testing::Test {
  void SetUp() override {
    fs::remove_all(folder);
    fs::create_directory(folder);
  }
  void TearDown() override { fs::remove_all(folder); }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto &entry : fs::directory_iterator(folder))
      names.insert(entry.path().filename().string());
    return names;
  }

  std::string folder = temporaryPath("written"), path = folder + "/a",
              victim = folder + "/victim", partial = partialNameOf(path);
};

TEST(MappedFile, ShowsAFile) {
  std::string path = writeFile({'a', 'b'}, "ab");
  EXPECT_EQ(contents(path), "ab");
  EXPECT_EQ(contents(writeFile({}, "nothing")), "");
  EXPECT_EQ(contents(temporaryPath("")), temporaryPath("") + ": is not a file");
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
  EXPECT_FALSE(std::filesystem::exists(partialNameOf(path)));
}

TEST(AtomicFile, LeavesNothingWithoutACommit) {
  std::string path = temporaryPath("never");
  {
    auto file = AtomicFile::create(path);
    ASSERT_TRUE(file->write("half", 4).ok());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(partialNameOf(path)));
}

TEST(AtomicFile, IsWrittenAtOffsetsToo) {
  std::string path = temporaryPath("offsets");
  {
    auto file = AtomicFile::create(path);
    ASSERT_TRUE(file->writeAt(2, "cd", 2).ok());
    ASSERT_TRUE(file->writeAt(6, "gh", 2).ok());
    EXPECT_EQ(contents(partialNameOf(path)), std::string("\0\0cd\0\0gh", 8));
    ASSERT_TRUE(file->write("ab", 2).ok());
    ASSERT_TRUE(file->writeAt(4, "ef", 2).ok());
    ASSERT_TRUE(file->commit().ok());
  }
  EXPECT_EQ(contents(path), "abcdefgh");
}

TEST(AtomicFile, HasThePermissionsOfTheFileThatItReplaces) {
  std::string path = testing::TempDir() + "permissions";
  for (mode_t mode : {0600u, 0444u, 0666u}) {
    unlink(path.c_str());
    std::ofstream(path) << "old";
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    auto file = AtomicFile::create(path);
    ASSERT_TRUE(file.ok()) << file.status();
    struct stat facts;
    ASSERT_EQ(stat(partialNameOf(path).c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, mode);
    ASSERT_TRUE(file->write("new", 3).ok());
    ASSERT_TRUE(file->commitUnsynced().ok());
    ASSERT_EQ(stat(path.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 07777, mode);
    EXPECT_EQ(contents(path), "new");
    EXPECT_FALSE(fs::exists(partialNameOf(path)));
  }
}

TEST(AtomicFile, TakesOverWhatAKilledProcessLeft) {
  std::string path = temporaryPath("again");
  std::ofstream(partialNameOf(path)) << "a long half-written file";
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
            path + ": " + self() + " is writing it");
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
  EXPECT_FALSE(std::filesystem::exists(partialNameOf(pipe)));
}

TEST_F(Written, AreNeverMadeThroughALink) {
  writeWhole(victim, "the victim's");
  for (bool isHard : {false, true}) {
    isHard ? fs::create_hard_link(victim, partial)
           : fs::create_symlink(victim, partial);
    EXPECT_EQ(AtomicFile::create(path).status().message(),
              path + ": cannot write: it is made under the name " + partial +
                  ", and that is " +
                  (isHard ? "a file that has other names, too" : "a link") +
                  "; remove it");
    EXPECT_EQ(contents(victim), "the victim's");
    EXPECT_EQ(names(), (std::set<std::string>{"victim", "a.gradus-partial"}));
    fs::remove(partial);
  }
}

TEST_F(Written, LeaveFilesOfLikeNamesAlone) {
  for (const char *ending : {".partial", ".part", "~"}) {
    writeWhole(path + ending, "half a download");
    writeWhole(path, "whole");
    EXPECT_EQ(contents(path + ending), "half a download");
  }
}

TEST_F(Written, AreNotMadeOfAFileThatSomebodyPutInTheirPlace) {
  auto file = AtomicFile::create(path);
  ASSERT_TRUE(file.ok());
  fs::remove(partial);
  writeWhole(partial, "somebody's");
  EXPECT_EQ(file->commit().message(),
            path + ": cannot write: another process has taken away " + partial +
                ", of which it was to be made");
  EXPECT_EQ(names(), (std::set<std::string>{"a.gradus-partial"}));
  EXPECT_EQ(contents(partial), "somebody's");
}

TEST_F(Written, AreHeldBeforeTheyAreThere) {
  auto hold = FileHold::take(path);
  ASSERT_TRUE(hold.ok()) << hold.status();
  EXPECT_EQ(hold->weakness(), "");
  EXPECT_EQ(names(), (std::set<std::string>{"a.gradus-partial"}));
  std::string words = path + ": " + self() + " is writing it";
  EXPECT_EQ(FileHold::take(path).status().message(), words);
  EXPECT_EQ(AtomicFile::create(path).status().message(), words);
}

TEST_F(Written, StayHeldWhileTheyAreReplaced) {
  std::string words = path + ": " + self() + " is writing it";
  {
    auto hold = FileHold::take(path);
    for (const char *text : {"one", "two"}) {
      writeWhole(path, text, &*hold);
      EXPECT_EQ(names(), (std::set<std::string>{"a"}));
      EXPECT_EQ(contents(path), text);
      EXPECT_EQ(FileHold::take(path).status().message(), words);
      EXPECT_EQ(AtomicFile::create(path).status().message(), words);
      EXPECT_EQ(removeFile(path).message(), words);
    }
  }
  EXPECT_TRUE(FileHold::take(path).ok());
  EXPECT_TRUE(AtomicFile::create(path).ok());
  EXPECT_TRUE(removeFile(path).ok());
  EXPECT_TRUE(names().empty());
}

TEST_F(Written, AreWrittenThoughARunThatBeginsLooksAtThem) {
  auto hold = FileHold::take(path);
  writeWhole(path, "one", &*hold);
  int look = open(partial.c_str(), O_CREAT | O_RDWR, 0600);
  ASSERT_EQ(flock(look, LOCK_EX), 0);
  std::thread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    fs::remove(partial);
    close(look);
  });
  writeWhole(path, "two", &*hold);
  ends.join();
  EXPECT_EQ(contents(path), "two");
}

TEST_F(Written, AreRefusedByNameHoweverOftenTheyAreReplaced) {
  auto hold = FileHold::take(path);
  std::atomic<bool> ends = false;
  std::thread replaces([&] {
    while (!ends)
      writeWhole(path, "one", &*hold);
  });
  for (int looks = 0; looks < 500; ++looks)
    EXPECT_EQ(FileHold::take(path).status().message(),
              path + ": " + self() + " is writing it");
  ends = true;
  replaces.join();
}

TEST_F(Written, StayHeldWhereTheFirstOneFails) {
  auto hold = FileHold::take(path);
  {
    auto file = AtomicFile::create(path, &*hold);
    ASSERT_TRUE(file.ok() && file->write("half", 4).ok());
  }
  EXPECT_FALSE(FileHold::take(path).ok());
  writeWhole(path, "whole", &*hold);
  EXPECT_EQ(contents(path), "whole");
}

TEST_F(Written, AreMadeThoughSomebodyRemovesWhatHoldsThem) {
  auto hold = FileHold::take(path);
  fs::remove(partial);
  {
    auto other = FileHold::take(path);
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_EQ(AtomicFile::create(path, &*hold).status().message(),
              path + ": " + self() + " is writing it");
  }
  writeWhole(path, "whole", &*hold);
  EXPECT_EQ(contents(path), "whole");
  EXPECT_EQ(names(), (std::set<std::string>{"a"}));
  EXPECT_FALSE(FileHold::take(path).ok()) << "it is held from there on";
}

TEST_F(Written, LeaveNothingWhereTheyWereOnlyHeld) {
  {
    auto hold = FileHold::take(path);
  }
  EXPECT_TRUE(names().empty());
}

TEST_F(Written, AreHeldBehindLinks) {
  writeWhole(path, "old");
  fs::create_symlink("a", folder + "/link");
  auto hold = FileHold::take(folder + "/link");
  EXPECT_FALSE(FileHold::take(path).ok());
  EXPECT_FALSE(linkFile(victim, path).ok());
}

TEST_F(Written, SayWhyTheyAreNotHeld) {
  auto hold = FileHold::take(folder + "/none/a");
  ASSERT_TRUE(hold.ok()) << hold.status();
  EXPECT_EQ(hold->weakness(),
            folder + "/none/a: cannot write: No such file or directory");
  EXPECT_EQ(FileHold::take(folder)->weakness(),
            folder + ": cannot write: it is a directory, not a file");
}

TEST_F(Written, AreFreeOnceTheirWriterWasKilled) {
  for (bool isThere : {false, true}) {
    if (isThere)
      writeWhole(path, "old");
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
      auto hold = FileHold::take(path);
      auto file = AtomicFile::create(path, &*hold);
      (void)!write(ready[1], hold.ok() && file.ok() ? "y" : "n", 1);
      pause();
    }
    char answer = 0;
    ASSERT_EQ(read(ready[0], &answer, 1), 1);
    ASSERT_EQ(answer, 'y');
    EXPECT_TRUE(FileHold::take(path).status().message().starts_with(
        path + ": process " + std::to_string(child)));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(fs::exists(partial));
    writeWhole(path, "new");
    EXPECT_EQ(names(), (std::set<std::string>{"a"}));
    for (int end : ready)
      close(end);
  }
}

TEST(LinkFile, GivesAFileAnotherName) {
  std::string path = writeFile({'a'}, "one"), other = temporaryPath("other");
  writeFile({'o'}, "other");
  for (int again = 0; again < 2; ++again) {
    ASSERT_TRUE(linkFile(path, other).ok());
    EXPECT_TRUE(std::filesystem::equivalent(path, other));
    EXPECT_FALSE(std::filesystem::exists(partialNameOf(other)));
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
