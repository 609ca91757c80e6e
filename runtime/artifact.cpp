// Opening an artifact: map or copy it, then verify all of it.

#include "runtime/artifact.h"

#include "runtime/file.h"
#include "runtime/flat.h"
#include "runtime/status.h"
#include "runtime/verify.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace gradus::runtime {

namespace {

struct Free {
  void operator()(uint8_t *bytes) const { std::free(bytes); }
};

constexpr size_t kAlignment = 64;

} // namespace

struct Artifact::Storage {
  std::optional<MappedFile> file;        // of open
  std::unique_ptr<uint8_t, Free> copied; // of fromBytes
  std::span<const uint8_t> bytes;
};

Artifact::Artifact(std::string path, std::unique_ptr<Storage> storage)
    : path_(std::move(path)), storage_(std::move(storage)),
      bytes_(storage_->bytes) {}
Artifact::~Artifact() = default;

StatusOr<std::shared_ptr<const Artifact>>
Artifact::open(const std::string &path, ReadOptions options) {
  GRADUS_ASSIGN(MappedFile file, MappedFile::open(path));
  auto storage = std::make_unique<Storage>();
  storage->bytes = file.bytes();
  storage->file.emplace(std::move(file));
  GRADUS_TRY(at(verifyArtifact(storage->bytes, options), path));
  return std::shared_ptr<const Artifact>(
      new Artifact(path, std::move(storage)));
}

StatusOr<std::shared_ptr<const Artifact>>
Artifact::fromBytes(std::span<const uint8_t> bytes, const std::string &name,
                    ReadOptions options) {
  auto storage = std::make_unique<Storage>();
  size_t room = (bytes.size() / kAlignment + 1) * kAlignment;
  storage->copied.reset(
      static_cast<uint8_t *>(std::aligned_alloc(kAlignment, room)));
  if (!storage->copied)
    return failed(name, ": no memory for ", bytes.size(), " bytes");
  if (!bytes.empty())
    std::memcpy(storage->copied.get(), bytes.data(), bytes.size());
  storage->bytes = {storage->copied.get(), bytes.size()};
  GRADUS_TRY(at(verifyArtifact(storage->bytes, options), name));
  return std::shared_ptr<const Artifact>(
      new Artifact(name, std::move(storage)));
}

size_t Artifact::codeBytes(const artifact::Plan &plan) const {
  size_t most = bytes(plan.code()).size();
  for (size_t i = 0; i < countOf(plan.images()); ++i)
    most = std::max(most, bytes(plan.images()->Get(i)->code()).size());
  return most;
}

void Artifact::releasePages() const {
  if (storage_->file)
    MappedFile::release(bytes_);
}

} // namespace gradus::runtime
