// The options of training, their help, and checks of their combinations.

#include "tool/train/train_options.h"

#include "runtime/file.h"
#include "tool/evaluate/data_options.h"
#include "tool/failure.h"
#include "tool/number_options.h"
#include "tool/output_files.h"
#include "tool/session/shared_artifact.h"
#include "training/best_metric.h"

#include "absl/strings/strip.h"

namespace gradus::cli {

static constexpr const char *kFooter =
    R"(Samples of an epoch that do not fill a batch are left out (or masked, by the
recipe's inputs.last_batch); the order is new in each epoch, so they are others
each time.

Examples:
  gradus train lenet.gradus --data train.safetensors --eval test.safetensors \
      --epochs 20 --checkpoint short.safetensors
  gradus train lenet.gradus --data train.safetensors --eval test.safetensors \
      --epochs 40 --checkpoint short.safetensors --resume short.safetensors
  gradus train lenet.gradus --data train.safetensors --eval test.safetensors \
      --epochs 100 --checkpoint long.safetensors --checkpoint-every 1epoch \
      --keep 3 --best accuracy --patience 10
  gradus train gpt2.gradus --data input_ids=train.bin --validation 0.01 \
      --steps 5000 --eval-every 250steps --best loss --checkpoint gpt2.safetensors
  gradus train mnist.gradus --data image=train-images-idx3-ubyte.gz \
      --data label=train-labels-idx1-ubyte.gz --steps 10000)";

using training::Interval;

static CLI::Validator interval() {
  auto words = [](const std::string &text) -> std::string {
    if (Interval::parse(text))
      return "";
    return "expected 500steps, 2epochs, 30s, 10min or 2h; a number alone is "
           "seconds; found " +
           text;
  };
  return CLI::Validator(words, "INTERVAL");
}

/// Seconds would test different states in each run.
static CLI::Validator testInterval() {
  auto words = [](const std::string &text) -> std::string {
    auto every = Interval::parse(text);
    if (every && every->unit != Interval::Unit::seconds)
      return "";
    return "expected 500steps or 2epochs; found " + text;
  };
  return CLI::Validator(words, "INTERVAL");
}

static void addCheckpointOptions(CLI::App &command, TrainOptions &options) {
  CLI::Option *checkpoint = command.add_option(
      "--checkpoint", options.checkpoint.path,
      "Write the state here (beside the artifact, as NAME.safetensors): at the "
      "end, when interrupted, and");
  CLI::Option *none =
      command
          .add_flag("--no-checkpoint", options.checkpoint.isNone,
                    "Write it nowhere: what was trained is lost")
          ->excludes(checkpoint);
  command
      .add_option("--checkpoint-every", options.checkpoint.every,
                  "after so much: 500steps, 2epochs, 10min, 30s (30s)")
      ->check(interval())
      ->excludes(none);
  command
      .add_option("--keep", options.checkpoint.keep,
                  "Keep the last K, as FILE.stepN beside it")
      ->check(positive())
      ->excludes(none)
      ->type_name("K");
  command.add_option("--best", options.test.best,
                     "Keep the best by METRIC[:max|:min] of --eval, as "
                     "FILE.best beside it");
  command
      .add_option("--patience", options.test.patience,
                  "Stop after N evaluations that --best finds no better")
      ->check(positive())
      ->type_name("N");
  command
      .add_option_function<std::string>(
          "--on-checkpoint-error",
          [&options](const std::string &word) {
            options.checkpoint.goOn = word == "continue";
          },
          "Where one cannot be written: continue or stop (stop)")
      ->check(CLI::IsMember({"continue", "stop"}))
      ->excludes(none);
  command.add_flag("--overwrite", options.overwrite,
                   "Replace checkpoints and a log that another run has left");
}

static void addDataOptions(CLI::App &command, TrainOptions &options) {
  command
      .add_option("--data", options.data,
                  "Training data: FILE or NAME=FILE; repeats")
      ->required()
      ->allow_extra_args(false);
  auto *eval = command
                   .add_option("--eval", options.test.data,
                               "Test data, evaluated after each epoch; repeats")
                   ->allow_extra_args(false);
  command
      .add_option("--eval-every", options.test.every,
                  "Evaluate after so much instead, and at the end: 500steps, "
                  "2epochs")
      ->check(testInterval());
  addValidationOption(command, options.test.validation, eval);
  addDataThreads(command, options.session);
  command.add_flag("--ema", options.test.averaged,
                   "Test, and judge by --best, the averages of the weights");
  auto *epochs =
      command.add_option("--epochs", options.epochs,
                         "Epochs in all, those before --resume included (1)");
  command
      .add_option("--steps", options.steps, "Steps in all, instead of epochs")
      ->check(positive())
      ->excludes(epochs);
  epochs->check(positive());
  command
      .add_option("--set", options.set,
                  "KEY=NUMBER over the recipe's, such as "
                  "optimizer.learning_rate=0.05; kept in checkpoints; repeats")
      ->allow_extra_args(false);
  command
      .add_option("--seed", options.seed,
                  "Of the samples' order (the checkpoint's or recipe's)")
      ->check(wholeNumber(0, std::numeric_limits<uint64_t>::max()));
}

void addTrainOptions(CLI::App &command, TrainOptions &options) {
  command.footer(std::string(kDataFooter) + "\n" + kFooter);
  addSessionOptions(command, options.session);
  addStateOptions(command, options.session);
  addRankOptions(command, options.ranks);
  addDataOptions(command, options);
  addCheckpointOptions(command, options);
  command.add_option("--log", options.log,
                     "Write a JSON line per step and epoch");
  command.add_option("--tensorboard", options.tensorboard,
                     "Write an event file for TensorBoard in this folder");
  command
      .add_option(
          "--report", options.report,
          "FILE.html: a page of the run, written at its end, however it "
          "ends: curves, confusions, the worst samples, speed, memory; "
          "FILE.json: its data")
      ->type_name("FILE");
  command
      .add_option("--watch", options.watch,
                  "Log mean, std, min, max and what is not finite of a "
                  "parameter and its gradient, of another state, or of what a "
                  "node of the model computes; repeats")
      ->type_name("NODE")
      ->allow_extra_args(false);
  command.add_flag("--debug-nonfinite", options.debugNonfinite,
                   "Name the command and the model's node that first wrote a "
                   "NaN or an infinity (several times slower)");
  command
      .add_option("--check-replicas", options.ranks.checkReplicas,
                  "Compare the states of all ranks after every N steps, and "
                  "name the first that differs")
      ->check(positive())
      ->type_name("N");
}

TrainOptions optionsOfRank(TrainOptions options, const Ranks &ranks) {
  options.session = optionsOfRank(options.session, ranks);
  if (ranks.isFirst())
    return options;
  options.checkpoint = {};
  options.log.clear();
  options.tensorboard.clear();
  options.report.clear();
  options.watch.clear();
  return options;
}

/// Refuses files with names that --keep writes and removes, or uses for partial
/// files: they would not last.
static void checkKept(const CheckpointOptions &checkpoint,
                      const std::vector<UsedFile> &others) {
  for (const UsedFile &file : others)
    if (checkpoint.keep && !file.path.empty() &&
        training::isKeptName(
            std::string(absl::StripSuffix(file.path, runtime::kPartialEnding)),
            checkpoint.path))
      throw badInput(file.role, " ", file.path,
                     ": has a name of the checkpoints that --keep writes and "
                     "removes beside ",
                     checkpoint.path, "; give it another one");
}

static void checkFiles(const TrainOptions &options) {
  std::vector<UsedFile> inputs = initialFiles(options.session);
  for (UsedFile &file : dataFiles("--data", options.data))
    inputs.push_back(std::move(file));
  for (UsedFile &file : dataFiles("--eval", options.test.data))
    inputs.push_back(std::move(file));
  const std::string &checkpoint = options.checkpoint.path;
  std::vector<UsedFile> outputs = {{roleOf(options.checkpoint), checkpoint},
                                   {"--log", options.log},
                                   {"--report", options.report}};
  if (!options.test.best.empty() && !checkpoint.empty())
    outputs.push_back({"--best", training::siblingPath(checkpoint, "best")});
  // The checkpoint may be the file of --resume, which has already been read.
  checkOutputFiles(outputs, inputs);
  inputs.push_back({"--log", options.log});
  inputs.push_back({"--report", options.report});
  checkKept(options.checkpoint, inputs);
  checkOutputFiles({{"--log", options.log}, {"--report", options.report}},
                   {{"--resume", options.session.resume}});
  checkPartialNames(outputs, {{"--resume", options.session.resume}});
}

/// The file that keeps the state if none is named: beside the artifact, such as
/// lenet.safetensors for lenet.gradus.
static std::string defaultCheckpoint(const std::string &artifact) {
  std::string_view stem = artifact;
  if (stem.ends_with(".gradus"))
    stem.remove_suffix(std::string_view(".gradus").size());
  return std::string(stem) + ".safetensors";
}

std::string roleOf(const CheckpointOptions &options) {
  return options.isUnasked ? "--checkpoint (not given: beside the artifact)"
                           : "--checkpoint";
}

training::HeldCheckpoints holdCheckpoints(const CheckpointOptions &options,
                                          bool best) {
  auto held = training::holdCheckpoints(options, best);
  if (!held.ok())
    check(runtime::Status(held.status().code(),
                          held.status().message() +
                              "; wait until that has ended, or give this run "
                              "another --checkpoint"));
  return *std::move(held);
}

void chooseCheckpoint(TrainOptions &options) {
  if (options.checkpoint.isNone || !options.checkpoint.path.empty())
    return;
  options.checkpoint.path = defaultCheckpoint(options.session.artifact);
  options.checkpoint.isUnasked = true;
  options.checkpoint.advice =
      "; the state is kept beside the artifact unless --checkpoint FILE names "
      "another place, or --no-checkpoint says that none is wanted";
}

void checkTrainOptions(const TrainOptions &options) {
  if (!options.report.empty())
    checkReportName(options.report);
  if (!options.test.best.empty()) {
    checkOf("--best", training::BestMetric::parse(options.test.best).status());
    if (!options.test.hasData())
      throw badInput("--best ", options.test.best,
                     ": needs the test data of --eval or --validation to "
                     "judge by");
    if (options.checkpoint.path.empty() && options.test.patience == 0)
      throw badInput("--best ", options.test.best,
                     ": needs a checkpoint, beside which the best is written, "
                     "or --patience; leave out --no-checkpoint");
  }
  if (!options.test.every.empty() && !options.test.hasData())
    throw badInput("--eval-every ", options.test.every,
                   ": needs the test data of --eval or --validation");
  if (options.test.averaged && !options.test.hasData())
    throw badInput("--ema: needs the test data of --eval or --validation, for "
                   "which it takes the averages of the weights");
  if (options.test.patience && options.test.best.empty())
    throw badInput("--patience ", options.test.patience,
                   ": needs --best METRIC, which it waits for");
  if (!options.watch.empty() && options.log.empty() &&
      options.tensorboard.empty() && options.report.empty())
    throw badInput("--watch ", options.watch.front(),
                   ": needs --log, --tensorboard or --report, where it is "
                   "written");
  if (!options.watch.empty() && options.debugNonfinite)
    throw badInput("--watch ", options.watch.front(),
                   ": cannot be watched with --debug-nonfinite, which looks at "
                   "everything");
  checkFiles(options);
}

} // namespace gradus::cli
