// A descriptor keeps its first failure until a caller can report it.

#include "runtime/cuda/libraries/cudnn_descriptor.h"

namespace gradus::runtime::cuda::cudnn {

Descriptor::Descriptor(const Library &library, Kind kind)
    : library_(&library),
      failure_(check(library, library.make(kind, &raw_),
                     inWords("making a descriptor of kind ", int(kind)))) {}

Descriptor::~Descriptor() {
  if (raw_)
    library_->unmake(raw_);
}

Descriptor &Descriptor::set(Attribute attribute, ValueType type, int64_t count,
                            const void *values) {
  if (failure_.ok())
    failure_ =
        check(*library_, library_->set(raw_, attribute, type, count, values),
              inWords("setting attribute ", int(attribute)));
  return *this;
}

Descriptor &Descriptor::set(Attribute attribute, const Descriptor &value) {
  return set(attribute, ValueType::descriptor, 1,
             static_cast<const void *>(&value.raw_));
}

Descriptor &
Descriptor::setDescriptors(Attribute attribute,
                           const std::vector<RawDescriptor> &values) {
  return set(attribute, ValueType::descriptor, int64_t(values.size()),
             static_cast<const void *>(values.data()));
}

Status Descriptor::finalize(const std::string &what) {
  GRADUS_TRY(at(failure_, what));
  return check(*library_, library_->finalize(raw_), what);
}

StatusOr<int64_t> Descriptor::get(Attribute attribute, ValueType type,
                                  int64_t most, void *values) const {
  int64_t count = 0;
  GRADUS_TRY(check(*library_,
                   library_->get(raw_, attribute, type, most, &count, values),
                   inWords("reading attribute ", int(attribute))));
  return count;
}

StatusOr<std::vector<Descriptor>>
Descriptor::getDescriptors(Attribute attribute, Kind kind, int64_t most) const {
  std::vector<Descriptor> made;
  std::vector<RawDescriptor> raw;
  for (int64_t i = 0; i < most; ++i) {
    made.emplace_back(*library_, kind);
    GRADUS_TRY(made.back().failure_);
    raw.push_back(made.back().raw_);
  }
  GRADUS_ASSIGN(int64_t count, get(attribute, ValueType::descriptor, most,
                                   static_cast<void *>(raw.data())));
  made.resize(static_cast<size_t>(std::min(count, most)));
  return made;
}

} // namespace gradus::runtime::cuda::cudnn
