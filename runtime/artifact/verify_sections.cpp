// Verifies the sections of an artifact: their place and their hashes.

#include "runtime/artifact/verify.h"
#include "runtime/artifact_hash.h"
#include "runtime/flat.h"
#include "runtime/status.h"

#include <algorithm>
#include <string>
#include <vector>

namespace gradus::runtime {

namespace {

constexpr uint64_t kAlignment = 64;

struct NamedSection {
  std::string name;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t hash = 0;
  enum Kind { code, constants, weights, program } kind = code;

  uint64_t end() const { return offset + size; }
};

void add(std::vector<NamedSection> &list, std::string name,
         const artifact::Section *section, NamedSection::Kind kind) {
  if (section && section->size() > 0)
    list.push_back({std::move(name), section->offset(), section->size(),
                    section->hash(), kind});
}

/// The code of an image in an error: "the code for sm_80", "the PTX for
/// sm_100".
std::string nameOf(const artifact::CodeImage &image) {
  if (image.kind() == artifact::ImageKind::emulated)
    return "the code for the emulated GPU";
  bool isPtx = image.kind() == artifact::ImageKind::ptx;
  return inWords("the ", isPtx ? "PTX" : "code", " for ",
                 textOf(image.architecture()));
}

std::vector<NamedSection> sectionsOf(const artifact::Header &header) {
  std::vector<NamedSection> list;
  add(list, "constants", header.constants(), NamedSection::constants);
  add(list, "weights", header.weights(), NamedSection::weights);
  if (header.program())
    add(list, "the program", header.program()->bytecode(),
        NamedSection::program);
  for (size_t i = 0; i < countOf(header.plans()); ++i) {
    const artifact::Plan *plan = header.plans()->Get(i);
    std::string ofPlan = " of plan " + textOf(plan->target());
    add(list, "the code" + ofPlan, plan->code(), NamedSection::code);
    add(list, "the list of kernels" + ofPlan, plan->kernels(),
        NamedSection::code);
    for (size_t k = 0; k < countOf(plan->images()); ++k) {
      const artifact::CodeImage &image = *plan->images()->Get(k);
      add(list, nameOf(image) + ofPlan, image.code(), NamedSection::code);
    }
  }
  std::sort(list.begin(), list.end(), [](const auto &one, const auto &other) {
    return std::pair(one.offset, one.size) <
           std::pair(other.offset, other.size);
  });
  return list;
}

Status verifyRange(const NamedSection &section, uint64_t headerSize,
                   uint64_t fileSize) {
  if (section.offset % kAlignment != 0)
    return invalid("starts at ", section.offset, ", not a multiple of ",
                   kAlignment);
  if (section.offset < headerSize)
    return invalid("starts at ", section.offset, ", inside the header of ",
                   headerSize, " bytes");
  if (section.offset > fileSize || section.size > fileSize - section.offset)
    return invalid("should end at ", section.offset, " + ", section.size,
                   ", and the file has ", fileSize, " bytes: it is cut short");
  return Status();
}

/// Bytes outside of sections are zero, so that a flipped one shows.
Status verifyGap(std::span<const uint8_t> file, uint64_t begin, uint64_t end) {
  for (uint64_t i = begin; i < end; ++i)
    if (file[i] != 0)
      return invalid("byte ", i, " lies between two sections and is not zero");
  return Status();
}

Status verifyHash(std::span<const uint8_t> file, const NamedSection &section) {
  auto bytes = file.subspan(section.offset, section.size);
  return runtime::verifyHash(artifact::hashBytes(bytes.data(), bytes.size()),
                             section.hash);
}

Status verifyLayout(std::span<const uint8_t> file, uint64_t headerSize,
                    const std::vector<NamedSection> &sections) {
  uint64_t end = headerSize;
  const NamedSection *previous = nullptr;
  for (const NamedSection &section : sections) {
    GRADUS_TRY(at(verifyRange(section, headerSize, file.size()), section.name));
    // Plans may share a section of code.
    bool same = previous && previous->offset == section.offset &&
                previous->size == section.size &&
                previous->kind == NamedSection::code &&
                section.kind == NamedSection::code;
    if (!same && section.offset < end)
      return invalid(section.name, ": overlaps ",
                     previous ? previous->name : "the header");
    if (!same)
      GRADUS_TRY(verifyGap(file, end, section.offset));
    end = section.end();
    previous = &section;
  }
  uint64_t padded = (end + kAlignment - 1) / kAlignment * kAlignment;
  if (file.size() != padded)
    return invalid("has ", file.size(), " bytes and should have ", padded);
  return verifyGap(file, end, file.size());
}

} // namespace

Status verifyHash(uint64_t found, uint64_t expected) {
  if (found != expected)
    return invalid("is damaged: it has hash ", inHex(found), " instead of ",
                   inHex(expected));
  return Status();
}

Status verifySections(std::span<const uint8_t> file, ReadOptions options) {
  uint64_t headerSize =
      flatbuffers::ReadScalar<flatbuffers::uoffset_t>(file.data()) +
      sizeof(uint32_t);
  auto sections = sectionsOf(*artifact::GetSizePrefixedHeader(file.data()));
  GRADUS_TRY(verifyLayout(file, headerSize, sections));
  for (const NamedSection &section : sections) {
    bool isTrusted = options.trust && section.kind == NamedSection::constants;
    if (section.kind != NamedSection::weights && !isTrusted)
      GRADUS_TRY(at(verifyHash(file, section), section.name));
  }
  return Status();
}

} // namespace gradus::runtime
