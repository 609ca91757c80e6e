// An artifact file in memory, verified as a whole.
//
// Opening copies the file, all but its weights, and checks the copy before
// anything is used: size, version, hashes, every offset, index, type and size
// in the header, and that no command can reach outside its buffers. Machine
// code is not examined: it is trusted as any program is. Weights are checked
// whenever they are read. So what was verified is what is used, whatever
// becomes of the file. Immutable and safe to share between threads. What
// devices ask of one is inline: a plug-in links nothing of this.

#pragma once

#include "runtime/artifact_generated.h"

#include "runtime/status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace gradus::runtime {

class ArtifactBytes;

struct ReadOptions {
  bool trust = false; // skip the hashes of weights and constants
};

class Artifact {
public:
  static StatusOr<std::shared_ptr<const Artifact>>
  open(const std::string &path, ReadOptions options = {});

  /// The same for bytes in memory, which are copied; `name` is for errors.
  static StatusOr<std::shared_ptr<const Artifact>>
  fromBytes(std::span<const uint8_t> bytes, const std::string &name,
            ReadOptions options = {});

  ~Artifact();

  const std::string &path() const { return path_; }
  /// Hands out the weights piece by piece, in their order: where each begins in
  /// the section, and its bytes, which hold during the call. Fails behind the
  /// last where they are not those of the header, unless they are trusted.
  Status readWeights(
      const std::function<Status(uint64_t offset, std::span<const uint8_t>)>
          &take) const;
  /// Whether the weights are those of the header; they are not looked at where
  /// they are trusted.
  Status verifyWeights() const;
  /// Size of the file.
  size_t size() const { return bytes_.size(); }
  const artifact::Header &header() const {
    return *artifact::GetSizePrefixedHeader(bytes_.data());
  }
  /// The bytes of a section of this artifact, which is not that of the weights
  /// (of these, only their number); empty for a null one.
  std::span<const uint8_t> bytes(const artifact::Section *section) const {
    if (!section || section->size() == 0)
      return {};
    return bytes_.subspan(section->offset(), section->size());
  }
  /// Bytes of a plan's code that one device loads, at most.
  size_t codeBytes(const artifact::Plan &plan) const;
  /// The kernels of a plan of this artifact; null where it has none.
  const artifact::CodeHeader *kernels(const artifact::Plan &plan) const {
    auto section = bytes(plan.kernels());
    return section.empty()
               ? nullptr
               : flatbuffers::GetRoot<artifact::CodeHeader>(section.data());
  }

private:
  static StatusOr<std::shared_ptr<const Artifact>>
  verified(std::unique_ptr<ArtifactBytes> storage, const std::string &name,
           ReadOptions options);
  Artifact(std::string path, std::unique_ptr<ArtifactBytes> storage,
           ReadOptions options);
  std::string path_;
  std::unique_ptr<ArtifactBytes> storage_;
  std::span<const uint8_t> bytes_;
  ReadOptions options_;
};

} // namespace gradus::runtime
