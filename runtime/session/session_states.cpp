// The states of a session: read, written, lent, saved and loaded.

#include "runtime/flat.h"
#include "runtime/float_mode.h"
#include "runtime/session/checkpoint.h"
#include "runtime/session/initial_state.h"
#include "runtime/session/session_facts.h"
#include "runtime/session/session_parts.h"
#include "runtime/well_known.h"

#include <cstring>

namespace gradus::runtime {

StatusOr<std::span<const uint8_t>> Session::stateBytes(int state) const {
  GRADUS_TRY(parts_->verifyOrigin());
  if (isCopy(parts_->states[state]))
    GRADUS_TRY(parts_->refreshCopies());
  auto bytes = parts_->values.bytes(state);
  GRADUS_TRY(at(bytes.status(), artifact().path()));
  return bytes;
}

namespace {

Status verifyState(const Session &session, int state, const std::string &name,
                   size_t bytes) {
  if (state < 0)
    return invalid(session.artifact().path(), ": there is no state ", name);
  size_t expected = session.states()[state].bytes;
  if (bytes != expected)
    return invalid(session.artifact().path(), ": state ", name, " has ",
                   expected, " bytes, and ", bytes, " were given");
  return Status();
}

} // namespace

Status Session::readState(const std::string &name, void *data,
                          size_t bytes) const {
  int state = findState(name);
  GRADUS_TRY(verifyState(*this, state, name, bytes));
  GRADUS_ASSIGN(auto found, stateBytes(state));
  if (bytes)
    std::memcpy(data, found.data(), bytes);
  return Status();
}

/// Fails for a state that the caller does not write.
static Status verifyWritable(const Session &session, const StateInfo &state) {
  if (isPlace(state) || isFixed(state))
    return invalid(session.artifact().path(), ": state ", state.name, " is ",
                   isFixed(state) ? "fixed in the artifact"
                                  : "set when an artifact is loaded",
                   ", and cannot be written");
  return Status();
}

Status Session::writeState(int state, std::span<const uint8_t> from) {
  GRADUS_TRY(parts_->verifyOrigin());
  const StateInfo &info = parts_->states[state];
  GRADUS_TRY(verifyState(*this, state, info.name, from.size()));
  GRADUS_TRY(verifyWritable(*this, info));
  GRADUS_TRY(verifyNumber(info, from));
  parts_->copies.touch();
  return at(parts_->values.write(state, from), artifact().path());
}

/// Fails for a state that has no bytes of its own to lend, or whose values must
/// be checked one by one.
static Status verifyLendable(const Session &session, int state) {
  const std::string &where = session.artifact().path();
  size_t count = session.states().size();
  if (state < 0 || static_cast<size_t>(state) >= count)
    return invalid(where, ": state ", state, " does not exist; there are ",
                   count);
  const StateInfo &info = session.states()[state];
  GRADUS_TRY(verifyWritable(session, info));
  if (isCopy(info))
    return invalid(where, ": state ", info.name,
                   " is made of others, and has no data to write");
  if (info.isNumber())
    return invalid(where, ": state ", info.name,
                   " is a number of the recipe, which is set by its path");
  return Status();
}

StatusOr<std::span<uint8_t>> Session::stateData(int state) {
  GRADUS_TRY(parts_->verifyOrigin());
  GRADUS_TRY(verifyLendable(*this, state));
  GRADUS_TRY(parts_->wait());
  auto bytes = parts_->values.lend(state);
  GRADUS_TRY(at(bytes.status(), artifact().path(), ": state ",
                parts_->states[state].name));
  return bytes;
}

Status Session::stateChanged(int state) {
  GRADUS_TRY(parts_->verifyOrigin());
  GRADUS_TRY(verifyLendable(*this, state));
  parts_->copies.touch();
  return at(parts_->values.takeBack(state), artifact().path(), ": state ",
            parts_->states[state].name);
}

Status Session::writeState(const std::string &name, const void *data,
                           size_t bytes) {
  int state = findState(name);
  GRADUS_TRY(verifyState(*this, state, name, bytes));
  return writeState(state, {static_cast<const uint8_t *>(data), bytes});
}

StatusOr<int64_t> Session::stepCount() const {
  GRADUS_TRY(parts_->verifyOrigin());
  if (parts_->counter >= 0)
    return parts_->countOfSteps(parts_->counter);
  int train = findGraph(well_known::kTrain);
  return train < 0 ? 0 : parts_->runs[train].count / turns();
}

Status Session::resetStates() {
  GRADUS_TRY(parts_->verifyOrigin());
  QuietFloats quiet;
  parts_->copies.touch();
  parts_->values.forget();
  GRADUS_TRY(at(gradus::runtime::resetStates(
                    artifact(), plan(), *parts_->loaded, parts_->place.rank),
                artifact().path()));
  for (GraphRuns &graph : parts_->runs)
    graph.count = 0;
  return at(parts_->setPlaces(), artifact().path());
}

/// The metadata of a checkpoint of the last whole step.
static StatusOr<std::map<std::string, std::string>>
metadataOf(const Session &session) {
  GRADUS_ASSIGN(int64_t step, session.stepCount());
  return std::map<std::string, std::string>{
      {"format", "gradus"},
      {"program", textOf(session.artifact().header().name())},
      {well_known::kStep, inWords(step)}};
}

Status Session::saveCheckpoint(const std::string &path,
                               const std::map<std::string, std::string> &notes,
                               FileHold *hold,
                               std::span<const NamedTensor> others) const {
  GRADUS_ASSIGN(auto metadata, metadataOf(*this));
  metadata.insert(notes.begin(), notes.end());
  GRADUS_ASSIGN(CheckpointContents contents,
                contentsOf(path, storedOf(parts_->states),
                           fixedOf(parts_->states), parts_->values,
                           std::move(metadata), others));
  return writeSafetensors(path, contents.tensors, contents.metadata, hold);
}

StatusOr<OwnedBytes> Session::checkpointBytes() const {
  GRADUS_ASSIGN(auto metadata, metadataOf(*this));
  GRADUS_ASSIGN(CheckpointContents contents,
                contentsOf(artifact().path(), storedOf(parts_->states),
                           fixedOf(parts_->states), parts_->values,
                           std::move(metadata)));
  auto bytes = safetensorsBytes(contents.tensors, contents.metadata);
  GRADUS_TRY(at(bytes.status(), artifact().path()));
  return bytes;
}

Status Session::loadCheckpoint(const std::string &path, Restore what) {
  GRADUS_TRY(parts_->verifyOrigin());
  GRADUS_ASSIGN(Safetensors file, Safetensors::open(path));
  return loadCheckpoint(file, path, what);
}

Status Session::loadCheckpoint(const Safetensors &file,
                               const std::string &where, Restore what) {
  GRADUS_TRY(parts_->verifyOrigin());
  QuietFloats quiet;
  parts_->copies.touch();
  GRADUS_TRY(at(readCheckpoint(file, storedOf(parts_->states),
                               fixedOf(parts_->states), parts_->values, what),
                where));
  return at(parts_->setPlaces(), artifact().path());
}

Status Session::loadWeights(const std::string &path, const Rename &rename,
                            TakenWeights *taken) {
  GRADUS_TRY(parts_->verifyOrigin());
  QuietFloats quiet;
  GRADUS_ASSIGN(Safetensors file, Safetensors::open(path));
  TakenWeights ignored;
  parts_->copies.touch();
  GRADUS_TRY(at(readWeights(file, storedOf(parts_->states), parts_->values,
                            rename, taken ? *taken : ignored),
                path));
  return at(parts_->setPlaces(), artifact().path());
}

} // namespace gradus::runtime
