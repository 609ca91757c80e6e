// Files arrive unpacked, whether gzip packed them or not.

#include "tests/training/data/files.h"
#include "training/data/formats.h"

#include <zlib.h>

using namespace gradus::data;
using testing::HasSubstr;

/// How a list of 2^24 bytes begins.
static const std::string kIdx("\0\0\x08\x01\x01\0\0\0", 8);

static std::string gzip(const std::string &path, const std::string &bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), bytes.size());
  gzclose(file);
  return path;
}

TEST(FileBytes, UnpacksGzip) {
  Folder folder;
  auto file =
      readFile(gzip(folder.path("x.gz"), kIdx + std::string(99992, 'a') + "b"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->bytes.size(), 100001u);
  EXPECT_EQ(file->bytes.back(), 'b');
}

TEST(FileBytes, SaysThatGzipDataAreCorrupt) {
  Folder folder;
  std::string path =
      gzip(folder.path("x.gz"), kIdx + "some words to be packed, and more");
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(20)
      << "????";
  EXPECT_THAT(wordsOf(readFile(path).status()), HasSubstr("corrupt"));
}

TEST(FileBytes, RefusesAGzipFileThatIsCutOff) {
  Folder folder;
  std::string bytes = kIdx;
  for (int i = 0; i < 40000; ++i)
    bytes += char(i * i % 97);
  std::string path = gzip(folder.path("x.gz"), bytes);
  for (uintmax_t off : {1, 4, 8, 9, 100}) {
    std::string cut = folder.path("cut.gz");
    std::filesystem::copy_file(
        path, cut, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(cut, std::filesystem::file_size(cut) - off);
    EXPECT_THAT(wordsOf(readFile(cut).status()), HasSubstr("cut off")) << off;
  }
}

TEST(FileBytes, RefusesAGzipFileByItsFirstBytesWhereTheyAreNotIdx) {
  Folder folder;
  std::string path =
      gzip(folder.path("x.gz"), std::string(size_t(1) << 24, '\0'));
  // The file is cut off, which who reads to its end would see.
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_THAT(wordsOf(readFile(path).status()),
              HasSubstr(path + ": is a gzip file of other data than IDX"));
}

TEST(FileBytes, StopsUnpackingBehindWhatAHeaderSays) {
  Folder folder;
  std::string header("\0\0\x08\x01\0\0\0\x02", 8);
  std::string path =
      gzip(folder.path("x.gz"), header + std::string(1 << 22, 'a'));
  EXPECT_THAT(wordsOf(readFile(path).status()),
              HasSubstr("hold more than 24 bytes"));
}

TEST(FileBytes, ReadsSafetensorsByName) {
  Folder folder;
  std::string header =
      R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}} )";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  uint64_t size = header.size();
  std::string path =
      folder.write("x.safetensors",
                   bytesOf<uint64_t>({size}) + header + bytesOf<float>({3, 4}));
  auto columns = readSafetensorsColumns(path);
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_EQ((*columns)[0].name, "x");
  EXPECT_THAT(valuesOf<float>((*columns)[0].bytes), testing::ElementsAre(3, 4));
}
