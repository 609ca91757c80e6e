// Opens data and says what is to be noted of it.

#include "tool/evaluate/data_options.h"

#include "runtime/well_known.h"
#include "tool/failure.h"
#include "tool/foreign_file.h"
#include "tool/number_options.h"
#include "tool/session/session_options.h"
#include "tool/text.h"
#include "training/evaluation.h"
#include "training/training_record.h"

#include "absl/strings/str_cat.h"

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

void countClassesAs(const std::vector<std::string> &classes,
                    const std::string &of, data::Dataset &dataset) {
  if (!classes.empty() && dataset.classes())
    check(dataset.countClassesAs(classes, of));
}

data::Feed matchData(const Session &session, int graph,
                     const data::Dataset &dataset, Use use) {
  data::Feed feed = take(training::feedOf(session, graph, dataset, use));
  for (const std::string &words : feed.notes())
    note(feed.source() + ": " + words);
  return feed;
}

void addValidationOption(CLI::App &command, double &part, CLI::Option *eval) {
  command
      .add_option("--validation", part,
                  "Keep this part of --data for tests, chosen "
                  "by the seed, instead of --eval")
      ->check(betweenZeroAndOne())
      ->excludes(eval);
}

TrainingFeeds matchTraining(const Session &session, const data::Dataset &set,
                            const data::Dataset &test, double validation,
                            uint64_t seed) {
  TrainingFeeds feeds{matchData(session, findGraph(session, well_known::kTrain),
                                set, Use::training),
                      std::nullopt};
  if (test.columns().empty() && validation == 0)
    return feeds;
  feeds.test = matchData(session, findGraph(session, well_known::kEvaluate),
                         validation > 0 ? set : test, Use::evaluation);
  if (validation > 0 && feeds.train.samples() < 2)
    throw badInput(set.source(),
                   ": has 1 sample; --validation needs 2 or more");
  if (validation > 0)
    check(feeds.split(set.source(), validation, seed));
  check(training::verifyEvaluates(
      *feeds.test,
      validation > 0 ? absl::StrCat(set.source(), " --validation ", validation)
                     : test.source()));
  return feeds;
}

} // namespace gradus::cli
