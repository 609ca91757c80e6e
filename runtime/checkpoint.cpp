// Checkpoints: what must match, and in which words it does not.

#include "runtime/checkpoint.h"

#include "runtime/artifact_hash.h"
#include "runtime/safetensors.h"
#include "runtime/status.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

namespace gradus::runtime {

namespace {

/// "a, b, c and 4 more"
std::string listOf(const std::vector<std::string> &names) {
  constexpr size_t kMost = 3;
  std::string list;
  for (size_t i = 0; i < names.size() && i < kMost; ++i)
    append(list, i ? ", " : "", names[i]);
  if (names.size() > kMost)
    append(list, " and ", names.size() - kMost, " more");
  return list;
}

bool isWanted(const StateInfo &state, Restore what) {
  return what == Restore::everything ||
         state.role == artifact::Role::parameter ||
         state.role == artifact::Role::buffer;
}

constexpr const char *kContentHash = "content_hash";

/// A hash of all that a checkpoint says, in whatever order it says it.
std::string contentHash(const std::vector<NamedTensor> &tensors,
                        const std::map<std::string, std::string> &metadata) {
  std::vector<std::string> facts;
  for (const auto &[key, value] : metadata)
    if (key != kContentHash)
      facts.push_back(inWords(key, "=", value));
  for (const NamedTensor &tensor : tensors)
    facts.push_back(inWords(
        tensor.name, " ", toString(tensor.type), " ",
        inHex(artifact::hashBytes(tensor.data.data(), tensor.data.size()))));
  std::sort(facts.begin(), facts.end());
  std::string all;
  for (const std::string &fact : facts)
    append(all, fact, "\n");
  return inHex(artifact::hashBytes(
      reinterpret_cast<const uint8_t *>(all.data()), all.size()));
}

Status verifyTypes(const Safetensors &file,
                   const std::vector<StateMemory> &states) {
  for (const StateMemory &state : states) {
    const NamedTensor *tensor = file.find(state.info->name);
    if (tensor && !(tensor->type == state.info->type))
      return invalid(state.info->name, " is ", toString(tensor->type),
                     " in the file and ", toString(state.info->type),
                     " in the artifact");
  }
  return Status();
}

/// Both sides have the same names, when everything is wanted.
Status verifyNames(const Safetensors &file,
                   const std::vector<StateMemory> &states) {
  std::vector<std::string> missing, unexpected;
  std::unordered_set<std::string> known;
  for (const StateMemory &state : states) {
    known.insert(state.info->name);
    if (!file.find(state.info->name))
      missing.push_back(state.info->name);
  }
  for (const NamedTensor &tensor : file.tensors())
    if (!known.contains(tensor.name))
      unexpected.push_back(tensor.name);
  if (!missing.empty())
    return invalid("lacks ", listOf(missing));
  if (!unexpected.empty())
    return invalid("has ", listOf(unexpected),
                   ", which the artifact does not know");
  return Status();
}

} // namespace

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

Status writeCheckpoint(const std::string &path,
                       const std::vector<StateMemory> &states,
                       std::map<std::string, std::string> metadata) {
  std::vector<NamedTensor> tensors;
  for (const StateMemory &state : states)
    tensors.push_back(
        {state.info->name, state.info->type, {state.data, state.info->bytes}});
  metadata[kContentHash] = contentHash(tensors, metadata);
  return writeSafetensors(path, tensors, metadata);
}

Status readCheckpoint(const std::string &path,
                      const std::vector<StateMemory> &states, Restore what) {
  GRADUS_ASSIGN(Safetensors file, Safetensors::open(path));
  GRADUS_TRY(at(verifyContents(file), path));
  std::vector<StateMemory> wanted;
  bool any = states.empty();
  for (const StateMemory &state : states)
    if (isWanted(*state.info, what)) {
      wanted.push_back(state);
      any |= file.find(state.info->name) != nullptr;
    }
  GRADUS_TRY(at(verifyTypes(file, wanted), path));
  if (what == Restore::everything)
    GRADUS_TRY(at(verifyNames(file, wanted), path));
  else if (!any)
    return invalid(path, ": has none of the parameters, such as ",
                   wanted.empty() ? "" : wanted.front().info->name);
  for (const StateMemory &state : wanted)
    if (const NamedTensor *tensor = file.find(state.info->name);
        tensor && state.info->bytes)
      std::memcpy(state.data, tensor->data.data(), state.info->bytes);
  return Status();
}

} // namespace gradus::runtime
