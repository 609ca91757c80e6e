// .npz: a zip file of .npy files, as numpy.savez and savez_compressed write it.
//
// Format: PKWARE APPNOTE 6.3; sizes come from the central directory, with its
// 64-bit extension. Files are written stored, below 4 GiB each.

#include "training/data/formats.h"

#include "runtime/file.h"
#include "runtime/status.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

#include <cstring>
#include <limits>
#include <zlib.h>

using namespace gradus::runtime;

namespace gradus::data {
namespace {

constexpr size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22;
constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50,
                   kEnd = 0x06054b50;
constexpr uint64_t kMaxUnpacked = uint64_t(1) << 40;

using Bytes = std::span<const uint8_t>;

template <typename T> T load(Bytes bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

struct Member {
  std::string name;
  uint16_t method = 0;
  uint64_t packed = 0, unpacked = 0, offset = 0;
};

runtime::Status corrupt(absl::string_view what) {
  return invalid("the .npz file is corrupt: ", what);
}

/// Replaces sizes of 0xffffffff by those in the 64-bit extension.
void applyZip64(Bytes extra, Member &member) {
  for (size_t at = 0; at + 4 <= extra.size();) {
    size_t size = load<uint16_t>(extra, at + 2), next = at + 4 + size;
    if (load<uint16_t>(extra, at) == 1 && next <= extra.size()) {
      size_t field = at + 4;
      for (uint64_t *value : {&member.unpacked, &member.packed, &member.offset})
        if (*value == 0xffffffff && field + 8 <= next) {
          *value = load<uint64_t>(extra, field);
          field += 8;
        }
    }
    at = next;
  }
}

/// Reads the entry at `*at` of the central directory and advances `*at`.
runtime::StatusOr<Member> readEntry(Bytes zip, size_t *at) {
  if (*at + kCentralSize > zip.size() || load<uint32_t>(zip, *at) != kCentral)
    return corrupt("its directory is cut off");
  size_t name = load<uint16_t>(zip, *at + 28),
         extra = load<uint16_t>(zip, *at + 30),
         comment = load<uint16_t>(zip, *at + 32), start = *at + kCentralSize;
  if (start + name + extra + comment > zip.size())
    return corrupt("its directory is cut off");
  Member member;
  member.method = load<uint16_t>(zip, *at + 10);
  member.packed = load<uint32_t>(zip, *at + 20);
  member.unpacked = load<uint32_t>(zip, *at + 24);
  member.offset = load<uint32_t>(zip, *at + 42);
  member.name.assign(reinterpret_cast<const char *>(zip.data()) + start, name);
  applyZip64(zip.subspan(start + name, extra), member);
  *at = start + name + extra + comment;
  return member;
}

/// Finds the end record, which only a comment may follow.
runtime::StatusOr<size_t> findEnd(Bytes zip) {
  for (size_t at = zip.size() < kEndSize ? 0 : zip.size() - kEndSize + 1;
       at-- > 0;)
    if (load<uint32_t>(zip, at) == kEnd)
      return at;
  return corrupt("it has no directory of its arrays");
}

runtime::StatusOr<std::vector<Member>> readDirectory(Bytes zip) {
  GRADUS_ASSIGN(size_t end, findEnd(zip));
  size_t count = load<uint16_t>(zip, end + 10),
         at = load<uint32_t>(zip, end + 16);
  std::vector<Member> members;
  for (size_t i = 0; i < count; ++i) {
    GRADUS_ASSIGN(Member member, readEntry(zip, &at));
    members.push_back(std::move(member));
  }
  return members;
}

/// Returns the packed bytes of a member, which follow its local header.
runtime::StatusOr<Bytes> packedBytes(Bytes zip, const Member &member) {
  uint64_t at = member.offset;
  if (at > zip.size() || zip.size() - at < kLocalSize ||
      load<uint32_t>(zip, at) != kLocal)
    return corrupt(absl::StrCat(member.name, " lies outside the file"));
  at +=
      kLocalSize + load<uint16_t>(zip, at + 26) + load<uint16_t>(zip, at + 28);
  if (at > zip.size() || zip.size() - at < member.packed)
    return corrupt(absl::StrCat(member.name, " is cut off"));
  return zip.subspan(at, member.packed);
}

/// The name of the array in a member.
std::string arrayName(const Member &member) {
  return std::string(absl::StripSuffix(member.name, ".npy"));
}

std::string namesOf(const std::vector<Member> &members) {
  if (members.empty())
    return "none";
  return absl::StrJoin(members, ", ",
                       [](std::string *out, const Member &member) {
                         out->append(arrayName(member));
                       })
      .substr(0, 400);
}

/// The result of unpacking.
struct Unpacked {
  size_t bytes = 0;
  bool ended = false; // no more data
};

/// Unpacks until `bytes` is full.
Unpacked inflate(Bytes packed, std::span<uint8_t> bytes) {
  z_stream stream = {};
  inflateInit2(&stream, -15); // raw deflate, no zlib header
  int result = Z_OK;
  size_t in = 0, out = 0;
  constexpr size_t kMost = std::numeric_limits<uInt>::max();
  while (result == Z_OK && out <= bytes.size()) {
    stream.next_in = const_cast<uint8_t *>(packed.data() + in);
    stream.avail_in = std::min(packed.size() - in, kMost);
    stream.next_out = bytes.data() + out;
    stream.avail_out = std::min(bytes.size() - out, kMost);
    size_t hadIn = stream.avail_in, hadOut = stream.avail_out;
    result = ::inflate(&stream, Z_NO_FLUSH);
    in += hadIn - stream.avail_in;
    out += hadOut - stream.avail_out;
  }
  inflateEnd(&stream);
  return {out, result == Z_STREAM_END};
}

/// Unpacks the .npy header first, which gives the size, so that a forged size
/// does not fill memory.
runtime::StatusOr<FileBytes> inflate(Bytes packed, const Member &member) {
  // Deflate packs at most 1032 to 1, so a larger ratio is forged.
  if (member.unpacked > kMaxUnpacked || member.unpacked / 1100 > packed.size())
    return corrupt(absl::StrCat(member.name, " has an impossible size"));
  std::vector<uint8_t> beginning(
      std::min<size_t>(member.unpacked, kMostNpyHeader));
  beginning.resize(inflate(packed, beginning).bytes);
  GRADUS_TRY(checkNpySize(beginning, member.unpacked, arrayName(member)));
  auto bytes = std::make_shared<std::vector<uint8_t>>(member.unpacked);
  Unpacked unpacked = inflate(packed, *bytes);
  if (!unpacked.ended || unpacked.bytes != bytes->size())
    return corrupt(absl::StrCat(member.name, " cannot be unpacked"));
  return FileBytes{*bytes, bytes};
}

runtime::StatusOr<FileBytes> unpack(const FileBytes &zip,
                                    const Member &member) {
  GRADUS_ASSIGN(Bytes packed, packedBytes(zip.bytes, member));
  if (member.method == 0)
    return FileBytes{packed, zip.owner};
  if (member.method == 8)
    return inflate(packed, member);
  return corrupt(absl::StrCat(member.name, " is packed by method ",
                              member.method, ", not deflate"));
}

template <typename T> void append(std::string &out, T value) {
  out.append(reinterpret_cast<const char *>(&value), sizeof(T));
}

/// The fields that a local header and a directory entry share: from the
/// required version to the length of the extra field.
std::string commonFields(const std::string &name, const std::string &file) {
  std::string out;
  append<uint16_t>(out, 20); // version
  append<uint16_t>(out, 0);  // flags
  append<uint16_t>(out, 0);  // stored
  append<uint32_t>(
      out, 0x00210000); // 1980-01-01, so that equal data give equal files
  append<uint32_t>(
      out, crc32(0, reinterpret_cast<const Bytef *>(file.data()), file.size()));
  append<uint32_t>(out, file.size());
  append<uint32_t>(out, file.size());
  append<uint16_t>(out, name.size());
  append<uint16_t>(out, 0);
  return out;
}

std::string directoryEntry(const std::string &name, const std::string &fields,
                           uint32_t offset) {
  std::string out;
  append<uint32_t>(out, kCentral);
  append<uint16_t>(out, 20); // made by
  out += fields;
  out.append(10, '\0'); // comment, disk, attributes
  append<uint32_t>(out, offset);
  return out + name;
}

std::string endRecord(uint16_t count, uint32_t size, uint32_t offset) {
  std::string out;
  append<uint32_t>(out, kEnd);
  append<uint32_t>(out, 0); // disks
  append(out, count);
  append(out, count);
  append(out, size);
  append(out, offset);
  append<uint16_t>(out, 0);
  return out;
}

} // namespace

runtime::StatusOr<std::vector<Column>> readNpz(const FileBytes &file,
                                               const std::string &only) {
  GRADUS_ASSIGN(std::vector<Member> members, readDirectory(file.bytes));
  std::erase_if(members, [](const Member &member) {
    return !absl::EndsWith(member.name, ".npy");
  });
  std::vector<Column> columns;
  for (const Member &member : members) {
    if (!only.empty() && arrayName(member) != only)
      continue;
    GRADUS_ASSIGN(FileBytes bytes, unpack(file, member));
    GRADUS_ASSIGN(Column column, readNpy(bytes, arrayName(member)));
    columns.push_back(std::move(column));
  }
  if (!only.empty() && columns.empty())
    return invalid("has no array '", only, "'; it has ", namesOf(members));
  return columns;
}

runtime::Status writeNpz(const std::string &path,
                         const std::vector<Column> &columns) {
  GRADUS_ASSIGN(AtomicFile out, AtomicFile::create(path));
  uint64_t offset = 0;
  std::string directory;
  for (const Column &column : columns) {
    std::string name = column.name + ".npy",
                file = writeNpy(column.type, column.bytes);
    std::string fields = commonFields(name, file), local;
    if (offset + file.size() > 0xfffffffe)
      return invalid(path,
                     ": an .npz file of 4 GiB or more; write .safetensors");
    append<uint32_t>(local, kLocal);
    local += fields + name;
    GRADUS_TRY(out.write(local.data(), local.size()));
    GRADUS_TRY(out.write(file.data(), file.size()));
    directory += directoryEntry(name, fields, offset);
    offset += local.size() + file.size();
  }
  directory += endRecord(columns.size(), directory.size(), offset);
  GRADUS_TRY(out.write(directory.data(), directory.size()));
  return out.commit();
}

} // namespace gradus::data
