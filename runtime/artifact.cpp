// Opening an artifact: map or copy it, then verify all of it.

#include "runtime/artifact.h"

#include "runtime/file.h"
#include "runtime/flat.h"
#include "runtime/status.h"
#include "runtime/verify.h"

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
  std::string path;
  std::optional<MappedFile> file;        // of open
  std::unique_ptr<uint8_t, Free> copied; // of fromBytes
  std::span<const uint8_t> bytes;
};

Artifact::Artifact(std::unique_ptr<Storage> storage)
    : storage_(std::move(storage)) {}
Artifact::~Artifact() = default;

StatusOr<std::shared_ptr<const Artifact>>
Artifact::open(const std::string &path, ReadOptions options) {
  GRADUS_ASSIGN(MappedFile file, MappedFile::open(path));
  auto storage = std::make_unique<Storage>();
  storage->path = path;
  storage->bytes = file.bytes();
  storage->file.emplace(std::move(file));
  GRADUS_TRY(at(verifyArtifact(storage->bytes, options), path));
  return std::shared_ptr<const Artifact>(new Artifact(std::move(storage)));
}

StatusOr<std::shared_ptr<const Artifact>>
Artifact::fromBytes(std::span<const uint8_t> bytes, const std::string &name,
                    ReadOptions options) {
  auto storage = std::make_unique<Storage>();
  storage->path = name;
  size_t room = (bytes.size() / kAlignment + 1) * kAlignment;
  storage->copied.reset(
      static_cast<uint8_t *>(std::aligned_alloc(kAlignment, room)));
  if (!storage->copied)
    return failed(name, ": no memory for ", bytes.size(), " bytes");
  if (!bytes.empty())
    std::memcpy(storage->copied.get(), bytes.data(), bytes.size());
  storage->bytes = {storage->copied.get(), bytes.size()};
  GRADUS_TRY(at(verifyArtifact(storage->bytes, options), name));
  return std::shared_ptr<const Artifact>(new Artifact(std::move(storage)));
}

const std::string &Artifact::path() const { return storage_->path; }

void Artifact::releasePages() const {
  if (storage_->file)
    MappedFile::release(storage_->bytes);
}

size_t Artifact::size() const { return storage_->bytes.size(); }

const artifact::Header &Artifact::header() const {
  return *artifact::GetSizePrefixedHeader(storage_->bytes.data());
}

std::span<const uint8_t>
Artifact::bytes(const artifact::Section *section) const {
  if (!section || section->size() == 0)
    return {};
  return storage_->bytes.subspan(section->offset(), section->size());
}

const artifact::CodeHeader *
Artifact::kernels(const artifact::Plan &plan) const {
  auto section = bytes(plan.kernels());
  return section.empty()
             ? nullptr
             : flatbuffers::GetRoot<artifact::CodeHeader>(section.data());
}

} // namespace gradus::runtime
