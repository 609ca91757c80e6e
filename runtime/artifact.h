// An artifact file in memory, verified as a whole.
//
// Opening maps the file and checks all of it before anything is used: size,
// version, hashes, every offset, index, type and size in the header, and that
// no command can reach outside its buffers. Machine code is not examined: it is
// trusted as any program is. Immutable and safe to share between threads. What
// devices ask of one is inline: a plug-in links nothing of this.

#pragma once

#include "runtime/artifact_generated.h"

#include "runtime/status.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace gradus::runtime {

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
  /// Gives the memory of a mapped file back; what is used later is read again.
  void releasePages() const;
  /// Size of the file.
  size_t size() const { return bytes_.size(); }
  const artifact::Header &header() const {
    return *artifact::GetSizePrefixedHeader(bytes_.data());
  }
  /// The bytes of a section of this artifact; empty for a null one.
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
  struct Storage;
  Artifact(std::string path, std::unique_ptr<Storage> storage);
  std::string path_;
  std::unique_ptr<Storage> storage_;
  std::span<const uint8_t> bytes_;
};

} // namespace gradus::runtime
