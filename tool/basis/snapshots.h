// Checkpoints of one model, opened together: their parameters as vectors.

#pragma once

#include "runtime/artifact/artifact.h"
#include "runtime/safetensors.h"
#include "runtime/session/session.h"
#include "training/principal_components.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gradus::cli {

/// Checkpoints in the order of their steps; those of one step, or that do not
/// say theirs, are in the order in which they were given.
class Snapshots {
public:
  /// Opens files and checks that each has the states, all floats of their
  /// shapes, and that none is damaged. Throws a Failure. Warns of files of
  /// another program than the artifact's, and of two with the same contents.
  Snapshots(const std::vector<std::string> &paths,
            const std::vector<runtime::StateInfo> &states,
            const runtime::Artifact &artifact);

  struct Snapshot {
    std::string path;
    runtime::Safetensors file;
    std::optional<int64_t> step;
  };
  const std::vector<Snapshot> &all() const { return snapshots_; }
  const Snapshot &newest() const { return snapshots_.back(); }
  /// Checks that each file has these states, too. Throws a Failure.
  void verify(const std::vector<runtime::StateInfo> &states) const;
  /// ", steps 40 to 480" or " of step 40"; empty if a file does not say its
  /// step.
  std::string stepsText() const;

private:
  void warnOfEqual() const;
  std::vector<Snapshot> snapshots_;
};

/// The values of states in each snapshot, in their order, one state after the
/// other.
class SnapshotVectors : public training::Vectors {
public:
  /// The snapshots have the states, and outlive this.
  SnapshotVectors(const Snapshots &snapshots,
                  const std::vector<runtime::StateInfo> &states);

  size_t count() const override { return snapshots_->all().size(); }
  size_t length() const override { return begins_.back(); }
  runtime::Status read(size_t vector, size_t begin,
                       std::span<double> numbers) const override;
  /// The number at which a state begins; for the number of states, the length.
  size_t beginOf(size_t state) const { return begins_[state]; }

private:
  runtime::Status readState(size_t vector, size_t state, size_t begin,
                            std::span<double> numbers) const;

  const Snapshots *snapshots_;
  std::vector<const runtime::NamedTensor *> tensors_; // [snapshots, states]
  std::vector<size_t> begins_;
};

/// The number of elements of a state.
size_t elementsOf(const runtime::TensorInfo &state);

} // namespace gradus::cli
