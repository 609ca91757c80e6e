// What stands in a file of choices, and what is said of one that is wrong.

#include "frontends/compiler/tuning_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace gradus::compiler;

namespace {

struct TuningFiles : testing::Test {
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("gradus_tuning." + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string write(const std::string &text, const std::string &name = "f") {
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  }
  std::string words(const std::string &text) {
    auto read = readTuningFile(write(text));
    if (read.ok())
      return "fine";
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(read.status().message())
        .substr((folder / "f").string().size());
  }

  std::filesystem::path folder;
};

MeasuredChoice callOf(const char *call, const char *algorithm) {
  MeasuredChoice made;
  made.call = call;
  made.library = "cublaslt 130100";
  made.algorithm = algorithm;
  made.microseconds = 8;
  made.defaultMicroseconds = 10;
  return made;
}

} // namespace

TEST_F(TuningFiles, AreReadAsTheyAreWritten) {
  TuningFile file{"a card", {callOf("matmul 1", "x"), callOf("matmul 2", "y")}};
  TuningFile read = *readTuningFile(write(file.text()));
  EXPECT_EQ(read.card, "a card");
  ASSERT_EQ(read.choices.size(), 2u);
  EXPECT_EQ(read.choices[1].call, "matmul 2");
  EXPECT_EQ(read.choices[1].library, "cublaslt 130100");
  EXPECT_EQ(read.choices[1].algorithm, "y");
  EXPECT_EQ(read.choices[1].microseconds, 8);
  EXPECT_EQ(read.choices[1].defaultMicroseconds, 10);
  EXPECT_EQ(read.text(), file.text());
}

/// What was measured again takes the place of what stood there, or goes where
/// the library's choice is the fastest by now.
TEST_F(TuningFiles, AreBroughtUpToDate) {
  TuningFile file{"a card",
                  {callOf("1", "x"), callOf("2", "x"), callOf("3", "x")}};
  file.update(
      {callOf("2", "y"), callOf("3", ""), callOf("4", "z"), callOf("5", "")});
  std::string all;
  for (const MeasuredChoice &choice : file.choices)
    all += choice.call + choice.algorithm + " ";
  EXPECT_EQ(all, "1x 2y 4z ");
}

TEST_F(TuningFiles, GiveOneChoiceForACallAndACard) {
  std::string one = write(TuningFile{"a", {callOf("1", "x")}}.text(), "one"),
              two = write(TuningFile{"a", {callOf("1", "y")}}.text(), "two"),
              other =
                  write(TuningFile{"b", {callOf("1", "z")}}.text(), "other");
  auto choices = *readTuningFiles({one, two, other});
  ASSERT_EQ(choices.size(), 2u);
  EXPECT_EQ(choices[0].card, "a");
  EXPECT_EQ(choices[0].algorithm, "y");
  EXPECT_EQ(choices[1].card, "b");
}

TEST_F(TuningFiles, SayWhatIsWrong) {
  auto with = [](const std::string &choice) {
    return R"({"format": 1, "card": "a", "choices": [)" + choice + "]}";
  };
  std::string good = R"({"call": "1", "library": "l 1", "algorithm": "x"})";
  EXPECT_EQ(words(with(good)), "fine");
  EXPECT_EQ(words("{\n  \"format\": 1,\n"),
            ": expected JSON, as `gradus tune` writes it: parse error at line "
            "3, column 1: syntax error while parsing object key - unexpected "
            "end of input; expected string literal");
  EXPECT_EQ(words("[]"), ": found array, expected an object, as `gradus tune` "
                         "writes it");
  EXPECT_EQ(words("{}"),
            ": has no format, expected 1, as `gradus tune` writes it");
  EXPECT_EQ(words(R"({"format": 2})"), ": format is 2, expected 1");
  EXPECT_EQ(words(R"({"format": 1})"), ": has no card, expected a text");
  EXPECT_EQ(words(R"({"format": 1, "card": 3})"),
            ": card is 3, expected a text");
  EXPECT_EQ(words(R"({"format": 1, "card": "a"})"),
            ": has no choices, expected a list");
  EXPECT_EQ(words(R"({"format": 1, "card": "a", "choices": {}})"),
            ": choices is object, expected a list");
  EXPECT_EQ(words(with("7")), ": choices[0]: found 7, expected an object");
  EXPECT_EQ(words(with(good + R"(, {"call": "2", "library": "l 1"})")),
            ": choices[1]: has no algorithm, expected a text");
  EXPECT_EQ(words(with(good + ", " + good)),
            ": choices[1]: '1' stands twice; a call has one choice");
  EXPECT_EQ(words(with(R"({"call": "1", "library": "l 1", "algorithm": "x",
                           "microseconds": "8"})")),
            ": choices[0]: microseconds is \"8\", expected microseconds");
}

/// One that no plan could know would be passed over in silence.
TEST_F(TuningFiles, NameALibraryAndItsVersion) {
  for (std::string name : {"cudnn", "cudnn ", " 91900", "cudnn nine", "9 1 9"})
    EXPECT_EQ(words(R"({"format": 1, "card": "a", "choices": [{"call": "1",
                       "library": ")" +
                    name + R"(", "algorithm": "x"}]})"),
              ": choices[0]: library is \"" + name +
                  "\", expected a name and the number of its version, such "
                  "as \"cudnn 91900\"");
}

TEST_F(TuningFiles, AreFiles) {
  for (const std::string &path : {folder.string(), folder.string() + "/none"})
    EXPECT_EQ(readTuningFile(path).status().message(),
              path + ": cannot be read, expected a file that `gradus tune` has "
                     "written");
}
