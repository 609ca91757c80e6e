// Which files make a data set, and what is said of those that do not.

#include "tests/training/data/files.h"
#include "training/data/formats.h"

using namespace gradus::data;
using gradus::runtime::DType;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Dataset, NamesArraysThatHaveNoNameByTheArgument) {
  Folder folder;
  std::string x =
      folder.write("x.npy", npyFile("<f4", "2, 1", bytesOf<float>({1, 2})));
  std::string y = folder.write("y.npy", numbersFile({7, 8}));
  auto dataset = Dataset::open({"image=" + x, "label=" + y});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->contents(), "image 2x1xf32, label 2xi64");
  EXPECT_THAT(valuesOf<int64_t>(dataset->find("label")->bytes),
              ElementsAre(7, 8));
}

TEST(Dataset, AsksForANameWhereAFileHasNone) {
  Folder folder;
  std::string x =
      folder.write("x.npy", npyFile("<f4", "1,", bytesOf<float>({1})));
  EXPECT_THAT(wordsOf(Dataset::open({x}).status()),
              HasSubstr("write NAME=" + x));
}

TEST(Dataset, JoinsTensorsOfOneNameAlongTheirSamples) {
  Folder folder;
  std::string a =
      folder.write("a.npy", npyFile("<f4", "1,", bytesOf<float>({1})));
  std::string b =
      folder.write("b.npy", npyFile("<f4", "2,", bytesOf<float>({2, 3})));
  auto dataset = Dataset::open({"x=" + a, "x=" + b});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_THAT(valuesOf<float>(dataset->find("x")->bytes), ElementsAre(1, 2, 3));
}

TEST(Dataset, RefusesToJoinTensorsOfOtherShapes) {
  Folder folder;
  std::string a =
      folder.write("a.npy", npyFile("<f4", "1,", bytesOf<float>({1})));
  std::string b =
      folder.write("b.npy", npyFile("<f4", "1, 2", bytesOf<float>({2, 3})));
  EXPECT_THAT(wordsOf(Dataset::open({"x=" + a, "x=" + b}).status()),
              HasSubstr("'x' is 1x2xf32 and does not continue the 1xf32"));
}

TEST(Dataset, SaysWhichFormatsThereAre) {
  Folder folder;
  std::string path = folder.write("notes.txt", "hello, this is text");
  EXPECT_THAT(wordsOf(Dataset::open({path}).status()),
              HasSubstr(path + ": is not a data set: expected .safetensors"));
}

/// The number of times that a text contains another.
static int countIn(const std::string &text, const std::string &part) {
  int count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != text.npos; ++at)
    ++count;
  return count;
}

TEST(Dataset, PutsTheFileInFrontOfAnErrorOnce) {
  Folder folder;
  std::filesystem::create_directory(folder.path("empty"));
  std::string gzip("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
  for (const std::string &path :
       {folder.write("x.npy", "no"), folder.write("x.npz", "no"),
        folder.write("x.csv", ""), folder.write("x.bin", "no"),
        folder.write("x.u16", "n"), folder.write("x.gz", gzip),
        folder.write("x.safetensors", "no"), folder.path("empty"),
        folder.path("missing.csv")}) {
    bool isNamed = path.ends_with("u16") || path.ends_with("npy");
    std::string words =
        wordsOf(Dataset::open({isNamed ? "x=" + path : path}).status());
    EXPECT_TRUE(words.starts_with(path + ": ")) << words;
    EXPECT_EQ(countIn(words, path), 1) << words;
  }
}

TEST(Dataset, NamesAFileThatIsNotThere) {
  EXPECT_THAT(wordsOf(Dataset::open({"missing.npz"}).status()),
              HasSubstr("missing.npz"));
}

TEST(Dataset, TellsTokensFromCifarByTheirBytes) {
  Folder folder;
  std::string cifar = folder.write("c.bin", '\x03' + std::string(3072, 'a'));
  std::string tokens = folder.write("t.bin", std::string(3073 * 2, 'a'));
  EXPECT_EQ(Dataset::open({"image=" + cifar})->contents(),
            "image 1x3x32x32xu8, label 1xu8");
  auto dataset = Dataset::open({"ids=" + tokens});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->contents(), "ids 3073xu16");
  EXPECT_EQ(dataset->stream(), dataset->find("ids"));
}

TEST(Dataset, TakesColumnsOfTextAfterAColon) {
  Folder folder;
  std::string csv = folder.write("t.csv", "a=1,b,y\n1,2,3\n");
  auto dataset = Dataset::open({"x=" + csv + ":a=1,b", csv});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->contents(), "x 1x2xf64, a=1 1xf64, b 1xf64, y 1xf64");
  EXPECT_EQ(Dataset::pathOf("x=" + csv + ":a=1,b"), csv);
  EXPECT_THAT(wordsOf(Dataset::open({"x=" + csv}).status()),
              HasSubstr("write NAME=FILE.csv:COLUMN"));
}

TEST(Dataset, TakesOneArrayOfAnArchiveUnderAnotherName) {
  Folder folder;
  std::string path = folder.path("d.npz"), data = bytesOf<float>({1, 2});
  std::span<const uint8_t> bytes{reinterpret_cast<const uint8_t *>(data.data()),
                                 data.size()};
  ASSERT_TRUE(writeNpz(path, {{"x", {DType::f32, {2}}, bytes, nullptr},
                              {"y", {DType::f32, {2, 1}}, bytes, nullptr}})
                  .ok());
  auto dataset =
      Dataset::open({"image=" + path + ":y", "label=" + path + ":x"});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(dataset->contents(), "image 2x1xf32, label 2xf32");
  EXPECT_EQ(dataset->source(), path);
  EXPECT_EQ(Dataset::open({path + ":y"})->contents(), "y 2x1xf32");
  EXPECT_EQ(wordsOf(Dataset::open({"image=" + path + ":z"}).status()),
            path + ": has no array 'z'; it has x, y");
  EXPECT_THAT(wordsOf(Dataset::open({"image=" + path}).status()),
              HasSubstr("write it without image=, or image=" + path +
                        ":x for one of them"));
}

TEST(Dataset, GivesTheOnlyTensorOfAFileAnotherName) {
  Folder folder;
  std::string one = folder.path("one.npz"), two = folder.path("two.npz");
  std::string bytes = bytesOf<float>({1, 2});
  Column column{"x",
                {DType::f32, {2}},
                {reinterpret_cast<const uint8_t *>(bytes.data()), 8},
                nullptr};
  ASSERT_TRUE(writeNpz(one, {column}).ok());
  Column other = column;
  other.name = "y";
  ASSERT_TRUE(writeNpz(two, {column, other}).ok());
  EXPECT_EQ(Dataset::open({"z=" + one})->contents(), "z 2xf32");
  EXPECT_THAT(wordsOf(Dataset::open({"z=" + two}).status()),
              HasSubstr(two + ": its tensors have names of their own (x, y); "
                              "write it without z="));
}
