// The file's ending selects the format.

#include "tool/run/tensor_file.h"

#include "runtime/safetensors.h"
#include "tool/failure.h"
#include "training/data/formats.h"

#include "absl/strings/match.h"

using namespace gradus::runtime;

namespace gradus::cli {

void checkTensorPath(const std::string &path) {
  if (!absl::EndsWith(path, ".safetensors") && !absl::EndsWith(path, ".npz"))
    throw badInput(path, ": expected a name that ends in .safetensors or .npz");
}

static runtime::Status
write(const std::string &path, const std::vector<OutputTensor> &tensors,
      const std::map<std::string, std::string> &metadata) {
  std::vector<NamedTensor> named;
  std::vector<data::Column> columns;
  for (const OutputTensor &tensor : tensors) {
    named.push_back({tensor.name, tensor.type, tensor.bytes});
    columns.push_back({tensor.name, tensor.type, tensor.bytes, nullptr});
  }
  return absl::EndsWith(path, ".npz") ? data::writeNpz(path, columns)
                                      : writeSafetensors(path, named, metadata);
}

void writeTensors(const std::string &path,
                  const std::vector<OutputTensor> &tensors,
                  const std::map<std::string, std::string> &metadata) {
  checkTensorPath(path);
  check(write(path, tensors, metadata));
}

} // namespace gradus::cli
