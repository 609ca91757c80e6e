// What the process does where the compiler gets no memory any more.
#pragma once

namespace gradus::compiler {

/// From now on, whatever cannot allocate in this process ends it: one line of
/// words on stderr and exit code 1, in place of an abort. LLVM and MLIR are
/// built without exceptions, so nothing could go on; no file is left half
/// written, as each gets its name once it is whole. For programs, not for
/// libraries that others call.
void exitWhereMemoryEnds();

} // namespace gradus::compiler
