// Files that are cut short while they are mapped.

#include "tests/training/data/files.h"
#include "training/data/batches.h"
#include "training/data/guarded_read.h"

#include <csignal>
#include <cstdlib>

using namespace gradus::data;
using namespace gradus::runtime;
using testing::HasSubstr;

TEST(GuardedRead, ReadsWhatIsThere) {
  int value = 3, read = 0;
  EXPECT_TRUE(readsWhole([&] { read = value; }));
  EXPECT_EQ(read, 3);
}

TEST(GuardedRead, SaysWhichSampleOfWhichFileIsGone) {
  Folder folder;
  std::string path = folder.write(
      "x.npy", npyFile("<f4", "4096, 1", bytesOf(std::vector<float>(4096))));
  Dataset dataset = *Dataset::open({"x=" + path});
  Feed feed = *Feed::match(dataset, {{"x", {DType::f32, {4, 1}}, 16}});
  std::filesystem::resize_file(path, 4096);
  Batches batches(feed, {.end = 1024});
  while (batches.next()) {
  }
  EXPECT_THAT(wordsOf(batches.status()),
              HasSubstr(path + ": the file was cut short while it was read: "
                               "tensor 'x' lacks its sample "));
  float value = 0;
  void *places[] = {&value};
  EXPECT_TRUE(feed.copySample(0, 0, places).ok()) << "which is there yet";
}

TEST(GuardedRead, FailsToCountLabelsThatAreGone) {
  Folder folder;
  std::string x = folder.write(
      "x.npy", npyFile("<f4", "4096,", bytesOf(std::vector<float>(4096))));
  std::string label =
      folder.write("label.npy", npyFile("<i8", "4096,",
                                        bytesOf(std::vector<int64_t>(4096))));
  Dataset dataset = *Dataset::open({"x=" + x, "label=" + label});
  Feed feed = *Feed::match(
      dataset, {{"x", {DType::f32, {4}}, 16}, {"label", {DType::i64, {4}}, 32}},
      {{"label", {2, -100, {1, 3}}}});
  EXPECT_EQ(*feed.countedLabels(0, 4096), 4096);
  std::filesystem::resize_file(label, 4096); // a header of 128, 496 labels
  EXPECT_EQ(*feed.countedLabels(0, 496), 496) << "which are there yet";
  for (const Status &status : {feed.countedLabels(0, 4096).status(),
                               feed.labelWeight(0, 4096).status()})
    EXPECT_THAT(wordsOf(status),
                HasSubstr(x + ", " + label +
                          ": the file was cut short while it was read: tensor "
                          "'label' lacks its sample 496"));
}

TEST(GuardedRead, EndsWhereItIsToldTo) {
  int64_t calls = 0;
  auto count = [&](int64_t sample) { return ++calls, sample < 2; };
  EXPECT_TRUE(readSamples("x", 9, count).ok());
  EXPECT_EQ(calls, 3);
}

TEST(GuardedRead, FailsToLookThroughWhatIsGoneBeforeTheFirstStep) {
  Folder folder;
  std::string path =
      folder.write("label.npy", npyFile("<i8", "4096,",
                                        bytesOf(std::vector<int64_t>(4096))));
  Dataset dataset = *Dataset::open({"label=" + path});
  std::filesystem::resize_file(path, 4096); // a header of 128, 496 labels
  const Column &column = *dataset.find("label");
  const char *words = "the file was cut short while it was read: tensor "
                      "'label' lacks its sample 496";
  EXPECT_EQ(checkIntegers(column, {"label", {DType::i64, {4}}, 32},
                          {{"label", {2, {}, {}}}})
                .message(),
            words);
  EXPECT_EQ(
      checkIntegers(column, {"label", {DType::i64, {4}}, 32, /*indices=*/9}, {})
          .message(),
      words);
  EXPECT_EQ(countClasses(column, 2).status().message(), words);
  for (const LabelRule &rule : {LabelRule{2, {}, {}}, LabelRule{0, -100, {}}})
    EXPECT_EQ(wordsOf(Feed::match(dataset, {{"label", {DType::i64, {4}}, 32}},
                                  {{"label", rule}})
                          .status()),
              path + ": " + words);
}

TEST(GuardedRead, CopiesSamplesOrSaysWhichIsGone) {
  Folder folder;
  std::vector<int64_t> values(4096, 7), copied(4096);
  std::string path = folder.write("label.npy", numbersFile(values));
  Dataset dataset = *Dataset::open({"label=" + path});
  const Column &column = *dataset.find("label");
  auto *to = reinterpret_cast<uint8_t *>(copied.data());
  EXPECT_TRUE(copySamples("label", 4096, column.bytes, to).ok());
  EXPECT_EQ(copied, values);
  EXPECT_TRUE(copySamples("none", 0, {}, nullptr).ok());
  std::filesystem::resize_file(path, 4096); // a header of 128, 496 labels
  EXPECT_THAT(wordsOf(copySamples("label", 4096, column.bytes, to)),
              HasSubstr("tensor 'label' lacks its sample 496"));
}

TEST(GuardedRead, LeavesOtherFaultsAlone) {
  // A sanitizer reports the signal and exits.
  EXPECT_DEATH(
      {
        (void)readsWhole([] {});
        std::raise(SIGBUS);
        std::raise(SIGBUS);
        std::exit(0);
      },
      "");
}
