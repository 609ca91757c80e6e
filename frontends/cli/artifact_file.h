// The file of an artifact that is being compiled. It is written as it is made,
// and in memory at no time.

#pragma once

#include "runtime/artifact.h"
#include "runtime/file.h"

#include "absl/status/status.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace gradus::cli {

/// Under the name `path` there is what was there, until commit(). Until the
/// first bytes come, nothing is made in its folder either.
class ArtifactFile {
public:
  explicit ArtifactFile(std::string path) : path_(std::move(path)) {}

  /// Fails as the compiler does, which calls this.
  absl::Status write(uint64_t offset, std::span<const char> bytes);
  /// What was written, checked as it is when loaded, under the name that it has
  /// until commit(). Throws a Failure.
  std::shared_ptr<const runtime::Artifact> open() const;
  /// On disk, under its name, when this returns. Throws a Failure.
  void commit();

private:
  runtime::Status tryWrite(uint64_t offset, std::span<const char> bytes);
  std::string path_;
  std::optional<runtime::AtomicFile> file_;
};

} // namespace gradus::cli
