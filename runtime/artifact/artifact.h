// An artifact file in memory, verified as a whole.
//
// Opening copies the file, all but its weights, and checks the copy before
// anything is used: size, version, hashes, every offset, index, type and size
// in the header, and that no command can reach outside its buffers. Machine
// code is not examined: it is trusted as any program is. Weights are checked
// whenever they are read. So only verified bytes are used, whatever becomes of
// the file. Immutable and safe to share between threads. The functions that
// devices call are inline, so that a plug-in needs no symbols of this library.

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

  /// Opens an artifact from bytes in memory, which are copied; `name` is for
  /// errors.
  static StatusOr<std::shared_ptr<const Artifact>>
  fromBytes(std::span<const uint8_t> bytes, const std::string &name,
            ReadOptions options = {});

  ~Artifact();

  const std::string &path() const { return path_; }
  /// Calls `take` with the weights piece by piece, in their order: the offset
  /// in the section, and the bytes, which are valid during the call. Fails
  /// after the last piece if the weights do not have the hash in the header,
  /// unless they are trusted.
  Status readWeights(
      const std::function<Status(uint64_t offset, std::span<const uint8_t>)>
          &take) const;
  /// Checks that the weights have the hash in the header; skipped if they are
  /// trusted.
  Status verifyWeights() const;
  /// The size of the file.
  size_t size() const { return bytes_.size(); }
  const artifact::Header &header() const {
    return *artifact::GetSizePrefixedHeader(bytes_.data());
  }
  /// The bytes of a section of this artifact; empty for a null one. Of the
  /// weights section only the size is valid.
  std::span<const uint8_t> bytes(const artifact::Section *section) const {
    if (!section || section->size() == 0)
      return {};
    return bytes_.subspan(section->offset(), section->size());
  }
  /// The maximum number of code bytes of a plan that one device loads.
  size_t codeBytes(const artifact::Plan &plan) const;
  /// The kernels of a plan of this artifact; null if it has none.
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
