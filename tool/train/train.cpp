// gradus train: runs an artifact's graph `train` over a data set, epoch by
// epoch.
//
// The step counter is part of the state and the order of the samples a function
// of seed and step; the figures of the current epoch are in the checkpoint. So
// a resumed run does, and prints, what one run would have done.

#include "runtime/well_known.h"
#include "tool/command_line.h"
#include "tool/commands.h"
#include "tool/evaluate/data_options.h"
#include "tool/evaluate/evaluation.h"
#include "tool/evaluate/trained_normalization.h"
#include "tool/evaluate/training_log.h"
#include "tool/evaluate/training_record.h"
#include "tool/failure.h"
#include "tool/interrupt.h"
#include "tool/progress.h"
#include "tool/session/averages.h"
#include "tool/session/run_length.h"
#include "tool/session/scalar_outputs.h"
#include "tool/session/set_numbers.h"
#include "tool/text.h"
#include "tool/train/best_metric.h"
#include "tool/train/continued_run.h"
#include "tool/train/finite_checks.h"
#include "tool/train/former_run.h"
#include "tool/train/length_warnings.h"
#include "tool/train/memory_use.h"
#include "tool/train/recipe_changes.h"
#include "tool/train/train_options.h"
#include "tool/train/training_outline.h"
#include "tool/train/training_summary.h"
#include "tool/train/training_warnings.h"
#include "tool/train/watch.h"

#include "absl/strings/str_cat.h"

#include <chrono>
#include <cstdio>

using namespace gradus::runtime;
using Clock = std::chrono::steady_clock;

namespace gradus::cli {
namespace {

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Training {
public:
  explicit Training(const TrainOptions &options);
  void run();

private:
  void prepare();
  Failure noWholeBatch() const;
  void plan();
  void goOn();
  void goOnWithNumbers();
  int64_t epochOf(int64_t step) const { return step / perEpoch_; }
  bool isEpochEnd() const { return done_ % perEpoch_ == 0 || done_ == total_; }
  bool isTestDue() const {
    return testFeed_ && (done_ % testEvery_ == 0 || done_ == total_);
  }
  bool isStopped() const;
  void trainAll(Progress &progress);
  bool trainChunk(const data::Chunk &chunk, Progress &progress);
  bool trainPiece(const data::Chunk &chunk, int64_t from, int64_t count);
  int64_t pieceOf(int64_t left) const;
  using Inputs = std::span<const void *const>;
  void countStep(int64_t step, int64_t place, Inputs inputs);
  void test(Progress &progress);
  void judge();
  void reportTest();
  void reportEpoch();
  void endEpoch(Progress &progress);
  void testInside(Progress &progress);
  void catchUp(Progress &progress);
  std::string testSource() const {
    return (validation_ > 0 ? dataset_ : testSet_).source();
  }
  TrainingRecord record() const;
  Checkpoints::Notes notes() const;
  void save(bool last = false);
  [[noreturn]] void stopInterrupted();
  [[noreturn]] void stopUnreadable(const Unreadable &failure);
  void outline() const;
  void summarize(double seconds);

  const TrainOptions &options_;
  uint64_t memoryBefore_ = 0, memoryAfter_ = 0;
  HeldCheckpoints held_; // until checkpoints_ has them
  data::Dataset dataset_, testSet_;
  std::unique_ptr<Session> session_;
  int graph_ = -1, evaluate_ = -1;
  data::Feed feed_;
  std::optional<data::Feed> testFeed_;
  uint64_t seed_ = 0;
  std::vector<std::string> passes_;
  std::vector<std::string> lengthRemarks_; // of another run's schedule
  double validation_ = 0; // the part of the data kept for tests
  std::optional<TrainingRecord>
      record_;           // of the checkpoint that it resumes from
  nlohmann::json begun_; // the recipe with the numbers that it resumes with

  int64_t perEpoch_ = 0, total_ = 0, start_ = 0, done_ = 0;
  int64_t testEvery_ = 1; // steps; there may be no tests
  std::optional<ScalarOutputs> scalars_;
  std::optional<TrainingLog> log_;
  std::optional<Checkpoints> checkpoints_;
  std::optional<FiniteChecks> finite_;
  std::optional<SkippedSteps> skipped_;
  // `best_` counts the tests that were due, by which a run stops; `kept_`
  // counts also the test at the end of a run, and keeps the best state.
  std::optional<BestMetric> best_, kept_;
  std::optional<Watch> watch_;
  EpochFigures figures_;
  std::vector<Metric> latest_, tested_;
  int64_t testedAt_ = -1; // the step of the last test
  int64_t reported_ = -1; // the step of the last epoch's or test's line
  double stepSeconds_ = 0, epochSeconds_ = 0; // in steps: all, of this epoch
  int64_t epochSteps_ = 0;                    // in epochSeconds_
};

Training::Training(const TrainOptions &options) : options_(options) {
  checkTrainOptions(options);
  held_ = holdCheckpoints(options.checkpoint, !options.best.empty());
  dataset_ = openData(options.data);
  testSet_ = openData(options.eval);
  countClassesOf(options.session.resume, dataset_);
  if (dataset_.classes())
    check(testSet_.countClassesAs(*dataset_.classes(), dataset_.source()));
  memoryBefore_ = emptySessionBytes(options.session.threads);
  releaseFreed();
  memoryBefore_ += anonymousBytes();
  session_ = openSession(options.session);
  checkNormalization(*session_, options.session);
  prepare();
  plan();
  goOn();
}

/// The passes that the recipe adds to Gradus's own.
std::vector<std::string> addedPasses(const nlohmann::json &recipe) {
  auto passes = recipe.find("passes");
  return passes != recipe.end() && passes->is_array()
             ? passes->get<std::vector<std::string>>()
             : std::vector<std::string>();
}

void Training::prepare() {
  graph_ = findGraph(*session_, well_known::kTrain);
  scalars_.emplace(session_->graphs()[graph_], 1024);
  auto recipe = recipeOf(*session_);
  if (!options_.session.resume.empty())
    record_ = TrainingRecord::ofCheckpoint(options_.session.resume);
  seed_ = options_.seed.value_or(record_ ? record_->seed
                                         : recipe.value("seed", uint64_t(0)));
  passes_ = addedPasses(recipe);
  if (record_ && !record_->recipe.is_null())
    goOnWithNumbers();
  setNumbers(*session_, options_.set);
  noteSetNumbers(*session_);
  validation_ = partForTests(options_, record_, seed_);
  TrainingFeeds feeds =
      matchTraining(*session_, dataset_, testSet_, validation_, seed_);
  feed_ = std::move(feeds.train);
  testFeed_ = std::move(feeds.test);
  evaluate_ = testFeed_ ? findEvaluation(*session_, options_.averaged) : -1;
  skipped_.emplace(*session_);
  if (!options_.best.empty()) {
    best_.emplace(options_.best);
    kept_.emplace(options_.best);
    best_->verifyIsAmong(
        ScalarOutputs(session_->graphs()[evaluate_], 1).names());
  }
  finite_.emplace(*session_, recipe, !options_.checkpoint.path.empty(),
                  options_.debugNonfinite);
  if (!options_.watch.empty())
    watch_.emplace(*session_, options_.watch);
}

/// The error for too few samples, in the file or after the tests' part.
Failure Training::noWholeBatch() const {
  std::string has =
      validation_ > 0 ? absl::StrCat("--validation ", validation_, ": leaves ",
                                     feed_.samples(), " of the samples of ",
                                     dataset_.source(), " to train on")
                      : absl::StrCat(dataset_.source(), ": has ",
                                     feed_.samples(), " samples");
  return badInput(has, ", but one batch takes ", feed_.batch(), "; ",
                  validation_ > 0 ? "keep a smaller part for tests, or " : "",
                  "compile with --dim batch=", feed_.samples(), " or less");
}

/// Computes the number of steps to do, and the first of them.
void Training::plan() {
  perEpoch_ = data::Batches::perEpoch(feed_, true);
  if (perEpoch_ == 0)
    throw noWholeBatch();
  int64_t epochs = options_.epochs ? options_.epochs : 1;
  if (options_.steps)
    total_ = options_.steps;
  else if (__builtin_mul_overflow(epochs, perEpoch_, &total_))
    throw badInput("--epochs ", epochs, ": of ", perEpoch_,
                   " steps each are more steps than can be counted");
  testEvery_ = perEpoch_;
  if (auto every = Interval::parse(options_.evalEvery))
    testEvery_ = every->steps(perEpoch_);
  start_ = done_ = take(session_->stepCount());
  if (start_ < 0)
    throw badInput(options_.session.resume.empty() ? options_.session.artifact
                                                   : options_.session.resume,
                   ": the state is at step ", start_, ", expected 0 or more");
  checkFormerRun(options_, start_);
  lengthRemarks_ =
      startRun(*session_, runLengthOf(recipeOf(*session_), total_, perEpoch_),
               options_.set);
  checkpoints_.emplace(*session_, options_.checkpoint, perEpoch_,
                       std::move(held_));
  std::optional<int64_t> logged;
  if (!options_.session.resume.empty())
    logged = start_;
  checkpoints_->goOnFrom(options_.session.resume, start_);
  log_.emplace(options_.log, logged, options_.session.json,
               options_.tensorboard,
               /*inside=*/start_ % perEpoch_ != 0 && start_ < total_);
}

/// Takes the numbers that were compiled anew. Recipes are compared with the
/// numbers that the former run had at its end, and with those that this one
/// begins with.
void Training::goOnWithNumbers() {
  nlohmann::json former = withNumbersOf(*session_, record_->recipe);
  takeRecompiledNumbers(*session_, record_->recipe);
  record_->recipe = std::move(former);
  begun_ = withNumbersOf(*session_, recipeOfRun(recipeOf(*session_)));
}

/// Continues from the checkpoint's record of its run.
void Training::goOn() {
  if (!record_)
    return;
  TrainingRecord now = record();
  if (!begun_.is_null())
    now.recipe = begun_;
  warnOfOthers(*record_, now);
  figures_.restore(record_->epoch);
  reported_ = record_->reported ? done_ : -1;
  if (!best_)
    return;
  best_->restore(record_->best);
  kept_->restore(record_->best);
  kept_->restore(record_->bestAtEnd);
}

bool Training::isStopped() const {
  return best_ && options_.patience && best_->stale() >= options_.patience;
}

/// Runs `count` steps of the chunk in one call of the runtime. Returns false if
/// interrupted.
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
  epochSteps_ += ran;
  for (int64_t i = 0; i < ran; ++i)
    countStep(chunk.first + from + i, i,
              chunk.inputs.subspan((from + i) * inputs, inputs));
  done_ = chunk.first + from + ran;
  if (status.code() == runtime::StatusCode::cancelled)
    return false;
  if (!status.ok())
    check(runtime::Status(status.code(),
                          status.message() + checkpoints_->stillThere()));
  return !Interrupt::requested();
}

void Training::countStep(int64_t step, int64_t place, Inputs inputs) {
  latest_.resize(scalars_->names().size());
  for (size_t i = 0; i < latest_.size(); ++i)
    latest_[i] = {scalars_->names()[i], scalars_->value(place, i)};
  finite_->checkStep(step + 1, latest_, feed_, inputs);
  figures_.add(latest_);
  std::vector<Metric> logged = latest_;
  if (watch_)
    for (Metric &metric : watch_->figures())
      logged.push_back(std::move(metric));
  log_->step(step + 1, epochOf(step) + 1, logged);
}

/// A piece takes about 50 ms, so that a signal and the bar need not wait, and
/// ends where a checkpoint or a test is due.
int64_t Training::pieceOf(int64_t left) const {
  if (options_.debugNonfinite || watch_)
    return 1;
  int64_t ran = done_ - start_;
  double perStep = ran ? stepSeconds_ / ran : 1;
  int64_t count = std::clamp<int64_t>(0.05 / perStep, 1, left);
  if (testFeed_)
    count = std::min(count, testEvery_ - done_ % testEvery_);
  return std::min(
      {count, scalars_->steps(), checkpoints_->stepsUntilDue(done_)});
}

bool Training::trainChunk(const data::Chunk &chunk, Progress &progress) {
  for (int64_t from = 0; from < chunk.count;) {
    int64_t count = pieceOf(chunk.count - from);
    if (!trainPiece(chunk, from, count))
      return false;
    from += count;
    progress.update(done_, metricsText(latest_));
    if (isEpochEnd()) // Due tests and saves wait for the epoch's figures.
      continue;
    if (isTestDue())
      testInside(progress);
    if (isStopped())
      return true;
    if (checkpoints_->isDue(done_))
      save();
  }
  return true;
}

/// Evaluates; an interruption meanwhile saves the state like any other.
void Training::test(Progress &progress) {
  if (!testFeed_)
    return;
  try {
    tested_ = evaluate(*session_, evaluate_, *testFeed_,
                       dataThreads(options_.session));
    testedAt_ = done_;
  } catch (const Unreadable &failure) {
    progress.clear();
    stopUnreadable(failure);
  } catch (const Failure &failure) {
    if (failure.code != kInterrupted)
      throw;
    progress.clear();
    stopInterrupted();
  }
}

/// Keeps the state if it is the best so far. The test at the end of this run
/// must not count for the patience: a longer run would not have had it.
void Training::judge() {
  if (!best_ || testedAt_ != done_)
    return;
  if (done_ % testEvery_ == 0)
    best_->update(tested_, done_);
  if (!kept_->update(tested_, done_))
    return;
  finite_->checkSaved(done_);
  checkpoints_->saveBest(notes());
}

void Training::reportTest() {
  EpochReport report;
  report.epoch = epochOf(done_ - 1) + 1;
  report.step = done_;
  report.test = tested_;
  log_->test(report, total_);
  reported_ = done_;
}

/// Prints the line of an epoch, or of the part that was run.
void Training::reportEpoch() {
  log_->epoch({epochOf(done_ - 1) + 1, epochOf(total_ - 1) + 1, done_,
               figures_.figures(),
               testedAt_ == done_ ? tested_ : std::vector<Metric>(),
               epochSeconds_ / std::max<int64_t>(1, epochSteps_)});
  reported_ = done_;
  if (done_ % perEpoch_ == 0) // else a later run continues it
    figures_.clear();
  if (std::string words = skipped_->allOf(epochSteps_); !words.empty())
    warn(words);
  epochSteps_ = 0;
  epochSeconds_ = 0;
}

void Training::endEpoch(Progress &progress) {
  if (isTestDue())
    test(progress);
  progress.clear();
  // In the middle of an epoch, a longer run would keep only this line.
  if (isTestDue() && done_ % perEpoch_ != 0 && done_ % testEvery_ == 0)
    reportTest();
  reportEpoch();
  finite_->checkTested(done_, tested_, testSource());
  judge();
  if (done_ != total_ && !isStopped() && checkpoints_->isDue(done_))
    save();
}

TrainingRecord Training::record() const {
  return {seed_,
          feed_.samples(),
          feed_.batch(),
          figures_.toJson(),
          best_ ? nlohmann::json(best_->toJson()) : nlohmann::json(),
          best_ && kept_->step() != best_->step()
              ? nlohmann::json(kept_->toJson())
              : nlohmann::json(),
          reported_ == done_,
          validation_,
          dataset_.classes() ? *dataset_.classes() : std::vector<std::string>(),
          passes_,
          normalizationOf(*session_),
          recipeOfRun(recipeOf(*session_))};
}

/// Runs a test of --eval-every within an epoch. At the last one the epoch ends
/// here.
void Training::testInside(Progress &progress) {
  test(progress);
  progress.clear();
  reportTest();
  finite_->checkTested(done_, tested_, testSource());
  judge();
  if (isStopped())
    reportEpoch();
}

/// Prints what a run lacks that was stopped after a step but before its
/// figures, and the line of an epoch that ended early, which its log has lost
/// again.
void Training::catchUp(Progress &progress) {
  bool isInside = !isEpochEnd() && done_ < total_;
  if (isInside && isStopped() && !figures_.empty()) {
    test(progress);
    progress.clear();
    return reportEpoch();
  }
  if (done_ == 0 || reported_ == done_)
    return;
  if (isInside && isTestDue())
    testInside(progress);
  else if (isEpochEnd() && !figures_.empty())
    endEpoch(progress);
}

Checkpoints::Notes Training::notes() const {
  return {{"training", record().text()}};
}

/// The log is written first: it must never be behind the state.
void Training::save(bool last) {
  log_->flush();
  finite_->checkSaved(done_);
  checkpoints_->save(done_, notes(), last);
}

void Training::stopInterrupted() {
  save(/*last=*/true);
  throw interruptedAfter(done_, total_, options_.checkpoint.path);
}

void Training::trainAll(Progress &progress) {
  catchUp(progress);
  if (isStopped())
    return;
  data::Batches batches(feed_, {.shuffle = true,
                                .seed = seed_,
                                .first = start_,
                                .end = total_,
                                .threads = dataThreads(options_.session)});
  while (const data::Chunk *chunk = batches.next()) {
    if (!trainChunk(*chunk, progress)) {
      progress.clear();
      stopInterrupted();
    }
    if (isEpochEnd())
      endEpoch(progress);
    if (isStopped())
      return;
  }
  if (!batches.status().ok())
    stopUnreadable(Unreadable(batches.status()));
}

/// The steps so far were right, so they are saved.
void Training::stopUnreadable(const Unreadable &failure) {
  save(/*last=*/true);
  const std::string &path = options_.checkpoint.path;
  std::string saved =
      path.empty()
          ? ""
          : absl::StrCat("; the state of step ", done_, " is in ", path,
                         "; continue with: ", resumeCommand(path));
  throw Failure(failure.code, failure.what() + saved);
}

void Training::outline() const {
  TrainingOutline outline;
  outline.data = DataOutline::ofTraining(feed_);
  if (testFeed_)
    outline.test = DataOutline::ofEvaluation(*testFeed_);
  outline.start = start_;
  outline.total = total_;
  for (const data::Dataset *set : {&dataset_, &testSet_})
    for (const std::string &remark : set->remarks())
      outline.remarks.push_back(remark);
  auto recipe = withNumbersOf(*session_, recipeOf(*session_));
  outline.schedule = resolvedSchedules(recipe);
  for (const auto &list :
       {lengthRemarks_, lengthWarnings(recipe, total_, perEpoch_)})
    for (const std::string &words : list) {
      warn(words);
      outline.remarks.push_back(words);
    }
  outline.print(options_);
}

void Training::run() {
  outline();
  auto began = Clock::now();
  Interrupt interrupt(*session_);
  Progress progress(total_, start_,
                    Progress::onTerminal() && !options_.session.json);
  trainAll(progress);
  releaseFreed();
  memoryAfter_ = anonymousBytes();
  save(/*last=*/true);
  if (std::string words = unappliedBatches(*session_); !words.empty())
    note(words);
  if (testedAt_ != done_)
    test(progress);
  summarize(secondsSince(began));
  log_->finish();
  checkpoints_->finish();
  finite_->checkLastTest(done_, tested_, testSource());
}

void Training::summarize(double seconds) {
  TrainingSummary summary;
  summary.start = start_;
  summary.done = done_;
  summary.total = total_;
  summary.test = tested_;
  summary.best = kept_ ? kept_->text() : "";
  summary.stoppedEarly = isStopped();
  summary.trainingSamples = feed_.samples();
  summary.testSamples = testFeed_ ? testFeed_->samples() : 0;
  summary.stepSeconds = stepSeconds_;
  summary.seconds = seconds;
  summary.measuredBytes = memoryAfter_ - std::min(memoryBefore_, memoryAfter_);
  summary.print(options_, *session_);
}

} // namespace

void addTrain(CLI::App &app) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App *command =
      app.add_subcommand("train", "Trains: runs the step over a data set");
  addTrainOptions(*command, *options);
  command->callback([options] {
    chooseCheckpoint(*options);
    Training(*options).run();
  });
}

} // namespace gradus::cli
