// train_digits ARTIFACT TRAIN TEST EPOCHS FOLDER: checkpoints, early stopping,
// a log and events for TensorBoard; goes on from FOLDER's checkpoint, if any.

#include "training/feeds.h"
#include "training/policy.h"
#include "training/trainer.h"
#include "training/training_log.h"

#include <cstdio>
#include <cstdlib>

using namespace gradus::runtime;
using namespace gradus::training;
using gradus::data::Dataset;

struct Lines : Observer {
  Status onEpoch(const EpochReport &report) override {
    std::printf("epoch %d: loss %.4f, test accuracy %.4f\n", int(report.epoch),
                report.train[0].value, report.test[1].value);
    return {};
  }
};

Status train(char **arguments) {
  std::string folder = arguments[5], kept = folder + "/digits.safetensors";
  std::unique_ptr<Session> session;
  GRADUS_ASSIGN(session, Session::load(arguments[1]));
  std::optional<TrainingRecord> former;
  GRADUS_ASSIGN(former, TrainingRecord::loadIfThere(*session, kept));
  Dataset samples, tests;
  GRADUS_ASSIGN(samples, Dataset::open({arguments[2]}));
  GRADUS_ASSIGN(tests, Dataset::open({arguments[3]}));
  TrainingFeeds feeds;
  GRADUS_ASSIGN(feeds, feedsOf(*session, samples, tests));
  FeedBatches batches(feeds.train, /*seed=*/0);
  int64_t epoch = batches.perEpoch(), steps = epoch * std::atoi(arguments[4]);

  auto checkpoints = Checkpoints::create(
      *session, {.path = kept, .every = "1epoch", .keep = 2}, epoch);
  GRADUS_TRY(checkpoints.status());
  LogOptions logged = {.file = folder + "/log.jsonl", .events = folder};
  if (former)
    logged.from = *session->stepCount();
  std::unique_ptr<TrainingLog> log;
  GRADUS_ASSIGN(log, TrainingLog::open(logged));
  Policy policy({.testEvery = epoch,
                 .best = *BestMetric::parse("accuracy"),
                 .patience = 4},
                &*checkpoints);
  auto trainer = Trainer::create(*session, batches, policy, {.steps = steps});
  GRADUS_TRY(trainer.status());
  int evaluate = session->findGraph("evaluate");
  trainer->testBy(testerOf(*session, evaluate, *feeds.test));
  Lines lines;
  for (auto *each : std::vector<Observer *>{log.get(), &lines, &*checkpoints})
    trainer->add(*each);
  if (former)
    trainer->resume(*former);
  Outcome outcome;
  GRADUS_ASSIGN(outcome, trainer->run());
  std::printf("%s; best: %s\n", policy.isStopped() ? "stopped early" : "done",
              policy.bestText().c_str());
  return outcome.why;
}

int main(int count, char **arguments) {
  Status status =
      count == 6 ? train(arguments)
                 : invalid("train_digits ARTIFACT TRAIN TEST EPOCHS FOLDER");
  if (!status.ok())
    std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
