// The file formats of data sets, one .cpp each, and npz for writing.
//
// Every reader checks sizes before it trusts them; errors name the file by what
// the caller puts in front.

#pragma once

#include "frontends/data/dataset.h"

#include "runtime/status.h"

#include <memory>
#include <optional>

namespace gradus::data {

/// The bytes of a file, mapped, or unpacked in memory where it is a gzip file,
/// which only IDX files may be.
struct FileBytes {
  std::span<const uint8_t> bytes;
  std::shared_ptr<const void> owner;
};

runtime::StatusOr<FileBytes> readFile(const std::string &path);

runtime::StatusOr<std::vector<Column>>
readSafetensorsColumns(const std::string &path);

/// One NumPy array in C order, little endian, and nothing behind it.
runtime::StatusOr<Column> readNpy(const FileBytes &file,
                                  const std::string &name);
/// No header is longer, but for lists of fields, which no tensor has.
constexpr size_t kMostNpyHeader = 1 << 16;
/// Whether a file of `all` bytes, of which these are the first (as many as
/// kMostNpyHeader, or all), is as long as its header says.
runtime::Status checkNpySize(std::span<const uint8_t> beginning, size_t all,
                             const std::string &name);
/// The same array as a file in memory.
std::string writeNpy(const runtime::TensorType &type,
                     std::span<const uint8_t> bytes);

/// A zip file of .npy files, stored or deflated: all arrays, or the one that is
/// named.
runtime::StatusOr<std::vector<Column>> readNpz(const FileBytes &file,
                                               const std::string &only = "");
/// Writes columns by name; whole or not at all.
runtime::Status writeNpz(const std::string &path,
                         const std::vector<Column> &columns);

/// Whether the bytes begin as an IDX file does.
bool isIdx(std::span<const uint8_t> bytes);
/// Bytes of a whole IDX file that begins so, at most; nothing where this is
/// none or not all of its header.
std::optional<size_t> idxBytes(std::span<const uint8_t> beginning);
/// The format of MNIST: big-endian sizes, then data. Images (u8 of rank 3 or
/// more) are marked as pixels.
runtime::StatusOr<Column> readIdx(const FileBytes &file,
                                  const std::string &name);

/// Whether the bytes are records of CIFAR whose labels are classes of it.
bool isCifar(std::span<const uint8_t> bytes);
/// CIFAR-10 (records of 1 + 3072 bytes) or CIFAR-100 (2 + 3072, fine labels):
/// images u8 [N, 3, 32, 32] named `name`, and `label` u8 [N].
runtime::StatusOr<std::vector<Column>> readCifar(const FileBytes &file,
                                                 const std::string &name);

/// A stream of tokens: behind a header of llm.c, of which both kinds are known,
/// or without one as nanoGPT writes them: u16, or u32 if `wide`.
runtime::StatusOr<Column> readTokens(const FileBytes &file,
                                     const std::string &name, bool wide);
/// Whether the bytes begin with a header of llm.c.
bool hasTokenHeader(std::span<const uint8_t> bytes);

/// Text with a header row (RFC 4180): a column of its own for each column of
/// the file.
runtime::StatusOr<std::vector<Column>> readCsv(const FileBytes &file);
/// The same of chosen columns as one tensor `name`; `choice` is a list of names
/// and ranges, "age,pixel0..pixel783".
runtime::StatusOr<Column> readCsvColumns(const FileBytes &file,
                                         const std::string &name,
                                         const std::string &choice);

/// The images FOLDER/CLASS/... as files `name`, and `label` i64: the place of
/// CLASS among the sorted names, which it knows; of a folder without folders,
/// its images alone.
runtime::StatusOr<std::vector<Column>> readImageFolder(const std::string &path,
                                                       const std::string &name);

} // namespace gradus::data
