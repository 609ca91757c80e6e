// The list of ONNX ops that the importer knows, for docs/reference and for
// users.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradus {

struct SupportedOp {
  std::string name;
  int64_t since, newest; // opsets, both included
  std::string gradient;  // inputs with gradients: "X, W"; or empty
  std::string refused;   // unsupported forms, in words
  std::string ignored;   // attributes without effect, with the reason
  std::vector<std::string> devices;
};

/// All ops, by name.
std::vector<SupportedOp> supportedOps();

} // namespace gradus
