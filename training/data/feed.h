// Fills the inputs of a graph from a data set: checks once, then copies,
// converts and prepares samples.

#pragma once

#include "runtime/session/session.h"
#include "training/data/counted_labels.h"
#include "training/data/dataset.h"
#include "training/data/preparation.h"

namespace gradus::data {

class Feed {
public:
  /// Finds the column of each input by name and checks type, shape (axes of
  /// size 1 do not count), number of samples, labels and indices. An i64 scalar
  /// input `count` gets the number of real samples of each batch. Narrower
  /// integers are widened, pixels and f64 become f32, and numbers from text get
  /// the input's type. Sample i of a stream of tokens begins at token i * T; an
  /// input of labels that the data set does not have gets the tokens one
  /// further. The data set must outlive the feed.
  static runtime::StatusOr<Feed>
  match(const Dataset &dataset, const std::vector<runtime::TensorInfo> &inputs,
        const LabelRules &labels = {}, const Preparations &preparations = {});

  /// A feed of `count` samples, from number `first` on in the random order of
  /// `seed`.
  Feed part(uint64_t seed, int64_t first, int64_t count) const;
  /// From now on the samples of an epoch that do not fill a batch make one,
  /// filled up with others whose labels are ignored. Fails if labels cannot be
  /// ignored.
  runtime::Status maskLastBatch();
  bool masksLastBatch() const { return masksLast_; }

  /// Reports the first NaN in the data, else the first infinity, as "tensor
  /// 'x': sample 17 has nan"; empty if all numbers are finite. Checks only
  /// numbers that are copied or narrowed from a file.
  std::string firstNonfinite() const;

  /// The origin of the data, for errors.
  const std::string &source() const { return source_; }
  /// Notes for the user on how the data reach the inputs, a sentence each.
  const std::vector<std::string> &notes() const { return notes_; }
  int64_t samples() const { return samples_; }
  /// The number of samples in a batch.
  int64_t batch() const { return batch_; }
  /// The classes in the whole data set if a sample has one label; none are
  /// known otherwise.
  ClassCount classes() const { return classes_; }
  /// The number of labels of `count` samples from `first` on that are not
  /// ignored; the number of samples if labels cannot be ignored or several
  /// inputs have labels. Fails if the file was cut short.
  runtime::StatusOr<int64_t> countedLabels(int64_t first, int64_t count) const;
  /// The sum of the weights of those labels.
  runtime::StatusOr<double> labelWeight(int64_t first, int64_t count) const;
  /// The sum of weights of all labels of batches whose inputs are at `inputs`.
  double batchWeight(std::span<const void *const> inputs) const;
  /// Whether the graph has an input for the number of real samples in a batch.
  bool tellsCount() const;
  size_t inputCount() const { return ports_.size(); }
  /// Whether samples are files, which are decoded when they are copied.
  bool readsFiles() const { return readsFiles_; }
  /// Whether the data of an input are pixels: image files, or bytes 0..255.
  bool isOfPixels(size_t input) const {
    return ports_[input].files || ports_[input].isOfPixels;
  }
  /// Whether samples are scaled when they are copied.
  bool scales() const { return scales_ || readsFiles_; }
  /// The bytes of an input for a whole batch.
  size_t bytesOf(size_t input) const { return ports_[input].input.bytes; }

  /// Copies one sample to index `place` of a batch whose inputs are at
  /// `inputs`; `draw` seeds its augmentation. Several threads may copy samples
  /// to different indices at once. Fails if an image cannot be decoded, or a
  /// file was cut short.
  runtime::Status copySample(int64_t sample, int64_t place, void *const *inputs,
                             uint64_t draw = 0) const;
  /// Sets the labels of the samples from index `place` on to ignored.
  void ignoreLabels(int64_t place, void *const *inputs) const;
  /// Ends a batch of `count` samples: zeros the others and sets the input
  /// `count`.
  void finish(int64_t count, void *const *inputs) const;

private:
  using Convert = void (*)(const uint8_t *from, uint8_t *to, size_t elements);

  struct Port {
    runtime::TensorInfo input;
    bool takesCount = false;                        // it is the input `count`
    bool isOfPixels = false;                        // u8 0..255
    const uint8_t *source = nullptr;                // null: image files
    size_t sourceBytes = 0;                         // of one sample
    size_t targetBytes = 0;                         // of one sample
    size_t elements = 0;                            // of one sample
    int64_t samples = 0;                            // in the data set
    Convert convert = nullptr;                      // null: a copy
    std::shared_ptr<const Preparation> preparation; // null: none

    std::shared_ptr<const std::vector<std::string>> files; // null: none
    std::optional<ResizedCrop> crop; // cuts files before they are scaled

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

  std::vector<Port> ports_;
  std::vector<std::shared_ptr<const Column>> made_; // converted columns
  std::optional<CountedLabels> labels_; // none: all samples count alike
  ClassCount classes_;
  std::string source_; // origin of the data
  std::vector<std::string> notes_;
  int64_t samples_ = -1;
  int64_t batch_ = -1;
  SampleOrder order_;
  bool masksLast_ = false, readsFiles_ = false, scales_ = false;
};

} // namespace gradus::data
