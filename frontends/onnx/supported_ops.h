// The ops of ONNX that the importer knows, for docs/reference and for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradus {

struct SupportedOp {
  std::string name;
  int64_t since, newest; // versions of ONNX's operator set, both included
  std::string gradient;  // inputs that pass gradients on: "X, W"; or empty
  std::string refused;   // forms that are not taken, in words
  std::vector<std::string> devices;
};

/// All of them, by name.
std::vector<SupportedOp> supportedOps();

} // namespace gradus
