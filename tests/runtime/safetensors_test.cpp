#include "runtime/safetensors.h"

#include "test_artifact.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

using namespace gradus::runtime;
using namespace gradus::test;

namespace {

std::vector<uint8_t> fileOf(const std::string &header, size_t data,
                            uint64_t size = ~uint64_t{0}) {
  if (size == ~uint64_t{0})
    size = header.size();
  std::vector<uint8_t> bytes(8);
  std::memcpy(bytes.data(), &size, 8);
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.resize(bytes.size() + data);
  return bytes;
}

/// What the reader says of a header before some bytes of data, without the
/// path.
std::string wordsFor(const std::string &header, uint64_t size = ~uint64_t{0},
                     size_t data = 8) {
  std::string path =
      writeFile(fileOf(header, data, size), "broken.safetensors");
  auto file = Safetensors::open(path);
  if (file.ok())
    return "ok";
  EXPECT_EQ(file.status().message().find(path + ": "), 0u);
  return file.status().message().substr(path.size() + 2);
}

std::span<const uint8_t> raw(const std::vector<float> &values) {
  return {reinterpret_cast<const uint8_t *>(values.data()), values.size() * 4};
}

} // namespace

TEST(Safetensors, ReadsWhatItWrote) {
  std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {7};
  std::string path = temporaryPath("both.safetensors");
  ASSERT_TRUE(writeSafetensors(path,
                               {{"b/ü\"", {DType::f32, {}}, raw(b)},
                                {"a", {DType::f32, {2, 3}}, raw(a)},
                                {"none", {DType::i64, {0, 4}}, {}}},
                               {{"step", "12"}})
                  .ok());
  auto file = Safetensors::open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_EQ(file->tensors().size(), 3u);
  EXPECT_EQ(file->metadata().at("step"), "12");
  const NamedTensor *tensor = file->find("a");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(toString(tensor->type), "2x3xf32");
  EXPECT_TRUE(
      std::equal(tensor->data.begin(), tensor->data.end(), raw(a).begin()));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data.data()) % 4, 0u);
  EXPECT_NE(file->find("b/ü\""), nullptr);
  EXPECT_EQ(file->find("c"), nullptr);
}

TEST(Safetensors, RefuseToHoldWhatWouldBeReadBackOtherwise) {
  std::vector<float> a = {1};
  std::string path = temporaryPath("unsaid.safetensors");
  auto written = [&](const std::string &name,
                     const std::map<std::string, std::string> &metadata) {
    Status status =
        writeSafetensors(path, {{name, {DType::f32, {}}, raw(a)}}, metadata);
    return status.message();
  };
  EXPECT_EQ(written("w\xE9", {}),
            path + ": the name of tensor 'w\\xE9' is not UTF-8");
  EXPECT_EQ(written("__metadata__", {}),
            path + ": the name of tensor '__metadata__' is the one that "
                   ".safetensors files keep for themselves");
  EXPECT_EQ(written("w", {{"program", "mod\xE9le"}}),
            path + ": __metadata__: program: mod\\xE9le is not UTF-8");
  EXPECT_EQ(written("w", {{"a\xC3", "\xA9"}}),
            path + ": __metadata__: a\\xC3: \\xA9 is not UTF-8");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Safetensors, RefuseSizesThatCannotBeCounted) {
  std::string path = temporaryPath("uncounted.safetensors");
  constexpr int64_t kMost = int64_t(1) << 59;
  auto written = [&](const std::vector<NamedTensor> &tensors) {
    return writeSafetensors(path, tensors).message();
  };
  EXPECT_EQ(written({{"w", {DType::f32, {kMost, 4}}, {}}}),
            path + ": tensor w is 576460752303423488x4xf32; expected sizes "
                   "whose bytes 64 bits can count");
  std::vector<NamedTensor> many;
  for (const char *name : {"a", "b", "c", "d"})
    many.push_back({name, {DType::f64, {kMost}}, {}});
  EXPECT_EQ(written(many),
            path + ": tensor d is 576460752303423488xf64; expected sizes whose "
                   "bytes 64 bits can count, together with the tensors before "
                   "it");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Safetensors, WritesTheSameBytesTwice) {
  std::vector<float> a = {1};
  std::string one = temporaryPath("one"), two = temporaryPath("two");
  for (const std::string &path : {one, two})
    ASSERT_TRUE(
        writeSafetensors(path, {{"a", {DType::f32, {1}}, raw(a)}}).ok());
  auto read = [](const std::string &path) {
    FILE *file = fopen(path.c_str(), "rb");
    std::string text(1000, 0);
    text.resize(fread(text.data(), 1, text.size(), file));
    fclose(file);
    return text;
  };
  EXPECT_EQ(read(one), read(two));
}

TEST(Safetensors, TakesAnEmptyFileOfTensors) {
  EXPECT_EQ(wordsFor("{}", 2, 0), "ok");
}

TEST(Safetensors, SaysThatTheFileIsCutShortOrHasMore) {
  const char *header =
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(wordsFor(header, ~uint64_t{0}, 8), "ok");
  EXPECT_EQ(wordsFor(header, ~uint64_t{0}, 5),
            "is cut short: it has 67 bytes, and its header says 70");
  EXPECT_EQ(wordsFor(header, ~uint64_t{0}, 9),
            "has bytes after its end: it has 71 bytes, and its header says 70");
}

TEST(Safetensors, SaysWhatIsWrong) {
  EXPECT_EQ(wordsFor("{}", 1 << 20), "is not a safetensors file, or is cut "
                                     "short: its header should have 1048576 "
                                     "bytes, and the file has 18");
  EXPECT_EQ(wordsFor("hello"),
            "is not a safetensors file: its header is not a JSON object");
  EXPECT_EQ(wordsFor("[1]"),
            "is not a safetensors file: its header is not a JSON object");
  EXPECT_EQ(wordsFor(R"({"a":1})"), "tensor a is not described by an object");
  EXPECT_EQ(wordsFor(R"({"a":{"shape":[2],"data_offsets":[0,8]}})"),
            "tensor a has no dtype");
  EXPECT_EQ(
      wordsFor(R"({"a":{"dtype":"F8","shape":[2],"data_offsets":[0,8]}})"),
      "tensor a has dtype F8, which is not one of F32, F64, F16, BF16, I8, U8, "
      "I32, "
      "I64, BOOL, I16, U16, U32, U64");
  EXPECT_EQ(
      wordsFor(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})"),
      "tensor a has a shape that is not a list of sizes");
  EXPECT_EQ(
      wordsFor(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[9,8]}})"),
      "tensor a has data_offsets that are not a begin and an end");
  EXPECT_EQ(
      wordsFor(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})"),
      "tensor a has 8 bytes of data, which is not the size of 1xf32");
  EXPECT_EQ(
      wordsFor(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
               R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})"),
      "tensors a and b overlap");
  EXPECT_EQ(wordsFor(R"({"__metadata__":{"a":1}})"),
            "__metadata__: a is not a string");
}
