// Checkpoints: the checks that a file fits the states, and their errors.

#include "runtime/session/checkpoint.h"

#include "runtime/artifact_hash.h"
#include "runtime/float_conversion.h"
#include "runtime/safetensors.h"
#include "runtime/session/session_facts.h"
#include "runtime/status.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <unordered_map>
#include <unordered_set>

namespace gradus::runtime {

namespace {

/// Joins names: "a, b, c and 4 more".
std::string listOf(const std::vector<std::string> &names,
                   const char *between = ", ") {
  constexpr size_t kMost = 8;
  std::string list;
  for (size_t i = 0; i < names.size() && i < kMost; ++i)
    append(list, i ? between : "", names[i]);
  if (names.size() > kMost)
    append(list, " and ", names.size() - kMost, " more");
  return list;
}

constexpr const char *kContentHash = "content_hash";
constexpr const char *kNumbers = "numbers"; // names, each with a newline
constexpr const char *kFixedHash = "fixed_hash";

/// Describes a tensor by its name, its type and the hash of its data, for the
/// hash of the contents.
std::string factOf(const NamedTensor &tensor, uint64_t hash) {
  return inWords(tensor.name, " ", toString(tensor.type), " ", inHex(hash));
}

/// A hash of the tensors and metadata of a checkpoint that does not depend on
/// their order. `facts` are of the tensors.
std::string contentHash(std::vector<std::string> facts,
                        const std::map<std::string, std::string> &metadata) {
  for (const auto &[key, value] : metadata)
    if (key != kContentHash)
      facts.push_back(inWords(key, "=", value));
  std::sort(facts.begin(), facts.end());
  std::string all;
  for (const std::string &fact : facts)
    append(all, fact, "\n");
  return inHex(artifact::hashBytes(
      reinterpret_cast<const uint8_t *>(all.data()), all.size()));
}

std::string contentHash(const std::vector<NamedTensor> &tensors,
                        const std::map<std::string, std::string> &metadata) {
  std::vector<std::string> facts;
  facts.reserve(tensors.size());
  for (const NamedTensor &tensor : tensors)
    facts.push_back(factOf(
        tensor, artifact::hashBytes(tensor.data.data(), tensor.data.size())));
  return contentHash(std::move(facts), metadata);
}

/// The tensor of a file for each state; null if it has none.
using Sources = std::vector<const NamedTensor *>;

/// Whether numbers of one type can be converted to the other.
bool converts(const TensorType &from, const TensorType &to) {
  return from.shape == to.shape &&
         areFloats(nameOf(from.dtype), nameOf(to.dtype));
}

/// Lists states as "w is 2x4xf32 in the file and 8xf32 in the artifact" whose
/// type differs and cannot be converted or, with `exact`, may not.
std::vector<std::string> differences(const std::vector<StoredState> &states,
                                     const Sources &sources, bool exact) {
  std::vector<std::string> words;
  for (size_t i = 0; i < states.size(); ++i) {
    const TensorType &wanted = typeInFile(*states[i].info);
    if (sources[i] && !(sources[i]->type == wanted) &&
        (exact || !converts(sources[i]->type, wanted)))
      words.push_back(inWords(states[i].info->name, " is ",
                              toString(sources[i]->type), " in the file and ",
                              toString(wanted), " in the artifact"));
  }
  return words;
}

/// Reports all mismatches in one error: missing and unexpected tensors, and
/// different types.
Status verifyFit(const std::vector<std::string> &missing,
                 const std::vector<std::string> &unexpected,
                 const std::vector<std::string> &different) {
  std::string words;
  auto add = [&](const auto &...parts) {
    append(words, words.empty() ? "" : "; ", parts...);
  };
  if (!missing.empty())
    add("lacks ", listOf(missing));
  if (!unexpected.empty())
    add("has ", listOf(unexpected), ", which the artifact does not know");
  if (!different.empty())
    add(listOf(different, "; "));
  return words.empty() ? Status() : invalid(words);
}

constexpr std::string_view kRanks = "ranks/";

/// Whether a name is that of another rank's value of a state of its own.
bool isOnRank(const std::string &name, const std::vector<StoredState> &states) {
  if (!name.starts_with(kRanks))
    return false;
  size_t end = name.find('/', kRanks.size());
  size_t digits = name.find_first_not_of("0123456789", kRanks.size());
  if (end == std::string::npos || end != digits || end == kRanks.size())
    return false;
  return std::ranges::any_of(states, [&](const StoredState &state) {
    return state.info->isPerRank && state.info->name == name.substr(end + 1);
  });
}

/// The tensors of a file that fill no state.
std::vector<std::string> unusedOf(const Safetensors &file,
                                  const Sources &sources) {
  std::unordered_set<const NamedTensor *> used(sources.begin(), sources.end());
  std::vector<std::string> names;
  for (const NamedTensor &tensor : file.tensors())
    if (!used.contains(&tensor))
      names.push_back(tensor.name);
  return names;
}

Status fill(const StoredState &state, HostStates &values,
            const NamedTensor &source) {
  const StateInfo &info = *state.info;
  if (source.type == info.type)
    return values.write(state.number, source.data);
  std::vector<uint8_t> converted(info.bytes);
  convertFloats(nameOf(source.type.dtype), nameOf(info.type.dtype),
                source.data.data(), converted.data(),
                info.bytes / bytesOf(info.type.dtype));
  return values.write(state.number, converted);
}

Status fill(const std::vector<StoredState> &states, HostStates &values,
            const Sources &sources) {
  for (size_t i = 0; i < states.size(); ++i)
    if (sources[i] && states[i].info->bytes && !states[i].info->whole)
      GRADUS_TRY(fill(states[i], values, *sources[i]));
  return Status();
}

/// Fails for a state of parts whose whole is not there.
Status verifyGathered(const StateInfo &state,
                      std::span<const NamedTensor> others) {
  bool isThere = std::ranges::any_of(others, [&](const NamedTensor &other) {
    return other.name == state.name;
  });
  return isThere
             ? Status()
             : invalid("state ", state.name,
                       ": each rank has a part of it (distribution.zero), "
                       "so `gradus train` saves it on all of them together");
}

std::vector<StoredState> weightsOf(const std::vector<StoredState> &states) {
  std::vector<StoredState> weights;
  for (const StoredState &state : states)
    if (state.info->role == artifact::Role::parameter ||
        state.info->role == artifact::Role::buffer)
      weights.push_back(state);
  return weights;
}

} // namespace

/// A number in as few digits as tell it: "0.9".
static std::string shown(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", number);
  return text;
}

Status verifyNumber(const StateInfo &state, std::span<const uint8_t> from) {
  if (!state.isNumber())
    return Status();
  double number;
  std::memcpy(&number, from.data(), sizeof(number));
  bool isLost = number != 0 && static_cast<float>(number) == 0;
  bool isInF32 = !isLost && std::isfinite(static_cast<float>(number));
  if (isInF32 && number >= state.minimum && number < state.limit)
    return Status();
  std::string range;
  if (state.minimum == std::numeric_limits<float>::min())
    append(range, " above 0");
  else if (state.minimum > std::numeric_limits<float>::lowest())
    append(range, " from ", shown(state.minimum));
  if (std::isfinite(state.limit))
    append(range, range.empty() ? "" : " to", " below ", shown(state.limit));
  return invalid("state ", state.name, ": expected a number of f32", range,
                 ", got ", shown(number));
}

/// Maps each name to the tensor of a file that is meant for it: a tensor that
/// `rename` gives this name comes before one that has it already; an empty new
/// name leaves a tensor out. It is an error to give two tensors one name.
static StatusOr<std::unordered_map<std::string, const NamedTensor *>>
meantFor(const Safetensors &file, const Rename &rename) {
  std::unordered_map<std::string, const NamedTensor *> meant;
  for (const NamedTensor &tensor : file.tensors()) {
    std::string name = rename ? rename(tensor.name) : tensor.name;
    if (name.empty())
      continue;
    auto [place, isNew] = meant.emplace(name, &tensor);
    if (isNew)
      continue;
    bool renamed = name != tensor.name, before = place->second->name != name;
    if (renamed && before)
      return invalid("tensors ", place->second->name, " and ", tensor.name,
                     " are both meant for ", name);
    if (renamed)
      place->second = &tensor;
  }
  return meant;
}

bool isBatchCount(const NamedTensor &tensor) {
  return tensor.name.ends_with("num_batches_tracked") &&
         tensor.type == TensorType{DType::i64, {}};
}

Status verifyContents(const Safetensors &file) {
  auto stored = file.metadata().find(kContentHash);
  if (stored == file.metadata().end())
    return Status();
  std::string found = contentHash(file.tensors(), file.metadata());
  if (stored->second == found)
    return Status();
  return invalid("is damaged: its contents have the hash ", found,
                 ", but were written with ", stored->second);
}

/// The states for which `isOne` holds.
static std::vector<StoredState> choose(const std::vector<StateInfo> &states,
                                       bool (*isOne)(const StateInfo &state)) {
  std::vector<StoredState> chosen;
  for (size_t i = 0; i < states.size(); ++i)
    if (isOne(states[i]))
      chosen.push_back({&states[i], i});
  return chosen;
}

std::string nameOnRank(int rank, const std::string &state) {
  return inWords(kRanks, rank, "/", state);
}

std::vector<StoredState> storedOf(const std::vector<StateInfo> &states) {
  return choose(states, isSaved);
}

std::vector<StoredState> fixedOf(const std::vector<StateInfo> &states) {
  return choose(states, isFixed);
}

/// A hash of the names, types and values of fixed states.
static StatusOr<std::string> hashOf(const std::vector<StoredState> &fixed,
                                    HostStates &values) {
  std::vector<std::string> facts;
  for (const StoredState &state : fixed) {
    GRADUS_ASSIGN(uint64_t hash, values.fixedHash(state.number));
    facts.push_back(
        factOf({state.info->name, typeInFile(*state.info), {}}, hash));
  }
  return contentHash(std::move(facts), {});
}

/// Fails if a checkpoint is of a run with other values of fixed states.
static Status verifyFixed(const Safetensors &file,
                          const std::vector<StoredState> &fixed,
                          HostStates &values) {
  auto noted = file.metadata().find(kFixedHash);
  if (fixed.empty() || noted == file.metadata().end())
    return Status();
  GRADUS_ASSIGN(std::string hash, hashOf(fixed, values));
  if (noted->second == hash)
    return Status();
  return invalid("is of a run with other values of the artifact's fixed "
                 "states, such as ",
                 fixed.front().info->name, ": their hash is ", noted->second,
                 " there, and the artifact's is ", hash);
}

/// Fails if a file with a hash of its contents, as all have that are written
/// here, has none of the fixed states.
static Status verifyNotesFixed(const Safetensors &file,
                               const std::vector<StoredState> &fixed) {
  if (fixed.empty() || file.metadata().contains(kFixedHash) ||
      !file.metadata().contains(kContentHash))
    return Status();
  return invalid("has a ", kContentHash, " and no ", kFixedHash,
                 ", so it is of an artifact without fixed states, and this one "
                 "has some, such as ",
                 fixed.front().info->name,
                 "; what edits a checkpoint leaves out both");
}

StatusOr<CheckpointContents>
contentsOf(const std::string &where, const std::vector<StoredState> &states,
           const std::vector<StoredState> &fixed, HostStates &values,
           std::map<std::string, std::string> metadata,
           std::span<const NamedTensor> others) {
  if (!fixed.empty()) {
    GRADUS_ASSIGN(metadata[kFixedHash], hashOf(fixed, values));
  }
  std::vector<NamedTensor> tensors;
  std::string numbers;
  for (const StoredState &state : states) {
    if (state.info->whole) {
      GRADUS_TRY(at(verifyGathered(*state.info, others), where));
      continue;
    }
    if (state.info->isNumber())
      append(numbers, state.info->name, "\n");
    auto bytes = values.bytes(state.number);
    GRADUS_TRY(at(bytes.status(), where, ": state ", state.info->name));
    tensors.push_back({state.info->name, state.info->type, *bytes});
  }
  tensors.insert(tensors.end(), others.begin(), others.end());
  if (!numbers.empty())
    metadata[kNumbers] = numbers;
  metadata[kContentHash] = contentHash(tensors, metadata);
  return CheckpointContents{std::move(tensors), std::move(metadata)};
}

//===-- TensorsWriter -----------------------------------------------------===//

StatusOr<TensorsWriter>
TensorsWriter::create(const std::string &path, std::vector<NamedTensor> tensors,
                      std::map<std::string, std::string> metadata) {
  GRADUS_ASSIGN(AtomicFile file, AtomicFile::create(path));
  TensorsWriter writer(path, std::move(file));
  // The hash, which is as long, takes the place of this text at the end.
  metadata[kContentHash] = inHex(0);
  writer.metadata_ = std::move(metadata);
  GRADUS_TRY(at(writer.begin(std::move(tensors)), path));
  return writer;
}

/// The bytes of a tensor whose size safetensorsHeader has accepted; 0 behind
/// the last one.
static size_t bytesAt(const std::vector<NamedTensor> &tensors, size_t number) {
  return number < tensors.size() ? *bytesOf(tensors[number].type) : 0;
}

Status TensorsWriter::begin(std::vector<NamedTensor> tensors) {
  GRADUS_ASSIGN(std::string header, safetensorsHeader(tensors, metadata_));
  tensors_ = std::move(tensors);
  missing_ = bytesAt(tensors_, 0);
  finishTensors();
  return file_.write(header.data(), header.size());
}

/// Goes on to the next tensor while the current one is complete: a tensor may
/// have no data.
void TensorsWriter::finishTensors() {
  while (facts_.size() < tensors_.size() && missing_ == 0) {
    facts_.push_back(factOf(tensors_[facts_.size()], hash_.finish()));
    hash_ = {};
    missing_ = bytesAt(tensors_, facts_.size());
  }
}

Status TensorsWriter::flush() {
  hash_.add(buffer_.data(), buffer_.size());
  GRADUS_TRY(file_.write(buffer_.data(), buffer_.size()));
  buffer_.clear();
  finishTensors();
  return Status();
}

Status TensorsWriter::write(std::span<const uint8_t> bytes) {
  // All pieces of a tensor that are hashed, but for the last, are this large.
  constexpr size_t kPiece = artifact::BytesHash::kBlock << 15;
  while (!bytes.empty()) {
    size_t count = std::min({bytes.size(), missing_, kPiece - buffer_.size()});
    if (count == 0)
      return invalid(path_, ": is given more bytes than its ", tensors_.size(),
                     " tensors have");
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + count);
    bytes = bytes.subspan(count);
    missing_ -= count;
    if (missing_ == 0 || buffer_.size() == kPiece)
      GRADUS_TRY(flush());
  }
  return Status();
}

Status TensorsWriter::commit() {
  if (facts_.size() < tensors_.size())
    return invalid(path_, ": lacks ", missing_, " bytes of tensor ",
                   tensors_[facts_.size()].name);
  metadata_[kContentHash] = contentHash(facts_, metadata_);
  GRADUS_ASSIGN(std::string header, safetensorsHeader(tensors_, metadata_));
  GRADUS_TRY(file_.writeAt(0, header.data(), header.size()));
  return file_.commit();
}

/// Leaves out the numbers of the recipe that a file has: an artifact of another
/// recipe need not have them.
static std::vector<std::string> withoutNumbers(std::vector<std::string> names,
                                               const Safetensors &file) {
  auto listed = file.metadata().find(kNumbers);
  if (listed != file.metadata().end())
    std::erase_if(names, [&](const std::string &name) {
      return ("\n" + listed->second).find("\n" + name + "\n") !=
             std::string::npos;
    });
  return names;
}

static Sources sourcesOf(const Safetensors &file,
                         const std::vector<StoredState> &states) {
  Sources sources;
  for (const StoredState &state : states)
    sources.push_back(file.find(state.info->name));
  return sources;
}

Status verifyStates(const Safetensors &file,
                    const std::vector<StoredState> &states) {
  Sources sources = sourcesOf(file, states);
  std::vector<std::string> missing;
  for (size_t i = 0; i < states.size(); ++i)
    if (!sources[i] && !states[i].info->isNumber())
      missing.push_back(states[i].info->name);
  std::vector<std::string> unknown =
      withoutNumbers(unusedOf(file, sources), file);
  std::erase_if(
      unknown, [&](const std::string &name) { return isOnRank(name, states); });
  GRADUS_TRY(verifyFit(missing, unknown, differences(states, sources, true)));
  for (size_t i = 0; i < states.size(); ++i)
    if (sources[i])
      GRADUS_TRY(verifyNumber(*states[i].info, sources[i]->data));
  return Status();
}

Status verifyShapes(const Safetensors &file,
                    const std::vector<StoredState> &states) {
  Sources sources = sourcesOf(file, states);
  std::vector<std::string> missing;
  for (size_t i = 0; i < states.size(); ++i)
    if (!sources[i])
      missing.push_back(states[i].info->name);
  return verifyFit(missing, {}, differences(states, sources, false));
}

static Status readEverything(const Safetensors &file,
                             const std::vector<StoredState> &states,
                             const std::vector<StoredState> &fixed,
                             HostStates &values) {
  GRADUS_TRY(verifyContents(file));
  GRADUS_TRY(verifyFixed(file, fixed, values));
  GRADUS_TRY(verifyStates(file, states));
  GRADUS_TRY(verifyNotesFixed(file, fixed));
  return fill(states, values, sourcesOf(file, states));
}

Status readWeights(const Safetensors &file,
                   const std::vector<StoredState> &states, HostStates &values,
                   const Rename &rename, TakenWeights &taken) {
  GRADUS_TRY(verifyContents(file));
  GRADUS_ASSIGN(auto meant, meantFor(file, rename));
  std::vector<StoredState> weights = weightsOf(states);
  Sources sources;
  for (const StoredState &state : weights) {
    auto found = meant.find(state.info->name);
    sources.push_back(found == meant.end() ? nullptr : found->second);
    if (sources.back())
      taken.taken.push_back(state.info->name);
    else if (state.info->role == artifact::Role::parameter)
      taken.missing.push_back(state.info->name);
  }
  GRADUS_TRY(verifyFit({}, {}, differences(weights, sources, false)));
  if (taken.taken.empty() && !states.empty())
    return invalid("has none of the parameters, such as ",
                   weights.empty() ? "" : weights.front().info->name);
  taken.unused = unusedOf(file, sources);
  return fill(weights, values, sources);
}

Status readCheckpoint(const Safetensors &file,
                      const std::vector<StoredState> &states,
                      const std::vector<StoredState> &fixed, HostStates &values,
                      Restore what) {
  if (what == Restore::everything)
    return readEverything(file, states, fixed, values);
  TakenWeights taken;
  return readWeights(file, states, values, {}, taken);
}

} // namespace gradus::runtime
