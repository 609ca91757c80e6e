// The first lines of training; the last ones are in training_summary.cpp.

#include "tool/train/training_outline.h"

#include "messages/json_text.h"
#include "tool/text.h"

#include "absl/strings/str_cat.h"

#include <cstdio>

using nlohmann::ordered_json;

namespace gradus::cli {

static ordered_json outlineJson(const TrainingOutline &outline,
                                const CheckpointOptions &checkpoint) {
  ordered_json object = {{"data", outline.data.toJson()}};
  if (outline.test)
    object["test_data"] = outline.test->toJson();
  object.update({{"from_step", outline.start},
                 {"to_step", outline.total},
                 {"ranks", outline.processes}});
  if (outline.data.ranks.areLogical)
    object["logical_ranks"] = outline.data.ranks.count;
  object.update({{"schedule", outline.schedule},
                 {"checkpoint", checkpoint.path},
                 {"remarks", outline.remarks}});
  return object;
}

static std::string stepsText(const TrainingOutline &outline) {
  std::string text = absl::StrCat(outline.total);
  if (int64_t each = outline.data.batches; outline.total % each == 0)
    absl::StrAppend(&text, " in ", outline.total / each,
                    outline.total == each ? " epoch" : " epochs");
  if (outline.start > outline.total)
    absl::StrAppend(&text, "; the state is at step ", outline.start,
                    " already");
  else if (outline.start > 0)
    absl::StrAppend(&text, ", ", outline.start, " of them done");
  return text;
}

static std::string checkpointText(const CheckpointOptions &checkpoint) {
  if (checkpoint.path.empty())
    return "none: what is trained is lost";
  return checkpoint.path + (checkpoint.isUnasked
                                ? " (--checkpoint FILE: elsewhere, "
                                  "--no-checkpoint: nowhere)"
                                : "");
}

void TrainingOutline::print(const TrainOptions &options) const {
  if (options.session.json) {
    printJson(outlineJson(*this, options.checkpoint));
  } else {
    Table table;
    if (!ranks.empty())
      table.row({"ranks", ranks});
    table.row({"data", data.trainingText()});
    if (test)
      table.row({"test data", test->evaluationText()});
    table.row({"steps", stepsText(*this)});
    if (!schedule.empty())
      table.row({"schedule", schedule});
    table.row({"checkpoint", checkpointText(options.checkpoint)});
    std::fputs(table.text().c_str(), stdout);
  }
  std::fflush(stdout);
}

} // namespace gradus::cli
