// Counts and sums; see scores.h for their meaning.

#include "tool/evaluate/scores.h"

#include "tool/text.h"

#include <algorithm>
#include <cmath>
#include <limits>

using nlohmann::ordered_json;

namespace gradus::cli {

static constexpr int64_t kMostShown = 20; // maximum size of a matrix for people
static constexpr int64_t kMostDrawn = 100; // and of one that is drawn
static constexpr size_t kMostConfusions = 20;

static double part(double of, double whole) {
  return whole ? of / whole : std::numeric_limits<double>::quiet_NaN();
}

static std::string partText(double value) {
  return std::isnan(value) ? "-" : number("%.3f", value);
}

void Confusion::add(int64_t label, int64_t predicted) {
  auto isClass = [&](int64_t it) { return it >= 0 && it < classes_; };
  if (isClass(label) && isClass(predicted))
    ++counts_[label * classes_ + predicted];
}

int64_t Confusion::rowSum(int64_t label) const {
  int64_t sum = 0;
  for (int64_t i = 0; i < classes_; ++i)
    sum += at(label, i);
  return sum;
}

int64_t Confusion::columnSum(int64_t predicted) const {
  int64_t sum = 0;
  for (int64_t i = 0; i < classes_; ++i)
    sum += at(i, predicted);
  return sum;
}

double Confusion::precision(int64_t of) const {
  return part(at(of, of), columnSum(of));
}

double Confusion::recall(int64_t of) const {
  return part(at(of, of), rowSum(of));
}

std::string Confusion::nameOf(int64_t of) const {
  return std::ssize(names_) == classes_ ? names_[of] : std::to_string(of);
}

std::string Confusion::matrixText() const {
  std::vector<std::string> header = {"label"};
  for (int64_t i = 0; i < classes_; ++i)
    header.push_back(nameOf(i));
  header.push_back("recall");
  Table table(header);
  std::vector<std::string> last = {"precision"};
  for (int64_t label = 0; label < classes_; ++label) {
    std::vector<std::string> row = {nameOf(label)};
    for (int64_t i = 0; i < classes_; ++i)
      row.push_back(std::to_string(at(label, i)));
    row.push_back(partText(recall(label)));
    table.row(row);
    last.push_back(partText(precision(label)));
  }
  last.push_back("");
  table.row(last);
  return "confusion (a row for each label, a column for each prediction):\n" +
         table.text();
}

std::string Confusion::classesText() const {
  Table table({"class", "precision", "recall", "labels"});
  for (int64_t of = 0; of < classes_; ++of)
    if (rowSum(of) || columnSum(of))
      table.row({nameOf(of), partText(precision(of)), partText(recall(of)),
                 std::to_string(rowSum(of))});
  return table.text();
}

std::string Confusion::text() const {
  return classes_ <= kMostShown ? matrixText() : classesText();
}

ordered_json Confusion::json() const {
  ordered_json rows = ordered_json::array(), precisions = rows, recalls = rows;
  for (int64_t of = 0; of < classes_; ++of) {
    auto row = counts_.begin() + of * classes_;
    rows.push_back(std::vector<int64_t>(row, row + classes_));
    precisions.push_back(precision(of)); // NaN is written as null
    recalls.push_back(recall(of));
  }
  ordered_json object = {
      {"confusion", rows}, {"precision", precisions}, {"recall", recalls}};
  if (std::ssize(names_) == classes_)
    object["classes"] = names_;
  return object;
}

/// Lists pairs of classes by how often one was taken for the other.
ordered_json Confusion::confusionsJson() const {
  std::vector<int64_t> places;
  for (int64_t place = 0; place < std::ssize(counts_); ++place)
    if (counts_[place] && place / classes_ != place % classes_)
      places.push_back(place);
  size_t most = std::min(kMostConfusions, places.size());
  std::partial_sort(places.begin(), places.begin() + most, places.end(),
                    [&](int64_t a, int64_t b) {
                      return std::pair(-counts_[a], a) <
                             std::pair(-counts_[b], b);
                    });
  ordered_json list = ordered_json::array();
  for (size_t i = 0; i < most; ++i)
    list.push_back({{"label", places[i] / classes_},
                    {"predicted", places[i] % classes_},
                    {"count", counts_[places[i]]}});
  return list;
}

ordered_json Confusion::reportJson() const {
  ordered_json object = {{"kind", "classes"},
                         {"classes", ordered_json::array()}};
  object.update(json());
  if (classes_ > kMostDrawn)
    object["confusion"] = ordered_json::array();
  ordered_json counts = ordered_json::array();
  for (int64_t of = 0; of < classes_; ++of)
    counts.push_back(rowSum(of));
  object["counts"] = counts;
  object["confusions"] = confusionsJson();
  return object;
}

Errors Errors::of(const std::vector<Errors> &parts) {
  Errors all;
  for (const Errors &part : parts) {
    if (part.count_ == 0)
      continue;
    double before = all.count_, count = part.count_,
           apart = part.mean_ - all.mean_;
    all.count_ += part.count_;
    all.absolute_ += part.absolute_;
    all.squares_ += part.squares_;
    all.mean_ += apart * count / (before + count);
    all.deviations_ +=
        part.deviations_ + apart * apart * before * count / (before + count);
  }
  return all;
}

void Errors::add(double target, double predicted) {
  double error = predicted - target;
  ++count_;
  absolute_ += std::abs(error);
  squares_ += error * error;
  double before = target - mean_;
  mean_ += before / count_;
  deviations_ += before * (target - mean_);
}

double Errors::meanAbsolute() const { return part(absolute_, count_); }

double Errors::rootMeanSquare() const {
  return std::sqrt(part(squares_, count_));
}

double Errors::r2() const { return 1 - part(squares_, deviations_); }

std::string Errors::text() const {
  return "mean absolute error: " + number("%.6g", meanAbsolute()) +
         "\nroot mean square error: " + number("%.6g", rootMeanSquare()) +
         "\nR2: " + (std::isnan(r2()) ? "-" : number("%.4f", r2())) + "\n";
}

ordered_json Errors::json() const {
  return {{"mae", meanAbsolute()}, {"rmse", rootMeanSquare()}, {"r2", r2()}};
}

ordered_json Errors::reportJson() const {
  ordered_json object = {{"kind", "numbers"}};
  object.update(json());
  return object;
}

} // namespace gradus::cli
