// Files are mapped: their numbers are in memory only while they are read.

#include "tool/basis/snapshots.h"

#include "runtime/flat.h"
#include "runtime/float_conversion.h"
#include "runtime/session/checkpoint.h"
#include "runtime/well_known.h"
#include "tool/failure.h"
#include "tool/foreign_file.h"
#include "tool/text.h"

#include "absl/strings/numbers.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace gradus::runtime;

namespace gradus::cli {
namespace {

std::string metadataOf(const Safetensors &file, const std::string &key) {
  auto found = file.metadata().find(key);
  return found == file.metadata().end() ? "" : found->second;
}

std::optional<int64_t> stepOf(const Safetensors &file) {
  int64_t step = 0;
  if (!absl::SimpleAtoi(metadataOf(file, well_known::kStep), &step))
    return std::nullopt;
  return step;
}

std::vector<StoredState> stored(const std::vector<StateInfo> &states) {
  std::vector<StoredState> all;
  all.reserve(states.size());
  for (size_t i = 0; i < states.size(); ++i)
    all.push_back({&states[i], i});
  return all;
}

Safetensors openChecked(const std::string &path,
                        const std::vector<StoredState> &states) {
  refuseForeign(path, Wanted::weights);
  Safetensors file = take(Safetensors::open(path));
  check(runtime::at(verifyShapes(file, states), path));
  check(runtime::at(verifyContents(file), path));
  return file;
}

void warnOfProgram(const std::string &path, const Safetensors &file,
                   const Artifact &artifact) {
  std::string theirs = metadataOf(file, "program"),
              ours = textOf(artifact.header().name());
  if (!theirs.empty() && theirs != ours)
    warn(absl::StrCat(path, " is a checkpoint of the program '", theirs,
                      "', but ", artifact.path(), " is of '", ours, "'"));
}

} // namespace

size_t elementsOf(const TensorInfo &state) {
  return state.bytes / bytesOf(state.type.dtype);
}

Snapshots::Snapshots(const std::vector<std::string> &paths,
                     const std::vector<StateInfo> &states,
                     const Artifact &artifact) {
  for (const std::string &path : paths) {
    Safetensors file = openChecked(path, stored(states));
    warnOfProgram(path, file, artifact);
    std::optional<int64_t> step = stepOf(file);
    snapshots_.push_back({path, std::move(file), step});
  }
  std::stable_sort(snapshots_.begin(), snapshots_.end(),
                   [](const Snapshot &one, const Snapshot &other) {
                     return one.step < other.step;
                   });
  warnOfEqual();
}

void Snapshots::verify(const std::vector<StateInfo> &states) const {
  for (const Snapshot &snapshot : snapshots_)
    check(runtime::at(verifyShapes(snapshot.file, stored(states)),
                      snapshot.path));
}

/// A run's newest state is often the last one that it has kept, too.
void Snapshots::warnOfEqual() const {
  std::map<std::string, std::string> paths;
  for (const Snapshot &snapshot : snapshots_) {
    std::string hash = metadataOf(snapshot.file, "content_hash");
    auto [found, isNew] = paths.emplace(hash, snapshot.path);
    if (!hash.empty() && !isNew)
      warn(absl::StrCat(snapshot.path, " holds the same as ", found->second,
                        ", which counts twice"));
  }
}

std::string Snapshots::stepsText() const {
  if (!snapshots_.front().step) // Those without a step come first.
    return "";
  int64_t first = *snapshots_.front().step, last = *snapshots_.back().step;
  return first == last ? absl::StrCat(" of step ", first)
                       : absl::StrCat(", steps ", first, " to ", last);
}

SnapshotVectors::SnapshotVectors(const Snapshots &snapshots,
                                 const std::vector<StateInfo> &states)
    : snapshots_(&snapshots), begins_{0} {
  for (const StateInfo &state : states)
    begins_.push_back(begins_.back() + elementsOf(state));
  for (const auto &snapshot : snapshots.all())
    for (const StateInfo &state : states)
      tensors_.push_back(snapshot.file.find(state.name));
}

Status SnapshotVectors::readState(size_t vector, size_t state, size_t begin,
                                  std::span<double> numbers) const {
  const NamedTensor &tensor = *tensors_[vector * (begins_.size() - 1) + state];
  DType dtype = tensor.type.dtype;
  convertFloats(nameOf(dtype), nameOf(DType::f64),
                tensor.data.data() + begin * bytesOf(dtype), numbers.data(),
                numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i)
    if (!std::isfinite(numbers[i]))
      return invalid(snapshots_->all()[vector].path, ": ", tensor.name,
                     " holds ", numbers[i], " at element ", begin + i,
                     ": expected finite numbers");
  return Status();
}

Status SnapshotVectors::read(size_t vector, size_t begin,
                             std::span<double> numbers) const {
  auto after = std::upper_bound(begins_.begin(), begins_.end(), begin);
  auto state = static_cast<size_t>(after - begins_.begin()) - 1;
  for (; !numbers.empty(); ++state) {
    size_t from = std::max(begin, begins_[state]);
    size_t count = std::min(begins_[state + 1] - from, numbers.size());
    GRADUS_TRY(
        readState(vector, state, from - begins_[state], numbers.first(count)));
    numbers = numbers.subspan(count);
  }
  return Status();
}

} // namespace gradus::cli
