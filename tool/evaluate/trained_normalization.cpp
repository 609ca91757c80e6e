// Compares what is computed: f32 numbers for each channel.

#include "tool/evaluate/trained_normalization.h"

#include "messages/json_text.h"
#include "messages/shell_word.h"
#include "tool/evaluate/data_options.h"
#include "tool/failure.h"
#include "tool/text.h"
#include "training/training_record.h"

#include <algorithm>
#include <set>
#include <vector>

using nlohmann::json;

namespace gradus::cli {

static bool isSame(std::vector<float> one, std::vector<float> other) {
  size_t channels = std::max(one.size(), other.size());
  for (std::vector<float> *numbers : {&one, &other})
    if (numbers->size() == 1)
      numbers->resize(channels, numbers->front());
  return one == other;
}

static bool isSame(const json &one, const json &other) {
  auto numbers = [](const json &input, const char *key, float without) {
    return input.value(key, std::vector<float>{without});
  };
  return isSame(numbers(one, "mean", 0), numbers(other, "mean", 0)) &&
         isSame(numbers(one, "std", 1), numbers(other, "std", 1));
}

std::string otherwiseNormalized(const json &one, const json &other) {
  std::set<std::string> inputs;
  for (const json *all : {&one, &other})
    for (const auto &[input, numbers] : all->items())
      inputs.insert(input);
  for (const std::string &input : inputs)
    if (!isSame(one.value(input, json::object()),
                other.value(input, json::object())))
      return input;
  return "";
}

/// The normalization recorded in the file of the state; null if there is none.
/// A `training` that is not ours may be in weights of other tools.
static json recordedIn(const SessionOptions &options) {
  if (trainedFile(options).empty())
    return json();
  auto record = training::TrainingRecord::ofCheckpoint(trainedFile(options));
  if (!record.ok() && !options.resume.empty())
    check(record.status());
  return record.ok() && *record ? (*record)->normalize : json();
}

/// Describes one input: "x normalized by {...}", "x as it is".
static std::string shown(const std::string &input, const json &normalize) {
  return normalize.contains(input) ? absl::StrCat(input, " normalized by ",
                                                  jsonText(normalize[input]))
                                   : absl::StrCat(input, " as it is");
}

void checkNormalization(const runtime::Session &session,
                        const SessionOptions &options) {
  const std::string &path = trainedFile(options);
  json before = recordedIn(options), now = normalizationOf(session);
  if (before.is_null())
    return;
  std::string input;
  try {
    input = otherwiseNormalized(before, now);
  } catch (const json::exception &) {
    throw badInput(path, ": says of `normalize` what no training writes there");
  }
  if (input.empty())
    return;
  std::string words =
      absl::StrCat(path, ": was trained with ", shown(input, before), ", but ",
                   session.artifact().path(), " takes ", shown(input, now),
                   " (inputs.normalize of the recipe)");
  if (options.resume.empty())
    return warn(words);
  throw badInput(words, "; compile with --set ",
                 quotedForShell("inputs.normalize=" + jsonText(before)),
                 ", or take its parameters alone with --init ",
                 shellWord(path));
}

} // namespace gradus::cli
