// An artifact file in memory, verified as a whole.
//
// Opening maps the file and checks all of it before anything is used: size,
// version, hashes, every offset, index, type and size in the header, and that
// no command can reach outside its buffers. Machine code is not examined: it is
// trusted as any program is. Immutable and safe to share between threads.

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

  const std::string &path() const;
  /// Gives the memory of a mapped file back; what is used later is read again.
  void releasePages() const;
  /// Size of the file.
  size_t size() const;
  const artifact::Header &header() const;
  /// The bytes of a section of this artifact; empty for a null one.
  std::span<const uint8_t> bytes(const artifact::Section *section) const;
  /// The kernels of a plan of this artifact; null where it has none.
  const artifact::CodeHeader *kernels(const artifact::Plan &plan) const;

private:
  struct Storage;
  explicit Artifact(std::unique_ptr<Storage> storage);
  std::unique_ptr<Storage> storage_;
};

} // namespace gradus::runtime
