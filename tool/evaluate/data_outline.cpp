// Counts of data, as sentences and as JSON.

#include "tool/evaluate/data_outline.h"

#include "training/evaluation.h"

#include "absl/strings/str_cat.h"

namespace gradus::cli {

DataOutline DataOutline::ofTraining(const data::Feed &feed,
                                    const BatchRanks &ranks) {
  DataOutline outline;
  outline.samples = feed.samples();
  outline.classes = feed.classes();
  outline.batch = feed.batch() * ranks.count;
  outline.ranks = ranks;
  outline.batches =
      data::Batches::perEpoch(feed, /*shuffle=*/true, {0, ranks.count});
  int64_t places = outline.batches * outline.batch;
  outline.leftOut = std::max<int64_t>(0, feed.samples() - places);
  outline.filledUp = std::max<int64_t>(0, places - feed.samples());
  return outline;
}

DataOutline DataOutline::ofEvaluation(const data::Feed &feed) {
  DataOutline outline;
  int64_t counted = training::evaluatedSamples(feed);
  outline.samples = feed.samples();
  outline.classes = feed.classes();
  outline.batch = feed.batch();
  outline.batches = (counted + feed.batch() - 1) / feed.batch();
  outline.leftOut = feed.samples() - counted;
  outline.filledUp = outline.batches * feed.batch() - counted;
  return outline;
}

static std::string counted(int64_t count, const char *what,
                           const char *plural) {
  return absl::StrCat(count, " ", count == 1 ? what : plural);
}

/// The counts in words: "1437 samples in 10 classes, 44 batches of 32".
static std::string wholeText(const DataOutline &outline) {
  std::string text = counted(outline.samples, "sample", "samples");
  const data::ClassCount &classes = outline.classes;
  if (classes.known > 0 && classes.found < classes.known)
    absl::StrAppend(&text, " in ", classes.found, " of the model's ",
                    counted(classes.known, "class", "classes"));
  else if (classes.known > 0)
    absl::StrAppend(&text, " in ", counted(classes.found, "class", "classes"));
  return text + ", " + counted(outline.batches, "batch", "batches") +
         absl::StrCat(" of ", outline.batch);
}

std::string DataOutline::trainingText() const {
  std::string text = wholeText(*this);
  if (ranks.count > 1)
    absl::StrAppend(&text, " (", batch / ranks.count, " on each ",
                    ranks.areLogical ? "logical rank)" : "rank)");
  text += " an epoch";
  if (filledUp > 0)
    return text + absl::StrCat(", the last one with ", batch - filledUp);
  if (leftOut > 0)
    absl::StrAppend(&text, "; ",
                    counted(leftOut, "sample fills", "samples fill"),
                    " no batch and ", leftOut == 1 ? "is" : "are",
                    " left out, others in each epoch");
  return text;
}

std::string DataOutline::evaluationText() const {
  std::string text = wholeText(*this);
  if (filledUp > 0)
    return text + absl::StrCat(", the last one with ", batch - filledUp);
  if (leftOut > 0)
    absl::StrAppend(&text, "; the last ",
                    leftOut == 1 ? "sample fills no batch and does"
                                 : absl::StrCat(leftOut, " samples fill no "
                                                         "batch and do"),
                    " not count: the loss cannot leave padding out");
  return text;
}

nlohmann::ordered_json DataOutline::toJson() const {
  nlohmann::ordered_json object = {{"samples", samples}};
  if (classes.known > 0)
    object.update({{"classes", classes.found}, {"of_classes", classes.known}});
  object.update(
      {{"batch", batch}, {"batches", batches}, {"left_out", leftOut}});
  return object;
}

} // namespace gradus::cli
