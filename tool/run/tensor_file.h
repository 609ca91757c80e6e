// Tensors that a command writes by name to .safetensors or .npz.

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

/// Throws a Failure if `path` ends in neither .safetensors nor .npz.
void checkTensorPath(const std::string &path);
/// Writes all tensors or nothing; only .safetensors can hold `metadata`.
void writeTensors(const std::string &path,
                  const std::vector<OutputTensor> &tensors,
                  const std::map<std::string, std::string> &metadata = {});

} // namespace gradus::cli
