// Runs `predict` on the batches of `evaluate`; the recipe's losses say which
// output is compared with which labels.

#include "tool/evaluate/prediction_report.h"

#include "messages/printable.h"
#include "runtime/well_known.h"
#include "tool/failure.h"
#include "tool/session/session_options.h"
#include "training/class_axis.h"
#include "training/dealt.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

using namespace gradus::runtime;

namespace gradus::cli {
namespace {

constexpr int64_t kMostClasses = 1000;
const std::set<std::string> kOfNumbers = {"mse", "l1", "smooth_l1", "huber"};

int find(const std::vector<TensorInfo> &tensors, const std::string &name) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].name == name)
      return i;
  return -1;
}

/// The text at a key; `fallback` if it is null or missing.
std::string textAt(const nlohmann::json &object, const char *key,
                   const std::string &fallback) {
  return object.contains(key) && object[key].is_string()
             ? object[key].get<std::string>()
             : fallback;
}

nlohmann::json lossesOf(const Session &session) {
  nlohmann::json loss =
      recipeOf(session).value("loss", nlohmann::json::object());
  return loss.contains("of") ? loss["of"] : nlohmann::json::array({loss});
}

} // namespace

PredictionReport::PredictionReport(Session &session, int evaluation,
                                   std::vector<std::string> classes)
    : session_(session), evaluation_(evaluation),
      predict_(session.findGraph(well_known::kPredict)),
      classNames_(std::move(classes)) {
  if (predict_ < 0)
    return;
  const auto &given = session.graphs()[evaluation].inputs;
  for (const TensorInfo &input : session.graphs()[predict_].inputs) {
    inputs_.push_back(find(given, input.name));
    if (inputs_.back() < 0)
      return; // the loss does not use that input
  }
  nlohmann::json losses = lossesOf(session);
  for (const nlohmann::json &loss : losses)
    addTerm(loss);
  if (compared_.size() > 1)
    for (Compared &each : compared_)
      each.prefix = outputInfo(each).name + "_";
}

const TensorInfo &PredictionReport::outputInfo(const Compared &compared) const {
  return session_.graphs()[predict_].outputs[compared.output];
}

void PredictionReport::addTerm(const nlohmann::json &loss) {
  const auto &outputs = session_.graphs()[predict_].outputs;
  const auto &inputs = session_.graphs()[evaluation_].inputs;
  std::string only = outputs.size() == 1 ? outputs[0].name : "";
  Compared compared;
  compared.output = find(outputs, textAt(loss, "output", only));
  compared.label = find(inputs, textAt(loss, "label", well_known::kLabel));
  if (compared.output < 0 || compared.label < 0 ||
      outputs[compared.output].type.dtype != DType::f32)
    return;
  const TensorType &output = outputs[compared.output].type,
                   &label = inputs[compared.label].type;
  // Values without a common axis of samples cannot be counted by sample.
  if (output.shape.empty() || label.shape.empty() ||
      output.shape[0] != label.shape[0])
    return;
  bool numbers = kOfNumbers.contains(textAt(loss, "type", ""));
  if (numbers && label == output)
    compared_.push_back(compared);
  if (loss.contains("class_axis") && !loss.value("soft_labels", false) &&
      label.dtype == DType::i64)
    addClasses(loss, compared);
}

void PredictionReport::addClasses(const nlohmann::json &loss,
                                  Compared compared) {
  const std::vector<int64_t> &shape = outputInfo(compared).type.shape;
  const std::vector<int64_t> &labels =
      session_.graphs()[evaluation_].inputs[compared.label].type.shape;
  int64_t axis = training::classAxis(loss, shape, labels).value_or(0);
  if (axis < 1 || shape[axis] > kMostClasses)
    return;
  // An artifact may name an axis that does not fit its labels.
  std::vector<int64_t> labelled = shape;
  labelled.erase(labelled.begin() + axis);
  if (labels != labelled)
    return;
  compared.classAxis = axis;
  if (loss.contains("ignore_index"))
    compared.ignore = loss["ignore_index"].get<int64_t>();
  compared.classes.emplace(shape[axis], classNames_);
  compared_.push_back(std::move(compared));
}

void PredictionReport::add(std::span<const void *const> inputs,
                           int64_t samples) {
  if (compared_.empty())
    return;
  std::vector<const void *> own;
  for (int input : inputs_)
    own.push_back(inputs[input]);
  check(session_.step(predict_, own));
  for (Compared &each : compared_)
    count(each, inputs[each.label], samples);
  if (worst_)
    addToWorst(inputs, samples);
  seen_ += samples;
}

void PredictionReport::count(Compared &compared, const void *labels,
                             int64_t samples) {
  if (compared.classes)
    countClasses(compared, labels, samples);
  else
    countNumbers(compared, labels, samples);
}

void PredictionReport::countClasses(Compared &compared, const void *labels,
                                    int64_t samples) {
  const std::vector<int64_t> &shape = outputInfo(compared).type.shape;
  int64_t classes = shape[compared.classAxis], inner = 1, outer = samples;
  for (int64_t axis = 1; axis < std::ssize(shape); ++axis)
    if (axis != compared.classAxis)
      (axis < compared.classAxis ? outer : inner) *= shape[axis];
  auto *scores = static_cast<const float *>(
      session_.outputBuffer(predict_, compared.output));
  auto *label = static_cast<const int64_t *>(labels);
  for (int64_t i = 0; i < outer * inner; ++i) {
    const float *first = scores + i / inner * classes * inner + i % inner;
    int64_t best = 0;
    for (int64_t c = 1; c < classes; ++c)
      if (first[c * inner] > first[best * inner])
        best = c;
    if (label[i] != compared.ignore)
      compared.classes->add(label[i], best);
  }
}

void PredictionReport::countNumbers(Compared &compared, const void *labels,
                                    int64_t samples) {
  const TensorInfo &output = outputInfo(compared);
  int64_t each = output.bytes / sizeof(float) / output.type.shape[0];
  auto *predicted = static_cast<const float *>(
      session_.outputBuffer(predict_, compared.output));
  auto *target = static_cast<const float *>(labels);
  Errors &errors = compared.errors.emplace_back();
  for (int64_t i = 0; i < samples * each; ++i)
    errors.add(target[i], predicted[i]);
}

Status PredictionReport::share(CommunicationThread &ranks) {
  for (Compared &each : compared_) {
    if (each.classes) {
      std::span<int64_t> counts = each.classes->counts();
      GRADUS_TRY(ranks.finish(ranks.begin({.type = DType::i64,
                                           .data = counts.data(),
                                           .count = counts.size()})));
    } else {
      GRADUS_ASSIGN(each.errors,
                    training::dealtBack<Errors>(ranks, each.errors));
    }
  }
  return Status();
}

void PredictionReport::keepWorst(
    size_t most, const std::function<bool(size_t)> &isOfPixels) {
  worst_.emplace(most);
  const auto &given = session_.graphs()[evaluation_].inputs;
  for (int input : inputs_) {
    if (input < 0 || pictureShape_)
      return;
    picturedInput_ = input;
    pictureShape_ =
        PictureShape::of(given[input].type, isOfPixels && isOfPixels(input));
  }
}

void PredictionReport::addToWorst(std::span<const void *const> inputs,
                                  int64_t samples) {
  const Compared &compared = compared_.front();
  const void *labels = inputs[compared.label];
  auto *images = pictureShape_
                     ? static_cast<const float *>(inputs[picturedInput_])
                     : nullptr;
  for (int64_t i = 0; i < samples; ++i) {
    std::optional<SampleResult> result =
        compared.classes ? classResult(compared, labels, i)
                         : numberResult(compared, labels, i);
    if (!result)
      continue;
    result->sample = seen_ + i;
    worst_->add(*result, [&] {
      return images ? samplePicture(*pictureShape_, images, i) : std::string();
    });
  }
}

/// The cross entropy of `classes` scores, `stride` apart.
static double crossEntropy(const float *scores, int64_t classes, int64_t stride,
                           int64_t label) {
  double most = scores[0], sum = 0;
  for (int64_t c = 1; c < classes; ++c)
    most = std::max<double>(most, scores[c * stride]);
  for (int64_t c = 0; c < classes; ++c)
    sum += std::exp(scores[c * stride] - most);
  return std::log(sum) + most - scores[label * stride];
}

/// A sample has no result if none of its labels counts.
std::optional<SampleResult>
PredictionReport::classResult(const Compared &compared, const void *labels,
                              int64_t sample) const {
  const std::vector<int64_t> &shape = outputInfo(compared).type.shape;
  int64_t classes = shape[compared.classAxis], inner = 1, each = 1;
  for (int64_t axis = 1; axis < std::ssize(shape); ++axis)
    if (axis != compared.classAxis) {
      each *= shape[axis];
      inner *= axis > compared.classAxis ? shape[axis] : 1;
    }
  auto *scores = static_cast<const float *>(
      session_.outputBuffer(predict_, compared.output));
  auto *label = static_cast<const int64_t *>(labels);
  SampleResult result;
  int64_t counted = 0;
  for (int64_t i = sample * each; i < (sample + 1) * each; ++i) {
    if (label[i] == compared.ignore || label[i] < 0 || label[i] >= classes)
      continue;
    const float *first = scores + i / inner * classes * inner + i % inner;
    result.loss += crossEntropy(first, classes, inner, label[i]);
    ++counted;
  }
  if (counted == 0)
    return std::nullopt;
  result.loss /= static_cast<double>(counted);
  if (each == 1) {
    const float *first = scores + sample * classes;
    result.label = label[sample];
    result.predicted = std::max_element(first, first + classes) - first;
    result.probability = std::exp(-result.loss);
  }
  return result;
}

SampleResult PredictionReport::numberResult(const Compared &compared,
                                            const void *labels,
                                            int64_t sample) const {
  const TensorInfo &output = outputInfo(compared);
  int64_t each = output.bytes / sizeof(float) / output.type.shape[0];
  auto *predicted = static_cast<const float *>(
                        session_.outputBuffer(predict_, compared.output)) +
                    sample * each;
  auto *target = static_cast<const float *>(labels) + sample * each;
  SampleResult result;
  for (int64_t i = 0; i < each; ++i) {
    double error = double(predicted[i]) - target[i];
    result.loss += error * error / static_cast<double>(each);
  }
  if (each == 1) {
    result.label = target[0];
    result.predicted = predicted[0];
  }
  return result;
}

std::string PredictionReport::text() const {
  std::string text;
  for (const Compared &each : compared_) {
    if (compared_.size() > 1)
      text += printable(outputInfo(each).name) + ":\n";
    text +=
        each.classes ? each.classes->text() : Errors::of(each.errors).text();
  }
  return text;
}

nlohmann::ordered_json PredictionReport::json() const {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const Compared &each : compared_) {
    auto figures =
        each.classes ? each.classes->json() : Errors::of(each.errors).json();
    for (const auto &[key, value] : figures.items())
      object[each.prefix + key] = value;
  }
  return object;
}

nlohmann::ordered_json PredictionReport::scoresJson() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Compared &each : compared_) {
    nlohmann::ordered_json scores = {{"output", outputInfo(each).name}};
    scores.update(each.classes ? each.classes->reportJson()
                               : Errors::of(each.errors).reportJson());
    list.push_back(scores);
  }
  return list;
}

nlohmann::ordered_json PredictionReport::worstJson() const {
  if (!worst_ || compared_.empty())
    return nullptr;
  const Compared &compared = compared_.front();
  return {{"output", outputInfo(compared).name},
          {"by", compared.classes ? "cross entropy" : "mean square error"},
          {"samples", worst_->json()}};
}

} // namespace gradus::cli
