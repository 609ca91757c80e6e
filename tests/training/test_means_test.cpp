// Figures of batches become those of all samples, weighed by what counts in
// each; how a whole test is run is tested in evaluation_test.cpp.

#include "training/test_means.h"

#include "tests/training/data/files.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace gradus;
using namespace gradus::training;
using testing::HasSubstr;

namespace {

/// Six samples with these labels, of which a batch has four; a label of -1 is
/// ignored.
struct Labels {
  explicit Labels(const std::vector<int64_t> &labels, bool tellsCount = true) {
    std::string path = folder.write(
        "label.npy", data::npyFile("<i8", std::to_string(labels.size()) + ",",
                                   data::bytesOf(labels)));
    set = *data::Dataset::open({"label=" + path});
    std::vector<runtime::TensorInfo> inputs = {
        {"label", {runtime::DType::i64, {4}}, 32, 0}};
    if (tellsCount)
      inputs.push_back({"count", {runtime::DType::i64, {}}, 8, 0});
    data::LabelRule rule;
    rule.classes = 3;
    rule.ignore = -1;
    rule.weights = {1, 3, 1};
    feed = *data::Feed::match(set, inputs, {{"label", rule}});
  }

  data::Folder folder;
  data::Dataset set;
  data::Feed feed;
};

} // namespace

TEST(TestMeans, LossesWeighByClassesAndOthersByLabels) {
  Labels labels({0, 1, -1, -1, 2, -1});
  TestMeans means({"loss", "accuracy"}, /*lossIsTotal=*/false);
  means.add(std::vector<double>{2, 0.5}, *shareOf(labels.feed, 0, 4));
  means.add(std::vector<double>{4, 1}, *shareOf(labels.feed, 4, 2));
  EXPECT_DOUBLE_EQ(means.share().labels, 3);
  EXPECT_DOUBLE_EQ(means.share().weight, 5);
  EXPECT_DOUBLE_EQ(means.figures()[0].value, (2 * 4 + 4 * 1) / 5.0);
  EXPECT_DOUBLE_EQ(means.figures()[1].value, (1 + 1) / 3.0);
}

TEST(TestMeans, ATotalLossIsOneOverAllSamples) {
  TestMeans means({"loss"}, /*lossIsTotal=*/true);
  means.add(std::vector<double>{2}, {4, 4});
  means.add(std::vector<double>{4}, {2, 2});
  EXPECT_DOUBLE_EQ(means.figures()[0].value, 6);
}

TEST(TestMeans, CountsOfLabelsAreExact) {
  TestMeans means({"accuracy"}, /*lossIsTotal=*/false);
  means.add(std::vector<double>{1 / 3.0f}, {3, 3});
  means.add(std::vector<double>{2 / 3.0f}, {3, 3});
  EXPECT_EQ(means.figures()[0].value, 0.5);
}

TEST(TestMeans, ABatchWithoutALabelThatCountsHasNoValue) {
  TestMeans means({"loss"}, /*lossIsTotal=*/false);
  means.add(std::vector<double>{std::nan("")}, {0, 0});
  means.add(std::vector<double>{3}, {1, 2});
  EXPECT_EQ(means.figures()[0].value, 3);
}

TEST(TestMeans, OnlyFullBatchesCountWhereAGraphCannotLeaveSamplesOut) {
  EXPECT_EQ(evaluatedSamples(Labels({0, 1, 0, 2, 2, 1}).feed), 6);
  EXPECT_EQ(evaluatedSamples(Labels({0, 1, 0, 2, 2, 1}, false).feed), 4);
}

TEST(TestMeans, AnEmptyDataSetCannotBeTested) {
  Labels labels({-1, -1, 0, -1});
  EXPECT_TRUE(verifyEvaluates(labels.feed, "label.npy").ok());
  EXPECT_THAT(verifyEvaluates(labels.feed.part(0, 0, 0), "label.npy").message(),
              HasSubstr("label.npy: 0 samples do not fill a batch of 4"));
}
