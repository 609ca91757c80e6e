// Outputs that would destroy an input are refused under every name.

#include "tool/failure.h"
#include "tool/output_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace gradus::cli;
namespace fs = std::filesystem;

namespace {

struct OutputFiles : testing::Test {
  void SetUp() override {
    fs::create_directories(folder);
    std::ofstream(model) << "a model";
  }
  void TearDown() override { fs::remove_all(folder); }

  static std::string words(const std::vector<UsedFile> &outputs,
                           const std::vector<UsedFile> &inputs) {
    try {
      checkOutputFiles(outputs, inputs);
      return "fine";
    } catch (const Failure &failure) {
      EXPECT_EQ(failure.code, kBadInput);
      return failure.what();
    }
  }

  std::string folder = fs::temp_directory_path() /
                       ("gradus_output_files." + std::to_string(getpid()));
  std::string model = folder + "/model";
};

} // namespace

TEST_F(OutputFiles, MayBeAnyOthers) {
  EXPECT_EQ(words({{"-o", folder + "/new"}, {"--log", ""}},
                  {{"the model", model}, {"--recipe", ""}}),
            "fine");
}

TEST_F(OutputFiles, AreNotInputsUnderAnyName) {
  std::string link = folder + "/link", hard = folder + "/hard";
  fs::create_symlink(model, link);
  fs::create_hard_link(model, hard);
  for (const std::string &name : {model, link, hard, folder + "/./model"})
    EXPECT_EQ(words({{"-o", name}}, {{"the model", model}}),
              "-o " + name + ": is the same file as the model " + model +
                  "; write to another one");
}

TEST_F(OutputFiles, AreNotEachOther) {
  std::string one = folder + "/x", other = folder + "/y/../x";
  EXPECT_EQ(words({{"--outputs", one}, {"--checkpoint", other}}, {}),
            "--checkpoint " + other + ": is the same file as --outputs " + one +
                "; write to another one");
}

TEST_F(OutputFiles, AreNotMadeUnderTheNameOfAnother) {
  std::string output = folder + "/new", partial = output + ".gradus-partial";
  for (const std::string &name : {partial, folder + "/./new.gradus-partial"}) {
    std::string refusal = " " + name + ": has the name under which -o " +
                          output +
                          " is made before it is whole; give it another one";
    EXPECT_EQ(words({{"-o", output}}, {{"the model", name}}),
              "the model" + refusal);
    EXPECT_EQ(words({{"-o", output}, {"--log", name}}, {}), "--log" + refusal);
  }
  EXPECT_EQ(words({{"-o", output}}, {{"the model", output + ".partial"}}),
            "fine");
}

TEST_F(OutputFiles, AreMadeBesideWhatTheirLinksLeadTo) {
  std::string link = folder + "/link";
  fs::create_symlink("elsewhere", link);
  EXPECT_NE(words({{"-o", link}},
                  {{"the model", folder + "/elsewhere.gradus-partial"}}),
            "fine");
}

TEST_F(OutputFiles, AreComparedWithTheFilesOfDataArguments) {
  auto files = dataFiles("--data", {"image=a.npy", "b.npz", "c/d=e.bin"});
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0].path, "a.npy");
  EXPECT_EQ(files[1].path, "b.npz");
  EXPECT_EQ(files[2].path, "c/d=e.bin");
  EXPECT_EQ(files[2].role, "--data");
}

TEST_F(OutputFiles, AreTriedWithoutATrace) {
  checkWritable({folder + "/new", "", model});
  EXPECT_FALSE(fs::exists(folder + "/new"));
  EXPECT_EQ(fs::file_size(model), 7u);
  EXPECT_THROW(checkWritable({folder + "/none/new"}), Failure);
}

TEST_F(OutputFiles, ReportsHaveNamesOfPagesOrData) {
  checkReportName("a.html");
  checkReportName("a.json");
  EXPECT_THROW(checkReportName("a.txt"), Failure);
  EXPECT_THROW(checkReportName("html"), Failure);
}
