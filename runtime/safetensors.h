// Reads and writes .safetensors files: checkpoints, weights and data sets.
//
// Reading maps the file and checks its header before any tensor is used:
// offsets in range, sizes that fit their type, no overlap. Writing is atomic
// (see runtime/file.h).

#pragma once

#include "runtime/tensor_type.h"

#include "runtime/status.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gradus::runtime {

/// A named tensor; `data` is not owned.
struct NamedTensor {
  std::string name;
  TensorType type;
  std::span<const uint8_t> data;
};

/// An open .safetensors file; the tensors' data are in its mapping, or in the
/// memory that stands in its place.
class Safetensors {
public:
  static StatusOr<Safetensors> open(const std::string &path);
  /// Reads the bytes of a file, which must live as long; `name` is for errors.
  static StatusOr<Safetensors> fromBytes(std::span<const uint8_t> bytes,
                                         const std::string &name);
  Safetensors(Safetensors &&) noexcept;
  Safetensors &operator=(Safetensors &&) noexcept;
  ~Safetensors();

  /// The tensors in the order of their data.
  const std::vector<NamedTensor> &tensors() const;
  /// The tensor of this name; null if there is none.
  const NamedTensor *find(const std::string &name) const;
  const std::map<std::string, std::string> &metadata() const;

private:
  struct Storage;
  explicit Safetensors(std::unique_ptr<Storage> storage);
  std::unique_ptr<Storage> storage_;
};

/// The size of a file's header and the header. Of the tensors only names and
/// types are read. Refuses sizes beyond 64 bits, and names and metadata that
/// would not be read back as they are (runtime/names.h).
StatusOr<std::string>
safetensorsHeader(const std::vector<NamedTensor> &tensors,
                  const std::map<std::string, std::string> &metadata);

/// Bytes that whoever is given them owns.
struct OwnedBytes {
  std::unique_ptr<uint8_t[]> data;
  size_t size = 0;
};

/// Returns the bytes of the file that writeSafetensors() would write.
StatusOr<OwnedBytes>
safetensorsBytes(const std::vector<NamedTensor> &tensors,
                 const std::map<std::string, std::string> &metadata = {});

class FileHold;

/// Writes `tensors` in this order; data are aligned to 8 bytes. `hold`, if
/// given, goes on to hold the new file. Refuses what safetensorsHeader does.
Status writeSafetensors(const std::string &path,
                        const std::vector<NamedTensor> &tensors,
                        const std::map<std::string, std::string> &metadata = {},
                        FileHold *hold = nullptr);

} // namespace gradus::runtime
