// How the inputs of a graph are filled from a data set: checked once, then
// samples are copied, converted and prepared.

#pragma once

#include "frontends/data/dataset.h"
#include "frontends/data/integers.h"
#include "frontends/data/preparation.h"
#include "frontends/data/shuffle.h"
#include "runtime/session.h"

namespace gradus::data {

class Feed {
public:
  /// Finds for each input the column of its name and checks type, shape (axes
  /// of size 1 do not count), number of samples, labels and indices. An i64
  /// scalar input `count` gets the number of real samples of each batch.
  /// Integers may be narrower in the file, pixels and f64 are made f32, and
  /// what was read from text becomes the input's type. A stream of tokens gives
  /// its input the tokens i..i+T of sample i / T, and an input of labels that
  /// the data set does not have those from i+1 on. The data set must outlive
  /// the feed.
  static runtime::StatusOr<Feed>
  match(const Dataset &dataset, const std::vector<runtime::TensorInfo> &inputs,
        const LabelRules &labels = {}, const Preparations &preparations = {});

  /// The same of `count` samples from `first` on, in the order that `seed`
  /// gives all of them.
  Feed part(uint64_t seed, int64_t first, int64_t count) const;
  /// From now on the samples of an epoch that do not fill a batch make one,
  /// filled up with others whose labels are ignored. Fails where no label can
  /// be.
  runtime::Status maskLastBatch();
  bool masksLastBatch() const { return masksLast_; }

  /// "tensor 'x': sample 17 has nan" of the first number of the data that is
  /// none, else of the first infinity; empty where all are finite. Looks at
  /// numbers that are taken as they lie in a file.
  std::string firstNonfinite() const;

  /// Where the data came from, for errors.
  const std::string &source() const { return source_; }
  /// What one should know of how the data come to the inputs, a sentence each.
  const std::vector<std::string> &notes() const { return notes_; }
  int64_t samples() const { return samples_; }
  /// Samples of a batch.
  int64_t batch() const { return batch_; }
  /// The classes of one label a sample, in the whole data set; none are known
  /// where a sample has no label, or several.
  ClassCount classes() const { return classes_; }
  /// How many labels of `count` samples from `first` on are not ignored; the
  /// samples themselves where no label can be, or where there are several
  /// inputs of labels. Fails where their file was cut short.
  runtime::StatusOr<int64_t> countedLabels(int64_t first, int64_t count) const;
  /// The sum of those labels' weights.
  runtime::StatusOr<double> labelWeight(int64_t first, int64_t count) const;
  /// The same of all labels of a batch whose inputs lie at `inputs`.
  double batchWeight(std::span<const void *const> inputs) const;
  /// Whether the graph is told how many samples of a batch are real.
  bool tellsCount() const;
  size_t inputCount() const { return ports_.size(); }
  /// Bytes of an input, for a whole batch.
  size_t bytesOf(size_t input) const { return ports_[input].input.bytes; }

  /// Copies one sample into place `place` of a batch whose inputs lie at
  /// `inputs`; `draw` is what its augmentation depends on.
  /// Fails where an image cannot be decoded, or a file was cut short.
  runtime::Status copySample(int64_t sample, int64_t place, void *const *inputs,
                             uint64_t draw = 0) const;
  /// Gives the samples from `place` on labels that are ignored.
  void ignoreLabels(int64_t place, void *const *inputs) const;
  /// Ends a batch of `count` samples: zeros for the others, and `count` itself.
  void finish(int64_t count, void *const *inputs) const;

private:
  using Convert = void (*)(const uint8_t *from, uint8_t *to, size_t elements);

  struct Port {
    runtime::TensorInfo input;
    bool takesCount = false;                        // the number of samples
    const uint8_t *source = nullptr;                // null: files
    size_t sourceBytes = 0;                         // of one sample
    size_t targetBytes = 0;                         // of one sample
    size_t elements = 0;                            // of one sample
    int64_t samples = 0;                            // in the data set
    Convert convert = nullptr;                      // null: as it is
    std::shared_ptr<const Preparation> preparation; // null: none

    std::shared_ptr<const std::vector<std::string>> files; // null: none
    std::optional<ResizedCrop> crop; // of files, before they are scaled

    runtime::Status read(int64_t sample, uint8_t *to, const std::string &of,
                         uint64_t draw) const;
    int64_t findNonfinite(bool infinite) const;
    runtime::Status readFile(const std::string &path, float *to,
                             uint64_t draw) const;
  };

  static Convert conversion(const Column &column, runtime::DType to);
  runtime::StatusOr<const Column *> findColumn(const Dataset &dataset,
                                               const runtime::TensorInfo &input,
                                               const LabelRules &labels);
  const Column *keep(Column column);
  runtime::Status addColumn(const Column &column,
                            const runtime::TensorInfo &input);
  runtime::Status addPort(const Column &column,
                          const runtime::TensorInfo &input, Convert convert);
  runtime::Status addInput(const Dataset &dataset,
                           const runtime::TensorInfo &input,
                           const LabelRules &labels);
  runtime::Status addLabels(const Column &column, const LabelRule &rule);
  runtime::Status addPreparation(const runtime::TensorInfo &input,
                                 const Preparations &preparations);
  /// The sample of the data set that is this one of the part.
  int64_t inWhole(int64_t sample) const {
    return order_ ? (*order_)(first_ + sample) : sample;
  }
  double weightOf(int64_t label) const;
  template <typename Visit>
  runtime::Status eachLabel(int64_t first, int64_t count, Visit visit) const;

  std::vector<Port> ports_;
  std::vector<std::shared_ptr<const Column>> made_; // for ports, of columns
  const Column *labels_ = nullptr; // the only ones; null if all count the same
  size_t labelPort_ = 0;           // of them
  int64_t labelsPerSample_ = 1;
  LabelRule rule_; // of them
  ClassCount classes_;
  std::string source_; // of the data set
  std::vector<std::string> notes_;
  int64_t samples_ = -1;
  int64_t batch_ = -1;
  std::optional<Shuffle> order_; // of a part; none: the whole
  int64_t first_ = 0;
  bool masksLast_ = false;
};

} // namespace gradus::data
