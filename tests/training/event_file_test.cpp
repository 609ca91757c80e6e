// Event files byte by byte; tests/training/event_file_test.py decodes
// those of whole runs.

#include "training/event_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <unistd.h>

using namespace gradus::training;

static std::string hex(const std::string &bytes) {
  std::string text;
  for (unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

TEST(Crc32c, IsThatOfTheStandard) {
  auto of = [](const std::string &text) {
    return crc32c(
        {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
  };
  EXPECT_EQ(of(""), 0u);
  EXPECT_EQ(of("123456789"), 0xe3069283u);
  EXPECT_EQ(of(std::string(32, '\0')), 0x8a9136aau); // RFC 3720, B.4
}

// As tensorboard 2.21's protobufs and RecordWriter write them.
TEST(EventFile, WritesWhatTensorBoardWrites) {
  EXPECT_EQ(hex(versionEvent(1.5)),
            "09000000000000f83f1a0d627261696e2e4576656e743a32");
  EXPECT_EQ(hex(restartEvent(2, 300)), "09000000000000004010ac023a020801");
  EXPECT_EQ(hex(scalarsEvent(2, 7, "train/", {{"loss", 0.5}, {"norm", -1}})),
            "09000000000000004010072a260a110a0a747261696e2f6c6f7373150000003f"
            "0a110a0a747261696e2f6e6f726d15000080bf");
  EXPECT_EQ(
      hex(eventRecord(versionEvent(1.5))),
      "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e74"
      "3a322a28646c");
}

TEST(EventFile, IsNewInItsFolder) {
  std::string folder =
      testing::TempDir() + "gradus_events." + std::to_string(getpid()) + "/run";
  std::filesystem::remove_all(folder);
  for (int runs = 1; runs <= 2; ++runs) {
    EventFile file = *EventFile::create(
        folder, runs == 1 ? std::nullopt : std::optional<int64_t>(4));
    file.scalars(5, "train/", {{"loss", 1}});
    file.flush();
    EXPECT_TRUE(file.isWhole());
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}),
              runs);
  }
  std::filesystem::remove_all(std::filesystem::path(folder).parent_path());
}

TEST(EventFile, SaysWhereItCannotWrite) {
  EXPECT_EQ(
      EventFile::create("/dev/null/events", std::nullopt).status().message(),
      "/dev/null/events: no file can be written in that folder");
}
