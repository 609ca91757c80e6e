// The file of an artifact that is being compiled. It is written piece by piece,
// and is never in memory as a whole.

#pragma once

#include "runtime/artifact/artifact.h"
#include "runtime/file.h"

#include "absl/status/status.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace gradus::cli {

/// Until commit(), the file `path` stays as it was. Until the first bytes are
/// written, no other file is made in its folder either.
class ArtifactFile {
public:
  explicit ArtifactFile(std::string path) : path_(std::move(path)) {}

  /// Returns an absl::Status for the compiler, which calls this.
  absl::Status write(uint64_t offset, std::span<const char> bytes);
  /// Opens and checks the written file, under the name that it has until
  /// commit(). Throws a Failure.
  std::shared_ptr<const runtime::Artifact> open() const;
  /// When this returns, the file is on disk under its name. Throws a Failure.
  void commit();

private:
  runtime::Status tryWrite(uint64_t offset, std::span<const char> bytes);
  std::string path_;
  std::optional<runtime::AtomicFile> file_;
};

} // namespace gradus::cli
