// A model reads what lies beside it, and nothing else.

#include "frontends/onnx/file/data_file.h"

#include "tests/frontends/onnx/small_model.h"

#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace gradus::testing;
using gradus::onnx::openDataFile;
using gradus::onnx::openRegularFile;
namespace fs = std::filesystem;

namespace {

void writeText(const fs::path &path, const std::string &text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

/// A folder with a model, its weights, and a file that is not its business.
class DataFile : public ::testing::Test {
protected:
  void SetUp() override {
    fs::remove_all(root);
    writeText(root / "model/sub/w.bin", "weights");
    writeText(root / "model/m.onnx", "");
    writeText(root / "modelled/secret", "secret"); // begins as the folder does
  }

  std::string read(const std::string &location,
                   const std::string &model = "model/m.onnx") {
    auto file = openDataFile(root / model, location);
    return file.ok() ? (*file)->getBuffer().str()
                     : std::string(file.status().message());
  }

  std::string outside(const std::string &name, const fs::path &place) {
    return "its data file \"" + name + "\" leads to " +
           fs::canonical(place).string() +
           ", which lies outside of the model's folder";
  }

  const fs::path root = temporaryFolder() + "data_file";
};

} // namespace

TEST_F(DataFile, IsReadInTheModelsFolder) {
  EXPECT_EQ(read("sub/w.bin"), "weights");
}

TEST_F(DataFile, MayBeALinkThatStaysInside) {
  fs::create_symlink("sub/w.bin", root / "model/link.bin");
  EXPECT_EQ(read("link.bin"), "weights");
}

// As in caches whose names are all links to one folder of contents.
TEST_F(DataFile, MayBeALinkToWhereTheModelLinks) {
  fs::create_directories(root / "names");
  fs::create_symlink("../model/m.onnx", root / "names/m.onnx");
  fs::create_symlink("../model/sub/w.bin", root / "names/w.bin");
  EXPECT_EQ(read("w.bin", "names/m.onnx"), "weights");
}

TEST_F(DataFile, MayLieBesideWhatTheModelsNameLinksTo) {
  fs::create_directories(root / "names");
  fs::create_symlink("../model/m.onnx", root / "names/m.onnx");
  EXPECT_EQ(read("sub/w.bin", "names/m.onnx"), "weights");
  writeText(root / "names/sub/w.bin", "nearer");
  EXPECT_EQ(read("sub/w.bin", "names/m.onnx"), "nearer");
  EXPECT_EQ(read("absent.bin", "names/m.onnx"),
            "its data file \"absent.bin\" is missing");
}

TEST_F(DataFile, IsMissing) {
  EXPECT_EQ(read("absent.bin"), "its data file \"absent.bin\" is missing");
  EXPECT_TRUE(
      absl::IsNotFound(openDataFile(root / "model/m.onnx", "a").status()));
}

TEST_F(DataFile, IsNoLinkThatLeadsOutside) {
  fs::create_symlink("../modelled/secret", root / "model/link.bin");
  EXPECT_EQ(read("link.bin"), outside("link.bin", root / "modelled/secret"));
}

TEST_F(DataFile, LiesInNoFolderThatLeadsOutside) {
  fs::create_directory_symlink("../modelled", root / "model/folder");
  EXPECT_EQ(read("folder/secret"),
            outside("folder/secret", root / "modelled/secret"));
}

TEST_F(DataFile, HasNoPathThatLeavesTheFolder) {
  for (const char *name : {"../modelled/secret", "sub/../../modelled/secret"})
    EXPECT_EQ(read(name), "its data file \"" + std::string(name) +
                              "\" lies outside of the model's folder");
  std::string absolute = root / "model/sub/w.bin";
  EXPECT_EQ(read(absolute), "its data file \"" + absolute +
                                "\" lies outside of the model's folder");
}

// Opening a pipe waits for whoever writes to it.
TEST_F(DataFile, IsNoPipe) {
  ASSERT_EQ(mkfifo((root / "model/pipe").c_str(), 0600), 0);
  EXPECT_EQ(read("pipe"), "its data file \"pipe\" is a pipe or a device, "
                          "expected a regular file");
}

TEST_F(DataFile, IsNoDevice) {
  fs::create_symlink("/dev/zero", root / "model/zero");
  EXPECT_EQ(read("zero"), outside("zero", "/dev/zero"));
}

TEST_F(DataFile, IsNoFolder) {
  EXPECT_EQ(read("sub"),
            "its data file \"sub\" is a folder, expected a regular file");
}

TEST_F(DataFile, IsNoLinkToItself) {
  fs::create_symlink("loop", root / "model/loop");
  EXPECT_EQ(read("loop"), "its data file \"loop\" cannot be opened: Too many "
                          "levels of symbolic links");
}

TEST_F(DataFile, HasAName) { EXPECT_EQ(read(""), "its data file has no name"); }

TEST_F(DataFile, IsAModelThatIsARegularFile) {
  EXPECT_EQ((*openRegularFile(root / "modelled/secret"))->getBuffer(),
            "secret");
  EXPECT_EQ(openRegularFile("/dev/zero").status().message(),
            "is a pipe or a device, expected a regular file");
  EXPECT_EQ(openRegularFile(root / "absent").status().message(),
            "cannot read this file: No such file or directory");
}

// As in a root that somebody made of a few libraries.
TEST_F(DataFile, NeedsNoProcToBeRead) {
  pid_t child = fork();
  if (!child) {
    if (unshare(CLONE_NEWUSER) || chroot(root.c_str()) || chdir("/"))
      _exit(77);
    auto file = openRegularFile("/model/sub/w.bin");
    auto folder = openRegularFile("/model");
    _exit(file.ok() && (*file)->getBuffer() == "weights" && !folder.ok() ? 0
                                                                         : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77)
    GTEST_SKIP() << "this system lets nobody have a root of their own";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
