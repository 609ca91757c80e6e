// gradus train: runs an artifact's graph `train` over a data set, epoch by
// epoch.
//
// The step counter is part of the state and the order of the samples a function
// of seed and step, so that a resumed run does what one run would have done.

#include "frontends/cli/commands.h"
#include "frontends/cli/data_options.h"
#include "frontends/cli/evaluation.h"
#include "frontends/cli/failure.h"
#include "frontends/cli/interrupt.h"
#include "frontends/cli/memory_use.h"
#include "frontends/cli/output_files.h"
#include "frontends/cli/progress.h"
#include "frontends/cli/scalar_outputs.h"
#include "frontends/cli/session_options.h"
#include "frontends/cli/text.h"
#include "frontends/cli/training_log.h"
#include "runtime/file.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>

using namespace gradus::runtime;
using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

namespace gradus::cli {
namespace {

struct TrainOptions {
  SessionOptions session;
  std::vector<std::string> data, eval;
  int64_t epochs = 0, steps = 0;
  std::string checkpoint, log;
  double checkpointSeconds = 30;
  std::optional<uint64_t> seed;
  double validation = 0; // part of the data kept for tests
};

constexpr const char *kFooter =
    R"(Samples of an epoch that do not fill a batch are left out (or masked, by the
recipe's inputs.last_batch); the order is new in each epoch, so they are others
each time.

Examples:
  gradus train lenet.gradus --data train.safetensors --eval test.safetensors \
      --epochs 20 --checkpoint lenet.safetensors
  gradus train lenet.gradus --data train.safetensors --epochs 40 \
      --resume lenet.safetensors --checkpoint lenet.safetensors
  gradus train mnist.gradus --data image=train-images-idx3-ubyte.gz \
      --data label=train-labels-idx1-ubyte.gz --steps 10000)";

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Training {
public:
  explicit Training(const TrainOptions &options);
  void run();

private:
  void prepare();
  void plan();
  int64_t epochOf(int64_t step) const { return step / perEpoch_; }
  bool trainChunk(const data::Chunk &chunk, Progress &progress);
  bool trainPiece(const data::Chunk &chunk, int64_t from, int64_t count);
  void countStep(int64_t step, int64_t place);
  void test(Progress &progress);
  void endEpoch(Progress &progress);
  void checkTested(const char *saved) const;
  std::vector<Metric> means() const;
  void saveCheckpoint();
  [[noreturn]] void stopInterrupted();
  void summarize(double seconds);
  ordered_json summaryJson(double seconds) const;
  Table summaryTable(double seconds) const;

  const TrainOptions &options_;
  uint64_t memoryBefore_ = 0, memoryAfter_ = 0;
  data::Dataset dataset_, testSet_;
  std::unique_ptr<Session> session_;
  int graph_ = -1, evaluate_ = -1;
  data::Feed feed_;
  std::optional<data::Feed> testFeed_;
  bool stopAtNonfinite_ = true;
  uint64_t seed_ = 0;

  int64_t perEpoch_ = 0, total_ = 0, start_ = 0, done_ = 0;
  std::optional<ScalarOutputs> scalars_;
  std::optional<TrainingLog> log_;
  std::vector<Metric> sums_; // of this epoch
  int64_t summed_ = 0;       // steps in them
  std::vector<Metric> latest_, tested_;
  double stepSeconds_ = 0, epochSeconds_ = 0; // in steps: all, of this epoch
  Clock::time_point saved_ = Clock::now();
};

void checkFiles(const TrainOptions &options) {
  std::vector<UsedFile> inputs = dataFiles("--data", options.data);
  for (const UsedFile &file : dataFiles("--eval", options.eval))
    inputs.push_back(file);
  inputs.push_back({"the artifact", options.session.artifact});
  inputs.push_back({"--init", options.session.init});
  // The checkpoint may go on in the file of --resume, which has been read.
  checkOutputFiles(
      {{"--checkpoint", options.checkpoint}, {"--log", options.log}}, inputs);
  checkOutputFiles({{"--log", options.log}},
                   {{"--resume", options.session.resume}});
}

Training::Training(const TrainOptions &options) : options_(options) {
  checkFiles(options);
  dataset_ = take(data::Dataset::open(options.data));
  testSet_ = take(data::Dataset::open(options.eval));
  memoryBefore_ = emptySessionBytes(options.session.threads);
  releaseFreed();
  memoryBefore_ += anonymousBytes();
  session_ = openSession(options.session);
  prepare();
  plan();
}

void Training::prepare() {
  graph_ = findGraph(*session_, "train");
  auto recipe = recipeOf(*session_);
  seed_ = options_.seed.value_or(recipe.value("seed", uint64_t(0)));
  stopAtNonfinite_ = recipe.value("on_nonfinite", "stop") == "stop";
  TrainingFeeds feeds =
      matchTraining(*session_, dataset_, testSet_, options_.validation, seed_);
  feed_ = std::move(feeds.train);
  testFeed_ = std::move(feeds.test);
  evaluate_ = testFeed_ ? findGraph(*session_, "evaluate") : -1;
}

/// How many steps there are to do, and where they begin.
void Training::plan() {
  perEpoch_ = data::Batches::perEpoch(feed_, true);
  if (perEpoch_ == 0)
    throw badInput(dataset_.source(), ": has ", feed_.samples(),
                   " samples, but one batch takes ", feed_.batch(),
                   "; compile with --dim batch=", feed_.samples(), " or less");
  int64_t epochs = options_.epochs ? options_.epochs : 1;
  total_ = options_.steps ? options_.steps : epochs * perEpoch_;
  start_ = done_ = session_->stepCount();
  if (start_ < 0)
    throw badInput(options_.session.resume.empty() ? options_.session.artifact
                                                   : options_.session.resume,
                   ": the state is at step ", start_, ", expected 0 or more");
  // A checkpoint that cannot be written is better known before the work.
  if (!options_.checkpoint.empty())
    take(AtomicFile::create(options_.checkpoint));
  log_.emplace(options_.log, !options_.session.resume.empty(),
               options_.session.json);
}

/// One call of the runtime: `count` steps of the chunk. False: interrupted.
bool Training::trainPiece(const data::Chunk &chunk, int64_t from,
                          int64_t count) {
  size_t inputs = feed_.inputCount();
  int64_t ran = 0;
  auto began = Clock::now();
  runtime::Status status = session_->steps(
      graph_, count, chunk.inputs.subspan(from * inputs, count * inputs),
      scalars_->places(count), &ran);
  double seconds = secondsSince(began);
  stepSeconds_ += seconds;
  epochSeconds_ += seconds;
  for (int64_t i = 0; i < ran; ++i)
    countStep(chunk.first + from + i, i);
  done_ = chunk.first + from + ran;
  if (status.code() == runtime::StatusCode::cancelled)
    return false;
  check(status);
  return !Interrupt::requested();
}

void Training::countStep(int64_t step, int64_t place) {
  latest_.resize(scalars_->names().size());
  sums_.resize(latest_.size());
  for (size_t i = 0; i < latest_.size(); ++i) {
    latest_[i] = {scalars_->names()[i], scalars_->value(place, i)};
    sums_[i].name = latest_[i].name;
    sums_[i].value += latest_[i].value;
    if (stopAtNonfinite_ && !std::isfinite(latest_[i].value))
      throw failed(
          "step ", step + 1, ": ", latest_[i].name, " is ", latest_[i].value,
          "; nothing was saved after the last checkpoint. A lower learning "
          "rate may help");
  }
  ++summed_;
  log_->step(step + 1, epochOf(step) + 1, latest_);
}

/// A chunk in pieces of about 50 ms, so that a signal and the bar need not
/// wait.
bool Training::trainChunk(const data::Chunk &chunk, Progress &progress) {
  for (int64_t from = 0; from < chunk.count;) {
    int64_t ran = done_ - start_;
    double perStep = ran ? stepSeconds_ / ran : 1;
    int64_t count = std::clamp<int64_t>(0.05 / perStep, 1, chunk.count - from);
    count = std::min(count, scalars_->steps());
    if (!trainPiece(chunk, from, count))
      return false;
    from += count;
    progress.update(done_, metricsText(latest_));
    if (secondsSince(saved_) >= options_.checkpointSeconds)
      saveCheckpoint();
  }
  return true;
}

std::vector<Metric> Training::means() const {
  std::vector<Metric> means = sums_;
  for (Metric &metric : means)
    metric.value /= std::max<int64_t>(1, summed_);
  return means;
}

/// Evaluates; an interruption meanwhile saves the state like any other.
void Training::test(Progress &progress) {
  if (!testFeed_)
    return;
  try {
    tested_ = evaluate(*session_, evaluate_, *testFeed_);
  } catch (const Failure &failure) {
    if (failure.code != kInterrupted)
      throw;
    progress.clear();
    stopInterrupted();
  }
}

/// Test figures that are no numbers are a failure; `saved` says what is left.
void Training::checkTested(const char *saved) const {
  for (const Metric &metric : tested_)
    if (!std::isfinite(metric.value))
      throw failed(testSet_.source(), ": step ", done_, ": test ", metric.name,
                   " is ", metric.value, "; ", saved);
}

void Training::endEpoch(Progress &progress) {
  test(progress);
  progress.clear();
  log_->epoch({epochOf(done_ - 1) + 1, (total_ + perEpoch_ - 1) / perEpoch_,
               done_, means(), tested_,
               epochSeconds_ / std::max<int64_t>(1, summed_)});
  sums_.clear();
  summed_ = 0;
  epochSeconds_ = 0;
  if (stopAtNonfinite_)
    checkTested("nothing was saved after the last checkpoint");
}

void Training::saveCheckpoint() {
  if (!options_.checkpoint.empty())
    check(session_->saveCheckpoint(options_.checkpoint));
  saved_ = Clock::now();
}

void Training::stopInterrupted() {
  saveCheckpoint();
  throw interruptedAfter(done_, total_, options_.checkpoint);
}

void Training::run() {
  auto began = Clock::now();
  Interrupt interrupt(*session_);
  Progress progress(total_, start_,
                    Progress::onTerminal() && !options_.session.json);
  {
    data::Batches batches(
        feed_,
        {.shuffle = true, .seed = seed_, .first = start_, .end = total_});
    scalars_.emplace(session_->graphs()[graph_], 1024);
    while (const data::Chunk *chunk = batches.next()) {
      if (!trainChunk(*chunk, progress)) {
        progress.clear();
        stopInterrupted();
      }
      if (done_ % perEpoch_ == 0 || done_ == total_)
        endEpoch(progress);
    }
    check(batches.status());
  }
  releaseFreed();
  memoryAfter_ = anonymousBytes();
  saveCheckpoint();
  if (done_ == start_)
    test(progress);
  summarize(secondsSince(began));
  log_->finish();
  checkTested("training went on to its end");
}

ordered_json Training::summaryJson(double seconds) const {
  MemoryInfo memory = session_->memory();
  int64_t steps = done_ - start_;
  ordered_json object = {
      {"steps", done_},
      {"test", toJson(tested_)},
      {"training_samples", feed_.samples()},
      {"test_samples", testFeed_ ? testFeed_->samples() : 0},
      {"artifact", options_.session.artifact},
      {"artifact_bytes", session_->artifact().size()},
      {"checkpoint", options_.checkpoint},
      {"predicted_bytes", memory.predicted()},
      {"measured_bytes", memoryAfter_ - std::min(memoryBefore_, memoryAfter_)},
      {"ms_per_step", steps ? stepSeconds_ / steps * 1e3 : 0},
      {"threads", session_->threads()},
      {"seconds", seconds}};
  return object;
}

Table Training::summaryTable(double seconds) const {
  ordered_json figures = summaryJson(seconds);
  Table table;
  if (!tested_.empty())
    table.row({"test", metricsText(tested_)});
  table.row({"artifact",
             options_.session.artifact + " (" +
                 bytesText(figures["artifact_bytes"].get<double>()) + ")"});
  if (!options_.checkpoint.empty())
    table.row({"checkpoint", options_.checkpoint});
  if (options_.validation > 0)
    table.row({"validation",
               std::to_string(testFeed_->samples()) + " of " +
                   std::to_string(testFeed_->samples() + feed_.samples()) +
                   " samples"});
  table.row({"memory", "predicted " +
                           bytesText(figures["predicted_bytes"].get<double>()) +
                           ", measured " +
                           bytesText(figures["measured_bytes"].get<double>())});
  table.row({"step", durationText(figures["ms_per_step"].get<double>() / 1e3) +
                         " (" + std::to_string(done_ - start_) + " steps, " +
                         std::to_string(session_->threads()) + " threads)"});
  table.row({"time", durationText(seconds)});
  return table;
}

void Training::summarize(double seconds) {
  if (options_.session.json) {
    std::puts(summaryJson(seconds).dump().c_str());
    return;
  }
  if (done_ == start_)
    std::printf("the state is at step %lld of %lld already: nothing to train\n",
                static_cast<long long>(done_), static_cast<long long>(total_));
  for (const Metric &metric : tested_)
    if (metric.name != "loss")
      std::printf("test %s: %.3f\n", metric.name.c_str(), metric.value);
  std::fputs(summaryTable(seconds).text().c_str(), stdout);
}

} // namespace

void addTrain(CLI::App &app) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App *command =
      app.add_subcommand("train", "Trains: runs the step over a data set");
  command->footer(std::string(kDataFooter) + "\n" + kFooter);
  addSessionOptions(*command, options->session);
  addStateOptions(*command, options->session);
  command
      ->add_option("--data", options->data,
                   "Training data: FILE or NAME=FILE; repeats")
      ->required()
      ->allow_extra_args(false);
  auto *eval =
      command
          ->add_option("--eval", options->eval,
                       "Test data, evaluated after each epoch; repeats")
          ->allow_extra_args(false);
  addValidationOption(*command, options->validation, eval);
  auto *epochs =
      command->add_option("--epochs", options->epochs,
                          "Epochs in all, those before --resume included (1)");
  command
      ->add_option("--steps", options->steps, "Steps in all, instead of epochs")
      ->check(positive())
      ->excludes(epochs);
  epochs->check(positive());
  command->add_option(
      "--checkpoint", options->checkpoint,
      "Write the state here: at the end, when interrupted, and");
  command
      ->add_option("--checkpoint-every", options->checkpointSeconds,
                   "after so many seconds (30)")
      ->check(notNegative());
  command->add_option("--seed", options->seed,
                      "Of the samples' order (the recipe's)");
  command->add_option("--log", options->log,
                      "Write a JSON line per step and epoch");
  command->callback([options] { Training(*options).run(); });
}

} // namespace gradus::cli
