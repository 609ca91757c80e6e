// Event files of TensorBoard: scalars by tag and step.
//
// A file is a list of records (TFRecord: length, its checksum, bytes, their
// checksum), each a protobuf `Event` of tensorflow/core/util/event.proto. Both
// are few fields, written here by hand.

#pragma once

#include "runtime/status.h"
#include "training/metric.h"

#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gradus::training {

/// The checksum CRC-32C (Castagnoli), as in RFC 3720.
uint32_t crc32c(std::span<const uint8_t> bytes);

/// Wraps `data` in one record.
std::string eventRecord(const std::string &data);
/// An Event at the start of a file; TensorBoard reads no other version.
std::string versionEvent(double seconds);
/// An Event that voids what other files contain from `step` on.
std::string restartEvent(double seconds, int64_t step);
/// An Event with the metrics, each tagged `prefix` + its name.
std::string scalarsEvent(double seconds, int64_t step,
                         const std::string &prefix,
                         const std::vector<Metric> &metrics);

class EventFile {
public:
  /// Makes a new file in `folder`, which is made if it is missing. A run that
  /// resumes gives its step: later steps of other files are void.
  static runtime::StatusOr<EventFile> create(const std::string &folder,
                                             std::optional<int64_t> after);

  void scalars(int64_t step, const std::string &prefix,
               const std::vector<Metric> &metrics);
  void flush() { file_.flush(); }
  /// Whether all writes so far succeeded.
  bool isWhole() const { return file_.good(); }
  const std::string &path() const { return path_; }

private:
  EventFile() = default;
  void write(const std::string &event);

  std::string path_;
  std::ofstream file_;
};

} // namespace gradus::training
