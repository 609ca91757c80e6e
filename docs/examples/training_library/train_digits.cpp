// train_digits MODEL TRAIN TEST EPOCHS FOLDER: checkpoints, early stopping, a
// log and events for TensorBoard; goes on from FOLDER's checkpoint, if any. The
// model is compiled here (.onnx), or it is an artifact.

#include "runtime/gradus.h"
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

const char recipe[] = R"({
  "inputs": {"dims": {"batch": 32}},
  "loss": {"type": "softmax_cross_entropy", "output": "logits"},
  "metrics": ["accuracy"],
  "optimizer": {"type": "adamw", "learning_rate": 0.002}})";

StatusOr<std::shared_ptr<const Artifact>> compiled(const std::string &model) {
  gradus_compile_options options = gradus_default_compile_options();
  options.model.path = model.c_str();
  options.recipe = {nullptr, recipe, sizeof(recipe) - 1};
  gradus_compiled *result = nullptr;
  const void *bytes = nullptr;
  size_t size = 0;
  gradus_status status = gradus_compile(&options, &result);
  if (status == GRADUS_OK)
    status = gradus_compiled_artifact(result, &bytes, &size);
  StatusOr<std::shared_ptr<const Artifact>> artifact =
      failed(gradus_last_error(nullptr));
  if (status == GRADUS_OK)
    artifact =
        Artifact::fromBytes({static_cast<const uint8_t *>(bytes), size}, model);
  gradus_compiled_free(result);
  return artifact;
}

Status train(char **arguments) {
  std::string model = arguments[1], folder = arguments[5],
              kept = folder + "/digits.safetensors";
  std::shared_ptr<const Artifact> artifact;
  GRADUS_ASSIGN(artifact, model.ends_with(".onnx") ? compiled(model)
                                                   : Artifact::open(model));
  std::unique_ptr<Session> session;
  GRADUS_ASSIGN(session, Session::create(artifact));
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
  Status status = count == 6
                      ? train(arguments)
                      : invalid("train_digits MODEL TRAIN TEST EPOCHS FOLDER");
  if (!status.ok())
    std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
