// A failed write keeps its text and exit code on its way through the compiler.

#include "tool/compile/artifact_file.h"

#include "tool/failure.h"

using namespace gradus::runtime;

namespace gradus::cli {

Status ArtifactFile::tryWrite(uint64_t offset, std::span<const char> bytes) {
  if (!file_) {
    GRADUS_ASSIGN(AtomicFile file, AtomicFile::create(path_));
    file_.emplace(std::move(file));
  }
  return file_->writeAt(offset, bytes.data(), bytes.size());
}

absl::Status ArtifactFile::write(uint64_t offset, std::span<const char> bytes) {
  Status status = tryWrite(offset, bytes);
  if (status.ok())
    return absl::OkStatus();
  return status.code() == StatusCode::invalid
             ? absl::InvalidArgumentError(status.message())
             : absl::InternalError(status.message());
}

std::shared_ptr<const Artifact> ArtifactFile::open() const {
  return take(Artifact::open(partialNameOf(path_)));
}

void ArtifactFile::commit() { check(file_->commit()); }

} // namespace gradus::cli
