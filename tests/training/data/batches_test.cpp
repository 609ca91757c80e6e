// Batches: every sample of an epoch, in order or shuffled, and where to resume.

#include "tests/this_build.h"
#include "tests/training/data/files.h"
#include "tests/training/data/images.h"
#include "training/data/batches.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sys/resource.h>
#include <unistd.h>

using namespace gradus::data;
using namespace gradus::runtime;
using testing::ElementsAre;

namespace {

/// Samples 0..9 as i64, in batches of four.
struct Numbers {
  Folder folder;
  Dataset dataset = *Dataset::open(
      {"x=" +
       folder.write("x.npy", numbersFile({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}))});
  Feed feed = *Feed::match(
      dataset, {{"x", {DType::i64, {4}}, 32}, {"count", {DType::i64, {}}, 8}});
};

struct Batch {
  std::vector<int64_t> x;
  int64_t count;
};

std::vector<Batch> all(const Feed &feed, BatchOptions options) {
  Batches batches(feed, options);
  std::vector<Batch> result;
  while (const Chunk *chunk = batches.next())
    for (int64_t i = 0; i < chunk->count; ++i) {
      auto *x = static_cast<const int64_t *>(chunk->inputs[2 * i]);
      result.push_back(
          {{x, x + 4},
           *static_cast<const int64_t *>(chunk->inputs[2 * i + 1])});
    }
  return result;
}

/// Thirty JPEG and PNG images of unequal sizes in three classes.
struct Images {
  Images() {
    for (int64_t i = 0; i < 30; ++i) {
      std::string kind = i % 3 ? ".jpg" : ".png", name = std::to_string(i);
      std::filesystem::create_directories(folder.path(classOf(i)));
      Image image{20 + 7 * (i % 5), 60 - i, 3, {}};
      for (int64_t k = 0; k < image.width * image.height * 3; ++k)
        image.pixels.push_back(k * (i + 3) % 199);
      paths.push_back(folder.write(classOf(i) + "/" + name + kind,
                                   i % 3 ? jpegFile(image) : pngFile(image)));
    }
    dataset = *Dataset::open({folder.path("")});
    feed = *Feed::match(dataset,
                        {{"image", {DType::f32, {4, 3, 8, 8}}, 4 * 192 * 4},
                         {"label", {DType::i64, {4}}, 32}},
                        {},
                        {{"image",
                          {.mean = {0.5},
                           .resizedCrop = ResizedCrop(),
                           .crop = 1,
                           .flip = true}}});
  }
  static std::string classOf(int64_t i) { return {char('a' + i % 3)}; }

  Folder folder;
  std::vector<std::string> paths;
  Dataset dataset;
  std::optional<Feed> feed;
};

/// The bytes of the inputs of all batches; waits before it asks for the next.
std::vector<std::string> bytesOfAll(const Feed &feed, BatchOptions options,
                                    int waitMilliseconds = 0) {
  Batches batches(feed, options);
  std::vector<std::string> all;
  while (const Chunk *chunk = batches.next()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(waitMilliseconds));
    for (size_t i = 0; i < chunk->inputs.size(); ++i)
      all.emplace_back(static_cast<const char *>(chunk->inputs[i]),
                       feed.bytesOf(i % feed.inputCount()));
  }
  EXPECT_TRUE(batches.status().ok()) << batches.status();
  return all;
}

/// The number of batches before an error, and its words.
std::pair<size_t, std::string> untilError(const Feed &feed,
                                          BatchOptions options) {
  Batches batches(feed, options);
  size_t count = 0;
  while (batches.next())
    ++count;
  EXPECT_EQ(batches.next(), nullptr) << "after the error";
  return {count, wordsOf(batches.status())};
}

#if !GRADUS_SANITIZE // which takes memory of its own
/// Ends with what batches say where the process may have no more than `limit`
/// bytes of addresses.
[[noreturn]] void startWithin(size_t bytes, const Feed &feed) {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = bytes;
  setrlimit(RLIMIT_AS, &limit);
  Batches batches(feed, {.end = 1, .chunkBytes = 1});
  bool any = batches.next();
  std::fprintf(stderr, "%s\n", batches.status().message().c_str());
  std::exit(any ? 1 : 0);
}

/// Bytes of addresses that the process has now.
size_t addresses() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

/// A class of one image of 2^25 pixels, whose file is small.
struct LargeImage {
  LargeImage() {
    std::vector<uint8_t> pixels(size_t(1) << 25);
    std::filesystem::create_directories(folder.path("ant"));
    folder.write("ant/1.png", pngFile({8192, 4096, 1, std::move(pixels)}));
    dataset = *Dataset::open({folder.path("")});
  }
  Folder folder;
  Dataset dataset;
};
#endif

} // namespace

#if !GRADUS_SANITIZE
TEST(BatchesDeathTest, SayThatTheirThreadCannotStart) {
  // A new process, in which no other test has left the stack of a thread.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Numbers numbers;
  EXPECT_EXIT(startWithin(1 << 20, numbers.feed), testing::ExitedWithCode(0),
              "cannot start the thread that prepares batches, beside those of "
              "--threads: Resource temporarily unavailable");
}

TEST(BatchesDeathTest, SayThatASampleDoesNotFitIntoMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  LargeImage large;
  auto feed =
      Feed::match(large.dataset, {{"image", {DType::f32, {1, 1, 2, 2}}, 16}});
  ASSERT_TRUE(feed.ok()) << feed.status();
  // Enough for the thread.
  EXPECT_EXIT(startWithin(addresses() + (16 << 20), *feed),
              testing::ExitedWithCode(0),
              "cannot prepare a batch: out of memory");
}
#endif

TEST(Batches, PadTheLastBatchOfAnEvaluation) {
  Numbers numbers;
  EXPECT_EQ(Batches::perEpoch(numbers.feed, false), 3);
  auto batches = all(numbers.feed, {.end = 3});
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_THAT(batches[1].x, ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(batches[1].count, 4);
  EXPECT_THAT(batches[2].x, ElementsAre(8, 9, 0, 0));
  EXPECT_EQ(batches[2].count, 2);
}

TEST(Batches, LeaveOutWhatDoesNotFillABatchInTraining) {
  Numbers numbers;
  EXPECT_EQ(Batches::perEpoch(numbers.feed, true), 2);
  auto batches = all(numbers.feed, {.shuffle = true, .end = 2});
  ASSERT_EQ(batches.size(), 2u);
  std::set<int64_t> seen(batches[0].x.begin(), batches[0].x.end());
  seen.insert(batches[1].x.begin(), batches[1].x.end());
  EXPECT_EQ(seen.size(), 8u);
}

TEST(Batches, FillTheLastOneWithSamplesWhoseLabelsAreIgnored) {
  Folder folder;
  std::string path = folder.write("x.npy", numbersFile({0, 1, 2, 3, 4}));
  Dataset dataset = *Dataset::open({"x=" + path, "label=" + path});
  auto feed = Feed::match(
      dataset, {{"x", {DType::i64, {3}}, 24}, {"label", {DType::i64, {3}}, 24}},
      {{"label", {5, -100, {}}}});
  ASSERT_TRUE(feed.ok()) << feed.status();
  ASSERT_TRUE(feed->maskLastBatch().ok());
  EXPECT_EQ(Batches::perEpoch(*feed, true), 2);
  Batches batches(*feed, {.shuffle = true, .end = 2});
  const Chunk *chunk = batches.next();
  ASSERT_EQ(chunk->count, 2);
  auto valuesAt = [&](int place) {
    auto *values = static_cast<const int64_t *>(chunk->inputs[place]);
    return std::vector<int64_t>(values, values + 3);
  };
  std::vector<int64_t> first = valuesAt(0), last = valuesAt(2),
                       label = valuesAt(3);
  EXPECT_THAT(label, ElementsAre(last[0], last[1], -100));
  EXPECT_EQ(last[2], first[0]);
  std::set<int64_t> seen(first.begin(), first.end());
  seen.insert(last.begin(), last.end());
  EXPECT_EQ(seen.size(), 5u);
}

TEST(Batches, AugmentEachEpochAnew) {
  Folder folder;
  std::string path =
      folder.write("x.npy", npyFile("<f4", "1, 1, 8",
                                    bytesOf<float>({1, 2, 3, 4, 5, 6, 7, 8})));
  Dataset dataset = *Dataset::open({"x=" + path});
  auto feed = Feed::match(dataset, {{"x", {DType::f32, {1, 1, 8}}, 32}}, {},
                          {{"x", {.crop = 3}}});
  ASSERT_TRUE(feed.ok()) << feed.status();
  auto run = [&](int64_t first) {
    Batches batches(*feed, {.shuffle = true, .first = first, .end = 20});
    std::vector<float> values;
    while (const Chunk *chunk = batches.next())
      for (const void *x : chunk->inputs)
        values.push_back(static_cast<const float *>(x)[3]);
    return values;
  };
  std::vector<float> whole = run(0), rest = run(5);
  EXPECT_GT(std::set<float>(whole.begin(), whole.end()).size(), 2u);
  EXPECT_EQ(std::vector<float>(whole.begin() + 5, whole.end()), rest);
}

/// A chunk counts batches of all, and has the inputs of each turn.
TEST(Batches, HaveTheInputsOfAllTurns) {
  Numbers numbers;
  BatchOptions options{.shuffle = true, .deal = {0, 2, 2}, .end = 3};
  auto whole = all(numbers.feed, {.shuffle = true, .end = 2});
  Batches batches(numbers.feed, options);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    const Chunk *chunk = batches.next();
    ASSERT_TRUE(chunk);
    EXPECT_EQ(chunk->first, epoch) << "one batch of eight an epoch";
    EXPECT_EQ(chunk->count, 1);
    EXPECT_EQ(chunk->lastCount, 4);
    ASSERT_EQ(chunk->inputs.size(), 4u);
    for (size_t turn : {0, 1}) {
      auto *x = static_cast<const int64_t *>(chunk->inputs[2 * turn]);
      if (epoch == 0)
        EXPECT_EQ(std::vector<int64_t>(x, x + 4), whole[turn].x);
    }
  }
  EXPECT_EQ(batches.next(), nullptr);
  EXPECT_TRUE(batches.status().ok());
}

TEST(Batches, ContinueWhereARunWasInterrupted) {
  Numbers numbers;
  auto whole = all(numbers.feed, {.shuffle = true, .seed = 5, .end = 7});
  auto rest =
      all(numbers.feed, {.shuffle = true, .seed = 5, .first = 3, .end = 7});
  ASSERT_EQ(whole.size(), 7u);
  ASSERT_EQ(rest.size(), 4u);
  for (size_t i = 0; i < rest.size(); ++i)
    EXPECT_EQ(rest[i].x, whole[i + 3].x) << i;
}

TEST(Batches, OfManyChunksAreTheSame) {
  Numbers numbers;
  auto one = all(numbers.feed, {.shuffle = true, .end = 101, .chunkBytes = 1});
  auto many = all(numbers.feed, {.shuffle = true, .end = 101});
  ASSERT_EQ(one.size(), 101u);
  for (size_t i = 0; i < one.size(); ++i)
    EXPECT_EQ(one[i].x, many[i].x) << i;
}

TEST(Batches, CanBeLeftBeforeTheirEnd) {
  Numbers numbers;
  Batches batches(numbers.feed, {.end = 1000000});
  EXPECT_NE(batches.next(), nullptr);
}

TEST(Batches, ShowTheLastChunkOnceTheyHaveEnded) {
  Numbers numbers;
  Batches batches(numbers.feed, {.end = 30, .chunkBytes = 1});
  const Chunk *chunk = batches.next();
  ASSERT_NE(chunk, nullptr);
  batches.end();
  EXPECT_EQ(batches.threads(), 0u);
  auto *x = static_cast<const int64_t *>(chunk->inputs[0]);
  EXPECT_THAT(std::vector<int64_t>(x, x + 4), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(batches.next(), nullptr);
  EXPECT_TRUE(batches.status().ok());
}

TEST(Batches, AreTheSameForAnyNumberOfThreads) {
  Images images;
  BatchOptions options{.shuffle = true, .seed = 3, .end = 20, .chunkBytes = 1};
  auto one = bytesOfAll(*images.feed, options);
  ASSERT_EQ(one.size(), 40u);
  for (int threads : {2, 3, 7, 40}) {
    options.threads = threads;
    EXPECT_EQ(bytesOfAll(*images.feed, options), one) << threads;
  }
  options.chunkBytes = 1 << 16; // several batches
  EXPECT_EQ(bytesOfAll(*images.feed, options), one);
}

TEST(Batches, OfEvaluationAreTheSameForAnyNumberOfThreads) {
  Images images;
  auto one = bytesOfAll(*images.feed, {.end = 8, .chunkBytes = 1});
  ASSERT_EQ(one.size(), 16u);
  EXPECT_EQ(bytesOfAll(*images.feed, {.end = 8, .chunkBytes = 1, .threads = 5}),
            one);
}

TEST(Batches, ResumeWithAnotherNumberOfThreads) {
  Images images;
  BatchOptions options{.shuffle = true, .end = 20, .chunkBytes = 1};
  auto whole = bytesOfAll(*images.feed, options);
  options.first = 9;
  options.threads = 3;
  EXPECT_EQ(bytesOfAll(*images.feed, options),
            std::vector(whole.begin() + 18, whole.end()));
}

// Batches that are in use stay as they are while others are made.
TEST(Batches, WaitForASlowReader) {
  Images images;
  BatchOptions options{.shuffle = true, .end = 14, .chunkBytes = 1};
  auto whole = bytesOfAll(*images.feed, options);
  options.threads = 3;
  EXPECT_EQ(bytesOfAll(*images.feed, options, 3), whole);
}

TEST(Batches, HaveOneThreadWhereNothingIsScaled) {
  Numbers numbers;
  Batches numbersAlone(numbers.feed, {.end = 3, .threads = 4});
  EXPECT_EQ(numbersAlone.threads(), 1u);
  Images images;
  Batches scaled(*images.feed, {.end = 3, .threads = 4});
  EXPECT_EQ(scaled.threads(), 4u);
}

// What comes before it is whole; of several that fail it is the first.
TEST(Batches, ReportTheFirstErrorForAnyNumberOfThreads) {
  Images images;
  // Samples 11, 13 and 14: class a has ten, and b begins with 1, 10, 13.
  for (int i : {10, 16, 19})
    std::ofstream(images.paths[i]) << "GIF";
  std::string words = images.paths[10] + ": is neither a PNG nor a JPEG file";
  for (int threads : {1, 2, 3, 7, 40})
    for (size_t chunkBytes : {size_t(1), size_t(1) << 20}) {
      auto found =
          untilError(*images.feed,
                     {.end = 8, .chunkBytes = chunkBytes, .threads = threads});
      EXPECT_EQ(found.first, chunkBytes == 1 ? 2u : 0u) << threads;
      EXPECT_EQ(found.second, words) << threads;
    }
}

TEST(Batches, OfManyThreadsCanBeLeftBeforeTheirEnd) {
  Images images;
  for (int taken = 0; taken < 4; ++taken) {
    Batches batches(
        *images.feed,
        {.shuffle = true, .end = 1000000, .chunkBytes = 1, .threads = 5});
    for (int i = 0; i < taken; ++i)
      EXPECT_NE(batches.next(), nullptr);
  }
}
