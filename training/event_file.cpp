// Writes fields of a protobuf: a key (number and kind), then a varint, eight or
// four bytes, or a length and bytes.
// https://protobuf.dev/programming-guides/encoding

#include "training/event_file.h"

#include "absl/strings/str_format.h"

#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace gradus::training {

//===-- records -----------------------------------------------------------===//

static std::array<uint32_t, 256> crcTable() {
  std::array<uint32_t, 256> table;
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t rest = i;
    for (int bit = 0; bit < 8; ++bit)
      rest = rest & 1 ? rest >> 1 ^ 0x82f63b78 : rest >> 1;
    table[i] = rest;
  }
  return table;
}

uint32_t crc32c(std::span<const uint8_t> bytes) {
  static const std::array<uint32_t, 256> table = crcTable();
  uint32_t rest = ~0u;
  for (uint8_t byte : bytes)
    rest = table[(rest ^ byte) & 255] ^ rest >> 8;
  return ~rest;
}

/// Writes a number with the lowest bytes first.
template <typename Number> static std::string littleEndian(Number number) {
  std::string bytes(sizeof(Number), '\0');
  for (size_t i = 0; i < sizeof(Number); ++i)
    bytes[i] = static_cast<char>(number >> 8 * i);
  return bytes;
}

/// The masked checksum of TFRecord, for bytes that may contain checksums.
static std::string maskedCrc(const std::string &bytes) {
  uint32_t crc =
      crc32c({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  return littleEndian((crc >> 15 | crc << 17) + 0xa282ead8u);
}

std::string eventRecord(const std::string &data) {
  std::string size = littleEndian(static_cast<uint64_t>(data.size()));
  return size + maskedCrc(size) + data + maskedCrc(data);
}

//===-- events ------------------------------------------------------------===//

static std::string varint(uint64_t number) {
  std::string bytes;
  for (; number > 127; number >>= 7)
    bytes += static_cast<char>(number | 128);
  return bytes + static_cast<char>(number);
}

static std::string key(int field, int kind) {
  return varint(static_cast<uint64_t>(field) << 3 | kind);
}

static std::string integerField(int field, int64_t value) {
  return key(field, 0) + varint(static_cast<uint64_t>(value));
}

static std::string doubleField(int field, double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return key(field, 1) + littleEndian(bits);
}

static std::string floatField(int field, float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return key(field, 5) + littleEndian(bits);
}

static std::string bytesField(int field, const std::string &bytes) {
  return key(field, 2) + varint(bytes.size()) + bytes;
}

// The fields of Event: wall_time = 1, step = 2, file_version = 3, summary = 5,
// session_log = 7 (status = 1, of which START = 1).

std::string versionEvent(double seconds) {
  return doubleField(1, seconds) + bytesField(3, "brain.Event:2");
}

std::string restartEvent(double seconds, int64_t step) {
  return doubleField(1, seconds) + integerField(2, step) +
         bytesField(7, integerField(1, 1));
}

// The fields of Summary: value = 1, of which tag = 1 and simple_value = 2.

std::string scalarsEvent(double seconds, int64_t step,
                         const std::string &prefix,
                         const std::vector<Metric> &metrics) {
  std::string summary;
  for (const Metric &metric : metrics)
    summary +=
        bytesField(1, bytesField(1, prefix + metric.name) +
                          floatField(2, static_cast<float>(metric.value)));
  return doubleField(1, seconds) + integerField(2, step) +
         bytesField(5, summary);
}

//===-- file --------------------------------------------------------------===//

static double now() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// TensorBoard reads files with names of this form, in the order of the names.
static std::string fileName() {
  char host[256] = "localhost";
  gethostname(host, sizeof(host) - 1);
  return absl::StrFormat("events.out.tfevents.%010.6f.%s.%d", now(), host,
                         getpid());
}

runtime::StatusOr<EventFile> EventFile::create(const std::string &folder,
                                               std::optional<int64_t> after) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  EventFile events;
  events.path_ = folder + "/" + fileName();
  events.file_.open(events.path_, std::ios::binary);
  if (!events.file_)
    return runtime::invalid(folder, ": no file can be written in that folder");
  events.write(versionEvent(now()));
  if (after)
    events.write(restartEvent(now(), *after + 1));
  events.file_.flush();
  return events;
}

void EventFile::write(const std::string &event) { file_ << eventRecord(event); }

void EventFile::scalars(int64_t step, const std::string &prefix,
                        const std::vector<Metric> &metrics) {
  write(scalarsEvent(now(), step, prefix, metrics));
}

} // namespace gradus::training
