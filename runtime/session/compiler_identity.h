// Tells what decides, beside its inputs, the bytes that the compiler makes: for
// those who keep artifacts and want to know whether compiling would give them
// again.

#pragma once

#include "runtime/status.h"

#include <string>

namespace gradus::runtime {

/// A text that is another one where another build of Gradus, the compiler,
/// oneDNN or the CUDA toolkit is found, on another processor, with other cores
/// to run on, or where the environment tells oneDNN otherwise. Fails where
/// there is no compiler. Libraries are opened only where the system's loader
/// alone knows their files.
StatusOr<std::string> compilerIdentity();

/// Tells which build of a program or library a file is: the hash of its content
/// that its linker wrote into it, else its size and time; "none" if it is not
/// there.
std::string buildOf(const std::string &file);

} // namespace gradus::runtime
