// Archives of arrays: what is written can be read, and damage is an error.

#include "tests/this_build.h"
#include "tests/training/data/files.h"
#include "training/data/formats.h"

#include <zlib.h>

using namespace gradus::data;
using gradus::runtime::DType;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

struct Archive {
  Folder folder;
  std::string path = folder.path("x.npz");
  std::string data = bytesOf<float>({1, 2, 3});

  Archive() {
    std::span<const uint8_t> bytes{
        reinterpret_cast<const uint8_t *>(data.data()), data.size()};
    EXPECT_TRUE(writeNpz(path, {{"a", {DType::f32, {3}}, bytes, nullptr},
                                {"b.c", {DType::f32, {1, 3}}, bytes, nullptr}})
                    .ok());
  }

  std::string text() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

gradus::runtime::StatusOr<std::vector<Column>> parse(const std::string &text) {
  auto owner = std::make_shared<std::vector<uint8_t>>(text.begin(), text.end());
  return readNpz({*owner, owner});
}

std::string deflated(const std::string &bytes) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
  stream.avail_in = bytes.size();
  stream.next_out = reinterpret_cast<Bytef *>(packed.data());
  stream.avail_out = packed.size();
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

template <typename T> std::string raw(T value) { return bytesOf<T>({value}); }

/// An archive of one member x.npy, packed by a method of zip: 0 or 8 (deflate).
std::string archive(uint16_t method, const std::string &packed,
                    uint32_t unpacked) {
  std::string fields = raw<uint16_t>(20) + raw<uint16_t>(0) +
                       raw<uint16_t>(method) + raw<uint32_t>(0) +
                       raw<uint32_t>(0) + raw<uint32_t>(packed.size()) +
                       raw(unpacked) + raw<uint16_t>(5) + raw<uint16_t>(0);
  std::string local = "PK\3\4" + fields + "x.npy" + packed,
              entry = "PK\1\2" + raw<uint16_t>(20) + fields +
                      std::string(14, '\0') + "x.npy";
  return local + entry + "PK\5\6" + raw<uint32_t>(0) + raw<uint16_t>(1) +
         raw<uint16_t>(1) + raw<uint32_t>(entry.size()) +
         raw<uint32_t>(local.size()) + raw<uint16_t>(0);
}

} // namespace

TEST(Npz, ReadsWhatItWrote) {
  auto columns = parse(Archive().text());
  ASSERT_TRUE(columns.ok()) << columns.status();
  ASSERT_EQ(columns->size(), 2u);
  EXPECT_EQ((*columns)[1].name, "b.c");
  EXPECT_THAT(valuesOf<float>((*columns)[1].bytes), ElementsAre(1, 2, 3));
}

TEST(Npz, UnpacksDeflatedArrays) {
  // numpy.savez_compressed("deflated.npz", x=numpy.arange(4096, dtype="i4") //
  // 64)
  auto dataset =
      Dataset::open({GRADUS_SOURCE_DIR "/tests/training/data/deflated.npz"});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  auto values = valuesOf<int32_t>(dataset->find("x")->bytes);
  ASSERT_EQ(values.size(), 4096u);
  EXPECT_EQ(values[64], 1);
  EXPECT_EQ(values[4095], 63);
}

TEST(Npz, RefusesBytesBehindAnArray) {
  std::string array = npyFile("<f4", "1,", "....");
  for (const std::string &more : {"", "."}) {
    std::string file = array + more;
    for (const std::string &zip : {archive(0, file, file.size()),
                                   archive(8, deflated(file), file.size())})
      EXPECT_EQ(wordsOf(parse(zip).status()),
                more.empty() ? "" : "array 'x' is 1xf32 but 5 bytes follow");
  }
}

TEST(Npz, RefusesAFloodByItsFirstBytes) {
  std::string flood =
      npyFile("<f4", "1,", "....") + std::string(size_t(1) << 24, '\0');
  std::string packed = deflated(flood);
  // Who unpacks it all finds it damaged.
  std::fill(packed.begin() + packed.size() / 2, packed.end(), '\xff');
  EXPECT_EQ(wordsOf(parse(archive(8, packed, flood.size())).status()),
            "array 'x' is 1xf32 but 16777220 bytes follow");
}

TEST(Npz, RefusesEveryTruncation) {
  std::string text = Archive().text();
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(parse(text.substr(0, size)).ok()) << size;
}

TEST(Npz, SurvivesEveryChangedByte) {
  std::string text = Archive().text();
  for (size_t i = 0; i < text.size(); ++i)
    for (char change : {'\x01', '\x80', '\xff'}) {
      std::string changed = text;
      changed[i] ^= change;
      auto columns = parse(changed); // an error or an array, never a crash
      if (columns.ok())
        EXPECT_LE(columns->size(), 2u);
    }
}
