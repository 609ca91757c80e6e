// Opens a data file that a model names. A model may come from anybody.
#pragma once

#include "absl/status/statusor.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace gradus::onnx {

/// The path of the file `location` in the model's folder, or, if it is not
/// there and the model's name is a link, beside the link's target.
std::string dataPath(const std::string &modelPath, const std::string &location);

/// Reads that file. Returns NotFound if there is none, and an error if it is
/// not a regular file or, with all links followed, lies outside: it must be in
/// the model's folder, or beside the file that the model's name is a link to.
absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>>
openDataFile(const std::string &modelPath, const std::string &location);

/// Reads a regular file. Others, such as pipes and devices, are not opened:
/// they may have no end, or never begin.
absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>>
openRegularFile(const std::string &path);

} // namespace gradus::onnx
