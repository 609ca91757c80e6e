// Checkpoints: every state by name in a .safetensors file, with a hash of its
// contents in the file's metadata.

#pragma once

#include "runtime/host_view.h"
#include "runtime/safetensors.h"
#include "runtime/session.h"

#include "runtime/status.h"

#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace gradus::runtime {

/// A state, and its number among all.
struct StoredState {
  const StateInfo *info = nullptr;
  size_t number = 0;
};

Status writeCheckpoint(const std::string &path,
                       const std::vector<StoredState> &states,
                       HostStates &values,
                       std::map<std::string, std::string> metadata,
                       FileHold *hold = nullptr);

/// Whether a file holds what its hash was taken of; true where it has none.
Status verifyContents(const Safetensors &file);

/// The tensor of a file that is meant for each name: one that `rename` gives,
/// before the same name of another tensor; empty names leave out. Two that are
/// given one name are an error.
StatusOr<std::unordered_map<std::string, const NamedTensor *>>
meantFor(const Safetensors &file, const Rename &rename);

/// Fills the parameters and buffers that a file has under their names or those
/// that `rename` gives its tensors. Floating-point numbers of another type are
/// converted. On an error none changed, unless the device failed.
Status readWeights(const std::string &path,
                   const std::vector<StoredState> &states, HostStates &values,
                   const Rename &rename, TakenWeights &taken);

/// Fills states from a file. Checks all of it first: on an error none changed,
/// unless the device failed.
/// A file without a hash, as other tools write it, is taken as it is.
Status readCheckpoint(const std::string &path,
                      const std::vector<StoredState> &states,
                      HostStates &values, Restore what);

} // namespace gradus::runtime
