// Verifies the header of an artifact: its identifier, version, structure and
// hash.

#include "runtime/artifact/verify.h"
#include "runtime/artifact_hash.h"
#include "runtime/status.h"

#include <cstring>

namespace gradus::runtime {

namespace {

constexpr size_t kPrefix = sizeof(flatbuffers::uoffset_t);
constexpr size_t kLeast = kPrefix + 8; // prefix, root offset, identifier

/// Every table has at least 4 bytes, so no honest header has more than these.
constexpr flatbuffers::uoffset_t kMostTables = 4'000'000;

} // namespace

StatusOr<size_t> headerSize(std::span<const uint8_t> file) {
  if (file.size() < kLeast ||
      !flatbuffers::BufferHasIdentifier(file.data(),
                                        artifact::HeaderIdentifier(), true))
    return invalid("is not a Gradus artifact");
  size_t size =
      flatbuffers::ReadScalar<flatbuffers::uoffset_t>(file.data()) + kPrefix;
  if (size > file.size())
    return invalid("is cut short: its header should have ", size,
                   " bytes, and the file has ", file.size());
  return size;
}

Status verifyHeader(std::span<const uint8_t> file) {
  GRADUS_ASSIGN(size_t size, headerSize(file));
  flatbuffers::Verifier verifier(file.data(), size, /*max_depth=*/64,
                                 kMostTables);
  if (!artifact::VerifySizePrefixedHeaderBuffer(verifier))
    return invalid("is damaged: its header is not a well-formed FlatBuffer");
  const artifact::Header *header = artifact::GetSizePrefixedHeader(file.data());
  if (header->version() != artifact::kVersion)
    return invalid("has version ", header->version(),
                   ", and this runtime reads version ", artifact::kVersion,
                   ": compile it again");
  uint64_t hash = artifact::hashHeader(file.data(), size);
  if (hash != header->header_hash())
    return invalid("is damaged: its header has hash ", inHex(hash),
                   " instead of ", inHex(header->header_hash()));
  return Status();
}

} // namespace gradus::runtime
