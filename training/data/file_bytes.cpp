// Reads bytes of files: mapped, or unpacked if gzip packed them; and
// .safetensors through the runtime.

#include "training/data/formats.h"

#include "runtime/file.h"
#include "runtime/safetensors.h"
#include "runtime/status.h"

#include <zlib.h>

using namespace gradus::runtime;

namespace gradus::data {

static bool isGzip(std::span<const uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

/// The maximum size of an IDX file with this header, which keeps a small gzip
/// file from filling memory.
static size_t mostUnpacked(std::span<const uint8_t> beginning) {
  constexpr size_t kMost = size_t(1) << 34;
  return std::min(kMost, idxBytes(beginning).value_or(kMost));
}

static runtime::StatusOr<FileBytes> unpackGzip(const std::string &path) {
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"),
                                                  gzclose);
  if (!file)
    return invalid(path, ": cannot be opened");
  auto bytes = std::make_shared<std::vector<uint8_t>>();
  std::vector<uint8_t> block(1 << 16);
  int read;
  while ((read = gzread(file.get(), block.data(), block.size())) > 0) {
    bytes->insert(bytes->end(), block.begin(), block.begin() + read);
    if (!isIdx(*bytes))
      return invalid(path, ": is a gzip file of other data than IDX; unpack "
                           "it, and name what comes out");
    if (bytes->size() > mostUnpacked(*bytes))
      return invalid(path, ": the gzip data hold more than ",
                     mostUnpacked(*bytes), " bytes, which is all there may be");
  }
  // gzread returns 0 at the end of a truncated file as at a real end.
  int error = Z_OK;
  gzerror(file.get(), &error);
  if (error == Z_BUF_ERROR)
    return invalid(path, ": the gzip data are cut off");
  if (read < 0 || error != Z_OK)
    return invalid(path, ": the gzip data are corrupt");
  return FileBytes{*bytes, bytes};
}

runtime::StatusOr<FileBytes> readFile(const std::string &path) {
  GRADUS_ASSIGN(MappedFile mapped, MappedFile::open(path));
  if (isGzip(mapped.bytes()))
    return unpackGzip(path);
  auto owner = std::make_shared<MappedFile>(std::move(mapped));
  return FileBytes{owner->bytes(), owner};
}

runtime::StatusOr<std::vector<Column>>
readSafetensorsColumns(const std::string &path) {
  GRADUS_ASSIGN(Safetensors file, Safetensors::open(path));
  auto owner = std::make_shared<Safetensors>(std::move(file));
  std::vector<Column> columns;
  for (const NamedTensor &tensor : owner->tensors())
    columns.push_back({tensor.name, tensor.type, tensor.data, owner});
  return columns;
}

} // namespace gradus::data
