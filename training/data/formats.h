// The file formats of data sets, one .cpp each, and npz for writing.
//
// Every reader checks sizes before it trusts them; the caller puts the file
// name in front of errors.

#pragma once

#include "training/data/dataset.h"

#include "runtime/status.h"

#include <memory>
#include <optional>

namespace gradus::data {

/// The bytes of a file: mapped, or unpacked in memory for gzip files, which
/// only IDX files may be.
struct FileBytes {
  std::span<const uint8_t> bytes;
  std::shared_ptr<const void> owner;
};

runtime::StatusOr<FileBytes> readFile(const std::string &path);

runtime::StatusOr<std::vector<Column>>
readSafetensorsColumns(const std::string &path);

/// Reads one NumPy array in C order, little endian, with nothing after it.
runtime::StatusOr<Column> readNpy(const FileBytes &file,
                                  const std::string &name);
/// The maximum header length; only lists of fields, which no tensor has, are
/// longer.
constexpr size_t kMostNpyHeader = 1 << 16;
/// Checks that a file of `all` bytes is as long as its header says. `beginning`
/// has its first kMostNpyHeader bytes, or all.
runtime::Status checkNpySize(std::span<const uint8_t> beginning, size_t all,
                             const std::string &name);
/// Returns the .npy file of an array.
std::string writeNpy(const runtime::TensorType &type,
                     std::span<const uint8_t> bytes);

/// Reads a zip file of .npy files, stored or deflated: all arrays, or only the
/// named one.
runtime::StatusOr<std::vector<Column>> readNpz(const FileBytes &file,
                                               const std::string &only = "");
/// Writes columns by name; leaves no partial file.
runtime::Status writeNpz(const std::string &path,
                         const std::vector<Column> &columns);

/// Whether the bytes begin like an IDX file.
bool isIdx(std::span<const uint8_t> bytes);
/// The maximum size of a whole IDX file with this beginning; nothing if it is
/// no IDX header or an incomplete one.
std::optional<size_t> idxBytes(std::span<const uint8_t> beginning);
/// Reads the format of MNIST: big-endian sizes, then data. Images (u8 of rank 3
/// or more) are marked as pixels.
runtime::StatusOr<Column> readIdx(const FileBytes &file,
                                  const std::string &name);

/// Whether the bytes are CIFAR records with valid labels.
bool isCifar(std::span<const uint8_t> bytes);
/// Reads CIFAR-10 (records of 1 + 3072 bytes) or CIFAR-100 (2 + 3072, fine
/// labels): images u8 [N, 3, 32, 32] named `name`, and `label` u8 [N].
runtime::StatusOr<std::vector<Column>> readCifar(const FileBytes &file,
                                                 const std::string &name);

/// Reads a stream of tokens: after a header of llm.c (both kinds are known), or
/// without a header as nanoGPT writes them: u16, or u32 if `wide`.
runtime::StatusOr<Column> readTokens(const FileBytes &file,
                                     const std::string &name, bool wide);
/// Whether the bytes begin with a header of llm.c.
bool hasTokenHeader(std::span<const uint8_t> bytes);

/// Reads text with a header row (RFC 4180): one column for each of the file's.
runtime::StatusOr<std::vector<Column>> readCsv(const FileBytes &file);
/// Reads chosen columns as one tensor `name`; `choice` is a list of names and
/// ranges, "age,pixel0..pixel783".
runtime::StatusOr<Column> readCsvColumns(const FileBytes &file,
                                         const std::string &name,
                                         const std::string &choice);

/// Reads the images FOLDER/CLASS/... as files `name`, and `label` i64: the
/// index of CLASS in the sorted class names, which are kept. A folder without
/// subfolders gives only images.
runtime::StatusOr<std::vector<Column>> readImageFolder(const std::string &path,
                                                       const std::string &name);

} // namespace gradus::data
