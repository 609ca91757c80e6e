// Checkpoints: every state by name in a .safetensors file, with a hash of its
// contents in the file's metadata.

#pragma once

#include "runtime/safetensors.h"
#include "runtime/session.h"

#include "runtime/status.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace gradus::runtime {

/// A state and its memory.
struct StateMemory {
  const StateInfo *info = nullptr;
  uint8_t *data = nullptr;
};

Status writeCheckpoint(const std::string &path,
                       const std::vector<StateMemory> &states,
                       std::map<std::string, std::string> metadata);

/// Whether a file holds what its hash was taken of; true where it has none.
Status verifyContents(const Safetensors &file);

/// Fills the parameters and buffers that a file has under their names or those
/// that `rename` gives its tensors; a given name comes before the same one of
/// another tensor. Floating-point numbers of another type are converted. On an
/// error none changed.
Status readWeights(const std::string &path,
                   const std::vector<StateMemory> &states, const Rename &rename,
                   TakenWeights &taken);

/// Fills states from a file. Checks all of it first: on an error none changed.
/// A file without a hash, as other tools write it, is taken as it is.
Status readCheckpoint(const std::string &path,
                      const std::vector<StateMemory> &states, Restore what);

} // namespace gradus::runtime
