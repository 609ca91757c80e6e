// A data file beside a model: a file that the model names, and a model may come
// from anybody.
#pragma once

#include "absl/status/statusor.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace gradus::onnx {

/// The name of the file called `location`: in the model's own folder, or where
/// there is none, beside the file that the model's name is a link to.
std::string dataPath(const std::string &modelPath, const std::string &location);

/// The contents of that file.
/// NotFound where there is no such file. An error where it is no regular file,
/// or lies outside once all links are followed: it must lie in the model's own
/// folder, or beside the file that the model's name is a link to.
absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>>
openDataFile(const std::string &modelPath, const std::string &location);

/// A regular file. What is not, such as a pipe or a device, is not opened: it
/// may have no end, or never begin.
absl::StatusOr<std::unique_ptr<llvm::MemoryBuffer>>
openRegularFile(const std::string &path);

} // namespace gradus::onnx
