// Tensors that a command writes: by name, to .safetensors or .npz.

#pragma once

#include "runtime/tensor_type.h"

#include <map>
#include <string>
#include <vector>

namespace gradus::cli {

struct OutputTensor {
  std::string name;
  runtime::TensorType type;
  std::vector<uint8_t> bytes;
};

/// Throws a failure now if `path` ends in neither .safetensors nor .npz.
void checkTensorPath(const std::string &path);
/// Whole or not at all; only .safetensors has room for `metadata`.
void writeTensors(const std::string &path,
                  const std::vector<OutputTensor> &tensors,
                  const std::map<std::string, std::string> &metadata = {});

} // namespace gradus::cli
