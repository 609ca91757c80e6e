// Labels that are ignored or weigh more, in data sets and in batches.

#include "training/data/counted_labels.h"

#include <gtest/gtest.h>

using namespace gradus::data;
using gradus::runtime::DType;

namespace {

/// Three samples of two labels; -1 is none, and class 1 counts twice.
struct Labels {
  std::vector<int64_t> values = {0, 1, -1, 1, -1, -1};
  Column column{"label",
                {DType::i64, {3, 2}},
                {reinterpret_cast<const uint8_t *>(values.data()), 48},
                {}};
  CountedLabels labels{column,
                       {2, -1, {1, 2}},
                       {.index = 4, .dtype = DType::i64, .perSample = 2}};
};

} // namespace

TEST(CountedLabels, AreIntegersOfWhichSomeDoNotCountAlike) {
  LabelRule ignored{2, -1, {}}, weighed{2, {}, {1, 2}}, plain{2, {}, {}};
  EXPECT_TRUE(CountedLabels::areCounted(ignored, DType::i32));
  EXPECT_TRUE(CountedLabels::areCounted(weighed, DType::i64));
  EXPECT_FALSE(CountedLabels::areCounted(plain, DType::i64));
  EXPECT_FALSE(CountedLabels::areCounted(ignored, DType::f32));
}

TEST(CountedLabels, CountAndWeighThoseThatAreNotIgnored) {
  Labels of;
  EXPECT_EQ(*of.labels.count({}, 0, 3), 3);
  EXPECT_EQ(*of.labels.count({}, 1, 2), 1);
  EXPECT_EQ(*of.labels.weight({}, 0, 3), 5);
  SampleOrder part{Shuffle(7, -1, 3), 0};
  int64_t first = part.inWhole(0);
  EXPECT_EQ(*of.labels.count(part, 0, 1), *of.labels.count({}, first, 1));
}

TEST(CountedLabels, AreIgnoredInABatch) {
  Labels of;
  EXPECT_EQ(of.labels.input(), 4u);
  EXPECT_TRUE(of.labels.canBeIgnored());
  std::vector<int64_t> batch = {0, 1, 1, 1};
  EXPECT_EQ(of.labels.batchWeight(batch.data(), 2), 7);
  of.labels.ignore(batch.data(), 1, 2);
  EXPECT_EQ(batch, (std::vector<int64_t>{0, 1, -1, -1}));
  EXPECT_EQ(of.labels.batchWeight(batch.data(), 2), 3);
}
