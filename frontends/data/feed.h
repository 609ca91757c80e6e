// How the inputs of a graph are filled from a data set: checked once, then
// samples are copied, without allocation.

#pragma once

#include "frontends/data/dataset.h"
#include "frontends/data/integers.h"
#include "runtime/session.h"

namespace gradus::data {

class Feed {
public:
  /// Finds for each input the column of its name and checks type, shape (axes
  /// of size 1 do not count), number of samples, labels and indices. An i64
  /// scalar input `count` gets the number of real samples of each batch.
  /// Integers may be narrower in the file, and pixels are made f32. The data
  /// set must outlive the feed.
  static runtime::StatusOr<Feed>
  match(const Dataset &dataset, const std::vector<runtime::TensorInfo> &inputs,
        const LabelRules &labels = {});

  int64_t samples() const { return samples_; }
  /// Samples of a batch.
  int64_t batch() const { return batch_; }
  /// How many labels of `count` samples from `first` on are not ignored; the
  /// samples themselves where no label can be, or where there are several
  /// inputs of labels.
  int64_t countedLabels(int64_t first, int64_t count) const;
  /// The sum of those labels' weights.
  double labelWeight(int64_t first, int64_t count) const;
  /// Whether the graph is told how many samples of a batch are real.
  bool tellsCount() const;
  size_t inputCount() const { return ports_.size(); }
  /// Bytes of an input, for a whole batch.
  size_t bytesOf(size_t input) const { return ports_[input].bytes; }

  /// Copies one sample into place `place` of a batch whose inputs lie at
  /// `inputs`.
  void copySample(int64_t sample, int64_t place, void *const *inputs) const;
  /// Ends a batch of `count` samples: zeros for the others, and `count` itself.
  void finish(int64_t count, void *const *inputs) const;

private:
  using Convert = void (*)(const uint8_t *from, uint8_t *to, size_t elements);

  struct Port {
    const uint8_t *source = nullptr; // null: takes the number of samples
    size_t sourceBytes = 0;          // of one sample
    size_t targetBytes = 0;          // of one sample
    size_t elements = 0;             // of one sample
    size_t bytes = 0;                // of a batch
    Convert convert = nullptr;       // null: as it is
  };

  static Convert conversion(const Column &column, runtime::DType to);
  runtime::Status addColumn(const Dataset &dataset, const Column &column,
                            const runtime::TensorInfo &input);
  runtime::Status addInput(const Dataset &dataset,
                           const runtime::TensorInfo &input,
                           const LabelRules &labels);
  runtime::Status addLabels(const Column &column, const LabelRule &rule);

  std::vector<Port> ports_;
  template <typename Visit>
  void eachLabel(int64_t first, int64_t count, Visit visit) const;

  const Column *labels_ = nullptr; // the only ones; null if all count the same
  LabelRule rule_;                 // of them
  int64_t samples_ = -1;
  int64_t batch_ = -1;
};

} // namespace gradus::data
