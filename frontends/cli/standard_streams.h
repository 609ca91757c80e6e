// Standard input, output and error, which a process may be started without
// (`gradus train ... >&-`).

#pragma once

namespace gradus::cli {

/// Opens /dev/null for those of the three that are closed. Else the next file
/// to be opened would have their number, and get what is printed.
void openClosedStreams();

} // namespace gradus::cli
