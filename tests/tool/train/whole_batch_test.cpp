// What is said where samples fill no batch.

#include "tool/train/whole_batch.h"

#include "tests/training/data/files.h"

using namespace gradus;
using namespace gradus::cli;

namespace {

/// Five samples, in batches of four.
struct Few {
  data::Folder folder;
  data::Dataset dataset = *data::Dataset::open(
      {"x=" + folder.write("x.npy", data::numbersFile({0, 1, 2, 3, 4}))});
  data::Feed feed =
      *data::Feed::match(dataset, {{"x", {runtime::DType::i64, {4}}, 32}});

  std::string words(double validation, const BatchRanks &ranks) const {
    return noWholeBatch(feed, "x.npy", validation, ranks).what();
  }
};

} // namespace

TEST(WholeBatch, IsAskedForInWordsOfTheRun) {
  Few few;
  EXPECT_EQ(few.words(0, {}),
            "x.npy: has 5 samples, but one batch takes 4; compile with --dim "
            "batch=5 or less");
  EXPECT_EQ(few.words(0.5, {}),
            "--validation 0.5: leaves 5 of the samples of x.npy to train on, "
            "but one batch takes 4; keep a smaller part for tests, or compile "
            "with --dim batch=5 or less");
  EXPECT_EQ(few.words(0, {2}),
            "x.npy: has 5 samples, but one step takes 4 on each of 2 ranks; "
            "train on fewer, or compile with --dim batch=2 or less");
  EXPECT_EQ(few.words(0, {2, /*areLogical=*/true}),
            "x.npy: has 5 samples, but one step takes 4 on each of 2 logical "
            "ranks; compile with fewer (distribution.logical_ranks), or with "
            "--dim batch=2 or less");
  EXPECT_EQ(few.words(0, {8, /*areLogical=*/true}),
            "x.npy: has 5 samples, but one step takes 4 on each of 8 logical "
            "ranks; compile with fewer (distribution.logical_ranks)");
}
