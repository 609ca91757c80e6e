// Ends the process when the compiler cannot allocate memory.
#pragma once

namespace gradus::compiler {

/// Installs handlers so that a failed allocation ends the process with one line
/// on stderr and exit code 1 instead of an abort. LLVM and MLIR are built
/// without exceptions, so nothing could continue. No file is left half written,
/// because each gets its name once it is complete. For programs, not for
/// libraries that others call.
void exitWhereMemoryEnds();

} // namespace gradus::compiler
