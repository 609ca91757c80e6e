// Reads the recipe's `inputs` from the artifact: training, evaluation and
// prediction prepare data alike because they read the same text.

#include "tool/evaluate/data_options.h"

#include "runtime/well_known.h"
#include "tool/evaluate/evaluation.h"
#include "tool/evaluate/training_record.h"
#include "tool/failure.h"
#include "tool/foreign_file.h"
#include "tool/session/session_options.h"
#include "tool/text.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <cmath>

using namespace gradus::runtime;

namespace gradus::cli {

const char *const kDataFooter =
    R"(Data: one tensor per graph input under its own name, first axis = samples.
  FILE.safetensors, FILE.npz   tensors by name; u8 of rank 3 or more are pixels
  NAME=FILE.npz:ARRAY          one of its arrays, under another name
  NAME=FILE.npy, NAME=FILE     a NumPy array; IDX (MNIST), also .gz
  FILE.bin                     CIFAR-10 and -100: image and label
  NAME=FILE.bin, .u16, .u32    tokens (nanoGPT, llm.c): input NAME, and the label
                               one token further
  FOLDER                       images (PNG, JPEG) FOLDER/CLASS/..., and label: the
                               place of CLASS among the sorted names
  FILE.csv                     each column a tensor of its name
  NAME=FILE.csv:a,b,d..k       columns a, b and d to k as one tensor
The option repeats: other tensors join, those of one name are put one behind the
other along the samples. docs/data.md says more.)";

data::Dataset openData(const std::vector<std::string> &arguments) {
  for (const std::string &argument : arguments)
    refuseForeign(data::Dataset::pathOf(argument), Wanted::data);
  data::Dataset dataset = take(data::Dataset::open(arguments));
  for (const std::string &remark : dataset.remarks())
    warn(remark);
  return dataset;
}

void countClassesOf(const std::string &of, data::Dataset &dataset) {
  if (of.empty() || !dataset.classes())
    return;
  auto record = TrainingRecord::ofCheckpoint(of);
  if (record && !record->classes.empty())
    check(dataset.countClassesAs(record->classes, of));
}

/// A part of the recipe's `inputs`, by the name of the input.
static nlohmann::json inputsOf(const Session &session, const char *key) {
  nlohmann::json inputs =
      recipeOf(session).value("inputs", nlohmann::json::object());
  return inputs.value(key, nlohmann::json::object());
}

nlohmann::json normalizationOf(const Session &session) {
  return inputsOf(session, "normalize");
}

/// The crop in a JSON object; null and false mean none.
static std::optional<data::ResizedCrop>
resizedCrop(const nlohmann::json &bounds) {
  if (!bounds.is_object())
    return std::nullopt;
  data::ResizedCrop crop;
  crop.scale = bounds.value("scale", crop.scale);
  crop.ratio = bounds.value("ratio", crop.ratio);
  crop.scaledDecoding = bounds.value("decode", "scaled") == "scaled";
  return crop;
}

static data::Preparations preparations(const Session &session, Use use) {
  data::Preparations result;
  nlohmann::json normalize = normalizationOf(session),
                 augment = inputsOf(session, "augment");
  for (const auto &[name, numbers] : normalize.items()) {
    result[name].mean = numbers.value("mean", std::vector<float>{0});
    result[name].std = numbers.value("std", std::vector<float>{1});
  }
  if (use != Use::training)
    return result;
  for (const auto &[name, draws] : augment.items()) {
    result[name].resizedCrop =
        resizedCrop(draws.value("resized_crop", nlohmann::json()));
    result[name].crop = draws.value("crop", int64_t(0));
    result[name].flip = draws.value("flip", false);
  }
  return result;
}

/// A misspelt name would silently change nothing.
static void checkNames(const Session &session, const GraphInfo &graph,
                       const data::Preparations &preparations) {
  for (const auto &[name, unused] : preparations) {
    std::string inputs;
    bool known = false;
    for (const TensorInfo &input : graph.inputs) {
      known |= input.name == name;
      inputs += (inputs.empty() ? "" : ", ") + input.name;
    }
    if (!known)
      throw badInput(
          session.artifact().path(),
          ": the recipe's inputs.normalize or inputs.augment names '", name,
          "', but graph '", graph.name, "' has the inputs ", inputs);
  }
}

data::Feed matchData(const Session &session, int graph,
                     const data::Dataset &dataset, Use use) {
  const GraphInfo &info = session.graphs()[graph];
  data::Preparations prepared = preparations(session, use);
  checkNames(session, info, prepared);
  data::LabelRules labels =
      use == Use::prediction ? data::LabelRules() : labelRules(session);
  data::Feed feed =
      take(data::Feed::match(dataset, info.inputs, labels, prepared));
  for (const std::string &words : feed.notes())
    note(feed.source() + ": " + words);
  auto inputs = recipeOf(session).value("inputs", nlohmann::json::object());
  if (use == Use::training && inputs.value("last_batch", "drop") == "mask")
    check(feed.maskLastBatch());
  return feed;
}

void addValidationOption(CLI::App &command, double &part, CLI::Option *eval) {
  auto words = [](const std::string &text) -> std::string {
    double value;
    if (absl::SimpleAtod(text, &value) && value > 0 && value < 1)
      return "";
    return absl::StrCat("expected a number between 0 and 1, found ", text);
  };
  command
      .add_option("--validation", part,
                  "Keep this part of --data for tests, chosen "
                  "by the seed, instead of --eval")
      ->check(CLI::Validator(words, "PART"))
      ->excludes(eval);
}

/// Splits off `validation` of the samples, at least one on each side.
static void split(TrainingFeeds &feeds, const std::string &source,
                  double validation, uint64_t seed) {
  int64_t all = feeds.train.samples();
  if (all < 2)
    throw badInput(source, ": has 1 sample; --validation needs 2 or more");
  int64_t kept =
      std::clamp<int64_t>(std::llround(all * validation), 1, all - 1);
  feeds.test = feeds.test->part(seed, 0, kept);
  feeds.train = feeds.train.part(seed, kept, all - kept);
}

TrainingFeeds matchTraining(const Session &session,
                            const data::Dataset &training,
                            const data::Dataset &test, double validation,
                            uint64_t seed) {
  TrainingFeeds feeds{matchData(session, findGraph(session, well_known::kTrain),
                                training, Use::training),
                      std::nullopt};
  if (test.columns().empty() && validation == 0)
    return feeds;
  feeds.test = matchData(session, findGraph(session, well_known::kEvaluate),
                         validation > 0 ? training : test, Use::evaluation);
  if (validation > 0)
    split(feeds, training.source(), validation, seed);
  verifyEvaluates(*feeds.test, validation > 0
                                   ? absl::StrCat(training.source(),
                                                  " --validation ", validation)
                                   : test.source());
  return feeds;
}

} // namespace gradus::cli
