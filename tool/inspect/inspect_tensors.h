// gradus inspect of a .safetensors file: the tensors of a checkpoint, of
// weights or of data.

#pragma once

#include <string>

namespace gradus::cli {

bool isTensorFile(const std::string &path);

/// Prints names, types and what the file says of itself; JSON is one object.
void inspectTensors(const std::string &path, bool json);

} // namespace gradus::cli
