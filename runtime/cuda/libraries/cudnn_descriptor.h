// A descriptor of cuDNN's backend: attributes are set, it is finalized, then
// other descriptors refer to it and attributes are read.
#pragma once

#include "runtime/cuda/libraries/cudnn_library.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace gradus::runtime::cuda::cudnn {

/// cuDNN's name for the type of a value.
inline ValueType typeOf(Handle) { return ValueType::handle; }
inline ValueType typeOf(DataType) { return ValueType::dataType; }
inline ValueType typeOf(bool) { return ValueType::boolean; }
inline ValueType typeOf(int64_t) { return ValueType::int64; }
inline ValueType typeOf(float) { return ValueType::float32; }
inline ValueType typeOf(void *) { return ValueType::pointer; }
inline ValueType typeOf(ConvolutionMode) { return ValueType::convolutionMode; }
inline ValueType typeOf(HeuristicMode) { return ValueType::heuristicMode; }
inline ValueType typeOf(KnobType) { return ValueType::knobType; }
inline ValueType typeOf(NumericalNote) { return ValueType::numericalNote; }
inline ValueType typeOf(PointwiseMode) { return ValueType::pointwiseMode; }
inline ValueType typeOf(ReductionOperator) {
  return ValueType::reductionOperator;
}
inline ValueType typeOf(char) { return ValueType::character; }

class Descriptor {
public:
  Descriptor() = default;
  /// Failures here and in `set` are reported by `finalize`.
  Descriptor(const Library &library, Kind kind);
  Descriptor(Descriptor &&other) noexcept { *this = std::move(other); }
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(library_, other.library_);
    std::swap(raw_, other.raw_);
    std::swap(failure_, other.failure_);
    return *this;
  }
  ~Descriptor();

  explicit operator bool() const { return raw_; }
  RawDescriptor raw() const { return raw_; }

  template <typename T> Descriptor &set(Attribute attribute, const T &value) {
    return set(attribute, typeOf(T()), 1, static_cast<const void *>(&value));
  }
  template <typename T>
  Descriptor &set(Attribute attribute, const std::vector<T> &values) {
    return set(attribute, typeOf(T()), int64_t(values.size()),
               static_cast<const void *>(values.data()));
  }
  Descriptor &set(Attribute attribute, const Descriptor &value);
  Descriptor &setDescriptors(Attribute attribute,
                             const std::vector<RawDescriptor> &values);
  /// `what` is for errors: "describing a convolution".
  Status finalize(const std::string &what);

  template <typename T> StatusOr<T> get(Attribute attribute) const {
    GRADUS_ASSIGN(std::vector<T> values, getList<T>(attribute, 1));
    if (values.empty())
      return failed("cuDNN gives no value of attribute ", int(attribute));
    return values[0];
  }
  template <typename T>
  StatusOr<std::vector<T>> getList(Attribute attribute, int64_t most) const {
    std::vector<T> values(static_cast<size_t>(most));
    GRADUS_ASSIGN(int64_t count,
                  get(attribute, typeOf(T()), most, values.data()));
    values.resize(static_cast<size_t>(std::min(count, most)));
    return values;
  }
  /// Returns the descriptors in an attribute.
  StatusOr<std::vector<Descriptor>>
  getDescriptors(Attribute attribute, Kind kind, int64_t most) const;

private:
  Descriptor &set(Attribute attribute, ValueType type, int64_t count,
                  const void *values);
  StatusOr<int64_t> get(Attribute attribute, ValueType type, int64_t most,
                        void *values) const;

  const Library *library_ = nullptr;
  RawDescriptor raw_ = nullptr;
  Status failure_;
};

} // namespace gradus::runtime::cuda::cudnn
