// Archives of arrays: what is written can be read, and damage is an error.

#include "frontends/data/formats.h"
#include "tests/frontends/data/files.h"
#include "tests/this_build.h"

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
      Dataset::open({GRADUS_SOURCE_DIR "/tests/frontends/data/deflated.npz"});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  auto values = valuesOf<int32_t>(dataset->find("x")->bytes);
  ASSERT_EQ(values.size(), 4096u);
  EXPECT_EQ(values[64], 1);
  EXPECT_EQ(values[4095], 63);
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
