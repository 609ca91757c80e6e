// The labels of a data set where a loss ignores some, or weighs classes.
#pragma once

#include "training/data/integers.h"
#include "training/data/shuffle.h"

namespace gradus::data {

class CountedLabels {
public:
  /// The input of the labels: its number, its type, labels of one sample.
  struct Input {
    size_t index = 0;
    runtime::DType dtype = runtime::DType::i64;
    int64_t perSample = 1;
  };

  /// Whether such labels are to be counted: integers, some of which are ignored
  /// or weigh more than others.
  static bool areCounted(const LabelRule &rule, runtime::DType dtype);

  /// The column must outlive this.
  CountedLabels(const Column &column, LabelRule rule, Input input)
      : column_(&column), rule_(std::move(rule)), input_(input) {}

  /// The number of the input that has them.
  size_t input() const { return input_.index; }
  bool canBeIgnored() const { return rule_.ignore.has_value(); }

  /// The number of labels of `count` samples from `first` of an order on that
  /// are not ignored. Fails if the file was cut short.
  runtime::StatusOr<int64_t> count(const SampleOrder &order, int64_t first,
                                   int64_t count) const;
  /// The sum of the weights of those labels.
  runtime::StatusOr<double> weight(const SampleOrder &order, int64_t first,
                                   int64_t count) const;
  /// The sum of weights of the labels of a batch of so many samples.
  double batchWeight(const void *labels, int64_t samples) const;
  /// Sets the labels of a batch's samples in [begin, end) to ignored.
  void ignore(void *labels, int64_t begin, int64_t end) const;

private:
  template <typename Visit>
  runtime::Status eachLabel(const SampleOrder &order, int64_t first,
                            int64_t count, Visit visit) const;
  double weightOf(int64_t label) const;

  const Column *column_;
  LabelRule rule_;
  Input input_;
};

} // namespace gradus::data
