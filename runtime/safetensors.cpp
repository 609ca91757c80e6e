// The .safetensors format: a JSON header of names, types and offsets, then
// data. https://github.com/huggingface/safetensors

#include "runtime/safetensors.h"

#include "runtime/file.h"
#include "runtime/names.h"
#include "runtime/status.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <tuple>
#include <unordered_map>

namespace gradus::runtime {

namespace {

using Json = nlohmann::json;

constexpr std::pair<const char *, DType> kDTypes[] = {
    {"F32", DType::f32},   {"F64", DType::f64}, {"F16", DType::f16},
    {"BF16", DType::bf16}, {"I8", DType::i8},   {"U8", DType::u8},
    {"I32", DType::i32},   {"I64", DType::i64}, {"BOOL", DType::boolean},
    {"I16", DType::i16},   {"U16", DType::u16}, {"U32", DType::u32},
    {"U64", DType::u64},
};

const char *fileNameOf(DType dtype) {
  for (auto [name, candidate] : kDTypes)
    if (candidate == dtype)
      return name;
  return "?";
}

StatusOr<DType> readDType(const Json &entry) {
  auto found = entry.find("dtype");
  if (found == entry.end() || !found->is_string())
    return invalid("has no dtype");
  const auto &name = *found->get_ptr<const std::string *>();
  for (auto [known, dtype] : kDTypes)
    if (name == known)
      return dtype;
  return invalid("has dtype ", name,
                 ", which is not one of F32, F64, F16, BF16, "
                 "I8, U8, I32, I64, BOOL, I16, U16, U32, U64");
}

/// Reads the list of whole numbers under `key`.
StatusOr<std::vector<int64_t>> readNumbers(const Json &entry, const char *key) {
  auto found = entry.find(key);
  if (found == entry.end() || !found->is_array())
    return invalid("has no ", key);
  std::vector<int64_t> numbers;
  for (const Json &number : *found) {
    const auto *value = number.get_ptr<const uint64_t *>();
    if (!value || *value > uint64_t{1} << 62)
      return invalid("has a ", key, " that is not a list of sizes");
    numbers.push_back(static_cast<int64_t>(*value));
  }
  return numbers;
}

StatusOr<NamedTensor> readTensor(const std::string &name, const Json &entry,
                                 std::span<const uint8_t> data) {
  NamedTensor tensor;
  tensor.name = name;
  if (!entry.is_object())
    return invalid("is not described by an object");
  GRADUS_ASSIGN(tensor.type.dtype, readDType(entry));
  GRADUS_ASSIGN(tensor.type.shape, readNumbers(entry, "shape"));
  GRADUS_ASSIGN(auto offsets, readNumbers(entry, "data_offsets"));
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    return invalid("has data_offsets that are not a begin and an end");
  auto size = static_cast<size_t>(offsets[1] - offsets[0]);
  if (bytesOf(tensor.type) != size)
    return invalid("has ", size, " bytes of data, which is not the size of ",
                   toString(tensor.type));
  tensor.data = data.subspan(static_cast<size_t>(offsets[0]), size);
  return tensor;
}

/// The number of data bytes that the header describes.
uint64_t dataSize(const Json &root) {
  uint64_t size = 0;
  for (const Json &entry : root) {
    if (!entry.is_object())
      continue;
    auto offsets = readNumbers(entry, "data_offsets");
    if (offsets.ok() && offsets->size() == 2)
      size = std::max(size, static_cast<uint64_t>((*offsets)[1]));
  }
  return size;
}

/// The error for a file whose length differs from its header's.
Status wrongSize(const char *how, size_t file, size_t data, uint64_t expected) {
  return invalid(how, ": it has ", file, " bytes, and its header says ",
                 file - data + expected);
}

Status readMetadata(const Json &entry,
                    std::map<std::string, std::string> &metadata) {
  if (!entry.is_object())
    return invalid(kMetadataName, " is not an object");
  for (const auto &[key, value] : entry.items()) {
    if (!value.is_string())
      return invalid(kMetadataName, ": ", key, " is not a string");
    metadata[key] = *value.get_ptr<const std::string *>();
  }
  return Status();
}

bool liesBefore(const NamedTensor &one, const NamedTensor &other) {
  return std::tuple(one.data.data(), one.data.size(), one.name) <
         std::tuple(other.data.data(), other.data.size(), other.name);
}

/// Sorts tensors by offset and refuses tensors that share bytes.
Status orderByData(std::vector<NamedTensor> &tensors) {
  std::sort(tensors.begin(), tensors.end(), liesBefore);
  for (size_t i = 1; i < tensors.size(); ++i)
    if (tensors[i - 1].data.data() + tensors[i - 1].data.size() >
        tensors[i].data.data())
      return invalid("tensors ", tensors[i - 1].name, " and ", tensors[i].name,
                     " overlap");
  return Status();
}

/// The JSON text at the start of a file, after its length.
StatusOr<std::span<const uint8_t>> headerOf(std::span<const uint8_t> file) {
  uint64_t size = 0;
  if (file.size() < sizeof(size))
    return invalid("is not a safetensors file: it has ", file.size(), " bytes");
  std::memcpy(&size, file.data(), sizeof(size));
  if (size > file.size() - sizeof(size))
    return invalid(
        "is not a safetensors file, or is cut short: its header should "
        "have ",
        size, " bytes, and the file has ", file.size());
  return file.subspan(sizeof(size), size);
}

/// Refuses names that a header cannot hold or would give back changed.
Status verifyNames(const std::vector<NamedTensor> &tensors,
                   const std::map<std::string, std::string> &metadata) {
  for (const NamedTensor &tensor : tensors)
    if (auto problem = nameProblem(tensor.name); !problem.empty())
      return invalid("the name of tensor '", asUtf8(tensor.name), "' ",
                     problem);
  for (const auto &[key, value] : metadata)
    if (auto problem = textProblem(inWords(key, "=", value)); !problem.empty())
      return invalid(kMetadataName, ": ", asUtf8(key), ": ", asUtf8(value), " ",
                     problem);
  return Status();
}

/// Writes `text`, which is UTF-8, as a JSON string.
std::string quoted(const std::string &text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Checks that the tensors' bytes, and those of all together, can be counted.
Status verifySizes(const std::vector<NamedTensor> &tensors) {
  size_t left = std::numeric_limits<size_t>::max();
  for (const NamedTensor &tensor : tensors) {
    std::optional<size_t> bytes = bytesOf(tensor.type);
    if (!bytes || *bytes > left)
      return invalid("tensor ", tensor.name, " is ", toString(tensor.type),
                     "; expected sizes whose bytes 64 bits can count",
                     bytes ? ", together with the tensors before it" : "");
    left -= *bytes;
  }
  return Status();
}

/// The sizes of the tensors are verified.
std::string headerText(const std::vector<NamedTensor> &tensors,
                       const std::map<std::string, std::string> &metadata) {
  std::string text = "{";
  if (!metadata.empty()) {
    append(text, "\"", kMetadataName, "\":{");
    for (const auto &[key, value] : metadata)
      append(text, quoted(key), ":", quoted(value), ",");
    text.back() = '}';
    text += ",";
  }
  size_t at = 0;
  for (const NamedTensor &tensor : tensors) {
    size_t end = at + *bytesOf(tensor.type);
    append(text, quoted(tensor.name), ":{\"dtype\":\"",
           fileNameOf(tensor.type.dtype),
           "\",\"shape\":", Json(tensor.type.shape).dump(),
           ",\"data_offsets\":[", at, ",", end, "]},");
    at = end;
  }
  if (text.back() == ',')
    text.pop_back();
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' '); // data aligned to 8 bytes
  return text;
}

} // namespace

struct Safetensors::Storage {
  std::optional<MappedFile> file; // nothing: the bytes are the caller's
  std::span<const uint8_t> bytes;
  std::vector<NamedTensor> tensors;
  std::unordered_map<std::string, size_t> numbers;
  std::map<std::string, std::string> metadata;

  Status read();
};

Status Safetensors::Storage::read() {
  GRADUS_ASSIGN(auto header, headerOf(bytes));
  auto data = bytes.subspan(sizeof(uint64_t) + header.size());
  Json root = Json::parse(header.begin(), header.end(), nullptr,
                          /*allow_exceptions=*/false);
  if (!root.is_object())
    return invalid(
        "is not a safetensors file: its header is not a JSON object");
  uint64_t expected = dataSize(root);
  if (data.size() < expected)
    return wrongSize("is cut short", bytes.size(), data.size(), expected);
  for (const auto &[name, entry] : root.items()) {
    if (name == kMetadataName) {
      GRADUS_TRY(readMetadata(entry, metadata));
      continue;
    }
    auto tensor = readTensor(name, entry, data);
    if (!tensor.ok())
      return invalid("tensor ", name, " ", tensor.status().message());
    tensors.push_back(*std::move(tensor));
  }
  if (data.size() > expected)
    return wrongSize("has bytes after its end", bytes.size(), data.size(),
                     expected);
  GRADUS_TRY(orderByData(tensors));
  for (size_t i = 0; i < tensors.size(); ++i)
    numbers[tensors[i].name] = i;
  return Status();
}

StatusOr<Safetensors> Safetensors::open(const std::string &path) {
  GRADUS_ASSIGN(MappedFile file, MappedFile::open(path));
  auto storage = std::make_unique<Storage>();
  storage->file = std::move(file);
  storage->bytes = storage->file->bytes();
  GRADUS_TRY(at(storage->read(), path));
  return Safetensors(std::move(storage));
}

StatusOr<Safetensors> Safetensors::fromBytes(std::span<const uint8_t> bytes,
                                             const std::string &name) {
  auto storage = std::make_unique<Storage>();
  storage->bytes = bytes;
  GRADUS_TRY(at(storage->read(), name));
  return Safetensors(std::move(storage));
}

Safetensors::Safetensors(std::unique_ptr<Storage> storage)
    : storage_(std::move(storage)) {}
Safetensors::Safetensors(Safetensors &&) noexcept = default;
Safetensors &Safetensors::operator=(Safetensors &&) noexcept = default;
Safetensors::~Safetensors() = default;

const std::vector<NamedTensor> &Safetensors::tensors() const {
  return storage_->tensors;
}

const NamedTensor *Safetensors::find(const std::string &name) const {
  auto found = storage_->numbers.find(name);
  return found == storage_->numbers.end() ? nullptr
                                          : &storage_->tensors[found->second];
}

const std::map<std::string, std::string> &Safetensors::metadata() const {
  return storage_->metadata;
}

StatusOr<std::string>
safetensorsHeader(const std::vector<NamedTensor> &tensors,
                  const std::map<std::string, std::string> &metadata) {
  GRADUS_TRY(verifyNames(tensors, metadata));
  GRADUS_TRY(verifySizes(tensors));
  std::string text = headerText(tensors, metadata);
  uint64_t size = text.size();
  return std::string(reinterpret_cast<const char *>(&size), sizeof(size)) +
         text;
}

/// Passes a file's bytes on, piece by piece and in their order.
static Status
writePieces(const std::string &header, const std::vector<NamedTensor> &tensors,
            const std::function<Status(const void *, size_t)> &write) {
  GRADUS_TRY(write(header.data(), header.size()));
  for (const NamedTensor &tensor : tensors)
    GRADUS_TRY(write(tensor.data.data(), tensor.data.size()));
  return Status();
}

StatusOr<OwnedBytes>
safetensorsBytes(const std::vector<NamedTensor> &tensors,
                 const std::map<std::string, std::string> &metadata) {
  GRADUS_ASSIGN(std::string header, safetensorsHeader(tensors, metadata));
  OwnedBytes bytes{nullptr, header.size()};
  for (const NamedTensor &tensor : tensors)
    bytes.size += tensor.data.size();
  bytes.data.reset(new (std::nothrow) uint8_t[bytes.size]);
  if (!bytes.data)
    return failed("cannot allocate the ", bytes.size, " bytes of a file");
  uint8_t *end = bytes.data.get();
  GRADUS_TRY(writePieces(header, tensors, [&](const void *data, size_t size) {
    if (size)
      std::memcpy(end, data, size);
    end += size;
    return Status();
  }));
  return bytes;
}

Status writeSafetensors(const std::string &path,
                        const std::vector<NamedTensor> &tensors,
                        const std::map<std::string, std::string> &metadata,
                        FileHold *hold) {
  auto header = safetensorsHeader(tensors, metadata);
  GRADUS_TRY(at(header.status(), path));
  GRADUS_ASSIGN(AtomicFile file, AtomicFile::create(path, hold));
  GRADUS_TRY(writePieces(*header, tensors, [&](const void *data, size_t size) {
    return file.write(data, size);
  }));
  return file.commit();
}

} // namespace gradus::runtime
