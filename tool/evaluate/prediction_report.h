// Compares the model's predictions with the labels, sample by sample;
// `evaluate` prints this beside the metrics of the graph.

#pragma once

#include "runtime/collectives/communication_thread.h"
#include "runtime/session/session.h"
#include "tool/evaluate/sample_picture.h"
#include "tool/evaluate/scores.h"
#include "tool/evaluate/worst_samples.h"

#include <functional>
#include <optional>
#include <span>

namespace gradus::cli {

class PredictionReport {
public:
  /// Prepares the report for the graph `evaluation` of a session. It is empty
  /// if the recipe's loss compares no classes (at most 1000) and no numbers.
  /// `classes` are the classes' names, if they have some.
  PredictionReport(runtime::Session &session, int evaluation,
                   std::vector<std::string> classes = {});

  /// Keeps the worst samples from now on, by the first output that is compared.
  /// `isOfPixels` says of an input of `evaluation` whether its data are pixels.
  void keepWorst(size_t most,
                 const std::function<bool(size_t)> &isOfPixels = {});

  /// Predicts a batch given as the inputs of `evaluation`, and counts its first
  /// `count` samples.
  void add(std::span<const void *const> inputs, int64_t count);

  /// Gives rank 0 what all ranks have counted, of batches that were dealt to
  /// them one after the other; all call it together. The report is the one of a
  /// single process, to the bit.
  runtime::Status share(runtime::CommunicationThread &ranks);

  std::string text() const;
  nlohmann::ordered_json json() const;
  /// For a run's report: of each output that is compared {"output": its name,
  /// ...} with its scores.
  nlohmann::ordered_json scoresJson() const;
  /// For a run's report: {"output", "by": what is counted as the loss of a
  /// sample, "samples": ...}; null if nothing is compared or kept. By classes
  /// that is the cross entropy of the scores, without weights and smoothing, by
  /// numbers the mean square error, each a mean over the sample's labels.
  nlohmann::ordered_json worstJson() const;

private:
  /// An output of the model that a loss compares with labels.
  struct Compared {
    std::string prefix; // of JSON keys, if there are several
    int output = 0;     // of `predict`
    int label = 0;      // input of `evaluation`
    int64_t classAxis = 0;
    std::optional<int64_t> ignore;
    std::optional<Confusion> classes; // else numbers
    std::vector<Errors> errors;       // of each batch
  };

  void addTerm(const nlohmann::json &loss);
  void addClasses(const nlohmann::json &loss, Compared compared);
  void count(Compared &compared, const void *labels, int64_t samples);
  void countClasses(Compared &compared, const void *labels, int64_t samples);
  void countNumbers(Compared &compared, const void *labels, int64_t samples);
  void addToWorst(std::span<const void *const> inputs, int64_t samples);
  std::optional<SampleResult> classResult(const Compared &compared,
                                          const void *labels,
                                          int64_t sample) const;
  SampleResult numberResult(const Compared &compared, const void *labels,
                            int64_t sample) const;
  const runtime::TensorInfo &outputInfo(const Compared &compared) const;

  runtime::Session &session_;
  int evaluation_, predict_;
  std::vector<std::string> classNames_;
  std::vector<int> inputs_; // of `evaluation`, for each of `predict`
  std::vector<Compared> compared_;
  std::optional<WorstSamples> worst_;
  int picturedInput_ = -1; // of `evaluation`
  std::optional<PictureShape> pictureShape_;
  int64_t seen_ = 0; // samples
};

} // namespace gradus::cli
