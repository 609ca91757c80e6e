// gradus train: runs an artifact's graph `train` over a data set, epoch by
// epoch.
//
// The loop is training/trainer.h; here are what a command line adds to it: its
// options, signals, a progress bar, lines and warnings.

#include "runtime/well_known.h"
#include "tool/command_line.h"
#include "tool/commands.h"
#include "tool/evaluate/data_options.h"
#include "tool/evaluate/trained_normalization.h"
#include "tool/failure.h"
#include "tool/interrupt.h"
#include "tool/output_files.h"
#include "tool/progress.h"
#include "tool/session/averages.h"
#include "tool/session/run_length.h"
#include "tool/session/set_numbers.h"
#include "tool/session/shared_artifact.h"
#include "tool/suggestion.h"
#include "tool/text.h"
#include "tool/train/agreed_run.h"
#include "tool/train/continued_run.h"
#include "tool/train/former_run.h"
#include "tool/train/last_checkpoint.h"
#include "tool/train/length_warnings.h"
#include "tool/train/meetings.h"
#include "tool/train/memory_use.h"
#include "tool/train/recipe_changes.h"
#include "tool/train/run_report.h"
#include "tool/train/train_options.h"
#include "tool/train/training_lines.h"
#include "tool/train/training_outline.h"
#include "tool/train/training_summary.h"
#include "tool/train/training_warnings.h"
#include "tool/train/whole_batch.h"
#include "training/finite_checks.h"
#include "training/gathered.h"
#include "training/led_decider.h"
#include "training/policy.h"
#include "training/rank_states.h"
#include "training/replicas.h"
#include "training/trainer.h"
#include "training/training_log.h"
#include "training/watch.h"

#include "absl/strings/str_cat.h"

#include <chrono>

using namespace gradus::runtime;
using Clock = std::chrono::steady_clock;

namespace gradus::cli {
namespace {

/// Breaks a run off where a signal has come. A test that was made counts: the
/// next step is the one that is cancelled.
class Interruptible : public training::Decider {
public:
  explicit Interruptible(Decider &decider) : decider_(decider) {}

  training::Decision atBorder(const training::Border &border) override {
    if (Interrupt::requested() && !border.isStart && !border.tested)
      return {.then = training::Decision::Then::breakOff};
    return decider_.atBorder(border);
  }
  int64_t stepsToRun(int64_t done, int64_t most) override {
    return decider_.stepsToRun(done, most);
  }
  void addTo(TrainingRecord &record) const override { decider_.addTo(record); }
  void restore(const TrainingRecord &record) override {
    decider_.restore(record);
  }

private:
  Decider &decider_;
};

/// The data of a run, and how it is divided.
struct Sources {
  data::Dataset training, test;
  TrainingFeeds feeds;
  double validation = 0; // the part of the training data kept for tests
  uint64_t seed = 0;

  const std::string &testSource() const {
    return (validation > 0 ? training : test).source();
  }
};

/// The run that is continued.
struct Former {
  std::optional<TrainingRecord> record;
  nlohmann::json begun; // the recipe with the numbers that it resumes with
};

/// The steps of a run.
struct Length {
  int64_t perEpoch = 0, total = 0, start = 0;
  int64_t testEvery = 0;            // 0: there are no tests
  std::vector<std::string> remarks; // on another run's schedule
};

/// Each of these looks into steps, if it is asked for.
struct Checks {
  std::unique_ptr<training::Watch> watch;
  std::optional<training::FiniteChecks> finite;
};

/// The files that a run writes while it trains.
struct Kept {
  std::shared_ptr<LastCheckpoint> last;
  training::HeldCheckpoints held; // until `checkpoints` has them
  std::optional<training::Checkpoints> checkpoints;
  std::unique_ptr<training::TrainingLog> log;
};

/// The parts of what ranks do beside their steps; a process alone has none.
struct Together {
  std::optional<training::LedDecider> led;
  std::optional<training::ReplicaCheck> replicas;
  std::optional<training::RankMeans> means; // of parameters of their own
  std::optional<training::RankStates> own;
};

class TrainCommand {
public:
  TrainCommand(const TrainOptions &options, const Ranks &ranks);
  void run();

private:
  void openInputs();
  void countClasses();
  void readRecord();
  void goOnWithNumbers();
  void matchInputs();
  void chooseBest();
  void watchValues();
  BatchRanks batchRanks() const;
  void planSteps();
  void keepState();
  TrainingRecord record() const;
  void makeTrainer(training::Decider &decider);
  TrainingOutline outline() const;
  training::Outcome ended(const training::LedDecider *led);
  [[noreturn]] void leave(const training::Outcome &outcome) const;
  void joinRanks();
  void train(Clock::time_point began);
  TrainingSummary summary(Clock::time_point began) const;
  void writeReport();
  void reportFailure(const std::exception &thrown) const;

  const Ranks &ranks_;
  const TrainOptions options_;
  std::optional<RunReport> report_; // before what may warn
  Sources sources_;
  MemoryMeter memory_;
  std::unique_ptr<Session> session_;
  Former former_;
  Length length_;
  training::PolicyOptions policyOptions_;
  Checks checks_;
  Kept kept_;
  std::optional<training::FeedBatches> batches_;
  Together together_;
  std::optional<training::Policy> policy_;
  std::optional<training::Trainer> trainer_;
};

TrainCommand::TrainCommand(const TrainOptions &options, const Ranks &ranks)
    : ranks_(ranks), options_(optionsOfRank(options, ranks)) {
  kept_.last = std::make_shared<LastCheckpoint>(options.checkpoint.path,
                                                options.session.resume);
  ranks.adviseWhenOneDies([last = kept_.last] { return last->advice(); });
  checkTrainOptions(options);
  checkWritable({options_.report});
  if (!options_.report.empty())
    report_.emplace(options_);
  if (ranks.isFirst())
    kept_.held =
        holdCheckpoints(options_.checkpoint, !options_.test.best.empty());
  ranks.doing("opens its files");
  former_.record = sharedRecord(ranks, options_.session.resume);
  openInputs();
  readRecord();
  matchInputs();
  chooseBest();
  watchValues();
  planSteps();
  keepState();
}

void TrainCommand::openInputs() {
  sources_.training = openData(options_.data);
  sources_.test = openData(options_.test.data);
  countClasses();
  memory_.begin(options_.session.threads);
  session_ = openSession(options_.session, ranks_.thread());
  checkTrainsOnRanks(ranks_, *session_);
  noteOneGroup(ranks_, *session_);
  shareArtifact(ranks_, *session_);
  restoreOwnStates(ranks_, *session_, options_.session.resume);
  checkNormalization(*session_, options_.session);
}

/// Numbers the labels of image folders like the former run, and those of tests
/// like those of training.
void TrainCommand::countClasses() {
  data::Dataset &training = sources_.training;
  if (former_.record)
    countClassesAs(former_.record->classes, options_.session.resume, training);
  if (const auto *classes = training.classes())
    check(sources_.test.countClassesAs(*classes, training.source()));
}

void TrainCommand::readRecord() {
  findGraph(*session_, well_known::kTrain);
  const auto &record = former_.record;
  sources_.seed = options_.seed.value_or(
      record ? record->seed : recipeOf(*session_).value("seed", uint64_t(0)));
  if (record && !record->recipe.is_null())
    goOnWithNumbers();
  setNumbers(*session_, options_.set);
  noteSetNumbers(*session_);
}

/// Takes the numbers that were compiled anew. Recipes are compared with the
/// numbers that the former run had at its end, and with those that this one
/// begins with.
void TrainCommand::goOnWithNumbers() {
  nlohmann::json &recipe = former_.record->recipe;
  nlohmann::json former = withNumbersOf(*session_, recipe);
  takeRecompiledNumbers(*session_, recipe);
  recipe = std::move(former);
  former_.begun = withNumbersOf(*session_, recipeOfRun(recipeOf(*session_)));
}

void TrainCommand::matchInputs() {
  sources_.validation = partForTests(options_, former_.record, sources_.seed);
  sources_.feeds = matchTraining(*session_, sources_.training, sources_.test,
                                 sources_.validation, sources_.seed);
}

/// Chooses the metric of --best, which the tests must have.
void TrainCommand::chooseBest() {
  int evaluate = sources_.feeds.test
                     ? findEvaluation(*session_, options_.test.averaged)
                     : -1;
  if (options_.test.best.empty())
    return;
  auto best = training::BestMetric::parse(options_.test.best);
  checkOf("--best", best.status());
  checkOf(
      "--best",
      best->verifyIsAmong(
          training::ScalarOutputs(session_->graphs()[evaluate], 1).names()));
  policyOptions_.best.emplace(*best);
  policyOptions_.patience = options_.test.patience;
}

void TrainCommand::watchValues() {
  training::FiniteOptions finite;
  finite.saves = kept_.last->isKept();
  finite.searches = options_.debugNonfinite;
  finite.feed = &sources_.feeds.train;
  finite.testSource = sources_.testSource();
  finite.advice = "; --debug-nonfinite names the node";
  finite.tell = tell;
  checks_.finite.emplace(take(training::FiniteChecks::create(
      *session_, recipeOf(*session_), std::move(finite))));
  if (options_.watch.empty())
    return;
  auto watch = training::Watch::create(*session_, options_.watch, suggestion);
  checkOf("--watch", watch.status());
  checks_.watch = *std::move(watch);
}

BatchRanks TrainCommand::batchRanks() const {
  return {dealOf(ranks_, *session_).ranks, session_->logicalRanks() > 0};
}

/// Computes the number of steps to do, and the first of them.
void TrainCommand::planSteps() {
  batches_.emplace(sources_.feeds.train, sources_.seed,
                   dataThreads(options_.session), dealOf(ranks_, *session_),
                   [this](const char *what) { ranks_.doing(what); });
  int64_t perEpoch = length_.perEpoch = batches_->perEpoch();
  if (perEpoch == 0)
    throw noWholeBatch(sources_.feeds.train, sources_.training.source(),
                       sources_.validation, batchRanks());
  int64_t epochs = options_.epochs ? options_.epochs : 1;
  if (options_.steps)
    length_.total = options_.steps;
  else if (__builtin_mul_overflow(epochs, perEpoch, &length_.total))
    throw badInput("--epochs ", epochs, ": of ", perEpoch,
                   " steps each are more steps than can be counted");
  auto every = training::Interval::parse(options_.test.every);
  if (sources_.feeds.test)
    length_.testEvery = every ? every->steps(perEpoch) : perEpoch;
  length_.start = take(session_->stepCount());
  if (length_.start < 0)
    throw badInput(options_.session.resume.empty() ? options_.session.artifact
                                                   : options_.session.resume,
                   ": the state is at step ", length_.start,
                   ", expected 0 or more");
  if (!ranks_.isAlone())
    checkMeetings(training::updatesPerMeeting(recipeOf(*session_)),
                  length_.total, length_.testEvery,
                  options_.ranks.checkReplicas);
  if (ranks_.isFirst())
    checkFormerRun(options_, length_.start);
  const auto &test = sources_.feeds.test;
  agreeOnRun(ranks_, options_,
             {sources_.feeds.train, test ? &*test : nullptr, sources_.seed,
              length_.total, perEpoch, length_.testEvery, sources_.validation});
  length_.remarks = startRun(
      *session_, runLengthOf(recipeOf(*session_), length_.total, perEpoch),
      options_.set);
}

/// Opens what is written: checkpoints and logs.
void TrainCommand::keepState() {
  const std::string &resume = options_.session.resume;
  kept_.checkpoints.emplace(take(training::Checkpoints::create(
      *session_, options_.checkpoint, length_.perEpoch, std::move(kept_.held),
      tell)));
  kept_.checkpoints->goOnFrom(resume, length_.start);
  kept_.last->begin(length_.start);
  training::LogOptions log;
  log.file = options_.log;
  log.events = options_.tensorboard;
  if (!resume.empty())
    log.from = length_.start;
  log.isInside =
      length_.start % length_.perEpoch != 0 && length_.start < length_.total;
  log.tell = tell;
  log.fileRole = "--log";
  log.eventsRole = "--tensorboard";
  kept_.log = take(training::TrainingLog::open(std::move(log)));
  if (!former_.record)
    return;
  TrainingRecord now = record();
  if (!former_.begun.is_null())
    now.recipe = former_.begun;
  warnOfOthers(*former_.record, now);
}

/// The passes that the recipe adds to Gradus's own.
std::vector<std::string> addedPasses(const nlohmann::json &recipe) {
  auto passes = recipe.find("passes");
  return passes != recipe.end() && passes->is_array()
             ? passes->get<std::vector<std::string>>()
             : std::vector<std::string>();
}

/// Returns what checkpoints keep of the run, besides figures and decisions.
TrainingRecord TrainCommand::record() const {
  nlohmann::json recipe = recipeOf(*session_);
  TrainingRecord record;
  record.seed = sources_.seed;
  record.samples = sources_.feeds.train.samples();
  record.ranks = batchRanks().count;
  record.batch = sources_.feeds.train.batch() * record.ranks;
  record.validation = sources_.validation;
  if (const auto *classes = sources_.training.classes())
    record.classes = *classes;
  record.passes = addedPasses(recipe);
  if (session_->artifact().header().deterministic())
    record.plan = session_->plan().target()->str();
  record.normalize = normalizationOf(*session_);
  record.recipe = recipeOfRun(recipe);
  return record;
}

void TrainCommand::makeTrainer(training::Decider &decider) {
  training::TrainerOptions options;
  options.steps = length_.total;
  options.longestPiece = options_.debugNonfinite || checks_.watch ? 1 : 0;
  options.record = record();
  trainer_.emplace(take(training::Trainer::create(*session_, *batches_, decider,
                                                  std::move(options))));
  if (const auto &test = sources_.feeds.test) {
    training::Tester tester = training::testerOf(
        *session_, findEvaluation(*session_, options_.test.averaged), *test,
        dataThreads(options_.session), ranks_.thread().get());
    if (together_.means)
      tester = training::testerOfMeans(
          std::move(tester), *together_.means,
          ownEvaluated(*session_, options_.test.averaged));
    trainer_->testBy(std::move(tester));
  }
  if (former_.record)
    trainer_->resume(*former_.record);
}

TrainingOutline TrainCommand::outline() const {
  TrainingOutline outline;
  outline.data = DataOutline::ofTraining(sources_.feeds.train, batchRanks());
  outline.processes = ranks_.count();
  outline.ranks = ranksText(ranks_, *session_);
  if (sources_.feeds.test)
    outline.test = DataOutline::ofEvaluation(*sources_.feeds.test);
  outline.start = length_.start;
  outline.total = length_.total;
  for (const data::Dataset *set : {&sources_.training, &sources_.test})
    for (const std::string &remark : set->remarks())
      outline.remarks.push_back(remark);
  auto recipe = withNumbersOf(*session_, recipeOf(*session_));
  outline.schedule = resolvedSchedules(recipe);
  for (const auto &list :
       {length_.remarks,
        lengthWarnings(recipe, length_.total, length_.perEpoch)})
    for (const std::string &words : list) {
      warn(words);
      outline.remarks.push_back(words);
    }
  return outline;
}

/// Runs all steps. A failure on which all ranks have settled ends them alike.
training::Outcome TrainCommand::ended(const training::LedDecider *led) {
  auto outcome = trainer_->run();
  if (led && led->hasSettledOn(outcome.status()))
    throw SharedFailure(failureOf(outcome.status()));
  return take(std::move(outcome));
}

/// Ends a run whose steps so far were right, so they are saved: all of its
/// ranks, at the same step.
void TrainCommand::leave(const training::Outcome &outcome) const {
  const std::string &path = options_.checkpoint.path;
  if (outcome.end == training::Outcome::End::brokenOff)
    throw SharedFailure(
        interruptedAfter(trainer_->step(), length_.total, path));
  Failure failure = failureOf(outcome.why);
  std::string saved =
      path.empty() ? ""
                   : absl::StrCat("; the state of step ", trainer_->step(),
                                  " is in ", path, "; ", resumeAdvice(path));
  throw SharedFailure({failure.code, failure.what() + saved});
}

void TrainCommand::joinRanks() {
  if (ranks_.isAlone())
    return;
  auto &[led, replicas, means, own] = together_;
  nlohmann::json recipe = recipeOf(*session_);
  int64_t meets = training::updatesPerMeeting(recipe),
          each = stepsPerUpdate(recipe) * std::max<int64_t>(1, meets);
  auto isWhole = [this, each] {
    return training::gatheredBatches(*session_, each) == 0;
  };
  led.emplace(*ranks_.thread(), *policy_, Interrupt::requested, isWhole);
  if (training::ranksKeepOwn(*session_))
    means.emplace(*session_, *ranks_.thread());
  own.emplace(*session_, *ranks_.thread(), !options_.checkpoint.path.empty(),
              std::not_fn(isWhole), means ? &*means : nullptr);
  if (options_.ranks.checkReplicas)
    replicas.emplace(*session_, *ranks_.thread(), options_.ranks.checkReplicas,
                     meets > 0);
}

void TrainCommand::train(Clock::time_point began) {
  Progress progress(length_.total, length_.start,
                    ranks_.isAlone() && Progress::onTerminal() &&
                        !options_.session.json);
  policyOptions_.testEvery = length_.testEvery;
  policyOptions_.lookEvery = options_.ranks.checkReplicas;
  policy_.emplace(policyOptions_, &*kept_.checkpoints);
  if (ranks_.isAlone() && options_.ranks.checkReplicas)
    warn("--check-replicas: one process has nothing to compare");
  Interruptible alone(*policy_);
  joinRanks();
  auto &[led, replicas, means, own] = together_;
  makeTrainer(led ? static_cast<training::Decider &>(*led) : alone);
  ProgressBar bar(progress);
  TrainingLines lines(options_.session.json);
  StepWarnings warnings(*session_, ranks_.count());
  // In this order: a value is watched before it is logged, a line is printed
  // before its figures are judged, and a state is checked before it is saved.
  for (training::Observer *observer :
       std::initializer_list<training::Observer *>{
           checks_.watch.get(), &memory_, ranks_.isFirst() ? &bar : nullptr,
           kept_.log.get(), ranks_.isFirst() ? &lines : nullptr,
           &*checks_.finite, replicas ? &*replicas : nullptr,
           &*kept_.checkpoints, own ? &*own : nullptr, &*kept_.last, &warnings,
           report_ ? &*report_ : nullptr})
    if (observer)
      trainer_->add(*observer);
  training::Outcome outcome = ended(led ? &*led : nullptr);
  if (outcome.end == training::Outcome::End::brokenOff ||
      outcome.end == training::Outcome::End::unreadable)
    leave(outcome);
  // Predictions of the model are compared behind this.
  bool compares = report_ && sources_.feeds.test;
  if (means && !ranks_.fromFirst(compares ? "means" : "").empty())
    check(means->take(ownEvaluated(*session_, options_.test.averaged)));
  TrainingSummary summed = summary(began);
  if (ranks_.isFirst())
    summed.print(options_, *session_);
  if (report_)
    report_->finish(summed);
  check(kept_.log->finish());
  check(kept_.checkpoints->finish());
  check(checks_.finite->checkLastTest(trainer_->step(), trainer_->tested()));
}

void TrainCommand::run() {
  TrainingOutline outlined = outline();
  if (ranks_.isFirst())
    outlined.print(options_);
  // Ranks end together, at a border that all come to.
  Interrupt interrupt(ranks_.isAlone() ? session_.get() : nullptr);
  auto began = Clock::now();
  if (report_)
    report_->begin({session_.get(), [=, this] { return summary(began); },
                    outlined, sources_.seed});
  try {
    train(began);
  } catch (const std::exception &thrown) {
    reportFailure(thrown);
    throw;
  }
  if (report_)
    writeReport();
}

TrainingSummary TrainCommand::summary(Clock::time_point began) const {
  const TrainingFeeds &feeds = sources_.feeds;
  TrainingSummary summary;
  summary.start = length_.start;
  summary.done = trainer_->step();
  summary.total = length_.total;
  summary.test = trainer_->tested();
  summary.best = policy_->bestText();
  summary.stoppedEarly = policy_->isStopped();
  summary.trainingSamples = feeds.train.samples();
  summary.testSamples = feeds.test ? feeds.test->samples() : 0;
  summary.stepSeconds = trainer_->secondsInSteps();
  summary.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  summary.measuredBytes = memory_.bytes();
  summary.ranks = ranks_.count();
  return summary;
}

/// Writes the report of a run that has done its steps. A page is there before
/// the predictions are compared, which may take long.
void TrainCommand::writeReport() {
  RunEnd end{policy_->isStopped() ? "stopped early" : "done", ""};
  if (!sources_.feeds.test) {
    report_->leaveScoresOut(
        "There was no test data: --eval or --validation gives some.");
    return report_->write(end);
  }
  report_->leaveScoresOut("The predictions were not compared yet when this "
                          "page was written.");
  report_->write(end);
  const data::Dataset &set =
      sources_.validation > 0 ? sources_.training : sources_.test;
  report_->score(*session_, *sources_.feeds.test,
                 set.classes() ? *set.classes() : std::vector<std::string>(),
                 dataThreads(options_.session));
  report_->write(end);
}

/// Writes the report of a run as far as it came. What ended the run counts more
/// than an error of writing the report, which is only a warning.
void TrainCommand::reportFailure(const std::exception &thrown) const {
  if (!report_ || !trainer_)
    return;
  auto *failure = dynamic_cast<const Failure *>(&thrown);
  bool isInterrupted = failure && failure->code == kInterrupted;
  try {
    report_->write({isInterrupted ? "interrupted" : "failed", thrown.what()});
  } catch (const std::exception &other) {
    warn(absl::StrCat("--report: ", other.what()));
  }
}

} // namespace

void addTrain(CLI::App &app) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App *command =
      app.add_subcommand("train", "Trains: runs the step over a data set");
  addTrainOptions(*command, *options);
  command->callback([options] {
    chooseCheckpoint(*options);
    runOnRanks(options->ranks, [&](const Ranks &ranks) {
      TrainCommand(*options, ranks).run();
    });
  });
}

} // namespace gradus::cli
