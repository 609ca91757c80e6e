// Bit patterns, not arithmetic: steps run with denormals flushed.

#include "runtime/nonfinite.h"

#include "runtime/flat.h"

#include <algorithm>
#include <cstring>

namespace gradus::runtime {

namespace {

/// An exponent of all ones: with fraction 0 an infinity, else a NaN.
template <typename Bits>
bool holds(const uint8_t *data, size_t bytes, Bits exponent, bool infinity) {
  const Bits fraction = (exponent & (~exponent + 1)) - 1;
  for (size_t i = 0; i + sizeof(Bits) <= bytes; i += sizeof(Bits)) {
    Bits value;
    std::memcpy(&value, data + i, sizeof(Bits));
    if ((value & exponent) == exponent && ((value & fraction) == 0) == infinity)
      return true;
  }
  return false;
}

std::vector<uint32_t> buffersWritten(const artifact::KernelCommand &kernel,
                                     const artifact::CodeHeader &kernels) {
  const auto *signature = kernels.kernels()->Get(kernel.kernel());
  std::vector<uint32_t> written;
  for (size_t i = 0; i < countOf(kernel.segments()); ++i) {
    const auto *buffers = kernel.segments()->Get(i)->buffers();
    size_t count = countOf(buffers);
    size_t outputs = signature->outputs() ? signature->outputs() : count;
    for (size_t k = count - std::min(outputs, count); k < count; ++k)
      written.push_back(buffers->Get(k));
  }
  return written;
}

const char *nameOf(bool infinity) { return infinity ? "inf" : "nan"; }

} // namespace

std::vector<uint32_t> buffersWritten(const artifact::Command &command,
                                     const artifact::CodeHeader *kernels) {
  if (const auto *kernel = command.kind_as_KernelCommand())
    return buffersWritten(*kernel, *kernels);
  if (const auto *copy = command.kind_as_CopyCommand())
    return {copy->destination()};
  std::vector<uint32_t> written;
  if (const auto *library = command.kind_as_LibraryCommand())
    for (size_t i = 0; i < countOf(library->outputs()); ++i)
      written.push_back(library->outputs()->Get(i)->buffer());
  return written;
}

bool holdsNonfinite(DType dtype, const uint8_t *data, size_t bytes,
                    bool infinity) {
  switch (dtype) {
  case DType::f32:
    return holds<uint32_t>(data, bytes, 0x7f800000, infinity);
  case DType::f64:
    return holds<uint64_t>(data, bytes, 0x7ff0000000000000, infinity);
  case DType::f16:
    return holds<uint16_t>(data, bytes, 0x7c00, infinity);
  case DType::bf16:
    return holds<uint16_t>(data, bytes, 0x7f80, infinity);
  default:
    return false;
  }
}

NonfiniteSearch::NonfiniteSearch(LoadedPlan &plan)
    : plan_(plan), addresses_(plan.bufferAddresses()) {}

bool NonfiniteSearch::holds(uint32_t buffer, bool infinity) const {
  TensorType type = typeOf(plan_.plan().buffers()->Get(buffer)->type());
  return addresses_[buffer] && holdsNonfinite(type.dtype, addresses_[buffer],
                                              *bytesOf(type), infinity);
}

std::string NonfiniteSearch::inputsWords(size_t graph, bool infinity) const {
  const auto *ports = plan_.artifact().header().graphs()->Get(graph)->inputs();
  for (size_t i = 0; i < countOf(ports); ++i)
    if (holds(plan_.graphs()[graph].plan->inputs()->Get(i), infinity))
      return inWords("the input ", textOf(ports->Get(i)->name()), " has ",
                     nameOf(infinity));
  return "";
}

std::vector<std::string> NonfiniteSearch::statesWith(bool infinity) const {
  std::vector<std::string> names;
  const auto *states = plan_.artifact().header().states();
  for (size_t i = 0; i < countOf(states); ++i) {
    TensorType type = typeOf(states->Get(i)->type());
    const uint8_t *data =
        plan_.state().data() + plan_.plan().state_offsets()->Get(i);
    if (holdsNonfinite(type.dtype, data, *bytesOf(type), infinity))
      names.push_back(textOf(states->Get(i)->name()));
  }
  return names;
}

std::string NonfiniteSearch::spoiledState() const {
  for (bool infinity : {false, true})
    for (const std::string &name : statesWith(infinity))
      if (std::find(before_[infinity].begin(), before_[infinity].end(), name) ==
          before_[infinity].end())
        return name;
  return "";
}

bool NonfiniteSearch::wrote(const artifact::Command &command,
                            bool infinity) const {
  const artifact::CodeHeader *kernels = plan_.artifact().kernels(plan_.plan());
  for (uint32_t buffer : buffersWritten(command, kernels))
    if (holds(buffer, infinity))
      return true;
  return false;
}

std::string NonfiniteSearch::commandWords(size_t graph, size_t command) const {
  const auto *facts = plan_.graphs()[graph].plan->commands()->Get(command);
  std::string words =
      inWords("command ", command, " (", textOf(facts->name()), ") of ",
              textOf(plan_.artifact().header().graphs()->Get(graph)->name()));
  constexpr size_t kMost = 4;
  size_t nodes = countOf(facts->nodes());
  for (size_t i = 0; i < nodes && i < kMost; ++i)
    append(words, i ? ", " : ", of the model's ",
           textOf(facts->nodes()->Get(i)));
  if (nodes > kMost)
    append(words, " and ", nodes - kMost, " more");
  return words;
}

void NonfiniteSearch::note(const std::string &words, bool infinity) {
  std::string &first = infinity ? infinity_ : nan_;
  if (first.empty() && (!infinity || nan_.empty()))
    first = words;
}

Status NonfiniteSearch::run(size_t graph) {
  nan_.clear();
  infinity_.clear();
  for (bool infinity : {true, false}) {
    note(inputsWords(graph, infinity), infinity);
    before_[infinity] = statesWith(infinity);
    if (!before_[infinity].empty())
      note(inWords("the state ", before_[infinity][0], " was ",
                   nameOf(infinity), " before the step"),
           infinity);
  }
  const auto *commands = plan_.graphs()[graph].plan->commands();
  for (size_t i = 0; i < countOf(commands); ++i) {
    GRADUS_TRY(plan_.runCommand(graph, i));
    for (bool infinity : {true, false})
      if (nan_.empty() && wrote(*commands->Get(i), infinity))
        note(inWords(commandWords(graph, i), ", wrote ", nameOf(infinity)),
             infinity);
  }
  return Status();
}

std::string NonfiniteSearch::found() const {
  if (nan_.empty() || infinity_.empty())
    return nan_ + infinity_;
  return inWords(infinity_, "; then ", nan_);
}

} // namespace gradus::runtime
