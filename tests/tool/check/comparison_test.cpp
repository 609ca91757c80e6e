// A deviation counts against the tolerance that the case states for it.

#include "tool/check/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>
#include <unistd.h>

namespace gradus::check {
namespace {

namespace fs = std::filesystem;

const char *const kCase = R"({
  "files": [{"file": "m.onnx", "parameter_aliases": {"w": ["wT", "transposed"]}}],
  "grad0_global_l2": 5.0, "parameters_total": 6,
  "parameters": [{"name": "w", "shape": [2, 3], "grad0_l2": 9.539392014169456,
                  "grad0_first8": [1, 2, 3, 4, 5, 6],
                  "grad0_max_abs_dev_fp64": 0.005}],
  "batch_norm": [{"name": "bn"}],
  "runs": [{"id": "sgd", "optimizer": {"lr": 0.1}, "batch_order": [0, 1, 0, 1],
            "losses": [2.0, 1.0], "loss_after_on_batch0": 0.5,
            "loss_rtol": [0.01, 0.01, 0.1],
            "final_param_l2": {"w": 10.0}, "final_param_l2_rtol": 0.01}]})";

class ComparisonTest : public ::testing::Test {
protected:
  ComparisonTest() {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    std::ofstream(folder_ / "case.json") << kCase;
    recorded_.emplace(*RecordedCase::open(folder_));
    comparison_.emplace(*recorded_, "m.onnx", recorded_->run("sgd"));
  }
  ~ComparisonTest() override { fs::remove_all(folder_); }

  fs::path folder_ = fs::temp_directory_path() /
                     ("gradus_comparison_test." + std::to_string(getpid()));
  std::optional<RecordedCase> recorded_;
  std::optional<Comparison> comparison_;
};

TEST_F(ComparisonTest, TakesLossesRelatively) {
  EXPECT_EQ(comparison_->batches(), (std::vector<int>{0, 1, 0}));
  comparison_->loss(0, 2.019);
  comparison_->loss(2, 0.54);
  EXPECT_TRUE(comparison_->failures().empty());
  EXPECT_NEAR(comparison_->largest().ratio(), 0.95, 1e-9);
  comparison_->loss(1, 1.02);
  ASSERT_EQ(comparison_->failures().size(), 1u);
  EXPECT_EQ(comparison_->failures()[0].text(),
            "loss of step 1 is 1.02, expected 1 +- 0.01");
}

TEST_F(ComparisonTest, TransposesWhatTheFileHoldsTransposed) {
  comparison_->gradient("w", std::vector<double>{1, 4, 2, 5, 3, 6});
  EXPECT_TRUE(comparison_->failures().empty());
  comparison_->gradient("w", std::vector<double>{1, 2, 3, 4, 5, 6});
  ASSERT_FALSE(comparison_->failures().empty());
  EXPECT_EQ(comparison_->failures()[0].what, "gradient of w[2]");
}

/// What a comparison says of gradients beside those of a parameter, [2, 3],
/// whose float32 runs are within `noise` of float64.
static std::vector<Deviation> failuresOf(const fs::path &folder,
                                         const std::vector<double> &recorded,
                                         double noise,
                                         const std::vector<double> &found) {
  Json description = Json::parse(kCase);
  description["files"][0].erase("parameter_aliases");
  Json &parameter = description["parameters"][0];
  double squares = 0, largest = 0;
  for (double each : recorded) {
    squares += each * each;
    largest = std::max(largest, std::abs(each));
  }
  parameter["grad0_l2"] = std::sqrt(squares);
  parameter["grad0_first8"] = recorded;
  parameter["grad0_maxabs"] = largest;
  parameter["grad0_max_abs_dev_fp64"] = noise;
  std::ofstream(folder / "case.json") << description;
  RecordedCase opened = *RecordedCase::open(folder);
  Comparison comparison(opened, "m.onnx", opened.run("sgd"));
  comparison.gradient("w", found);
  return comparison.failures();
}

// The gradient and the noise of a layer of a Swin transformer: what it was off
// by was the order of a sum alone.
TEST_F(ComparisonTest, AllowsASumInAnotherOrder) {
  const std::vector<double> recorded = {0.014, -0.011, 0.006,
                                        0.003, 0.012,  -0.009};
  std::vector<double> found = recorded;
  found[0] += 2.9e-8;
  EXPECT_TRUE(failuresOf(folder_, recorded, 7.9e-9, found).empty());
  found[0] += 1e-7;
  EXPECT_FALSE(failuresOf(folder_, recorded, 7.9e-9, found).empty());
}

// The bias before a normalization, whose true gradient is zero.
TEST_F(ComparisonTest, AllowsNoiseWhereTheGradientIsZero) {
  const std::vector<double> recorded = {1e-9, -8e-10, 5e-10, 0, 7e-10, -2e-10};
  std::vector<double> found = recorded;
  found[3] = 1.1e-8;
  EXPECT_TRUE(failuresOf(folder_, recorded, 1.8e-9, found).empty());
  found[3] = 3e-8;
  EXPECT_FALSE(failuresOf(folder_, recorded, 1.8e-9, found).empty());
}

TEST_F(ComparisonTest, FindsTwoPartsInTenThousandOfOneColumn) {
  const std::vector<double> recorded = {0.014, -0.011, 0.006,
                                        0.003, 0.012,  -0.009};
  std::vector<double> found = recorded;
  found[1] *= 1.0002;
  found[4] *= 1.0002;
  std::set<std::string> failed;
  for (const Deviation &each : failuresOf(folder_, recorded, 7.9e-9, found))
    failed.insert(each.what);
  EXPECT_EQ(failed,
            (std::set<std::string>{"gradient of w[1]", "gradient of w[4]",
                                   "norm of gradient of w"}));
}

// Of full-size cases only the norm in f64 says how much f32 is off.
TEST_F(ComparisonTest, DerivesToleranceFromTheNormWhereNoneIsStated) {
  Json description = Json::parse(kCase);
  Json &parameter = description["parameters"][0];
  parameter.erase("grad0_max_abs_dev_fp64");
  parameter["grad0_l2_fp64"] = 9.539392014169456 * (1 + 5e-5);
  std::ofstream(folder_ / "case.json") << description;
  RecordedCase recorded = *RecordedCase::open(folder_);
  Comparison comparison(recorded, "m.onnx", recorded.run("sgd"));
  // sqrt(2 * 5e-5) is 1 %, and the typical element is 3.9.
  comparison.gradient("w", std::vector<double>{1.1, 4, 2, 5, 3, 6});
  EXPECT_TRUE(comparison.failures().empty());
  comparison.gradient("w", std::vector<double>{1.2, 4, 2, 5, 3, 6});
  EXPECT_FALSE(comparison.failures().empty());
}

TEST_F(ComparisonTest, CountsNotANumberAsWorst) {
  comparison_->loss(0, NAN);
  EXPECT_EQ(comparison_->failures().size(), 1u);
  EXPECT_TRUE(std::isinf(comparison_->largest().ratio()));
}

TEST_F(ComparisonTest, TakesFinalParametersByTheirNorm) {
  comparison_->finalParameter("w", std::vector<double>{0, 0, 6.05, 0, 8, 0});
  EXPECT_TRUE(comparison_->failures().empty());
  comparison_->finalParameter("w", std::vector<double>{0, 0, 6.5, 0, 8, 0});
  ASSERT_EQ(comparison_->failures().size(), 1u);
  EXPECT_EQ(comparison_->failures()[0].what, "norm of final w");
}

/// Two F32 tensors of one element.
static void writeStatistics(const fs::path &path, float mean, float variance) {
  std::string header =
      R"({"sgd.torch.bn.running_mean":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
      R"("sgd.torch.bn.running_var":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  uint64_t size = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(&size), sizeof size) << header;
  for (float value : {mean, variance})
    file.write(reinterpret_cast<const char *>(&value), sizeof value);
}

// A mean near 0 of values that spread by 10 is rounded as they are.
TEST_F(ComparisonTest, TakesARunningMeanByTheSpreadOfTheValues) {
  writeStatistics(folder_ / "expected.safetensors", 0, 100);
  RecordedCase recorded = *RecordedCase::open(folder_);
  Comparison comparison(recorded, "m.onnx", recorded.run("sgd"));
  std::vector<double> initial = {5};
  comparison.finalBuffer("bn.running_mean", initial, std::vector<double>{0.09});
  EXPECT_TRUE(comparison.failures().empty());
  comparison.finalBuffer("bn.running_mean", initial, std::vector<double>{0.11});
  EXPECT_EQ(comparison.failures().size(), 1u);
}

// The tolerance would be 0.1.
TEST_F(ComparisonTest, RefusesAStatisticThatNeverMoved) {
  writeStatistics(folder_ / "expected.safetensors", 0.05, 100);
  RecordedCase recorded = *RecordedCase::open(folder_);
  Comparison comparison(recorded, "m.onnx", recorded.run("sgd"));
  std::vector<double> zero = {0};
  comparison.finalBuffer("bn.running_mean", zero, std::vector<double>{0.03});
  EXPECT_TRUE(comparison.failures().empty());
  comparison.finalBuffer("bn.running_mean", zero, zero);
  EXPECT_EQ(comparison.failures().size(), 1u);
}

// A mean that is zero moves by rounding alone, and by half of that proves
// nothing.
TEST_F(ComparisonTest, AsksNoMoveOfAMeanThatIsZero) {
  writeStatistics(folder_ / "expected.safetensors", 1e-6, 100);
  RecordedCase recorded = *RecordedCase::open(folder_);
  Comparison comparison(recorded, "m.onnx", recorded.run("sgd"));
  std::vector<double> zero = {0};
  comparison.finalBuffer("bn.running_mean", zero, std::vector<double>{-1e-6});
  EXPECT_TRUE(comparison.failures().empty());
  comparison.finalBuffer("bn.running_mean", zero, std::vector<double>{3e-4});
  EXPECT_EQ(comparison.failures().size(), 1u);
}

/// The case with a running mean in which f32 runs are `drift` times its norm
/// apart.
static RecordedCase noisyCase(const fs::path &folder, double drift) {
  writeStatistics(folder / "expected.safetensors", 0, 100);
  Json description = Json::parse(kCase);
  description["runs"][0]["final_param_l2_drift_without_rtol"] = {
      {"bn.running_mean", drift}};
  std::ofstream(folder / "case.json") << description;
  return *RecordedCase::open(folder);
}

TEST_F(ComparisonTest, AsksOfNoiseOnlyThatItMoved) {
  RecordedCase recorded = noisyCase(folder_, 0.5);
  Comparison comparison(recorded, "m.onnx", recorded.run("sgd"));
  comparison.finalBuffer("bn.running_mean", std::vector<double>{20},
                         std::vector<double>{9});
  EXPECT_TRUE(comparison.failures().empty());
  comparison.finalBuffer("bn.running_mean", std::vector<double>{20},
                         std::vector<double>{20});
  EXPECT_EQ(comparison.failures().size(), 1u);
}

// Where f32 runs drift further than a statistic moves, so may ours.
TEST_F(ComparisonTest, AsksOfNoiseNoMoreThanItsDrift) {
  RecordedCase recorded = noisyCase(folder_, 0.5);
  Comparison comparison(recorded, "m.onnx", recorded.run("sgd"));
  std::vector<double> two = {2};
  comparison.finalBuffer("bn.running_mean", two, std::vector<double>{-14});
  EXPECT_TRUE(comparison.failures().empty());
  comparison.finalBuffer("bn.running_mean", two, std::vector<double>{-16});
  EXPECT_EQ(comparison.failures().size(), 1u);
}

TEST_F(ComparisonTest, RefusesAStatisticThatWasNeverWrittenHoweverNoisy) {
  RecordedCase recorded = noisyCase(folder_, 100);
  Comparison comparison(recorded, "m.onnx", recorded.run("sgd"));
  std::vector<double> two = {2};
  comparison.finalBuffer("bn.running_mean", two, std::vector<double>{2.01});
  EXPECT_TRUE(comparison.failures().empty());
  comparison.finalBuffer("bn.running_mean", two, two); // never written
  EXPECT_EQ(comparison.failures().size(), 1u);
}

// Winograd's algorithm rounds that much more.
TEST_F(ComparisonTest, AllowsMultiplesOfAllRounding) {
  for (double times : {1.0, 4.5}) {
    Comparison comparison(*recorded_, "m.onnx", recorded_->run("sgd"));
    comparison.roundsMore(times);
    comparison.loss(0, 2.01);
    EXPECT_NEAR(comparison.largest().ratio(), 0.5 / times, 1e-9);
    comparison.finalParameter("w", std::vector<double>{10.08, 0, 0, 0, 0, 0});
    EXPECT_NEAR(comparison.largest().ratio(), 0.8 / times, 1e-9);
    comparison.gradient("w", std::vector<double>{1, 4, 2, 5, 3, 6.036});
    EXPECT_NEAR(comparison.largest().ratio(), 0.9 / times, 1e-2);
  }
}

// However much is allowed, a statistic must have moved.
TEST_F(ComparisonTest, RefusesAStatisticThatStaysWhateverItAllows) {
  writeStatistics(folder_ / "expected.safetensors", 1, 1.0001);
  RecordedCase recorded = *RecordedCase::open(folder_);
  Comparison comparison(recorded, "m.onnx", recorded.run("sgd"));
  comparison.roundsMore(1e6);
  std::vector<double> one = {1};
  comparison.finalBuffer("bn.running_var", one, one);
  EXPECT_EQ(comparison.failures().size(), 1u);
}

TEST_F(ComparisonTest, NamesWhatIsCompared) {
  EXPECT_EQ(comparison_->parameters(), std::vector<std::string>{"w"});
  EXPECT_EQ(comparison_->buffers(),
            (std::vector<std::string>{"bn.running_mean", "bn.running_var"}));
}

} // namespace
} // namespace gradus::check
