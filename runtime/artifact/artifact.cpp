// Opens an artifact: copies all but its weights, then verifies the copy.

#include "runtime/artifact/artifact.h"

#include "runtime/artifact/artifact_bytes.h"
#include "runtime/artifact/verify.h"
#include "runtime/artifact_hash.h"
#include "runtime/flat.h"
#include "runtime/status.h"

#include <algorithm>
#include <memory>

namespace gradus::runtime {

namespace {

/// Weights are read, hashed and written in chunks that stay in a core's cache
/// and need no new memory from the system.
constexpr size_t kPiece = 32 << 10;
static_assert(kPiece % artifact::BytesHash::kBlock == 0);

/// The first bytes of the header hold its size. No byte is read twice, since
/// the file may change meanwhile.
Status loadHeader(ArtifactBytes &bytes) {
  constexpr size_t kFirst = 64;
  size_t first = std::min(kFirst, bytes.size());
  GRADUS_TRY(bytes.load(0, first));
  GRADUS_ASSIGN(size_t size, headerSize(bytes.all()));
  return size > first ? bytes.load(first, size - first) : Status();
}

/// Loads all sections after a verified header but the weights. If the weights
/// are not within the file, none are left out, and verification reports what is
/// wrong.
Status loadSections(ArtifactBytes &bytes) {
  GRADUS_ASSIGN(size_t header, headerSize(bytes.all()));
  const auto *weights =
      artifact::GetSizePrefixedHeader(bytes.all().data())->weights();
  size_t size = bytes.size();
  bool isThere = weights && weights->offset() >= header &&
                 weights->offset() <= size &&
                 weights->size() <= size - weights->offset();
  size_t begin = isThere ? weights->offset() : size;
  size_t end = isThere ? begin + weights->size() : size;
  GRADUS_TRY(bytes.load(header, begin - header));
  return bytes.load(end, size - end);
}

} // namespace

Artifact::Artifact(std::string path, std::unique_ptr<ArtifactBytes> storage,
                   ReadOptions options)
    : path_(std::move(path)), storage_(std::move(storage)),
      bytes_(storage_->all()), options_(options) {}
Artifact::~Artifact() = default;

StatusOr<std::shared_ptr<const Artifact>>
Artifact::open(const std::string &path, ReadOptions options) {
  GRADUS_ASSIGN(ArtifactBytes bytes, ArtifactBytes::open(path));
  return verified(std::make_unique<ArtifactBytes>(std::move(bytes)), path,
                  options);
}

StatusOr<std::shared_ptr<const Artifact>>
Artifact::fromBytes(std::span<const uint8_t> bytes, const std::string &name,
                    ReadOptions options) {
  auto copied = ArtifactBytes::copyOf(bytes);
  GRADUS_TRY(at(copied.status(), name));
  return verified(std::make_unique<ArtifactBytes>(*std::move(copied)), name,
                  options);
}

StatusOr<std::shared_ptr<const Artifact>>
Artifact::verified(std::unique_ptr<ArtifactBytes> storage,
                   const std::string &name, ReadOptions options) {
  GRADUS_TRY(at(loadHeader(*storage), name));
  GRADUS_TRY(at(verifyHeader(storage->all()), name));
  GRADUS_TRY(at(loadSections(*storage), name));
  GRADUS_TRY(at(verifyArtifact(storage->all(), options), name));
  return std::shared_ptr<const Artifact>(
      new Artifact(name, std::move(storage), options));
}

Status Artifact::readWeights(
    const std::function<Status(uint64_t offset, std::span<const uint8_t>)>
        &take) const {
  const artifact::Section *weights = header().weights();
  if (bytes(weights).empty())
    return Status();
  artifact::BytesHash hash;
  auto piece = std::make_unique_for_overwrite<uint8_t[]>(kPiece);
  for (uint64_t done = 0; done < weights->size();) {
    std::span part(piece.get(),
                   std::min<size_t>(kPiece, weights->size() - done));
    GRADUS_TRY(at(storage_->read(weights->offset() + done, part), "weights"));
    if (!options_.trust)
      hash.add(part.data(), part.size());
    GRADUS_TRY(take(done, part));
    done += part.size();
  }
  if (options_.trust)
    return Status();
  return at(verifyHash(hash.finish(), weights->hash()), "weights");
}

Status Artifact::verifyWeights() const {
  if (options_.trust)
    return Status();
  return readWeights([](uint64_t, auto) { return Status(); });
}

size_t Artifact::codeBytes(const artifact::Plan &plan) const {
  size_t most = bytes(plan.code()).size();
  for (size_t i = 0; i < countOf(plan.images()); ++i)
    most = std::max(most, bytes(plan.images()->Get(i)->code()).size());
  return most;
}

} // namespace gradus::runtime
