// Checkpoints: every state by name in a .safetensors file, with a hash of its
// contents in the file's metadata.

#pragma once

#include "runtime/artifact_hash.h"
#include "runtime/file.h"
#include "runtime/safetensors.h"
#include "runtime/session/host_view.h"
#include "runtime/session/session.h"

#include "runtime/status.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace gradus::runtime {

/// A state, and its number among all states.
struct StoredState {
  const StateInfo *info = nullptr;
  size_t number = 0;
};

/// The states that checkpoints hold; they point into `states`.
std::vector<StoredState> storedOf(const std::vector<StateInfo> &states);
/// The fixed states, of which checkpoints have a hash.
std::vector<StoredState> fixedOf(const std::vector<StateInfo> &states);

/// The name that a checkpoint has for what another rank has in a state of its
/// own: "ranks/2/accumulation/gradient/w".
std::string nameOnRank(int rank, const std::string &state);

/// The contents of a checkpoint.
struct CheckpointContents {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// The states, and behind them `others`: the wholes of states of which each
/// rank has a part, and what nameOnRank() names; valid until the next step or
/// write. `where` is a name for errors.
StatusOr<CheckpointContents>
contentsOf(const std::string &where, const std::vector<StoredState> &states,
           const std::vector<StoredState> &fixed, HostStates &values,
           std::map<std::string, std::string> metadata,
           std::span<const NamedTensor> others = {});

/// Writes a file of tensors with the hash of its contents in its metadata. The
/// data come in pieces, so that only a piece of them need be in memory. Without
/// a commit nothing is left of the file.
class TensorsWriter {
public:
  /// Of the tensors only names and types are read.
  static StatusOr<TensorsWriter>
  create(const std::string &path, std::vector<NamedTensor> tensors,
         std::map<std::string, std::string> metadata);

  /// Writes the next bytes of the data, tensor after tensor.
  Status write(std::span<const uint8_t> bytes);
  /// Fails if the data are not complete.
  Status commit();

private:
  TensorsWriter(std::string path, AtomicFile file)
      : path_(std::move(path)), file_(std::move(file)) {}
  Status begin(std::vector<NamedTensor> tensors);
  Status flush();
  void finishTensors();

  std::string path_;
  AtomicFile file_;
  std::vector<NamedTensor> tensors_;
  std::map<std::string, std::string> metadata_;
  std::vector<std::string> facts_; // of the tensors that are complete
  size_t missing_ = 0;             // bytes of the current tensor
  artifact::BytesHash hash_;       // of the current tensor
  std::vector<uint8_t> buffer_;
};

/// Fails for a number of the recipe outside the range of its key, or that f32
/// would lose; success for other states.
Status verifyNumber(const StateInfo &state, std::span<const uint8_t> from);

/// Whether a tensor is a count of batches, which PyTorch keeps beside running
/// statistics and no computation uses.
bool isBatchCount(const NamedTensor &tensor);

/// Checks that a file's contents have the hash in its metadata; success if it
/// has no hash.
Status verifyContents(const Safetensors &file);

/// Checks that a file has each of the states, but for numbers of the recipe,
/// and nothing else but what other ranks have in states of their own, all of
/// their types.
Status verifyStates(const Safetensors &file,
                    const std::vector<StoredState> &states);

/// Checks that a file has each of the states, of their shapes, and of their
/// types or of floating-point numbers that can be converted to them.
Status verifyShapes(const Safetensors &file,
                    const std::vector<StoredState> &states);

/// Fills the parameters and buffers that a file has under their names or those
/// that `rename` gives its tensors. Floating-point numbers of another type are
/// converted. On an error no state has changed, unless the device failed.
Status readWeights(const Safetensors &file,
                   const std::vector<StoredState> &states, HostStates &values,
                   const Rename &rename, TakenWeights &taken);

/// Fills states from a file, but those of which a rank has a part. Checks all
/// of it first: on an error no state has changed, unless the device failed. A
/// file without a hash, as other tools write it, is accepted. Parameters alone
/// go with any fixed states.
Status readCheckpoint(const Safetensors &file,
                      const std::vector<StoredState> &states,
                      const std::vector<StoredState> &fixed, HostStates &values,
                      Restore what);

} // namespace gradus::runtime
